// FP8 with an fp32 scale for a tensor, a row, a block of 1x128 or a tile of 128x128 (N457 to N459). Values are fp32
// codes.
#pragma once

#include "softamp/numerics/block/e8m0.h"
#include "softamp/numerics/block/element.h"

namespace softamp::block {

/// How x is divided by its block's scale: three orders, which differ in single codes. M the largest number, A the
/// greatest magnitude.
// implements: N458
enum class Fp8Rule : uint8_t {
  kTransformerEngine,  ///< x RN32(M / A); A = 0, infinite or NaN: factor 1.
  kDeepSeek,           ///< RN32(x / s), s = RN32(max(A, 1e-4) / M): DeepSeek-V3's kernel for inference.
  kDeepGemm,           ///< x RN32(1 / s), the same s: DeepGEMM.
};

/// powers_of_two       [=false] the scale is a power of two: the factor rounded down (TransformerEngine), s up
/// least_amax          [=+0, an fp32 code] TransformerEngine: A is at least this
/// largest_factor      [=FLT_MAX, an fp32 code] TransformerEngine: what an infinite M / A becomes; by blocks it is the
///                     largest number of the input's type
struct Fp8Rules {
  Fp8Rule rule = Fp8Rule::kTransformerEngine;
  bool powers_of_two = false;
  uint32_t least_amax = 0;
  uint32_t largest_factor = detail32::kLargest;
  RoundingPolicy rounding = RoundingPolicy::saturating();
  bool nan_poisons_block = true;
};

/// A block's scale: what codes are multiplied by, and what elements are multiplied or divided by.
struct Fp8Scale {
  uint32_t decode;
  uint32_t factor;
};

// implements: N457
SOFTAMP_GENERAL Fp8Scale fp8_scale(const FloatFormat& f, uint32_t amax, const Fp8Rules& rules) {
  using namespace detail32;
  const uint32_t most = widened(f, f.max_finite_code());
  if (rules.rule == Fp8Rule::kTransformerEngine) {
    const uint32_t a = amax < rules.least_amax ? rules.least_amax : amax;
    if (a == 0 || a >= kInfinity) return {kOne, kOne};
    uint32_t factor = div(most, a);
    if (factor == kInfinity) factor = rules.largest_factor;
    if (rules.powers_of_two) factor &= kInfinity;
    return {div(kOne, factor), factor};
  }
  constexpr uint32_t kLeast = 0x38D1B717u;  // 1e-4
  uint32_t s = div(amax < kLeast ? kLeast : amax, most);
  if (rules.powers_of_two && s < kInfinity) {
    const uint32_t byte = e8m0::from_fp32(s, e8m0::Rounding::kUp, e8m0::Beyond::kToLargest);
    s = e8m0::fp32_code(byte == 0 ? 1 : byte);
  }
  return {s, rules.rule == Fp8Rule::kDeepGemm ? div(kOne, s) : s};
}

/// One element of a block with that scale.
// implements: N457
SOFTAMP_GENERAL Rounded fp8_code(const FloatFormat& f, Fp8Scale scale, uint32_t x, const Fp8Rules& rules,
                                 uint32_t random = 0) {
  RoundingPolicy p = rules.rounding;
  p.overflow = Overflow::kSaturate;
  p.infinity = InfinityResult::kSaturate;
  const uint32_t y = rules.rule == Fp8Rule::kDeepSeek ? detail32::div(x, scale.factor) : detail32::mul(x, scale.factor);
  return round_fp32(Element(f), y, 0, false, p, random);
}

/// The value of a code as an fp32 code: RN32(v(code) decode).
// implements: N459
SOFTAMP_INLINE uint32_t fp8_value(const FloatFormat& f, uint32_t decode, uint64_t code) {
  return detail32::mul(detail32::widened(f, code & f.code_mask()), decode);
}

/// Quantises the n fp32 codes at `x`, a block of any size.
struct Fp8Block {
  Fp8Scale scale;
  uint8_t flags;
};
SOFTAMP_INLINE Fp8Block fp8_quantize(const FloatFormat& f, const uint32_t* x, int n, uint8_t* codes,
                                     const Fp8Rules& rules, const uint32_t* words = nullptr) {
  Fp8Block block{fp8_scale(f, greatest_magnitude(x, n, rules.nan_poisons_block), rules), 0};
  for (int i = 0; i < n; ++i) {
    const Rounded r = fp8_code(f, block.scale, x[i], rules, words ? words[i] : 0);
    codes[i] = static_cast<uint8_t>(r.code);
    block.flags |= r.flags;
  }
  return block;
}

}  // namespace softamp::block
