// Reading and writing recipes: names, files, the environment.
#include "softamp/precision/recipe.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "src/files/input_file.h"
#include "src/files/output_file.h"
#include "src/precision/recipe_source.h"
#include "src/text/lower_case.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/read_json.h"
#include "src/text/word.h"

namespace softamp {
namespace {

namespace fs = std::filesystem;
using files::excerpt;

constexpr const char *kConversion = "TF_BF16_CONVERSION", *kDeprecatedConversion = "TF_ENABLE_BF16_CONVERSION",
                     *kDumpPath = "TF_BF16_DUMP_PATH";

/// The value of an environment variable; none if it is not set or empty.
std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value) return std::nullopt;
  return value;
}

/// As Gaudi's variables are turned off.
bool is_off(const std::string& value) {
  const std::string word = lower_case(value);
  return word == "0" || word == "false";
}

}  // namespace

bool Recipe::operator==(const Recipe& other) const {
  return allow == other.allow && conditional == other.conditional && strict == other.strict &&
         non_convertible == other.non_convertible && convertible == other.convertible && regex == other.regex;
}

Recipe Recipe::find(std::string_view name_or_path, RecipeReading reading) {
  const std::string name = our_word(kBuiltInRecipes, name_or_path);
  if (name == "full") return full();
  if (name == "basic") return basic();
  const fs::path path(name_or_path);
  std::error_code error;
  if (fs::exists(path, error)) return load(path, reading);
  // A text that looks like a path is taken for one.
  const bool word = name_or_path.find_first_of("/.\\") == std::string_view::npos;
  throw std::invalid_argument("recipe '" + excerpt(name_or_path) + "': there is no such file" +
                              (word ? graph_detail::nearest_of(name_or_path, kBuiltInRecipes) : "") +
                              "; expected full, basic, or the path of a JSON file");
}

Recipe Recipe::load(const fs::path& path, RecipeReading reading) {
  const std::string place = path.string();
  if (std::error_code error; fs::is_fifo(path, error))
    throw std::invalid_argument(place + ": is a pipe; expected a regular file: a recipe is read more than once");
  const std::string text = files::read_input(path, "a recipe, a JSON file", kMostWrittenBytes);
  Recipe recipe = parse(text, place, reading);
  recipe.name = path.stem().string();
  return recipe;
}

std::optional<std::string> Recipe::name_from_environment() {
  const auto value = environment(kConversion);
  const auto text = value ? value : environment(kDeprecatedConversion);
  if (!text) return std::nullopt;
  const std::string word = lower_case(*text);
  if (is_off(*text)) return std::nullopt;
  if (word == "1" || word == "true" || word == "full") return "full";
  return word == "basic" ? word : *text;
}

std::vector<std::string> Recipe::environment_in_use() {
  std::vector<std::string> names;
  for (const char* name : {kConversion, kDeprecatedConversion, kDumpPath})
    if (const auto value = environment(name); value && !is_off(*value)) names.emplace_back(name);
  return names;
}

std::optional<Recipe> Recipe::from_environment(RecipeReading reading) {
  const auto name = name_from_environment();
  if (!name) return std::nullopt;
  const auto old_value = environment(kDeprecatedConversion);
  const auto value = environment(kConversion);
  std::optional<Recipe> recipe;
  try {
    recipe = find(*name, reading);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(std::string(value ? kConversion : kDeprecatedConversion) + ": " + e.what() +
                                (fs::path(*name).has_extension() ? "" : ", 1, true, 0 or false"));
  }
  if (old_value)
    recipe->warnings.push_back(std::string(kDeprecatedConversion) + " is deprecated" +
                               (value ? "; TF_BF16_CONVERSION is set and counts" : "; use TF_BF16_CONVERSION"));
  return recipe;
}

void Recipe::dump(const fs::path& path) const { files::write_file(path, to_json()); }

std::optional<fs::path> Recipe::dump_path_from_environment() {
  const auto path = environment(kDumpPath);
  return path && !is_off(*path) ? std::optional<fs::path>(*path) : std::nullopt;
}

std::optional<fs::path> Recipe::dump_by_environment() const {
  const auto path = dump_path_from_environment();
  if (!path) return std::nullopt;
  dump(*path);
  return *path;
}

}  // namespace softamp
