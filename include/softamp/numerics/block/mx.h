// OCP's microscaling formats: n elements and the E8M0 scale that they share (N447 to N452).
//
//   scale    X = a power of two chosen from the greatest magnitude, by a rule
//   element  code = x / X, exactly, rounded once
//   value    v(code) X
//
// Values of fp32 are given as their codes. bf16 and fp16 widen exactly: round nothing before.
#pragma once

#include "softamp/numerics/block/e8m0.h"
#include "softamp/numerics/block/element.h"

namespace softamp::block {

/// How the scale follows from A, the greatest magnitude of a block. 2^emax is the element's largest power of two, M its
/// largest number.
// implements: N448
enum class ScaleRule : uint8_t {
  kFloor,         ///< OCP's: the power of two below A, over 2^emax. Elements may saturate (e2m1 from 7 2^k on).
  kCeil,          ///< the power of two above A, over 2^emax. Nothing saturates.
  kEven,          ///< A is first rounded to the element's precision, ties up; then as floor.
  kRceil,         ///< A times fp32's 1/M, rounded up to a power of two: NVIDIA's. Nothing saturates.
  kMicroxcaling,  ///< floor of log2(A) computed in fp32, which just below 2^k is k; over 2^emax.
};

/// How blocks are made. The default is OCP's conversion, with torchao's answers to what OCP leaves open.
///
/// rounding             of elements; overflows and infinities saturate in every case
/// infinity_saturates   [=false] kRceil: a scale beyond 2^127, that of an infinity, is FE in place of NaN, and an
///                      infinity becomes the largest number (TransformerEngine)
/// nan_poisons_block    [=true] a NaN makes the scale NaN; false: it counts as absent, and only its element is one
/// three_quarters       [=false] elements are 3/4 x / X, so that stochastic rounding under kFloor never saturates; a
///                      product of two such blocks is to be multiplied by 16/9
// implements: N450, N452
struct MxRules {
  ScaleRule scale = ScaleRule::kFloor;
  RoundingPolicy rounding = RoundingPolicy::saturating();
  bool infinity_saturates = false;
  bool nan_poisons_block = true;
  bool three_quarters = false;

