// OCP MX's elements of 4 and 6 bits, and the saturating conversions to 8: known lines of other systems.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "softamp/numerics/decimal.h"
#include "softamp/numerics/operations.h"

namespace softamp {
namespace {

using Codes = std::vector<uint64_t>;

Codes rounded(const FloatFormat& f, const std::vector<double>& values, const RoundingPolicy& p = {}) {
  Codes codes;
  for (const double x : values)
    codes.push_back(fp::convert(kBinary64, f, __builtin_bit_cast(uint64_t, x), Semantics::ieee(p)).code);
  return codes;
}
Codes rounded_words(const FloatFormat& f, const std::vector<uint32_t>& words, const RoundingPolicy& p) {
  Codes codes;
  for (const uint32_t w : words) codes.push_back(fp::convert(kFp32, f, w, Semantics::ieee(p)).code);
  return codes;
}

TEST(SmallFormats, EveryMagnitude) {
  const double e2m1[] = {0, .5, 1, 1.5, 2, 3, 4, 6};
  for (uint64_t c = 0; c < 8; ++c) {
    EXPECT_EQ(fp::to_double(kE2m1, c), e2m1[c]);
    EXPECT_EQ(fp::to_double(kE2m1, c | 8), -e2m1[c]);
  }
  for (uint64_t c = 0; c < 32; ++c) {
    const int wide = static_cast<int>(c);
    EXPECT_EQ(fp::to_double(kE2m3, c), c < 8 ? wide / 8. : (8 + wide % 8) / 8. * std::ldexp(1, wide / 8 - 1));
    EXPECT_EQ(fp::to_double(kE3m2, c), c < 4 ? wide / 16. : (4 + wide % 4) / 4. * std::ldexp(1, wide / 4 - 3));
  }
}

// Lines of torchao's tests of its kernels.
TEST(SmallFormats, NearestEvenAsTorchaoHasIt) {
  EXPECT_EQ(rounded(kE2m1, {.25, .75, 1.25, 1.75, 2.5, 3.5, 5, 6.1}), (Codes{0, 2, 2, 4, 4, 6, 6, 7}));
  EXPECT_EQ(rounded(kE2m1, {-.25, -.75, -1.25, -1.75, -2.5, -3.5, -5, -6.1}),
            (Codes{8, 0xA, 0xA, 0xC, 0xC, 0xE, 0xE, 0xF}));
  EXPECT_EQ(rounded(kE3m2, {29, 26, .1251, .0314, .03}), (Codes{0x1F, 0x1E, 2, 1, 0}));
  EXPECT_EQ(rounded(kE3m2, {-29, -26, -.1251, -.0314, -.03}), (Codes{0x3F, 0x3E, 0x22, 0x21, 0x20}));
}

TEST(SmallFormats, TiesAndSaturationOfSixBits) {
  EXPECT_EQ(rounded(kE2m3, {.0625, .0626, .1875, .9375, 1.1875, 3.875, 7.25, 7.26, 7.75, -7.6}),
            (Codes{0, 1, 2, 8, 0xA, 0x18, 0x1E, 0x1F, 0x1F, 0x3F}));
  EXPECT_EQ(rounded(kE3m2, {.03125, .0313, .09375, .21875, .28125, 22, 27.9, 30, -33}),
            (Codes{0, 1, 2, 4, 4, 0x1E, 0x1F, 0x1F, 0x3F}));
}

TEST(SmallFormats, OtherModes) {
  const std::vector<double> ties = {.25, .75, 1.25, 1.75, 2.5, 3.5, 5};
  EXPECT_EQ(rounded(kE2m1, ties, RoundingPolicy::ieee(RoundingMode::kNearestAway)), (Codes{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(rounded(kE2m1, ties, RoundingPolicy::ieee(RoundingMode::kTowardZero)), (Codes{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(rounded(kE2m1, {-2.6}, RoundingPolicy::ieee(RoundingMode::kUp)), (Codes{0xC}));
  EXPECT_EQ(rounded(kE2m1, {-2.6}, RoundingPolicy::ieee(RoundingMode::kDown)), (Codes{0xD}));
}

// 8 random bits, carry: value, R and code.
TEST(SmallFormats, StochasticCarries) {
  const struct {
    double x;
    uint32_t random;
    uint64_t code;
  } lines[] = {{.3F, 102, 0},    {.3F, 103, 1},    {5, 127, 6},   {5, 128, 7},   {1.75, 127, 3}, {1.75, 128, 4},
               {-2.25, 191, 12}, {-2.25, 192, 13}, {5.9F, 12, 6}, {5.9F, 13, 7}, {6, 255, 7},    {-.001, 255, 8}};
  const Semantics s = Semantics::ieee(RoundingPolicy::stochastic_carry(8));
  for (const auto& l : lines)
    EXPECT_EQ(fp::convert(kBinary64, kE2m1, __builtin_bit_cast(uint64_t, l.x), s, l.random).code, l.code) << l.x;
  RoundingPolicy saturating = RoundingPolicy::stochastic_carry(8);
  saturating.overflow = Overflow::kSaturate;
  const uint64_t x = __builtin_bit_cast(uint64_t, 460.0);
  EXPECT_EQ(fp::convert(kBinary64, kE4m3, x, Semantics::ieee(saturating), 160).code, 0x7Eu);
  EXPECT_EQ(fp::convert(kBinary64, kE4m3, x, s, 160).code, 0x7Fu);
}

// N443: what has no code becomes the largest number, under every policy, and says so.
// tests: N21, N442, N443
TEST(SmallFormats, WhatHasNoCode) {
  const double infinity = INFINITY;
  for (const FloatFormat& f : {kE2m1, kE2m3, kE3m2})
    for (int overflow = 0; overflow < 3; ++overflow)
      for (int pattern = 0; pattern < 5; ++pattern) {
        RoundingPolicy p;
        p.overflow = static_cast<Overflow>(overflow);
        p.infinity = static_cast<InfinityResult>(overflow);
        p.nan = static_cast<NanPattern>(pattern);
        p.infinity_flags = kOverflow;
        const Semantics s = Semantics::ieee(p);
        const auto from = [&](double x) { return fp::convert(kBinary64, f, __builtin_bit_cast(uint64_t, x), s); };
        const uint64_t most = f.max_finite_code();
        EXPECT_EQ(from(1e300).code, most);
        EXPECT_EQ(from(1e300).flags, kOverflow | kInexact);
        EXPECT_EQ(from(-1e300).code, most | f.sign_mask());
        EXPECT_EQ(from(infinity).code, most);
        EXPECT_EQ(from(-infinity).code, most | f.sign_mask());
        EXPECT_EQ(from(infinity).flags, kOverflow);
        EXPECT_EQ(from(NAN).code, p.nan == NanPattern::kNegativeQuiet ? most | f.sign_mask() : most);
        EXPECT_EQ(from(NAN).flags, kInvalid);
        EXPECT_EQ(to_code(f, parse_number("nan"), p).flags, kInvalid);
        EXPECT_EQ(fp::div(f, 0, 0, s).flags, kInvalid);
        EXPECT_EQ(fp::div(f, 1, 0, s).code, most);
        EXPECT_EQ(fp::div(f, 1, 0, s).flags & kDivideByZero, kDivideByZero);
      }
}

// N444: to 8 bits, saturating and not.
TEST(SmallFormats, SaturationOfEightBits) {
  const RoundingPolicy saturating = RoundingPolicy::saturating(), not_so;
  const std::vector<uint32_t> e4m3 = {0x43E80000, 0x43E80001, 0x43F00000, 0x7F800000, 0xFF800000,
                                      0x3A800000, 0x3A800001, 0x3B400000, 0x3F880000, 0x3F980000};
  EXPECT_EQ(rounded_words(kE4m3, e4m3, saturating),
            (Codes{0x7E, 0x7E, 0x7E, 0x7E, 0xFE, 0x00, 0x01, 0x02, 0x38, 0x3A}));
  const Codes other = rounded_words(kE4m3, {0x43E80000, 0x43E80001, 0x43F00000, 0x7F800000}, not_so);
  EXPECT_EQ(other, (Codes{0x7E, 0x7F, 0x7F, 0x7F}));
  const std::vector<uint32_t> e5m2 = {0x476FFFFF, 0x47700000, 0x7F800000, 0x37000000,
                                      0x37000001, 0x37C00000, 0x3F900000, 0x3FB00000};
  EXPECT_EQ(rounded_words(kE5m2, e5m2, saturating), (Codes{0x7B, 0x7B, 0x7B, 0, 1, 2, 0x3C, 0x3E}));
  EXPECT_EQ(rounded_words(kE5m2, {0x476FFFFF, 0x47700000, 0x7F800000}, not_so), (Codes{0x7B, 0x7C, 0x7C}));
  // ONNX to the formats without -0, by the texts of its opsets: an infinity.
  for (const FloatFormat& f : {kF143, kF152}) {
    EXPECT_EQ(rounded(f, {INFINITY, -INFINITY, 1e30}, saturating), (Codes{0x7F, 0xFF, 0x7F}));
    EXPECT_EQ(rounded(f, {INFINITY, -INFINITY, 1e30}, RoundingPolicy::saturating_but_infinities()),
              (Codes{0x80, 0x80, 0x7F}));
    EXPECT_EQ(rounded(f, {INFINITY, 1e30, -0.0, NAN}, not_so), (Codes{0x80, 0x80, 0, 0x80}));
  }
  EXPECT_EQ(rounded(kE4m3, {NAN}, saturating), (Codes{0x7F}));
}

}  // namespace
}  // namespace softamp
