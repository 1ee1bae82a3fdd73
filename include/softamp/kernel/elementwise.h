// Bodies of the element-wise operations: one output element from its operands' codes.
//
//   arithmetic    + - x / square root reciprocal 1/root square: numerics/arithmetic.h, rounded once
//   selections neg abs max min relu: the result is one of the operands; nothing is rounded
//   fp32 inside   LeakyRelu, gradients, AddN: nearest even in fp32 in the order written here, then rounded once;
//                 binary64 in binary64 (N199)
//   comparisons   truth values
//   binary64      native arithmetic to nearest, one rounding for each step of a formula; never inexact or underflow
//   int32         wraps
//
// The elementary functions are in kernel/functions.h, conversions in kernel/casts.h.
#pragma once

#include <type_traits>

#include "softamp/kernel/environment.h"
#include "softamp/numerics/math_lane.h"
#include "softamp/numerics/operations.h"

namespace softamp::kernel {

/// The operations, each with its number of operands: enumerators, and whatever else is made for each of them, come from
/// here. Their order tells the four kinds apart.
#define SOFTAMP_ELEMENTWISE(ROW)                                                                                  \
  ROW(kAdd, 2)                                                                                                    \
  ROW(kSub, 2)                                                                                                    \
  ROW(kMul, 2)                                                                                                    \
  ROW(kDiv, 2)                                                                                                    \
  ROW(kSquare, 1)                                                                                                 \
  ROW(kSqrt, 1)                                                                                                   \
  ROW(kRsqrt, 1)                                                                                                  \
  ROW(kReciprocal, 1)                                                                                             \
  /* Selections. */                                                                                               \
  ROW(kNeg, 1)      /* the sign turned; a NaN becomes the policy's. Raises nothing, flushes nothing. */           \
  ROW(kAbs, 1)      /* the sign removed; otherwise as kNeg */                                                     \
  ROW(kMaximum, 2)  /* N43 */                                                                                     \
  ROW(kMinimum, 2)  /* N43 */                                                                                     \
  ROW(kRelu, 1)     /* max(x, +0) */                                                                              \
  ROW(kRelu6, 1)    /* min(max(x, +0), 6) */                                                                      \
  ROW(kReluGrad, 2) /* (gradients, features): features > 0 ? gradients : +0. The gradient is copied unchanged. */ \
  /* fp32 inside: see fp32_formula. */                                                                            \
  ROW(kLeakyRelu, 1)                                                                                              \
  ROW(kLeakyReluGrad, 2)                                                                                          \
  ROW(kTanhGrad, 2)                                                                                               \
  ROW(kSigmoidGrad, 2)                                                                                            \
  ROW(kSqrtGrad, 2)                                                                                               \
  ROW(kRsqrtGrad, 2)                                                                                              \
  ROW(kReciprocalGrad, 2)                                                                                         \
  ROW(kSquaredDifference, 2)                                                                                      \
  /* Comparisons. */                                                                                              \
  ROW(kEqual, 2)                                                                                                  \
  ROW(kNotEqual, 2)                                                                                               \
  ROW(kLess, 2)                                                                                                   \
  ROW(kLessEqual, 2)                                                                                              \
  ROW(kGreater, 2)                                                                                                \
  ROW(kGreaterEqual, 2)                                                                                           \
  ROW(kIsNan, 1)                                                                                                  \
  ROW(kIsFinite, 1)

enum class Elementwise : uint8_t {
#define SOFTAMP_ROW(name, operands) name,
  SOFTAMP_ELEMENTWISE(SOFTAMP_ROW)
#undef SOFTAMP_ROW
};

constexpr SOFTAMP_HD int operand_count(Elementwise op) {
  switch (op) {
#define SOFTAMP_ROW(name, operands) \
  case Elementwise::name: return operands;
    SOFTAMP_ELEMENTWISE(SOFTAMP_ROW)
#undef SOFTAMP_ROW
  }
  return 0;
}

/// f(constant), where constant.value is `op`, for code that is made for each operation.
template <class Function>
SOFTAMP_INLINE auto with_constant(Elementwise op, const Function& f) {
  switch (op) {
#define SOFTAMP_ROW(name, operands) \
  case Elementwise::name: return f(std::integral_constant<Elementwise, Elementwise::name>{});
    SOFTAMP_ELEMENTWISE(SOFTAMP_ROW)
#undef SOFTAMP_ROW
  }
  return f(std::integral_constant<Elementwise, Elementwise::kAdd>{});
}

constexpr SOFTAMP_HD bool is_arithmetic(Elementwise op) { return op <= Elementwise::kReciprocal; }
// implements: N192
constexpr SOFTAMP_HD bool is_selection(Elementwise op) {
  return op >= Elementwise::kNeg && op <= Elementwise::kReluGrad;
}
constexpr SOFTAMP_HD bool is_fp32_inside(Elementwise op) {
  return op >= Elementwise::kLeakyRelu && op <= Elementwise::kSquaredDifference;
}
constexpr SOFTAMP_HD bool is_comparison(Elementwise op) { return op >= Elementwise::kEqual; }
/// The operations with fp32 inside, of operands x and y: the same formulas for the scalar lane and for vectors, and for
/// binary64 numbers. F has + - x / and select(0 < x, a, b).
// implements: N193
template <Elementwise kOp, class F, class Alpha>
SOFTAMP_MATH F fp32_formula(F x, F y, Alpha alpha) {
  using enum Elementwise;
  if constexpr (kOp == kLeakyRelu) return select(0.0f < x, x, x * alpha);
  // (gradients, features); a NaN among the features is the result.
  if constexpr (kOp == kLeakyReluGrad) return select(y == y, select(0.0f < y, x, x * alpha), y);
  // (y, dy)
  if constexpr (kOp == kTanhGrad) return y * (1.0f - x * x);
  if constexpr (kOp == kSigmoidGrad) return (y * x) * (1.0f - x);
  if constexpr (kOp == kSqrtGrad) return (0.5f * y) / x;
  if constexpr (kOp == kRsqrtGrad) return (-0.5f * y) * ((x * x) * x);
  if constexpr (kOp == kReciprocalGrad) return -y * (x * x);
  if constexpr (kOp == kSquaredDifference) {
    const F d = x - y;
    return d * d;
  }
}

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
// implements: N194
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
// implements: N194
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
  const Float value = with_constant(op, [&](auto constant) {
    if constexpr (is_fp32_inside(constant.value))
      return fp32_formula<constant.value>(x, y, alpha);
    else
      return Float(0.0f);
  });
  const bool pole = op == Elementwise::kSqrtGrad && x.value == 0.0f;
  return finish32(f, value.value, operands, pole, s, random);
}

