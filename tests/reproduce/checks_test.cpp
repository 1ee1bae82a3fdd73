// The kinds of comparison, each at its edge: what is one unit off differs.
#include "src/reproduce/checks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "src/numbers/decimal_text.h"

namespace softamp::reproduce {
namespace {

/// The least change, up and down.
double up(double x) { return std::nextafter(x, 1e300); }
double down(double x) { return std::nextafter(x, -1e300); }

std::string text_of(const Check& c) {
  constexpr const char* kAgainst[] = {"figure", "bound", "shape", "recorded"};
  return c.what + " | " + kAgainst[static_cast<size_t>(c.against)] + " | " + c.ours + " | " + c.theirs + " | " +
         (c.agrees ? "agrees" : "differs");
}

TEST(Checks, EqualToTheLastDigit) {
  EXPECT_EQ(text_of(equal("sum", Against::kFigure, "7.0859375", "7.0859375")),
            "sum | figure | 7.0859375 | 7.0859375 | agrees");
  EXPECT_EQ(text_of(equal("n", Against::kBound, "511", "512", ": half an ulp")),
            "n | bound | 511 | 512: half an ulp | differs");
  for (const char* other : {"7.0859376", "7.0859374", "7.085937", "-7.0859375", " 7.0859375", ""})
    EXPECT_FALSE(equal("sum", Against::kFigure, other, "7.0859375").agrees) << other;
}

TEST(Checks, HoldsSaysWhatIs) {
  EXPECT_EQ(text_of(holds("order", Against::kShape, true, "below", "not below")),
            "order | shape | below | below | agrees");
  EXPECT_EQ(text_of(holds("order", Against::kBound, false, "below", "not below")),
            "order | bound | not below | below | differs");
}

TEST(Checks, NoneOrHowMany) {
  EXPECT_EQ(text_of(none_of("scales", Against::kShape, 0, "equal", "differ", "all equal")),
            "scales | shape | equal | all equal | agrees");
  EXPECT_EQ(text_of(none_of("scales", Against::kShape, 1, "equal", "differ", "all equal")),
            "scales | shape | 1 differ | all equal | differs");
}

TEST(Checks, AtMostItsBound) {
  EXPECT_EQ(text_of(at_most("error", 0.5, " of it", 1, ": surely")),
            "error | bound | 0.5 of it | at most 1: surely | agrees");
  EXPECT_EQ(text_of(at_most("error", 2, "", 1)), "error | bound | 2 | at most 1 | differs");
  EXPECT_TRUE(at_most("error", 1, "", 1).agrees);
  EXPECT_FALSE(at_most("error", up(1), "", 1).agrees);
  EXPECT_FALSE(at_most("error", std::nan(""), "", 1).agrees);
}

TEST(Checks, FiveStandardErrorsToEitherSide) {
  EXPECT_EQ(text_of(few_standard_errors("mean", -0.25)), "mean | bound | -0.25 standard errors | at most 5 | agrees");
  EXPECT_EQ(text_of(few_standard_errors("mean", 6, " beyond", ", surely")),
            "mean | bound | 6 standard errors beyond | at most 5, surely | differs");
  for (const double sign : {1.0, -1.0}) {
    EXPECT_TRUE(few_standard_errors("mean", sign * 5).agrees);
    EXPECT_FALSE(few_standard_errors("mean", sign * up(5)).agrees);
  }
  EXPECT_FALSE(few_standard_errors("mean", std::nan("")).agrees);
}

TEST(Checks, WithinItsMargin) {
  const auto three = [](double x) { return significant_digits(x, 3); };
  EXPECT_EQ(text_of(within("mean", 1.23456, {1, 0.25}, three, "0.25", " (exact)")),
            "mean | bound | 1.23 | 1 +- 0.25 (exact) | agrees");
  EXPECT_EQ(text_of(within("mean", 2, {1, 0.25}, three, "0.25")), "mean | bound | 2 | 1 +- 0.25 | differs");
  for (const double sign : {1.0, -1.0}) {
    EXPECT_TRUE(within("mean", sign * 0.25, {0, 0.25}, three, "").agrees);
    EXPECT_FALSE(within("mean", sign * up(0.25), {0, 0.25}, three, "").agrees);
    EXPECT_TRUE(within("mean", sign * 0.375, {0, 0.25, 0.125}, three, "").agrees);
    EXPECT_FALSE(within("mean", sign * up(0.375), {0, 0.25, 0.125}, three, "").agrees);
  }
  EXPECT_FALSE(within("mean", std::nan(""), {0, 0.25}, three, "").agrees);
}

TEST(Checks, BetweenItsEnds) {
  const auto three = [](double x) { return significant_digits(x, 3); };
  EXPECT_EQ(text_of(between("mean", 1.23456, {1, 2}, three, " (exact)")),
            "mean | bound | 1.23 | 1 .. 2 (exact) | agrees");
  EXPECT_TRUE(between("mean", 1, {1, 2}, three).agrees && between("mean", 2, {1, 2}, three).agrees);
  EXPECT_FALSE(between("mean", down(1), {1, 2}, three).agrees);
  EXPECT_FALSE(between("mean", up(2), {1, 2}, three).agrees);
  EXPECT_TRUE(between("mean", 0.75, {1, 2, 0.25}, three).agrees && between("mean", 2.25, {1, 2, 0.25}, three).agrees);
  EXPECT_FALSE(between("mean", down(0.75), {1, 2, 0.25}, three).agrees);
  EXPECT_FALSE(between("mean", up(2.25), {1, 2, 0.25}, three).agrees);
  EXPECT_FALSE(between("mean", std::nan(""), {1, 2}, three).agrees);
}

TEST(Checks, BelowAndNotEqual) {
  EXPECT_EQ(text_of(below("errors", 0.25, 0.5, "a below b")), "errors | shape | 0.25 and 0.5 | a below b | agrees");
  EXPECT_TRUE(below("errors", down(1), 1, "").agrees);
  EXPECT_FALSE(below("errors", 1, 1, "").agrees);
  EXPECT_FALSE(below("errors", 2, 1, "").agrees);
  EXPECT_FALSE(below("errors", std::nan(""), 1, "").agrees);
}

TEST(Checks, RecordedWhereNothingJudgesThem) {
  EXPECT_EQ(text_of(recorded("share", "7 %", "a large part")), "share | recorded | 7 % | a large part | agrees");
  const Check wrong = at_most("error", 2, "", 1);
  EXPECT_EQ(text_of(judged_if(true, wrong)), "error | bound | 2 | at most 1 | differs");
  EXPECT_EQ(text_of(judged_if(false, wrong)), "error | recorded | 2 |  | agrees");
  EXPECT_EQ(text_of(judged_if(false, wrong, "-")), "error | recorded | 2 | - | agrees");
}

}  // namespace
}  // namespace softamp::reproduce
