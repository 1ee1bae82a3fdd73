// What the benchmarks print beside Google Benchmark's own figures: tables with targets, after all else. And how they
// end: with any option of that library, of any of its versions.
#pragma once

#include <benchmark/benchmark.h>

#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace softamp::bench {

/// One row of the table that is printed at the end.
struct Row {
  std::string name, target, prototype, measured;
  bool met;
};
// implements: N390
inline std::vector<Row>& rows() {
  static std::vector<Row> all;
  return all;
}
/// Keeps a row; a benchmark that is repeated replaces its own.
inline void keep_table_row(Row row) {
  for (Row& r : rows())
    if (r.name == row.name) {
      r = std::move(row);
      return;
    }
  rows().push_back(std::move(row));
}

/// Text to be printed at the end, as printf forms it.
[[gnu::format(printf, 1, 2)]] inline void print_later(const char* format, ...);
inline std::string& later() {
  static std::string text;
  return text;
}
inline void print_later(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  const size_t old = later().size();
  later().resize(old + static_cast<size_t>(size) + 1);
  std::vsnprintf(later().data() + old, static_cast<size_t>(size) + 1, format, again);
  later().pop_back();
  va_end(again);
  va_end(arguments);
}

/// Google Benchmark's own options; what it leaves in argv is ours. Where standard output is JSON or CSV, tables go to
/// standard error.
inline FILE*& table_file() {
  static FILE* file = stdout;
  return file;
}
inline void start(int& argc, char** argv) {
  const char* format = std::getenv("BENCHMARK_FORMAT");
  constexpr char kOption[] = "--benchmark_format=";
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], kOption, sizeof kOption - 1) == 0) format = argv[i] + sizeof kOption - 1;
  if (format && std::strcmp(format, "console") != 0) table_file() = stderr;
  benchmark::Initialize(&argc, argv);
}

/// Runs what is registered, then prints the tables. Returns main's exit status.
inline int finish() {
  benchmark::RunSpecifiedBenchmarks();
  FILE* const to = table_file();
  std::fflush(stdout);
  std::fputs(later().c_str(), to);
  if (!rows().empty()) std::fprintf(to, "\n| what | target | prototype | measured | met |\n|---|---|---|---|---|\n");
  for (const Row& r : rows())
    std::fprintf(to, "| %s | %s | %s | %s | %s |\n", r.name.c_str(), r.target.c_str(), r.prototype.c_str(),
                 r.measured.c_str(),
                 r.target.empty() ? ""
                 : r.met          ? "yes"
                                  : "no");
  return 0;
}

/// main of a program that has registered its benchmarks and takes no arguments of its own.
inline int run(int argc, char** argv) {
  start(argc, argv);
  return benchmark::ReportUnrecognizedArguments(argc, argv) ? 2 : finish();
}

struct Argument {
  const char* name;
  int value;  ///< where it is not given
};

/// The whole numbers from 1 on that follow the program's name, in this order, each of which may be left out at the end.
/// Anything else that is no option of Google Benchmark ends the program with a line that says what was expected, and
/// exit code 2. To be followed by add_table and finish.
inline std::vector<int> arguments(int argc, char** argv, std::initializer_list<Argument> expected) {
  start(argc, argv);
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

/// Benchmarks whose subjects are measured in turn: the first of them that runs calls `measure`, which gives the seconds
/// of all. So filters, lists and formats see each, and nothing is measured where none is asked for.
inline void add_table(const std::vector<std::string>& names, const std::function<std::vector<double>()>& measure) {
  const auto seconds = std::make_shared<std::vector<double>>();
  for (size_t i = 0; i < names.size(); ++i)
    benchmark::RegisterBenchmark(names[i].c_str(),
                                 [=](benchmark::State& state) {
                                   if (seconds->empty()) *seconds = measure();
                                   for (auto _ : state) state.SetIterationTime(seconds->at(i));
                                 })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMicrosecond);
}

}  // namespace softamp::bench
