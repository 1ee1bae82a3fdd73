// The update that vanishes: exact figures of one weight, and the order of the trainings in the short form.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <cmath>

#include "src/reproduce/shelf.h"
#include "src/reproduce/vanishing_update_runs.h"

namespace softamp::reproduce {
namespace {

Request brief() {
  Request request;
  request.brief = true;
  return request;
}

Outcome outcome(const Request& request) {
  Watch watch;
  return vanishing_update().run(request, watch);
}

std::string text(const Outcome& o) {
  std::string all = o.settings.dump();
  for (const Table& t : o.tables)
    for (const auto& row : t.rows)
      for (const Json& cell : row) all += cell.dump() + ",";
  for (const Check& c : o.checks) all += c.what + c.ours;
  return all;
}

TEST(VanishingUpdate, BriefFormAgrees) {
  const Outcome o = outcome(brief());
  EXPECT_FALSE(o.seen.empty());
  EXPECT_EQ(o.figures.size(), 2u);
  for (const Check& c : o.checks) {
    EXPECT_TRUE(c.agrees) << c.what << ": " << c.ours << ", expected " << c.theirs;
    EXPECT_NE(c.against, Against::kRecorded) << c.what;
  }
  EXPECT_EQ(o.checks.size(), 13u);
  // The weight 1 and the update 2^-11 = 0.00048828125, one 2048th, is the last that vanishes; places of 1 are 2^-10.
  const Table& single = o.tables[0];
  ASSERT_EQ(single.rows.size(), 12u);
  EXPECT_EQ(single.rows[1][2], "0.00048828125");
  EXPECT_EQ(single.rows[1][3], 2048);
  EXPECT_EQ(single.rows[1][4], "1");
  EXPECT_EQ(single.rows[2][4], "1.0009765625");
  EXPECT_EQ(single.rows[4][2], "0.000244140625");
  EXPECT_EQ(single.rows[5][4], "0.99951171875");
  const Table& many = o.tables[1];
  EXPECT_EQ(many.rows[0][3], 1.0);
  EXPECT_EQ(many.rows[0][5], 1.5);
  // 5 sqrt(2048 (1/4)(3/4) / 1000) places of 2^-10.
  EXPECT_NEAR(many.rows[0][6].get<double>(), 5 * std::sqrt(2048 * 0.1875 / 1000) / 1024, 1e-12);
}

TEST(VanishingUpdate, DependsOnTheSeedAloneNotOnThreads) {
  Request request = brief();
  const std::string first = text(outcome(request));
  {
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    EXPECT_EQ(first, text(outcome(request)));
  }
  request.seed = 1;
  EXPECT_NE(first, text(outcome(request)));
}

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

TEST(VanishingUpdate, TakesFormatsThatReachDownFarEnough) {
  Request request = brief();
  request.formats = {kE4m3, FloatFormat::ieee(2, 11)};
  try {
    outcome(request);
    FAIL() << "e2p11 was taken";
  } catch (const std::invalid_argument& e) {
    EXPECT_EQ(std::string(e.what()).find("vanishing-update: --format is e2p11; expected"), 0u) << e.what();
  }
  request.formats = {kFp32};
  EXPECT_THROW(outcome(request), std::invalid_argument);
  request.formats.clear();
  request.bits = 0;
  EXPECT_THROW(outcome(request), std::invalid_argument);
}

}  // namespace
}  // namespace softamp::reproduce
