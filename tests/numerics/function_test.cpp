// What the bodies of functions do beside the function: NaNs, infinities, poles, flags, flushing, overflow, rounding.
#include "softamp/kernel/functions.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace softamp;
using kernel::evaluate;
using kernel::evaluate_pow;
using kernel::Function;

constexpr uint8_t kOverflowed = kOverflow | kInexact;

Semantics ipu(bool nanoo) {
  FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
  b.nanoo = nanoo;
  return Semantics::ipu(b);
}
uint32_t f32(float x) { return __builtin_bit_cast(uint32_t, x); }
uint64_t half(double x) { return fp::from_double(kFp16, x); }

#define EXPECT_ROUNDED(expression, expected_code, expected_flags)                    \
  do {                                                                               \
    const Rounded r_ = (expression);                                                 \
    EXPECT_EQ(r_.code, static_cast<uint64_t>(expected_code)) << std::hex << r_.code; \
    EXPECT_EQ(r_.flags, expected_flags) << std::hex << int(r_.flags);                \
  } while (false)

// tests: N181
TEST(Function, IsTheFp32FunctionRoundedOnce) {
  // N181, for every half, to nearest and stochastically, and into fp32 without any rounding.
  for (const Semantics& s : {Semantics::ieee(), Semantics::ieee(RoundingPolicy::stochastic_carry(13))})
    for (int i = 0; i < kernel::kFunctionCount; ++i)
      for (uint32_t code = 1; code < 0x7C00; code += 5) {  // positive finite halves; not 0, a pole of the logarithm
        const Function f = static_cast<Function>(i);
        const float y = kernel::function_of(f, fp::to_float(kFp16, code));
        const uint32_t random = code * 2654435761u >> 7;
        if (std::isinf(y)) continue;
        const Rounded once = fp::convert(kFp32, kFp16, f32(y), s, random);
        EXPECT_ROUNDED(evaluate(f, kFp16, kFp16, code, s, random), once.code, once.flags);
        EXPECT_ROUNDED(evaluate(f, kFp16, kFp32, code, s, random), f32(y), 0);
      }
}

TEST(Function, NanOperands) {
  const Semantics ieee = Semantics::ieee();
  for (int i = 0; i < kernel::kFunctionCount; ++i) {
    const Function f = static_cast<Function>(i);
    EXPECT_ROUNDED(evaluate(f, kFp32, kFp32, 0x7FC00001, ieee), 0x7FC00000, 0);
    EXPECT_ROUNDED(evaluate(f, kFp32, kFp32, 0x7F800001, ieee), 0x7FC00000, kInvalid);
    EXPECT_ROUNDED(evaluate(f, kFp16, kFp16, 0xFE01, ieee), 0x7E00, 0);
    EXPECT_ROUNDED(evaluate(f, kFp16, kFp16, 0x7E00, ipu(false)), 0x7E00, kInvalid);
  }
}

TEST(Function, PolesAndInvalidOperands) {
  const Semantics ieee = Semantics::ieee();
  EXPECT_ROUNDED(evaluate(Function::kLog, kFp32, kFp32, 0, ieee), 0xFF800000, kDivideByZero);
  EXPECT_ROUNDED(evaluate(Function::kLog, kFp32, kFp32, 0x80000000, ieee), 0xFF800000, kDivideByZero);
  EXPECT_ROUNDED(evaluate(Function::kLog, kFp16, kFp16, 0, ieee), 0xFC00, kDivideByZero);
  EXPECT_ROUNDED(evaluate(Function::kLog, kFp16, kFp16, 0, ipu(false)), 0x7E00, kDivideByZero);
  EXPECT_ROUNDED(evaluate(Function::kLog, kFp16, kFp16, 0, ipu(true)), 0x7E00, kDivideByZero | kInvalid);
  EXPECT_ROUNDED(evaluate(Function::kLog1p, kFp16, kFp16, half(-1), ieee), 0xFC00, kDivideByZero);
  EXPECT_ROUNDED(evaluate(Function::kLog, kFp16, kFp16, half(-1), ieee), 0x7E00, kInvalid);
  EXPECT_ROUNDED(evaluate(Function::kLog, kFp32, kFp32, 0xFF800000, ieee), 0x7FC00000, kInvalid);
  EXPECT_ROUNDED(evaluate(Function::kLog1p, kFp16, kFp16, half(-1.5), ieee), 0x7E00, kInvalid);
  EXPECT_ROUNDED(evaluate(Function::kSin, kFp32, kFp32, 0x7F800000, ieee), 0x7FC00000, kInvalid);
  EXPECT_ROUNDED(evaluate(Function::kCos, kFp16, kFp16, 0xFC00, ieee), 0x7E00, kInvalid);
  Semantics silent = Semantics::ieee();
  silent.pole = PoleFlag::kNone;
  EXPECT_ROUNDED(evaluate(Function::kLog, kFp32, kFp32, 0, silent), 0xFF800000, 0);
}

