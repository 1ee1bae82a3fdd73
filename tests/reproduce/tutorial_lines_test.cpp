// The tutorial's lines: what a few operations of binary64, exact here, say of them.
#include <gtest/gtest.h>

#include <cmath>

#include "src/reproduce/shelf.h"
#include "tests/comma_locale.h"
#include "tests/reproduce/brief.h"
#include "tests/reproduce/outcome_lines.h"

namespace softamp::reproduce {
namespace {

TEST(TutorialLines, HalvesAreTheNearestMultiplesOfTheirQuantum) {
  // x has 11 bits; x + 0.25 lies in [0.25, 0.5), whose quantum is 2^-12, and taking 0.25 away is exact.
  const Outcome o = brief_of(experiment_called("tutorial-lines"), {});
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
    const std::string usual = test::outcome_lines(brief_of(experiment_called(name), {}));
    const softamp::test::CommaLocale locale;
    EXPECT_TRUE(test::outcome_lines(brief_of(experiment_called(name), {})) == usual) << name;
  }
}

}  // namespace
}  // namespace softamp::reproduce
