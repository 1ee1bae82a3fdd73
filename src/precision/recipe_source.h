// Where a mechanism's recipe is stored, and its text.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "softamp/precision/mechanism.h"

namespace softamp {

/// The file that Recipe::find reads for this name; "" for a recipe that is built in.
inline std::string recipe_file(std::string_view name) {
  return name == "full" || name == "basic" ? std::string() : std::string(name);
}
/// The same for a mechanism; "" for others than recipes.
inline std::string recipe_file(const Mechanism& m) {
  if (m.kind == Mechanism::Kind::kFp8) {
    const std::vector<std::string> names = Fp8Recipe::names();
    return std::find(names.begin(), names.end(), m.value) == names.end() ? m.value : std::string();
  }
  return m.kind == Mechanism::Kind::kRecipe ? recipe_file(m.value) : std::string();
}

/// The recipe's lists and patterns, from any file; "" for others than recipes. Throws as Recipe::find.
inline std::string recipe_contents(const Mechanism& m) {
  if (m.kind == Mechanism::Kind::kFp8) return Fp8Recipe::find(m.value).to_json();
  return m.kind == Mechanism::Kind::kRecipe ? Recipe::find(m.value).to_json() : std::string();
}

}  // namespace softamp
