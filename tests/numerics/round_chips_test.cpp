// Roundings of other chips, each against its definition in exact binary64 arithmetic that shares nothing with
// round_and_pack: variant kAtLeast, R that stays with the source, zeros without signs, NaNs that become infinities.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "softamp/numerics/chips.h"
#include "softamp/numerics/compare.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/operations.h"

namespace {

using namespace softamp;

uint64_t double_bits(double x) { return __builtin_bit_cast(uint64_t, x); }
Rounded converted(const FloatFormat& f, double x, const RoundingPolicy& p, uint32_t random) {
  return fp::convert(kBinary64, f, double_bits(x), Semantics::ieee(p), random);
}

RoundingPolicy at_least(int r) {
  RoundingPolicy p = RoundingPolicy::stochastic_carry(r);
  p.variant = StochasticVariant::kAtLeast;
  return p;
}
RoundingPolicy with_source(int r, StochasticVariant variant = StochasticVariant::kCarry) {
  RoundingPolicy p = RoundingPolicy::stochastic_carry(r);
  p.alignment = RandomAlignment::kAsIfNormal;
  p.variant = variant;
  return p;
}

/// 2^e <= x < 2^(e+1), the quantum of x if no number were subnormal, and the format's own.
struct Quanta {
  double normal, own;
};
Quanta quanta(const FloatFormat& f, double x) {
  const int e = std::ilogb(x);
  return {std::ldexp(1.0, e - f.mantissa_bits()), std::ldexp(1.0, std::max(e, f.min_exponent()) - f.mantissa_bits())};
}
double value_of(const FloatFormat& f, uint64_t magnitude) { return fp::to_double(f, magnitude); }

/// Numbers of every kind of gap: the first and last subnormals, the first normals, around 1, below the greatest.
/// body(x): `steps` to a gap, exact numbers among them.
template <class Body>
void for_gaps(const FloatFormat& f, int steps, const Body& body) {
  const uint64_t one = static_cast<uint64_t>(f.bias) << f.mantissa_bits();
  for (const uint64_t code : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{5}, f.min_normal_code() / 2,
                              f.min_normal_code() - 1, f.min_normal_code(), one - 1, one, f.max_finite_code() - 1}) {
    const double low = value_of(f, code), high = value_of(f, code + 1);
    for (int i = 0; i < steps; ++i) body(low + (high - low) * i / steps);
  }
  for (int e = f.min_quantum() - 3; e < f.min_exponent() + 2; ++e)  // every binade of the subnormals, and below
    for (int i = 0; i < steps; ++i) body(std::ldexp(1 + static_cast<double>(i) / steps, e));
}

/// Up iff floor(d 2^r) >= R; a zero stays; what moved is inexact, exact numbers (R = 0) included.
// tests: N11, N18
TEST(RoundChips, AtLeast) {
  for (const FloatFormat& f : {kFp16, kBf16, kTf32, kE4m3, kE5m2, kF143})
    for (const int r : {1, 3, 6})
      for_gaps(f, 64, [&](double x) {
        if (f.bias == 127 && x < 0x1p-126) return;  // binary64 holds 64ths of them no more exactly than needed
        for (uint32_t random = 0; random < 1u << r; ++random) {
          const double quantum = x == 0 ? 1 : quanta(f, x).own;
          const double kept = std::floor(x / quantum), d = x / quantum - kept;
          const bool up = x != 0 && std::floor(std::ldexp(d, r)) >= random;
          const double expected = (kept + up) * quantum;
          if (expected > value_of(f, f.max_finite_code())) continue;  // the test of overflow's
          const Rounded got = converted(f, x, at_least(r), random);
          ASSERT_EQ(value_of(f, got.code), expected) << x << " r " << r << " R " << random << " e" << f.exponent_bits;
          ASSERT_EQ((got.flags & kInexact) != 0, expected != x) << x << " R " << random;
          const Rounded negative = converted(f, -x, at_least(r), random);
          ASSERT_EQ(value_of(f, negative.code), -expected) << -x << " R " << random;
        }
      });
  EXPECT_EQ(converted(kFp16, 65504, at_least(13), 0).code, 0x7C00u);  // exact, and yet it overflows
  EXPECT_EQ(int{converted(kFp16, 65504, at_least(13), 0).flags}, kOverflow | kInexact);
  EXPECT_EQ(converted(kFp16, 65504, at_least(13), 1).code, 0x7BFFu);
  EXPECT_EQ(converted(kFp16, 0.0, at_least(13), 0).code, 0u);
  EXPECT_EQ(converted(kFp16, -0.0, at_least(13), 0).code, 0x8000u);
}

