// Every row of the table of switches (N60) that concerns scalar arithmetic: each alternative is
// observed on a case in which it differs from all others of its row.
#include <gtest/gtest.h>

#include <vector>

#include "softamp/numerics/operations.h"

namespace {

using namespace softamp;

constexpr int kInv = kInvalid, kDiv0 = kDivideByZero, kOflo = kOverflow;

FloatingPointBehaviour behaviour(bool nanoo, bool esr = false) {
  FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
  b.nanoo = nanoo;
  b.esr = esr;
  return b;
}

/// The preset with one switch set.
template <class Field>
Semantics with(Field IpuSwitches::*field, Field value, bool nanoo = false, bool esr = false) {
  IpuSwitches w;
  w.*field = value;
  return Semantics::ipu(behaviour(nanoo, esr), w);
}

void expect(const Rounded& r, uint64_t code, int flags) {
  EXPECT_EQ(r.code, code) << std::hex << "got " << r.code << ", expected " << code;
  EXPECT_EQ(int{r.flags}, flags);
}

uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }
Rounded to_half(double x, const Semantics& s, uint32_t random = 0) {
  return fp::convert(kBinary64, kFp16, bits_of(x), s, random);
}

// tests: N60, N389
TEST(Switches, DefaultsAreThePreset) {
  EXPECT_EQ(Semantics::ipu(behaviour(false), IpuSwitches{}), Semantics::ipu(behaviour(false)));
  EXPECT_EQ(IpuSwitches{}.sr_bits, 0);
}

/// 1 + 2^-10 d with d = 2^-14 + 2^-16, so d 2^13 = 0.625 and d 2^16 = 5: with r bits, up iff floor(d 2^r) + R >= 2^r.
TEST(Switches, SrBits) {
  const double x = 1 + 0x1p-10 * (0x1p-14 + 0x1p-16);
  const auto code = [x](int bits, RandomEngine engine, uint32_t random) {
    IpuSwitches w;
    w.sr_bits = bits;
    return to_half(x, Semantics::ipu(behaviour(false, true), w, engine), random).code;
  };
  EXPECT_EQ(code(16, RandomEngine::kPhilox, 0xFFFF), 0x3C01u);
  EXPECT_EQ(code(16, RandomEngine::kPhilox, 0xFFFB), 0x3C01u);
  EXPECT_EQ(code(16, RandomEngine::kPhilox, 0xFFFA), 0x3C00u);
  EXPECT_EQ(code(13, RandomEngine::kPhilox, 0xFFFF), 0x3C00u);  // floor(0.625) = 0: never up
  EXPECT_EQ(code(32, RandomEngine::kPhilox, 0xFFFFFFFF), 0x3C01u);
  EXPECT_EQ(code(32, RandomEngine::kPhilox, 0x0000FFFF), 0x3C00u);
  EXPECT_EQ(code(1, RandomEngine::kPhilox, 0xFFFFFFFF), 0x3C00u);
  // 0: 13 with either Philox, 16 with xoroshiro128aox
  EXPECT_EQ(code(0, RandomEngine::kPhilox, 0xFFFF), 0x3C00u);
  EXPECT_EQ(code(0, RandomEngine::kPhilox7, 0xFFFF), 0x3C00u);
  EXPECT_EQ(code(0, RandomEngine::kXoroshiro128aox, 0xFFFF), 0x3C01u);
  EXPECT_EQ(code(0, RandomEngine::kXoroshiro128aox, 0xFFFA), 0x3C00u);
}

/// Two bits, R = 3, 2, 1: d 4 = 0.5 (tie), 1.5 (tie) and 0.25 below each tell the four forms apart.
TEST(Switches, SrForm) {
  const auto up = [](StochasticVariant form, double d, uint32_t random) {
    IpuSwitches w;
    w.sr_form = form;
    w.sr_bits = 2;
    return to_half(1 + 0x1p-10 * d, Semantics::ipu(behaviour(false, true), w), random).code == 0x3C01;
  };
  using V = StochasticVariant;
  // d = 1/8: carry floor(.5) = 0; half floor(1) + 2R + 1 >= 8 at R = 3; rne .5 -> 0; odd .5 -> 1
  EXPECT_FALSE(up(V::kCarry, 0.125, 3));
  EXPECT_TRUE(up(V::kHalf, 0.125, 3));
  EXPECT_FALSE(up(V::kRne, 0.125, 3));
  EXPECT_TRUE(up(V::kOdd, 0.125, 3));
  // d = 3/8: carry 1; half 3 + 2R + 1 >= 8 from R = 2; rne 1.5 -> 2; odd 1.5 -> 1
  EXPECT_FALSE(up(V::kCarry, 0.375, 2));
  EXPECT_TRUE(up(V::kHalf, 0.375, 2));
  EXPECT_TRUE(up(V::kRne, 0.375, 2));
  EXPECT_FALSE(up(V::kOdd, 0.375, 2));
}

