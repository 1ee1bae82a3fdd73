// The tutorial's lines: what a few operations of binary64, exact here, say of them.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/comma_locale.h"
#include "tests/reproduce/outcome_check.h"

namespace softamp::reproduce {
namespace {

TEST(TutorialLines, TheBriefRunAgreesAndIsRepeatable) {
  expect_sound("tutorial-lines");
  expect_repeatable("tutorial-lines");
}

TEST(TutorialLines, HalvesAreTheNearestMultiplesOfTheirQuantum) {
  // x has 11 bits; x + 0.25 lies in [0.25, 0.5), whose quantum is 2^-12, and taking 0.25 away is exact.
  const Outcome o = brief_outcome("tutorial-lines");
  int lines = 0;
  for (const auto& row : o.tables[0].rows) {
    if (row[0] != "fp16" || row[1] != "nearest") continue;
    ++lines;
    const double typed = std::stod(row[2].get<std::string>());
    const double quantum = std::exp2(std::floor(std::log2(typed)) - 10), x = std::nearbyint(typed / quantum) * quantum;
    EXPECT_EQ(std::stod(row[3].get<std::string>()), x) << typed;
    EXPECT_EQ(std::stod(row[5].get<std::string>()), std::nearbyint((x + .25) * 4096) / 4096 - .25) << typed;
  }
  EXPECT_EQ(lines, 6);
}

TEST(TutorialLines, NoLocaleChangesThem) {
  for (const char* name : {"tutorial-lines", "tutorial-sum", "random-bits"}) {
    const std::string usual = text_of(brief_outcome(name));
    const softamp::test::CommaLocale locale;
    EXPECT_TRUE(text_of(brief_outcome(name)) == usual) << name;
  }
}

TEST(TutorialLines, TheMisprintsAreSaidToBe) {
  const Outcome o = brief_outcome("tutorial-lines");
  int misprints = 0;
  for (const Check& c : o.checks) misprints += c.theirs.find("a misprint") != std::string::npos;
  EXPECT_EQ(misprints, 2);
  EXPECT_NE(o.seen.find("0.0004833"), std::string::npos);
}

TEST(TutorialLines, OnlyWhatTheTutorialPrintsIsAFigure) {
  for (const Check& c : brief_outcome("tutorial-lines").checks) {
    const bool printed =
        c.what.find(", as printed") != std::string::npos || c.what.find(", relative error") != std::string::npos;
    EXPECT_EQ(c.against == Against::kFigure, printed) << c.what;
  }
}

TEST(TutorialLines, TakesWhatItIsAskedAndSaysWhatItDoesNot) {
  Request r;
  r.formats = {FloatFormat::ieee(6, 12)};
  r.roundings = {RoundingMode::kUp};
  const Outcome o = run_experiment("tutorial-lines", r);
  EXPECT_EQ(o.tables[0].rows.size(), 6u);
  EXPECT_EQ(o.tables[0].rows[0][0], "e6p12");
  for (const Check& c : o.checks) EXPECT_EQ(c.what.find("nearest"), std::string::npos) << c.what;
  EXPECT_EQ(o.seen.find("0.0004"), std::string::npos);
  r.bits = 8;
  expect_refused("tutorial-lines", r, "--bits in tutorial-lines: expected a stochastic rounding beside it");
  r.formats = {kBinary64};
  expect_refused("tutorial-lines", r, "format fp64 in tutorial-lines: expected one of 2..8 exponent bits");
}

}  // namespace
}  // namespace softamp::reproduce
