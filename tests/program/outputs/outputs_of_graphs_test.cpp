#include "tests/program/outputs/outputs.h"

namespace softamp::test {

TEST(OutputsOfGraphs, Run) { expect_kept_outputs("run"); }
TEST(OutputsOfGraphs, Rewrite) { expect_kept_outputs("rewrite"); }
TEST(OutputsOfGraphs, Operations) { expect_kept_outputs("operations"); }
TEST(OutputsOfGraphs, Softamp) { expect_kept_outputs("softamp"); }
TEST(OutputsOfGraphs, Completions) { expect_kept_outputs("completions"); }
TEST(OutputsOfGraphs, Selftest) { expect_kept_outputs("selftest"); }

}  // namespace softamp::test
