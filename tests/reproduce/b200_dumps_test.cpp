// The dumps of the B200: what the second figure of the experiment shows; its digests are in results/b200.txt.
#include <gtest/gtest.h>

#include <algorithm>

#include "src/reproduce/shelf.h"
#include "tests/reproduce/brief.h"

namespace softamp::reproduce {
namespace {

/// d at one binade below the normal numbers: NVIDIA goes up in d of all cases, Intel in max(0, 2d - 1).
TEST(B200Dumps, SharesAreThoseOfTheDocuments) {
  Request request = brief_request();
  request.formats = {kBf16};
  const Outcome o = outcome_of(b200_dumps::experiment(), request);
  ASSERT_EQ(o.figures.size(), 2u);
  const auto& curves = o.figures[1].plot.curves;
  ASSERT_EQ(curves.size(), 3u);
  for (size_t i = 0; i < curves[0].x.size(); ++i) {
    const double d = curves[0].x[i];
    EXPECT_EQ(curves[0].y[i], d);
    EXPECT_EQ(curves[1].y[i], std::max(0.0, 2 * d - 1));
    EXPECT_EQ(curves[2].y[i], std::max(0.0, 4 * d - 3));
  }
}

}  // namespace
}  // namespace softamp::reproduce
