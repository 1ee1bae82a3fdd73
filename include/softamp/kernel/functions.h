// The bodies of the element-wise elementary functions and of the power.
//
// N181: the operand is widened to fp32 exactly, the fp32 function of numerics/math.h taken, its result flushed as the
// preset's fp32 results are, and rounded once to the format by the format's policy. The functions themselves round to
// nearest whatever the preset. Order of evaluation: flush of the operand, NaN operand, invalid operand, pole, value,
// overflow, flush, rounding. Flags are those of these steps and of the one rounding to the format: an fp32 result
// raises neither inexact nor underflow.
//
// N440: binary64 has functions of its own (numerics/math_double.h) but for sines, cosines and powers, which callers
// refuse; their result is that of the operation under any policy, never flushed, and the flags are finish64's.
#pragma once

#include "softamp/kernel/elementwise.h"
#include "softamp/numerics/arithmetic.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/math.h"
#include "softamp/numerics/math_double.h"

namespace softamp::kernel {

/// Functions of one fp32 number, each with its body in namespace math. kExp2 to kGeluTanhGradient serve gradients and
/// executors.
#define SOFTAMP_FUNCTIONS(ROW)                                                  \
  ROW(kExp, exp)                                                                \
  ROW(kExpm1, expm1) /* e^x - 1 */                                              \
  ROW(kLog, log)     /* ln x: a pole at zeros, invalid below */                 \
  ROW(kLog1p, log1p) /* ln(1 + x): a pole at -1, invalid below */               \
  ROW(kTanh, tanh)                                                              \
  ROW(kSigmoid, sigmoid) /* 1 / (1 + e^-x) */                                   \
  ROW(kErf, erf)                                                                \
  ROW(kGelu, gelu)          /* x Phi(x) = x/2 (1 + erf(x / sqrt 2)) */          \
  ROW(kGeluTanh, gelu_tanh) /* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */ \
  ROW(kSin, sin)            /* invalid of an infinity */                        \
  ROW(kCos, cos)            /* invalid of an infinity */                        \
  ROW(kExp2, exp2)                                                              \
  ROW(kNormalCdf, normal_cdf)                /* Phi(x) */                       \
  ROW(kNormalPdf, normal_pdf)                /* e^(-x^2/2) / sqrt(2 pi) */      \
  ROW(kGeluGradient, gelu_gradient)          /* Phi(x) + x phi(x) */            \
  ROW(kGeluTanhGradient, gelu_tanh_gradient) /* the derivative of kGeluTanh */  \
  ROW(kSoftplus, softplus)                   /* ln(1 + e^x) */                  \
  ROW(kElu, elu)                             /* e^x - 1 below 0, else x */      \
  ROW(kSelu, selu)                           /* the same, scaled */             \
  ROW(kErfc, erfc)                           /* 1 - erf(x) */

enum class Function : uint8_t {
#define SOFTAMP_ROW(name, body) name,
  SOFTAMP_FUNCTIONS(SOFTAMP_ROW)
#undef SOFTAMP_ROW
};
inline constexpr int kFunctionCount = 0
#define SOFTAMP_ROW(name, body) +1
    SOFTAMP_FUNCTIONS(SOFTAMP_ROW)
#undef SOFTAMP_ROW
    ;

inline const char* name_of(Function f) {
  constexpr const char* kNames[] = {
#define SOFTAMP_ROW(name, body) &#name[1],
      SOFTAMP_FUNCTIONS(SOFTAMP_ROW)
#undef SOFTAMP_ROW
  };
  return kNames[static_cast<int>(f)];
}

/// The function of one lane or of a vector of them.
template <Function f, class F>
SOFTAMP_MATH F function_of(F x) {
#define SOFTAMP_ROW(name, body) \
  if constexpr (f == Function::name) return math::body(x);
  SOFTAMP_FUNCTIONS(SOFTAMP_ROW)
#undef SOFTAMP_ROW
}

/// The fp32 function of one number. The bits of a NaN are unspecified.
SOFTAMP_HD inline float function_of(Function f, float x) {
  switch (f) {
#define SOFTAMP_ROW(name, body) \
  case Function::name: return function_of<Function::name>(math::Float(x)).value;
    SOFTAMP_FUNCTIONS(SOFTAMP_ROW)
#undef SOFTAMP_ROW
  }
  return x;
}

/// Whether there is a function of binary64 numbers, too.
constexpr SOFTAMP_HD bool has_binary64(Function f) { return f != Function::kSin && f != Function::kCos; }

/// The binary64 function of one number. The bits of a NaN are unspecified, those of a function that is not there the
/// operand's.
template <Function f, class D>
SOFTAMP_MATH D binary64_function(D x) {
  if constexpr (has_binary64(f)) return function_of<f>(x);
  return x;
}
SOFTAMP_HD inline double binary64_function_of(Function f, double x) {
  switch (f) {
#define SOFTAMP_ROW(name, body) \
  case Function::name: return binary64_function<Function::name>(math::Double(x)).value;
    SOFTAMP_FUNCTIONS(SOFTAMP_ROW)
#undef SOFTAMP_ROW
  }
  return x;
}

namespace detail {

using softamp::detail::Operand;

/// The exact fp32 value of an operand that is no NaN.
// implements: N181
SOFTAMP_HD inline float widened(const Operand& x) {
  const uint64_t sign = x.negative ? 0x80000000u : 0u;
  const uint64_t code =
      x.infinite() ? sign | 0x7F800000u : round_and_pack(FloatFormat::fp32(), x.exact(), RoundingPolicy::ieee()).code;
  return __builtin_bit_cast(float, static_cast<uint32_t>(code));
}

/// Flushes `y` and rounds it once to `to`. `from_infinity`: an operand was infinite. Where the fp32 function overflows,
/// `to` overflows too, by its own policy: e^1000 in fp16 is an overflow, not a copied infinity.
// implements: N91, N181, N182
SOFTAMP_HD inline Rounded narrowed(const FloatFormat& to, float y, bool from_infinity, const Semantics& s,
                                   uint32_t random) {
  const FloatFormat wide = FloatFormat::fp32();
  const uint32_t code = __builtin_bit_cast(uint32_t, y);
  const bool negative = code >> 31 != 0;
  if (wide.is_infinity(code))
    return from_infinity ? pack_infinity(to, negative, s.rounding(to))
                         : softamp::detail::pack_overflow(to, negative, s.rounding(to));
  const Rounded flushed =
      round_and_pack(wide, softamp::detail::unpack_finite(wide, code), s.wide, RoundingPolicy::kStill);
  return round_and_pack(to, softamp::detail::unpack_finite(wide, flushed.code), s.rounding(to), random);
}

SOFTAMP_HD inline Rounded nan_operand(const FloatFormat& from, const FloatFormat& to, uint64_t code, uint8_t flags,
                                      const Semantics& s) {
  const RoundingPolicy& p = s.rounding(to);
  return {softamp::detail::nan_from(to, from, code, p.nan), static_cast<uint8_t>(flags & p.flags)};
}

}  // namespace detail

/// f of a binary64 number.
// implements: N440
SOFTAMP_HD inline Rounded evaluate64(Function f, uint64_t code, const Semantics& s) {
  const FloatFormat format = FloatFormat::binary64();
  Operands operands;
  operands.add(format, code, s);
  if (operands.has_nan) return finish64(0.0, operands, false, s);
  const double x = __builtin_bit_cast(double, code);
  const bool logarithm = f == Function::kLog || f == Function::kLog1p;
  const double pole = f == Function::kLog ? 0.0 : -1.0;
  if (logarithm && x < pole) return softamp::detail::invalid_result(format, s);
  const double y = binary64_function_of(f, x);
  if (logarithm && x == pole)
    return {__builtin_bit_cast(uint64_t, y), static_cast<uint8_t>(fp::detail::pole_flags(s) & s.wide.flags)};
  return finish64(y, operands, false, s);
}

/// f of `code` in format `from`, in format `to` (both of at most 32 bits; evaluate64 has the others). `random` serves a
/// stochastic policy of `to`. NaN operand: NaN, flags as in arithmetic. Pole: an infinity made of a finite operand,
/// raising what `pole` of the preset says; it becomes what the policy makes of infinite results. Overflow: see
/// `narrowed`.
// implements: N181, N183
SOFTAMP_HD inline Rounded evaluate(Function f, const FloatFormat& from, const FloatFormat& to, uint64_t code,
                                   const Semantics& s, uint32_t random = 0) {
  const detail::Operand operand = softamp::detail::unpack(from, code, s);
  if (operand.nan()) return detail::nan_operand(from, to, code, softamp::detail::nan_flags(from, code, s), s);
  const float x = detail::widened(operand);
  const bool logarithm = f == Function::kLog || f == Function::kLog1p;
  const float pole = f == Function::kLog ? 0.0f : -1.0f;
  if (logarithm && x < pole) return softamp::detail::invalid_result(to, s);
  if (logarithm && x == pole) return fp::detail::pole(to, true, fp::detail::pole_flags(s), s);
  if ((f == Function::kSin || f == Function::kCos) && operand.infinite()) return softamp::detail::invalid_result(to, s);
  return detail::narrowed(to, function_of(f, x), operand.infinite(), s, random);
}

/// x^y of codes in format `from`, in format `to`; IEEE 754 (9.2.1). x^0 and 1^y are 1 even where the other is a quiet
/// NaN, which raises what NaN operands raise. 0^y with finite y < 0 is a pole, finite x < 0 with y no integer invalid.
// implements: N183, N184
SOFTAMP_HD inline Rounded evaluate_pow(const FloatFormat& from, const FloatFormat& to, uint64_t x, uint64_t y,
                                       const Semantics& s, uint32_t random = 0) {
  const detail::Operand a = softamp::detail::unpack(from, x, s), b = softamp::detail::unpack(from, y, s);
  const float base = a.nan() ? 2.0f : detail::widened(a), exponent = b.nan() ? 1.0f : detail::widened(b);
  uint8_t flags = a.nan() ? softamp::detail::nan_flags(from, x, s) : 0;
  if (b.nan()) flags = static_cast<uint8_t>(flags | softamp::detail::nan_flags(from, y, s));
  const bool signaling = from.is_signaling_nan(x) || from.is_signaling_nan(y);
  if ((a.nan() || b.nan()) && (signaling || (base != 1.0f && exponent != 0.0f)))
    return detail::nan_operand(from, to, a.nan() ? x : y, flags, s);
  const float z = math::pow(math::Float(base), math::Float(exponent)).value;
  if (z != z) return softamp::detail::invalid_result(to, s);
  if (a.zero() && b.finite() && exponent < 0)
    return fp::detail::pole(to, __builtin_bit_cast(uint32_t, z) >> 31 != 0, fp::detail::pole_flags(s), s);
  const Rounded r = detail::narrowed(to, z, a.infinite() || b.infinite() || a.zero(), s, random);
  return {r.code, static_cast<uint8_t>(r.flags | (flags & s.rounding(to).flags))};
}

}  // namespace softamp::kernel
