// Results in a folder: written as each experiment ends, and read back by a run that goes on.
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

/// Removes an earlier result's files, its JSON first and figures too, then writes the tables and last the JSON, whose
/// being there says that the numbers are. Nothing for an experiment that was skipped or failed. Throws
/// std::runtime_error where a file cannot be written, or where that JSON is somebody else's.
void keep_result(const Result& result, const std::filesystem::path& folder);

/// The tables' files that are not there any more.
void restore_tables(const Result& result, const std::filesystem::path& folder);
/// The figures that are not there yet: those of a new result, and of a kept one those that gnuplot could not draw.
void draw_missing(const Result& result, const std::filesystem::path& folder);

/// What is kept of this very run: nothing where there is no file, or one of another program or request. Throws
/// std::runtime_error where a file of that name is no result of that experiment: it is not overwritten.
std::optional<Result> kept_result(const Experiment& experiment, const Request& request, const Program& program,
                                  const std::filesystem::path& folder);

/// The head of a result, of which nothing is found yet.
Result empty_result(const Experiment& experiment, const Request& request, const Program& program);

/// Runs it, and looks at the clock. Numbers of tables and settings that are not finite are texts in the result ("nan",
/// "inf", "-inf"), so that it is the same when it is read back.
Result run_experiment(const Experiment& experiment, const Request& request, const Program& program, Watch& watch);

}  // namespace softamp::reproduce
