// Loops on std::thread (emu/parallel_threads.cpp), in a program that has no other.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

#include "emu/parallel.h"

namespace softamp::emu {
namespace {

// tests: N425
TEST(Threads, EveryPieceOnce) {
  for (const size_t count : {0, 1, 2, 3, 17, 255, 256})
    for (const int threads : {0, 1, 2, 3, 1024}) {
      std::vector<std::atomic<int>> done(count);
      auto body = [&](size_t piece) { ++done.at(piece); };
      for_each_piece(count, threads, body);
      for (const auto& times : done) EXPECT_EQ(times, 1);
    }
}

TEST(Threads, UsesThemAll) {
  if (machine_threads() < 2) GTEST_SKIP() << "one thread";
  // Each of two pieces waits for the other to have begun.
  std::atomic<int> begun = 0;
  std::atomic<bool> met = true;
  auto body = [&](size_t) {
    ++begun;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (begun < 2 && met)
      if (std::chrono::steady_clock::now() > end) met = false;
  };
  for_each_piece(2, 2, body);
  EXPECT_TRUE(met);
}

TEST(Threads, OneMeansTheCaller) {
  auto body = [&, self = std::this_thread::get_id()](size_t) { EXPECT_EQ(std::this_thread::get_id(), self); };
  for_each_piece(50, 1, body);
}

// tests: N425
TEST(Threads, ExceptionsTravel) {
  for (int turn = 0; turn < 50; ++turn) {
    auto body = [&](size_t piece) {
      if (piece % 7 == 3) throw std::runtime_error("piece");
    };
    EXPECT_THROW(for_each_piece(100, 0, body), std::runtime_error);
    std::atomic<int> after = 0;
    auto count = [&](size_t) { ++after; };
    for_each_piece(20, 0, count);
    EXPECT_EQ(after, 20);
  }
}

TEST(Threads, LoopsWithinAndBesideLoops) {
  std::atomic<int> done = 0;
  auto inner = [&](size_t) { ++done; };
  auto outer = [&](size_t) { for_each_piece(10, 0, inner); };
  for_each_piece(10, 0, outer);
  EXPECT_EQ(done, 100);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int turn = 0; turn < 50; ++turn) for_each_piece(10, 0, inner);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 100 + 4 * 50 * 10);
}

TEST(Threads, RangesAreCovered) {
  for (const size_t n : {1, 1000, 4096, 100003}) {
    std::vector<std::atomic<int>> done(n);
    auto body = [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) ++done[i];
    };
    parallel_ranges(n, 64, 16, 0, body);
    for (const auto& times : done) ASSERT_EQ(times, 1);
  }
}

}  // namespace
}  // namespace softamp::emu
