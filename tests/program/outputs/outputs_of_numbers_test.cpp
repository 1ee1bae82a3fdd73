#include "tests/program/outputs/outputs.h"

namespace softamp::test {

TEST(OutputsOfNumbers, Sum) { expect_kept_outputs("sum"); }
TEST(OutputsOfNumbers, Inspect) { expect_kept_outputs("inspect"); }
TEST(OutputsOfNumbers, Formats) { expect_kept_outputs("formats"); }
TEST(OutputsOfNumbers, Chips) { expect_kept_outputs("chips"); }
TEST(OutputsOfNumbers, Round) { expect_kept_outputs("round"); }
TEST(OutputsOfNumbers, Compute) { expect_kept_outputs("compute"); }
TEST(OutputsOfNumbers, Vectors) { expect_kept_outputs("vectors"); }
TEST(OutputsOfNumbers, Registers) { expect_kept_outputs("registers"); }
TEST(OutputsOfNumbers, Compare) { expect_kept_outputs("compare"); }

}  // namespace softamp::test
