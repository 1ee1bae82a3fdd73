// sin x and cos x in fp32, of every finite x.
//
// x = k pi/2 + r + r_low with |r| <= pi/4 or little more: by three fma with parts of pi/2 for |x| < 2^16, else by the
// bits of 2/pi that x needs (Payne and Hanek's reduction), lane by lane.
#pragma once

#include "softamp/numerics/math_lane.h"

namespace softamp::math {

namespace detail {

/// A multiple of pi/2, whose low two bits are used, and the rest.
template <class F>
struct Angle {
  typename F::Bits quadrant;
  F r, r_low;
};

/// The same of one |x| in [2^16, Inf), in integers: x = m 2^e, and of 2/pi 2^e the 96 bits from weight 2 down.
struct LargeAngle {
  uint32_t quadrant;
  float r, r_low;
};
SOFTAMP_MATH LargeAngle reduce_large(float x) {
  constexpr uint32_t kTwoOverPi[] = {0u,          0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u,
                                     0xDB629599u, 0x3C439041u, 0xFE5163ABu, 0xDEBBC561u};
  const uint32_t u = __builtin_bit_cast(uint32_t, x);
  const uint64_t m = (u & 0x7FFFFFu) | 0x800000u;
  const int e = static_cast<int>(u >> 23 & 0xFF) - 150;
  const int first = e + 30, word = first >> 5, shift = first & 31;  // the table's bit 32 weighs 1/2
  uint64_t window[3] = {};
  for (int i = 0; i < 3; ++i)
    window[i] = ((uint64_t{kTwoOverPi[word + i]} << 32 | kTwoOverPi[word + i + 1]) << shift) >> 32;
  const uint64_t product = ((m * window[0]) << 32) + m * window[1] + ((m * window[2]) >> 32);
  const int64_t fraction = static_cast<int64_t>(product << 2);
  const uint32_t quadrant = static_cast<uint32_t>(product >> 62) + (fraction < 0);
  // Times pi/2 2^-64. Both factors and the product are rounded to 53 bits, both parts to 24.
#if defined(__CUDA_ARCH__)
  const double angle = __dmul_rn(__ll2double_rn(fraction), 0x1.921fb54442d18p-64);
  const float r = __double2float_rn(angle);
  const float low = __double2float_rn(__dsub_rn(angle, r));
#else
  const double angle = static_cast<double>(fraction) * 0x1.921fb54442d18p-64;
  const float r = static_cast<float>(angle);
  const float low = static_cast<float>(angle - r);
#endif
  const bool negative = u >> 31 != 0;
  return {negative ? 0u - quadrant : quadrant, negative ? -r : r, negative ? -low : low};
}

// implements: N180
template <class F>
SOFTAMP_MATH Angle<F> reduce_angle(F x) {
  const F t = fma(x, F(0x1.45f306p-1f), F(kShift)), k = t - F(kShift);
  Angle<F> a;
  a.quadrant = bits(t);
  const F first = fma(k, F(-0x1.921fb6p+0f), x);  // exact
  // first + k part in two numbers (Knuth's two-sum), with the rounding error of the product and the third part of pi/2.
  const F part(0x1.777a5cp-25f), moved = k * part, moved_low = fma(k, part, -moved);
  a.r = first + moved;
  const F moved_seen = a.r - first;
  const F sum_low = (first - (a.r - moved_seen)) + (moved - moved_seen);
  a.r_low = fma(k, F(0x1.ee59dap-50f), sum_low + moved_low);
  const F size = magnitude(x);
  const auto large = (F(0x1p+16f) <= size) & (size < F(kInfinity));
  if (any(x, large)) {
    F::for_lanes(large, [&](int lane) {
      const LargeAngle l = reduce_large(x.lane(lane));
      a.r.set_lane(lane, l.r);
      a.r_low.set_lane(lane, l.r_low);
      F quadrant = F::from_bits(a.quadrant);
      quadrant.set_lane(lane, __builtin_bit_cast(float, (l.quadrant & 3u) | 0x3F800000u));
      a.quadrant = bits(quadrant);
    });
  }
  return a;
}

/// sin(r + q pi/2) for the quadrant q.
template <class F>
SOFTAMP_MATH F sin_in_quadrant(Angle<F> a, typename F::Bits quadrant) {
  const F square = a.r * a.r;
  const F p = polynomial(square, -0x1.555556p-3f, 0x1.111174p-7f, -0x1.a0595ap-13f, 0x1.7c3068p-19f);
  const F sine = a.r + fma(a.r * square, p, a.r_low);
  const F q = polynomial(square, 0x1.555556p-5f, -0x1.6c1762p-10f, 0x1.a075d6p-16f, -0x1.371b90p-22f);
  const F half = square * F(0.5f), most = F(1) - half;
  // (1 - most) - half is exactly the rounding error of 1 - half.
  const F rest = fma(square * square, q, fma(-a.r, a.r_low, (F(1) - most) - half));
  const F cosine = most + (rest + fma(a.r, a.r * F(-0.5f), half));
  const auto even = F::from_bits((quadrant & 1u) << 23) == F(0);
  return F::from_bits(bits(select(even, sine, cosine)) ^ ((quadrant & 2u) << 30));
}

}  // namespace detail

/// sin x. Its zeros keep their sign; NaN of an infinity.
template <class F>
SOFTAMP_MATH F sin(F x) {
  const detail::Angle<F> a = detail::reduce_angle(x);
  return select(magnitude(x) < F(0x1p-13f), x, detail::sin_in_quadrant(a, a.quadrant));
}

/// cos x. NaN of an infinity.
template <class F>
SOFTAMP_MATH F cos(F x) {
  const detail::Angle<F> a = detail::reduce_angle(x);
  return detail::sin_in_quadrant(a, a.quadrant + 1u);
}

}  // namespace softamp::math
