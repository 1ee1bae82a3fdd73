#include "src/reproduce/kept.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <stdexcept>

#include "src/files/checked_json.h"
#include "src/files/output_file.h"
#include "src/files/regular_file.h"
#include "src/reproduce/outcome_csv.h"
#include "src/text/read_json.h"
#include "src/text/reason.h"

namespace softamp::reproduce {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEndings[] = {".svg", ".png"};

/// The result of an experiment in a folder, for any request.
std::optional<Result> result_in(const std::string& experiment, const fs::path& folder) {
  const fs::path file = folder / json_file(experiment);
  if (std::error_code error; !fs::exists(file, error)) return std::nullopt;
  const std::string text = files::read_regular(file, "a result of '" + experiment + "'", JsonLimits{}.bytes);
  try {
    const Json json = read_json(text, "");
    if (is_of_before(json)) return std::nullopt;  // of another program, therefore
    Result result = result_from_json(json);
    verify_checksum(text);
    if (result.name != experiment) throw std::invalid_argument("a result of '" + result.name + "'");
    return result;
  } catch (const std::exception& e) {
    throw std::runtime_error("'" + file.string() + "': " + reason_of(e) + "; expected a result of '" + experiment +
                             "' that `softamp reproduce` wrote, or no such file");
  }
}

/// A pipe has not our table, and would be waited for.
void check_table(const fs::path& file) {
  if (std::error_code error; fs::exists(file, error)) files::RegularFile(file, "a table");
}

/// The names come from a file: files in another folder are not ours.
void remove_here(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  if (fs::path(name).filename() == name) fs::remove(folder / name, ignored);
}

void remove_figures(const Result& result, const fs::path& folder) {
  for (const Figure& figure : result.outcome.figures)
    for (const char* ending : kEndings) remove_here(folder, figure_file(result.name, figure, ending));
}

/// Its figures, and its tables but for those that `now` has as well.
void remove_files(const Result& result, const fs::path& folder, const Result& now) {
  remove_figures(result, folder);
  std::set<std::string> kept;
  for (const Table& table : now.outcome.tables) kept.insert(table_file(now.name, table));
  for (const Table& table : result.outcome.tables)
    if (const std::string name = table_file(result.name, table); !kept.contains(name)) remove_here(folder, name);
}

}  // namespace

std::string json_file(const std::string& experiment) { return experiment + ".json"; }
std::string table_file(const std::string& experiment, const Table& table) {
  return experiment + "-" + table.name + ".csv";
}
std::string figure_file(const std::string& experiment, const Figure& figure, const char* ending) {
  return experiment + "-" + figure.name + ending;
}
bool may_be_of_result(const std::string& experiment, const std::string& name) {
  const bool ends =
      std::any_of(std::begin(kEndings), std::end(kEndings), [&](const char* e) { return name.ends_with(e); });
  return name.starts_with(experiment + "-") && (ends || name.ends_with(".csv"));
}

void keep_result(const Result& result, const fs::path& folder) {
  if (!result.outcome.skipped.empty() || !result.failed.empty()) return;
  const std::optional<Result> before = result_in(result.name, folder);
  // All is on the disk before the first file takes its place. The JSON comes last: until then a result that is kept is
  // the old one, and who finds it makes its tables and figures again (restore_tables, draw_missing).
  std::vector<files::OutputFile> tables;
  for (const Table& table : result.outcome.tables) {
    const fs::path file = folder / table_file(result.name, table);
    check_table(file);
    tables.emplace_back(file).write(table_csv(table));
  }
  files::OutputFile json(folder / json_file(result.name));
  json.write(with_checksum(json_text(result_json(result))));
  for (files::OutputFile& table : tables) table.commit();
  if (before) remove_files(*before, folder, result);
  remove_figures(result, folder);  // of a run that ended between two of these lines
  json.commit();
}

void restore_tables(const Result& result, const fs::path& folder) {
  for (const Table& table : result.outcome.tables) {
    const fs::path file = folder / table_file(result.name, table);
    const std::string csv = table_csv(table);
    check_table(file);
    if (std::error_code error;
        fs::file_size(file, error) != csv.size() || files::read_regular(file, "a table", csv.size()) != csv)
      files::write_file(file, csv);
    else
      files::remove_leftovers(file);
  }
}

void draw_missing(const Result& result, const fs::path& folder) {
  for (const Figure& figure : result.outcome.figures)
    for (const char* ending : kEndings)
      if (const fs::path file = folder / figure_file(result.name, figure, ending); !fs::exists(file))
        write_plot(figure.plot, file);
      else
        files::remove_leftovers(file);
}

std::optional<Result> kept_result(const Experiment& experiment, const Request& request, const Program& program,
                                  const fs::path& folder) {
  std::optional<Result> result = result_in(experiment.name, folder);
  if (result &&
      (Program{result->version, result->program} != program || result->request != request_json(experiment, request)))
    return std::nullopt;
  if (result) files::remove_leftovers(folder / json_file(experiment.name));
  return result;
}

Result empty_result(const Experiment& experiment, const Request& request, const Program& program) {
  Result result;
  result.name = experiment.name;
  result.summary = experiment.summary;
  result.source = experiment.source;
  result.version = program.version;
  result.program = program.digest;
  result.command = command_line(experiment, request);
  result.request = request_json(experiment, request);
  return result;
}

Result run_experiment(const Experiment& experiment, const Request& request, const Program& program, Watch& watch) {
  using Clock = std::chrono::steady_clock;
  Result result = empty_result(experiment, request, program);
  const Clock::time_point start = Clock::now();
  result.outcome = experiment.run(request, watch);
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  spell_out(result.outcome);
  return result;
}

}  // namespace softamp::reproduce