TEST(Switches, OverflowRule) {
  const auto result = [](OverflowRule rule, double x) {
    return to_half(x, with(&IpuSwitches::overflow_rule, rule)).flags == kOverflow;
  };
  //                                                      65505  65519  65520  65535  65536
  const double x[] = {65504, 65505, 65519, 65520, 65535, 65536};
  const std::vector<std::pair<OverflowRule, std::vector<bool>>> rows = {
      {OverflowRule::kAfterRounding, {false, false, false, true, true, true}},
      {OverflowRule::kExact, {false, true, true, true, true, true}},
      {OverflowRule::kHalfway, {false, false, false, true, true, true}},
      {OverflowRule::kPower, {false, false, false, false, false, true}}};
  for (const auto& [rule, overflows] : rows)
    for (size_t i = 0; i < std::size(x); ++i)
      EXPECT_EQ(result(rule, x[i]), overflows[i]) << static_cast<int>(rule) << " " << x[i];
  // Stochastic rounding tells "after rounding" from "halfway": 65512 with a carry, 65528 without one.
  const auto stochastic = [](OverflowRule rule, double value, uint32_t random) {
    return to_half(value, with(&IpuSwitches::overflow_rule, rule, false, true), random);
  };
  expect(stochastic(OverflowRule::kAfterRounding, 65512, 0x1FFF), 0x7BFF, kOflo);
  expect(stochastic(OverflowRule::kHalfway, 65512, 0x1FFF), 0x7BFF, 0);
  expect(stochastic(OverflowRule::kAfterRounding, 65528, 0), 0x7BFF, 0);
  expect(stochastic(OverflowRule::kHalfway, 65528, 0), 0x7BFF, kOflo);
  expect(stochastic(OverflowRule::kPower, 65528, 0x1FFF), 0x7BFF, 0);
  expect(stochastic(OverflowRule::kExact, 65505, 0), 0x7BFF, kOflo);
}

// tests: N24, N45
TEST(Switches, NanPattern) {
  const auto fresh = [](NanPattern p, const FloatFormat& f) {
    const Semantics s = with(&IpuSwitches::nan_pattern, p);
    return fp::sub(f, f.infinity_code(), f.infinity_code(), s).code;
  };
  EXPECT_EQ(fresh(NanPattern::kQuiet, kFp16), 0x7E00u);
  EXPECT_EQ(fresh(NanPattern::kQuiet, kFp32), 0x7FC00000u);
  EXPECT_EQ(fresh(NanPattern::kNegativeQuiet, kFp16), 0xFE00u);
  EXPECT_EQ(fresh(NanPattern::kNegativeQuiet, kFp32), 0xFFC00000u);
  EXPECT_EQ(fresh(NanPattern::kAllOnes, kFp16), 0x7FFFu);
  EXPECT_EQ(fresh(NanPattern::kAllOnes, kFp32), 0x7FFFFFFFu);
  EXPECT_EQ(fresh(NanPattern::kPropagate, kFp16), 0x7E00u);
  const auto read = [](NanPattern p) {
    return fp::add(kFp16, 0x3C00, 0xFC12, with(&IpuSwitches::nan_pattern, p)).code;
  };
  EXPECT_EQ(read(NanPattern::kQuiet), 0x7E00u);
  EXPECT_EQ(read(NanPattern::kNegativeQuiet), 0xFE00u);
  EXPECT_EQ(read(NanPattern::kAllOnes), 0x7FFFu);
  EXPECT_EQ(read(NanPattern::kPropagate), 0xFE12u);  // made quiet, sign and payload kept
  // of two NaNs the first; the payload keeps its top bits across formats
  const Semantics propagate = with(&IpuSwitches::nan_pattern, NanPattern::kPropagate);
  EXPECT_EQ(fp::mul(kFp16, 0x7E55, 0x7E66, propagate).code, 0x7E55u);
  EXPECT_EQ(fp::fma(kFp16, 0x3C00, 0x7E66, 0x7E77, propagate).code, 0x7E66u);
  EXPECT_EQ(fp::fma(kFp16, 0x3C00, 0x3C00, 0x7E77, propagate).code, 0x7E77u);
  EXPECT_EQ(fp::convert(kFp16, kFp32, 0xFE12, propagate).code, 0xFFC24000u);
  EXPECT_EQ(fp::convert(kFp32, kFp16, 0xFFC24001, propagate).code, 0xFE12u);
}

