// round_and_pack and round_to_fixed by themselves: definitions, ties, edges, overflow rules, flags, jammed tails.
#include "softamp/numerics/round.h"

#include <gtest/gtest.h>

#include "tests/oracle/cases.h"
#include "tests/oracle/exact_rounding.h"

namespace {

using namespace softamp;
using oracle::Cases;

Rounded half(bool negative, uint64_t significand, int exponent, RoundingMode mode) {
  return round_and_pack(kFp16, {negative, exponent, significand}, RoundingPolicy::ieee(mode));
}

/// significand 2^exponent -> fp16 under nearest even, nearest away, zero, up, down, to odd.
TEST(Round, TheSixModesByHand) {
  struct Row {
    const char* what;
    bool negative;
    uint64_t significand;
    int exponent;
    uint64_t code[6];
    int flags;
  };
  const Row rows[] = {
      {"1", false, 1, 0, {0x3C00, 0x3C00, 0x3C00, 0x3C00, 0x3C00, 0x3C00}, 0},
      {"1 + 2^-11, a tie above even", false, 2049, -11, {0x3C00, 0x3C01, 0x3C00, 0x3C01, 0x3C00, 0x3C01}, 1},
      {"1 + 3 2^-11, a tie above odd", false, 2051, -11, {0x3C02, 0x3C02, 0x3C01, 0x3C02, 0x3C01, 0x3C01}, 1},
      {"-(1 + 2^-11)", true, 2049, -11, {0xBC00, 0xBC01, 0xBC00, 0xBC00, 0xBC01, 0xBC01}, 1},
      {"1 + 2^-11 + 2^-30",
       false,
       (uint64_t{2049} << 19) + 1,
       -30,
       {0x3C01, 0x3C01, 0x3C00, 0x3C01, 0x3C00, 0x3C01},
       1},
      {"1 + 2^-11 - 2^-30",
       false,
       (uint64_t{2049} << 19) - 1,
       -30,
       {0x3C00, 0x3C00, 0x3C00, 0x3C01, 0x3C00, 0x3C01},
       1},
      {"2 - 2^-11: carries into the next binade",
       false,
       4095,
       -11,
       {0x4000, 0x4000, 0x3FFF, 0x4000, 0x3FFF, 0x3FFF},
       1},
      {"2^-25, half the least subnormal", false, 1, -25, {0x0000, 0x0001, 0x0000, 0x0001, 0x0000, 0x0001}, 3},
      {"-2^-25", true, 1, -25, {0x8000, 0x8001, 0x8000, 0x8000, 0x8001, 0x8001}, 3},
      {"3 2^-25", false, 3, -25, {0x0002, 0x0002, 0x0001, 0x0002, 0x0001, 0x0001}, 3},
      {"2^-200", false, 1, -200, {0x0000, 0x0000, 0x0000, 0x0001, 0x0000, 0x0001}, 3}};
  for (const Row& row : rows)
    for (int m = 0; m < 6; ++m) {
      const Rounded r = half(row.negative, row.significand, row.exponent, oracle::kDeterministicModes[m]);
      EXPECT_EQ(r.code, row.code[m]) << row.what << " mode " << m;
      EXPECT_EQ(int{r.flags}, row.flags) << row.what << " mode " << m;
    }
}

/// 2^-14 (1 - 2^-13) rounds to 2^-14 even with an unbounded exponent: not tiny. 2^-14 (1 - 2^-11) does not.
// tests: N32
TEST(Round, TininessAfterRounding) {
  const uint64_t near = (uint64_t{1} << 13) - 1, grid = (uint64_t{1} << 11) - 1;
  EXPECT_EQ(int{half(false, near, -27, RoundingMode::kNearestEven).flags}, int{kInexact});
  EXPECT_EQ(half(false, near, -27, RoundingMode::kNearestEven).code, 0x0400u);
  EXPECT_EQ(int{half(false, near, -27, RoundingMode::kTowardZero).flags}, kInexact | kUnderflow);
  EXPECT_EQ(half(false, grid, -25, RoundingMode::kNearestEven).code, 0x0400u);
  EXPECT_EQ(int{half(false, grid, -25, RoundingMode::kNearestEven).flags}, kInexact | kUnderflow);
  EXPECT_EQ(int{half(false, grid, -25, RoundingMode::kUp).flags}, kInexact | kUnderflow);  // exact on the finer grid
}

/// Only where the least normal number is rounded up to do the two differ: in that flag alone.
// tests: N39
TEST(Round, TininessBeforeRounding) {
  constexpr uint64_t kNear = (uint64_t{1} << 13) - 1;  // 2^-14 (1 - 2^-13)
  RoundingPolicy p;
  p.tininess = Tininess::kBeforeRounding;
  const auto flags = [&](uint64_t significand, int exponent) {
    const Rounded r = round_and_pack(kFp16, {false, exponent, significand}, p);
    EXPECT_EQ(r.code, 0x0400u);
    return int{r.flags};
  };
  EXPECT_EQ(flags(kNear, -27), kInexact | kUnderflow);
  EXPECT_EQ(flags((uint64_t{1} << 40) + 1, -54), int{kInexact});  // just above 2^-14
  EXPECT_EQ(flags(1, -14), 0);
  EXPECT_EQ(int{round_and_pack(kFp16, {false, -24, 3}, p).flags}, 0);  // tiny, but exact
}

// tests: N20, N21, N31
TEST(Round, OverflowByModeAndPolicy) {
  const auto at = [](double quanta, bool negative, RoundingMode mode, Overflow overflow) {
    RoundingPolicy p = RoundingPolicy::ieee(mode);
    p.overflow = overflow;
    return round_and_pack(kFp16, {negative, 4, static_cast<uint64_t>(quanta)}, p);  // quanta of 16
  };
  constexpr double k65504 = 4094, k65520 = 4095, k65536 = 4096;
  for (const bool negative : {false, true}) {
    const uint64_t sign = negative ? 0x8000 : 0;
    const RoundingMode away = negative ? RoundingMode::kDown : RoundingMode::kUp;
    const RoundingMode toward = negative ? RoundingMode::kUp : RoundingMode::kDown;
    EXPECT_EQ(at(k65504, negative, away, Overflow::kInfinity).code, sign | 0x7BFF);
    EXPECT_EQ(int{at(k65504, negative, away, Overflow::kInfinity).flags}, 0);
    for (const RoundingMode mode : {RoundingMode::kNearestEven, RoundingMode::kNearestAway, away}) {
      EXPECT_EQ(at(k65520, negative, mode, Overflow::kInfinity).code, sign | 0x7C00);
      EXPECT_EQ(int{at(k65520, negative, mode, Overflow::kInfinity).flags}, kOverflow | kInexact);
      EXPECT_EQ(at(k65520, negative, mode, Overflow::kSaturate).code, sign | 0x7BFF);
      EXPECT_EQ(at(k65520, negative, mode, Overflow::kNan).code, 0x7E00u);
    }
    for (const RoundingMode mode : {RoundingMode::kTowardZero, toward, RoundingMode::kOdd}) {
      EXPECT_EQ(at(k65520, negative, mode, Overflow::kInfinity).code, sign | 0x7BFF);
      EXPECT_EQ(int{at(k65520, negative, mode, Overflow::kInfinity).flags}, int{kInexact});
      EXPECT_EQ(at(k65536, negative, mode, Overflow::kInfinity).code, sign | 0x7BFF);
      EXPECT_EQ(int{at(k65536, negative, mode, Overflow::kInfinity).flags}, kOverflow | kInexact);
      EXPECT_EQ(at(k65536, negative, mode, Overflow::kNan).code, 0x7E00u);
    }
  }
}

/// N348: PRNG_SEED 0xdeadbeef, lanes 0..3 of four draws, nanoo off.
// tests: N31, N348
TEST(Round, KnownRoundings) {
  struct Row {
    bool negative;
    uint64_t significand;
    int exponent;
    uint32_t random;
    uint64_t code;
    int flags;
  };
  constexpr uint64_t kThird = 0xAAAAAB;  // (float)1/3 = 0xAAAAAB 2^-25
  const Row rows[] = {{false, 2049, -11, 0x8239, 0x3c01, 0}, {false, 2049, -11, 0x164f, 0x3c00, 0},
                      {false, 2049, -11, 0x5ca6, 0x3c00, 0}, {false, 2049, -11, 0x697c, 0x3c00, 0},
                      {false, 4095, 4, 0xd820, 0x7bff, 4},   {false, 4095, 4, 0x1eb3, 0x7bff, 0},
                      {true, 4095, 4, 0xf58c, 0xfbff, 4},    {false, 2047, 5, 0x9f53, 0x7bff, 0},
                      {false, 1, -25, 0x1450, 0x0000, 0},    {true, 1, -25, 0x2883, 0x8000, 0},
                      {false, 3, -26, 0xe9df, 0x0001, 0},    {false, 1, -24, 0x9569, 0x0001, 0},
                      {false, 4099, -12, 0x6582, 0x3c01, 0}, {true, 4097, -12, 0x7d05, 0xbc00, 0},
                      {false, 2049, 0, 0xe028, 0x6801, 0},   {false, kThird, -25, 0x2050, 0x3555, 0}};
  RoundingPolicy p = RoundingPolicy::stochastic_carry(16);
  p.overflow = Overflow::kSaturate;
  p.overflow_flags = kOverflow;
  p.flags = kInvalid | kDivideByZero | kOverflow;
  for (const Row& row : rows) {
    const Rounded r = round_and_pack(kFp16, {row.negative, row.exponent, row.significand}, p, row.random);
    EXPECT_EQ(r.code, row.code) << std::hex << row.random;
    EXPECT_EQ(int{r.flags}, row.flags) << std::hex << row.random;
  }
}

/// Significands of any length and position, jammed tails included, under any policy, against exact arithmetic.
// tests: N8, N14, N26, N382, N384
TEST(Round, AnyValueAnyFormatAnyPolicy) {
  Cases cases(31);
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const auto f = cases.below(3) == 0
                       ? oracle::kNamedFormats[cases.below(std::size(oracle::kNamedFormats))].format
                       : FloatFormat::ieee(static_cast<int>(2 + cases.below(7)), static_cast<int>(2 + cases.below(23)));
    const RoundingPolicy p = oracle::any_policy(cases);
    uint64_t significand = cases.word() >> cases.below(64);
    if (cases.below(3) == 0) significand = (significand | 1) << cases.below(40) >> cases.below(12);
    const int top = f.min_quantum() - 6 +
                    static_cast<int>(cases.below(static_cast<uint64_t>(f.max_exponent() - f.min_quantum() + 14)));
    int bits = 0;
    while (bits < 64 && significand >> bits != 0) ++bits;
    const int exponent = top - bits;
    const bool negative = cases.below(2) == 0;
    const auto random = static_cast<uint32_t>(cases.word());
    // With bit 0 of a long significand set, the value may as well be any larger one below the next significand.
    oracle::Dyadic x{significand, exponent};
    if (bits >= 59 && (significand & 1)) x = x + oracle::Dyadic{static_cast<int>(cases.below(7)) - 3, exponent - 2};
    const Rounded got = round_and_pack(f, {negative, exponent, significand}, p, random);
    const Rounded expected = oracle::round_value(f, negative ? -x : x, p, random, negative);
    EXPECT_TRUE(got.code == expected.code && got.flags == expected.flags)
        << "(" << f.exponent_bits << "," << f.precision << ") " << std::hex << significand << std::dec << " * 2^"
        << exponent << (negative ? " negative" : "") << std::hex << " random " << random << " got " << got.code << "/"
        << int{got.flags} << " expected " << expected.code << "/" << int{expected.flags} << " " << oracle::text_of(p);
  }
}

