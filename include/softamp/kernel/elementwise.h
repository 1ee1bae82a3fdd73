// Bodies of the element-wise operations: one output element from its operands' codes.
//
//   arithmetic    + - x / square root reciprocal 1/root square: numerics/arithmetic.h, rounded once
//   selections neg abs max min relu: the result is one of the operands; nothing is rounded
//   fp32 inside   LeakyRelu, gradients, AddN: nearest even in fp32 in the order written here, then rounded once
//   comparisons   truth values
//   binary64      native arithmetic to nearest, one rounding an operation; never inexact or underflow
//   int32         wraps
//
// The elementary functions are in kernel/functions.h, conversions in kernel/cast.h.
#pragma once

#include "softamp/kernel/environment.h"
#include "softamp/numerics/math_lane.h"
#include "softamp/numerics/operations.h"

namespace softamp::kernel {

enum class Elementwise : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kSquare,
  kSqrt,
  kRsqrt,
  kReciprocal,
  // Selections.
  kNeg,       ///< the sign turned; a NaN becomes the policy's. Raises nothing, flushes nothing.
  kAbs,       ///< the sign removed; otherwise as kNeg.
  kMaximum,   ///< N43
  kMinimum,   ///< N43
  kRelu,      ///< max(x, +0)
  kRelu6,     ///< min(max(x, +0), 6)
  kReluGrad,  ///< (gradients, features): features > 0 ? gradients : +0. The gradient is copied unchanged.
  // fp32 inside.
  kLeakyRelu,          ///< 0 < x ? x : alpha x
  kLeakyReluGrad,      ///< (gradients g, features x): 0 < x ? g : alpha g
  kTanhGrad,           ///< (y, dy): dy (1 - y y)
  kSigmoidGrad,        ///< (y, dy): (dy y) (1 - y)
  kSqrtGrad,           ///< (y, dy): (0.5 dy) / y
  kRsqrtGrad,          ///< (y, dy): (-0.5 dy) ((y y) y)
  kReciprocalGrad,     ///< (y, dy): -dy (y y)
  kSquaredDifference,  ///< (x - y) (x - y)
  // Comparisons.
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIsNan,
  kIsFinite,
};

constexpr SOFTAMP_HD bool is_arithmetic(Elementwise op) { return op <= Elementwise::kReciprocal; }
constexpr SOFTAMP_HD bool is_selection(Elementwise op) {
  return op >= Elementwise::kNeg && op <= Elementwise::kReluGrad;
}
constexpr SOFTAMP_HD bool is_fp32_inside(Elementwise op) {
  return op >= Elementwise::kLeakyRelu && op <= Elementwise::kSquaredDifference;
}
constexpr SOFTAMP_HD bool is_comparison(Elementwise op) { return op >= Elementwise::kEqual; }
constexpr SOFTAMP_HD int operand_count(Elementwise op) {
  switch (op) {
    case Elementwise::kSquare:
    case Elementwise::kSqrt:
    case Elementwise::kRsqrt:
    case Elementwise::kReciprocal:
    case Elementwise::kNeg:
    case Elementwise::kAbs:
    case Elementwise::kRelu:
    case Elementwise::kRelu6:
    case Elementwise::kLeakyRelu:
    case Elementwise::kIsNan:
    case Elementwise::kIsFinite: return 1;
    default: return 2;
  }
}

/// The formulas in fp32, the same code for the scalar lane and for vectors: F has + - x / and select(0 < x, a, b).
namespace inside {
template <class F>
SOFTAMP_MATH F leaky_relu(F x, float alpha) {
  return select(0.0f < x, x, x * alpha);
}
/// A NaN among the features is the result.
template <class F>
SOFTAMP_MATH F leaky_relu_grad(F g, F x, float alpha) {
  return select(x == x, select(0.0f < x, g, g * alpha), x);
}
template <class F>
SOFTAMP_MATH F tanh_grad(F y, F dy) {
  return dy * (1.0f - y * y);
}
template <class F>
SOFTAMP_MATH F sigmoid_grad(F y, F dy) {
  return (dy * y) * (1.0f - y);
}
template <class F>
SOFTAMP_MATH F sqrt_grad(F y, F dy) {
  return (0.5f * dy) / y;
}
template <class F>
SOFTAMP_MATH F rsqrt_grad(F y, F dy) {
  return (-0.5f * dy) * ((y * y) * y);
}
template <class F>
SOFTAMP_MATH F reciprocal_grad(F y, F dy) {
  return -dy * (y * y);
}
template <class F>
SOFTAMP_MATH F squared_difference(F x, F y) {
  const F d = x - y;
  return d * d;
}
}  // namespace inside