TEST(Switches, HalfInfOperand) {
  const auto sum = [](InfinityOperand o, uint64_t b) {
    return fp::add(kFp16, 0x7C00, b, with(&IpuSwitches::half_inf_operand, o, false));
  };
  expect(sum(InfinityOperand::kIeee, 0xF800), 0x7E00, 0);        // Inf - 32768 = Inf, which is NaN as a result
  expect(sum(InfinityOperand::kMaxFinite, 0xF800), 0x77FE, 0);   // 65504 - 32768 = 32736
  expect(sum(InfinityOperand::kNan, 0xF800), 0x7E00, kInv);      // a NaN operand
  expect(sum(InfinityOperand::kNextBinade, 0xF800), 0x7800, 0);  // 65536 - 32768
  // comparisons included
  const auto less = [](InfinityOperand o, uint64_t a, uint64_t b) {
    return fp::less(kFp16, a, b, with(&IpuSwitches::half_inf_operand, o));
  };
  EXPECT_TRUE(less(InfinityOperand::kIeee, 0x7BFF, 0x7C00).value);
  EXPECT_FALSE(less(InfinityOperand::kMaxFinite, 0x7BFF, 0x7C00).value);
  EXPECT_TRUE(
      fp::equal(kFp16, 0xFBFF, 0xFC00, with(&IpuSwitches::half_inf_operand, InfinityOperand::kMaxFinite)).value);
  EXPECT_FALSE(less(InfinityOperand::kNan, 0x7BFF, 0x7C00).value);
  EXPECT_EQ(int{less(InfinityOperand::kNan, 0x7BFF, 0x7C00).flags}, kInv);
  EXPECT_TRUE(less(InfinityOperand::kNextBinade, 0x7BFF, 0x7C00).value);
  EXPECT_EQ(int{less(InfinityOperand::kNextBinade, 0x7BFF, 0x7C00).flags}, 0);
  // widening
  const auto wide = [](InfinityOperand o) {
    return fp::convert(kFp16, kFp32, 0xFC00, with(&IpuSwitches::half_inf_operand, o)).code;
  };
  EXPECT_EQ(wide(InfinityOperand::kIeee), 0xFF800000u);
  EXPECT_EQ(wide(InfinityOperand::kMaxFinite), 0xC77FE000u);
  EXPECT_EQ(wide(InfinityOperand::kNan), 0x7FC00000u);
  EXPECT_EQ(wide(InfinityOperand::kNextBinade), 0xC7800000u);
  // fp32 infinities are not concerned
  EXPECT_EQ(fp::add(kFp32, 0x7F800000, 0x3F800000, with(&IpuSwitches::half_inf_operand, InfinityOperand::kNan)).code,
            0x7F800000u);
}

// tests: N22
TEST(Switches, InfToHalfFlags) {
  const auto narrowed = [](InfToHalfFlags f, bool nanoo) {
    return fp::convert(kFp32, kFp16, 0x7F800000, with(&IpuSwitches::inf_to_half_flags, f, nanoo));
  };
  expect(narrowed(InfToHalfFlags::kInvIfNanoo, false), 0x7E00, 0);
  expect(narrowed(InfToHalfFlags::kInvIfNanoo, true), 0x7E00, kInv);
  expect(narrowed(InfToHalfFlags::kNone, false), 0x7E00, 0);
  expect(narrowed(InfToHalfFlags::kNone, true), 0x7E00, 0);
  expect(narrowed(InfToHalfFlags::kInv, false), 0x7E00, kInv);
  expect(narrowed(InfToHalfFlags::kInv, true), 0x7E00, kInv);
  expect(narrowed(InfToHalfFlags::kOflo, false), 0x7E00, kOflo);
  expect(narrowed(InfToHalfFlags::kOflo, true), 0x7E00, kOflo);
  expect(narrowed(InfToHalfFlags::kOfloAndInv, false), 0x7E00, kOflo | kInv);
  expect(narrowed(InfToHalfFlags::kOfloAndInv, true), 0x7E00, kOflo | kInv);
  // the same for an infinite exact fp16 result, and beside div0
  expect(fp::add(kFp16, 0xFC00, 0x3C00, with(&IpuSwitches::inf_to_half_flags, InfToHalfFlags::kOflo)), 0x7E00, kOflo);
  expect(fp::div(kFp16, 0x3C00, 0, with(&IpuSwitches::inf_to_half_flags, InfToHalfFlags::kOflo)), 0x7E00,
         kDiv0 | kOflo);
}

