#include "softamp/numbers/number_text.h"

#include "src/numbers/dyadic.h"
#include "tests/comma_locale.h"
#include "tests/refusal.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <random>

namespace softamp {
namespace {

std::string significant_digits(const std::string& text) {
  std::string digits;
  for (const char c : text.substr(0, text.find('e')))
    if (c != '.' && c != '-' && (c != '0' || !digits.empty())) digits += c;
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  return digits;
}

TEST(Decimals, KnownValues) {
  const struct {
    FloatFormat format;
    uint64_t code;
    std::string exact, shortest;
  } kNumbers[] = {
      {kFp16, 0x3400, "0.25", "0.25"},
      {kFp16, 0x3555, "0.333251953125", "0.3333"},
      {kFp16, 0x2e66, "0.0999755859375", "0.1"},
      {kFp16, 0x068e, "0.00010001659393310546875", "0.0001"},
      {kFp16, 0x7bff, "65504", "65504"},
      {kFp16, 0x0001, "0.000000059604644775390625", "6e-08"},
      {kFp16, 0x8001, "-0.000000059604644775390625", "-6e-08"},
      {kFp16, 0x83ff, "-0.000060975551605224609375", "-6.1e-05"},
      {kFp16, 0x0000, "0", "0"},
      {kFp16, 0x8000, "-0", "-0"},
      {kFp16, 0x7c00, "inf", "inf"},
      {kFp16, 0xfc00, "-inf", "-inf"},
      {kFp16, 0x7e00, "nan", "nan"},
      {kF143, 0x80, "nan", "nan"},
      {kFp32, 0x7f7fffff, "340282346638528859811704183484516925440", "3.4028235e+38"},
      {kBinary64, 0x3fb999999999999a, "0.1000000000000000055511151231257827021181583404541015625", "0.1"},
  };
  for (const auto& [format, code, exact, shortest] : kNumbers) {
    EXPECT_EQ(exact_decimal(format, code), exact);
    EXPECT_EQ(shortest_decimal(format, code), shortest);
  }
  EXPECT_EQ(exact_decimal(kE4m3, 0x7e), "448");
  EXPECT_EQ(exact_decimal(kBf16, 0x7f7f), "338953138925153547590470800371487866880");
  EXPECT_EQ(shortest_decimal(kFp32, 0x00000001), "1e-45");
}

/// glibc prints the exact value when asked for enough digits: an independent witness.
TEST(ExactDecimal, AgreesWithTheCLibraryOnEveryFp16Number) {
  for (uint64_t code = 0; code < 0x7c00; ++code) {
    char text[80];
    std::snprintf(text, sizeof text, "%.24f", value_of(kFp16, code));
    std::string expected = text;
    expected.erase(expected.find_last_not_of('0') + 1);
    if (expected.back() == '.') expected.pop_back();
    ASSERT_EQ(exact_decimal(kFp16, code), expected);
    ASSERT_EQ(exact_decimal(kFp16, code | 0x8000), "-" + expected);
  }
}

/// Every number comes back from its text, and from no text with fewer digits: rounding its exact value to one digit
/// less gives another number.
TEST(ShortestDecimal, IdentifiesEveryNumberAndIsShortest) {
  for (const FloatFormat& format :
       {kFp16, kBf16, kE4m3, kE5m2, kF143, kF152, FloatFormat::ieee(2, 2), FloatFormat::ieee(3, 10)}) {
    for (uint64_t code = 1; code <= format.max_finite_code(); ++code) {
      const std::string text = shortest_decimal(format, code);
      ASSERT_EQ(to_code(format, parse_number(text)).code, code) << text;
      const bool whole = text.find('.') == std::string::npos && text.find('e') == std::string::npos;
      const size_t digits = significant_digits(text).size();
      if (whole || digits < 2) continue;
      char shorter[64];
      std::snprintf(shorter, sizeof shorter, "%.*e", static_cast<int>(digits) - 2, value_of(format, code));
      ASSERT_NE(to_code(format, parse_number(shorter)).code, code) << text << " could be " << shorter;
    }
  }
}

/// The standard library's shortest float is an independent witness.
TEST(ShortestDecimal, HasTheDigitsOfTheStandardLibrarysFloat) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const uint32_t code = random() & 0x7fffffff;
    if (!kFp32.is_finite(code) || code == 0) continue;
    const std::string text = shortest_decimal(kFp32, code);
    if (text.find_first_of(".e") == std::string::npos) continue;  // whole numbers are written exactly
    char expected[64];
    const auto value = static_cast<float>(value_of(kFp32, code));
    const auto end = std::to_chars(expected, expected + sizeof expected, value, std::chars_format::scientific).ptr;
    ASSERT_EQ(significant_digits(text), significant_digits({expected, end})) << code_text(kFp32, code);
  }
}

