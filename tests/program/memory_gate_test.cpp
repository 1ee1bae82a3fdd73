// Runs of a study enter while there is room for them, wait where there is none, and are never shut out for good.
#include "src/program/study/memory_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace softamp::program {
namespace {

/// The most runs of `bytes` that were inside at a time, of eight on eight threads; how often it was said that one
/// waits.
std::pair<int, int> eight_runs(uint64_t there, uint64_t bytes) {
  std::atomic<int> inside{0}, most{0}, said{0};
  MemoryGate gate(there, [&](uint64_t needed, int others) {
    EXPECT_EQ(needed, bytes);
    EXPECT_GE(others, 1);
    ++said;
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      gate.enter(bytes, [] { return false; });
      const int now = ++inside;
      for (int before = most; before < now && !most.compare_exchange_weak(before, now);) continue;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      --inside;
      gate.leave(bytes);
    });
  for (std::thread& t : threads) t.join();
  return {most, said};
}

TEST(MemoryGate, AsManyRunsAsThereIsRoomFor) {
  EXPECT_EQ(eight_runs(300, 100).second, 1) << "it is said once";
  EXPECT_LE(eight_runs(300, 100).first, 3);
  EXPECT_LE(eight_runs(299, 100).first, 2);
  EXPECT_EQ(eight_runs(800, 100).second, 0) << "all have room";
  EXPECT_EQ(eight_runs(99, 100).first, 1) << "one alone is let in: what it lacks is its own to say";
}

TEST(MemoryGate, OneThatIsStoppedWaitsNoLonger) {
  MemoryGate gate(100, {});
  const auto never = [] { return false; };
  gate.enter(100, never);
  gate.enter(1, [] { return true; });
  gate.leave(1);
  std::thread other([&] { gate.enter(100, never); });
  gate.leave(100);
  other.join();
  gate.leave(100);
}

}  // namespace
}  // namespace softamp::program
