// Benchmarks that print tables of their own: their arguments, and their figures among those of Google Benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace softamp::bench {

struct Argument {
  const char* name;
  int value;  ///< where it is not given
};

/// The whole numbers from 1 on that follow the program's name, in this order, each of which may be left out at the end.
/// Options of Google Benchmark are accepted; those that such a table has no use for change nothing. Anything else ends
/// the program with a line that says what was expected, and exit code 2.
inline std::vector<int> arguments(int argc, char** argv, std::initializer_list<Argument> expected) {
  benchmark::Initialize(&argc, argv);
  std::vector<int> values;
  for (const Argument& a : expected) {
    int value = a.value;
    if (const size_t place = values.size() + 1; place < static_cast<size_t>(argc)) {
      const char* const text = argv[place];
      const char* const end = text + std::strlen(text);
      const auto [rest, error] = std::from_chars(text, end, value);
      if (error != std::errc() || rest != end || value < 1) {
        std::fprintf(stderr, "%s: %s is '%s'; expected a whole number from 1 on\n", argv[0], a.name, text);
        std::exit(2);
      }
    }
    values.push_back(value);
  }
  if (static_cast<size_t>(argc) > expected.size() + 1) {
    std::fprintf(stderr, "%s: '%s' is one argument too many\n", argv[0], argv[expected.size() + 1]);
    std::exit(2);
  }
  return values;
}

/// A time that a table has measured, as a benchmark: its filter, its formats and compare.sh see it. To be followed, at
/// the end, by benchmark::RunSpecifiedBenchmarks().
inline void report(const std::string& name, double seconds) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [seconds](benchmark::State& state) {
                                 for (auto _ : state) state.SetIterationTime(seconds);
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace softamp::bench
