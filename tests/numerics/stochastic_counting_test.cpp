// Stochastic rounding proven by counting: for a remainder d, all 2^r random numbers are tried, and exactly as many go
// up as the formula says. N12 and N13 in integers: d = rest / 2^D.
//   carry  floor(d 2^r)
//   half   floor((floor(d 2^(r+1)) + 1) / 2)
//   rne    d 2^r to the nearest integer, ties to even
//   odd    d 2^r to the nearest integer, ties to odd
// The numerator above 2^r is the probability, so nothing is left to sampling.
#include <gtest/gtest.h>

#include <vector>

#include "softamp/numerics/convert.h"
#include "tests/oracle/counting.h"

namespace {

using namespace softamp;
using oracle::numbers_that_go_up;
using oracle::Remainder;

constexpr const char* kNames[] = {"carry", "half", "rne", "odd"};

Semantics semantics(int r, StochasticVariant v, Overflow overflow = Overflow::kSaturate) {
  RoundingPolicy p = RoundingPolicy::stochastic_carry(r);
  p.variant = v;
  p.overflow = overflow;
  return Semantics::ieee(p);
}

/// Counts by trying every number; also requires that the greater numbers are those that go up.
/// `magnitude` is the lower neighbour's code, the binary64 `x` lies in the gap above it.
uint64_t counted(const FloatFormat& f, double x, uint64_t lower, const Semantics& s, int r) {
  uint64_t up = 0;
  bool before = false;
  for (uint64_t n = 0; n < uint64_t{1} << r; ++n) {
    const uint64_t code = fp::convert(kBinary64, f, __builtin_bit_cast(uint64_t, x), s, static_cast<uint32_t>(n)).code;
    const bool went_up = code == lower + 1;
    EXPECT_TRUE(went_up || code == lower) << x << " random " << n << " gave code " << code << ", above code " << lower;
    EXPECT_TRUE(went_up || !before) << x << " random " << n << ": a smaller number went up";
    before = went_up;
    up += went_up;
  }
  return up;
}

/// All 2^D remainders in the gap above `lower`, all 2^r numbers, all variants, both signs.
void count_gap(const FloatFormat& f, uint64_t lower, int r, int remainder_bits) {
  const double low = fp::to_double(f, lower), quantum = fp::to_double(f, lower + 1) - low;
  for (int v = 0; v < 4; ++v) {
    const Semantics s = semantics(r, static_cast<StochasticVariant>(v));
    for (uint64_t rest = 0; rest < uint64_t{1} << remainder_bits; ++rest) {
      const Remainder d{rest, remainder_bits};
      const double x = low + quantum * d.fraction();  // exact: 24 + 17 bits at most
      const uint64_t expected = numbers_that_go_up(static_cast<StochasticVariant>(v), d, r);
      ASSERT_EQ(counted(f, x, lower, s, r), expected)
          << kNames[v] << " r " << r << " code " << lower << " remainder " << rest << "/2^" << remainder_bits;
      if (rest % 7 == 1) {  // the other sign: the same numbers
        const uint64_t threshold = (uint64_t{1} << r) - expected;
        for (const uint64_t n : {threshold - 1, threshold}) {
          if (n >= uint64_t{1} << r) continue;
          const uint64_t code =
              fp::convert(kBinary64, f, __builtin_bit_cast(uint64_t, -x), s, static_cast<uint32_t>(n)).code;
          const uint64_t magnitude = lower + (n >= threshold);
          const bool no_such_zero = magnitude == 0 && !f.has_negative_zero();
          ASSERT_EQ(code, no_such_zero ? 0 : magnitude | f.sign_mask()) << kNames[v] << " -x, random " << n;
        }
      }
    }
  }
}

/// Gaps where something changes: the first subnormals, the last subnormal (its upper end is the least normal number),
/// the first normals, around 1 from below (a carry into the next binade) and from above, the last gap below `max`.
std::vector<uint64_t> telling_gaps(const FloatFormat& f) {
  const uint64_t one = static_cast<uint64_t>(f.bias) << f.mantissa_bits();
  return {0, 1, f.min_normal_code() - 1, f.min_normal_code(), one - 1, one, f.max_finite_code() - 1};
}

// tests: N12, N13, N15
TEST(StochasticCounting, FewBitsEveryTellingGap) {
  for (const FloatFormat f : {kFp16, kBf16, kE4m3, kE5m2, kF143, kF152})
    for (const int r : {1, 2, 3, 4})
      for (const uint64_t gap : telling_gaps(f)) count_gap(f, gap, r, r + 3);
}
// tests: N12, N13
TEST(StochasticCounting, EightBits) {
  for (const uint64_t gap : telling_gaps(kFp16)) count_gap(kFp16, gap, 8, 10);
}
TEST(StochasticCounting, ElevenBits) {
  for (const uint64_t gap : {uint64_t{0}, uint64_t{0x3FF}, uint64_t{0x3BFF}}) count_gap(kFp16, gap, 11, 11);
}

/// An exactly representable number never moves, whatever the number: every fp16 code, the extreme numbers.
// tests: G11, N14
TEST(StochasticCounting, ExactValuesNeverMove) {
  // TUTORIAL G11
  for (int v = 0; v < 4; ++v)
    for (const int r : {1, 8, 13, 16, 32}) {
      const Semantics s = semantics(r, static_cast<StochasticVariant>(v));
      for (uint64_t code = 0; code < 0x10000; ++code) {
        if (!kFp16.is_finite(code)) continue;
        const uint64_t wide = fp::convert(kFp16, kBinary64, code, Semantics::ieee()).code;
        for (const uint32_t random : {0u, 1u, 0xFFFFFFFFu}) {
          const Rounded got = fp::convert(kBinary64, kFp16, wide, s, random);
          ASSERT_EQ(got.code, code) << kNames[v] << " r " << r << " random " << random;
          ASSERT_EQ(int{got.flags}, 0);
        }
      }
    }
}

/// x in (65504, 65536) overflows exactly for the numbers that carry; from 65536 always; at 65504 never.
// tests: N20
TEST(StochasticCounting, OverflowEdge) {
  for (const int r : {1, 4, 8, 11}) {
    for (int v = 0; v < 4; ++v) {
      const auto variant = static_cast<StochasticVariant>(v);
      const int bits = r + 2;
      for (uint64_t rest = 0; rest <= uint64_t{1} << bits; rest += 1 + rest / 64) {
        const Remainder d{rest, bits};
        const double x = 65504 + 32 * d.fraction();
        const uint64_t all = uint64_t{1} << r;
        const uint64_t expected = rest == uint64_t{1} << bits ? all : numbers_that_go_up(variant, d, r);
        for (const Overflow overflow : {Overflow::kInfinity, Overflow::kSaturate, Overflow::kNan}) {
          const Semantics s = semantics(r, variant, overflow);
          const uint64_t beyond = overflow == Overflow::kInfinity ? 0x7C00
                                  : overflow == Overflow::kNan    ? 0x7E00
                                                                  : 0x7BFF;
          uint64_t overflowed = 0;
          for (uint64_t n = 0; n < all; ++n) {
            const Rounded got =
                fp::convert(kBinary64, kFp16, __builtin_bit_cast(uint64_t, x), s, static_cast<uint32_t>(n));
            const bool over = (got.flags & kOverflow) != 0;
            overflowed += over;
            ASSERT_EQ(got.code, over ? beyond : 0x7BFF) << x << " random " << n;
            ASSERT_EQ((got.flags & kInexact) != 0, rest != 0) << x << " random " << n;
          }
          ASSERT_EQ(overflowed, expected) << kNames[v] << " r " << r << " x " << x;
        }
      }
    }
  }
}

/// Only the low r bits of the word are read.
// tests: N15
TEST(StochasticCounting, HigherBitsOfTheWordAreIgnored) {
  for (const int r : {1, 5, 13, 16, 31}) {
    const Semantics s = semantics(r, StochasticVariant::kCarry);
    for (const double x : {1.0 + 0x1p-11, 1.0 + 0x1.8p-11, 0x1.7p-24, 65519.0})
      for (uint32_t n = 0; n < 64; ++n) {
        const uint32_t low = n * 0x9E3779B9u & ((1u << r) - 1);
        const auto code = [&](uint32_t word) {
          return fp::convert(kBinary64, kFp16, __builtin_bit_cast(uint64_t, x), s, word).code;
        };
        ASSERT_EQ(code(low), code(low | ~((1u << r) - 1))) << x << " r " << r;
      }
  }
}

/// Mean of (rounded - exact) in quanta over all 2^D remainders and all 2^N numbers, as an exact fraction:
/// carry 2^-(D+1) - 2^-(N+1) for D >= N; half 2^-(D+1) for D >= N + 1; rne 0 (Fitzgibbon and Felix, ARITH 2025).
// tests: G11, N17
TEST(StochasticCounting, BiasIsTheRationalOfTheFormula) {
  // TUTORIAL G11
  const double low = 1.0, quantum = 0x1p-10;
  for (const int bits : {8, 9, 10, 11, 12})
    for (const int r : {1, 2, 4, 7, 8}) {
      for (const auto variant : {StochasticVariant::kCarry, StochasticVariant::kHalf, StochasticVariant::kRne}) {
        if (variant == StochasticVariant::kHalf && bits < r + 1) continue;
        const Semantics s = semantics(r, variant);
        // In units of 2^-(bits + r): sum over cases of (up 2^bits - rest) 2^r, each case of weight one.
        int64_t total = 0;
        for (uint64_t rest = 0; rest < uint64_t{1} << bits; ++rest) {
          const double x = low + quantum * Remainder{rest, bits}.fraction();
          for (uint64_t n = 0; n < uint64_t{1} << r; ++n) {
            const uint64_t code =
                fp::convert(kBinary64, kFp16, __builtin_bit_cast(uint64_t, x), s, static_cast<uint32_t>(n)).code;
            total += static_cast<int64_t>((code - 0x3C00) << bits) - static_cast<int64_t>(rest);
          }
        }
        // mean = total / 2^bits / (2^bits 2^r); times 2^(bits + r + 1): an integer on the right-hand side
        const int64_t scale = int64_t{1} << bits;
        int64_t expected = 0;  // mean 2^(bits + r + 1)
        if (variant == StochasticVariant::kCarry) expected = (int64_t{1} << r) - (int64_t{1} << bits);
        if (variant == StochasticVariant::kHalf) expected = int64_t{1} << r;
        ASSERT_EQ(total * 2, expected * scale) << kNames[static_cast<int>(variant)] << " D " << bits << " N " << r;
      }
    }
}

}  // namespace
