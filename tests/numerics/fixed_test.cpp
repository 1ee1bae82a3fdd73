// Fixed point is data too: quantum, least, greatest; the same rounding modes, saturation with overflow.
#include <gtest/gtest.h>

#include <cmath>

#include "softamp/numerics/round.h"

namespace softamp {
namespace {

constexpr FixedFormat kQ3_12{-12, -32768, 32767};  // 16 bits, 12 after the point

RoundedInteger round(double x, const RoundingPolicy& p = {}, uint32_t random = 0) {
  int exponent = 0;
  const double mantissa = std::frexp(std::fabs(x), &exponent);
  return round_to_fixed(kQ3_12, {std::signbit(x), exponent - 53, static_cast<uint64_t>(std::ldexp(mantissa, 53))}, p,
                        random);
}

// tests: N11
TEST(Fixed, NearestAndDirected) {
  const double quantum = std::ldexp(1, -12);
  EXPECT_EQ(round(1.0).value, 4096);
  EXPECT_EQ(round(1.0).flags, 0);
  EXPECT_EQ(round(2.5 * quantum).value, 2);
  EXPECT_EQ(round(3.5 * quantum).value, 4);
  EXPECT_EQ(round(2.5 * quantum).flags, kInexact);
  EXPECT_EQ(round(2.5 * quantum, RoundingPolicy::ieee(RoundingMode::kNearestAway)).value, 3);
  EXPECT_EQ(round(-2.1 * quantum, RoundingPolicy::ieee(RoundingMode::kDown)).value, -3);
  EXPECT_EQ(round(-2.9 * quantum, RoundingPolicy::ieee(RoundingMode::kUp)).value, -2);
  EXPECT_EQ(round(-2.9 * quantum, RoundingPolicy::ieee(RoundingMode::kTowardZero)).value, -2);
  EXPECT_EQ(round(1e-30).value, 0);
  EXPECT_EQ(round(1e-30).flags, kInexact);
  EXPECT_EQ(round(1e-30, RoundingPolicy::ieee(RoundingMode::kUp)).value, 1);
}

// tests: N7
TEST(Fixed, SaturatesWithOverflow) {
  EXPECT_EQ(round(32767 * std::ldexp(1, -12)).value, 32767);
  EXPECT_EQ(round(32767.49 * std::ldexp(1, -12)).flags, kInexact);
  for (const double big : {8.0, 32767.5 * std::ldexp(1, -12), 1e10, 1e300}) {
    EXPECT_EQ(round(big).value, 32767);
    EXPECT_EQ(round(big).flags, kOverflow | kInexact);
  }
  EXPECT_EQ(round(-8.0).value, -32768);
  EXPECT_EQ(round(-8.0).flags, 0);
  EXPECT_EQ(round(-8.001).value, -32768);
  EXPECT_EQ(round(-8.001).flags, kOverflow | kInexact);
  EXPECT_EQ(round(-1e300).value, -32768);
}

TEST(Fixed, StochasticCountsAreExact) {
  for (int sixteenths = 0; sixteenths < 16; ++sixteenths)
    for (const double sign : {1.0, -1.0}) {
      int away = 0;
      for (uint32_t random = 0; random < 256; ++random) {
        const double x = sign * (100 + sixteenths / 16.0) * std::ldexp(1, -12);
        away += round(x, RoundingPolicy::stochastic_carry(8), random).value != (sign > 0 ? 100 : -100);
      }
      EXPECT_EQ(away, sixteenths * 16);
    }
}

}  // namespace
}  // namespace softamp
