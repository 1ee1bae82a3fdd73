// The names of precisions.
#include <stdexcept>

#include "softamp/train/models.h"
#include "src/text/joined.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

const std::vector<Precision>& precisions() {
  using enum DType;
  static const std::vector<Precision> kAll = {{"float32", kFloat32, kFloat32},         {"float16", kFloat16, kFloat16},
                                              {"bfloat16", kBFloat16, kBFloat16},      {"mixed", kFloat16, kFloat32},
                                              {"mixed_bfloat16", kBFloat16, kFloat32}, {"float64", kFloat64, kFloat64}};
  return kAll;
}

}  // namespace

Precision Precision::parse(std::string_view text) {
  // A dtype, or a policy "mixed_" and a dtype of low precision, by any name of the dtype.
  constexpr std::string_view kMixed = "mixed_";
  const bool mixed = text.starts_with(kMixed);
  std::string name(text);
  if (const auto dtype = parse_dtype(mixed ? text.substr(kMixed.size()) : text))
    name = (mixed ? "mixed_" : "") + std::string(name_of(*dtype));
  if (name == "mixed_float16") name = "mixed";
  for (const Precision& precision : precisions())
    if (precision.name == name) return precision;
  throw std::invalid_argument("unknown precision '" + files::excerpt(text) + "'; expected one of " + joined(names()) +
                              ", mixed_float16");
}

std::vector<std::string> Precision::names() {
  std::vector<std::string> all;
  for (const Precision& precision : precisions()) all.push_back(precision.name);
  return all;
}

}  // namespace softamp
