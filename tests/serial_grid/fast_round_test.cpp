// cuda/primitives.h and cuda/fast_round.h on the host: every primitive against the one rounding, and the fast
// formulations against fp::convert over every exponent, around every boundary, under every policy that they take.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "softamp/numerics/operations.h"

#define cuda serial_grid  // as the library of this folder has it
#include "cuda/fast_round.h"
#undef cuda

namespace softamp {
namespace {

using serial_grid::FastRound;

/// fp32 patterns: every exponent with random and extreme mantissas, and the neighbourhoods of what may go wrong.
std::vector<uint32_t> patterns(uint64_t seed, int each) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> all;
  for (uint32_t sign = 0; sign < 2; ++sign)
    for (uint32_t field = 0; field < 256; ++field) {
      const uint32_t head = sign << 31 | field << 23;
      for (const uint32_t mantissa : {0u, 1u, 2u, 0xFFFu, 0x1000u, 0x1001u, 0x1FFFu, 0x2000u, 0x3000u, 0x7FFFu, 0x8000u,
                                      0x8001u, 0xFFFFu, 0x10000u, 0x18000u, 0x7FFFFEu, 0x7FFFFFu})
        all.push_back(head | mantissa);
      for (int k = 0; k < each; ++k) all.push_back(head | static_cast<uint32_t>(random() & 0x7FFFFFu));
    }
  // 2^-25, 2^-24, 2^-14, 65504, 65520, 65536, the greatest bf16 and fp32, the least normal fp32.
  for (const uint32_t about : {0x33000000u, 0x33800000u, 0x38800000u, 0x477FE000u, 0x477FF000u, 0x47800000u,
                               0x7F7F0000u, 0x7F7F8000u, 0x7F7FFFFFu, 0x00800000u})
    for (int step = -40; step <= 40; ++step)
      for (const uint32_t sign : {0u, 0x80000000u}) all.push_back((about + static_cast<uint32_t>(step)) | sign);
  return all;
}

struct Tally {
  uint64_t fast = 0, rare = 0;
};

/// Compares for one policy; how many were fast, and how many the body's.
Tally compare(const FloatFormat& to, const Semantics& s, bool operands, uint64_t seed, int each = 40) {
  const FastRound fast = FastRound::of(to, s, false, operands);
  EXPECT_TRUE(fast.usable);
  std::mt19937_64 random(seed * 7919);
  const RoundingPolicy& p = s.rounding(to);
  const uint32_t all = p.random_bits >= 32 ? ~0u : (1u << p.random_bits) - 1;
  Tally tally;
  for (const uint32_t code : patterns(seed, each))
    for (int turn = 0; turn < (p.stochastic() ? 4 : 1); ++turn) {
      // The least and greatest numbers as well; above them, anything.
      uint32_t word = static_cast<uint32_t>(random());
      if (turn == 1) word |= all;
      if (turn == 2) word &= ~all;
      bool rare = false;
      const uint32_t got = fast(__builtin_bit_cast(float, code), word, rare);
      (rare ? tally.rare : tally.fast)++;
      if (rare) continue;
      const Rounded want = operands ? fp::convert(kFp32, to, code, s, word & all)
                                    : round_and_pack(to, detail::unpack_finite(kFp32, code), p, word & all);
      EXPECT_EQ(got, want.code) << std::hex << "x " << code << " word " << word << std::dec << " bits "
                                << p.random_bits;
      EXPECT_EQ(want.flags & ~(kInexact | kUnderflow), 0);
      if (got != want.code) return tally;
    }
  return tally;
}

Semantics with(const RoundingPolicy& p) {
  Semantics s = Semantics::ieee(p);
  s.wide = RoundingPolicy::ieee();
  return s;
}

// tests: N304, N400, N406
TEST(FastRound, IsTheRoundingOfEveryPolicyThatItTakes) {
  uint64_t seed = 1;
  for (const FloatFormat to : {kFp16, kBf16})
    for (const OverflowRule rule :
         {OverflowRule::kAfterRounding, OverflowRule::kExact, OverflowRule::kHalfway, OverflowRule::kPower})
      for (const bool operands : {false, true}) {
        RoundingPolicy p;
        p.overflow_rule = rule;
        for (const RoundingMode mode : {RoundingMode::kNearestEven, RoundingMode::kTowardZero}) {
          p.mode = mode;
          const Tally t = compare(to, with(p), operands, ++seed);
          EXPECT_GT(t.fast, t.rare);
        }
        p.mode = RoundingMode::kStochastic;
        for (const StochasticVariant variant : {StochasticVariant::kCarry, StochasticVariant::kHalf})
          for (int r = 1; r <= 32; ++r) {
            p.variant = variant;
            p.random_bits = r;
            const bool expected = to == kBf16 || r <= (variant == StochasticVariant::kCarry ? 23 : 22);
            EXPECT_EQ(FastRound::of(to, with(p), false).usable, expected);
            if (!expected) continue;
            const Tally t = compare(to, with(p), operands, ++seed, r == 13 || r == 16 || r == 23 ? 20 : 2);
            EXPECT_GT(t.fast, t.rare);
          }
      }
}

// tests: N26, N66
TEST(FastRound, FlushesAsThePresetDoes) {
  for (const FlushSign sign : {FlushSign::kSame, FlushSign::kPositive})
    for (const bool esr : {false, true})
      for (const bool flush : {false, true}) {
        IpuSwitches w;
        w.f32_flush_sign = sign;
        w.f32_daz = w.f32_ftz = flush;
        FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
        b.esr = esr;
        const Semantics s = Semantics::ipu(b, w);
        for (const FloatFormat to : {kFp16, kBf16})
          for (const bool operands : {false, true}) {
            if (operands && flush && sign == FlushSign::kPositive) {
              EXPECT_FALSE(FastRound::of(to, s, true, true).usable);
              continue;
            }
            const Tally t = compare(to, s, operands, 77);
            EXPECT_GT(t.fast, t.rare);
          }
        if (flush && sign == FlushSign::kPositive)
          EXPECT_FALSE(FastRound::of(kFp32, s, true).usable);
        else
          compare(kFp32, s, false, 78);
      }
}

// tests: N304
TEST(FastRound, WhatItDoesNotTake) {
  const Semantics ieee = Semantics::ieee();
  EXPECT_TRUE(FastRound::of(kFp16, ieee, false).usable);
  EXPECT_FALSE(FastRound::of(kFp16, ieee, true).usable) << "inexact is wanted";
  EXPECT_TRUE(FastRound::of(kFp16, Semantics::ipu(), true).usable) << "an IPU has no inexact";
  EXPECT_FALSE(FastRound::of(kE4m3, ieee, false).usable);
  EXPECT_FALSE(FastRound::of(kBinary64, ieee, false).usable);
  for (const RoundingMode mode :
       {RoundingMode::kNearestAway, RoundingMode::kUp, RoundingMode::kDown, RoundingMode::kOdd})
    for (const FloatFormat to : {kFp16, kBf16, kFp32})
      EXPECT_FALSE(FastRound::of(to, Semantics::ieee(RoundingPolicy::ieee(mode)), false).usable);
  RoundingPolicy p = RoundingPolicy::stochastic_carry(13);
  for (const StochasticVariant variant : {StochasticVariant::kRne, StochasticVariant::kOdd}) {
    p.variant = variant;
    EXPECT_FALSE(FastRound::of(kFp16, with(p), false).usable);
  }
  p.variant = StochasticVariant::kCarry;
  p.subnormals = Subnormals::kFlush;
  EXPECT_FALSE(FastRound::of(kBf16, with(p), false).usable);
  // Every NaN, infinity and overflow is left to the body, and `rare` stays set.
  const FastRound fast = FastRound::of(kFp16, ieee, false);
  for (const uint32_t code : {0x7F800000u, 0xFF800000u, 0x7FC00000u, 0x7F800001u, 0x477FE001u, 0xC7800000u}) {
    bool rare = false;
    fast(__builtin_bit_cast(float, code), 0, rare);
    EXPECT_TRUE(rare) << std::hex << code;
    fast(1.0f, 0, rare);
    EXPECT_TRUE(rare);
  }
}

template <FastRound::Way way>
void expect_pair(const FastRound& round, float low, float high, uint32_t a, uint32_t b) {
  bool rare = false, rare_pair = false;
  const uint32_t want = round(low, a, rare) | round(high, b, rare) << 16;
  const uint32_t got = round.codes<way>(low, high, a, b, rare_pair);
  ASSERT_EQ(rare, rare_pair);
  if (!rare) {
    ASSERT_EQ(got, want);
  }
}

TEST(FastRound, PairsAreTwoOfThem) {
  const FastRound half = FastRound::of(kFp16, with(RoundingPolicy::stochastic_carry(13)), false);
  const FastRound bf16 = FastRound::of(kBf16, with(RoundingPolicy::stochastic_carry(16)), false);
  const FastRound nearest = FastRound::of(kBf16, Semantics::ipu(), true, true);
  std::mt19937 random(5);
  for (int k = 0; k < 100000; ++k) {
    const float low = __builtin_bit_cast(float, static_cast<uint32_t>(random()));
    const float high = __builtin_bit_cast(float, static_cast<uint32_t>(random()));
    const uint32_t a = static_cast<uint32_t>(random()), b = static_cast<uint32_t>(random());
    expect_pair<FastRound::Way::kHalfCarry>(half, low, high, a, b);
    expect_pair<FastRound::Way::kBf16Carry>(bf16, low, high, a, b);
    expect_pair<FastRound::Way::kBf16Nearest>(nearest, low, high, a, b);
    if (HasFatalFailure()) return;
  }
}

// ---- primitives ----

uint32_t bits(float x) { return __builtin_bit_cast(uint32_t, x); }
float value(uint64_t code) { return __builtin_bit_cast(float, static_cast<uint32_t>(code)); }
bool same(float got, uint64_t want) {
  return kFp32.is_nan(want) ? kFp32.is_nan(bits(got)) : bits(got) == static_cast<uint32_t>(want);
}
uint32_t operand(std::mt19937_64& random) {
  static const uint32_t special[] = {0,           0x80000000u, 1,           0x80000001u, 0x7F800000u, 0xFF800000u,
                                     0x7FC00000u, 0x7F7FFFFFu, 0x00800000u, 0x007FFFFFu, 0x3F800000u, 0xBF800000u};
  const uint64_t draw = random();
  if (draw % 16 == 0) return special[draw / 16 % 12];
  uint32_t code = static_cast<uint32_t>(draw >> 32);
  if (draw % 3 == 0) code = (code & 0x807FF000u) | (0x3F800000u + ((code & 7u) << 23));  // of few bits: exact, ties
  if (draw % 5 == 0) code = (code & 0x807FFFFFu) | (0x3F000000u + ((code & 15u) << 23));
  return code;
}

// tests: N402, N404, N410
TEST(Primitives, AreTheRoundingsOfExactResults) {
  const Semantics zero = Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kTowardZero));
  const Semantics down = Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kDown));
  const Semantics up = Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kUp)), near = Semantics::ieee();
  std::mt19937_64 random(11);
  for (int k = 0; k < 400000; ++k) {
    const uint32_t a = operand(random), b = operand(random);
    // Often a sum that nearly cancels.
    const uint32_t c = k % 4 ? operand(random) : bits(-(value(a) * value(b))) + static_cast<uint32_t>(random() % 3);
    const float x = value(a), y = value(b), z = value(c);
    ASSERT_TRUE(same(serial_grid::add_rz(x, y), fp::add(kFp32, a, b, zero).code)) << std::hex << a << " " << b;
    ASSERT_TRUE(same(serial_grid::sub_rz(x, y), fp::sub(kFp32, a, b, zero).code)) << std::hex << a << " " << b;
    ASSERT_TRUE(same(serial_grid::mul_rz(x, y), fp::mul(kFp32, a, b, zero).code)) << std::hex << a << " " << b;
    ASSERT_TRUE(same(serial_grid::div_rz(x, y), fp::div(kFp32, a, b, zero).code)) << std::hex << a << " " << b;
    ASSERT_TRUE(same(serial_grid::sqrt_rz(x), fp::sqrt(kFp32, a, zero).code)) << std::hex << a;
    ASSERT_TRUE(same(serial_grid::fma_rz(x, y, z), fp::fma(kFp32, a, b, c, zero).code))
        << std::hex << a << " " << b << " " << c;
    ASSERT_TRUE(same(serial_grid::fma_rd(x, y, z), fp::fma(kFp32, a, b, c, down).code))
        << std::hex << a << " " << b << " " << c;
    ASSERT_TRUE(same(serial_grid::fma_ru(x, y, z), fp::fma(kFp32, a, b, c, up).code))
        << std::hex << a << " " << b << " " << c;
    ASSERT_TRUE(same(serial_grid::fma_rn(x, y, z), fp::fma(kFp32, a, b, c, near).code))
        << std::hex << a << " " << b << " " << c;
    ASSERT_TRUE(same(serial_grid::add_rn(x, y), fp::add(kFp32, a, b, near).code));
    ASSERT_TRUE(same(serial_grid::div_rn(x, y), fp::div(kFp32, a, b, near).code));
    ASSERT_TRUE(same(serial_grid::sqrt_rn(x), fp::sqrt(kFp32, a, near).code));
  }
}

