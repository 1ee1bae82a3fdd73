// What the proofs share: their command line, the slice they take, threads, counting, and the verdict.
#pragma once

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace proof {

/// --full        every case
/// --slice N     (0..2^32) [=0] one part of the cases, the N-th modulo the number of parts
/// --of M        (1..2^20) [=the proof's default] how many parts there are
/// --threads T   (1..1024) [=hardware threads]
struct Options {
  uint64_t parts;
  uint64_t slice = 0;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());

  bool full() const { return parts == 1; }
};

[[noreturn]] inline void refuse(const char* program, const std::string& what) {
  std::fprintf(stderr, "%s: %s\nusage: %s [--full | --slice N [--of M]] [--threads T]\n", program, what.c_str(),
               program);
  std::exit(2);
}

inline Options parse(int argc, char** argv, uint64_t default_parts) {
  Options o{default_parts};
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--full") {
      o.parts = 1;
      continue;
    }
    if (name != "--slice" && name != "--of" && name != "--threads") refuse(argv[0], "unknown option '" + name + "'");
    if (i + 1 == argc) refuse(argv[0], name + " expects a number");
    const char* text = argv[++i];
    uint64_t n = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), n);
    const uint64_t least = name == "--slice" ? 0 : 1;
    const uint64_t most = name == "--slice" ? uint64_t{1} << 32 : name == "--of" ? 1 << 20 : 1024;
    if (error != std::errc{} || *end != '\0' || n < least || n > most)
      refuse(argv[0], name + " expects a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
                          ", got '" + text + "'");
    if (name == "--slice") o.slice = n;
    if (name == "--of") o.parts = n;
    if (name == "--threads") o.threads = static_cast<unsigned>(n);
  }
  o.slice %= o.parts;
  return o;
}

/// Counts cases and mismatches from many threads; prints the first mismatches as they come.
class Tally {
 public:
  void add_cases(uint64_t n) { cases_ += n; }
  /// Records a mismatch; `line` is printed where it is among the first 20 and should be fit to paste.
  void mismatch(const std::string& line) {
    if (mismatches_++ >= 20) return;
    const std::lock_guard lock(mutex_);
    std::printf("MISMATCH %s\n", line.c_str());
  }
  uint64_t cases() const { return cases_; }
  uint64_t mismatches() const { return mismatches_; }

 private:
  std::atomic<uint64_t> cases_ = 0, mismatches_ = 0;
  std::mutex mutex_;
};

/// Runs body(i) for the i in [0, count) of the slice (i = slice, slice + parts, ...), on o.threads threads.
template <class Body>
void for_each_in_slice(const Options& o, uint64_t count, const Body& make_body) {
  std::atomic<uint64_t> next = o.slice;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < o.threads; ++t)
    threads.emplace_back([&] {
      auto body = make_body();  // one per thread, with its own buffers
      for (uint64_t i; (i = next.fetch_add(o.parts)) < count;) body(i);
    });
  for (auto& t : threads) t.join();
}

/// Measures the wall-clock time of one section and prints its line.
class Section {
 public:
  Section(std::string name, const Tally& tally)
      : name_(std::move(name)), tally_(tally), cases_(tally.cases()), wrong_(tally.mismatches()) {}
  ~Section() {
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const uint64_t n = tally_.cases() - cases_;
    std::printf("%-52s %15llu cases  %llu mismatches  %8.1f s  %7.1f M/s\n", name_.c_str(),
                static_cast<unsigned long long>(n), static_cast<unsigned long long>(tally_.mismatches() - wrong_), s,
                static_cast<double>(n) / s * 1e-6);
    std::fflush(stdout);
  }

 private:
  std::string name_;
  const Tally& tally_;
  uint64_t cases_, wrong_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The last line and the exit status: 0 where nothing differs and something was compared.
inline int verdict(const char* name, const Options& o, const Tally& t) {
  if (o.full())
    std::printf("%s: full", name);
  else
    std::printf("%s: --slice %llu --of %llu", name, static_cast<unsigned long long>(o.slice),
                static_cast<unsigned long long>(o.parts));
  std::printf(", %llu cases, %llu mismatches\n", static_cast<unsigned long long>(t.cases()),
              static_cast<unsigned long long>(t.mismatches()));
  return t.mismatches() == 0 && t.cases() > 0 ? 0 : 1;
}

inline std::string hex(uint64_t value, int digits) {
  char text[20];
  std::snprintf(text, sizeof text, "%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

}  // namespace proof
