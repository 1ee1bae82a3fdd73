// tanh x and the logistic function 1 / (1 + e^-x) in fp32.
#pragma once

#include "softamp/numerics/math_exp.h"

namespace softamp::math {

/// tanh x: x + x^3 P(x^2) up to 0.625, from there 1 - 2 / (e^2x + 1). Odd; +-1 at the infinities.
template <class F>
SOFTAMP_MATH F tanh(F x) {
  const F a = magnitude(x), square = a * a;
  const F p =
      detail::polynomial(square, -0x1.555532p-2f, 0x1.110702p-3f, -0x1.b83846p-5f, 0x1.520f3ep-6f, -0x1.758408p-8f);
  const F near = fma(a * square, p, a);
  const F b = at_most(a, F(9.125f));  // tanh is 1 from 9.02 on
  const F far = F(1) - F(2) / (detail::exp_in_range(b + b) + F(1));
  return with_sign_of(select(a < F(0.625f), near, far), x);
}

namespace detail {

/// e^v / (1 + e^v) for v + v_low <= 0, v_low tiny. Exponential and denominator are kept in two parts each, and the
/// quotient is corrected by its remainder: the error is little more than that of the last rounding.
template <class F>
struct LogisticParts {
  F value, p, n;  ///< and e^v = p 2^n
};
template <class F>
SOFTAMP_MATH LogisticParts<F> logistic_below_half(F v, F v_low) {
  const ExpParts<F> v_ = exp_parts(at_least(v, F(-150)), v_low);
  const F p = v_.w + F(1), p_low = v_.w - (p - F(1));
  const F e = scaled(p, v_.n), e_low = scaled(p_low, v_.n);
  const F d = e + F(1), d_low = (e - (d - F(1))) + e_low;
  const F inverse = F(1) / d, t = e * inverse;
  return {fma(inverse, fma(-t, d_low, fma(-t, d, e) + e_low), t), p, v_.n};
}

/// 1 / (1 + e^-(x + x_low)), given its value for -|x|.
template <class F>
SOFTAMP_MATH F logistic_reflected(F x, F below_half) {
  return select(x < F(0), below_half, F(1) - below_half);
}

}  // namespace detail

/// 1 / (1 + e^-x). +0 at -Inf, 1 at Inf; gradual underflow below -87.
template <class F>
SOFTAMP_MATH F sigmoid(F x) {
  return detail::logistic_reflected(x, detail::logistic_below_half(-magnitude(x), F(0)).value);
}

}  // namespace softamp::math
