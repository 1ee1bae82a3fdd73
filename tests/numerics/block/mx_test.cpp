// MX blocks: known lines of torchao, microxcaling, TransformerEngine and gfloat, and the edges of each rule.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "softamp/numerics/block/mx.h"

namespace softamp::block {
namespace {

using Codes = std::vector<int>;

const Element kE4{kE4m3}, kE5{kE5m2}, kE3{kE3m2}, kE2m3Element{kE2m3}, kE2{kE2m1}, kInt8 = Element::int8();
constexpr ScaleRule kRules[] = {ScaleRule::kFloor, ScaleRule::kCeil, ScaleRule::kEven, ScaleRule::kRceil};

uint32_t word(double x) { return __builtin_bit_cast(uint32_t, static_cast<float>(x)); }
std::vector<uint32_t> words(const std::vector<double>& values) {
  std::vector<uint32_t> all;
  for (const double x : values) all.push_back(word(x));
  return all;
}

struct Quantised {
  uint32_t scale;
  Codes codes;
  std::vector<double> values;
};
Quantised quantised(const Element& e, const std::vector<uint32_t>& x, const MxRules& rules) {
  std::vector<uint8_t> codes(x.size());
  Quantised q{mx_quantize(e, x.data(), static_cast<int>(x.size()), codes.data(), rules).scale, {}, {}};
  for (const uint8_t c : codes) {
    q.codes.push_back(c);
    q.values.push_back(__builtin_bit_cast(float, mx_value(e, q.scale, c)));
  }
  return q;
}
Quantised quantised(const Element& e, const std::vector<double>& x, ScaleRule rule = ScaleRule::kFloor) {
  MxRules rules;
  rules.scale = rule;
  return quantised(e, words(x), rules);
}
Codes scales(const Element& e, uint32_t amax) {
  Codes all;
  for (const ScaleRule rule : kRules) {
    MxRules rules;
    rules.scale = rule;
    all.push_back(static_cast<int>(mx_scale(e, amax, rules)));
  }
  return all;
}
std::vector<double> filled(double first, double rest, size_t n = 32) {
  std::vector<double> all(n, rest);
  all[0] = first;
  return all;
}

// tests: N445
TEST(E8m0, NamedRoundings) {
  using e8m0::from_fp32, e8m0::Rounding, e8m0::Beyond;
  const struct {
    uint32_t code, byte;
  } up[] = {{0, 0},
            {1, 0},
            {0x400000, 0},
            {0x400001, 1},
            {0x7FFFFF, 1},
            {0x800000, 1},
            {0x1F800000, 0x3F},
            {0x1F800001, 0x40},
            {0x3F7FFFFF, 0x7F},
            {0x3F800000, 0x7F},
            {0x3F800001, 0x80},
            {0x5F800000, 0xBF},
            {0x5F800001, 0xC0},
            {0x7F000000, 0xFE},
            {0x7F000001, 0xFF},
            {0x7F7FFFFF, 0xFF},
            {0x7F800000, 0xFF},
            {0x7FC00000, 0xFF}};
  for (const auto& [code, byte] : up) {
    EXPECT_EQ(from_fp32(code, Rounding::kUp), byte) << std::hex << code;
    EXPECT_EQ(from_fp32(code, Rounding::kUp, Beyond::kToLargest), byte == 0xFF && code <= 0x7F800000 ? 0xFE : byte);
  }
  Codes nearest, above, below;
  for (const double x : {1., 1.125, 1.25, 1.375, 1.5, 1.75}) {
    above.push_back(static_cast<int>(from_fp32(word(x), Rounding::kUp)));
    below.push_back(static_cast<int>(from_fp32(word(-x), Rounding::kDown)));
    nearest.push_back(static_cast<int>(from_fp32(word(x), Rounding::kNearest)));
  }
  EXPECT_EQ(above, (Codes{0x7F, 0x80, 0x80, 0x80, 0x80, 0x80}));
  EXPECT_EQ(below, Codes(6, 0x7F));
  EXPECT_EQ(nearest, (Codes{0x7F, 0x7F, 0x7F, 0x7F, 0x80, 0x80}));
  for (const Rounding r : {Rounding::kDown, Rounding::kUp, Rounding::kNearest}) {
    EXPECT_EQ(from_fp32(0x7F800000, r), 0xFFu);
    EXPECT_EQ(from_fp32(0xFF800000, r), 0xFFu);
    EXPECT_EQ(from_fp32(0x7FC00000, r), 0xFFu);
    EXPECT_EQ(from_fp32(0x80000000, r), 0u);
  }
  // Every byte's value comes back, and the reciprocal of a scale is a scale.
  for (uint32_t b = 0; b < 255; ++b) {
    EXPECT_EQ(__builtin_bit_cast(float, e8m0::fp32_code(b)), std::ldexp(1.F, static_cast<int>(b) - 127));
    for (const Rounding r : {Rounding::kDown, Rounding::kUp, Rounding::kNearest})
      EXPECT_EQ(from_fp32(e8m0::fp32_code(b), r), b);
    EXPECT_EQ(__builtin_bit_cast(float, e8m0::fp32_code(e8m0::reciprocal(b))),
              std::ldexp(1.F, 127 - static_cast<int>(b)));
  }
  EXPECT_TRUE(std::isnan(__builtin_bit_cast(float, e8m0::fp32_code(0xFF))));
  EXPECT_EQ(e8m0::reciprocal(0xFF), 0xFFu);
}

/// The scale of a finite x by its definition, on numbers.
uint32_t scale_by_definition(double x, e8m0::Rounding rounding, uint32_t beyond) {
  const double a = std::abs(x);
  int e = a < 0x1p-127 ? -127 : std::ilogb(a);
  const double ratio = a / std::ldexp(1, e);
  const bool nearest = rounding == e8m0::Rounding::kNearest;
  if (ratio > 1 && (rounding == e8m0::Rounding::kUp || (nearest && (ratio >= 1.5 || e == -127)))) ++e;
  return e > 127 ? beyond : static_cast<uint32_t>(e + 127);
}

// tests: N472
TEST(E8m0, BesideEveryScaleInEachRoundingAndOverflow) {
  using e8m0::Rounding, e8m0::Beyond;
  for (const Rounding rounding : {Rounding::kDown, Rounding::kUp, Rounding::kNearest})
    for (const Beyond beyond : {Beyond::kToNan, Beyond::kToLargest}) {
      const uint32_t most = beyond == Beyond::kToNan ? 0xFF : 0xFE;
      const auto given = [&](uint32_t code) { return e8m0::from_fp32(code, rounding, beyond); };
      // Around each power and its ties: 2^k, 1.25 2^k, 1.5 2^k, 1.75 2^k; below 2^-126 those of fp32's subnormals.
      for (uint32_t centre = 0; centre <= 0x7F800000u; centre += 0x100000u)
        for (uint32_t code = centre < 2 ? centre : centre - 2; code <= centre + 2 && code < 0x7F800000u; ++code)
          for (const uint32_t sign : {0u, 0x80000000u}) {
            const double x = static_cast<double>(__builtin_bit_cast(float, sign | code));
            ASSERT_EQ(given(sign | code), scale_by_definition(x, rounding, most)) << std::hexfloat << x;
          }
      for (const uint32_t sign : {0u, 0x80000000u}) {
        EXPECT_EQ(given(sign | 0x7F800000u), most);
        EXPECT_EQ(given(sign | 0x7F800001u), 0xFFu);
        EXPECT_EQ(given(sign | 0x7FC00000u), 0xFFu);
      }
    }
}

// tests: N448
TEST(Mx, ScalesOfEachRule) {
  const struct {
    const Element& e;
    uint32_t amax;
    Codes bytes;
  } lines[] = {{kE4, 0x3F800000, {0x77, 0x77, 0x77, 0x77}}, {kE2, 0x3F800000, {0x7D, 0x7D, 0x7D, 0x7D}},
               {kE4, 0x3F800001, {0x77, 0x78, 0x77, 0x77}}, {kE2, 0x3F800001, {0x7D, 0x7E, 0x7D, 0x7D}},
               {kE4, 0x40600000, {0x78, 0x79, 0x78, 0x78}}, {kE2, 0x40600000, {0x7E, 0x7F, 0x7F, 0x7F}},
               {kE4, 0x40600001, {0x78, 0x79, 0x78, 0x79}}, {kE2, 0x40600001, {0x7E, 0x7F, 0x7F, 0x7F}},
               {kE4, 0x40C00000, {0x79, 0x7A, 0x79, 0x79}}, {kE2, 0x40C00000, {0x7F, 0x80, 0x7F, 0x7F}},
               {kE4, 0x40C00001, {0x79, 0x7A, 0x79, 0x79}}, {kE2, 0x40C00001, {0x7F, 0x80, 0x7F, 0x80}},
               {kE4, 0x40E00000, {0x79, 0x7A, 0x79, 0x79}}, {kE2, 0x40E00000, {0x7F, 0x80, 0x80, 0x80}},
               {kE4, 0x43F00000, {0x7F, 0x80, 0x7F, 0x80}}, {kE2, 0x43F00000, {0x85, 0x86, 0x86, 0x86}},
               {kE4, 0x43F80000, {0x7F, 0x80, 0x80, 0x80}}, {kE5, 0x43F80000, {0x78, 0x79, 0x79, 0x79}},
               {kE3, 0x43F80000, {0x83, 0x84, 0x84, 0x84}}, {kE2m3Element, 0x43F80000, {0x85, 0x86, 0x86, 0x86}},
               {kE2, 0x43F80000, {0x85, 0x86, 0x86, 0x86}}, {kE5, 0x40F00000, {0x72, 0x73, 0x73, 0x73}},
               {kE3, 0x40F00000, {0x7D, 0x7E, 0x7E, 0x7E}}, {kE2m3Element, 0x40F00000, {0x7F, 0x80, 0x7F, 0x7F}},
               {kE4, 0x7F7FFFFF, {0xF6, 0xF7, 0xFF, 0xF7}}, {kE2, 0x7F7FFFFF, {0xFC, 0xFD, 0xFF, 0xFD}},
               {kE3, 0x7F700000, {0xFA, 0xFB, 0xFF, 0xFB}}, {kE2m3Element, 0x7F700000, {0xFC, 0xFD, 0xFC, 0xFC}}};
  for (const auto& l : lines) EXPECT_EQ(scales(l.e, l.amax), l.bytes) << std::hex << l.amax;
  for (const Element& e : {kE4, kE5, kE3, kE2m3Element, kE2, kInt8}) {
    for (const uint32_t bad : {0x7F800000u, 0x7FC00000u}) EXPECT_EQ(scales(e, bad), Codes(4, 0xFF));
    EXPECT_EQ(scales(e, 0), Codes(4, 0));
  }
}

TEST(Mx, OneBlockInEveryElement) {
  const std::vector<double> p = {1, -2, 3.5, 5, 7, .2, -.26, 6.9, 0, -0., .75, -1.25, .03, 2.5, -3, 4.4};
  const Codes e4 = {0x68, 0xF0, 0x76, 0x7A, 0x7E, 0x55, 0xD8, 0x7E, 0, 0x80, 0x64, 0xEA, 0x3F, 0x72, 0xF4, 0x79};
  for (const ScaleRule rule : {ScaleRule::kFloor, ScaleRule::kEven, ScaleRule::kRceil}) {
    EXPECT_EQ(quantised(kE4, p, rule).scale, 0x79u);
    EXPECT_EQ(quantised(kE4, p, rule).codes, e4);
  }
  EXPECT_EQ(quantised(kE4, p, ScaleRule::kCeil).codes,
            (Codes{0x60, 0xE8, 0x6E, 0x72, 0x76, 0x4D, 0xD0, 0x76, 0, 0x80, 0x5C, 0xE2, 0x37, 0x6A, 0xEC, 0x71}));
  EXPECT_EQ(quantised(kE5, p).codes,
            (Codes{0x70, 0xF4, 0x77, 0x79, 0x7B, 0x66, 0xE8, 0x7B, 0, 0x80, 0x6E, 0xF1, 0x5C, 0x75, 0xF6, 0x78}));
  EXPECT_EQ(quantised(kE3, p).codes,
            (Codes{0x14, 0x38, 0x1B, 0x1D, 0x1F, 0x0A, 0x2C, 0x1F, 0, 0x20, 0x12, 0x35, 2, 0x19, 0x3A, 0x1C}));
  EXPECT_EQ(quantised(kE2m3Element, p).codes,
            (Codes{8, 0x30, 0x16, 0x1A, 0x1E, 2, 0x22, 0x1E, 0, 0x20, 6, 0x2A, 0, 0x12, 0x34, 0x19}));
  EXPECT_EQ(quantised(kE2, p).codes, (Codes{2, 0xC, 6, 6, 7, 0, 9, 7, 0, 8, 2, 0xA, 0, 4, 0xD, 6}));
  for (const ScaleRule rule : {ScaleRule::kCeil, ScaleRule::kEven, ScaleRule::kRceil}) {
    EXPECT_EQ(quantised(kE2, p, rule).scale, 0x80u);
    EXPECT_EQ(quantised(kE2, p, rule).codes, (Codes{1, 0xA, 4, 4, 6, 0, 8, 5, 0, 8, 1, 9, 0, 2, 0xB, 4}));
  }
  EXPECT_EQ(quantised(kInt8, p).scale, 0x81u);
  EXPECT_EQ(quantised(kInt8, p).codes,
            (Codes{0x10, 0xE0, 0x38, 0x50, 0x70, 3, 0xFC, 0x6E, 0, 0, 0x0C, 0xEC, 0, 0x28, 0xD0, 0x46}));
  // microxcaling's roundings, as values.
  using Values = std::vector<double>;
  const auto values = [&](RoundingMode mode) {
    MxRules rules = MxRules::microxcaling(mode);
    return quantised(kE2, words(p), rules).values;
  };
  EXPECT_EQ(values(RoundingMode::kNearestAway), (Values{1, -2, 4, 6, 6, 0, -.5, 6, 0, 0, 1, -1.5, 0, 3, -3, 4}));
  EXPECT_EQ(values(RoundingMode::kNearestEven), (Values{1, -2, 4, 4, 6, 0, -.5, 6, 0, 0, 1, -1, 0, 2, -3, 4}));
  EXPECT_EQ(values(RoundingMode::kTowardZero), (Values{1, -2, 3, 4, 6, 0, 0, 6, 0, 0, .5, -1, 0, 2, -3, 4}));
}

// tests: N446
TEST(Mx, Int8) {
  const std::vector<double> units = {1, 1.9921875, -1.9921875, -2, .0078125, .0234375, -.0390625};
  Codes even, away;
  RoundingPolicy ties_away = RoundingPolicy::saturating();
  ties_away.mode = RoundingMode::kNearestAway;
  for (const double x : units) {
    even.push_back(static_cast<int>(round_fp32(kInt8, word(x), 0, false, RoundingPolicy::saturating()).code));
    away.push_back(static_cast<int>(round_fp32(kInt8, word(x), 0, false, ties_away).code));
  }
  EXPECT_EQ(even, (Codes{0x40, 0x7F, 0x81, 0x81, 0, 2, 0xFE}));
  EXPECT_EQ(away, (Codes{0x40, 0x7F, 0x81, 0x81, 1, 2, 0xFD}));
}

// microxcaling's own tests.
// tests: N451
TEST(Mx, MicroxcalingsCorners) {
  using Values = std::vector<double>;
  const MxRules rules = MxRules::microxcaling();
  const auto values = [&](const Element& e, const Values& x) { return quantised(e, words(x), rules).values; };
  EXPECT_EQ(values(kE4, {485, 475, 400, -485, -475, -450, 0x1p-6, -0x1p-6}),
            (Values{448, 448, 416, -448, -448, -448, 0x1p-6, -0x1p-6}));
  EXPECT_EQ(
      values(kInt8, {1.015625, 1.0234375, 1.03125, 1.0390625, 1.25, 1.2578125, 1.9375, 1.9453125, 1.984375, 1.9921875}),
      (Values{1.015625, 1.03125, 1.03125, 1.046875, 1.25, 1.265625, 1.9375, 1.953125, 1.984375, 1.984375}));
  EXPECT_EQ(values(Element(FixedFormat{-2, -7, 7}), {-1, -1.75, -1.99, 1.99}), (Values{-1, -1.75, -1.75, 1.75}));
  for (const double bad : {double{NAN}, double{INFINITY}, -double{INFINITY}})
    for (const Element& e : {kE4, kE2, Element(FixedFormat{-2, -7, 7})})
      for (const double v : values(e, {bad, 0, 0x1p127, 0})) EXPECT_TRUE(std::isnan(v));
  // Its logarithm in fp32: just below a power of two.
  const std::vector<uint32_t> block = {0x417FFFFF, 0, 0, 0};
  EXPECT_EQ(quantised(kE2, block, rules).values[0], 16);
  EXPECT_EQ(quantised(kE2, block, {}).values[0], 12);
  EXPECT_EQ(quantised(kE2, block, {}).scale, 0x80u);
  const auto scale = [&](uint32_t amax) { return mx_scale(kInt8, amax, rules); };
  EXPECT_EQ(scale(word(8 - 0x1p-21)), 130u);
  EXPECT_EQ(scale(word(8 - 0x1p-20)), 129u);
  EXPECT_EQ(scale(word(4 - 0x1p-22)), 128u);
  EXPECT_EQ(scale(word(std::ldexp(1 - 0x1p-23, 6))), 133u);
  EXPECT_EQ(scale(word(std::ldexp(1 - 3 * 0x1p-24, 6))), 132u);
  EXPECT_EQ(scale(word(std::ldexp(1 - 0x1p-24, -2))), 125u);
}

// tests: N450
TEST(Mx, ExtremesOfABlock) {
  const auto line = [](const Quantised& q, size_t n = 2) {
    Codes c = {static_cast<int>(q.scale)};
    for (size_t i = 0; i < n; ++i) c.push_back(q.codes[i]);
    return c;
  };
  EXPECT_EQ(line(quantised(kE4, filled(0, 0))), (Codes{0, 0, 0}));
  EXPECT_EQ(line(quantised(kE4, filled(0x1p-126, 0x1p-126))), (Codes{0, 0x40, 0x40}));
  EXPECT_EQ(line(quantised(kE4, filled(448, -448))), (Codes{0x7F, 0x7E, 0xFE}));
  EXPECT_EQ(line(quantised(kE4, filled(480, -480))), (Codes{0x7F, 0x7E, 0xFE}));
  EXPECT_EQ(line(quantised(kE4, filled(480, -480), ScaleRule::kRceil)), (Codes{0x80, 0x77, 0xF7}));
  EXPECT_EQ(line(quantised(kE4, filled(0x1p-133, 0x1p-133))), (Codes{0, 8, 8}));
  EXPECT_EQ(line(quantised(kE4, filled(-0x1p-149, -0x1p-149))), (Codes{0, 0x80, 0x80}));
  for (const double bad : {double{NAN}, double{INFINITY}, -double{INFINITY}})
    EXPECT_EQ(line(quantised(kE4, filled(bad, 1))), (Codes{0xFF, 0x7F, 0x7F}));
  EXPECT_EQ(line(quantised(kE4, filled(-0x1p-149, 1))), (Codes{0x77, 0x80, 0x78}));
  EXPECT_EQ(line(quantised(kE4, filled(0x1.fffffep127, 1))), (Codes{0xF6, 0x7E, 0}));
  EXPECT_EQ(line(quantised(kE4, filled(0x1.fffffep127, 1), ScaleRule::kRceil)), (Codes{0xF7, 0x78, 0}));
  // Subnormal numbers of fp32.
  std::vector<uint32_t> tiny = {6142315, 5096174, 3345704, 6178415, 5728750, 419002, 1716691, 4335089, 7585260};
  MxRules rules;
  rules.scale = ScaleRule::kRceil;
  Quantised q = quantised(kE4, tiny, rules);
  q.codes.pop_back();
  EXPECT_EQ(q.scale, 0u);
  EXPECT_EQ(q.codes, (Codes{60, 58, 53, 60, 59, 29, 45, 56}));
  const std::vector<uint32_t> wide = {0x43FFFFFF, 0x43E80000, 0x43E7F333, 0x3F800000, 0x3C23D70A,
                                      0x3B03126F, 0x3A83126F, 0x3A800000, 0xBA6BEDFA};
  EXPECT_EQ(quantised(kE4, wide, {}).codes, (Codes{0x7E, 0x7E, 0x7E, 0x38, 5, 1, 1, 0, 0x80}));
  EXPECT_EQ(quantised(kE4, wide, rules).codes, (Codes{0x78, 0x76, 0x76, 0x30, 3, 1, 0, 0, 0x80}));
  rules.infinity_saturates = true;
  EXPECT_EQ(line(quantised(kE4, words({INFINITY, 1, -3e38}), rules), 3), (Codes{0xFE, 0x7E, 0, 0xBE}));
  EXPECT_EQ(line(quantised(kE4, {0x1p-118, 0x1p-127})), (Codes{1, 0x78, 0x30}));
  EXPECT_EQ(line(quantised(kE4, {0x1p-119, 0x1p-128})), (Codes{0, 0x78, 0x30}));
  EXPECT_EQ(line(quantised(kE4, {0x1p-120, 0x1p-129})), (Codes{0, 0x70, 0x28}));
  // A NaN alone, where it does not spoil its block.
  rules.nan_poisons_block = false;
  EXPECT_EQ(line(quantised(kE4, words({NAN, 1, -.5}), rules), 3), (Codes{0x77, 0x7F, 0x78, 0xF0}));
  EXPECT_EQ(line(quantised(kE2, words({NAN, 1, -.5}), rules), 3), (Codes{0x7D, 7, 6, 0xC}));
  EXPECT_EQ(line(quantised(kE2, words({NAN, NAN}), rules), 2), (Codes{0, 7, 7}));
}

// The value of code 38 with the scales that units get wrong.
// tests: N452
TEST(Mx, ValuesAtTheEndsOfTheScale) {
  EXPECT_EQ(mx_value(kE4, 0, 0x38), 0x00400000u);
  EXPECT_EQ(mx_value(kE4, 0xFE, 0x38), 0x7F000000u);
  EXPECT_EQ(mx_value(kE4, 0xFE, 0x41), 0x7F800000u);
  EXPECT_EQ(mx_value(kE4, 0, 1), 1u << 13);
  EXPECT_TRUE(std::isnan(__builtin_bit_cast(float, mx_value(kE4, 0xFF, 0x38))));
  EXPECT_TRUE(std::isnan(__builtin_bit_cast(float, mx_value(kE4, 0x7F, 0xFF))));
  EXPECT_EQ(mx_value(kE5, 0x7F, 0xFC), 0xFF800000u);
  EXPECT_EQ(mx_value(kE2, 0x7F, 0xF8), 0x80000000u);  // bits above the element's are ignored
  EXPECT_EQ(mx_value(kInt8, 0x7F, 0x81), word(-127 / 64.));
  EXPECT_EQ(mx_value(kInt8, 0x7F, 0x80), word(-2));
}

/// Known lines of carry with 8 random bits: R, compared with what would be cut off.
TEST(MxElements, StochasticAtEachThreshold) {
  const RoundingPolicy p = [] {
    RoundingPolicy sr = RoundingPolicy::stochastic_carry(8);
    sr.overflow = Overflow::kSaturate;
    return sr;
  }();
  struct Line {
    double value;
    uint32_t random;
    uint64_t code;
  };
  for (const Line& l : {Line{.3F, 102, 0x0},
                        {.3F, 103, 0x1},
                        {5, 127, 0x6},
                        {5, 128, 0x7},
                        {1.75, 127, 0x3},
                        {1.75, 128, 0x4},
                        {-2.25, 191, 0xC},
                        {-2.25, 192, 0xD},
                        {5.9F, 12, 0x6},
                        {5.9F, 13, 0x7},
                        {6, 255, 0x7},
                        {-.001F, 255, 0x8}})
    EXPECT_EQ(round_fp32(kE2, word(l.value), 0, false, p, l.random).code, l.code) << l.value << " " << l.random;
  const Element e4m3(FloatFormat::e4m3());
  EXPECT_EQ(round_fp32(e4m3, word(460), 0, false, p, 160).code, 0x7Eu);
  EXPECT_EQ(round_fp32(e4m3, word(460), 0, false, RoundingPolicy::stochastic_carry(8), 160).code, 0x7Fu);
}

// tests: N452
TEST(Mx, ThreeQuartersNeverSaturate) {
  MxRules rules;
  rules.three_quarters = true;
  rules.rounding = RoundingPolicy::stochastic_carry(8);
  const uint32_t scale = mx_scale(kE2, word(7.9), rules);
  EXPECT_EQ(scale, 0x7Fu);
  const auto code = [&](double x, uint32_t random) { return mx_code(kE2, scale, word(x), rules, random).code; };
  EXPECT_EQ(code(7.5, 0), 6u);
  EXPECT_EQ(code(7.9, 255), 7u);
  EXPECT_EQ(code(1, 127), 1u);
  EXPECT_EQ(code(1, 128), 2u);
  EXPECT_EQ(code(-3.3, 60), 0xCu);
}

// The exact quotient is rounded: a result too small for fp32 still goes up under a mode that goes up.
TEST(Mx, DirectedModesSeeTheExactQuotient) {
  MxRules rules;
  rules.rounding.mode = RoundingMode::kUp;
  EXPECT_EQ(quantised(kE2, std::vector<uint32_t>{0x7F000000, 1, 0x80000001}, rules).codes, (Codes{6, 1, 8}));
}

TEST(Mx, IsConstexpr) {
  constexpr uint32_t kScale = mx_scale(Element(kE2m1), 0x40C00001, MxRules{});
  EXPECT_EQ(kScale, 0x7Fu);
}

}  // namespace
}  // namespace softamp::block