// tests: N407
TEST(Primitives, ConvertHalves) {
  RoundingPolicy p;
  p.nan = NanPattern::kAllOnes;
  const Semantics nearest = Semantics::ieee(p);
  p.mode = RoundingMode::kTowardZero;
  const Semantics zero = Semantics::ieee(p);
  for (const uint32_t code : patterns(3, 300)) {
    ASSERT_EQ(serial_grid::half_of_rn(value(code)), fp::convert(kFp32, kFp16, code, nearest).code) << std::hex << code;
    ASSERT_EQ(serial_grid::half_of_rz(value(code)), fp::convert(kFp32, kFp16, code, zero).code) << std::hex << code;
    if (kFp32.is_nan(code)) continue;
    ASSERT_EQ(serial_grid::bf16_of_rn(value(code)), fp::convert(kFp32, kBf16, code, nearest).code) << std::hex << code;
    if (!kFp32.is_infinity(code)) {
      ASSERT_EQ(serial_grid::bf16_of_rz(value(code)), fp::convert(kFp32, kBf16, code, zero).code) << std::hex << code;
    }
  }
  for (uint32_t code = 0; code < 0x10000u; ++code) {
    ASSERT_TRUE(same(serial_grid::float_of_half(code), fp::convert(kFp16, kFp32, code, nearest).code))
        << std::hex << code;
    ASSERT_TRUE(same(serial_grid::float_of_bf16(code), fp::convert(kBf16, kFp32, code, nearest).code))
        << std::hex << code;
  }
}

