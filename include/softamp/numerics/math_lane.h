// The number type in which the elementary functions of math_*.h are written, and its scalar form.
//
// Each function is one template, `template <class F> F exp(F x)`, for one lane on the host or the device (Float, Double
// here) and for the vectors of an engine (emu/math_lanes.h). All give the same bits, because each operation of a lane
// is one IEEE 754 operation rounded to nearest even, or on integers. What a lane type F offers:
//
//   F(constant), + - * / and unary -, fma(a, b, c), sqrt(a)                  each rounded once (N410)
//   a < b, a <= b, a == b giving F::Mask, with & | ! on masks; select(mask, a, b)
//   at_most(a, c) = c < a ? c : a, at_least(a, c) = a < c ? c : a            a NaN stays (N413)
//   bits(a), F::from_bits(u), F::shifted(u, n): u >> n as signed             F::Bits: unsigned, + - & | ^ << >>
//   F::from_signed(u), F::from_unsigned(u)                                   the integer, rounded to nearest
//   scaled(p, n): p 2^n, rounded once, for integral |n| <= 252 and 2^-40 < |p| < 2^40 or p 0 or NaN
//   scaled_in_range(p, n): the same where p 2^n and 2^n are known to be normal
//   any(mask), and F::for_lanes(mask, f): f(lane number) for each lane marked
//
// These are the only headers of numerics/ that compute in floating point: callers must set rounding to nearest without
// flushing (N81). The bits of a NaN result are unspecified; code that stores one writes the policy's pattern (N23).
#pragma once

#include "softamp/numerics/platform.h"

#define SOFTAMP_MATH SOFTAMP_HD __attribute__((always_inline)) inline

namespace softamp::math {

namespace detail {

#if !defined(__CUDA_ARCH__) && !defined(__FMA__) && !defined(__aarch64__)
/// a b + c rounded once, without an instruction for it and without a library: the product is exact in binary64, the sum
/// is rounded to odd there, using its exact error (Knuth's two-sum), and with 53 bits the second rounding, to fp32,
/// gives what one rounding would (N403).
SOFTAMP_MATH float fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * b, addend = c;
  const double sum = product + addend;
  const double addend_seen = sum - product, product_seen = sum - addend_seen;
  const double error = (product - product_seen) + (addend - addend_seen);
  const uint64_t code = __builtin_bit_cast(uint64_t, sum);
  const bool inexact = (error < 0) | (error > 0);  // neither where infinities have made it a NaN
  const bool toward_zero = inexact & ((error < 0) != (sum < 0));
  return static_cast<float>(__builtin_bit_cast(double, (code - toward_zero) | inexact));
}
#endif

}  // namespace detail

/// The mask of one number.
struct Truth {
  bool value;

  SOFTAMP_MATH Truth(bool v) : value(v) {}
  friend SOFTAMP_MATH Truth operator&(Truth a, Truth b) { return a.value && b.value; }
  friend SOFTAMP_MATH Truth operator|(Truth a, Truth b) { return a.value || b.value; }
  friend SOFTAMP_MATH Truth operator!(Truth a) { return !a.value; }
};

/// One fp32 number.
struct Float {
  using Bits = uint32_t;
  using Mask = Truth;

  float value;

  Float() = default;
  SOFTAMP_MATH Float(float v) : value(v) {}

#if defined(__CUDA_ARCH__)
  friend SOFTAMP_MATH Float operator+(Float a, Float b) { return __fadd_rn(a.value, b.value); }
  friend SOFTAMP_MATH Float operator-(Float a, Float b) { return __fsub_rn(a.value, b.value); }
  friend SOFTAMP_MATH Float operator*(Float a, Float b) { return __fmul_rn(a.value, b.value); }
  friend SOFTAMP_MATH Float operator/(Float a, Float b) { return __fdiv_rn(a.value, b.value); }
  friend SOFTAMP_MATH Float fma(Float a, Float b, Float c) { return __fmaf_rn(a.value, b.value, c.value); }
  friend SOFTAMP_MATH Float sqrt(Float a) { return __fsqrt_rn(a.value); }
  static SOFTAMP_MATH Float from_signed(Bits u) { return __int2float_rn(static_cast<int32_t>(u)); }
  static SOFTAMP_MATH Float from_unsigned(Bits u) { return __uint2float_rn(u); }
#else
  friend SOFTAMP_MATH Float operator+(Float a, Float b) { return a.value + b.value; }
  friend SOFTAMP_MATH Float operator-(Float a, Float b) { return a.value - b.value; }
  friend SOFTAMP_MATH Float operator*(Float a, Float b) { return a.value * b.value; }
  friend SOFTAMP_MATH Float operator/(Float a, Float b) { return a.value / b.value; }
#if defined(__FMA__) || defined(__aarch64__)
  friend SOFTAMP_MATH Float fma(Float a, Float b, Float c) { return __builtin_fmaf(a.value, b.value, c.value); }
#else
  friend SOFTAMP_MATH Float fma(Float a, Float b, Float c) { return detail::fused(a.value, b.value, c.value); }
#endif
  friend SOFTAMP_MATH Float sqrt(Float a) { return __builtin_sqrtf(a.value); }
  static SOFTAMP_MATH Float from_signed(Bits u) { return static_cast<float>(static_cast<int32_t>(u)); }
  static SOFTAMP_MATH Float from_unsigned(Bits u) { return static_cast<float>(u); }
#endif
  friend SOFTAMP_MATH Float operator-(Float a) { return from_bits(bits(a) ^ 0x80000000u); }
  friend SOFTAMP_MATH Mask operator<(Float a, Float b) { return a.value < b.value; }
  friend SOFTAMP_MATH Mask operator<=(Float a, Float b) { return a.value <= b.value; }
  friend SOFTAMP_MATH Mask operator==(Float a, Float b) { return a.value == b.value; }
  friend SOFTAMP_MATH Float select(Mask m, Float a, Float b) { return m.value ? a.value : b.value; }
  // implements: N413
  friend SOFTAMP_MATH Float at_most(Float a, Float c) { return c.value < a.value ? c.value : a.value; }
  // implements: N413
  friend SOFTAMP_MATH Float at_least(Float a, Float c) { return a.value < c.value ? c.value : a.value; }
  friend SOFTAMP_MATH Bits bits(Float a) { return __builtin_bit_cast(uint32_t, a.value); }
  static SOFTAMP_MATH Float from_bits(Bits u) { return __builtin_bit_cast(float, u); }
  static SOFTAMP_MATH Bits shifted(Bits u, int n) { return static_cast<uint32_t>(static_cast<int32_t>(u) >> n); }