// tests: N182
TEST(Function, InfinitiesAndOverflow) {
  const Semantics ieee = Semantics::ieee();
  EXPECT_ROUNDED(evaluate(Function::kExp, kFp32, kFp32, 0x7F800000, ieee), 0x7F800000, 0);
  EXPECT_ROUNDED(evaluate(Function::kExp, kFp32, kFp32, 0xFF800000, ieee), 0, 0);
  EXPECT_ROUNDED(evaluate(Function::kExp, kFp16, kFp16, 0x7C00, ipu(false)), 0x7E00, 0);
  EXPECT_ROUNDED(evaluate(Function::kExp, kFp16, kFp16, 0x7C00, ipu(true)), 0x7E00, kInvalid);
  // e^12 overflows fp16 alone, e^1000 fp32, too: both are overflows of the result's format.
  for (const double x : {12.0, 1000.0}) {
    EXPECT_ROUNDED(evaluate(Function::kExp, kFp16, kFp16, half(x), ieee), 0x7C00, kOverflowed);
    EXPECT_ROUNDED(evaluate(Function::kExp, kFp16, kFp16, half(x), ipu(false)), 0x7BFF, kOverflow);
    EXPECT_ROUNDED(evaluate(Function::kExp, kFp16, kFp16, half(x), ipu(true)), 0x7E00, kOverflow | kInvalid);
    EXPECT_ROUNDED(evaluate(Function::kExpm1, kFp16, kFp16, half(x), ipu(false)), 0x7BFF, kOverflow);
  }
  EXPECT_ROUNDED(evaluate(Function::kExp, kFp32, kFp32, f32(1000), ieee), 0x7F800000, kOverflowed);
  EXPECT_ROUNDED(evaluate(Function::kExp, kFp32, kFp32, f32(1000), ipu(false)), 0x7F800000, kOverflow);
}

TEST(Function, Flushing) {
  const Semantics ieee = Semantics::ieee(), flushing = ipu(false);
  EXPECT_ROUNDED(evaluate(Function::kLog, kFp32, kFp32, 1, flushing), 0xFF800000, kDivideByZero);
  EXPECT_ROUNDED(evaluate(Function::kLog, kFp32, kFp32, 1, ieee), f32(-0x1.9d1dap+6f), 0);
  EXPECT_ROUNDED(evaluate(Function::kTanh, kFp32, kFp32, 0x80000001, flushing), 0x80000000, 0);
  EXPECT_ROUNDED(evaluate(Function::kTanh, kFp32, kFp32, 0x80000001, ieee), 0x80000001, 0);
  EXPECT_ROUNDED(evaluate(Function::kExp, kFp32, kFp32, f32(-90), flushing), 0, 0);
  EXPECT_NE(evaluate(Function::kExp, kFp32, kFp32, f32(-90), ieee).code, 0u);
  // bf16 reaches down to fp32's subnormals; they are flushed on the way. fp16's own are not.
  EXPECT_ROUNDED(evaluate(Function::kExp, kBf16, kBf16, 0xC2B4, flushing), 0, 0);  // e^-90
  EXPECT_NE(evaluate(Function::kExp, kBf16, kBf16, 0xC2B4, ieee).code, 0u);
  EXPECT_ROUNDED(evaluate(Function::kTanh, kFp16, kFp16, 1, flushing), 1, 0);
}

// tests: N184
TEST(Function, Powers) {
  const Semantics ieee = Semantics::ieee();
  const auto pow16 = [&](double x, double y, const Semantics& s) {
    return evaluate_pow(kFp16, kFp16, half(x), half(y), s);
  };
  EXPECT_ROUNDED(pow16(3, 2, ieee), half(9), 0);
  EXPECT_ROUNDED(pow16(-2, 3, ieee), half(-8), 0);
  EXPECT_ROUNDED(pow16(2, 0.5, ieee), half(1.4142135623730951), kInexact);
  EXPECT_ROUNDED(pow16(-2, 0.5, ieee), 0x7E00, kInvalid);
  EXPECT_ROUNDED(pow16(0, -1, ieee), 0x7C00, kDivideByZero);
  EXPECT_ROUNDED(pow16(-0.0, -1, ieee), 0xFC00, kDivideByZero);
  EXPECT_ROUNDED(pow16(-0.0, -2, ieee), 0x7C00, kDivideByZero);
  EXPECT_ROUNDED(pow16(0, -1, ipu(true)), 0x7E00, kDivideByZero | kInvalid);
  EXPECT_ROUNDED(pow16(0, -__builtin_inf(), ieee), 0x7C00, 0);
  EXPECT_ROUNDED(pow16(300, 2, ieee), 0x7C00, kOverflowed);
  EXPECT_ROUNDED(pow16(-300, 3, ipu(false)), 0xFBFF, kOverflow);
  EXPECT_ROUNDED(pow16(300, 200, ipu(false)), 0x7BFF, kOverflow);
  EXPECT_ROUNDED(pow16(__builtin_inf(), 2, ieee), 0x7C00, 0);
  const uint64_t one = half(1), quiet = 0x7E00, signaling = 0x7C01;
  EXPECT_ROUNDED(evaluate_pow(kFp16, kFp16, quiet, 0, ieee), one, 0);
  EXPECT_ROUNDED(evaluate_pow(kFp16, kFp16, one, quiet, ieee), one, 0);
  EXPECT_ROUNDED(evaluate_pow(kFp16, kFp16, quiet, 0, ipu(false)), one, kInvalid);
  EXPECT_ROUNDED(evaluate_pow(kFp16, kFp16, signaling, 0, ieee), quiet, kInvalid);
  EXPECT_ROUNDED(evaluate_pow(kFp16, kFp16, quiet, one, ieee), quiet, 0);
  EXPECT_ROUNDED(evaluate_pow(kFp16, kFp16, half(2), quiet, ieee), quiet, 0);
  EXPECT_ROUNDED(evaluate_pow(kFp32, kFp32, f32(0x1p-100f), f32(2), ipu(false)), 0, 0);
  EXPECT_ROUNDED(evaluate_pow(kFp32, kFp32, 1, f32(-1), ipu(false)), 0x7F800000, kDivideByZero);  // the base is flushed
}

}  // namespace

#undef EXPECT_ROUNDED  // as some files may be compiled as one
