// The experiment `unit-circle` in its short form, against a transcription of its own: doubles, rounded by
// std::nearbyint.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/circle_runs.h"
#include "tests/reproduce/stepping_check.h"

namespace softamp::reproduce {
namespace {

Outcome brief_circle(const Request& request = {}) { return brief_of(unit_circle::experiment(), request); }

struct Point {
  double u = 1, v = 0;
};

/// Nearest, slowly: both components from the old values.
Point slow_circle(int precision, int quantum, int n) {
  const auto fl = [&](double x) { return rounded(x, precision, quantum); };
  const double h = fl(2 * std::numbers::pi / n);
  Point z;
  for (int k = 0; k < n; ++k) z = {fl(z.u + fl(h * z.v)), fl(z.v - fl(h * z.u))};
  return z;
}

TEST(UnitCircle, NearestIsASlowTranscriptions) {
  int compared = 0;
  for (const Json& row : rows(brief_circle())) {
    if (row[1] != "nearest") continue;
    const bool bf16 = row[0] == "bf16";
    const Point end = slow_circle(bf16 ? 8 : 11, bf16 ? -133 : -24, row[2].get<int>());
    EXPECT_EQ(row[6].get<double>(), end.u) << row[0] << row[2];
    EXPECT_EQ(row[7].get<double>(), end.v) << row[0] << row[2];
    EXPECT_EQ(row[4].get<double>(), std::hypot(end.u, end.v));
    ++compared;
  }
  EXPECT_EQ(compared, 8);
}

/// Stochastic paths, with the scalar operations and every random word at its address.
TEST(UnitCircle, StochasticPathsReadTheirRandomWords) {
  const FloatFormat f = kFp16;
  stepping::JobProgress progress;
  const auto end = stepping::run_circle({f, RoundingMode::kStochastic, 5, 3}, 0, 3, false, 13, 9, progress);
  const Semantics s = experiment_semantics(RoundingMode::kStochastic, 13);
  const RandomBits random{9};
  for (uint64_t path = 0; path < 3; ++path) {
    const auto word = [&](uint32_t step, uint32_t kind) {
      return random.bits(step, stepping::site_of(f, 5, kind), path, 13);
    };
    const uint64_t step = std::bit_cast<uint64_t>(std::numbers::pi / 16);
    const uint64_t h = fp::convert(kBinary64, f, step, s, word(0, 0)).code;
    EXPECT_EQ(end.h[path], fp::to_double(f, h));
    uint64_t u = fp::from_double(f, 1), v = 0;
    for (uint32_t k = 1; k <= 32; ++k) {
      const uint64_t hu = fp::mul(f, h, u, s, word(k, 1)).code, hv = fp::mul(f, h, v, s, word(k, 2)).code;
      u = fp::add(f, u, hv, s, word(k, 3)).code;
      v = fp::sub(f, v, hu, s, word(k, 4)).code;
    }
    EXPECT_EQ(end.u[path], fp::to_double(f, u));
    EXPECT_EQ(end.v[path], fp::to_double(f, v));
  }
}

TEST(UnitCircle, NearestStandsStillWithManySteps) {
  for (const Json& row : rows(brief_circle())) {
    if (row[1] != "nearest" || (row[2] != 8192 && row[2] != 65536)) continue;
    EXPECT_EQ(row[6].get<double>(), 1);
    EXPECT_EQ(row[7].get<double>(), -0.25);
  }
}

TEST(UnitCircle, ExactEulersRadiusIsTheClosedForm) {
  for (const Json& row : rows(brief_circle())) {
    const double n = row[2].get<double>(), h = 2 * std::numbers::pi / n;
    EXPECT_NEAR(row[8].get<double>(), std::pow(1 + h * h, n / 2), 1e-10);
  }
}

/// The expectation that the checks use, against the plain recursion in binary64, and its bounds against each other.
TEST(UnitCircle, ExpectationIsExactEulerAndItsBoundsAreInOrder) {
  for (const FloatFormat& f : {kBf16, kFp16})
    for (const int n : {5, 9, 13}) {
      const double h = 2 * std::numbers::pi / (1 << n);
      Point z;
      for (int k = 0; k < 1 << n; ++k) z = {z.u + h * z.v, z.v - h * z.u};
      const stepping::CircleExpectation e = stepping::expected_circle(f, n, h, 32);
      EXPECT_NEAR(e.u, z.u, 1e-10);
      EXPECT_NEAR(e.v, z.v, 1e-10);
      EXPECT_NEAR(e.radius, std::hypot(z.u, z.v), 1e-10);
      EXPECT_GT(e.variance(), 0);
      EXPECT_LT(e.variance(), 0.1);
      EXPECT_LT(e.bias, 1e-4);
      EXPECT_GT(stepping::expected_circle(f, n, h, 4).bias, e.bias);
    }
}

/// Two halves of the paths are the paths: each has its own random words, and its own step length.
TEST(UnitCircle, PathsDoNotDependOnTheJobsThatRunThem) {
  const stepping::CircleRun run{kBf16, RoundingMode::kStochastic, 6, 20};
  stepping::JobProgress progress;
  const auto whole = stepping::run_circle(run, 0, 20, false, 32, 3, progress);
  const auto first = stepping::run_circle(run, 0, 7, true, 32, 3, progress);
  const auto second = stepping::run_circle(run, 7, 13, false, 32, 3, progress);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(whole.u[i], i < 7 ? first.u[i] : second.u[i - 7]);
    EXPECT_EQ(whole.v[i], i < 7 ? first.v[i] : second.v[i - 7]);
  }
  EXPECT_EQ(first.trace_u.size(), 65u);
  EXPECT_EQ(first.trace_u.back(), first.u[0]);
}

}  // namespace
}  // namespace softamp::reproduce
