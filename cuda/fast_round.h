// fp32 to a code of fp16, bf16 or fp32 in a few instructions: fast code with the bits of round_and_pack, for the
// roundings that training uses. Rare values are left to the body.
//
// fp16, nearest even    the device's conversion.
// fp16, stochastic      y = RZ32(x + R u 2^-r), u = the quantum of fp16 at x with x's sign, r <= 23, then the device's
//                       conversion toward zero (N406): adding R u 2^-r carries exactly where N12 says.
// bf16                  integers: the 16 bits that bf16 drops, and R aligned to them, carry by themselves, in the
//                       subnormal range as well.
// Variant kHalf (N13) is the carry by R + 1/2; toward zero is the carry by 0.
#pragma once

#include "cuda/primitives.h"
#include "softamp/numerics/round.h"

namespace softamp::cuda {

/// How values are rounded to one format under one policy, worked out once, by `of`.
// implements: N304
struct FastRound {
  enum class Way : uint8_t {
    kNone,
    kHalfNearest,
    kHalfCarry,
    kBf16Nearest,
    kBf16Carry,
    kFloat,  ///< the value itself; subnormals may be flushed
  };

  bool usable = false;  ///< false: the body computes every element
  Way way = Way::kNone;
  bool draws = false;   ///< reads its random word
  int random_bits = 0;  ///< how many of its bits; 0 if none is drawn

  float greatest = 0;        ///< magnitudes above are rare
  uint32_t flush_below = 0;  ///< magnitudes whose bits are below become zeros
  uint32_t flush_sign = 0;   ///< which keep these bits
  uint32_t number_mask = 0;  ///< R = word >> number_shift & number_mask
  uint32_t number_shift = 0;
  uint32_t number_factor = 0;   ///< bf16: what R counts, in fp32's bits
  uint32_t number_offset = 0;   ///< bf16: added to that
  float scale = 0, offset = 0;  ///< fp16: (2^23 + R) scale + offset = R 2^-(10 + r)

  /// Values are results of an operation in `to`, exact or rounded to fp32 so that rounding again gives the right bits
  /// (N402 to N405), or (`operands`) fp32 operands of a conversion, which the preset may flush.
  /// status_wanted: whether flags are wanted; then the body handles overflow, NaN and infinity, and always inexact and
  /// underflow.
  static SOFTAMP_HD FastRound of(const FloatFormat& to, const Semantics& s, bool status_wanted, bool operands = false) {
    FastRound f;
    const RoundingPolicy& p = s.rounding(to);
    const bool half = to == FloatFormat::fp16(), bf16 = to == FloatFormat::bf16(), wide = to == FloatFormat::fp32();
    if ((!half && !bf16 && !wide) || !s.usual()) return f;
    if (status_wanted && (p.flags & (kInexact | kUnderflow))) return f;

    // Results equal to the greatest number may come from greater ones, which some overflow rules distinguish.
    f.greatest = half ? 65504.0f : from_bits(bf16 ? 0x7F7F0000u : 0x7F7FFFFFu);
    if (p.overflow_rule != OverflowRule::kAfterRounding) f.greatest = from_bits(bits_of(f.greatest) - 1);
    if (wide) {
      if (p.mode != RoundingMode::kNearestEven) return f;
      // A result of -0 may come from a subnormal or a zero: only the body can distinguish them under kFlushToPositive.
      if (p.subnormals == Subnormals::kFlushToPositive) return f;
      if (p.subnormals == Subnormals::kFlush) f.flush_below = 0x00800000u, f.flush_sign = 0x80000000u;
      f.way = Way::kFloat;
    } else {
      if (p.subnormals != Subnormals::kKeep) return f;
      if (p.mode == RoundingMode::kNearestEven)
        f.way = half ? Way::kHalfNearest : Way::kBf16Nearest;
      else if (p.mode == RoundingMode::kTowardZero || p.mode == RoundingMode::kStochastic)
        f.way = half ? Way::kHalfCarry : Way::kBf16Carry;
      else
        return f;
      if (p.stochastic() && !f.set_stochastic(p, half)) return f;
    }
    if (operands && s.wide_operands_flushed) {
      if (s.operand_flush_sign == FlushSign::kPositive) return f;
      if (!half) f.flush_below = 0x00800000u, f.flush_sign = 0x80000000u;  // they become zeros in fp16 anyway
    }
    f.usable = true;
    return f;
  }

  /// Whether the body must compute the code of x.
  // implements: N304
  SOFTAMP_PRIMITIVE bool is_rare(float x) const { return !(magnitude_of(x) <= greatest); }

