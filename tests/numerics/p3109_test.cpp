// P3109's formats: values and projections that its report and gfloat give, and agreement with FloatFormat.
#include "softamp/numerics/p3109.h"

#include <gtest/gtest.h>

#include <cmath>

#include "softamp/numerics/convert.h"

namespace softamp::p3109 {
namespace {

Format named(const char* name) { return format_from_name(name).value(); }
double value(const Format& f, uint64_t code) {
  const Exact x = exact(f, code);
  return std::ldexp(static_cast<double>(x.significand), x.exponent) * (x.negative ? -1 : 1);
}
uint64_t projected(const Format& f, double x, Saturation s, const RoundingPolicy& p = {}, uint32_t random = 0) {
  if (std::isinf(x)) return project_infinity(f, x < 0, s);
  return project(f, detail::unpack_finite(kBinary64, __builtin_bit_cast(uint64_t, x)), p, s, random);
}

// tests: N463
TEST(P3109, ValuesOfTheReport) {
  const Format p4 = named("Binary8p4se"), p3 = named("p3109_k8p3se"), small = named("Binary4p2sf"),
               six = named("Binary6p3sf"), scale = named("Binary8p1uf");
  EXPECT_EQ(value(p4, 0x48), 2);
  EXPECT_TRUE(p4.is_infinity(0x7F) && p4.is_infinity(0xFF) && p4.is_nan(0x80) && !p4.is_infinity(0x80));
  EXPECT_EQ(value(p4, 1), 0x1p-10);
  EXPECT_EQ(value(p4, 8), 0x1p-7);
  EXPECT_EQ(value(p4, 0x7E), 224);
  EXPECT_EQ(value(p3, 1), 0x1p-17);
  EXPECT_EQ(value(p3, 4), 0x1p-15);
  EXPECT_EQ(value(p3, 0x40), 1);
  EXPECT_EQ(value(p3, 0x7D), 40960);
  EXPECT_EQ(value(p3, 0x7E), 49152);
  const double of_four[] = {0, .25, .5, .75, 1, 1.5, 2, 3};
  for (uint64_t c = 0; c < 8; ++c) EXPECT_EQ(value(small, c), of_four[c]);
  EXPECT_TRUE(small.is_nan(8));
  EXPECT_EQ(value(six, 1), 0x1p-5);
  EXPECT_EQ(value(six, 0x10), 1);
  EXPECT_EQ(value(six, 0x1F), 14);
  EXPECT_TRUE(six.is_nan(0x20));
  EXPECT_EQ(value(scale, 0), 0);
  EXPECT_EQ(value(scale, 1), 0x1p-127);
  EXPECT_EQ(value(scale, 0x80), 1);
  EXPECT_EQ(value(scale, 0xFE), 0x1p126);
  EXPECT_TRUE(scale.is_nan(0xFF));
  for (const char* none : {"Binary8p8se", "Binary8p0se", "Binary8p4", "Binary8p4sx", "Binary2p1se", "e4m3", "Binary8"})
    EXPECT_FALSE(format_from_name(none)) << none;
}

// tests: N464
TEST(P3109, ProjectionsAsGfloatHasThem) {
  const Format f = named("Binary8p4se");
  const struct {
    double x;
    uint64_t none, finite;
  } lines[] = {{232, 0x7E, 0x7E}, {240, 0x7F, 0x7E}, {INFINITY, 0x7F, 0x7E}, {0x1p-11, 0, 0}, {-0., 0, 0}};
  for (const auto& l : lines) {
    EXPECT_EQ(projected(f, l.x, Saturation::kNone), l.none) << l.x;
    EXPECT_EQ(projected(f, l.x, Saturation::kFinite), l.finite) << l.x;
  }
  EXPECT_EQ(projected(f, INFINITY, Saturation::kPropagate), 0x7Fu);
  EXPECT_EQ(projected(f, 1e9, Saturation::kPropagate), 0x7Eu);
  EXPECT_EQ(projected(f, -1e300, Saturation::kNone), 0xFFu);
  EXPECT_EQ(projected(f, 1e9, Saturation::kNone, RoundingPolicy::ieee(RoundingMode::kTowardZero)), 0x7Eu);
  EXPECT_EQ(projected(f, -1e9, Saturation::kNone, RoundingPolicy::ieee(RoundingMode::kUp)), 0xFEu);
  EXPECT_EQ(projected(f, 1e9, Saturation::kNone, RoundingPolicy::ieee(RoundingMode::kDown)), 0x7Eu);
  EXPECT_EQ(projected(f, -1e9, Saturation::kNone, RoundingPolicy::ieee(RoundingMode::kDown)), 0xFFu);
  const Format finite = named("Binary8p4sf");
  EXPECT_EQ(projected(finite, INFINITY, Saturation::kNone), 0x7Fu);
  EXPECT_EQ(value(finite, 0x7F), 240);
}

TEST(P3109, OneBitOfPrecisionAndNoSign) {
  const Format f = named("Binary8p1uf");
  // Ties, 1.5 2^k, go to the even code.
  EXPECT_EQ(projected(f, 1.5, Saturation::kNone), 0x80u);
  EXPECT_EQ(projected(f, 3, Saturation::kNone), 0x82u);
  EXPECT_EQ(projected(f, 0x1p-128, Saturation::kNone), 0u);
  EXPECT_EQ(projected(f, 0x1.8p-127, Saturation::kNone), 2u);
  EXPECT_EQ(projected(f, 1.25, Saturation::kNone, RoundingPolicy::ieee(RoundingMode::kUp)), 0x81u);
  EXPECT_EQ(projected(f, 1.25, Saturation::kNone, RoundingPolicy::ieee(RoundingMode::kOdd)), 0x81u);
  EXPECT_EQ(projected(f, -1, Saturation::kNone), 0xFFu);
  EXPECT_EQ(projected(f, -1, Saturation::kFinite), 0u);
  EXPECT_EQ(projected(f, -INFINITY, Saturation::kPropagate), 0u);
  EXPECT_EQ(projected(f, 0x1p127, Saturation::kNone), 0xFEu);
}

// Every code of every format comes back.
// tests: N463
TEST(P3109, EveryFormatsCodes) {
  for (int k = 3; k <= 10; ++k)
    for (int p = 1; p <= k; ++p)
      for (const bool with_sign : {false, true})
        for (const bool extended : {false, true}) {
          const Format f{k, p, with_sign, extended};
          if (!f.valid()) continue;
          for (uint64_t c = 0; c < f.codes(); ++c) {
            if (f.is_nan(c) || f.is_infinity(c)) continue;
            for (const RoundingMode mode : {RoundingMode::kNearestEven, RoundingMode::kUp, RoundingMode::kOdd})
              ASSERT_EQ(project(f, exact(f, c), RoundingPolicy::ieee(mode), Saturation::kNone), c)
                  << k << ' ' << p << ' ' << with_sign << extended;
          }
        }
}

// Binary8p4sf and Binary8p3sf are formats of ours: every half, in every mode.
// tests: N465
TEST(P3109, AgreesWithFloatFormat) {
  const std::pair<Format, FloatFormat> same[] = {{named("Binary8p4sf"), kF143}, {named("Binary8p3sf"), kF152}};
  for (const auto& [f, ours] : same)
    for (int mode = 0; mode < 7; ++mode) {
      RoundingPolicy policy = RoundingPolicy::saturating();
      policy.mode = static_cast<RoundingMode>(mode);
      for (uint32_t code = 0; code < 0x7C00; ++code)
        for (const uint32_t sign : {0u, 0x8000u}) {
          const Exact x = detail::unpack_finite(kFp16, code | sign);
          ASSERT_EQ(project(f, x, policy, Saturation::kFinite, code * 77),
                    round_and_pack(ours, x, policy, code * 77).code)
              << mode << ' ' << code;
        }
    }
}

}  // namespace
}  // namespace softamp::p3109
