// `softamp selftest --backend cuda` on a machine without a GPU: its checks, run on the CUDA engine on the host. The
// program itself cannot be had with that engine in it, so its check's source is part of this test.
#include "src/program/selftest/selftest_backend.cpp"

#include "tests/serial_grid/both.h"

namespace softamp::program {
namespace {

class SelftestOfABackend : public test::BothBackends {};

TEST_F(SelftestOfABackend, EveryCheckPassesAndComparesSomething) {
  const std::vector<BackendCheck> checks = backend_checks();
  ASSERT_EQ(checks.size(), 4u);
  // The fourth trains, which takes kernels on the host too long: serial_grid.parity.training does the like.
  for (size_t i = 0; i < 3; ++i) {
    const BackendFinding found = checks[i].run("cuda");
    EXPECT_EQ(found.problem, "") << checks[i].name;
    EXPECT_GT(found.values, 10u) << checks[i].name;
    EXPECT_EQ(found.digest.size(), 32u);
  }
}

/// An engine that is emu with one setting changed.
std::unique_ptr<Executor> rounds_otherwise(Graph graph, ExecutorOptions o) {
  o.backend = "emu";
  o.seed ^= 1;
  return make_executor(std::move(graph), std::move(o));
}

TEST(SelftestOfABackendThatIsWrong, NamesTheFirstDifference) {
  const BackendFactory before = exchange_backend("cuda", rounds_otherwise);
  const char* const first[] = {"stochastic", "stochastic", "stochastic", "float16, step 0"};
  for (size_t i = 0; i < 4; ++i) {
    const std::string problem = backend_checks()[i].run("cuda").problem;
    EXPECT_TRUE(test::contains(problem, first[i])) << i << ": " << problem;
  }
  exchange_backend("cuda", before);
}

}  // namespace
}  // namespace softamp::program