/// The sum x + y + ... in fp32, ascending from the first: add every operand, then finish.
// implements: N195
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
// implements: N198
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
// implements: N198
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

/// The operations with fp32 inside, of binary64 numbers: in binary64.
// implements: N199
SOFTAMP_MATH Rounded binary64_inside(Elementwise op, uint64_t a, uint64_t b, double alpha, const Semantics& s) {
  using math::Double;
  const FloatFormat f = FloatFormat::binary64();
  Operands operands;
  operands.add(f, a, s);
  if (operand_count(op) == 2) operands.add(f, b, s);
  const Double x = __builtin_bit_cast(double, a), y = __builtin_bit_cast(double, b);
  const Double value = with_constant(op, [&](auto constant) {
    if constexpr (is_fp32_inside(constant.value))
      return fp32_formula<constant.value>(x, y, alpha);
    else
      return Double(0.0);
  });
  return finish64(value.value, operands, op == Elementwise::kSqrtGrad && x.value == 0.0, s);
}

/// Operations that round the exact value once (binary64: see above).
// implements: N190
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

// implements: N191, N192
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
// implements: N196
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

/// Any operation of `Elementwise` on floating-point codes; `random` serves a stochastic rounding of the result. alpha
/// as the attribute of that name, rounded to fp32 but for binary64.
// implements: N190
SOFTAMP_MATH Rounded elementwise(Elementwise op, const FloatFormat& f, uint64_t a, uint64_t b, double alpha,
                                 const Semantics& s, uint32_t random) {
  if (is_arithmetic(op)) return arithmetic(op, f, a, b, s, random);
  if (is_selection(op)) return selection(op, f, a, b, s);
  if (is_comparison(op)) return comparison(op, f, a, b, s);
  if (f.exponent_bits == 11) return binary64_inside(op, a, b, alpha, s);
  return fp32_inside(op, f, a, b, static_cast<float>(alpha), s, random);
}

/// Whether the operation rounds, so that a stochastic policy needs random bits.
constexpr SOFTAMP_HD bool rounds(Elementwise op) { return is_arithmetic(op) || is_fp32_inside(op); }

/// int32 in two's complement; arithmetic wraps (so that -INT_MIN and |INT_MIN| are INT_MIN).
// implements: N198
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
