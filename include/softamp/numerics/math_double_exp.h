// e^x in binary64, each function within 0.5001 ulp: as in math_exp.h, but on pairs of numbers (math_pair.h).
//
// x = n ln2 + r with n an integer and |r| <= ln2 / 2; e^r - 1 by its series, whose terms up to r^5 / 5! are pairs;
// times 2^n, rounded once. Coefficients: tests/oracle/math_double_coefficients.py, as everywhere in math_double*.h.
#pragma once

#include "softamp/numerics/math_pair.h"

namespace softamp::math {

namespace detail {

inline constexpr double kDoubleInfinity = __builtin_inf();

/// ln2: two parts of 42 bits, whose products with exponents are exact, and the rest, within 2^-139.
inline constexpr double kLn2First = 0x1.62e42fefa38p-1, kLn2Second = 0x1.ef35793c76p-45;
inline constexpr double kLn2Third = 0x1.cc01f97b57a08p-87;

/// (1 + w) 2^n.
struct PowerParts {
  Pair w;
  int64_t n;

  SOFTAMP_MATH Pair value() const { return w + Double(1.0); }
};

/// e^r - 1 for |r| <= 0.347, within 2^-68 of it: the tail in binary64 is below 2^-17 of the sum, the terms left out
/// below 2^-72.
// implements: N440
SOFTAMP_MATH_LONG Pair exp_series(Pair r) {
  const Double tail =
      horner(r.high, 0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19,
             0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29, 0x1.6124613a86d09p-33,
             0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-41, 0x1.ae7f3e733b81fp-45);
  return r * pair_horner(r, tail, Pair{1.0, 0.0}, Pair{0.5, 0.0}, Pair{0x1.5555555555555p-3, 0x1.5555555555555p-57},
                         Pair{0x1.5555555555555p-5, 0x1.5555555555555p-59},
                         Pair{0x1.1111111111111p-7, 0x1.1111111111111p-63});
}

/// e^x for |x| <= 800.
SOFTAMP_MATH_LONG PowerParts exp_parts(Pair x) {
  const Double shift(0x1.8p+52), shifted = x.high * Double(0x1.71547652b82fep+0) + shift, n = shifted - shift;
  const Pair sum = exact_sum(x.high - n * Double(kLn2First), -(n * Double(kLn2Second)));
  const Pair r = ordered_sum(sum.high, sum.low + (x.low - n * Double(kLn2Third)));
  return {exp_series(r), static_cast<int64_t>(bits(shifted) - bits(shift))};
}

/// p 2^n, for `rounded`.
struct ScaledPair {
  Pair p;
  int64_t n;

  SOFTAMP_MATH Double value() const { return rounded(p, n); }
};

/// A positive number as m 2^n, m in [sqrt 1/2, sqrt 2).
struct Significand {
  Double m;
  int64_t n;
};
SOFTAMP_MATH Significand significand(Double x) {
  constexpr uint64_t kRootHalfCode = 0x3FE6A09E667F3BCDu;
  const bool subnormal = x.value < 0x1p-1022;
  const uint64_t u = bits(subnormal ? x * Double(0x1p+54) : x) + ((uint64_t{1023} << 52) - kRootHalfCode);
  return {Double::from_bits((u & 0xFFFFFFFFFFFFFu) + kRootHalfCode),
          static_cast<int64_t>(u >> 52) - (subnormal ? 1023 + 54 : 1023)};
}

/// c x for any x but a NaN and infinities, and c near 1, rounded once.
SOFTAMP_MATH_LONG Double times_constant(Pair c, Double x) {
  if (x.value == 0) return x;
  const Significand parts = significand(size_of(x));
  return signed_as(rounded(c * parts.m, parts.n), x);
}

/// e^x - 1 for 2^-300 <= |x| <= 720.
SOFTAMP_MATH_LONG ScaledPair expm1_parts(Double x) {
  const PowerParts parts = exp_parts(of_double(x));
  if (parts.n > 0) {
    const Double inverse = parts.n > 200 ? Double(0.0) : power_of_two(-parts.n);
    return {exact_sum(1.0, -inverse) + parts.w, parts.n};
  }
  const Double power = power_of_two(parts.n < -200 ? -200 : parts.n);
  return {times_power(parts.w, power) + exact_sum(power, -1.0), 0};
}

/// 1 / (1 + e^-v) for -800 <= v <= 0.
SOFTAMP_MATH_LONG ScaledPair logistic_parts(Pair v) {
  const PowerParts parts = exp_parts(v);
  const Pair p = parts.value();
  return {p / (times_power(p, power_of_two(parts.n < -200 ? -200 : parts.n)) + Double(1.0)), parts.n};
}
/// 1 - p 2^n, for n <= 0 and a result within (1/4, 1].
SOFTAMP_MATH Pair one_minus(ScaledPair a) {
  return -times_power(a.p, power_of_two(a.n < -200 ? -200 : a.n)) + Double(1.0);
}

}  // namespace detail

/// e^x. e^-Inf = +0, e^Inf = Inf.
SOFTAMP_MATH_LONG Double exp(Double x) {
  if (detail::is_nan(x)) return x;
  if (x.value > 710) return detail::kDoubleInfinity;
  if (x.value < -746) return 0.0;
  const detail::PowerParts parts = detail::exp_parts(detail::of_double(x));
  return detail::rounded(parts.value(), parts.n);
}

/// 2^x.
SOFTAMP_MATH_LONG Double exp2(Double x) {
  if (detail::is_nan(x)) return x;
  if (x.value >= 1024) return detail::kDoubleInfinity;
  if (x.value < -1076) return 0.0;
  const Double shift(0x1.8p+52), shifted = x + shift, fraction = x - (shifted - shift);
  const detail::Pair w = detail::exp_series(detail::Pair{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56} * fraction);
  return detail::rounded(w + Double(1.0), static_cast<int64_t>(bits(shifted) - bits(shift)));
}

/// e^x - 1. Its zeros keep their sign.
SOFTAMP_MATH_LONG Double expm1(Double x) {
  if (detail::is_nan(x) || detail::size_of(x).value < 0x1p-54) return x;
  if (x.value > 710) return detail::kDoubleInfinity;
  if (x.value < -60) return -1.0;
  return detail::expm1_parts(x).value();
}

/// tanh x = E / (E + 2), E = e^2x - 1. Odd; +-1 at the infinities.
SOFTAMP_MATH_LONG Double tanh(Double x) {
  const Double a = detail::size_of(x);
  if (detail::is_nan(x) || a.value < 0x1p-28) return x;
  if (a.value > 22) return detail::signed_as(1.0, x);
  const detail::ScaledPair power = detail::expm1_parts(a + a);
  const detail::Pair e = detail::times_power(power.p, detail::power_of_two(power.n));
  return detail::signed_as((e / (e + Double(2.0))).high, x);
}

/// 1 / (1 + e^-x). +0 at -Inf, 1 at Inf; gradual underflow below -708.
SOFTAMP_MATH_LONG Double sigmoid(Double x) {
  if (detail::is_nan(x)) return x;
  if (x.value < -746) return 0.0;
  if (x.value > 50) return 1.0;
  const detail::ScaledPair below = detail::logistic_parts(detail::of_double(-detail::size_of(x)));
  return x.value < 0 ? below.value() : detail::one_minus(below).high;
}

}  // namespace softamp::math
