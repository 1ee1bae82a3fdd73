// Half and BFloat16 as value types: conversions, operators, limits, literals, streams.
#include "softamp/numerics/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <limits>
#include <sstream>

#include "softamp/numerics/half_io.h"

namespace softamp {
namespace {
using literals::operator""_h;
using literals::operator""_bf16;

static_assert(!std::convertible_to<float, Half> && !std::convertible_to<Half, float>);
static_assert(!std::convertible_to<int, Half> && !std::convertible_to<Half, BFloat16>);
static_assert(std::is_trivially_copyable_v<Half> && sizeof(Half) == 2 && sizeof(BFloat16) == 2);
static_assert((0.0001_h).bits() == 1678 && (1.0_bf16).bits() == 0x3F80);
static_assert((0x1.a38p-14_h).bits() == 1678 && (65504_h).bits() == 0x7BFF);

// tests: G01
TEST(Half, EveryCodeGoesToFloatAndBack) {  // TUTORIAL G01: 1, 5 and 10 bits, subnormal numbers too
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half x = Half::from_bits(static_cast<uint16_t>(bits));
    if (isnan(x)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(x)));
      continue;
    }
    const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
    const double magnitude = exponent == 31  ? INFINITY
                             : exponent == 0 ? std::ldexp(fraction, -24)
                                             : std::ldexp(1024 + fraction, exponent - 25);
    EXPECT_EQ(static_cast<double>(static_cast<float>(x)), bits & 0x8000 ? -magnitude : magnitude) << bits;
    EXPECT_EQ(std::signbit(static_cast<float>(x)), (bits & 0x8000) != 0) << bits;
    EXPECT_EQ(Half(static_cast<float>(x)).bits(), bits);
    EXPECT_EQ(Half(static_cast<double>(x)).bits(), bits);
    EXPECT_EQ(isinf(x), std::isinf(static_cast<float>(x)));
  }
}

// tests: G01
TEST(Half, FloatsAroundEveryMidpoint) {
  // TUTORIAL G01
  for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const double low = fp::to_double(kFp16, bits), high = fp::to_double(kFp16, bits + 1);
    const float middle = static_cast<float>((low + high) / 2);  // exact: one bit more than fp16
    EXPECT_EQ(Half(std::nextafter(middle, 0.0F)).bits(), bits);
    EXPECT_EQ(Half(std::nextafter(middle, 1e9F)).bits(), bits + 1);
    EXPECT_EQ(Half(middle).bits(), bits + (bits & 1));
    EXPECT_EQ(Half(-middle).bits(), 0x8000 | (bits + (bits & 1)));
  }
}

TEST(Half, OperatorsRoundOnce) {
  EXPECT_EQ((1.0_h + 0.0004_h).bits(), 0x3C00);
  EXPECT_EQ((0.0004_h + 0.25_h - 0.25_h), 0.00048828125_h);
  EXPECT_TRUE(isinf(60000_h + 60000_h));
  EXPECT_TRUE(isnan(Half(INFINITY) - Half(INFINITY)));
  Half x = 3_h;
  x += 1_h;
  x *= 2_h;
  x -= 2_h;
  x /= 4_h;
  EXPECT_EQ(x, 1.5_h);
  EXPECT_EQ(sqrt(2.25_h), 1.5_h);
  EXPECT_EQ(fma(2_h, 3_h, 0.5_h), 6.5_h);
  EXPECT_EQ(abs(-x), x);
  EXPECT_TRUE(signbit(-x) && !signbit(+x));
  EXPECT_EQ(Half(INT32_MAX).bits(), 0x7C00);
  EXPECT_EQ(Half(2049).bits(), 0x6800);
}

TEST(Half, ComparesValues) {
  const Half nan = std::numeric_limits<Half>::quiet_NaN();
  EXPECT_EQ(-0.0_h, 0.0_h);
  EXPECT_NE(nan, nan);
  EXPECT_FALSE(nan < 1_h || nan > 1_h || nan <= 1_h || nan >= nan);
  EXPECT_TRUE((nan <=> 1_h) == std::partial_ordering::unordered);
  EXPECT_TRUE(-1_h < 1_h && 1_h <= 1_h && 2_h > 1_h && -2_h < -1_h);
}

template <class T>
class Limits : public ::testing::Test {};
using Types = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(Limits, Types);

// tests: G01
TYPED_TEST(Limits, FollowTheirDefinitions) {
  // TUTORIAL G01
  using L = std::numeric_limits<TypeParam>;
  const auto value = [](TypeParam x) { return static_cast<double>(x); };
  EXPECT_EQ(value(L::epsilon()), std::ldexp(1, 1 - L::digits));
  EXPECT_EQ(value(L::min()), std::ldexp(1, L::min_exponent - 1));
  EXPECT_EQ(value(L::max()), std::ldexp(1 - std::ldexp(1, -L::digits), L::max_exponent));
  EXPECT_EQ(value(L::lowest()), -value(L::max()));
  EXPECT_EQ(value(L::denorm_min()), value(L::min()) * value(L::epsilon()));
  EXPECT_EQ(value(L::round_error()), 0.5);
  EXPECT_TRUE(isinf(L::infinity()) && isnan(L::quiet_NaN()) && isnan(L::signaling_NaN()));
  EXPECT_EQ(L::digits10, static_cast<int>((L::digits - 1) * std::log10(2.0)));
  EXPECT_EQ(L::max_digits10, static_cast<int>(std::ceil(1 + L::digits * std::log10(2.0))));
  EXPECT_EQ(L::min_exponent10, static_cast<int>(std::ceil(std::log10(value(L::min())))));
  EXPECT_EQ(L::max_exponent10, static_cast<int>(std::floor(std::log10(value(L::max())))));
}

TEST(Half, Streams) {
  std::ostringstream out;
  out << 0.1_h << ' ' << -65504_h << ' ' << 1.5_bf16;
  EXPECT_EQ(out.str(), "0.0999756 -65504 1.5");
  Half x = 7_h;
  std::istringstream in("0.1 1e9 junk");
  EXPECT_TRUE(in >> x && x.bits() == 0x2E66);
  EXPECT_TRUE(in >> x && isinf(x));
  EXPECT_FALSE(in >> x);
  EXPECT_TRUE(isinf(x)) << "a failed read leaves the value alone";
}

TEST(Half, MaxDigits10TellsAnyTwoApart) {
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    std::ostringstream out;
    out.precision(std::numeric_limits<Half>::max_digits10);
    out << Half::from_bits(static_cast<uint16_t>(bits));
    std::istringstream in(out.str());
    Half back;
    ASSERT_TRUE(in >> back);
    EXPECT_EQ(back.bits(), bits) << out.str();
  }
}

}  // namespace
}  // namespace softamp
