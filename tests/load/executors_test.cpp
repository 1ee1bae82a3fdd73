// Many executors at once, and many graphs one after another.
#include <gtest/gtest.h>

#include <thread>

#include "tests/graph/random_graph.h"
#include "tests/load/memory_in_use.h"

namespace softamp::test {
namespace {

ExecutorOptions options_of(int threads) {
  ExecutorOptions o;
  o.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
  o.seed = 11;
  o.threads = threads;
  o.status = true;
  return o;
}

/// Some steps of a graph, and what the last one gives.
RunResult run_steps(const RandomGraph& g, int threads, int64_t steps) {
  const std::unique_ptr<Executor> executor = make_executor(g.graph, options_of(threads));
  const std::vector<Feed> feeds = g.feed_list();
  for (int64_t s = 1; s < steps; ++s) executor->run(feeds, g.fetches);
  return executor->run(feeds, g.fetches);
}

TEST(LoadExecutors, SixtyFourInAsManyThreadsGiveTheBitsOfOneAlone) {
  constexpr size_t kThreads = 64;
  const int64_t steps = times(4, 400);
  std::vector<RandomGraph> graphs;
  std::vector<RunResult> alone, together(kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    graphs.push_back(RandomGraphMaker(1000 + i).make(10));
    alone.push_back(run_steps(graphs[i], 1, steps));
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] { together[i] = run_steps(graphs[i], static_cast<int>(1 + i % 4), steps); });
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kThreads; ++i) {
    EXPECT_EQ(together[i].step, alone[i].step);
    EXPECT_EQ(together[i].flags, alone[i].flags);
    ASSERT_EQ(together[i].values.size(), alone[i].values.size());
    for (size_t f = 0; f < alone[i].values.size(); ++f)
      EXPECT_TRUE(together[i].values[f].same_bits(alone[i].values[f])) << "graph " << i << ", " << graphs[i].fetches[f];
  }
}

TEST(LoadExecutors, GraphsThatAreBuiltAndDroppedLeaveNoMemoryBehind) {
  constexpr uint64_t kDifferent = 50;
  expect_no_growth(times(1000, 10'000), 2 * kDifferent, [](int64_t i) {
    const RandomGraph g = RandomGraphMaker(static_cast<uint64_t>(i) % kDifferent).make(6);
    run_steps(g, 1, 1);
  });
}

}  // namespace
}  // namespace softamp::test
