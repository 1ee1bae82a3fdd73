// Arithmetic on codes: each operation forms the exact value, then rounds once.
//
// Common to all: codes of format `f` (not binary64), the preset `s`, and for a stochastic policy the word `random`,
// whose low random_bits bits are read. Order of evaluation (N45): flush wide operands, NaN operands, invalid
// combinations, division by zero, the exact value, rounding, overflow, flush the result.
#pragma once

#include "softamp/numerics/integer_math.h"
#include "softamp/numerics/operand.h"

namespace softamp::fp {

namespace detail {
using namespace softamp::detail;

/// Result for up to three operands at least one of which counts as a NaN.
SOFTAMP_INLINE Rounded nan_among(const FloatFormat& f, const Semantics& s, uint64_t a, const Operand& x, uint64_t b,
                                 const Operand& y, uint8_t flags = 0) {
  if (x.nan()) flags = static_cast<uint8_t>(flags | nan_flags(f, a, s));
  if (y.nan()) flags = static_cast<uint8_t>(flags | nan_flags(f, b, s));
  return nan_result(f, x.nan() ? a : b, flags, s);
}

// Each operation is a `..._finite` on exact operands, and a `..._special` for operands that are not plain: it handles
// NaNs and infinities, and passes operands that are finite after all to the former.

/// The rounding of `total`, which is x + y.
SOFTAMP_INLINE Rounded round_sum(const FloatFormat& f, Signed x, Signed y, Signed total, const Semantics& s,
                                 uint32_t random) {
  const RoundingPolicy& p = s.rounding(f);
  if (total.significand == 0) [[unlikely]] {
    const bool negative = x.negative() == y.negative() ? x.negative() : p.mode == RoundingMode::kDown;
    return {zero_code(f, negative, p), 0};
  }
  return round_normalised(f, normalised(total), p, random);
}
/// x + y of significands of at most 53 bits, of whatever formats.
SOFTAMP_GENERAL Rounded add_any(const FloatFormat& f, Signed x, Signed y, const Semantics& s, uint32_t random) {
  return round_sum(f, x, y, aligned_sum(x, y), s, random);
}

// implements: N40, N45
SOFTAMP_INLINE Rounded add_finite(const FloatFormat& f, Signed x, Signed y, const Semantics& s, uint32_t random) {
  return round_sum(f, x, y, sums_in_fixed_point(f) ? fixed_point_sum(f, x, y) : sum(f, x, y), s, random);
}

// implements: N34, N45
SOFTAMP_RARE Rounded add_special(const FloatFormat& f, uint64_t a, uint64_t b, bool negate_b, const Semantics& s,
                                 uint32_t random) {
  const Operand x = unpack(f, a, s);
  Operand y = unpack(f, b, s);
  if (x.nan() || y.nan()) return nan_among(f, s, a, x, b, y);
  y.negative = y.negative != negate_b;
  if (x.finite() && y.finite()) return add_finite(f, x.parts(), y.parts(), s, random);
  if (x.infinite() && y.infinite() && x.negative != y.negative) return invalid_result(f, s);
  return pack_infinity(f, x.infinite() ? x.negative : y.negative, s.rounding(f));
}

SOFTAMP_INLINE Rounded add_signed(const FloatFormat& f, uint64_t a, uint64_t b, bool negate_b, const Semantics& s,
                                  uint32_t random) {
  if (!plain(f, a, s) || !plain(f, b, s)) return add_special(f, a, b, negate_b, s, random);
  Signed y = unpack_signed(f, b);
  if (negate_b) y.sign = ~y.sign;
  return add_finite(f, unpack_signed(f, a), y, s, random);
}

SOFTAMP_INLINE Signed product(Signed x, Signed y) {
  return {x.sign ^ y.sign, x.exponent + y.exponent, x.significand * y.significand};
}
SOFTAMP_INLINE Rounded mul_finite(const FloatFormat& f, Signed x, Signed y, const Semantics& s, uint32_t random) {
  return round_signed(f, product(x, y), s.rounding(f), random);
}

SOFTAMP_RARE Rounded mul_special(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random) {
  const Operand x = unpack(f, a, s), y = unpack(f, b, s);
  if (x.nan() || y.nan()) return nan_among(f, s, a, x, b, y);
  if (x.finite() && y.finite()) return mul_finite(f, x.parts(), y.parts(), s, random);
  if (x.zero() || y.zero()) return invalid_result(f, s);
  return pack_infinity(f, x.negative != y.negative, s.rounding(f));
}

// implements: N40
SOFTAMP_GENERAL Rounded fma_finite(const FloatFormat& f, Signed x, Signed y, Signed z, const Semantics& s,
                                   uint32_t random) {
  const Signed xy = product(x, y);
  return round_sum(f, xy, z, sum_of_product(f, xy, z), s, random);
}

// implements: N34
SOFTAMP_RARE Rounded fma_special(const FloatFormat& f, uint64_t a, uint64_t b, uint64_t c, const Semantics& s,
                                 uint32_t random) {
  const Operand x = unpack(f, a, s), y = unpack(f, b, s), z = unpack(f, c, s);
  const bool zero_times_infinity = (x.zero() && y.infinite()) || (x.infinite() && y.zero());
  if (x.nan() || y.nan() || z.nan()) {
    uint8_t flags = zero_times_infinity ? kInvalid : 0;
    if (z.nan()) flags = static_cast<uint8_t>(flags | nan_flags(f, c, s));
    return x.nan() || y.nan() ? nan_among(f, s, a, x, b, y, flags) : nan_result(f, c, flags, s);
  }
  if (zero_times_infinity) return invalid_result(f, s);
  const bool negative = x.negative != y.negative;
  if (x.infinite() || y.infinite()) {
    if (z.infinite() && z.negative != negative) return invalid_result(f, s);
    return pack_infinity(f, negative, s.rounding(f));
  }
  if (z.infinite()) return pack_infinity(f, z.negative, s.rounding(f));
  return fma_finite(f, x.parts(), y.parts(), z.parts(), s, random);
}

/// A finite non-zero result of the IPU's fp32 unit in a narrower format: rounded to fp32, then to `f`.
// implements: N51
SOFTAMP_GENERAL Rounded round_by_way_of_fp32(const FloatFormat& f, Signed x, const Semantics& s, uint32_t random) {
  const FloatFormat wide = FloatFormat::fp32();
  const RoundingPolicy& p = s.rounding(f);
  if (f.exponent_bits <= 5) {  // no quotient or root of such a format leaves fp32's normal range
    const Signed y = normalised(x);
    const Split split = split_top(y.significand, wide.precision, 0);
    const bool up = s.wide.mode == RoundingMode::kNearestEven ? nearest_up(split)
                                                              : rounds_up(split, x.negative(), s.wide.undrawn(), 0);
    // It stays below 2^24: operands of at most 14 bits give nothing so near below a power of two.
    const Signed again{x.sign, y.exponent, (split.kept + up) << (64 - wide.precision)};
    const Rounded r = round_normalised(f, again, p, random);
    return {r.code, static_cast<uint8_t>(r.flags | (split.rest != 0 ? kInexact & s.wide.flags : 0))};
  }
  const Rounded first = round_and_pack(wide, x.exact(), s.wide.undrawn());
  const Operand y = unpack(wide, first.code, s);
  Rounded second{nan_code(f, p.nan), nan_flags(wide, first.code, s)};
  if (y.infinite()) second = pack_infinity(f, y.negative, p);
  if (y.finite()) second = round_and_pack(f, y.exact(), p, random);
  return {second.code, static_cast<uint8_t>(first.flags | second.flags)};
}

// implements: N51
SOFTAMP_INLINE bool goes_by_fp32(const FloatFormat& f, const Semantics& s) {
  return s.divide_by_way_of_fp32 && f.storage_bits() <= 16;
}
/// How many bits of a quotient or root its rounding needs.
SOFTAMP_INLINE int quotient_bits(const FloatFormat& f, const Semantics& s) {
  return goes_by_fp32(f, s) ? bits_read(FloatFormat::fp32(), s.wide) : bits_read(f, s.rounding(f));
}
SOFTAMP_GENERAL Rounded round_quotient(const FloatFormat& f, Signed x, const Semantics& s, uint32_t random) {
  return goes_by_fp32(f, s) ? round_by_way_of_fp32(f, x, s, random)
                            : round_normalised(f, normalised(x), s.rounding(f), random);
}

/// An infinity that an exact zero divisor made, with `flag` raised.
// implements: N35, N52
SOFTAMP_INLINE Rounded pole(const FloatFormat& f, bool negative, uint8_t flag, const Semantics& s) {
  const Rounded r = pack_infinity(f, negative, s.rounding(f));
  return {r.code, static_cast<uint8_t>((r.flags | flag) & s.rounding(f).flags)};
}
SOFTAMP_INLINE uint8_t pole_flags(const Semantics& s) {
  return s.pole == PoleFlag::kDivideByZero ? kDivideByZero : s.pole == PoleFlag::kInvalid ? kInvalid : 0;
}

// implements: N35, N52
SOFTAMP_GENERAL Rounded div_finite(const FloatFormat& f, Signed x, Signed y, const Semantics& s, uint32_t random) {
  const bool negative = x.negative() != y.negative();
  if (y.significand == 0) return x.significand == 0 ? invalid_result(f, s) : pole(f, negative, kDivideByZero, s);
  if (x.significand == 0) return {zero_code(f, negative, s.rounding(f)), 0};
  const int bits = quotient_bits(f, s);
  return round_quotient(
      f, f.precision <= 12 && bits <= 38 ? short_quotient(f, x, y) : parts(quotient(x.exact(), y.exact(), bits)), s,
      random);
}

// implements: N34
SOFTAMP_RARE Rounded div_special(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random) {
  const Operand x = unpack(f, a, s), y = unpack(f, b, s);
  if (x.nan() || y.nan()) return nan_among(f, s, a, x, b, y);
  const bool negative = x.negative != y.negative;
  if (x.infinite()) return y.infinite() ? invalid_result(f, s) : pack_infinity(f, negative, s.rounding(f));
  if (y.infinite()) return {zero_code(f, negative, s.rounding(f)), 0};
  return div_finite(f, x.parts(), y.parts(), s, random);
}

// implements: N41
SOFTAMP_GENERAL Rounded sqrt_finite(const FloatFormat& f, Exact x, const Semantics& s, uint32_t random) {
  if (x.significand == 0) return {zero_code(f, x.negative, s.rounding(f)), 0};
  if (x.negative) return invalid_result(f, s);
  return round_quotient(f, parts(square_root(x, quotient_bits(f, s))), s, random);
}

// implements: N34
SOFTAMP_RARE Rounded sqrt_special(const FloatFormat& f, uint64_t a, const Semantics& s, uint32_t random) {
  const Operand x = unpack(f, a, s);
  if (x.nan()) return nan_result(f, a, nan_flags(f, a, s), s);
  if (x.finite()) return sqrt_finite(f, x.exact(), s, random);
  return x.negative ? invalid_result(f, s) : pack_infinity(f, false, s.rounding(f));
}

}  // namespace detail

/// a + b. Inf - Inf is invalid. A zero from unlike signs is +0, -0 when rounding down.
// implements: N10
SOFTAMP_GENERAL Rounded add(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random = 0) {
  return detail::add_signed(f, a, b, false, s, random);
}

/// a - b.
// implements: N10
SOFTAMP_GENERAL Rounded sub(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random = 0) {
  return detail::add_signed(f, a, b, true, s, random);
}

/// a b. 0 Inf is invalid.
// implements: N10
SOFTAMP_GENERAL Rounded mul(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random = 0) {
  if (!detail::plain(f, a, s) || !detail::plain(f, b, s)) return detail::mul_special(f, a, b, s, random);
  return detail::mul_finite(f, detail::unpack_signed(f, a), detail::unpack_signed(f, b), s, random);
}

/// a b + c, rounded once. 0 Inf is invalid for any c, and so is Inf - Inf.
// implements: N10
SOFTAMP_GENERAL Rounded fma(const FloatFormat& f, uint64_t a, uint64_t b, uint64_t c, const Semantics& s,
                            uint32_t random = 0) {
  if (!detail::plain(f, a, s) || !detail::plain(f, b, s) || !detail::plain(f, c, s))
    return detail::fma_special(f, a, b, c, s, random);
  return detail::fma_finite(f, detail::unpack_signed(f, a), detail::unpack_signed(f, b), detail::unpack_signed(f, c), s,
                            random);
}

/// a / b. 0/0 and Inf/Inf are invalid; finite non-zero / 0 is infinite and raises division by zero.
// implements: N10
SOFTAMP_GENERAL Rounded div(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random = 0) {
  if (!detail::plain(f, a, s) || !detail::plain(f, b, s)) return detail::div_special(f, a, b, s, random);
  return detail::div_finite(f, detail::unpack_signed(f, a), detail::unpack_signed(f, b), s, random);
}

/// The square root. sqrt(-0) = -0; of a negative number invalid.
// implements: N10
SOFTAMP_GENERAL Rounded sqrt(const FloatFormat& f, uint64_t a, const Semantics& s, uint32_t random = 0) {
  if (!detail::plain(f, a, s)) return detail::sqrt_special(f, a, s, random);
  return detail::sqrt_finite(f, detail::unpack_finite(f, a), s, random);
}

/// 1 / a. Of a zero: infinite, raising what `pole` of the preset says.
// implements: N35
SOFTAMP_GENERAL Rounded reciprocal(const FloatFormat& f, uint64_t a, const Semantics& s, uint32_t random = 0) {
  const detail::Operand x = detail::unpack(f, a, s);
  if (x.zero()) return detail::pole(f, x.negative, detail::pole_flags(s), s);
  const uint64_t one = static_cast<uint64_t>(f.bias) << f.mantissa_bits();
  return div(f, one, a, s, random);
}

/// 1 / sqrt(a). Of +-0: infinite of that sign, raising what `pole` says; of a negative number invalid.
/// If the preset divides in fp32, root, quotient and result are each rounded.
// implements: N35
SOFTAMP_GENERAL Rounded reciprocal_sqrt(const FloatFormat& f, uint64_t a, const Semantics& s, uint32_t random = 0) {
  const detail::Operand x = detail::unpack(f, a, s);
  if (x.nan()) return detail::nan_result(f, a, detail::nan_flags(f, a, s), s);
  if (x.zero()) return detail::pole(f, x.negative, detail::pole_flags(s), s);
  if (x.negative) return detail::invalid_result(f, s);
  if (x.infinite()) return {zero_code(f, false), 0};
  const Exact one{false, 0, 1};
  if (detail::goes_by_fp32(f, s)) {
    const FloatFormat wide = FloatFormat::fp32();
    const Exact root = detail::square_root(x.exact(), detail::bits_read(wide, s.wide));
    const Exact rounded = detail::unpack_finite(wide, round_and_pack(wide, root, s.wide.undrawn()).code);
    const Exact quotient = detail::quotient(one, rounded, detail::bits_read(wide, s.wide));
    return detail::round_by_way_of_fp32(f, detail::parts(quotient), s, random);
  }
  // x = m 2^odd 2^exponent with an even exponent; the root of N = floor(2^150 / (m 2^odd)), N in [2^125, 2^127], is
  // that of 2^75 / sqrt(x) before the even power, exact only where x is a power of four.
  const int zeros = detail::countl_zero(x.significand) - 40;
  const uint64_t m = x.significand << zeros;  // of 24 bits
  const int odd = (x.exponent - zeros) & 1;
  const int exponent = x.exponent - zeros - odd;
  const uint64_t dividend = uint64_t{1} << (63 - odd);
  uint64_t rest = (dividend % m) << 23;
  const uint64_t high = (dividend / m) << 23 | rest / m;
  uint64_t low = 0;
  for (int words = 0; words < 2; ++words) {
    rest = (rest % m) << 32;
    low = low << 32 | rest / m;
  }
  const bool short_by_two = high >> 62 == 0;
  const uint64_t root = short_by_two ? detail::root_of_128_bits(high << 2 | low >> 62, low << 2) >> 1
                                     : detail::root_of_128_bits(high, low);
  const bool power_of_four = odd == 1 && m == uint64_t{1} << 23;
  const uint64_t jam = power_of_four ? 0 : 1;
  return round_and_pack(f, {false, -(150 + exponent) / 2, root | jam}, s.rounding(f), random);
}

/// IEEE 754 remainder: a - n b, n the integer nearest a/b, ties to even; always exact. A zero has the sign of a.
/// a REM 0 and Inf REM b are invalid (not a division by zero).
// implements: N34, N42
SOFTAMP_GENERAL Rounded rem(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random = 0) {
  const detail::Operand x = detail::unpack(f, a, s), y = detail::unpack(f, b, s);
  if (x.nan() || y.nan()) return detail::nan_among(f, s, a, x, b, y);
  if (x.infinite() || y.zero()) return detail::invalid_result(f, s);
  if (y.infinite() || x.zero() || y.exponent - x.exponent > 38)
    return round_and_pack(f, x.exact(), s.rounding(f), random);
  const int exponent = x.exponent < y.exponent ? x.exponent : y.exponent;
  const uint64_t divisor = y.significand << (y.exponent - exponent);
  uint64_t rest = x.significand % (2 * divisor);  // modulo twice the divisor: keeps the parity of the quotient
  for (int left = x.exponent - exponent; left > 0; left -= 38) rest = (rest << (left < 38 ? left : 38)) % (2 * divisor);
  const bool odd = rest >= divisor;
  if (odd) rest -= divisor;
  const bool away = 2 * rest > divisor || (2 * rest == divisor && odd);
  return round_and_pack(f, {away ? !x.negative : x.negative, exponent, away ? divisor - rest : rest}, s.rounding(f),
                        random);
}

}  // namespace softamp::fp