TEST(Switches, F32OverflowResult) {
  const auto product = [](F32OverflowResult r, bool nanoo) {
    return fp::mul(kFp32, 0x7149F2CA, 0xF149F2CA, with(&IpuSwitches::f32_overflow_result, r, nanoo));  // 1e30 * -1e30
  };
  for (const bool nanoo : {false, true}) {
    expect(product(F32OverflowResult::kInfinity, nanoo), 0xFF800000, kOflo);
    expect(product(F32OverflowResult::kSaturate, nanoo), 0xFF7FFFFF, kOflo);
  }
  expect(product(F32OverflowResult::kNanIfNanoo, false), 0xFF800000, kOflo);
  expect(product(F32OverflowResult::kNanIfNanoo, true), 0x7FC00000, kOflo | kInv);
}

// tests: N49
TEST(Switches, OfloWithNanoo) {
  const auto product = [](OfloWithNanoo o, bool nanoo) {
    return fp::mul(kFp16, 0x70E2, 0x70E2, with(&IpuSwitches::oflo_with_nanoo, o, nanoo));  // 10000 * 10000
  };
  expect(product(OfloWithNanoo::kOfloAndInv, true), 0x7E00, kOflo | kInv);
  expect(product(OfloWithNanoo::kInvOnly, true), 0x7E00, kInv);
  expect(product(OfloWithNanoo::kInvOnly, false), 0x7BFF, kOflo);
}

// tests: N35, N52
TEST(Switches, PoleFlag) {
  const std::pair<PoleFlag, int> rows[] = {
      {PoleFlag::kDivideByZero, kDiv0}, {PoleFlag::kNone, 0}, {PoleFlag::kInvalid, kInv}};
  for (const auto& [pole, flags] : rows) {
    const Semantics s = with(&IpuSwitches::pole_flag, pole);
    expect(fp::reciprocal(kFp32, 0x80000000, s), 0xFF800000, flags);
    expect(fp::reciprocal_sqrt(kFp32, 0, s), 0x7F800000, flags);
    expect(fp::reciprocal(kFp16, 0, s), 0x7E00, flags);
    expect(fp::reciprocal_sqrt(kFp16, 0, s), 0x7E00, flags);
    expect(fp::div(kFp32, 0x3F800000, 0, s), 0x7F800000, kDiv0);  // a division stays a division
  }
}

TEST(Switches, F32DazAndFtzAndFlushSign) {
  const auto preset = [](bool daz, bool ftz, FlushSign sign) {
    IpuSwitches w;
    w.f32_daz = daz;
    w.f32_ftz = ftz;
    w.f32_flush_sign = sign;
    return Semantics::ipu(behaviour(false), w);
  };
  constexpr uint64_t kSubnormal = 0x80400000, kTwo = 0x40000000, kHalf = 0x3F000000, kLeast = 0x80800000;
  for (const FlushSign sign : {FlushSign::kSame, FlushSign::kPositive}) {
    const uint64_t zero = sign == FlushSign::kSame ? 0x80000000 : 0;
    // -2^-127 * 2 = -2^-126, normal: only the operand can be flushed
    expect(fp::mul(kFp32, kSubnormal, kTwo, preset(true, true, sign)), zero, 0);
    expect(fp::mul(kFp32, kSubnormal, kTwo, preset(true, false, sign)), zero, 0);
    expect(fp::mul(kFp32, kSubnormal, kTwo, preset(false, true, sign)), kLeast, 0);
    expect(fp::mul(kFp32, kSubnormal, kTwo, preset(false, false, sign)), kLeast, 0);
    // -2^-126 / 2: only the result can be flushed
    expect(fp::mul(kFp32, kLeast, kHalf, preset(true, true, sign)), zero, 0);
    expect(fp::mul(kFp32, kLeast, kHalf, preset(false, true, sign)), zero, 0);
    expect(fp::mul(kFp32, kLeast, kHalf, preset(true, false, sign)), kSubnormal, 0);
    expect(fp::mul(kFp32, kLeast, kHalf, preset(false, false, sign)), kSubnormal, 0);
  }
  // the sign of the zero that stands for a flushed divisor is the sign of the infinity
  expect(fp::div(kFp32, 0x3F800000, kSubnormal, preset(true, true, FlushSign::kSame)), 0xFF800000, kDiv0);
  expect(fp::div(kFp32, 0x3F800000, kSubnormal, preset(true, true, FlushSign::kPositive)), 0x7F800000, kDiv0);
  expect(fp::div(kFp32, 0x00800000, 0x80400000, preset(false, true, FlushSign::kSame)), 0xC0000000, 0);
  // comparisons flush too; fp16 subnormals never are
  EXPECT_TRUE(fp::equal(kFp32, kSubnormal, 0, preset(true, true, FlushSign::kSame)).value);
  EXPECT_FALSE(fp::equal(kFp32, kSubnormal, 0, preset(false, true, FlushSign::kSame)).value);
  expect(fp::add(kFp16, 0x0001, 0x0001, preset(true, true, FlushSign::kSame)), 0x0002, 0);
  // judged after gradual rounding: 2^-126 (1 - 2^-25) rounds to 2^-126 and stays
  expect(fp::mul(kFp32, 0x00FFFFFF, kHalf, preset(true, true, FlushSign::kSame)), 0x00800000, 0);
}

