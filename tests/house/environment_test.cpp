// No result depends on the caller's floating-point environment, which is left as it was found, nor on the global locale
// (N81, N386): every entry point that computes, under four roundings, with and without flushing; and every header is
// known here.
#include <gtest/gtest.h>

#include <cfenv>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "tests/comma_locale.h"
#include "tests/house/entry_points/exempt.h"
#include "tests/house/entry_points/graphs.h"
#include "tests/house/entry_points/numbers.h"
#include "tests/house/entry_points/training.h"

namespace softamp::house {
namespace {

std::vector<EntryPoint> entry_points() {
  std::vector<EntryPoint> points = numbers();
  for (auto more : {graphs(), training()}) points.insert(points.end(), more.begin(), more.end());
  return points;
}

/// A floating-point environment: rounding and flushing; and, once it is set, all of its registers.
struct FloatState {
  int rounding = FE_TONEAREST;
  bool flushing = false;

  /// Sticky flags: overflow, which the usual arithmetic does not raise. So any that is added is seen.
  void set() const {
    std::fesetenv(FE_DFL_ENV);
    std::feraiseexcept(FE_OVERFLOW);
    std::feclearexcept(FE_ALL_EXCEPT & ~FE_OVERFLOW);
    std::fesetround(rounding);
#if defined(__SSE2__)
    if (flushing) _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
  }
  static std::string registers() {
    std::string text = std::to_string(std::fegetround()) + " " + std::to_string(std::fetestexcept(FE_ALL_EXCEPT));
#if defined(__SSE2__)
    uint16_t control, status;
    asm volatile("fnstcw %0\n\tfnstsw %1" : "=m"(control), "=m"(status));
    text += " MXCSR " + std::to_string(_mm_getcsr()) + " x87 " + std::to_string(control) + " " +
            std::to_string(status & 0x3F);
#endif
    return text;
  }
};

std::vector<FloatState> unusual_states() {
  std::vector<FloatState> states;
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    if (rounding != FE_TONEAREST) states.push_back({rounding, false});
#if defined(__SSE2__)
    states.push_back({rounding, true});
#endif
  }
  return states;
}

/// What an entry point gives in a state; the test's own arithmetic is done in the usual one.
struct Seen {
  std::string result, before, after;
};
std::string result_of(const EntryPoint& point) {
  try {
    return point.result();
  } catch (const std::exception& e) {
    return std::string("throws: ") + e.what();
  }
}
Seen seen_in(const FloatState& state, const EntryPoint& point) {
  Seen seen;
  state.set();
  seen.before = FloatState::registers();
  seen.result = result_of(point);
  seen.after = FloatState::registers();
  std::fesetenv(FE_DFL_ENV);
  return seen;
}

/// The first line of two texts that differs.
std::string difference(const std::string& a, const std::string& b) {
  size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  const size_t line = at == 0 ? 0 : a.rfind('\n', at - 1) + 1;
  return "\n  usual: " + a.substr(line, 120) + "\n  here:  " + b.substr(line, 120);
}

// tests: N81
TEST(Environment, NoResultDependsOnItAndItStays) {
  for (const EntryPoint& point : entry_points()) {
    const std::string usual = result_of(point);
    EXPECT_EQ(usual.find("throws: "), std::string::npos) << point.header << ": " << usual;
    for (const FloatState& state : unusual_states()) {
      const Seen seen = seen_in(state, point);
      EXPECT_TRUE(seen.result == usual) << point.header << ", " << point.call << ": rounding " << state.rounding
                                        << (state.flushing ? ", flushing" : "") << difference(usual, seen.result);
      EXPECT_EQ(seen.after, seen.before) << point.header << ", " << point.call;
    }
  }
}

TEST(Environment, ItStaysAfterAnErrorToo) {
  const auto fails = [] {
    ExecutorOptions options;
    options.config.floating_point_behaviour.oflo = true;
    GraphBuilder b;
    b.add("Mul", {b.placeholder("x", DType::kFloat16, {1}), b.constant(Tensor::full(DType::kFloat16, {1}, 6e4))}, {},
          "y");
    const auto e = make_executor(b.build(), options);
    const Tensor x = Tensor::full(DType::kFloat16, {1}, 6e4);
    const Feed feed{"x", &x};
    const std::string fetch = "y";
    return error_of([&] {
             e->run({&feed, 1}, {&fetch, 1});
           }) +
           error_of([] { LossScaleOptions::fixed(0.1); }) +
           error_of([] { TrainSettings::from_json("{\"seed\": 0.1}"); });
  };
  const EntryPoint point{"", "", fails};
  const std::string usual = fails();
  for (const FloatState& state : unusual_states()) {
    const Seen seen = seen_in(state, point);
    EXPECT_EQ(seen.result, usual);
    EXPECT_EQ(seen.after, seen.before);
  }
}

TEST(Environment, NoResultDependsOnTheGlobalLocale) {
  for (const EntryPoint& point : entry_points()) {
    const std::string usual = result_of(point);
    std::string here;
    {
      const test::CommaLocale locale;
      here = result_of(point);
    }
    EXPECT_TRUE(here == usual) << point.header << ", " << point.call << difference(usual, here);
  }
}

TEST(Environment, ThreadsWithTheirOwn) {
  const std::string usual = a_run(false) + a_running_sum();
  const std::vector<FloatState> states = unusual_states();
  std::vector<Seen> seen(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < seen.size(); ++t)
    threads.emplace_back([&, t] {
      seen[t] = seen_in(states[2 * t], {"", "", [] { return a_run(false) + a_running_sum(); }});
    });
  for (std::thread& t : threads) t.join();
  for (const Seen& s : seen) {
    EXPECT_TRUE(s.result == usual) << difference(usual, s.result);
    EXPECT_EQ(s.after, s.before);
  }
}

TEST(Environment, EveryHeaderIsKnown) {
  namespace fs = std::filesystem;
  std::set<std::string> tested, exempt, there;
  for (const EntryPoint& point : entry_points()) tested.insert(point.header);
  for (const Exempt& e : exempt_headers()) EXPECT_TRUE(exempt.insert(e.header).second) << e.header << " stands twice";
  const fs::path include = fs::path(SOFTAMP_SOURCE_DIR) / "include/softamp";
  for (const char* folder : {"tensor", "graph", "precision", "train", "data", "machine", "names", "numbers", "chips",
                             "findings", "pictures", "sums", "files"})
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(include / folder))
      if (entry.path().extension() == ".h") there.insert(fs::relative(entry.path(), include).generic_string());
  for (const std::string& header : there)
    EXPECT_EQ(tested.contains(header) + exempt.contains(header), 1)
        << header << ": expected a row among tests/house/entry_points, or a reason in exempt.h";
  for (const auto* known : {&tested, &exempt})
    for (const std::string& header : *known) EXPECT_TRUE(there.contains(header)) << header << " does not exist";
}

}  // namespace
}  // namespace softamp::house
