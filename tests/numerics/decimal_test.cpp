// Text to value, exactly: against the C library for binary64 and binary32, against hard cases for the rest.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "softamp/numerics/convert.h"
#include "softamp/numerics/decimal.h"

namespace softamp {
namespace {

uint64_t code(const FloatFormat& f, const std::string& text, const RoundingPolicy& p = {}) {
  const ParsedNumber n = parse_number(text);
  EXPECT_NE(n.kind, ParsedNumber::Kind::kMalformed) << text;
  return to_code(f, n, p).code;
}
uint64_t host64(const std::string& text) { return __builtin_bit_cast(uint64_t, std::strtod(text.c_str(), nullptr)); }
uint32_t host32(const std::string& text) { return __builtin_bit_cast(uint32_t, std::strtof(text.c_str(), nullptr)); }

TEST(Decimal, AgreesWithTheCLibrary) {
  std::mt19937_64 random(20220);
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 3 == 0 ? "-" : "";
    const int digits = 1 + static_cast<int>(random() % 40), point = static_cast<int>(random() % 41);
    for (int d = 0; d < digits; ++d) {
      if (d == point) text += '.';
      text += static_cast<char>('0' + random() % 10);
    }
    text += "e" + std::to_string(static_cast<int>(random() % 700) - 350 - digits);
    EXPECT_EQ(code(kBinary64, text), host64(text)) << text;
    EXPECT_EQ(code(kFp32, text), host32(text)) << text;
  }
  for (int i = 0; i < 20000; ++i) {
    char text[64];
    const double x = __builtin_bit_cast(double, random() & 0xBFFFFFFFFFFFFFFF);
    std::snprintf(text, sizeof text, i % 2 ? "%.17g" : "%a", x);
    EXPECT_EQ(code(kBinary64, text), host64(text)) << text;
  }
}

// tests: N10, N80
TEST(Decimal, NeverRoundsTwice) {
  // 1 + 2^-11 is the tie between 0x3C00 and 0x3C01; 1 + 2^-11 + 2^-80 is above it, but binary64 cannot tell.
  EXPECT_EQ(code(kFp16, "1.00048828125"), 0x3C00u);
  EXPECT_EQ(code(kFp16, "1.000488281250000000000000827180612553027674871408692069962853565812110900878906250"),
            0x3C01u);
  EXPECT_EQ(code(kFp16, "1.0004882812499999999999999999999999999999999999999999999999999999999999999999999999"),
            0x3C00u);
  EXPECT_EQ(code(kFp16, "65519.999999999999999999999999999999999999"), 0x7BFFu);
  EXPECT_EQ(code(kFp16, "65520"), 0x7C00u);
  EXPECT_EQ(code(kFp16, "2.98023223876953125e-8"), 0u);  // 2^-25, a tie to even
  EXPECT_EQ(code(kFp16, "2.98023223876953125000000000000000000000000000000000000000000000000000001e-8"), 1u);
  const std::string beyond = "1.00048828125" + std::string(1000, '0') + "1";  // more digits than are kept
  EXPECT_EQ(code(kFp16, beyond), 0x3C01u);
  EXPECT_EQ(code(kFp16, "1.00048828125" + std::string(1000, '0')), 0x3C00u);
}

TEST(Decimal, EveryHalfIsReadBackFromItsDigits) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if (!kFp16.is_finite(bits)) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%.25g", fp::to_double(kFp16, bits));
    EXPECT_EQ(code(kFp16, text), bits) << text;
  }
}

TEST(Decimal, RangesAndModes) {
  EXPECT_EQ(code(kFp16, "1e100000000000"), 0x7C00u);
  EXPECT_EQ(code(kFp16, "-1e-100000000000"), 0x8000u);
  EXPECT_EQ(code(kFp16, "1e-5000", RoundingPolicy::ieee(RoundingMode::kUp)), 0x0001u);
  EXPECT_EQ(code(kFp16, "0.1", RoundingPolicy::ieee(RoundingMode::kTowardZero)), 0x2E66u);
  EXPECT_EQ(code(kFp16, "0.1", RoundingPolicy::ieee(RoundingMode::kUp)), 0x2E67u);
  EXPECT_EQ(code(kFp16, "0x1p-100000"), 0u);
  EXPECT_EQ(code(kFp16, "0x1.8p+1"), 0x4200u);
  EXPECT_EQ(code(kFp16, "0." + std::string(2000, '0') + "1e2001"), 0x3C00u);
  EXPECT_EQ(code(kFp16, "1'000.5"), 0x63D1u);
  EXPECT_EQ(code(kFp16, "-0"), 0x8000u);
  EXPECT_EQ(code(kFp16, "0e999999999"), 0u);
}

TEST(Decimal, WordsAndMalformedText) {
  EXPECT_EQ(code(kFp16, "inf"), 0x7C00u);
  EXPECT_EQ(code(kFp16, "-Infinity"), 0xFC00u);
  EXPECT_EQ(code(kFp16, "NaN"), 0x7E00u);
  for (const char* text : {"",    "+",  "-",  ".",   "e5",   "1e",   "1e+",     "1.2.3", "0x",    "0x1.8", "0x1.8p",
                           "12a", " 1", "1 ", "--1", "1e5x", "nanx", "infinit", "0xp1",  "1e5.0", "'1"})
    EXPECT_EQ(parse_number(text).kind, ParsedNumber::Kind::kMalformed) << '"' << text << '"';
}

}  // namespace
}  // namespace softamp
