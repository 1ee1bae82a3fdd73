// Rates as ratios: a benchmark runs memcpy, its subject and, where it has one, a baseline in turn, many times, so that
// changes of the machine's speed affect all of them; medians of the rounds are reported.
#pragma once

#include "bench/tables.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

namespace softamp::bench {

/// Page-aligned storage, as large arrays have anyway.
template <class T>
struct PageAllocator {
  using value_type = T;
  PageAllocator() = default;
  template <class U>
  PageAllocator(const PageAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{4096})); }
  void deallocate(T* p, size_t) { ::operator delete (p, std::align_val_t{4096}); }
  bool operator==(const PageAllocator&) const { return true; }
};
template <class T>
using Array = std::vector<T, PageAllocator<T>>;

constexpr size_t kInCache = size_t{16} << 10, kPastCache = size_t{64} << 20;

/// The median; of nothing there is none, and a caller that asks for it ends with a sentence.
// implements: N390
inline double median(std::vector<double> v) {
  if (v.empty()) {
    std::fprintf(stderr, "the median of nothing: a benchmark has measured no round\n");
    std::exit(1);
  }
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Seconds that `calls` calls take.
inline double seconds(const std::function<void()>& f, size_t calls) {
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < calls; ++i) f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// memcpy of n floats by `threads` threads.
class Copy {
 public:
  Copy(size_t n, int threads) : from_(n, 1.0f), to_(n), threads_(threads), arena_(threads) {}
  void operator()() {
    if (threads_ == 1) {
      part(0, from_.size());
    } else {
      arena_.execute([&] {
        const size_t count = static_cast<size_t>(threads_), n = from_.size();
        oneapi::tbb::parallel_for(
            size_t{0}, count, [&](size_t t) { part(n * t / count, n * (t + 1) / count); },
            oneapi::tbb::static_partitioner{});
      });
    }
    benchmark::ClobberMemory();
  }

 private:
  void part(size_t begin, size_t end) { std::memcpy(to_.data() + begin, from_.data() + begin, 4 * (end - begin)); }

  Array<float> from_, to_;
  int threads_;
  oneapi::tbb::task_arena arena_;
};

/// What a benchmark must reach.
struct Goal {
  double least = 0;            ///< of the quantity below
  bool of_baseline = false;    ///< relative to the baseline's rate, else to memcpy's
  const char* prototype = "";  ///< what the prototype reached, for the table
};

/// Runs `subject` over n elements a call against memcpy and `baseline` (may be empty); reports and keeps a table row.
// implements: N390
inline void compare(benchmark::State& state, const std::string& name, size_t n, int threads,
                    const std::function<void()>& subject, const std::function<void()>& baseline, const Goal& goal) {
  Copy copy(n, threads);
  const size_t calls = std::max<size_t>(1, (size_t{1} << 19) / n);
  const auto warm = [&] { subject(), copy(), baseline ? baseline() : void(); };
  warm();
  std::vector<double> rate, to_memcpy, to_baseline;
  const double elements = static_cast<double>(n * calls);
  for (auto _ : state) {
    const double c = seconds([&] { copy(); }, calls), s = seconds(subject, calls);
    const double b = baseline ? seconds(baseline, calls) : s;
    state.SetIterationTime(s);
    rate.push_back(elements / s * 1e-9);
    to_memcpy.push_back(c / s);
    to_baseline.push_back(b / s);
  }
  const double value = median(goal.of_baseline ? to_baseline : to_memcpy);
  state.counters["G/s"] = median(rate);
  state.counters["x_memcpy"] = median(to_memcpy);
  if (baseline) state.counters["x_baseline"] = median(to_baseline);
  if (goal.least == 0) return;
  char target[32], measured[32];
  std::snprintf(target, sizeof target, ">= %.2f %s", goal.least, goal.of_baseline ? "" : "x memcpy");
  std::snprintf(measured, sizeof measured, "%.2f (%.2f G/s)", value, median(rate));
  keep_table_row({name, target, goal.prototype, measured, value >= goal.least});
}

inline void add(const std::string& name, size_t n, int threads, std::function<void()> subject,
                std::function<void()> baseline = {}, Goal goal = {}) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& s) { compare(s, name, n, threads, subject, baseline, goal); })
      ->UseManualTime()
      ->Iterations(n == kPastCache ? 9 : 101)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace softamp::bench
