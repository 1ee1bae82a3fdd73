// erf, erfc, the normal distribution, and gelu in its two forms with their derivatives, in fp32.
#pragma once

#include "softamp/numerics/math_tanh.h"

namespace softamp::math {

namespace detail {

/// P(a^2): erf a = a + a P(a^2), for 0 <= a <= 0.925.
template <class F>
SOFTAMP_MATH F erf_near(F a) {
  return polynomial(a * a, 0x1.06eba8p-3f, -0x1.812740p-2f, 0x1.ce2d64p-4f, -0x1.b80118p-6f, 0x1.5449e0p-8f,
                    -0x1.a60648p-11f, 0x1.4f52d6p-14f);
}

}  // namespace detail

/// erf x: x + x P(x^2) up to 0.925, from there 1 - e^G(x). Odd; +-1 at the infinities.
template <class F>
SOFTAMP_MATH F erf(F x) {
  const F a = magnitude(x);
  const F near = fma(detail::erf_near(a), a, a);
  const F b = at_most(a, F(3.9375f));  // erf is 1 from 3.92 on
  const F g = detail::polynomial(b, -0x1.b20a38p-13f, -0x1.20ac34p+0f, -0x1.4647a4p-1f, -0x1.a965c6p-4f, 0x1.6b8fc0p-6f,
                                 -0x1.8da460p-9f, 0x1.98da16p-13f);
  const F far = F(1) - detail::exp_in_range(g);
  return with_sign_of(select(a < F(0.925f), near, far), x);
}

namespace detail {

/// Phi(-a) = 1/2 - a R(a^2), for 0 <= a <= 1.
template <class F>
SOFTAMP_MATH F normal_near(F a) {
  const F r = polynomial(a * a, 0x1.988454p-2f, -0x1.105860p-4f, 0x1.46d4c6p-7f, -0x1.37612ap-10f, 0x1.e16b1ap-14f,
                         -0x1.0ec902p-17f);
  return fma(-a, r, F(0.5f));
}

/// Phi(-a) = (ratio + low) (1 + w) 2^n, and phi(a) sqrt(2 pi) = (1 + w) 2^n; the former for 1 <= a <= 14.5, the latter
/// from 0.
template <class F>
struct NormalTail {
  F ratio, low, w, n;
};
/// (c + low) (1 + w) 2^n.
template <class F>
SOFTAMP_MATH F times_density(F c, F low, const NormalTail<F>& tail) {
  return scaled(fma(c, tail.w, low) + c, tail.n);
}

/// Given -a^2/2 in two parts: a relative error of e^v is an absolute one of v.
template <class F>
SOFTAMP_MATH NormalTail<F> normal_tail(F a, F exponent, F exponent_low) {
  const ExpParts<F> v = exp_parts(exponent, exponent_low);
  // Phi(-a) e^(a^2/2) = P(q) / (a + 5), q = (a - 5) / (a + 5). Sum and difference have their rounding errors beside
  // them (a fast two-sum: 5 is a multiple of any a's quantum); quotients are corrected by their remainders.
  const F five(5), d = a + five, d_low = a - (d - five), t = a - five, t_low = a - (t + five);
  const F first = F(1) / d, q_first = t * first;
  const F q = fma(first, fma(-q_first, d, t) + fma(-q_first, d_low, t_low), q_first);
  const F p1 = polynomial(q, -0x1.54ad04p-1f, 0x1.fb314ep-2f, -0x1.410ed0p-2f, 0x1.51f902p-3f, -0x1.1b1b86p-4f,
                          0x1.544806p-6f, -0x1.8a1402p-9f, -0x1.946cdcp-11f, 0x1.2b8608p-11f);
  const F p0(0x1.89d3acp-1f), p = fma(q, p1, p0), p_low = fma(q, p1, p0 - p);
  const F ratio = p * first;
  return {ratio, first * fma(-ratio, d_low, fma(-ratio, d, p) + p_low), v.w, v.n};
}
template <class F>
SOFTAMP_MATH NormalTail<F> normal_tail(F a) {
  const F square = a * a, low = fma(a, a, -square);
  return normal_tail(a, square * F(-0.5f), low * F(-0.5f));
}

template <class F>
SOFTAMP_MATH F normal_tail_clamp(F x) {
  return at_most(magnitude(x), F(14.5f));
}

}  // namespace detail

/// The normal distribution function Phi(x) = (1 + erf(x / sqrt 2)) / 2, with gradual underflow at the left.
template <class F>
SOFTAMP_MATH F normal_cdf(F x) {
  const F a = detail::normal_tail_clamp(x);
  const detail::NormalTail<F> tail = detail::normal_tail(a);
  const F y = select(a < F(1), detail::normal_near(a), detail::times_density(tail.ratio, tail.low, tail));
  return select(x < F(0), y, F(1) - y);
}

/// 1 - erf x = 2 Phi(-sqrt 2 x), with gradual underflow at the right: 1 - x - x P(x^2) up to 0.75, where 1 - x is
/// nearly exact, from there the normal distribution's tail.
template <class F>
SOFTAMP_MATH F erfc(F x) {
  const F a = at_most(magnitude(x), F(10.25f)), square = a * a;
  const detail::NormalTail<F> tail = detail::normal_tail(a * F(0x1.6a09e6p+0f), -square, -fma(a, a, -square));
  const F far = detail::times_density(tail.ratio + tail.ratio, tail.low + tail.low, tail);
  const F y = select(a < F(0.75f), fma(-detail::erf_near(a), a, F(1) - a), far);
  return select(x < F(0), F(2) - y, y);
}

/// The normal density e^(-x^2/2) / sqrt(2 pi).
template <class F>
SOFTAMP_MATH F normal_pdf(F x) {
  const detail::NormalTail<F> tail = detail::normal_tail(detail::normal_tail_clamp(x));
  return detail::times_density(F(0x1.988454p-2f), F(-0x1.857936p-27f), tail);
}

/// x Phi(x). -0 at -Inf.
template <class F>
SOFTAMP_MATH F gelu(F x) {
  const F a = detail::normal_tail_clamp(x);
  const detail::NormalTail<F> tail = detail::normal_tail(a);
  const F product = a * tail.ratio, low = fma(a, tail.low, fma(a, tail.ratio, -product));
  // |x| Phi(-|x|)
  const F y = select(a < F(1), a * detail::normal_near(a), detail::times_density(product, low, tail));
  return select(x < F(0), -y, x - y);
}

/// d gelu / dx = Phi(x) + x phi(x).
template <class F>
SOFTAMP_MATH F gelu_gradient(F x) {
  const F a = detail::normal_tail_clamp(x);
  const detail::NormalTail<F> tail = detail::normal_tail(a);
  const F below = select(a < F(1), detail::normal_near(a), detail::times_density(tail.ratio, tail.low, tail));
  const F y =
      fma(a, detail::times_density(F(0x1.988454p-2f), F(-0x1.857936p-27f), tail), -below);  // |x| phi(x) - Phi(-|x|)
  return select(x < F(0), -y, F(1) + y);
}

namespace detail {

/// The logistic function s at -u = -2 sqrt(2/pi) (a + 0.044715 a^3), a = |x| up to 12, and a s.
template <class F>
struct GeluTanh {
  F a, s, product;
};

template <class F>
SOFTAMP_MATH GeluTanh<F> gelu_tanh_parts(F x) {
  // c1 = 2 sqrt(2/pi), c3 = 0.044715 c1. The argument reaches 104, so it is formed as high + low.
  constexpr float kC1 = 0x1.988454p+0f, kC1Low = -0x1.857936p-25f, kC3 = 0x1.2444f2p-4f, kC3Low = 0x1.49b16ap-29f;
  const F a = at_most(magnitude(x), F(12));
  const F square = a * a, square_low = fma(a, a, -square);
  const F c3 = F(kC3), term = c3 * square;
  const F term_low = fma(c3, square, -term) + fma(c3, square_low, square * F(kC3Low));
  const F sum = term + F(kC1);
  const F seen = sum - F(kC1);
  const F sum_low = ((F(kC1) - (sum - seen)) + (term - seen)) + (term_low + F(kC1Low));
  const F v = a * sum, v_low = fma(a, sum_low, fma(a, sum, -v));
  const LogisticParts<F> parts = logistic_below_half(-v, -v_low);
  // Where s is subnormal the product need not be; there s is e^-u.
  return {a, parts.value, select(v < F(60), a * parts.value, scaled(a * parts.p, parts.n))};
}

}  // namespace detail

/// The tanh form, 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)).
/// -0 at -Inf.
template <class F>
SOFTAMP_MATH F gelu_tanh(F x) {
  const F y = detail::gelu_tanh_parts(x).product;
  return select(x < F(0), -y, x - y);
}

/// d gelu_tanh / dx = s + x s (1 - s) u', s the logistic function of u = c1 x + c3 x^3, u' = c1 + 3 c3 x^2.
template <class F>
SOFTAMP_MATH F gelu_tanh_gradient(F x) {
  const detail::GeluTanh<F> parts = detail::gelu_tanh_parts(x);
  const F a = parts.a, s = parts.s;
  const F slope = fma(a * a, F(3 * 0x1.2444f2p-4f), F(0x1.988454p+0f));
  const F y = s * fma(a * slope, F(1) - s, F(-1));  // |x| s (1 - s) u' - s
  return select(x < F(0), -y, F(1) + y);
}

}  // namespace softamp::math
