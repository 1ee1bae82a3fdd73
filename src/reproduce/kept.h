// Results in a folder: written as each experiment ends, and read back by a run that goes on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "src/reproduce/outcome_json.h"

namespace softamp::reproduce {

/// Of an experiment's files in a folder.
std::string json_file(const std::string& experiment);                                              ///< NAME.json
std::string table_file(const std::string& experiment, const Table& table);                         ///< NAME-TABLE.csv
std::string figure_file(const std::string& experiment, const Figure& figure, const char* ending);  ///< NAME-FIGURE.svg

/// Asked before a run: makes the folder where it is not there yet, and sees that files can be written to it. Throws
/// std::runtime_error: "'DIR': Not a directory; expected a folder that can be written to, or a place for one".
void make_folder(const std::filesystem::path& folder);

/// Writes the tables, the figures if `draw`, and then the JSON, whose being there says that all is. Nothing for an
/// experiment that was skipped. Throws std::runtime_error where a file cannot be written.
void keep_result(const Result& result, const std::filesystem::path& folder, bool draw);

/// The figures of a kept result that are not there yet: gnuplot was missing then.
void draw_missing(const Result& result, const std::filesystem::path& folder);

/// What is kept of this very run: nothing where there is no file, or one of another version or request. Throws
/// std::runtime_error where a file of that name is no result: it is not overwritten.
std::optional<Result> kept_result(const Experiment& experiment, const Request& request, const std::string& version,
                                  const std::filesystem::path& folder);

/// The command that repeats the run.
std::string command_line(const Experiment& experiment, const Request& request);

/// Runs it, and looks at the clock.
Result run_experiment(const Experiment& experiment, const Request& request, const std::string& version, Watch& watch);

/// Throws std::invalid_argument where the request has what the experiment does not take:
/// "--bits: 'b200' does not take it; it takes --seed, --samples".
void check_request(const Experiment& experiment, const Request& request, bool seed_given);

/// "--format, --seed"; "no options" where it takes none.
std::string option_names(unsigned options);

}  // namespace softamp::reproduce
