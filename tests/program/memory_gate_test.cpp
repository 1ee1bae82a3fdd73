// Runs of a study enter while there is room for them, wait where there is none, and are never shut out for good.
#include "src/program/study/memory_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace softamp::program {
namespace {

struct EightRuns {
  int most = 0;    ///< at a time, inside
  int beside = 0;  ///< how many were inside when the first had to wait; 0: none had to
  int said = 0;    ///< how often that was told
};

/// Eight runs of `bytes` on eight threads. one_waits: nobody leaves before one had to wait.
EightRuns eight_runs(uint64_t there, uint64_t bytes, bool one_waits) {
  std::atomic<int> inside{0}, most{0}, beside{0}, said{0};
  MemoryGate gate(there, [&](uint64_t needed, int others) {
    EXPECT_EQ(needed, bytes);
    beside = others;
    ++said;
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      gate.enter(bytes, [] { return false; });
      const int now = ++inside;
      for (int before = most; before < now && !most.compare_exchange_weak(before, now);) continue;
      while (one_waits && said == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --inside;
      gate.leave(bytes);
    });
  for (std::thread& t : threads) t.join();
  return {most, beside, said};
}

TEST(MemoryGate, AsManyRunsAsThereIsRoomFor) {
  for (const auto& [there, room] : {std::pair{300, 3}, {299, 2}, {100, 1}, {99, 1}}) {  // one alone is let in always
    const EightRuns runs = eight_runs(static_cast<uint64_t>(there), 100, true);
    EXPECT_LE(runs.most, room) << there;
    EXPECT_EQ(runs.beside, room) << there;
    EXPECT_EQ(runs.said, 1) << there;
  }
  EXPECT_EQ(eight_runs(800, 100, false).said, 0) << "all have room";
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
