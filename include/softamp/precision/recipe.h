// Gaudi's bfloat16 conversion: recipes of three lists and two lists of exceptions (MIXED_PRECISION H03 to H20).
//
// Source of names and lists: the Gaudi page and the recipes of HabanaAI/Model-References; where the page says nothing,
// our choice is marked [ours] and is a row of docs/MIXED_PRECISION.md.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/precision/precision_report.h"

namespace softamp {

enum class RegexMode : uint8_t {
  kFullMatch,  ///< the pattern matches the whole name [ours: default]
  kSearch,     ///< it matches somewhere in the name
};

/// What a key that no recipe has does to the reading of a file (MIXED_PRECISION H12).
enum class RecipeReading : uint8_t {
  kStrict,   ///< it is an error, with the nearest key [ours: default]
  kLenient,  ///< it is left out, whatever stands in it, with a warning
};

struct RecipeException {
  std::string pattern;  ///< RE2's grammar, on the node's name
  std::string type;     ///< operation type; "": any
  bool operator==(const RecipeException&) const = default;
};

struct Recipe {
  std::string name = "custom";
  std::vector<std::string> allow;        ///< always converted
  std::vector<std::string> conditional;  ///< converted if an input or output is
  std::vector<std::string> strict;       ///< converted if each input is, or is a Variable or Const
  std::vector<RecipeException> non_convertible, convertible;
  RegexMode regex = RegexMode::kFullMatch;
  std::vector<std::string>
      warnings{};  ///< of parsing: an operation listed twice, in two lists, or misspelt; an unknown key

  static Recipe full();   ///< best performance (1.3.0)
  static Recipe basic();  ///< only products and convolutions (1.3.0)
  /// "full", "basic", or the path of a file. Throws std::invalid_argument.
  static Recipe find(std::string_view name_or_path, RecipeReading reading = RecipeReading::kStrict);
  /// A JSON object of the five lists; keys in any of their spellings: allow_list, allowlist, whitelist;
  /// conditional_list, graylist; strict_conditional_list, input_only_exceptions; non_convertible_exceptions;
  /// convertible_exceptions; and, ours, regex_mode ("full", "search") [="full"]. A missing key: empty. At most 4 MiB,
  /// 100,000 operations and 1,000 patterns to a list. Throws std::invalid_argument, each with place, line and column:
  /// a text that is not JSON, an unknown key (with the nearest; if lenient, a warning instead), two spellings of one
  /// key, an entry of the wrong kind, a pattern that does not compile.
  static Recipe parse(std::string_view text, std::string_view place = "recipe",
                      RecipeReading reading = RecipeReading::kStrict);
  /// Its name is the file's, without the ending.
  static Recipe load(const std::filesystem::path& path, RecipeReading reading = RecipeReading::kStrict);
  /// TF_BF16_CONVERSION (TF_ENABLE_BF16_CONVERSION, deprecated, with a warning): "full" "basic" "1" "true", a path;
  /// "0" "false" or nothing: none. Throws as find.
  static std::optional<Recipe> from_environment(RecipeReading reading = RecipeReading::kStrict);

  /// What these variables name, without reading it: "full", "basic", or a path; none as above.
  static std::optional<std::string> name_from_environment();

  /// JSON that parse reads back as an equal recipe, laid out as Gaudi's own files are ("allowlist", ...); regex_mode is
  /// written unless it is the default.
  std::string to_json() const;
  void dump(const std::filesystem::path& path) const;  ///< throws std::runtime_error
  /// Those of the three variables that are set, and not to "", "0" or "false".
  static std::vector<std::string> environment_in_use();
  /// TF_BF16_DUMP_PATH, if it is set; "0" and "false" are off.
  static std::optional<std::filesystem::path> dump_path_from_environment();
  /// If TF_BF16_DUMP_PATH is set, dumps there and returns the path.
  std::optional<std::filesystem::path> dump_by_environment() const;
  /// Equal lists, exceptions and mode; name and warnings do not count.
  bool operator==(const Recipe& other) const;
};

inline constexpr std::string_view kKeepFp32Scope = "KEEP_FP32_PRECISION";    ///< stays fp32 (MIXED_PRECISION H18)
inline constexpr std::string_view kForceBf16Scope = "FORCE_BF16_PRECISION";  ///< converted (MIXED_PRECISION H19)

/// Classes: non_convertible, convertible, allow, strict, conditional, else block [ours]; then the least fixed point;
/// then groups of adjacent converted nodes. low (bfloat16, float16) [=bfloat16: the page's]. Never converted, even if a
/// pattern demands it: inputs, constants and variables, preserved and stateful nodes, Casts, operations without a
/// kernel in `low`; messages say so. Linear in nodes and edges. Throws std::invalid_argument: another dtype, a pattern
/// that does not compile.
Colouring colour_recipe(const OpGraph& graph, const Recipe& recipe, DType low = DType::kBFloat16);

/// Colours, plans and applies. Graph inputs and fetches keep float32.
GraphRewrite convert_bfloat16(const Graph& graph, const Recipe& recipe, ListView<std::string> fetches = {});

}  // namespace softamp
