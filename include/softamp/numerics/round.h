// The one rounding (N382): an exact value goes in, a code and its flags come out.
#pragma once

#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"

namespace softamp {

/// (-1)^negative * significand * 2^exponent, exactly; significand 0 is a zero of that sign.
/// Where significand >= 2^58, its bit 0 may stand for any non-zero tail ("jam"): no rounding to at most 24 bits with
/// at most 32 random bits reads that far down. Results of 53 bits are made from exact values only.
struct Exact {
  bool negative;
  int exponent;
  uint64_t significand;
};

namespace detail {

/// An Exact as operations hand it on: the sign is the top bit of `sign`, whose other bits mean nothing, so that it
/// takes no more than exclusive ors and shifts to bring it into a result.
struct Signed {
  uint64_t sign;
  int64_t exponent;
  uint64_t significand;

  SOFTAMP_INLINE bool negative() const { return sign >> 63 != 0; }
  SOFTAMP_INLINE Exact exact() const { return {negative(), static_cast<int>(exponent), significand}; }
};

SOFTAMP_INLINE Signed parts(Exact x) { return {uint64_t{x.negative} << 63, x.exponent, x.significand}; }

/// x, not zero, with its leading bit moved to bit 63, and in `exponent` the power of two that this bit stands for.
SOFTAMP_INLINE Signed normalised(Signed x) {
  const int top = 63 ^ countl_zero(x.significand);
  return {x.sign, x.exponent + top, x.significand << (63 ^ top)};
}

/// |x| / quantum: the integer part and, as a fraction of 2^64 with a jam in bit 0, the rest d.
struct Split {
  uint64_t kept;
  uint64_t rest;
};

/// Splits `significand` `shift` bits (>= 1) above its bit 0.
SOFTAMP_INLINE Split split_at(uint64_t significand, int shift) {
  if (shift < 64) return {significand >> shift, significand << (64 - shift)};
  return {0, shift_right_jam(significand, shift - 64)};
}

/// The same for the top `precision` bits of a normalised significand that lies `lift` bits too low. A tail jammed into
/// bit 0 stays below all that a rounding reads; the fixed shifts keep this free of branches.
// implements: N12
SOFTAMP_INLINE Split split_top(uint64_t normalised, int precision, int lift) {
  const uint64_t lowered = shift_right_jam(normalised, lift);
  return {lowered >> (64 - precision), lowered << precision};
}

/// The magnitude goes up to kept + 1 when rest > threshold (under kAtLeast: >=): together with rounds_up the only place
/// that interprets a rounding mode.
/// A stochastic rounding goes up from a threshold on that its random number decides: carry where rest >= (2^r - R)
/// 2^(64-r), which for R = 0 is 2^64, that is, never.
/// lift: by how many bits the result's quantum lies above that of a normal result.
// implements: N11, N12, N13, N15, N18, N19, N38
SOFTAMP_INLINE uint64_t threshold(bool odd, bool negative, const RoundingPolicy& p, uint32_t random, int lift) {
  constexpr uint64_t kHalf = uint64_t{1} << 63, kNever = ~uint64_t{0};
  switch (p.mode) {
    case RoundingMode::kNearestEven: return kHalf - odd;
    case RoundingMode::kNearestAway: return kHalf - 1;
    case RoundingMode::kTowardZero: return kNever;
    case RoundingMode::kUp: return negative ? kNever : 0;
    case RoundingMode::kDown: return negative ? 0 : kNever;
    case RoundingMode::kOdd: return odd ? kNever : 0;
    case RoundingMode::kStochastic: break;
  }
  const uint64_t numbers = uint64_t{1} << p.random_bits, number = random & (numbers - 1);
  const int r = p.random_bits + (p.alignment == RandomAlignment::kAsIfNormal ? lift : 0);
  if (r > 63) return kNever;
  const uint64_t step = uint64_t{1} << (63 - r);  // half of what one unit of R is worth
  if (p.variant == StochasticVariant::kCarry) return ~(2 * number * step);
  if (p.variant == StochasticVariant::kHalf) return ~((2 * number + 1) * step);
  // At-least: the threshold itself goes up as well, so this is a carry by 2^r - R. With the random bits on the top the
  // threshold is 2 R step, since 2^r 2 step = 2^64.
  if (p.variant == StochasticVariant::kAtLeast) return 0 - (numbers - number) * 2 * step;
  // d 2^r rounded to an integer is at least 2^r - R from half a unit below it on; there, at the tie, if that integer
  // has the parity that wins ties. 2^r - R is as odd as R.
  const bool tie_goes_up = ((number & 1) != 0) == (p.variant == StochasticVariant::kOdd);
  return 0 - (2 * number + 1) * step - tie_goes_up;
}

/// The same for kNearestEven. Any rest below a half is even smaller than a half with its last bit set.
SOFTAMP_INLINE bool nearest_up(Split x) { return (x.rest | (x.kept & 1)) > uint64_t{1} << 63; }

// implements: N11, N18
SOFTAMP_INLINE bool rounds_up(Split x, bool negative, const RoundingPolicy& p, uint32_t random, int lift = 0) {
  const uint64_t limit = threshold((x.kept & 1) != 0, negative, p, random, lift);
  return p.stochastic() && p.variant == StochasticVariant::kAtLeast ? x.rest >= limit : x.rest > limit;
}

// implements: N16
SOFTAMP_INLINE uint64_t signed_code(const FloatFormat& f, bool negative, uint64_t magnitude) {
  if (!f.has_negative_zero() && magnitude == 0) return 0;
  return magnitude | uint64_t{negative} << (f.storage_bits() - 1);
}

}  // namespace detail

/// The NaN that policy `p` writes; kPropagate without an operand gives the quiet one, kInfinity the positive infinity.
/// In formats with a single NaN (e4m3 per sign, f143, f152) at most the sign can vary. In those without one (e2m1,
/// e2m3, e3m2) a NaN is the largest number, which has the code that would be e4m3's NaN (N443).
/// negative: the sign that kSigned keeps.
// implements: N23, N28, N443
SOFTAMP_INLINE uint64_t nan_code(const FloatFormat& f, NanPattern pattern, bool negative = false) {
  if (f.specials == Specials::kNegativeZeroNan) return f.sign_mask();
  const bool sets_sign = pattern == NanPattern::kNegativeQuiet || (pattern == NanPattern::kSigned && negative);
  const uint64_t sign = sets_sign ? f.sign_mask() : 0;
  if (f.has_infinity() && pattern == NanPattern::kInfinity) return f.infinity_code();
  if (!f.has_infinity() || pattern == NanPattern::kAllOnes) return sign | f.magnitude_mask();
  return sign | f.infinity_code() | f.quiet_bit();
}

/// Zero of a sign, in the formats that have it.
// implements: N27
SOFTAMP_INLINE uint64_t zero_code(const FloatFormat& f, bool negative) { return detail::signed_code(f, negative, 0); }
/// The same under policy `p`.
SOFTAMP_INLINE uint64_t zero_code(const FloatFormat& f, bool negative, const RoundingPolicy& p) {
  return zero_code(f, negative && p.signed_zeros);
}

/// An infinite exact result under policy `p`.
// implements: N22, N50, N443
SOFTAMP_INLINE Rounded pack_infinity(const FloatFormat& f, bool negative, const RoundingPolicy& p) {
  if (p.infinity == InfinityResult::kKeep && f.has_infinity())
    return {detail::signed_code(f, negative, f.infinity_code()), 0};
  const uint8_t flags = static_cast<uint8_t>(p.infinity_flags & p.flags);
  if (p.infinity == InfinityResult::kSaturate || !f.has_nan())
    return {detail::signed_code(f, negative, f.max_finite_code()), flags};
  return {nan_code(f, p.nan, negative), flags};
}

namespace detail {

// implements: N21, N38, N49, N443
SOFTAMP_RARE Rounded pack_overflow(const FloatFormat& f, bool negative, const RoundingPolicy& p) {
  const uint8_t flags = static_cast<uint8_t>(p.overflow_flags & p.flags);
  const uint64_t greatest = signed_code(f, negative, f.max_finite_code());
  if (!f.has_nan()) return {greatest, flags};
  switch (p.overflow) {
    case Overflow::kSaturate: return {greatest, flags};
    case Overflow::kNan: return {nan_code(f, p.nan, negative), flags};
    case Overflow::kInfinity: break;
  }
  const bool toward_zero = p.mode == RoundingMode::kTowardZero || p.mode == RoundingMode::kOdd ||
                           (p.mode == RoundingMode::kUp && negative) || (p.mode == RoundingMode::kDown && !negative);
  if (toward_zero) return {greatest, flags};
  if (f.has_infinity()) return {signed_code(f, negative, f.infinity_code()), flags};
  return {nan_code(f, p.nan, negative), flags};
}

/// Overflow by the rules that look at the exact magnitude, normalised to bit 63, with value 2^top <= |x| < 2^(top+1).
// implements: N20
SOFTAMP_INLINE bool exceeds(const FloatFormat& f, uint64_t normalised, int top, OverflowRule rule) {
  if (top != f.max_exponent()) return top > f.max_exponent();
  if (rule == OverflowRule::kPower) return false;
  const uint64_t greatest = f.max_finite_code() & f.mantissa_mask();
  const uint64_t aligned = (greatest | f.min_normal_code()) << (64 - f.precision);
  return rule == OverflowRule::kExact
             ? normalised > aligned
             : normalised - aligned >= uint64_t{1} << (63 - f.precision) && normalised > aligned;
}

/// Rounds a normalised value (leading bit 63, 2^top <= |x| < 2^(top + 1)) in every case: results that are subnormal or
/// in the last binade, and policies that are seldom met.
// implements: N39
SOFTAMP_APART Rounded round_any(const FloatFormat& f, bool negative, int top, uint64_t significand,
                                const RoundingPolicy& p, uint32_t random) {
  const int field = top - f.min_exponent();
  Split split = split_top(significand, f.precision, 0);
  uint64_t binade = static_cast<uint64_t>(static_cast<int64_t>(field)) << f.mantissa_bits();
  bool tiny = false;
  const int lift = field < 0 ? -field : 0;
  if (field < 0) {
    // Tiny after rounding: below the smallest normal number even where the exponent is unbounded.
    tiny = field < -1 || split.kept != (f.min_normal_code() << 1) - 1 || !rounds_up(split, negative, p, random) ||
           p.tininess == Tininess::kBeforeRounding;
    // Random bits that stay with the source may lie below where split_top jams.
    split = p.alignment == RandomAlignment::kAsIfNormal ? split_at(significand, 64 - f.precision + lift)
                                                        : split_top(significand, f.precision, lift);
    binade = 0;
  }
  const bool up = rounds_up(split, negative, p, random, lift);
  uint64_t magnitude = binade + split.kept + up;

  if (p.overflow_rule != OverflowRule::kAfterRounding) {
    if (exceeds(f, significand, top, p.overflow_rule)) return pack_overflow(f, negative, p);
    if (magnitude > f.max_finite_code()) magnitude = f.max_finite_code();
  }
  if (magnitude > f.max_finite_code()) return pack_overflow(f, negative, p);

  const int inexact = (split.rest != 0) | up;
  const uint8_t flags = static_cast<uint8_t>((inexact | (inexact & tiny) << 1) & p.flags);
  static_assert(kInexact == 1 && kUnderflow == 2);
  if (p.subnormals != Subnormals::kKeep && magnitude < f.min_normal_code())
    return {zero_code(f, negative && p.subnormals == Subnormals::kFlush, p), flags};
  return {signed_code(f, negative && (magnitude != 0 || p.signed_zeros), magnitude), flags};
}

/// `threshold` of a normal result for the modes and variants that are met less.
SOFTAMP_APART uint64_t threshold_apart(bool odd, bool negative, const RoundingPolicy& p, uint32_t random) {
  return threshold(odd, negative, p, random, 0);
}

/// The result of round_any. What is met most is short and has no branch that data decide: a normal result below the
/// last binade, where overflow begins. Nearest even and the carry are inline.
SOFTAMP_INLINE Rounded round_normalised(const FloatFormat& f, Signed x, const RoundingPolicy& p, uint32_t random) {
  const int64_t field = x.exponent - f.min_exponent();
  if (kShortWays && field >= 0) [[likely]] {
    const Split split = split_top(x.significand, f.precision, 0);
    uint64_t magnitude = (static_cast<uint64_t>(field) << f.mantissa_bits()) + split.kept;
    if (p.mode == RoundingMode::kNearestEven)
      magnitude += nearest_up(split);
    else if (p.mode == RoundingMode::kStochastic && p.variant == StochasticVariant::kCarry)
      magnitude += split.rest > ~(uint64_t{random} << (-p.random_bits & 63));  // as in `threshold`
    else if (!(p.stochastic() && p.variant == StochasticVariant::kAtLeast))
      magnitude += split.rest > threshold_apart((split.kept & 1) != 0, x.negative(), p, random);
    else
      magnitude = ~uint64_t{0};
    if (magnitude < f.last_binade_code()) [[likely]]
      return {magnitude | x.sign >> 63 << (f.storage_bits() - 1), static_cast<uint8_t>((split.rest != 0) & p.flags)};
  }
  return round_any(f, x.negative(), static_cast<int>(x.exponent), x.significand, p, random);
}

SOFTAMP_INLINE Rounded round_signed(const FloatFormat& f, Signed x, const RoundingPolicy& p, uint32_t random) {
  if (x.significand == 0) [[unlikely]]
    return {zero_code(f, x.negative(), p), 0};
  return round_normalised(f, normalised(x), p, random);
}

}  // namespace detail

/// Rounds `x` once to format `f` and packs it. `random` serves a stochastic policy: its low random_bits bits are R.
/// Flags: overflow and inexact as the policy says; underflow where the result is inexact and tiny (`tininess`).
// implements: N8, N10, N14, N19, N20, N26, N31, N32, N66, N382
SOFTAMP_GENERAL Rounded round_and_pack(const FloatFormat& f, Exact x, const RoundingPolicy& p, uint32_t random = 0) {
  return detail::round_signed(f, detail::parts(x), p, random);
}

/// An integer result (a fixed-point code) and the flags that making it raised.
struct RoundedInteger {
  int64_t value;
  uint8_t flags;
};

namespace detail {

/// |x| / 2^quantum_exponent rounded to an integer; `huge` where that is 2^63 or more.
struct Integral {
  uint64_t magnitude;
  bool inexact;
  bool huge;
};

SOFTAMP_INLINE Integral round_to_integer(Exact x, int quantum_exponent, const RoundingPolicy& p, uint32_t random) {
  if (x.significand == 0) return {0, false, false};
  const int zeros = countl_zero(x.significand);
  const uint64_t significand = x.significand << zeros;
  const int shift = quantum_exponent - (x.exponent - zeros);
  if (shift < 1) return {0, false, true};
  const Split split = split_at(significand, shift);
  const bool up =
      split.rest != 0 && rounds_up(split, x.negative, p, random);  // an integer is exact, under kAtLeast, too
  const uint64_t magnitude = split.kept + up;
  return {magnitude, split.rest != 0 || up, magnitude >> 63 != 0};
}

}  // namespace detail

/// Rounds `x` to fixed point: mode, random bits and variant of `p`; beyond the range the nearest limit and overflow.
/// Flags: inexact, overflow.
// implements: N7
SOFTAMP_INLINE RoundedInteger round_to_fixed(const FixedFormat& f, Exact x, const RoundingPolicy& p,
                                             uint32_t random = 0) {
  const detail::Integral n = detail::round_to_integer(x, f.quantum_exponent, p, random);
  const int64_t value = x.negative ? -static_cast<int64_t>(n.magnitude) : static_cast<int64_t>(n.magnitude);
  const bool too_low = x.negative && (n.huge || value < f.least);
  const bool too_high = !x.negative && (n.huge || value > f.greatest);
  if (too_low || too_high)
    return {too_low ? f.least : f.greatest, static_cast<uint8_t>((kOverflow | kInexact) & p.flags)};
  return {value, static_cast<uint8_t>(n.inexact ? kInexact & p.flags : 0)};
}

}  // namespace softamp