/// An operand of a multi-step operation as an fp32 number: exact for formats of at most 16 bits, flushed where the
/// preset flushes fp32 operands.
SOFTAMP_MATH float operand32(const FloatFormat& f, uint64_t code, const Semantics& s) {
  const softamp::detail::Operand x = softamp::detail::unpack(f, code, s);
  const FloatFormat wide = FloatFormat::fp32();
  uint64_t bits = wide.infinity_code() | (x.negative ? wide.sign_mask() : 0);
  if (x.nan()) bits = nan_code(wide, NanPattern::kQuiet);
  if (x.finite()) bits = round_and_pack(wide, x.exact(), RoundingPolicy{}).code;
  return __builtin_bit_cast(float, static_cast<uint32_t>(bits));
}

/// Facts about the operands of a multi-step operation that decide its special results.
struct Operands {
  bool finite = true;
  bool has_nan = false;
  uint64_t first_nan = 0;
  uint8_t flags = 0;

  SOFTAMP_INLINE void add(const FloatFormat& f, uint64_t code, const Semantics& s) {
    const softamp::detail::Operand x = softamp::detail::unpack(f, code, s);
    if (!x.finite()) finite = false;
    if (!x.nan()) return;
    if (!has_nan) first_nan = code;
    has_nan = true;
    flags = static_cast<uint8_t>(flags | softamp::detail::nan_flags(f, code, s));
  }
};

/// The last rounding of a multi-step operation whose fp32 value is `value`. A NaN without a NaN operand is invalid; an
/// infinity from finite operands overflows, or (`pole`) comes from a division by zero. Earlier steps raise nothing
/// else.
SOFTAMP_MATH Rounded finish32(const FloatFormat& f, float value, const Operands& operands, bool pole,
                              const Semantics& s, uint32_t random) {
  const FloatFormat wide = FloatFormat::fp32();
  const RoundingPolicy& p = s.rounding(f);
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  if (operands.has_nan) return softamp::detail::nan_result(f, operands.first_nan, operands.flags, s);
  if (wide.is_nan(bits)) return softamp::detail::invalid_result(f, s);
  const bool negative = (bits & wide.sign_mask()) != 0;
  if (wide.is_infinity(bits)) {
    if (!operands.finite) return pack_infinity(f, negative, p);
    return pole ? fp::detail::pole(f, negative, kDivideByZero, s) : softamp::detail::pack_overflow(f, negative, p);
  }
  return round_and_pack(f, softamp::detail::unpack_finite(wide, bits), p, random);
}

/// Operations with fp32 inside. alpha as the attribute of that name, rounded to fp32.
SOFTAMP_MATH Rounded fp32_inside(Elementwise op, const FloatFormat& f, uint64_t a, uint64_t b, float alpha,
                                 const Semantics& s, uint32_t random) {
  using math::Float;
  Operands operands;
  operands.add(f, a, s);
  const Float x = operand32(f, a, s);
  Float y = 0.0f;
  if (operand_count(op) == 2) {
    operands.add(f, b, s);
    y = operand32(f, b, s);
  }
  Float value = 0.0f;
  bool pole = false;
  switch (op) {
    case Elementwise::kLeakyRelu: value = inside::leaky_relu(x, alpha); break;
    case Elementwise::kLeakyReluGrad: value = inside::leaky_relu_grad(x, y, alpha); break;
    case Elementwise::kTanhGrad: value = inside::tanh_grad(x, y); break;
    case Elementwise::kSigmoidGrad: value = inside::sigmoid_grad(x, y); break;
    case Elementwise::kSqrtGrad:
      value = inside::sqrt_grad(x, y);
      pole = x.value == 0.0f;
      break;
    case Elementwise::kRsqrtGrad: value = inside::rsqrt_grad(x, y); break;
    case Elementwise::kReciprocalGrad: value = inside::reciprocal_grad(x, y); break;
    default: value = inside::squared_difference(x, y); break;
  }
  return finish32(f, value.value, operands, pole, s, random);
}

/// The sum x + y + ... in fp32, ascending from the first: add every operand, then finish.
struct Sum32 {
  math::Float sum = 0.0f;
  Operands operands;
  bool any = false;