/// |x| + R 2^-r of a normal result's quantum, truncated: in integers, the random bits added to the source.
// tests: N11, N19
TEST(RoundChips, RandomBitsThatStayWithTheSource) {
  for (const FloatFormat& f : {kFp16, kE4m3, kE5m2, kF152})
    for (const int r : {1, 4, 7})
      for_gaps(f, 32, [&](double x) {
        for (uint32_t random = 0; random < 1u << r; ++random) {
          const Quanta q = quanta(f, x == 0 ? 1 : x);
          const double expected = x == 0 ? 0 : std::floor((x + std::ldexp(random, -r) * q.normal) / q.own) * q.own;
          if (expected > value_of(f, f.max_finite_code())) continue;
          const Rounded got = converted(f, x, with_source(r), random);
          ASSERT_EQ(value_of(f, got.code), expected) << x << " r " << r << " R " << random << " e" << f.exponent_bits;
          const double middle = std::floor((x + std::ldexp(2 * random + 1, -r - 1) * q.normal) / q.own) * q.own;
          if (x != 0 && middle <= value_of(f, f.max_finite_code())) {
            const RoundingPolicy half = with_source(r, StochasticVariant::kHalf);
            ASSERT_EQ(value_of(f, converted(f, x, half, random).code), middle) << x << " r " << r << " R " << random;
          }
        }
      });
  // 2^-25 is half a quantum: on the top, half of all R carry; with the source, none does.
  for (uint32_t random = 0; random < 1u << 13; random += 37)
    EXPECT_EQ(converted(kFp16, 0x1p-25, with_source(13), random).code, 0u);
  EXPECT_EQ(converted(kFp16, 0x1p-25, RoundingPolicy::stochastic_carry(13), 4096).code, 1u);
  // Normal results do not know the difference.
  for (uint32_t random = 0; random < 1u << 13; random += 91)
    for (const double x : {1.0009, 0.1, 6.2e-5, 65519.9})
      EXPECT_EQ(converted(kFp16, x, with_source(13), random).code,
                converted(kFp16, x, RoundingPolicy::stochastic_carry(13), random).code);
}

/// Down to where the lowest bit that R reaches lies: 24 bits of source at 24 below the normal range, 32 random bits.
TEST(RoundChips, TheLowestBitsOfASubnormalCount) {
  // The gap below 1 quantum: x = 1 - 2^-k quanta of fp16, k = 10 + r + 1, is below all R but the greatest.
  for (const int r : {13, 24, 32}) {
    const int bits = kFp16.mantissa_bits() + r;
    const double quantum = 0x1p-24;
    const uint32_t greatest = static_cast<uint32_t>((uint64_t{1} << r) - 1);
    // In [quantum / 2, quantum) a normal result's quantum is 2^-11 of `quantum`, and R = 1 counts 2^-(r + 11) of it.
    const double unit = std::ldexp(quantum, -bits - 1);
    EXPECT_EQ(converted(kFp16, quantum - unit, with_source(r), 1).code, 1u) << r;
    EXPECT_EQ(converted(kFp16, quantum - unit, with_source(r), 0).code, 0u) << r;
    if (bits < 40) {
      EXPECT_EQ(converted(kFp16, quantum - 2 * unit, with_source(r), 1).code, 0u) << r;
      EXPECT_EQ(converted(kFp16, quantum - unit - unit / 4, with_source(r), 1).code, 0u) << r;
    }
    EXPECT_EQ(converted(kFp16, quantum - unit * greatest, with_source(r), greatest).code, 1u) << r;
    EXPECT_EQ(converted(kFp16, quantum - unit * greatest - unit / 2, with_source(r), greatest).code, 0u) << r;
  }
  // fp32, 51 bits below: what lies under the lowest of them must not be lost on the way there.
  const double least = 0x1p-149, unit = least * 0x1p-52;
  EXPECT_EQ(converted(kFp32, least - unit, with_source(28), 1).code, 1u);
  EXPECT_EQ(converted(kFp32, least - unit, with_source(28), 0).code, 0u);
  EXPECT_EQ(converted(kFp32, least - 2 * unit, with_source(28), 1).code, 0u);
}

