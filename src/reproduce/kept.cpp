#include "src/reproduce/kept.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "src/report/sha256.h"
#include "src/report/whole_file.h"
#include "src/reproduce/outcome_csv.h"

namespace softamp::reproduce {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEndings[] = {".svg", ".png"};

/// The result of an experiment in a folder, whoever asked for it.
std::optional<Result> result_in(const std::string& experiment, const fs::path& folder) {
  const fs::path file = folder / json_file(experiment);
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  try {
    Result result = result_from_json(Json::parse(text));
    if (result.name != experiment) throw std::invalid_argument("a result of '" + result.name + "'");
    return result;
  } catch (const std::exception& e) {
    throw std::runtime_error("'" + file.string() + "': " + e.what() + "; expected a result of '" + experiment +
                             "' that `softamp reproduce` wrote, or no such file");
  }
}

/// The names come from a file: what lies in another folder is not ours.
void remove_here(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  if (fs::path(name).filename() == name) fs::remove(folder / name, ignored);
}

void remove_files(const Result& result, const fs::path& folder) {
  for (const Table& table : result.outcome.tables) remove_here(folder, table_file(result.name, table));
  for (const Figure& figure : result.outcome.figures)
    for (const char* ending : kEndings) remove_here(folder, figure_file(result.name, figure, ending));
}

}  // namespace

std::string json_file(const std::string& experiment) { return experiment + ".json"; }
std::string table_file(const std::string& experiment, const Table& table) {
  return experiment + "-" + table.name + ".csv";
}
std::string figure_file(const std::string& experiment, const Figure& figure, const char* ending) {
  return experiment + "-" + figure.name + ending;
}

std::string program_digest() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  if (!in) return {};
  Sha256 digest;
  std::string part(1 << 20, '\0');
  while (in.read(part.data(), static_cast<std::streamsize>(part.size())), in.gcount() > 0)
    digest.add(part.data(), static_cast<size_t>(in.gcount()));
  return digest.hex();
}

void make_folder(const fs::path& folder) {
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error("'" + folder.string() + "': " + why +
                             "; expected a folder that can be written to, or a place for one");
  };
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse(error.message());
  const fs::path probe = folder / (".softamp." + std::to_string(::getpid()) + ".probe");
  if (!write_whole_file(probe, "")) refuse(std::strerror(errno));
  fs::remove(probe, error);
}

void write_file(const fs::path& file, const std::string& text) {
  if (!write_whole_file(file, text))
    throw std::runtime_error("cannot write '" + file.string() + "': " + std::strerror(errno));
}

void keep_result(const Result& result, const fs::path& folder) {
  if (!result.outcome.skipped.empty() || !result.failed.empty()) return;
  const std::optional<Result> before = result_in(result.name, folder);
  remove_here(folder, json_file(result.name));
  if (before) remove_files(*before, folder);
  remove_files(result, folder);  // of a run that ended between two of these lines
  restore_tables(result, folder);
  write_file(folder / json_file(result.name), json_text(result_json(result)));
}

void restore_tables(const Result& result, const fs::path& folder) {
  for (const Table& table : result.outcome.tables)
    if (const fs::path file = folder / table_file(result.name, table); !fs::exists(file))
      write_file(file, table_csv(table));
}

void draw_missing(const Result& result, const fs::path& folder) {
  for (const Figure& figure : result.outcome.figures)
    for (const char* ending : kEndings)
      if (const fs::path file = folder / figure_file(result.name, figure, ending); !fs::exists(file))
        write_plot(figure.plot, file);
}

std::optional<Result> kept_result(const Experiment& experiment, const Request& request, const Program& program,
                                  const fs::path& folder) {
  std::optional<Result> result = result_in(experiment.name, folder);
  if (result && (result->version != program.version || result->program != program.digest ||
                 result->request != request_json(experiment, request)))
    return std::nullopt;
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