TEST(NumberText, CodesFieldsAndHexadecimal) {
  EXPECT_EQ(code_text(kFp16, 0x3c), "0x003c");
  EXPECT_EQ(code_text(kTf32, 1), "0x00001");
  EXPECT_EQ(code_text(kE4m3, 0x7e), "0x7e");
  EXPECT_EQ(code_fields(kFp16, 0x3555), "0 01101 0101010101");
  EXPECT_EQ(code_fields(kF143, 0x80), "1 0000 000");
  EXPECT_EQ(hex_float(kFp16, 0x068e), "0x1.a38p-14");
  EXPECT_EQ(hex_float(kFp16, 0x8001), "-0x1p-24");
  EXPECT_EQ(hex_float(kFp16, 0x8000), "-0x0p+0");
  EXPECT_EQ(hex_float(kFp16, 0xfc00), "-inf");
  EXPECT_EQ(hex_float(kFp16, 0x7e00), "nan");
  const test::CommaLocale locale;
  EXPECT_EQ(hex_float(kFp16, 0x068e), "0x1.a38p-14");
  for (const double x : {1.0, -0.1, 1e300, 5e-324, 0x1.8p-1030, 0x1.fffffffffffffp+1023}) {
    char text[64];
    std::snprintf(text, sizeof text, "%a", x);
    EXPECT_EQ(hex_float(kBinary64, __builtin_bit_cast(uint64_t, x)), text) << "as the C library writes it";
  }
}

TEST(NumberText, ReadsNumbersAndRefusesOtherWords) {
  EXPECT_EQ(to_code(kFp16, number_from_text("0.0001")).code, 0x068eu);
  EXPECT_EQ(to_code(kFp16, number_from_text("-0x1.8p1")).code, 0xc200u);
  for (const char* text : {"", "abc", "1.2.3", "0x12", "1e", "--1", "1 2"})
    EXPECT_EQ(
        test::refusal<std::invalid_argument>([&] { number_from_text(text); }),
        "'" + std::string(text) + "' is not a number: expected decimal (1.5e-3), hexadecimal (0x1.8p-10), inf or nan");
}

TEST(Dyadic, SumsAndProductsAreExact) {
  using detail::Dyadic;
  const Dyadic addend = Dyadic::of(kFp16, 0x068e), start = Dyadic::of(kFp16, 0xfbff);
  EXPECT_EQ(addend.times(10000).decimal(), "1.0001659393310546875");
  EXPECT_EQ((start + addend.times(10000)).decimal(), "-65502.9998340606689453125");
  EXPECT_EQ((addend + start).decimal(), (start + addend).decimal());
  EXPECT_EQ(Dyadic::of(kFp32, 0x7f7fffff).times(0xffffffff).to_double(), std::ldexp(16777215.0, 104) * 4294967295.0);
  EXPECT_EQ(addend.times(10000).to_double(), 1678.0 * 10000 / 16777216);
}

}  // namespace
}  // namespace softamp
