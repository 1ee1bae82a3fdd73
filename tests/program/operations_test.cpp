// softamp operations: the list, one operation, and the table that the documentation holds.
#include <gtest/gtest.h>

#include "process.h"

namespace softamp::test {
namespace {

TEST(Operations, TheDocumentationHoldsTheTable) {
  const Outcome outcome = run_softamp("operations --markdown");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, read_text(SOFTAMP_SOURCE_DIR "/docs/OPERATIONS.md"))
      << "softamp operations --markdown > docs/OPERATIONS.md";
}

TEST(Operations, OneIsTakenApart) {
  const Outcome outcome = run_softamp("operations MatMul");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find(
                "\n  input   a: T\n  input   b: T\n  input   c: float32, may be left out\n  output  product: T\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("\n  attribute T (float16, bfloat16, float32, float64)"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("\n  attribute transpose_a (bool) [=false]"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\n  rounding sites: 2\n"), std::string::npos) << outcome.out;
}

TEST(Operations, AllAreListed) {
  const Outcome outcome = run_softamp("operations");
  for (const char* op : {"\nConv2DBackpropFilter ", "\nFusedBatchNormV3 ", "\nSoftmax ", "\nUnsortedSegmentSum "})
    EXPECT_NE(outcome.out.find(op), std::string::npos) << op;
}

TEST(Operations, AnUnknownOneIsNamedWithTheNearest) {
  const Outcome outcome = run_softamp("operations MatMull");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("MatMull"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("MatMul"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace softamp::test
