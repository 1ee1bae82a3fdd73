#include "tests/program/outputs/outputs.h"

namespace softamp::test {

TEST(OutputsOfTraining, Train) { expect_kept_outputs("train"); }
TEST(OutputsOfTraining, Study) { expect_kept_outputs("study"); }
TEST(OutputsOfTraining, Demo) { expect_kept_outputs("demo"); }
TEST(OutputsOfTraining, Reproduce) { expect_kept_outputs("reproduce"); }

}  // namespace softamp::test