// tests: N411
TEST(Primitives, PackedHalvesRoundOnce) {
  RoundingPolicy p;
  p.nan = NanPattern::kAllOnes;
  const Semantics s = Semantics::ieee(p);
  std::mt19937_64 random(13);
  const auto packed = [](uint64_t low, uint64_t high) { return static_cast<uint32_t>(low | high << 16); };
  for (int k = 0; k < 300000; ++k) {
    const uint64_t draw = random(), more = random();
    const uint32_t a = static_cast<uint32_t>(draw), b = static_cast<uint32_t>(draw >> 32),
                   c = static_cast<uint32_t>(more);
    const uint64_t a0 = a & 0xFFFFu, a1 = a >> 16, b0 = b & 0xFFFFu, b1 = b >> 16, c0 = c & 0xFFFFu, c1 = c >> 16;
    ASSERT_EQ(serial_grid::halves_add_rn(a, b), packed(fp::add(kFp16, a0, b0, s).code, fp::add(kFp16, a1, b1, s).code));
    ASSERT_EQ(serial_grid::halves_mul_rn(a, b), packed(fp::mul(kFp16, a0, b0, s).code, fp::mul(kFp16, a1, b1, s).code));
    ASSERT_EQ(serial_grid::halves_fma_rn(a, b, c),
              packed(fp::fma(kFp16, a0, b0, c0, s).code, fp::fma(kFp16, a1, b1, c1, s).code));
  }
}

TEST(Primitives, WordsAreTheEnvironments) {
  std::vector<uint32_t> table(64);
  for (uint32_t k = 0; k < 64; ++k) table[k] = k * 2654435761u;
  for (const int rounds : {10, 7})
    for (const bool tables : {false, true})
      for (const int r : {1, 13, 16, 17, 32})
        for (const uint64_t first : {uint64_t{0}, uint64_t{24}, product_index(tables ? 1 : 5, 16)}) {
          kernel::Environment e;
          e.random = {0x123456789ABCDEFull, rounds, 3};
          e.step = 9;
          e.operation = 5;
          if (tables) e.table[1] = {table.data(), 32};
          const RoundingPolicy p = RoundingPolicy::stochastic_carry(r);
          const uint32_t mask = ~0u >> (32 - r);
          const serial_grid::RandomWords words = serial_grid::random_words(e, 1, first, r);
          for (uint64_t k = 0; k < 8; ++k) {
            EXPECT_EQ(words.word[k] & mask, e.draw(p, 1, first + k) & mask);
            EXPECT_EQ(serial_grid::random_word(e, e.step, 1, first + k, r) & mask, e.draw(p, 1, first + k) & mask);
          }
        }
}

}  // namespace
}  // namespace softamp