// tests: N16, N66
TEST(Round, ZeroKeepsItsSignWhereThereIsOne) {
  for (const auto& [name, f] : oracle::kNamedFormats) {
    EXPECT_EQ(round_and_pack(f, {false, 3, 0}, {}).code, 0u) << name;
    EXPECT_EQ(round_and_pack(f, {true, 3, 0}, {}).code, f.has_negative_zero() ? f.sign_mask() : 0) << name;
    EXPECT_EQ(int{round_and_pack(f, {true, 3, 0}, {}).flags}, 0) << name;
  }
}

TEST(RoundToFixed, ByHand) {
  const FixedFormat fixed{-12, -32768, 32767};
  const auto at = [&](bool negative, uint64_t significand, int exponent,
                      RoundingMode mode = RoundingMode::kNearestEven) {
    return round_to_fixed(fixed, {negative, exponent, significand}, RoundingPolicy::ieee(mode));
  };
  EXPECT_EQ(at(false, 1, 0).value, 4096);
  EXPECT_EQ(int{at(false, 1, 0).flags}, 0);
  EXPECT_EQ(at(false, 3, -13).value, 2);  // 1.5 quanta: a tie to even
  EXPECT_EQ(at(false, 1, -13).value, 0);
  EXPECT_EQ(at(false, 1, -13, RoundingMode::kNearestAway).value, 1);
  EXPECT_EQ(at(true, 1, -13, RoundingMode::kDown).value, -1);
  EXPECT_EQ(int{at(true, 1, -13).flags}, int{kInexact});
  EXPECT_EQ(at(false, 8, 0).value, 32767);
  EXPECT_EQ(int{at(false, 8, 0).flags}, kOverflow | kInexact);
  EXPECT_EQ(at(true, 8, 0).value, -32768);
  EXPECT_EQ(int{at(true, 8, 0).flags}, 0);
  EXPECT_EQ(at(true, 9, 0).value, -32768);
  EXPECT_EQ(at(false, 1, 300).value, 32767);
  EXPECT_EQ(at(true, 1, 300).value, -32768);
}

