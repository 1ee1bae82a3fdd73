// Doubles as decimal text and back, whatever locale the program that uses the library has set.
#include "src/numbers/decimal_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/comma_locale.h"

namespace softamp {
namespace {

TEST(DecimalText, IsReadAndWrittenInNoLocaleButCs) {
  const test::CommaLocale locale;
  for (const double x : {0.0, 1.5, -1234567.25, 0.1, 5e-324, 0x1.fffffffffffffp+1023, -HUGE_VAL})
    EXPECT_EQ(number_of_decimal(round_trip_text(x)), x);
  EXPECT_TRUE(std::isnan(number_of_decimal("nan").value()));
  EXPECT_EQ(number_of_decimal("1.00017"), 1.00017);
  EXPECT_EQ(fixed_places(1234567.25, 1), "1234567.2");
  for (const char* text : {"", "1,5", "1.5x", "x", "1.5 ", " 1.5", "1e400", "1e-400", "0x10"})
    EXPECT_FALSE(number_of_decimal(text)) << text;
}

}  // namespace
}  // namespace softamp
