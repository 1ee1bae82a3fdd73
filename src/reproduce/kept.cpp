#include "src/reproduce/kept.h"

#include "softamp/report/names.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "src/report/whole_file.h"
#include "src/reproduce/outcome_csv.h"

namespace softamp::reproduce {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEndings[] = {".svg", ".png"};

void write_file(const fs::path& file, const std::string& text) {
  if (!write_whole_file(file, text))
    throw std::runtime_error("cannot write '" + file.string() + "': " + std::strerror(errno));
}

/// As a shell takes it.
std::string shell_word(const std::string& text) {
  const char* const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+,:@%";
  if (!text.empty() && text.find_first_not_of(harmless) == std::string::npos) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

std::string json_file(const std::string& experiment) { return experiment + ".json"; }
std::string table_file(const std::string& experiment, const Table& table) {
  return experiment + "-" + table.name + ".csv";
}
std::string figure_file(const std::string& experiment, const Figure& figure, const char* ending) {
  return experiment + "-" + figure.name + ending;
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

void keep_result(const Result& result, const fs::path& folder, bool draw) {
  const Outcome& o = result.outcome;
  if (!o.skipped.empty()) return;
  for (const Table& table : o.tables) write_file(folder / table_file(result.name, table), table_csv(table));
  if (draw)
    for (const Figure& figure : o.figures)
      for (const char* ending : kEndings) write_plot(figure.plot, folder / figure_file(result.name, figure, ending));
  write_file(folder / json_file(result.name), json_text(result_json(result)));
}

void draw_missing(const Result& result, const fs::path& folder) {
  for (const Figure& figure : result.outcome.figures)
    for (const char* ending : kEndings)
      if (const fs::path file = folder / figure_file(result.name, figure, ending); !fs::exists(file))
        write_plot(figure.plot, file);
}

std::optional<Result> kept_result(const Experiment& experiment, const Request& request, const std::string& version,
                                  const fs::path& folder) {
  const fs::path file = folder / json_file(experiment.name);
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  try {
    Result result = result_from_json(Json::parse(text));
    if (result.name != experiment.name || result.version != version ||
        result.request != request_json(experiment, request))
      return std::nullopt;
    return result;
  } catch (const std::exception& e) {
    throw std::runtime_error("'" + file.string() + "': " + e.what() +
                             "; expected the result of a run that `softamp reproduce` wrote, or no such file");
  }
}

std::string command_line(const Experiment& experiment, const Request& request) {
  std::string line = "softamp reproduce " + experiment.name;
  for (const FloatFormat& format : request.formats) line += " --format " + format_name(format);
  for (const RoundingMode mode : request.roundings) line += " --rounding " + softamp::name_of(mode);
  if (request.bits) line += " --bits " + std::to_string(*request.bits);
  if ((experiment.options & kSeed) && request.seed != 0) line += " --seed " + std::to_string(request.seed);
  if (request.samples) line += " --samples " + std::to_string(*request.samples);
  if ((experiment.options & kData) && !request.data.empty()) line += " --data " + shell_word(request.data);
  if (request.brief) line += " --brief";
  return line;
}

Result run_experiment(const Experiment& experiment, const Request& request, const std::string& version, Watch& watch) {
  using Clock = std::chrono::steady_clock;
  Result result{experiment.name,
                experiment.summary,
                experiment.source,
                version,
                command_line(experiment, request),
                request_json(experiment, request),
                0,
                {}};
  const Clock::time_point start = Clock::now();
  result.outcome = experiment.run(request, watch);
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

std::string option_names(unsigned options) {
  static constexpr struct {
    Option option;
    const char* name;
  } kNames[] = {{kFormat, "--format"}, {kRounding, "--rounding"}, {kBits, "--bits"},
                {kSeed, "--seed"},     {kSamples, "--samples"},   {kData, "--data"}};
  std::string text;
  for (const auto& entry : kNames)
    if (options & entry.option) text += (text.empty() ? "" : ", ") + std::string(entry.name);
  return text.empty() ? "no options" : text;
}

void check_request(const Experiment& experiment, const Request& request, bool seed_given) {
  const auto check = [&](bool given, Option option) {
    if (given && !(experiment.options & option))
      throw std::invalid_argument(option_names(option) + ": '" + experiment.name + "' does not take it; it takes " +
                                  option_names(experiment.options));
  };
  check(!request.formats.empty(), kFormat);
  check(!request.roundings.empty(), kRounding);
  check(request.bits.has_value(), kBits);
  check(seed_given, kSeed);
  check(request.samples.has_value(), kSamples);
  check(!request.data.empty(), kData);
}

}  // namespace softamp::reproduce