  friend SOFTAMP_MATH bool any(Float, Mask m) { return m.value; }
  template <class Body>
  static SOFTAMP_MATH void for_lanes(Mask m, const Body& body) {
    if (m.value) body(0);
  }
  SOFTAMP_MATH float lane(int) const { return value; }
  SOFTAMP_MATH void set_lane(int, float v) { value = v; }
};

/// One binary64 number. It has no fma, because the portable engine has none at this width.
// implements: N403
struct Double {
  using Bits = uint64_t;
  using Mask = Truth;

  double value;

  Double() = default;
  SOFTAMP_MATH Double(double v) : value(v) {}

#if defined(__CUDA_ARCH__)
  friend SOFTAMP_MATH Double operator+(Double a, Double b) { return __dadd_rn(a.value, b.value); }
  friend SOFTAMP_MATH Double operator-(Double a, Double b) { return __dsub_rn(a.value, b.value); }
  friend SOFTAMP_MATH Double operator*(Double a, Double b) { return __dmul_rn(a.value, b.value); }
  friend SOFTAMP_MATH Double operator/(Double a, Double b) { return __ddiv_rn(a.value, b.value); }
#else
  friend SOFTAMP_MATH Double operator+(Double a, Double b) { return a.value + b.value; }
  friend SOFTAMP_MATH Double operator-(Double a, Double b) { return a.value - b.value; }
  friend SOFTAMP_MATH Double operator*(Double a, Double b) { return a.value * b.value; }
  friend SOFTAMP_MATH Double operator/(Double a, Double b) { return a.value / b.value; }
#endif
  friend SOFTAMP_MATH Double operator-(Double a) { return from_bits(bits(a) ^ (uint64_t{1} << 63)); }
  friend SOFTAMP_MATH Mask operator<(Double a, Double b) { return a.value < b.value; }
  friend SOFTAMP_MATH Mask operator<=(Double a, Double b) { return a.value <= b.value; }
  friend SOFTAMP_MATH Mask operator==(Double a, Double b) { return a.value == b.value; }
  friend SOFTAMP_MATH Double select(Mask m, Double a, Double b) { return m.value ? a.value : b.value; }
  friend SOFTAMP_MATH Double at_most(Double a, Double c) { return c.value < a.value ? c.value : a.value; }
  friend SOFTAMP_MATH Double at_least(Double a, Double c) { return a.value < c.value ? c.value : a.value; }
  friend SOFTAMP_MATH Bits bits(Double a) { return __builtin_bit_cast(uint64_t, a.value); }
  static SOFTAMP_MATH Double from_bits(Bits u) { return __builtin_bit_cast(double, u); }
  friend SOFTAMP_MATH bool any(Double, Mask m) { return m.value; }
};

/// |x|, and x with the sign of s.
template <class F>
SOFTAMP_MATH F magnitude(F x) {
  return F::from_bits(bits(x) & 0x7FFFFFFFu);
}
template <class F>
SOFTAMP_MATH F with_sign_of(F x, F s) {
  return F::from_bits(bits(x) | (bits(s) & 0x80000000u));
}

namespace detail {

/// 1.5 2^23: x + kShift - kShift is x rounded to an integer, ties to even, for |x| <= 2^22.
inline constexpr float kShift = 0x1.8p+23f;
inline constexpr uint32_t kShiftBits = 0x4B400000u;
inline constexpr float kInfinity = __builtin_inff();

/// Horner's scheme by fma, lowest power first.
// implements: N62
template <class F>
SOFTAMP_MATH F polynomial(F, float c) {
  return F(c);
}
template <class F, class... More>
SOFTAMP_MATH F polynomial(F x, float c, More... more) {
  return fma(polynomial(x, more...), x, F(c));
}

}  // namespace detail

/// p 2^n by one or two exact powers of two. Halves of n keep the first product normal, so that only the second rounds.
template <class F>
SOFTAMP_MATH F scaled_by_multiplying(F p, F n) {
  const auto k = bits(n + F(detail::kShift)) - detail::kShiftBits;
  const auto half = F::shifted(k, 1);
  return p * F::from_bits((half + 127u) << 23) * F::from_bits((k - half + 127u) << 23);
}
template <class F>
SOFTAMP_MATH F scaled_in_range_by_multiplying(F p, F n) {
  return p * F::from_bits((bits(n + F(detail::kShift)) - detail::kShiftBits + 127u) << 23);
}
SOFTAMP_MATH Float scaled(Float p, Float n) { return scaled_by_multiplying(p, n); }
SOFTAMP_MATH Float scaled_in_range(Float p, Float n) { return scaled_in_range_by_multiplying(p, n); }

}  // namespace softamp::math