/// A zero, a result rounded to zero, and a flushed one.
// tests: N27
TEST(RoundChips, ZerosWithoutSigns) {
  RoundingPolicy p;
  p.signed_zeros = false;
  const Semantics s = Semantics::ieee(p);
  EXPECT_EQ(converted(kFp16, -0.0, p, 0).code, 0u);
  EXPECT_EQ(converted(kFp16, -0x1p-30, p, 0).code, 0u);
  EXPECT_EQ(converted(kFp16, -0x1p-24, p, 0).code, 0x8001u);
  EXPECT_EQ(fp::add(kFp16, 0x8000, 0x8000, s).code, 0u);
  EXPECT_EQ(fp::mul(kFp16, 0x8000, 0x3C00, s).code, 0u);
  EXPECT_EQ(fp::mul(kFp16, 0x8001, 0x0001, s).code, 0u);
  EXPECT_EQ(fp::div(kFp16, 0x8000, 0x3C00, s).code, 0u);
  EXPECT_EQ(fp::div(kFp16, 0xBC00, 0x7C00, s).code, 0u);
  EXPECT_EQ(fp::sqrt(kFp16, 0x8000, s).code, 0u);
  EXPECT_EQ(fp::fma(kFp16, 0x8000, 0x3C00, 0x8000, s).code, 0u);
  p.mode = RoundingMode::kDown;
  EXPECT_EQ(fp::sub(kFp16, 0x3C00, 0x3C00, Semantics::ieee(p)).code, 0u);
  EXPECT_EQ(fp::sub(kFp16, 0x3C00, 0x3C00, Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kDown))).code, 0x8000u);
  p.mode = RoundingMode::kNearestEven;
  p.subnormals = Subnormals::kFlush;
  EXPECT_EQ(converted(kFp16, -0x1p-20, p, 0).code, 0u);
}

// tests: N28
TEST(RoundChips, NansThatBecomeInfinities) {
  RoundingPolicy p;
  p.nan = NanPattern::kInfinity;
  const Semantics s = Semantics::ieee(p);
  EXPECT_EQ(fp::convert(kFp32, kFp16, 0x7FC00000, s).code, 0x7C00u);
  EXPECT_EQ(fp::convert(kFp32, kBf16, 0xFFC00000, s).code, 0xFF80u);
  EXPECT_EQ(int{fp::convert(kFp32, kFp16, 0xFF800001, s).flags}, int{kInvalid});
  EXPECT_EQ(fp::convert(kE4m3, kFp16, 0xFF, s).code, 0xFC00u);
  EXPECT_EQ(fp::convert(kF143, kFp16, 0x80, s).code, 0x7C00u);      // a NaN without a sign
  EXPECT_EQ(fp::convert(kFp32, kE4m3, 0xFFC00000, s).code, 0x7Fu);  // no infinity: the quiet one
  EXPECT_EQ(fp::sub(kFp16, 0x7C00, 0x7C00, s).code, 0x7C00u);
  EXPECT_EQ(fp::add(kFp16, 0x3C00, 0xFE00, s).code, 0xFC00u);
}