  /// microxcaling: its rule of the scale, ties away from zero, no -0.
  // implements: N451
  static SOFTAMP_INLINE MxRules microxcaling(RoundingMode mode = RoundingMode::kNearestAway) {
    MxRules rules;
    rules.scale = ScaleRule::kMicroxcaling;
    rules.rounding.mode = mode;
    rules.rounding.signed_zeros = false;
    return rules;
  }
};

namespace detail_mx {

/// floor(RN32(log2 A)) of a finite A > 0: A = (1 - n 2^-24) 2^k counts as 2^k where n 2^-24 / ln 2 is at most half the
/// distance of fp32's numbers beside k.
// implements: N451
SOFTAMP_INLINE int microxcaling_exponent(uint32_t amax) {
  const Exact a = detail::unpack_finite(kFp32, amax);
  const int zeros = detail::countl_zero(a.significand);
  const uint64_t significand = a.significand << zeros >> 40;  // 24 bits
  const int below = a.exponent + 63 - zeros, k = below + 1;
  const uint64_t n = (uint64_t{1} << 24) - significand;
  const int neighbour = k > 0 ? k - 1 : -k;  // fp32's numbers below k lie in the binade of this one
  if (k == 0 || neighbour < 2) return below;
  const int binade = 63 - detail::countl_zero(static_cast<uint64_t>(neighbour));
  constexpr uint64_t kLn2 = 45426;  // of 2^16
  return n <= (uint64_t{1} << binade) * kLn2 >> 16 ? k : below;
}

SOFTAMP_INLINE uint32_t clamped(int byte) { return static_cast<uint32_t>(byte < 0 ? 0 : byte > 255 ? 255 : byte); }

}  // namespace detail_mx

/// The scale of a block whose greatest magnitude is `amax` (an fp32 code, sign 0). Zero gives 00.
// implements: N448
SOFTAMP_GENERAL uint32_t mx_scale(const Element& e, uint32_t amax, const MxRules& rules) {
  using namespace detail32;
  if (amax > kInfinity) return e8m0::kNan;
  if (amax == kInfinity)
    return rules.scale == ScaleRule::kRceil && rules.infinity_saturates ? e8m0::kLargest : e8m0::kNan;
  if (amax == 0) return 0;
  const int emax = e.max_exponent(), exponent = static_cast<int>(amax >> 23);
  switch (rules.scale) {
    case ScaleRule::kFloor: break;
    case ScaleRule::kCeil: return detail_mx::clamped(exponent + ((amax & 0x7FFFFFu) != 0) - emax);
    case ScaleRule::kEven: {
      // The rounded magnitude may be 2^128: NaN, and with it the block.
      const uint32_t rounded = amax + (uint32_t{1} << (22 - e.mantissa_bits()));
      return rounded >= kInfinity ? e8m0::kNan : detail_mx::clamped(static_cast<int>(rounded >> 23) - emax);
    }
    case ScaleRule::kRceil: {
      const Exact largest = exact(e, e.max_code());
      const uint32_t m = static_cast<uint32_t>(round_and_pack(kFp32, largest, RoundingPolicy{}).code);
      return e8m0::from_fp32(mul(amax, div(kOne, m)), e8m0::Rounding::kUp,
                             rules.infinity_saturates ? e8m0::Beyond::kToLargest : e8m0::Beyond::kToNan);
    }
    case ScaleRule::kMicroxcaling: return detail_mx::clamped(detail_mx::microxcaling_exponent(amax) + 127 - emax);
  }
  return detail_mx::clamped(exponent - emax);
}

/// One element of a block with that scale. Flags: those of the rounding; invalid where a NaN has no code.
// implements: N449
SOFTAMP_GENERAL Rounded mx_code(const Element& e, uint32_t scale, uint32_t x, const MxRules& rules,
                                uint32_t random = 0) {
  RoundingPolicy p = rules.rounding;
  p.overflow = Overflow::kSaturate;
  p.infinity = InfinityResult::kSaturate;
  if (scale == e8m0::kNan) return {e.nan_code(p), 0};
  return round_fp32(e, x, 127 - static_cast<int>(scale), rules.three_quarters, p, random);
}

/// v(code) X as an fp32 code, rounded to nearest even where fp32 lacks it (above 2^128 it is infinite).
// implements: N452
SOFTAMP_GENERAL uint32_t mx_value(const Element& e, uint32_t scale, uint64_t code) {
  const uint32_t nan = static_cast<uint32_t>(nan_code(kFp32, NanPattern::kQuiet));
  code &= e.code_mask();
  if (scale == e8m0::kNan || e.is_nan(code)) return nan;
  if (!e.integer && e.format.is_infinity(code))
    return (code & e.format.sign_mask() ? 0x80000000u : 0) | detail32::kInfinity;
  Exact x = exact(e, code);
  x.exponent += static_cast<int>(scale) - 127;
  return static_cast<uint32_t>(round_and_pack(kFp32, x, RoundingPolicy{}).code);
}

/// A block's scale, and the flags of its elements.
struct MxBlock {
  uint32_t scale;
  uint8_t flags;
};

/// Quantises the n fp32 codes at `x`: their scale, and codes[i]. Fewer than 32 elements, as at the end of a row, are a
/// block like any other. words: a random word for each, of a stochastic rounding.
// implements: N447
SOFTAMP_INLINE MxBlock mx_quantize(const Element& e, const uint32_t* x, int n, uint8_t* codes, const MxRules& rules,
                                   const uint32_t* words = nullptr) {
  MxBlock block{mx_scale(e, greatest_magnitude(x, n, rules.nan_poisons_block), rules), 0};
  for (int i = 0; i < n; ++i) {
    const Rounded r = mx_code(e, block.scale, x[i], rules, words ? words[i] : 0);
    codes[i] = static_cast<uint8_t>(r.code);
    block.flags |= r.flags;
  }
  return block;
}

}  // namespace softamp::block
