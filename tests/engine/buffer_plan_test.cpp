// Buffers in one arena: what lives together never overlaps, and what has ended makes room.
#include "softamp/engine/buffer_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace softamp::engine {
namespace {

/// Every promise of plan_buffers, by comparing all pairs.
void check(const std::vector<BufferRequest>& requests) {
  const BufferPlan plan = plan_buffers(requests);
  ASSERT_EQ(plan.offsets.size(), requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(plan.offsets[i] % 64, 0u);
    ASSERT_LE(plan.offsets[i] + requests[i].bytes, plan.arena_bytes);
    for (size_t j = 0; j < i; ++j) {
      const bool together = requests[i].first <= requests[j].last && requests[j].first <= requests[i].last;
      const bool overlap = plan.offsets[i] < plan.offsets[j] + requests[j].bytes &&
                           plan.offsets[j] < plan.offsets[i] + requests[i].bytes;
      ASSERT_FALSE(together && overlap && requests[i].bytes && requests[j].bytes)
          << "requests " << j << " and " << i << " of " << requests.size();
    }
  }
}

TEST(BufferPlan, RandomLifetimesNeverOverlap) {
  std::mt19937_64 random(1);
  const auto below = [&](uint64_t n) { return random() % n; };
  for (int round = 0; round < 400; ++round) {
    std::vector<BufferRequest> requests;
    int step = 0;
    const uint64_t longest = 1 + below(20), largest = 1 + below(3) * 700 + below(100);
    for (uint64_t i = 0, n = 1 + below(120); i < n; ++i) {
      step += static_cast<int>(below(3));
      const uint64_t bytes = below(10) == 0 ? 0 : below(5) == 0 ? 64 * below(4) : below(largest);
      requests.push_back({static_cast<size_t>(bytes), step, step + static_cast<int>(below(longest))});
    }
    check(requests);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(BufferPlan, WhatHasEndedIsUsedAgain) {
  // A chain: each buffer is read by the next step alone, so two suffice.
  std::vector<BufferRequest> chain;
  for (int i = 0; i < 100; ++i) chain.push_back({1000, i, i + 1});
  EXPECT_EQ(plan_buffers(chain).arena_bytes, 2u * 1024);
  // A buffer that is not read at all leaves after its own step.
  EXPECT_EQ(plan_buffers({{640, 0, 0}, {640, 1, 1}, {640, 2, 2}}).arena_bytes, 640u);
  // Read at step 1, written at step 1: both are there.
  EXPECT_EQ(plan_buffers({{640, 0, 1}, {640, 1, 1}}).arena_bytes, 1280u);
}

TEST(BufferPlan, NeighbouringGapsBecomeOne) {
  // Three of 64 end one after the other, in every order, around one that stays; then one of 192 fits without growth.
  for (const auto& ends : {std::vector<int>{1, 2, 3}, {3, 2, 1}, {2, 1, 3}, {1, 3, 2}, {3, 1, 2}, {2, 3, 1}}) {
    const BufferPlan plan =
        plan_buffers({{64, 0, ends[0]}, {64, 0, ends[1]}, {64, 0, ends[2]}, {64, 0, 9}, {192, 5, 9}});
    EXPECT_EQ(plan.arena_bytes, 256u);
    EXPECT_EQ(plan.offsets[4], 0u);
  }
}

TEST(BufferPlan, TheSmallestGapThatFitsIsTaken) {
  // Gaps of 256 and 128 bytes: a request of 100 bytes goes to the second, one of 200 to the first.
  const BufferPlan plan = plan_buffers({{256, 0, 0}, {64, 0, 9}, {128, 0, 0}, {64, 0, 9}, {100, 1, 9}, {200, 1, 9}});
  EXPECT_EQ(plan.offsets[4], 320u);
  EXPECT_EQ(plan.offsets[5], 0u);
  EXPECT_EQ(plan.arena_bytes, 512u);
}

TEST(BufferPlan, AGapAtTheEndIsGrown) {
  const BufferPlan plan = plan_buffers({{64, 0, 9}, {128, 0, 0}, {256, 1, 2}});
  EXPECT_EQ(plan.offsets[2], 64u);
  EXPECT_EQ(plan.arena_bytes, 64u + 256);
}

TEST(BufferPlan, NothingAndEmptyBuffers) {
  EXPECT_EQ(plan_buffers({}).arena_bytes, 0u);
  const BufferPlan plan = plan_buffers({{0, 0, 5}, {1, 0, 5}, {0, 1, 1}});
  EXPECT_EQ(plan.offsets[1], 0u) << "an empty buffer keeps nobody out";
  EXPECT_LE(plan.arena_bytes, 128u);
}

}  // namespace
}  // namespace softamp::engine
