// Where a mechanism's recipe is stored, and its text.
#pragma once

#include <string>
#include <string_view>

#include "softamp/precision/mechanism.h"
#include "src/text/word.h"

namespace softamp {

/// The recipes of Recipe::find that are built in.
inline constexpr std::string_view kBuiltInRecipes[] = {"full", "basic"};

/// The file that Recipe::find reads for this name; "" for a recipe that is built in.
inline std::string recipe_file(std::string_view name) {
  return find_word(kBuiltInRecipes, name) ? std::string() : std::string(name);
}
/// The same for a mechanism; "" for others than recipes.
inline std::string recipe_file(const Mechanism& m) {
  if (m.kind == Mechanism::Kind::kFp8) {
    return find_word(Fp8Recipe::names(), m.value) ? std::string() : m.value;
  }
  return m.kind == Mechanism::Kind::kRecipe ? recipe_file(m.value) : std::string();
}

/// The recipe's lists and patterns, from any file; "" for others than recipes. Throws as Recipe::find.
inline std::string recipe_contents(const Mechanism& m) {
  if (m.kind == Mechanism::Kind::kFp8) return Fp8Recipe::find(m.value).to_json();
  return m.kind == Mechanism::Kind::kRecipe ? Recipe::find(m.value).to_json() : std::string();
}

}  // namespace softamp