// tests: N36, N44, N55, N415
TEST(Switches, F2iRange) {
  const auto integer = [](IntegerRange r, double x) {
    return fp::to_int32(kFp32, fp::from_double(kFp32, x), with(&IpuSwitches::f2i_range, r));
  };
  struct Row {
    double x;
    uint64_t indefinite, clamp, wrap;
  };
  const Row rows[] = {{0x1p31, 0x80000000, 0x7FFFFFFF, 0x80000000},
                      {0x1.8p32, 0x80000000, 0x7FFFFFFF, 0x80000000},
                      {0x1.000002p33, 0x80000000, 0x7FFFFFFF, 0x00000400},
                      {-0x1.000002p33, 0x80000000, 0x80000000, 0xFFFFFC00},
                      {0x1p100, 0x80000000, 0x7FFFFFFF, 0},
                      {__builtin_inf(), 0x80000000, 0x7FFFFFFF, 0x80000000},
                      {-__builtin_inf(), 0x80000000, 0x80000000, 0x80000000},
                      {__builtin_nan(""), 0x80000000, 0x80000000, 0x80000000}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.x);
    expect(integer(IntegerRange::kIndefinite, row.x), row.indefinite, kInv);
    expect(integer(IntegerRange::kClamp, row.x), row.clamp, kInv);
    expect(integer(IntegerRange::kWrap, row.x), row.wrap, kInv);
  }
  for (const IntegerRange r : {IntegerRange::kIndefinite, IntegerRange::kClamp, IntegerRange::kWrap}) {
    expect(integer(r, -0x1p31), 0x80000000, 0);
    expect(integer(r, -2.5), 0xFFFFFFFE, 0);
  }
}

TEST(Switches, ClassCodes) {
  const Semantics usual = with(&IpuSwitches::class_codes, ClassCodes::kPositiveIs3);
  const Semantics swapped = with(&IpuSwitches::class_codes, ClassCodes::kNegativeIs3);
  EXPECT_EQ(fp::classify(kFp32, 0x7F800000, usual), 3);
  EXPECT_EQ(fp::classify(kFp32, 0xFF800000, usual), 4);
  EXPECT_EQ(fp::classify(kFp32, 0x7F800000, swapped), 4);
  EXPECT_EQ(fp::classify(kFp32, 0xFF800000, swapped), 3);
  for (const Semantics& s : {usual, swapped}) {
    EXPECT_EQ(fp::classify(kFp16, 0x7C01, s), 1);
    EXPECT_EQ(fp::classify(kFp16, 0xFE00, s), 2);
    EXPECT_GE(fp::classify(kFp16, 0x8000, s), 5);
    EXPECT_GE(fp::classify(kFp16, 0x0001, s), 5);
  }
}

/// 8.25 in f143 lies a quarter of the way from 8 to 9.
TEST(Switches, Fp8Sr) {
  const auto code = [](bool fp8_sr, bool esr, uint32_t random) {
    return fp::convert(kFp32, kF143, 0x41040000, with(&IpuSwitches::fp8_sr, fp8_sr, false, esr), random).code;
  };
  EXPECT_EQ(code(true, true, 0x1FFF), 0x59u);
  EXPECT_EQ(code(true, true, 0x1800), 0x59u);
  EXPECT_EQ(code(true, true, 0x17FF), 0x58u);
  EXPECT_EQ(code(false, true, 0x1FFF), 0x58u);
  EXPECT_EQ(code(true, false, 0x1FFF), 0x58u);
  // fp16 is not concerned
  EXPECT_EQ(to_half(1 + 0x1p-12, with(&IpuSwitches::fp8_sr, false, false, true), 0x1FFF).code, 0x3C01u);
}

}  // namespace
