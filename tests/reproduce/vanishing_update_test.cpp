// The update that vanishes: exact figures of one weight, and the order of the trainings in the short form.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/vanishing_update_runs.h"
#include "tests/reproduce/brief.h"

namespace softamp::reproduce {
namespace {

Outcome outcome(const Request& request) { return outcome_of(vanishing_update::experiment(), request); }

TEST(VanishingUpdate, TheFourWaysSeeTheSameImages) {
  UpdateSetup setup;
  setup.image = 12;
  setup.images = 64;
  setup.steps = 1;
  // The first step's loss comes before any update: fp16 ones differ from fp32's by roundings of a forward pass only.
  const double reference = losses_of(setup, keepings()[0], 3, [](double) {}).at(0);
  for (const Keeping& k : keepings())
    EXPECT_NEAR(losses_of(setup, k, 3, [](double) {}).at(0), reference, 0.01) << k.name;
}

int trainings_of(const Outcome& o) {
  return static_cast<int>(
      std::count_if(o.checks.begin(), o.checks.end(), [](const Check& c) { return c.what.find("training") == 0; }));
}

TEST(VanishingUpdate, RunsInEveryFormatThatItTakes) {
  // Of a precision of 2 and 3: fewer updates than points of a curve; places double within the run.
  Request request = brief_request();
  request.formats = {kE5m2, kF152, FloatFormat::ieee(4, 2), kE4m3, kF143, FloatFormat::ieee(8, 2)};
  const Outcome o = outcome(request);
  EXPECT_EQ(o.checks.size(), 6u * 5);
  for (const Check& c : o.checks) {
    EXPECT_TRUE(c.agrees) << c.what << ": " << c.ours << ", expected " << c.theirs;
    EXPECT_EQ(c.against, Against::kBound) << c.what;
  }
  // 5 sqrt(8 (1/8)(7/8) 4 / 1000) places of 2^-2: 8 updates of 1/16, each of a variance of at most 7/256.
  EXPECT_NEAR(o.tables[1].rows[0][6].get<double>(), 5 * std::sqrt(8 * 7.0 / 256 / 1000), 1e-12);
  // The trainings are of fp16, which is not among these, and nothing is said of them.
  EXPECT_EQ(trainings_of(o), 0);
  EXPECT_EQ(o.tables.size(), 2u);
  EXPECT_EQ(o.figures.size(), 1u);
  EXPECT_EQ(o.seen.find("training"), std::string::npos);
  EXPECT_NE(o.deviations.find("No network is trained"), std::string::npos);
}

TEST(VanishingUpdate, JudgesWaysSeedBySeed) {
  const auto verdicts = [](const std::vector<std::vector<double>>& ends, bool usual) {
    std::string whole_text;
    for (const Check& c : judged(ends, usual))
      whole_text += c.against == Against::kRecorded ? '-' : c.agrees ? 'y' : 'n';
    return whole_text;
  };
  EXPECT_EQ(verdicts({{1, 2}, {1.5, 2.5}, {1.2, 1.9}, {0.9, 2.1}}, true), "yyy");
  EXPECT_EQ(verdicts({{1, 2}, {1.5, 1.9}, {1.2, 1.9}, {0.9, 2.1}}, true), "nny") << "below fp32 in one seed";
  EXPECT_EQ(verdicts({{1, 2}, {1.5, 2.5}, {1.3, 2.0}, {1, 2}}, true), "yny") << "nearer to nearest in one seed";
  EXPECT_EQ(verdicts({{1, 2}, {1.5, 2.5}, {1.0, 2.0}, {1, 2.6}}, true), "nyn") << "master weights learn least";
  EXPECT_EQ(verdicts({{1, 2}, {1.5, 2.5}, {1.6, 2.6}, {1, 2}}, false), "y-y") << "other random bits";
  EXPECT_EQ(verdicts({{1, 2}, {1.5, 2.5}, {1, 2}, {1.5, 2}}, true), "nyn") << "as high is not the highest";
  EXPECT_EQ(verdicts({{1, 2}, {1.5, 2.5}, {1.25, 2}, {1, 2.25}}, true), "ynn") << "half way is not nearer";
}

TEST(VanishingUpdate, EachFormatReadsItsOwnRandomWords) {
  // In bf16 as the second format and as the only
  // one the words differ, and so does the mean.
  Request request = brief_request();
  request.formats = {kF143, kBf16};
  const Outcome second = outcome(request);
  request.formats = {kBf16};
  EXPECT_NE(outcome(request).tables[1].rows[0][4], second.tables[1].rows[1][4]);
}

TEST(VanishingUpdate, StopsBetweenFormatsToo) {
  Request request = brief_request();
  request.formats = {kE4m3, kF143};
  std::vector<double> heard;
  const auto hear = [&](double share) { heard.push_back(share); };
  Watch whole(hear);
  vanishing_update::experiment().run(request, whole);
  EXPECT_EQ(heard, (std::vector<double>{0, 0.5}));
  heard.clear();
  Watch stopped(hear, [&] { return heard.size() == 1; });
  EXPECT_THROW(vanishing_update::experiment().run(request, stopped), Interrupted);
}

}  // namespace
}  // namespace softamp::reproduce
