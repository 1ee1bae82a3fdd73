// The names of precisions.
#include <stdexcept>

#include "softamp/names/block_format_names.h"
#include "softamp/precision/fp8_recipe.h"
#include "softamp/train/models.h"
#include "src/names/habits.h"
#include "src/text/joined.h"
#include "src/text/printable.h"
#include "src/text/word.h"

namespace softamp {
namespace {

const std::vector<Precision>& precisions() {
  using enum DType;
  static const std::vector<Precision> kAll = {{"float32", kFloat32, kFloat32},         {"float16", kFloat16, kFloat16},
                                              {"bfloat16", kBFloat16, kBFloat16},      {"mixed", kFloat16, kFloat32},
                                              {"mixed_bfloat16", kBFloat16, kFloat32}, {"float64", kFloat64, kFloat64}};
  return kAll;
}

/// Whether the word names a format of at most 8 bits, or a recipe of such.
bool is_of_few_bits(std::string_view word) {
  if (meant_by_habit("format", word).size() > 0 || find_word(Fp8Recipe::names(), word)) return true;
  try {
    return parse_block_format(word).element.storage_bits() <= 8;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

}  // namespace

Precision Precision::parse(std::string_view text) {
  // A dtype, or a policy "mixed_" and a dtype of low precision, by any name of the dtype.
  constexpr std::string_view kMixed = "mixed_";
  const bool mixed = same_word(text.substr(0, kMixed.size()), kMixed);
  std::string name(text);
  if (const auto dtype = parse_dtype(mixed ? text.substr(kMixed.size()) : text))
    name = (mixed ? "mixed_" : "") + std::string(name_of(*dtype));
  if (name == "mixed_float16") name = "mixed";
  for (const Precision& precision : precisions())
    if (same_word(precision.name, name)) return precision;
  const std::string_view meant = meant_by_habit("precision", text);
  throw std::invalid_argument(
      "unknown precision '" + files::excerpt(text) + "'; expected " +
      (is_of_few_bits(text)
           ? "one of 16, 32 or 64 bits; products of 8 and 4 bits: train --recipe-fp8 NAME, or 'mechanism' "
             "fp8=NAME"
       : !meant.empty() ? std::string(meant)
                        : "one of " + joined(names()) + ", mixed_float16"));
}

std::vector<std::string> Precision::names() {
  std::vector<std::string> all;
  for (const Precision& precision : precisions()) all.push_back(precision.name);
  return all;
}

}  // namespace softamp
