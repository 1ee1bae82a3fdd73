// ln x, ln(1 + x) and ln(1 + e^x) in fp32.
//
// x = 2^e m with m in [sqrt 1/2, sqrt 2) and f = m - 1: ln x = e ln2 + f - f^2/2 + f^3 P(f).
#pragma once

#include "softamp/numerics/math_exp.h"

namespace softamp::math {

namespace detail {

/// The bits of sqrt 1/2: significands from there on, up to twice that, make m.
inline constexpr uint32_t kRootHalf = 0x3F3504F3u;

/// ln2 to 15 bits, so that its product with any exponent is exact, and the rest of it.
inline constexpr float kLn2Short = 0x1.62e4p-1f, kLn2Rest = 0x1.7f7d1cp-20f;

/// e ln2 + ln(1 + f) + low, e an integer, -0.293 <= f <= 0.415, low tiny.
// implements: N180
template <class F>
SOFTAMP_MATH F log_from(F e, F f, F low) {
  const F p = polynomial(f, 0x1.555548p-2f, -0x1.000008p-2f, 0x1.99a478p-3f, -0x1.555b8cp-3f, 0x1.233af6p-3f,
                         -0x1.fc3e34p-4f, 0x1.e6dd20p-4f, -0x1.dd994cp-4f, 0x1.13be1ep-4f);
  const F whole = e * F(kLn2Short), sum = whole + f, sum_low = f - (sum - whole);  // whole + f, exactly
  const F rest = fma(f * f, fma(f, p, F(-0.5f)), fma(e, F(kLn2Rest), sum_low + low));
  return sum + rest;
}

template <class F>
SOFTAMP_MATH F not_a_number() {
  return F(__builtin_nanf(""));
}

}  // namespace detail

/// ln x. ln(+-0) = -Inf, ln(x < 0) = NaN, ln(Inf) = Inf.
template <class F>
SOFTAMP_MATH F log(F x) {
  const auto subnormal = x < F(0x1p-126f);
  const auto u = bits(select(subnormal, x * F(0x1p+23f), x)) - detail::kRootHalf;
  const F e = F::from_signed(F::shifted(u, 23)) + select(subnormal, F(-23), F(0));
  const F f = F::from_bits((u & 0x7FFFFFu) + detail::kRootHalf) - F(1);
  F y = detail::log_from(e, f, F(0));
  y = select(x < F(detail::kInfinity), y, x);
  y = select(x == F(0), F(-detail::kInfinity), y);
  return select(x < F(0), detail::not_a_number<F>(), y);
}

/// ln(1 + x). ln1p(-1) = -Inf, NaN below; its zeros keep their sign.
template <class F>
SOFTAMP_MATH F log1p(F x) {
  const F one(1), sum = one + x;
  const F x_seen = sum - one, c = (one - (sum - x_seen)) + (x - x_seen);  // 1 + x = sum + c, exactly
  const auto u = bits(sum) - detail::kRootHalf;
  const F e = F::from_signed(F::shifted(u, 23));
  const F m1 = F::from_bits((u & 0x7FFFFFu) + detail::kRootHalf) - one;
  const F c_scaled = scaled(c, -e);
  const F f = m1 + c_scaled, low = (m1 - f) + c_scaled;
  F y = detail::log_from(e, f, low);
  y = select(x < F(detail::kInfinity), y, x);
  y = select(magnitude(x) < F(0x1p-25f), x, y);
  y = select(x == F(-1), F(-detail::kInfinity), y);
  return select(x < F(-1), detail::not_a_number<F>(), y);
}

/// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|).
template <class F>
SOFTAMP_MATH F softplus(F x) {
  return at_least(x, F(0)) + log1p(exp(-magnitude(x)));
}

}  // namespace softamp::math
