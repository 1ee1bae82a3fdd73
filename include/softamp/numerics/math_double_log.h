// ln x in binary64, each function within 0.5001 ulp: on pairs of numbers (math_pair.h).
//
// x = 2^e m with m in [sqrt 1/2, sqrt 2), s = (m - 1) / (m + 1): ln x = e ln2 + 2 s (1 + s^2 / 3 + s^4 / 5 + ...), the
// first three terms as pairs.
#pragma once

#include "softamp/numerics/math_double_exp.h"

namespace softamp::math {

namespace detail {

/// ln((1 + s) / (1 - s)) for |s| <= 0.1716, within 2^-68 of it: the tail in binary64 is below 2^-16 of the sum, the
/// terms left out below 2^-79.
// implements: N440
SOFTAMP_MATH_LONG Pair log_series(Pair s) {
  const Pair square = s * s;
  const Double tail =
      horner(square.high, 0x1.2492492492492p-2, 0x1.c71c71c71c71cp-3, 0x1.745d1745d1746p-3, 0x1.3b13b13b13b14p-3,
             0x1.1111111111111p-3, 0x1.e1e1e1e1e1e1ep-4, 0x1.af286bca1af28p-4, 0x1.8618618618618p-4,
             0x1.642c8590b2164p-4, 0x1.47ae147ae147bp-4, 0x1.2f684bda12f68p-4, 0x1.1a7b9611a7b96p-4);
  return s * pair_horner(square, tail, Pair{2.0, 0.0}, Pair{0x1.5555555555555p-1, 0x1.5555555555555p-55},
                         Pair{0x1.999999999999ap-2, -0x1.999999999999ap-56});
}

/// n ln2 + y, for an integer |n| <= 1100 and |y| <= 0.36.
SOFTAMP_MATH Pair plus_ln2s(Pair y, Double n) {
  const Pair whole = exact_sum(n * Double(kLn2First), n * Double(kLn2Second));
  return ordered_sum(whole.high, whole.low + n * Double(kLn2Third)) + y;
}

/// An integer of at most 2^50 in magnitude.
SOFTAMP_MATH Double double_of(int64_t n) {
  return Double::from_bits(static_cast<uint64_t>(n + (int64_t{0x4338} << 48))) - Double(0x1.8p+52);
}

}  // namespace detail

/// ln x. ln(+-0) = -Inf, ln(x < 0) = NaN, ln(Inf) = Inf.
SOFTAMP_MATH_LONG Double log(Double x) {
  if (detail::is_nan(x) || x.value == detail::kDoubleInfinity) return x;
  if (x.value == 0) return -detail::kDoubleInfinity;
  if (x.value < 0) return __builtin_nan("");
  const detail::Significand parts = detail::significand(x);
  const detail::Pair s = detail::of_double(parts.m - Double(1.0)) / detail::exact_sum(parts.m, 1.0);
  return detail::plus_ln2s(detail::log_series(s), detail::double_of(parts.n)).high;
}

/// ln(1 + x). ln1p(-1) = -Inf, NaN below; its zeros keep their sign.
SOFTAMP_MATH_LONG Double log1p(Double x) {
  if (detail::is_nan(x) || x.value == detail::kDoubleInfinity || detail::size_of(x).value < 0x1p-54) return x;
  if (x.value == -1) return -detail::kDoubleInfinity;
  if (x.value < -1) return __builtin_nan("");
  const detail::Pair sum = detail::exact_sum(1.0, x);
  const detail::Significand parts = detail::significand(sum.high);
  const Double low = parts.n > 200 ? Double(0.0) : sum.low * detail::power_of_two(-parts.n);
  const detail::Pair s = detail::exact_sum(parts.m - Double(1.0), low) / (detail::exact_sum(parts.m, 1.0) + low);
  return detail::plus_ln2s(detail::log_series(s), detail::double_of(parts.n)).high;
}

}  // namespace softamp::math