  SOFTAMP_MATH void add(const FloatFormat& f, uint64_t code, const Semantics& s) {
    const math::Float x = operand32(f, code, s);
    sum = any ? sum + x : x;
    any = true;
    operands.add(f, code, s);
  }
  SOFTAMP_MATH Rounded finish(const FloatFormat& f, const Semantics& s, uint32_t random) const {
    return finish32(f, sum.value, operands, false, s, random);
  }
};

/// The last step of a binary64 operation: the wide policy's NaN, and flags as above.
SOFTAMP_MATH Rounded finish64(double value, const Operands& operands, bool pole, const Semantics& s) {
  const FloatFormat f = FloatFormat::binary64();
  const uint64_t bits = __builtin_bit_cast(uint64_t, value);
  if (operands.has_nan) return softamp::detail::nan_result(f, operands.first_nan, operands.flags, s);
  if (f.is_nan(bits)) return softamp::detail::invalid_result(f, s);
  uint8_t flags = 0;
  if (f.is_infinity(bits) && operands.finite) flags = static_cast<uint8_t>(pole ? kDivideByZero : kOverflow);
  return {bits, static_cast<uint8_t>(flags & s.wide.flags)};
}

/// Binary64 to nearest even under any policy; gradual underflow, infinities kept.
SOFTAMP_MATH Rounded arithmetic64(Elementwise op, uint64_t a, uint64_t b, const Semantics& s) {
  using math::Double;
  const FloatFormat f = FloatFormat::binary64();
  Operands operands;
  operands.add(f, a, s);
  const Double x = __builtin_bit_cast(double, a), y = __builtin_bit_cast(double, b), one = 1.0;
  if (operand_count(op) == 2) operands.add(f, b, s);
  Double value = 0.0;
  bool pole = false;
  switch (op) {
    case Elementwise::kAdd: value = x + y; break;
    case Elementwise::kSub: value = x - y; break;
    case Elementwise::kMul: value = x * y; break;
    case Elementwise::kDiv:
      value = x / y;
      pole = y.value == 0.0;
      break;
    case Elementwise::kSquare: value = x * x; break;
    case Elementwise::kReciprocal:
      value = one / x;
      pole = x.value == 0.0;
      break;
    case Elementwise::kSqrt:
    case Elementwise::kRsqrt: {
      if (operands.has_nan) break;
      if (x.value < 0.0) return softamp::detail::invalid_result(f, s);
#if defined(__CUDA_ARCH__)
      const Double root = __dsqrt_rn(x.value);
#else
      const Double root = __builtin_sqrt(x.value);
#endif
      // The sign of a zero is kept by the root, and by the infinity that its reciprocal is.
      value = op == Elementwise::kSqrt ? root : one / root;
      pole = op == Elementwise::kRsqrt && x.value == 0.0;
      break;
    }
    default: break;
  }
  if (pole && (op == Elementwise::kReciprocal || op == Elementwise::kRsqrt))
    return {__builtin_bit_cast(uint64_t, value.value), static_cast<uint8_t>(fp::detail::pole_flags(s) & s.wide.flags)};
  return finish64(value.value, operands, pole, s);
}

/// Operations that round the exact value once (binary64: see above).
SOFTAMP_MATH Rounded arithmetic(Elementwise op, const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s,
                                uint32_t random) {
  if (f.exponent_bits == 11) return arithmetic64(op, a, b, s);
  switch (op) {
    case Elementwise::kAdd: return fp::add(f, a, b, s, random);
    case Elementwise::kSub: return fp::sub(f, a, b, s, random);
    case Elementwise::kMul: return fp::mul(f, a, b, s, random);
    case Elementwise::kDiv: return fp::div(f, a, b, s, random);
    case Elementwise::kSquare: return fp::mul(f, a, a, s, random);
    case Elementwise::kSqrt: return fp::sqrt(f, a, s, random);
    case Elementwise::kRsqrt: return fp::reciprocal_sqrt(f, a, s, random);
    default: return fp::reciprocal(f, a, s, random);
  }
}

