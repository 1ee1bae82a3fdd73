#include "src/reproduce/request.h"

#include "softamp/names/names.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "src/data/image_classes.h"
#include "src/files/sha256.h"

namespace softamp::reproduce {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> format_words(const Request& request) {
  std::vector<std::string> words;
  for (const FloatFormat& format : request.formats) words.push_back(format_name(format));
  return words;
}

std::vector<std::string> rounding_words(const Request& request) {
  std::vector<std::string> words;
  for (const RoundingMode mode : request.roundings) words.push_back(softamp::name_of(mode));
  return words;
}

std::vector<std::string> fixed_words(const Request& request) {
  std::vector<std::string> words;
  for (const FixedFormat& format : request.fixed_formats) words.push_back(softamp::name_of(format));
  return words;
}

/// One text for a file: its place below `folder`, its size and its time.
std::string file_line(const fs::path& file, const std::string& place) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  const auto time = fs::last_write_time(file, error).time_since_epoch().count();
  return place + file.filename().string() + " " + std::to_string(size) + " " + std::to_string(time) + "\n";
}

std::string digest_of(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  Sha256 digest;
  for (const std::string& line : lines) digest.add(line.data(), line.size());
  return digest.hex();
}

/// A line for each file that images may be read from: in the folder, and in those below it that load_images looks into.
/// Times reveal a file that was replaced by one of equal size; reading the bytes would take longer than many
/// experiments.
std::string data_digest(const std::string& data) {
  std::vector<std::string> lines;
  const auto add = [&](const fs::path& file, const std::string& place) {
    std::error_code error;
    if (fs::is_regular_file(file, error)) lines.push_back(file_line(file, place));
  };
  add(data, "");
  for (const char* below : {"", "fashion-mnist", "mnist"}) {
    std::error_code error;
    for (fs::directory_iterator entry(fs::path(data) / below, error), end; !error && entry != end;
         entry.increment(error))
      add(entry->path(), std::string(below) + "/");
  }
  for (const fs::path& file : image_class_files(data))
    add(file, file.parent_path().lexically_relative(data).string() + "/");
  return digest_of(lines);
}

std::string data_digest(const Experiment& experiment, const std::string& data) {
  if (!experiment.data_files) return data_digest(data);
  std::vector<std::string> lines;
  for (const fs::path& file : experiment.data_files(data))
    lines.push_back(file_line(file, file.parent_path().lexically_relative(data).string() + "/"));
  return digest_of(lines);
}

}  // namespace

std::string option_names(unsigned options) {
  static constexpr struct {
    Option option;
    const char* name;
  } kNames[] = {{kFormat, "--format"}, {kFixed, "--fixed-format"}, {kRounding, "--rounding"}, {kBits, "--bits"},
                {kSeed, "--seed"},     {kSamples, "--samples"},    {kData, "--data"}};
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
  const auto check_words = [&](const std::vector<std::string>& words, Option option) {
    check(!words.empty(), option);
    for (auto word = words.begin(); word != words.end(); ++word)
      if (std::find(words.begin(), word, *word) != word)
        throw std::invalid_argument(option_names(option) + ": '" + *word + "' is given twice");
  };
  check_words(format_words(request), kFormat);
  check_words(fixed_words(request), kFixed);
  check_words(rounding_words(request), kRounding);
  check(request.bits.has_value(), kBits);
  check(seed_given, kSeed);
  check(request.samples.has_value(), kSamples);
  check(!request.data.empty(), kData);
}

std::string command_line(const Experiment& experiment, const Request& request) {
  std::string line = "softamp reproduce " + experiment.name;
  for (const std::string& word : format_words(request)) line += " --format " + word;
  for (const std::string& word : fixed_words(request)) line += " --fixed-format " + word;
  for (const std::string& word : rounding_words(request)) line += " --rounding " + word;
  if (request.bits) line += " --bits " + std::to_string(*request.bits);
  if ((experiment.options & kSeed) && request.seed != 0) line += " --seed " + std::to_string(request.seed);
  if (request.samples) line += " --samples " + std::to_string(*request.samples);
  if ((experiment.options & kData) && !request.data.empty()) line += " --data DIR";
  if (request.brief) line += " --brief";
  return line;
}

Json request_json(const Experiment& experiment, const Request& request) {
  Json json = Json::object();
  if (request.brief) json["brief"] = true;
  const auto add_words = [&](Option option, const char* key, const std::vector<std::string>& words) {
    if ((experiment.options & option) && !words.empty()) json[key] = words;
  };
  add_words(kFormat, "format", format_words(request));
  add_words(kFixed, "fixed_format", fixed_words(request));
  add_words(kRounding, "rounding", rounding_words(request));
  if ((experiment.options & kBits) && request.bits) json["bits"] = *request.bits;
  if (experiment.options & kSeed) json["seed"] = request.seed;
  if ((experiment.options & kSamples) && request.samples) json["samples"] = *request.samples;
  if ((experiment.options & kData) && !request.data.empty()) json["data"] = data_digest(experiment, request.data);
  return json;
}

}  // namespace softamp::reproduce
