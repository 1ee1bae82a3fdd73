// Results in a folder: written as each experiment ends, and read back by a resumed run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "src/reproduce/kept_folder.h"
#include "src/reproduce/outcome_json.h"
#include "src/reproduce/request.h"

namespace softamp::reproduce {

/// Of an experiment's files in a folder.
std::string json_file(const std::string& experiment);                                              ///< NAME.json
std::string table_file(const std::string& experiment, const Table& table);                         ///< NAME-TABLE.csv
std::string figure_file(const std::string& experiment, const Figure& figure, const char* ending);  ///< NAME-FIGURE.svg

/// Whether a table or a figure of some result of the experiment can have this name.
bool may_be_of_result(const std::string& experiment, const std::string& name);

/// Writes tables and JSON aside, puts the tables in their places, removes what only an earlier result has and all
/// figures, and puts the JSON in place last: until then the earlier result is the one that is kept. Does nothing for an
/// experiment that was skipped or failed. Throws std::runtime_error if a file cannot be written, or if a JSON file of
/// that name is not ours.
void keep_result(const Result& result, const std::filesystem::path& folder);

/// Writes tables' files again that have been removed.
void restore_tables(const Result& result, const std::filesystem::path& folder);
/// Draws missing figures: all of a new result, and those of a kept one that gnuplot could not draw.
void draw_missing(const Result& result, const std::filesystem::path& folder);

/// The kept result of this run: empty if there is no file, or one of another program or request. Throws
/// std::runtime_error if a file of that name is no result of that experiment: it is not overwritten.
std::optional<Result> kept_result(const Experiment& experiment, const Request& request, const Program& program,
                                  const std::filesystem::path& folder);

/// A result without an outcome yet.
Result empty_result(const Experiment& experiment, const Request& request, const Program& program);

/// Runs it, and measures the time. Numbers of tables and settings that are not finite are texts in the result ("nan",
/// "inf", "-inf"), so that it is the same when it is read back.
Result run_experiment(const Experiment& experiment, const Request& request, const Program& program, Watch& watch);

}  // namespace softamp::reproduce