SOFTAMP_INLINE Rounded selection(Elementwise op, const FloatFormat& f, uint64_t a, uint64_t b,
                                 const Semantics& preset) {
  const uint64_t zero = 0;
  Semantics s = preset;
  if (f.exponent_bits == 11) s.wide.subnormals = Subnormals::kKeep;  // only fp32 is flushed
  switch (op) {
    case Elementwise::kMaximum: return fp::maximum(f, a, b, s);
    case Elementwise::kMinimum: return fp::minimum(f, a, b, s);
    case Elementwise::kRelu: return fp::maximum(f, a, zero, s);
    case Elementwise::kRelu6: {
      const uint64_t six = round_and_pack(f, {false, 0, 6}, RoundingPolicy{}).code;
      const Rounded low = fp::maximum(f, a, zero, s), both = fp::minimum(f, low.code, six, s);
      return {both.code, static_cast<uint8_t>(low.flags | both.flags)};
    }
    case Elementwise::kReluGrad: {
      const fp::Compared positive = fp::less(f, zero, b, s);
      return {positive.value ? a : zero, positive.flags};
    }
    default: break;
  }
  const uint64_t moved = op == Elementwise::kNeg ? a ^ f.sign_mask() : a & ~f.sign_mask();
  if (!f.is_nan(a)) return {moved, 0};
  // An infinity in a NaN's place has the sign of the result.
  const NanPattern pattern = s.rounding(f).nan;
  return {softamp::detail::nan_from(f, f, pattern == NanPattern::kInfinity ? moved : a, pattern), 0};
}

/// The code is 0 or 1. < <= > >= raise invalid for any NaN, == and != where the preset says so; IsNan and IsFinite
/// look at the code and raise nothing.
SOFTAMP_INLINE Rounded comparison(Elementwise op, const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s) {
  fp::Compared r{false, 0};
  switch (op) {
    case Elementwise::kEqual:
    case Elementwise::kNotEqual: r = fp::equal(f, a, b, s); break;
    case Elementwise::kLess: r = fp::less(f, a, b, s); break;
    case Elementwise::kLessEqual: r = fp::less_equal(f, a, b, s); break;
    case Elementwise::kGreater: r = fp::less(f, b, a, s); break;
    case Elementwise::kGreaterEqual: r = fp::less_equal(f, b, a, s); break;
    case Elementwise::kIsNan: r.value = f.is_nan(a); break;
    default: r.value = f.is_finite(a); break;
  }
  return {static_cast<uint64_t>(r.value != (op == Elementwise::kNotEqual)), r.flags};
}

/// Any operation of `Elementwise` on floating-point codes; `random` serves a stochastic rounding of the result.
SOFTAMP_MATH Rounded elementwise(Elementwise op, const FloatFormat& f, uint64_t a, uint64_t b, float alpha,
                                 const Semantics& s, uint32_t random) {
  if (is_arithmetic(op)) return arithmetic(op, f, a, b, s, random);
  if (is_selection(op)) return selection(op, f, a, b, s);
  if (is_comparison(op)) return comparison(op, f, a, b, s);
  return fp32_inside(op, f, a, b, alpha, s, random);
}

/// Whether the operation rounds, so that a stochastic policy needs random bits.
constexpr SOFTAMP_HD bool rounds(Elementwise op) { return is_arithmetic(op) || is_fp32_inside(op); }

/// int32 in two's complement; arithmetic wraps (so that -INT_MIN and |INT_MIN| are INT_MIN).
SOFTAMP_INLINE uint32_t elementwise_int32(Elementwise op, uint32_t a, uint32_t b) {
  const int32_t x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
  switch (op) {
    case Elementwise::kAdd: return a + b;
    case Elementwise::kSub: return a - b;
    case Elementwise::kMul: return a * b;
    case Elementwise::kSquare: return a * a;
    case Elementwise::kNeg: return 0u - a;
    case Elementwise::kAbs: return x < 0 ? 0u - a : a;
    case Elementwise::kMaximum: return x < y ? b : a;
    case Elementwise::kMinimum: return x < y ? a : b;
    case Elementwise::kRelu: return x < 0 ? 0u : a;
    case Elementwise::kRelu6: return x < 0 ? 0u : x > 6 ? 6u : a;
    case Elementwise::kReluGrad: return y > 0 ? a : 0u;
    case Elementwise::kEqual: return x == y;
    case Elementwise::kNotEqual: return x != y;
    case Elementwise::kLess: return x < y;
    case Elementwise::kLessEqual: return x <= y;
    case Elementwise::kGreater: return x > y;
    case Elementwise::kGreaterEqual: return x >= y;
    default: return 0;
  }
}

}  // namespace softamp::kernel
