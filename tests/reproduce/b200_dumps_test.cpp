// The dumps of the B200: digests, what they rest on, and the experiment's answers to bad requests.
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <stdexcept>

#include "src/reproduce/shelf.h"
#include "tests/refusal.h"
#include "tests/reproduce/brief.h"

namespace {

using namespace softamp;
using namespace softamp::reproduce;

Outcome run_b200(const Request& request) { return outcome_of(experiment_called("b200"), request); }

/// The digests stand here once more, as published.
// tests: N343
TEST(B200Dumps, DigestsAsPublished) {
  const Outcome o = run_b200(brief_request());
  for (const Check& c : o.checks) {
    EXPECT_TRUE(c.agrees) << c.what << ": " << c.ours << ", theirs " << c.theirs;
    EXPECT_EQ(c.against, c.what == "checkpoints of both dumps" ? Against::kBound : Against::kFigure) << c.what;
  }
  ASSERT_EQ(o.checks.size(), 4u);
  EXPECT_EQ(o.checks[0].ours, "225d47353206381d2b38c2dfabd1f51538b0473f193866e09a16ad13464fba44");
  EXPECT_EQ(o.checks[1].ours, "93c6e6c45b3333ed85c0e69648ccaeae80e28000c5706485fcf0279f89506126");
  ASSERT_EQ(o.tables.size(), 3u);
  EXPECT_EQ(o.tables[0].rows[0][2], 100663300);
  EXPECT_EQ(o.tables[1].rows.size(), 6u);
  EXPECT_EQ(o.tables[2].rows.size(), 4u);
  ASSERT_EQ(o.figures.size(), 2u);
  // d at one binade below the normal numbers: NVIDIA goes up in d of all cases, Intel in max(0, 2d - 1).
  const auto& curves = o.figures[1].plot.curves;
  ASSERT_EQ(curves.size(), 3u);
  for (size_t i = 0; i < curves[0].x.size(); ++i) {
    const double d = curves[0].x[i];
    EXPECT_EQ(curves[0].y[i], d);
    EXPECT_EQ(curves[1].y[i], std::max(0.0, 2 * d - 1));
    EXPECT_EQ(curves[2].y[i], std::max(0.0, 4 * d - 3));
  }
}

TEST(B200Dumps, OneFormatAloneOnOneThread) {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  Request request = brief_request();
  request.formats = {kBf16};
  const Outcome o = run_b200(request);
  ASSERT_EQ(o.checks.size(), 3u);
  EXPECT_EQ(o.checks[0].ours, "93c6e6c45b3333ed85c0e69648ccaeae80e28000c5706485fcf0279f89506126");
  EXPECT_TRUE(o.checks[0].agrees);
}

TEST(B200Dumps, OtherFormatsAreRefused) {
  Request request = brief_request();
  request.formats = {kE4m3};
  EXPECT_EQ(softamp::test::refusal<std::invalid_argument>([&] { run_b200(request); }),
            "b200: format e4m3: expected fp16 or bf16, of which there are dumps");
}

TEST(B200Dumps, StopsWhereItIsAsked) {
  double heard = 0;
  Watch watch([&heard](double share) { heard = share; }, [&heard] { return heard > 0.1; });
  EXPECT_THROW(experiment_called("b200").run(brief_request(), watch), Interrupted);
  EXPECT_LT(heard, 0.2);
}

}  // namespace
