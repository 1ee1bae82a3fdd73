// The attributes of element-wise and random nodes, as numbers that kernels take.
#pragma once

#include "softamp/engine/op_kernel.h"
#include "softamp/kernel/elementwise.h"
#include "softamp/kernel/random.h"
#include "softamp/numerics/convert.h"

namespace softamp::engine {

/// To nearest whatever the caller's rounding direction.
inline float rounded_to_fp32(double x) { return fp::to_float(kBinary64, __builtin_bit_cast(uint64_t, x)); }

/// The slope of a leaky operation on `dtype`: rounded to fp32, which is computed in, but for float64.
// implements: N199
inline double alpha_of(const Node& node, DType dtype) {
  const double alpha = attribute<double>(node, "alpha");
  return dtype == DType::kFloat64 ? alpha : rounded_to_fp32(alpha);
}

/// The code of `value` in every element of a tensor of dtype `type`, rounded to nearest even, as a host's constant is.
// implements: N211
inline uint64_t constant_code(DType type, double value) {
  if (is_floating(type)) return fp::from_double(format_of(type), value);
  return static_cast<uint32_t>(static_cast<int32_t>(value));
}

/// value = number factor + addend, of a random node (kernel/random.h); both fp32, from attributes rounded to it.
struct RandomRange {
  float factor = 1, addend = 0;
};
inline RandomRange random_range(const Node& node, kernel::RandomKind kind) {
  const auto number = [&](const char* name) { return rounded_to_fp32(attribute<double>(node, name)); };
  if (kind != kernel::RandomKind::kUniform) return {number("stddev"), number("mean")};
  const auto bits = [](float x) { return __builtin_bit_cast(uint32_t, x); };
  const float low = number("minval"), high = number("maxval");
  const uint64_t width = fp::sub(kFp32, bits(high), bits(low), Semantics::ieee()).code;
  return {__builtin_bit_cast(float, static_cast<uint32_t>(width)), low};
}

/// What a RandomUniformInt and a RandomBernoulli make of a lane; the product is exact.
inline kernel::RandomInteger random_integer(const Node& node) {
  const int64_t low = attribute<int64_t>(node, "minval"), high = attribute<int64_t>(node, "maxval");
  return {static_cast<int32_t>(low), static_cast<uint32_t>(high - low)};
}
inline kernel::RandomTruth random_truth(const Node& node) {
  const double lanes = attribute<double>(node, "probability") * 0x1p32;
  const uint64_t whole = static_cast<uint64_t>(lanes);
  return {whole + (static_cast<double>(whole) < lanes)};
}

}  // namespace softamp::engine
