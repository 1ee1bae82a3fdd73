// Loss scaling: the prediction from exponents against numbers at every edge, and the short form.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "softamp/numerics/operations.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/training/gradient_exponents.h"
#include "tests/refusal.h"
#include "tests/reproduce/brief.h"

namespace softamp::reproduce {
namespace {

Outcome brief_loss_scaling(uint64_t seed = 0, std::vector<FloatFormat> formats = {}) {
  Request request = brief_request(seed);
  request.formats = std::move(formats);
  return outcome_of(loss_scaling::experiment(), request);
}

/// Numbers at and beside each edge of `f`, times 2^-8.
std::vector<float> edges(const FloatFormat& f) {
  const double least = std::ldexp(1.0, f.min_quantum()), normal = std::ldexp(1.0, f.min_exponent());
  const double last = std::ldexp(2 - std::ldexp(1.0, 1 - f.precision), f.max_exponent());
  const double half = std::ldexp(1.0, f.max_exponent() - f.precision);
  std::vector<float> all{0.0f, -0.0f};
  for (const double edge : {least / 2, least, normal - least / 2, normal - least, normal, last, last + half})
    for (const double beside : {1 - 0x1p-23, 1.0, 1 + 0x1p-22})
      for (const double sign : {1.0, -1.0}) all.push_back(static_cast<float>(sign * edge * beside * 0x1p-8));
  return all;
}

TEST(LossScaling, PredictedFromExponentsIsCountedAtEveryEdge) {
  for (const FloatFormat& f : {kFp16, kE5m2, FloatFormat::ieee(5, 7)}) {
    const std::vector<float> values = edges(f);
    const ExponentTable table(values, f);
    EXPECT_EQ(table.nonzero(), static_cast<int64_t>(values.size()) - 2);
    for (int k = 0; k <= 40; ++k) {
      const Fate counted = count_fates(values, f, k);
      EXPECT_TRUE(counted == table.predict(k)) << f.precision << ' ' << k;
    }
    // The edges' own scale: at most half of the least number is zero, the tie too; from half a place above the last on
    // it overflows; one number below the normal ones rounds up to them.
    const Fate at_edges = count_fates(values, f, 8);
    EXPECT_EQ(at_edges.zero, 2 * 2);
    EXPECT_EQ(at_edges.overflow, 2 * 2);
  }
}

TEST(LossScaling, CountsAreThoseOfTheUnit) {
  const std::vector<float> values = edges(kFp16);
  for (const int k : {0, 4, 8, 12, 31}) {
    Fate fate;
    for (const float x : values) {
      if (x == 0) continue;
      const uint64_t code = fp::from_double(kFp16, std::ldexp(static_cast<double>(x), k));
      fate.zero += (code & 0x7FFF) == 0;
      fate.subnormal += (code & 0x7FFF) != 0 && (code & 0x7C00) == 0;
      fate.overflow += (code & 0x7FFF) == 0x7C00;
    }
    EXPECT_TRUE(fate == count_fates(values, kFp16, k)) << k;
  }
}

TEST(LossScaling, BriefFormAgrees) {
  const Outcome o = brief_loss_scaling();
  EXPECT_FALSE(o.seen.empty());
  EXPECT_EQ(o.figures.size(), 2u);
  int judged = 0;
  for (const Check& c : o.checks) {
    EXPECT_TRUE(c.agrees) << c.what << ": " << c.ours << ", expected " << c.theirs;
    judged += c.against != Against::kRecorded;
  }
  EXPECT_EQ(judged, 5);
  // What is said of the share that underflows is what is counted.
  const bool none_underflows = o.tables[1].rows.front()[7] == 0;
  EXPECT_EQ(o.seen.find("no activation gradient becomes zero without a scale (fp16)") != std::string::npos,
            none_underflows);
  // There is something to count: gradients of both kinds, some that underflow and some that overflow.
  const Table& shares = o.tables[1];
  ASSERT_EQ(shares.rows.size(), 26u);
  EXPECT_GT(shares.rows.front()[3].get<int64_t>(), 10000);
  EXPECT_GT(shares.rows[13][3].get<int64_t>(), 1000);
  EXPECT_GT(shares.rows.front()[5].get<int64_t>(), 100);
  EXPECT_GT(shares.rows[12][6].get<int64_t>(), 100);
}

TEST(LossScaling, DrawsTheExponentsAsAHistogram) {
  Request request;
  request.brief = true;
  request.samples = 8;
  Watch watch;
  const Outcome o = loss_scaling::experiment().run(request, watch);
  const std::vector<Curve>& curves = o.figures[0].plot.curves;
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[0].style, CurveStyle::kBars);
  EXPECT_EQ(curves[0].title, "activations");
  EXPECT_EQ(curves[1].style, CurveStyle::kBold);
  EXPECT_EQ(curves[2].style, CurveStyle::kReference);
  EXPECT_EQ(o.figures[0].plot.x_log, 0);
  EXPECT_NE(o.deviations.find("SSD"), std::string::npos);
}

TEST(LossScaling, TrainsInFp16Alone) {
  const Outcome o = brief_loss_scaling(0, {kE5m2});
  EXPECT_EQ(o.tables.size(), 2u);
  EXPECT_EQ(o.settings["trainings"], "none: fp16 is not among the formats");
  for (const Check& c : o.checks) {
    EXPECT_EQ(c.what.find("e5m2"), 0u) << c.what;
    EXPECT_TRUE(c.agrees) << c.what;
  }
  EXPECT_NE(o.deviations.find("No network is trained in mixed precision"), std::string::npos);
}

TEST(LossScaling, DependsOnTheSeedAloneNotOnThreads) {
  expect_seed_decides(loss_scaling::experiment(), brief_request(0, 8));
}

TEST(LossScaling, SaysWhatItCannotTake) {
  Watch watch;
  Request request;
  request.brief = true;
  request.formats = {kFp32};
  const std::string words =
      softamp::test::refusal<std::invalid_argument>([&] { loss_scaling::experiment().run(request, watch); });
  EXPECT_EQ(words.find("loss-scaling: --format is fp32; expected"), 0u) << words;
  request.formats.clear();
  request.samples = 1000001;
  EXPECT_THROW(loss_scaling::experiment().run(request, watch), std::invalid_argument);
}

}  // namespace
}  // namespace softamp::reproduce
