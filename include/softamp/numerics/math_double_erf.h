// erf, erfc, the normal distribution, and gelu in its two forms with their derivatives, in binary64: each within 0.5001
// ulp, the derivatives of gelu within that and 2^-66, on pairs of numbers (math_pair.h).
//
// Up to 1, erf y = y P(y^2), the Taylor series; from there erfc y = e^(-y^2) R(q) / (y + 5), q = (y - 5) / (y + 5). The
// normal distribution is erfc at x / sqrt 2, a pair.
#pragma once

#include "softamp/numerics/math_double_exp.h"

namespace softamp::math {

namespace detail {

SOFTAMP_MATH Pair root_half() { return {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55}; }        // 1 / sqrt 2
SOFTAMP_MATH Pair two_over_root_pi() { return {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56}; }  // 2 / sqrt pi
SOFTAMP_MATH Pair density_at_zero() { return {0x1.9884533d43651p-2, -0x1.cbc0d30ebfd15p-56}; }  // 1 / sqrt(2 pi)

/// erf y for 0 <= y <= 1, within 2^-68 of it.
// implements: N440
SOFTAMP_MATH_LONG Pair erf_near(Pair y) {
  const Pair square = y * y;
  const Double tail =
      horner(square.high, 0x1.b9e6c9dc651a3p-20, -0x1.5f742ec43e71ap-23, 0x1.fcc5720624c1cp-27, -0x1.51d7181c5d36dp-30,
             0x1.9e6ad5e55a730p-34, -0x1.d8453cb0c46eap-38, 0x1.f683ae4a97007p-42, -0x1.f56f071a885cfp-46,
             0x1.d70b3537f4765p-50, -0x1.a2007af3447f6p-54, 0x1.5f7919bc67b8cp-58, -0x1.18cc8a061c479p-62,
             0x1.ab5cc31489f29p-67, -0x1.3676fc48c133cp-71, 0x1.af83c2fb19fa6p-76);
  return y *
         pair_horner(
             square, tail, two_over_root_pi(), Pair{-0x1.812746b0379e7p-2, 0x1.ee12e49cab700p-57},
             Pair{0x1.ce2f21a042be2p-4, -0x1.2871bc5e00766p-58}, Pair{-0x1.b82ce31288b51p-6, 0x1.1015978e7ac92p-61},
             Pair{0x1.565bcd0e6a53fp-8, -0x1.a73e0832f7e39p-64}, Pair{-0x1.c02db40040b86p-11, 0x1.d9a497a0f8b0ep-65},
             Pair{0x1.f9a326f9b89b7p-14, 0x1.e9a2341c71459p-68}, Pair{-0x1.f4d25c3e0c2ebp-17, -0x1.79b1b9b5c586cp-71});
}

/// e^(y^2) erfc y for 1 <= y <= 27.4, within 2^-68 of it.
// implements: N440
SOFTAMP_MATH_LONG Pair erfc_ratio(Pair y) {
  const Pair d = y + Double(5.0), q = (y + Double(-5.0)) / d;
  const Double tail =
      horner(q.high, -0x1.a07be7846b68ap-16, -0x1.729779352ce4bp-15, 0x1.3fb474ac9037dp-16, -0x1.4a11c6547a523p-19,
             -0x1.2e1186269fb16p-20, 0x1.44dceae2434e2p-21, -0x1.979ed3183de09p-25, -0x1.e7cf97c9bda9cp-25,
             0x1.4a0bfe2125fbcp-26, 0x1.71746e6cb7695p-29, -0x1.86f9147a0f2eep-29, 0x1.7d0f0c38a5dc2p-33,
             0x1.1f1cc4d6a5196p-32, -0x1.c3b48d85cbc0ep-35);
  return pair_horner(
             q, tail, Pair{0x1.1b676431ca630p+0, 0x1.56feee3a94017p-55},
             Pair{-0x1.06b72dfb7259ap+0, 0x1.21ac34c67df8cp-59}, Pair{0x1.c329ace9057e1p-1, 0x1.5461d9be27526p-55},
             Pair{-0x1.663e064754ae9p-1, -0x1.189d431855c79p-56}, Pair{0x1.065dae4a73399p-1, 0x1.76175d3189984p-55},
             Pair{-0x1.6116e3ae9b1e3p-2, -0x1.4068973f5454ap-57}, Pair{0x1.b235e98ed3da1p-3, -0x1.cffee45461cf7p-57},
             Pair{-0x1.e421d800e30d2p-4, -0x1.57b6615f96bd7p-61}, Pair{0x1.e3daec1e6a292p-5, 0x1.3e0e70d7cdc52p-61},
             Pair{-0x1.a9e75b1fe93c0p-6, -0x1.d363db71b368dp-60}, Pair{0x1.4087fd1a834a5p-7, 0x1.37a81675502e0p-63},
             Pair{-0x1.851335667d7e6p-9, 0x1.dddd00ee7ba35p-65}, Pair{0x1.4560d4d29f326p-11, 0x1.13ae014b5ed23p-66}) /
         d;
}

/// erfc y for 1 <= y <= 27.4.
SOFTAMP_MATH_LONG ScaledPair erfc_tail(Pair y) {
  const PowerParts power = exp_parts(-(y * y));
  return {erfc_ratio(y) * power.value(), power.n};
}

/// Phi(-a), for 0 <= a <= 38.7.
SOFTAMP_MATH_LONG ScaledPair normal_below(Double a) {
  const Pair y = root_half() * a;
  if (y.high.value < 1) return {-erf_near(y) + Double(1.0), -1};
  const ScaledPair tail = erfc_tail(y);
  return {tail.p, tail.n - 1};
}

/// Phi(-a) - a phi(a), for 0 <= a <= 38.7: the derivative of gelu at -a.
SOFTAMP_MATH_LONG ScaledPair gelu_slope_below(Double a) {
  const Pair y = root_half() * a, slope = density_at_zero() * a;
  const PowerParts power = exp_parts(-(y * y));
  if (y.high.value < 1) {
    const Pair below = times_power(-erf_near(y) + Double(1.0), 0.5);
    return {below + -(slope * times_power(power.value(), power_of_two(power.n))), 0};
  }
  return {(times_power(erfc_ratio(y), 0.5) + -slope) * power.value(), power.n};
}

/// For 0 <= a <= 21.7, with u = c1 a + c3 a^3: the logistic function s at -u, and the derivative of a s(u) at -a,
/// s (1 - a (1 - s) (c1 + 3 c3 a^2)).
SOFTAMP_MATH Pair gelu_tanh_1() { return {0x1.9884533d43651p+0, -0x1.cbc0d30ebfd15p-54}; }  // c1 = 2 sqrt(2 / pi)
SOFTAMP_MATH Pair gelu_tanh_3() { return {0x1.2444f2a4d8b4bp-4, -0x1.6c843a29d1c70p-61}; }  // c3 = 0.044715 c1
SOFTAMP_MATH_LONG ScaledPair gelu_tanh_below(Double a) {
  return logistic_parts(-((gelu_tanh_3() * exact_product(a, a) + gelu_tanh_1()) * a));
}
SOFTAMP_MATH_LONG ScaledPair gelu_tanh_slope_below(Double a) {
  const ScaledPair s = gelu_tanh_below(a);
  const Pair slope = (gelu_tanh_3() * Double(3.0) * exact_product(a, a) + gelu_tanh_1()) * a;
  return {s.p * (-(one_minus(s) * slope) + Double(1.0)), s.n};
}

}  // namespace detail

/// erf x. Odd; +-1 at the infinities.
SOFTAMP_MATH_LONG Double erf(Double x) {
  if (detail::is_nan(x)) return x;
  const Double a = detail::size_of(x);
  if (a.value < 0x1p-100) return detail::times_constant(detail::two_over_root_pi(), x);
  if (a.value < 1) return detail::signed_as(detail::erf_near(detail::of_double(a)).high, x);
  if (a.value > 7) return detail::signed_as(1.0, x);
  return detail::signed_as(detail::one_minus(detail::erfc_tail(detail::of_double(a))).high, x);
}

/// 1 - erf x, with gradual underflow at the right.
SOFTAMP_MATH_LONG Double erfc(Double x) {
  if (detail::is_nan(x)) return x;
  if (x.value > 27.375) return 0.0;
  if (x.value < -7) return 2.0;
  const Double a = detail::size_of(x);
  if (a.value < 1) {
    const detail::Pair near = detail::erf_near(detail::of_double(a));
    return ((x.value < 0 ? near : -near) + Double(1.0)).high;
  }
  const detail::ScaledPair tail = detail::erfc_tail(detail::of_double(a));
  return x.value < 0 ? (detail::one_minus(tail) + Double(1.0)).high : tail.value();
}

/// The normal distribution function Phi(x) = erfc(-x / sqrt 2) / 2, with gradual underflow at the left.
SOFTAMP_MATH_LONG Double normal_cdf(Double x) {
  if (detail::is_nan(x)) return x;
  if (x.value < -38.6875) return 0.0;
  if (x.value > 10) return 1.0;
  const detail::ScaledPair below = detail::normal_below(detail::size_of(x));
  return x.value < 0 ? below.value() : detail::one_minus(below).high;
}

/// The normal density e^(-x^2/2) / sqrt(2 pi).
SOFTAMP_MATH_LONG Double normal_pdf(Double x) {
  if (detail::is_nan(x)) return x;
  if (detail::size_of(x).value > 38.6875) return 0.0;
  const detail::PowerParts power = detail::exp_parts(detail::times_power(detail::exact_product(x, x), -0.5));
  return detail::rounded(power.value() * detail::density_at_zero(), power.n);
}

/// x Phi(x). -0 at -Inf.
SOFTAMP_MATH_LONG Double gelu(Double x) {
  if (detail::is_nan(x) || x.value > 10) return x;
  if (x.value < -38.6875) return -0.0;
  const Double a = detail::size_of(x);
  if (a.value < 0x1p-60) return x * Double(0.5);
  const detail::ScaledPair below = detail::normal_below(a);
  if (x.value < 0) return detail::rounded(-(below.p * a), below.n);
  return (detail::one_minus(below) * a).high;
}

/// d gelu / dx = Phi(x) + x phi(x).
SOFTAMP_MATH_LONG Double gelu_gradient(Double x) {
  if (detail::is_nan(x)) return x;
  if (x.value < -38.6875) return -0.0;
  if (x.value > 10) return 1.0;
  const detail::ScaledPair below = detail::gelu_slope_below(detail::size_of(x));
  return x.value < 0 ? below.value() : detail::one_minus(below).high;
}

/// The tanh form of gelu, 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). -0 at -Inf.
SOFTAMP_MATH_LONG Double gelu_tanh(Double x) {
  if (detail::is_nan(x) || x.value > 10) return x;
  if (x.value < -21.6875) return -0.0;
  const Double a = detail::size_of(x);
  if (a.value < 0x1p-60) return x * Double(0.5);
  const detail::ScaledPair below = detail::gelu_tanh_below(a);
  if (x.value < 0) return detail::rounded(-(below.p * a), below.n);
  return (detail::one_minus(below) * a).high;
}

/// d gelu_tanh / dx.
SOFTAMP_MATH_LONG Double gelu_tanh_gradient(Double x) {
  if (detail::is_nan(x)) return x;
  if (x.value < -21.6875) return -0.0;
  if (x.value > 10) return 1.0;
  const detail::ScaledPair below = detail::gelu_tanh_slope_below(detail::size_of(x));
  return x.value < 0 ? below.value() : detail::one_minus(below).high;
}

}  // namespace softamp::math
