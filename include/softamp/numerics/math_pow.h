// x^y of fp32 numbers, by log2 and 2^x in binary64, so that the result is nearly always the correctly rounded one.
#pragma once

#include "softamp/numerics/math_lane.h"

namespace softamp::math {

namespace detail {

/// c0 + c1 x + ... + c6 x^6 by pairs of terms (Estrin's scheme: the chain of dependent operations is short), without
/// fma.
template <class D>
SOFTAMP_MATH D pairwise(D x, double c0, double c1, double c2, double c3, double c4, double c5, double c6) {
  const D x2 = x * x, x4 = x2 * x2;
  const D low = (D(c0) + D(c1) * x) + x2 * (D(c2) + D(c3) * x);
  return low + x4 * ((D(c4) + D(c5) * x) + x2 * D(c6));
}
/// The same with five coefficients.
template <class D>
SOFTAMP_MATH D pairwise(D x, double c0, double c1, double c2, double c3, double c4) {
  const D x2 = x * x;
  return (D(c0) + D(c1) * x) + x2 * ((D(c2) + D(c3) * x) + x2 * D(c4));
}

inline constexpr uint64_t kSign64 = uint64_t{1} << 63, kRootHalf64 = 0x3FE6A09E667F3BCDu;

/// log2 a, of a positive normal number: a = 2^e m, m in [sqrt 1/2, sqrt 2), s = (m - 1) / (m + 1): e + s L(s^2).
template <class D>
SOFTAMP_MATH D log2_of(D a) {
  const auto u = bits(a) + ((uint64_t{1023} << 52) - kRootHalf64);
  const D e = D::from_bits((u >> 52) | 0x4330000000000000u) - D(0x1p+52 + 1023);
  const D m = D::from_bits((u & 0xFFFFFFFFFFFFFu) + kRootHalf64);
  const D s = (m - D(1)) / (m + D(1));
  return e + s * pairwise(s * s, 0x1.71547652beef6p+1, 0x1.ec709d1230589p-1, 0x1.2777803af5b83p-1, 0x1.a58d6b23cbc3dp-2,
                          0x1.5cea0e76adba7p-2);
}

/// 2^v for |v| <= 1000 or NaN.
template <class D>
SOFTAMP_MATH D exp2_of(D v) {
  constexpr double kShift64 = 0x1.8p+52;
  const D t = v + D(kShift64), r = v - (t - D(kShift64));
  const D p = r * pairwise(r, 0x1.62e42ff0e1d11p-1, 0x1.ebfbe0779249fp-3, 0x1.c6b08abff63adp-5, 0x1.3b29f395723ebp-7,
                           0x1.5d8a8673c9283p-10, 0x1.445c8930b66cap-13, 0x1.fde57438bdeb7p-17) +
              D(1);
  return p * D::from_bits((bits(t) + 1023) << 52);
}

/// For |y| + 2^52 - 2^52: whether y >= 0 is an integer. True of numbers from 2^53 on, and of Inf.
template <class D>
SOFTAMP_MATH typename D::Mask is_integer(D y) {
  return (y + D(0x1p+52)) - D(0x1p+52) == y;
}

}  // namespace detail

namespace detail {

/// 2^(y log), clamped where the result is beyond fp32's range anyway.
// implements: N180
template <class D>
SOFTAMP_MATH D pow_from(D y, D log) {
  return exp2_of(at_most(at_least(y * log, D(-200)), D(200)));
}

/// x^y of any two numbers, given log2 |x| where that is positive and finite.
template <class D>
SOFTAMP_MATH D pow_of_any(D x, D y, D log) {
  const D a = D::from_bits(bits(x) & ~kSign64), size = D::from_bits(bits(y) & ~kSign64);
  const D infinity(__builtin_inf());
  log = select(a < infinity, log, a);
  D z = pow_from(y, select(a == D(0), D(-__builtin_inf()), log));
  z = select((a == D(1)) & (y == y), D(1), z);  // for y = +-Inf
  const auto integer = is_integer(size);
  const auto odd = integer & !is_integer(size * D(0.5));
  z = D::from_bits(bits(z) | (bits(select(odd, x, D(0))) & kSign64));
  z = select((x < D(0)) & (a < infinity) & !integer, D(__builtin_nan("")), z);
  return select((x == D(1)) | (y == D(0)), D(1), z);
}

}  // namespace detail

/// x^y, both fp32 numbers, as a binary64 number to be rounded to fp32 (beyond its range where the result is).
/// IEEE 754 (9.2.1): x^0 and 1^y are 1, of NaN too; (-1)^+-Inf = 1; x^y is NaN for finite x < 0 and y no integer; the
/// sign is that of x where y is an odd integer; +-0^y and +-Inf^y are zeros and infinities.
template <class D>
SOFTAMP_MATH D pow(D x, D y) {
  const D infinity(__builtin_inf()), size = D::from_bits(bits(y) & ~detail::kSign64);
  const D log = detail::log2_of(D::from_bits(bits(x) & ~detail::kSign64));
  const auto plain = (D(0) < x) & (x < infinity) & (size < infinity);
  // For plain operands pow_of_any computes the same, so whole vectors may use either.
  if (any(x, !plain)) return detail::pow_of_any(x, y, log);
  return detail::pow_from(y, log);
}

}  // namespace softamp::math
