// Results in a folder: written as each experiment ends, and read back by a run that goes on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "src/reproduce/outcome_json.h"
#include "src/reproduce/request.h"

namespace softamp::reproduce {

/// Of an experiment's files in a folder.
std::string json_file(const std::string& experiment);                                              ///< NAME.json
std::string table_file(const std::string& experiment, const Table& table);                         ///< NAME-TABLE.csv
std::string figure_file(const std::string& experiment, const Figure& figure, const char* ending);  ///< NAME-FIGURE.svg

/// The program that computes a result. Two of one digest are one program: a version has many builds, whose results
/// need not be the same.
struct Program {
  std::string version;
  std::string digest{};
};
/// SHA-256 of the running program's file, in hexadecimal; empty where the system does not show it.
std::string program_digest();

/// Asked before a run: makes the folder where it is not there yet, and sees that files can be written to it. Throws
/// std::runtime_error: "'DIR': Not a directory; expected a folder that can be written to, or a place for one".
void make_folder(const std::filesystem::path& folder);

/// Whole or not at all. Throws std::runtime_error: "cannot write 'FILE': No space left on device".
void write_file(const std::filesystem::path& file, const std::string& text);

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
