// e^x, e^x - 1 and 2^x in fp32. Accuracy: docs/NUMERICS.md has a measured row for each function of math_*.h.
//
// x = n ln2 + r with n an integer and |r| <= ln2 / 2, by two fma; e^r - 1 = r + r^2 Q(r); times 2^n, rounded once, so
// that subnormal results are gradual. Coefficients: tests/oracle/math_coefficients.py, as everywhere in math_*.h.
#pragma once

#include "softamp/numerics/math_lane.h"

namespace softamp::math {

namespace detail {

inline constexpr float kLog2E = 0x1.715476p+0f;
/// ln2 as fp32, and the rest of it.
inline constexpr float kLn2 = 0x1.62e43p-1f, kLn2Low = -0x1.05c61p-29f;

/// x = n ln2 + r.
template <class F>
struct ExpReduced {
  F n, r;
};
template <class F>
SOFTAMP_MATH ExpReduced<F> exp_reduce(F x) {
  const F n = fma(x, F(kLog2E), F(kShift)) - F(kShift);
  return {n, fma(n, F(-kLn2Low), fma(n, F(-kLn2), x))};
}

/// Q(r): e^r - 1 = r + r^2 Q(r) for |r| <= ln2 / 2, within 2^-28.2 e^r before rounding.
template <class F>
SOFTAMP_MATH F exp_q(F r) {
  return polynomial(r, 0x1.fffffcp-2f, 0x1.555490p-3f, 0x1.55589ep-5f, 0x1.123ac6p-7f, 0x1.6a6230p-10f);
}
template <class F>
SOFTAMP_MATH F exp_minus_one(F r) {
  return fma(r * r, exp_q(r), r);
}

/// e^(x + x_low) = (1 + w) 2^n for x_low tiny: the sum's parts are added to r with its rounding error kept.
template <class F>
struct ExpParts {
  F n, w;
};
// implements: N180
template <class F>
SOFTAMP_MATH ExpParts<F> exp_parts(F x, F x_low) {
  const F n = fma(x, F(kLog2E), F(kShift)) - F(kShift);
  const F most = fma(n, F(-kLn2), x), rest = fma(n, F(-kLn2Low), x_low);
  const F r = most + rest, r_low = (most - r) + rest;
  return {n, r + fma(r * r, exp_q(r), r_low)};
}

/// e^x if it and its power of two are in the normal range.
template <class F>
SOFTAMP_MATH F exp_in_range(F x) {
  const ExpReduced<F> x_ = exp_reduce(x);
  return scaled_in_range(exp_minus_one(x_.r) + F(1), x_.n);
}

}  // namespace detail

/// e^x. e^-Inf = +0, e^Inf = Inf.
template <class F>
SOFTAMP_MATH F exp(F x) {
  const detail::ExpReduced<F> x_ = detail::exp_reduce(at_most(at_least(x, F(-104)), F(89)));
  return scaled(detail::exp_minus_one(x_.r) + F(1), x_.n);
}

/// 2^x.
template <class F>
SOFTAMP_MATH F exp2(F x) {
  constexpr float kLn2Rest = detail::kLn2Low;
  x = at_most(at_least(x, F(-151)), F(129));
  const F n = (x + F(detail::kShift)) - F(detail::kShift), fraction = x - n;
  const F r = fraction * F(detail::kLn2);
  // The rounding errors of the product and of kLn2 are added to r.
  const F rest = fma(fraction, F(kLn2Rest), fma(fraction, F(detail::kLn2), -r));
  return scaled(detail::exp_minus_one(r) + rest + F(1), n);
}

/// e^x - 1. Its zeros keep their sign.
template <class F>
SOFTAMP_MATH F expm1(F x) {
  const detail::ExpReduced<F> x_ = detail::exp_reduce(at_most(at_least(x, F(-30)), F(89)));
  const F r = x_.r;
  const F q =
      detail::polynomial(r, 0.5f, 0x1.555554p-3f, 0x1.5554f8p-5f, 0x1.1112d6p-7f, 0x1.6d3a5ap-10f, 0x1.9e7804p-13f);
  // Half of it, because 2^128 is out of range: s (1 + r + r^2 q) - 1/2 with s = 2^(n-1); the inner sum is nearly exact.
  const F s = scaled_in_range(F(1), x_.n - F(1));
  const F half = fma(s * (r * r), q, fma(s, r, s - F(0.5f)));
  return select(magnitude(x) < F(0x1p-25f), x, half + half);
}

/// x from 0 on, e^x - 1 below.
template <class F>
SOFTAMP_MATH F elu(F x) {
  return select(x < F(0), expm1(x), x);
}

/// Elu scaled so that activations keep mean 0 and variance 1: s x from 0 on, s a (e^x - 1) below (Klambauer et al.,
/// "Self-normalizing neural networks", 2017).
template <class F>
SOFTAMP_MATH F selu(F x) {
  constexpr float kScale = 0x1.0cfabep+0f, kScaleAlpha = 0x1.c212ccp+0f;  // s = 1.05070098..., s a = 1.75809934...
  return select(x < F(0), F(kScaleAlpha) * expm1(x), F(kScale) * x);
}

}  // namespace softamp::math