// tests: N314
TEST(RoundChips, NansThatKeepTheirSign) {
  RoundingPolicy p;
  p.nan = NanPattern::kSigned;
  Semantics s = Semantics::ieee(p);
  EXPECT_EQ(fp::convert(kFp32, kE4m3, 0x7FFFFFFF, s).code, 0x7Fu);
  EXPECT_EQ(fp::convert(kFp32, kE4m3, 0xFFC00000, s).code, 0xFFu);
  EXPECT_EQ(fp::convert(kFp32, kE5m2, 0xFF800001, s).code, 0xFEu);
  EXPECT_EQ(fp::convert(kFp32, kFp16, 0xFFC12345, s).code, 0xFE00u);
  EXPECT_EQ(fp::convert(kFp32, kF143, 0xFFC00000, s).code, 0x80u);
  EXPECT_EQ(fp::convert(kF143, kE4m3, 0x80, s).code, 0x7Fu);  // a NaN without a sign
  EXPECT_EQ(fp::convert(kFp32, kE4m3, 0xFF800000, s).code, 0xFFu) << "an infinity where there is none";
  EXPECT_EQ(fp::convert(kFp32, kE4m3, 0xC7000000, s).code, 0xFFu) << "a number too large";
  EXPECT_EQ(fp::convert(kFp32, kE4m3, 0x47000000, s).code, 0x7Fu);
  EXPECT_EQ(fp::sub(kFp16, 0x7C00, 0x7C00, s).code, 0x7E00u) << "of nothing that has a sign";
  EXPECT_EQ(fp::add(kFp16, 0x3C00, 0xFE00, s).code, 0xFE00u);
  // CDNA4's conversions to OCP's formats, with and without FP16_OVFL.
  for (const ChipOverflow overflow : {ChipOverflow::kSpecial, ChipOverflow::kSaturating}) {
    const bool saturates = overflow == ChipOverflow::kSaturating;
    s = chip_semantics(Chip::kAmdCdna4, kE4m3, overflow);
    EXPECT_EQ(fp::convert(kFp32, kE4m3, 0xFFC00000, s).code, 0xFFu);
    EXPECT_EQ(fp::convert(kFp32, kE4m3, 0xFF800000, s).code, saturates ? 0xFEu : 0xFFu);
    EXPECT_EQ(fp::convert(kFp32, kE4m3, 0xC7000000, s).code, saturates ? 0xFEu : 0xFFu);
    s = chip_semantics(Chip::kAmdCdna4, kE5m2, overflow);
    EXPECT_EQ(fp::convert(kFp32, kE5m2, 0xFFC00000, s).code, 0xFEu);
    EXPECT_EQ(fp::convert(kFp32, kE5m2, 0xFF800000, s).code, saturates ? 0xFBu : 0xFCu);
  }
}

/// Operations that draw no random number give exact values as they are, whatever the variant.
TEST(RoundChips, WhatDrawsNothingMovesNothing) {
  for (const StochasticVariant variant : {StochasticVariant::kCarry, StochasticVariant::kHalf, StochasticVariant::kRne,
                                          StochasticVariant::kOdd, StochasticVariant::kAtLeast})
    for (const int r : {1, 13, 23, 32}) {
      RoundingPolicy p = RoundingPolicy::stochastic_carry(r);
      p.variant = variant;
      const Semantics s = Semantics::ieee(p);
      for (uint64_t a = 0; a < 0x7C00; a += 7) {
        const Rounded same{a, 0};
        for (const Rounded& got : {fp::maximum(kFp16, a, 0, s), fp::minimum(kFp16, a, 0x7BFF, s),
                                   fp::convert(kFp16, kFp32, a, s, RoundingPolicy::kStill)})
          EXPECT_EQ(int{got.flags}, 0) << a;
        EXPECT_EQ(fp::maximum(kFp16, a, 0, s).code, same.code);
        EXPECT_EQ(fp::minimum(kFp16, a, 0x7BFF, s).code, same.code);
        const double x = fp::to_double(kFp16, a);
        EXPECT_EQ(fp::to_double(kFp32, fp::convert(kFp16, kFp32, a, s, RoundingPolicy::kStill).code), x);
        if (x == std::floor(x)) {
          EXPECT_EQ(fp::round_to_integral(kFp16, a, s).code, a);
          EXPECT_EQ(static_cast<double>(fp::to_int32(kFp16, a, s).code), x);
        }
      }
    }
}

}  // namespace