  /// The code of x. `random`: the word that Environment::draw gives; bits above R's may be anything. Sets `rare`, and
  /// returns a meaningless code, if the body must compute the result; never clears it.
  SOFTAMP_HD uint32_t operator()(float x, uint32_t random, bool& rare) const {
    switch (way) {
      case Way::kHalfNearest: return code<Way::kHalfNearest>(x, random, rare);
      case Way::kHalfCarry: return code<Way::kHalfCarry>(x, random, rare);
      case Way::kBf16Nearest: return code<Way::kBf16Nearest>(x, random, rare);
      case Way::kBf16Carry: return code<Way::kBf16Carry>(x, random, rare);
      case Way::kFloat: return code<Way::kFloat>(x, random, rare);
      case Way::kNone: break;
    }
    rare = true;
    return 0;
  }

  /// The same for a known way: kWay == way.
  template <Way kWay>
  SOFTAMP_PRIMITIVE uint32_t code(float x, uint32_t random, bool& rare) const {
    rare |= is_rare(x);
    if constexpr (kWay == Way::kHalfNearest) return half_of_rn(x);
    if constexpr (kWay == Way::kHalfCarry) return half_of_rz(carried(x, random));
    const uint32_t bits = flushed(x);
    if constexpr (kWay == Way::kBf16Nearest) return bf16_of_rn(from_bits(bits));
    if constexpr (kWay == Way::kBf16Carry)
      return (bits + number_offset + (random >> number_shift & number_mask) * number_factor) >> 16;
    return bits;
  }

  /// Two codes, `low`'s in bits 15..0: for ways with 16-bit codes.
  template <Way kWay>
  SOFTAMP_PRIMITIVE uint32_t codes(float low, float high, uint32_t random_low, uint32_t random_high, bool& rare) const {
    static_assert(kWay != Way::kFloat && kWay != Way::kNone);
    if constexpr (kWay == Way::kHalfNearest || kWay == Way::kHalfCarry) {
      rare |= is_rare(low);
      rare |= is_rare(high);
      if constexpr (kWay == Way::kHalfNearest) return halves_of_rn(low, high);
      return halves_of_rz(carried(low, random_low), carried(high, random_high));
    } else if constexpr (kWay == Way::kBf16Nearest) {
      rare |= is_rare(low);
      rare |= is_rare(high);
      return bf16s_of_rn(from_bits(flushed(low)), from_bits(flushed(high)));
    } else {
      return code<kWay>(low, random_low, rare) | code<kWay>(high, random_high, rare) << 16;
    }
  }

 private:
  SOFTAMP_PRIMITIVE uint32_t flushed(float x) const {
    return bits_of(magnitude_of(x)) < flush_below ? bits_of(x) & flush_sign : bits_of(x);
  }

  /// x with R u 2^-r added, truncated to fp32.
  // implements: N406
  SOFTAMP_PRIMITIVE float carried(float x, uint32_t random) const {
    constexpr uint32_t kSign = 0x80000000u, kExponent = 0x7F800000u, kTwoTo23 = 0x4B000000u;
    constexpr int32_t kLeastNormal = 0x38800000;  // 2^-14
    const float number = fma_rn(from_bits((random & number_mask) | kTwoTo23), scale, offset);
    const int32_t power = static_cast<int32_t>(bits_of(x) & kExponent);
    const uint32_t binade = static_cast<uint32_t>(power > kLeastNormal ? power : kLeastNormal);
    return fma_rz(number, from_bits(binade | (bits_of(x) & kSign)), x);
  }

  SOFTAMP_HD bool set_stochastic(const RoundingPolicy& p, bool half) {
    const int r = p.random_bits;
    const bool middle = p.variant == StochasticVariant::kHalf;
    if (p.variant != StochasticVariant::kCarry && !middle) return false;
    draws = true;
    random_bits = r;
    number_mask = r >= 32 ? ~0u : (1u << r) - 1;
    if (half) {
      if (r > 23 - middle) return false;
      scale = from_bits(static_cast<uint32_t>(127 - 10 - r) << 23);
      offset = (middle ? -0x1p23f + 0.5f : -0x1p23f) * scale;
    } else if (r <= 16) {
      number_factor = 1u << (16 - r);
      number_offset = middle && r < 16 ? 1u << (15 - r) : 0;
    } else {
      number_shift = static_cast<uint32_t>(r - 16);
      number_mask = 0xFFFFu;
      number_factor = 1;
    }
    return true;
  }
};

}  // namespace softamp::cuda
