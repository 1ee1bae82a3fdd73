// The experiment `heat-equation` in its short form, against a transcription of its own: doubles, rounded by
// std::nearbyint.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/heat_runs.h"
#include "tests/reproduce/stepping_check.h"

namespace softamp::reproduce {
namespace {

using stepping::HeatRun;

Outcome brief_heat(const Request& request = {}) { return brief_of(heat_equation::experiment(), request); }

/// No number here is as small as a subnormal.
constexpr int kNoLeast = -1000;

/// Nearest, slowly.
std::vector<double> slow_heat(int precision, int m) {
  const auto fl = [&](double x) { return rounded(x, precision, kNoLeast); };
  std::vector<double> u, old;
  for (int j = 0; j <= m; ++j)
    u.push_back(j == 0 || j == m ? 1.0 : fl(1 + 0.75 * std::sin(std::numbers::pi * std::min(j, m - j) / m)));
  for (int k = 0; k < m * m / 2; ++k) {
    old = u;
    for (size_t j = 1; j + 1 < u.size(); ++j) {
      const double a = fl(old[j - 1] - old[j]), b = fl(old[j + 1] - old[j]);
      u[j] = fl(old[j] + fl(7.0 / 32 * fl(a + b)));
    }
  }
  return u;
}

TEST(HeatEquation, NearestIsASlowTranscriptions) {
  stepping::JobProgress progress;
  for (const FloatFormat& f : {kBf16, kFp16})
    for (const uint32_t m : {8u, 12u, 16u, 24u, 32u, 48u})
      EXPECT_EQ(stepping::run_heat({f, RoundingMode::kNearestEven, m, 1}, 0, 1, 13, 0, progress),
                slow_heat(f.precision, static_cast<int>(m)))
          << f.precision << " bits, m = " << m;
}

/// Stochastic paths, with the scalar operations and every random word at its address: path (m + 1) + place.
TEST(HeatEquation, StochasticPathsReadTheirRandomWords) {
  const FloatFormat f = kBf16;
  constexpr uint32_t kSpaces = 8, kPaths = 3;
  stepping::JobProgress progress;
  const std::vector<double> end =
      stepping::run_heat({f, RoundingMode::kStochastic, kSpaces, kPaths}, 0, kPaths, 13, 9, progress);
  const Semantics s = experiment_semantics(RoundingMode::kStochastic, 13);
  const RandomBits random{9};
  const std::vector<double> start = stepping::heat_start(f, kSpaces);
  for (uint64_t path = 0; path < kPaths; ++path) {
    std::vector<uint64_t> u, old;
    for (const double value : start) u.push_back(fp::from_double(f, value));
    for (uint32_t k = 1; k <= kSpaces * kSpaces / 2; ++k) {
      old = u;
      for (uint32_t j = 1; j < kSpaces; ++j) {
        const auto word = [&](uint32_t kind) {
          return random.bits(k, stepping::site_of(f, kSpaces, kind), path * (kSpaces + 1) + j, 13);
        };
        const uint64_t a = fp::sub(f, old[j - 1], old[j], s, word(0)).code;
        const uint64_t b = fp::sub(f, old[j + 1], old[j], s, word(1)).code;
        const uint64_t sum = fp::add(f, a, b, s, word(2)).code;
        u[j] = fp::add(f, old[j], fp::mul(f, sum, fp::from_double(f, 7.0 / 32), s, word(3)).code, s, word(4)).code;
      }
    }
    for (uint32_t j = 0; j <= kSpaces; ++j)
      EXPECT_EQ(end[path * (kSpaces + 1) + j], fp::to_double(f, u[j])) << path << ", " << j;
  }
}

TEST(HeatEquation, NearestStandsStillWhereTheRuleSays) {
  EXPECT_EQ(stepping::stagnation_of_heat(kBf16), 31u);
  EXPECT_EQ(stepping::stagnation_of_heat(kFp16), 88u);
  int still = 0;
  for (const Json& row : rows(brief_heat())) {
    if (row[1] != "nearest" || row[2].get<int>() < (row[0] == "bf16" ? 31 : 88)) continue;
    EXPECT_EQ(row[9], "yes");
    EXPECT_GT(row[6].get<double>(), 0.3);
    ++still;
  }
  EXPECT_EQ(still, 5);
}

/// The scheme without rounding takes the sine wave down by a factor that is known, each step the same.
TEST(HeatEquation, ExactSchemeIsTheClosedForm) {
  for (const int m : {8, 24, 64}) {
    std::vector<double> u;
    for (int j = 0; j <= m; ++j) u.push_back(1 + 0.75 * std::sin(std::numbers::pi * j / m));
    const std::vector<double> end = stepping::exact_heat(u);
    const double s = std::sin(std::numbers::pi / (2 * m)), factor = 1 - 4 * (7.0 / 32) * s * s;
    for (size_t j = 0; j < u.size(); ++j) EXPECT_NEAR(end[j], 1 + (u[j] - 1) * std::pow(factor, m * m / 2), 1e-12);
    EXPECT_NEAR(stepping::first_wave(u), 2 / std::tan(std::numbers::pi / (2 * m)) / m + 0.75, 1e-12);
  }
}

/// The bound on the mean square, against the response to an error of one place and step, summed up one by one.
TEST(HeatEquation, BoundIsTheSumOfAllResponses) {
  const int m = 12;
  double sum = 0;
  for (int at = 1; at < m; ++at) {
    std::vector<double> u(m + 1, 0.0), old;
    u[static_cast<size_t>(at)] = 1;
    for (int k = 0; k < m * m / 2; ++k) {
      for (const double value : u) sum += value * value;
      old = u;
      for (size_t j = 1; j < m; ++j) u[j] = old[j] + 7.0 / 32 * (old[j - 1] - 2 * old[j] + old[j + 1]);
    }
  }
  const double q = std::ldexp(1.0, -7);
  EXPECT_NEAR(stepping::expected_heat(kBf16, m).square, q * q / 4 * sum / (m - 1), 1e-12);
}

TEST(HeatEquation, PathsDoNotDependOnTheJobsThatRunThem) {
  const HeatRun run{kFp16, RoundingMode::kStochastic, 12, 5};
  stepping::JobProgress progress;
  std::vector<double> parts = stepping::run_heat(run, 0, 2, 13, 3, progress);
  const std::vector<double> rest = stepping::run_heat(run, 2, 3, 13, 3, progress);
  parts.insert(parts.end(), rest.begin(), rest.end());
  EXPECT_EQ(stepping::run_heat(run, 0, 5, 13, 3, progress), parts);
}

}  // namespace
}  // namespace softamp::reproduce