TEST(RoundToFixed, AgainstExactArithmetic) {
  Cases cases(32);
  for (int i = 0; i < 5000 && !HasFailure(); ++i) {
    const int quantum = static_cast<int>(cases.below(60)) - 40;
    const FixedFormat fixed{quantum, -(int64_t{1} << cases.below(40)), int64_t{1} << cases.below(40)};
    const RoundingPolicy p = oracle::any_policy(cases);
    const uint64_t significand = cases.word() >> cases.below(64) << cases.below(6);
    const int exponent = quantum - 50 + static_cast<int>(cases.below(40));
    const bool negative = cases.below(2) == 0;
    const auto random = static_cast<uint32_t>(cases.word());
    const oracle::Dyadic x{significand, exponent - quantum};  // in quanta
    oracle::Big below =
        x.exponent >= 0 ? oracle::Big{x.significand << x.exponent} : oracle::Big{x.significand >> -x.exponent};
    const oracle::Gapped g{below, {below, 0}, {below + 1, 0}, oracle::compare(x, {below, 0}) == 0};
    if (oracle::goes_up(g, oracle::exactly(x), negative, p, random)) ++below;
    const oracle::Big value = negative ? oracle::Big{-below} : below;
    const bool beyond = value < fixed.least || value > fixed.greatest;
    const auto expected = static_cast<int64_t>(value < fixed.least      ? oracle::Big{fixed.least}
                                               : value > fixed.greatest ? oracle::Big{fixed.greatest}
                                                                        : value);
    const RoundedInteger got = round_to_fixed(fixed, {negative, exponent, significand}, p, random);
    EXPECT_EQ(got.value, expected) << significand << " * 2^" << exponent << " quantum 2^" << quantum << " "
                                   << oracle::text_of(p);
    EXPECT_EQ(int{got.flags}, beyond ? kOverflow | kInexact
                              : g.on ? 0
                                     : kInexact)
        << significand << " * 2^" << exponent;
  }
}

}  // namespace
