// Numbers with a distribution, each from one random word: uniform, normal, and normal on two standard deviations.
//
// Each word gives a number (N383), so none is rejected: it goes through the inverse of the distribution function. With
// x = 2 Phi(z) - 1 and w = -ln(1 - x^2), z = x P(w), P a polynomial in w up to 5 and one in sqrt(w) from there on (the
// form is Giles's, "Approximating the erfinv function", 2010; the coefficients are our own).
#pragma once

#include "softamp/numerics/math_log.h"

namespace softamp::math {

namespace detail {

/// z / x for w <= 5, within 2^-23.1.
template <class F>
SOFTAMP_MATH F normal_centre(F w) {
  return polynomial(w - F(2.5f), 0x1.0fc8bep+1f, 0x1.652c76p-2f, -0x1.833478p-8f, -0x1.d0ba52p-10f, 0x1.4435f2p-12f,
                    -0x1.a4f5dep-18f, -0x1.4f5486p-18f, 0x1.0742b6p-21f, 0x1.5d3756p-25f);
}

/// The same for 5 <= w <= 22, within 2^-21.4.
template <class F>
SOFTAMP_MATH F normal_far(F w) {
  return polynomial(sqrt(w) - F(3.4f), 0x1.24c776p+2f, 0x1.6c7152p+0f, 0x1.71467ap-8f, -0x1.d27c5ep-9f, 0x1.0ae42cp-9f,
                    -0x1.a47bb6p-10f, 0x1.0d209cp-10f, -0x1.02c486p-12f, -0x1.62d4ecp-16f);
}

/// The sign and |2u - 1| of u = (word + 1/2) / 2^32, and 1 - |2u - 1|, each rounded from its exact value.
template <class F>
struct Centred {
  F sign, x, rest;
};
template <class F>
SOFTAMP_MATH Centred<F> centred(typename F::Bits word) {
  const auto upper = F::shifted(word, 31);       // all ones where u > 1/2
  const auto tail = ((word ^ upper) << 1) | 1u;  // of k + 1/2 = the smaller tail's 2^32, twice
  // 0 - tail, not ~(tail - 1): g++ 12 compiles ~ to an instruction that waits for its destination's old value.
  return {F::from_bits(~upper & 0x80000000u), F::from_unsigned(0u - tail) * F(0x1p-32f),
          F::from_unsigned(tail) * F(0x1p-32f)};
}

}  // namespace detail

/// A number in [0, 1): the top 24 bits of `word`, over 2^24.
// implements: N200
template <class F>
SOFTAMP_MATH F uniform_from_bits(typename F::Bits word) {
  return F::from_unsigned(word >> 8) * F(0x1p-24f);
}

/// The standard normal number at which the distribution function is (word + 1/2) / 2^32: ascending in `word` except for
/// rounding, odd (~word gives -z exactly), |z| <= 6.34.
// implements: N200
template <class F>
SOFTAMP_MATH F normal_from_bits(typename F::Bits word) {
  const detail::Centred<F> u = detail::centred<F>(word);
  const F w = -log(fma(u.rest, u.x, u.rest));  // 1 - x^2 = (1 - x)(1 + x)
  const F z = u.x * select(w < F(5), detail::normal_centre(w), detail::normal_far(w));
  return with_sign_of(z, u.sign);
}

/// The same of the normal distribution cut to [-2, 2]: Phi(z) = Phi(-2) + u (Phi(2) - Phi(-2)). |z| <= 2.
// implements: N200
template <class F>
SOFTAMP_MATH F truncated_normal_from_bits(typename F::Bits word) {
  const detail::Centred<F> u = detail::centred<F>(word);
  const F x = u.x * F(0x1.e8b43p-1f);  // erf(sqrt 2) = Phi(2) - Phi(-2)
  const F z = x * detail::normal_centre(-log(fma(-x, x, F(1))));
  return with_sign_of(at_most(z, F(2)), u.sign);
}

}  // namespace softamp::math
