// One fused group of a tensor core, as the rule reads (N109), on exact numbers: slow, and without a line of
// numerics/products/tensor_core.h.
#pragma once

#include <vector>

#include "softamp/numerics/accumulator.h"
#include "tests/oracle/exact_number.h"

namespace oracle {

/// What the sum becomes.
enum class GroupResult { kFp32, kFp16, kE8m13 };

/// The exponent below which a family aligns no group (N326).
inline int group_floor(softamp::Accumulator family, bool half) {
  using softamp::Accumulator;
  switch (family) {
    case Accumulator::kTensorCoreVolta: return half ? -19 : -131;
    case Accumulator::kTensorCoreTuring:
    case Accumulator::kTensorCoreAmpere:
    case Accumulator::kTensorCoreAda: return half ? -20 : -132;
    default: return half ? -21 : -133;
  }
}

/// floor(log2 |x|); x is not zero.
inline int top_of(const Dyadic& x) { return static_cast<int>(msb(Big(abs(x.significand)))) + x.exponent; }

/// |x| / 2^quantum without its fraction, in the sign of x.
inline Big truncated(const Dyadic& x, int quantum) {
  const int shift = x.exponent - quantum;
  const Big magnitude = abs(x.significand), moved = shift >= 0 ? Big(magnitude << shift) : Big(magnitude >> -shift);
  return x.sign() < 0 ? Big(-moved) : moved;
}

/// The code of a sum in a format of `exponent_bits` and `fraction_bits`: toward zero, or to nearest even. +0 for zeros.
inline uint32_t sum_code(const Dyadic& sum, int exponent_bits, int fraction_bits, bool nearest) {
  if (sum.sign() == 0) return 0;
  const int bias = (1 << (exponent_bits - 1)) - 1, infinite = (1 << exponent_bits) - 1;
  const int quantum = std::max(top_of(sum), 1 - bias) - fraction_bits;
  Big kept = truncated(sum.magnitude(), quantum);
  if (nearest) {
    const int half = compare((sum.magnitude() - Dyadic{kept, quantum}) * Dyadic{2, 0}, Dyadic{1, quantum});
    if (half > 0 || (half == 0 && kept % 2 != 0)) kept += 1;
  }
  if (kept == 0) return 0;
  // kept 2^quantum is normal where kept has fraction_bits + 1 bits; one more than that is the next binade's first.
  const int top = static_cast<int>(msb(kept)) + quantum;
  const uint32_t sign = sum.sign() < 0 ? 1u << (exponent_bits + fraction_bits) : 0u;
  if (top > bias) return sign | static_cast<uint32_t>(infinite) << fraction_bits;
  if (top < 1 - bias) return sign | static_cast<uint32_t>(kept);
  if (top - quantum > fraction_bits) kept >>= 1;
  const uint32_t fraction = static_cast<uint32_t>(kept - (Big{1} << fraction_bits));
  return sign | static_cast<uint32_t>(top + bias) << fraction_bits | fraction;
}

/// Codes of `operand`, of fp32 where that is tf32 (`tf32`): the fraction is cut to 10 bits. `c` and the result are
/// codes of fp16 or fp32. floor: terms are aligned to no exponent below it.
inline uint32_t fused_group(const FloatFormat& operand, bool tf32, int fraction_bits, int floor, GroupResult result,
                            const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t c) {
  const bool half = result == GroupResult::kFp16;
  const FloatFormat fp32 = softamp::kFp32, of_c = half ? softamp::kFp16 : fp32;
  const uint32_t nan = half ? 0x7FFF : 0x7FFFFFFF, infinity = half ? 0x7C00 : 0x7F800000,
                 minus = half ? 0x8000 : 0x80000000;
  struct Term {
    Dyadic value;
    int exponent;
  };
  std::vector<Term> terms;
  bool is_nan = false, infinite[2] = {};
  const auto read = [&](uint32_t code) {
    Decoded d = decode(tf32 ? fp32 : operand, code);
    if (tf32 && d.sort == Sort::kFinite) d = decode(fp32, code & 0xFFFFE000u);
    return d;
  };
  const auto exponent_in = [](const FloatFormat& f, const Decoded& d) {
    return std::max(top_of(d.magnitude), 2 - (1 << (f.exponent_bits - 1)));
  };
  for (size_t i = 0; i < a.size(); ++i) {
    const Decoded x = read(a[i]), y = read(b[i]);
    if (x.nan() || y.nan() || (x.zero() && y.infinite()) || (x.infinite() && y.zero())) {
      is_nan = true;
    } else if (x.infinite() || y.infinite()) {
      infinite[x.negative != y.negative] = true;
    } else if (!x.zero() && !y.zero()) {
      terms.push_back({x.value() * y.value(), exponent_in(operand, x) + exponent_in(operand, y)});
    }
  }
  const Decoded z = decode(of_c, c);
  if (z.nan()) is_nan = true;
  if (z.infinite()) infinite[z.negative] = true;
  if (is_nan || (infinite[0] && infinite[1])) return nan;
  if (infinite[0]) return infinity;
  if (infinite[1]) return infinity | minus;
  if (!z.zero()) terms.push_back({z.value(), exponent_in(of_c, z)});
  int greatest = floor;
  for (const Term& t : terms) greatest = std::max(greatest, t.exponent);
  const int quantum = greatest - fraction_bits;
  Big sum = 0;
  for (const Term& t : terms) sum += truncated(t.value, quantum);
  if (half) return sum_code({sum, quantum}, 5, 10, true);
  const uint32_t code = sum_code({sum, quantum}, 8, result == GroupResult::kE8m13 ? 13 : 23, false);
  return result == GroupResult::kE8m13 ? code << 10 : code;
}

/// 8-bit operands by `mma.sync` (N477): products k mod 4 = 0 and 1 are a group, 2 and 3 the next, which begins with the
/// first one's sum; C is added to that, to nearest even. F = 25; fp32, or fp16.
inline uint32_t fused_pairs(const FloatFormat& operand, bool half, const std::vector<uint32_t>& a,
                            const std::vector<uint32_t>& b, uint32_t c) {
  std::vector<uint32_t> of_a[2], of_b[2];
  for (size_t k = 0; k < a.size(); ++k) of_a[k % 4 / 2].push_back(a[k]), of_b[k % 4 / 2].push_back(b[k]);
  const GroupResult result = half ? GroupResult::kFp16 : GroupResult::kFp32;
  uint32_t sum = 0;
  for (const int group : {0, 1})
    sum = fused_group(operand, false, 25, half ? -21 : -133, result, of_a[group], of_b[group], sum);
  const FloatFormat f = half ? softamp::kFp16 : softamp::kFp32;
  const Decoded x = decode(f, sum), y = decode(f, c);
  const uint32_t nan = half ? 0x7FFF : 0x7FFFFFFF;
  if (x.nan() || y.nan() || (x.infinite() && y.infinite() && x.negative != y.negative)) return nan;
  if (x.infinite()) return sum;
  if (y.infinite()) return c;
  return sum_code(x.value() + y.value(), half ? 5 : 8, half ? 10 : 23, true);
}

}  // namespace oracle
