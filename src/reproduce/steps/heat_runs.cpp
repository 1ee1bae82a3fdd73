#include "src/reproduce/steps/heat_runs.h"

#include "softamp/numerics/operations.h"
#include "src/reproduce/survey.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace softamp::reproduce::stepping {
namespace {

/// The rounding sites of a run.
struct HeatSite {
  enum Kind : uint32_t { kLeft, kRight, kBoth, kScaled, kSum };
};

double place(uint32_t j, uint32_t m) { return static_cast<double>(j) / m; }

/// The factor of the i-th sine wave in one step.
double factor(uint32_t i, uint32_t m) {
  const double s = std::sin(i * std::numbers::pi / (2.0 * m));
  return 1 - 4 * kHeatRatio * s * s;
}

/// The quantum of [1, 2), where u is.
double quantum(const FloatFormat& f) { return survey::quantum_at(f, 1); }

}  // namespace

double heat_work(const HeatRun& run) { return 5.0 * run.steps() * (run.m + 1); }

std::vector<double> heat_start(const FloatFormat& format, uint32_t m) {
  std::vector<double> u(m + 1, 1.0);
  for (uint32_t j = 1; j < m; ++j) {
    const double exact = 1 + kHeatAmplitude * std::sin(std::numbers::pi * place(std::min(j, m - j), m));
    u[j] = fp::to_double(format, fp::from_double(format, exact));
  }
  return u;
}

std::vector<double> run_heat(const HeatRun& run, uint32_t first, uint32_t count, int bits, uint64_t seed,
                             JobProgress& progress) {
  const FloatFormat& f = run.format;
  const size_t places = run.m + 1, lanes = places * count, inner = lanes - 2;
  const Paths unit(f, experiment_semantics(run.mode, bits), seed);
  const uint16_t one = static_cast<uint16_t>(fp::from_double(f, 1));
  const std::vector<double> start = heat_start(f, run.m);
  std::vector<uint16_t> u(lanes), a(inner), b(inner);
  const std::vector<uint16_t> ratio(inner, static_cast<uint16_t>(fp::from_double(f, kHeatRatio)));
  for (size_t i = 0; i < lanes; ++i) u[i] = static_cast<uint16_t>(fp::from_double(f, start[i % places]));

  // All paths in one row: lanes 1 .. lanes - 2 step at once, and the ends of the paths, which step too, are put back.
  const std::span<uint16_t> left(u.data(), inner), middle(u.data() + 1, inner), right(u.data() + 2, inner);
  const uint64_t lane = uint64_t{first} * places + 1;
  const auto site = [&](HeatSite::Kind kind, uint32_t step) {
    return Paths::Site{site_of(f, run.m, kind), step, lane};
  };
  const uint32_t steps_a_report = static_cast<uint32_t>(std::max<size_t>(1, 40000 / lanes));
  for (uint32_t k = 1; k <= run.steps(); ++k) {
    unit.sub(left, middle, a, site(HeatSite::kLeft, k));
    unit.sub(right, middle, b, site(HeatSite::kRight, k));
    unit.add(a, b, a, site(HeatSite::kBoth, k));
    unit.mul(a, ratio, a, site(HeatSite::kScaled, k));
    unit.add(middle, a, middle, site(HeatSite::kSum, k));
    for (size_t path = 0; path < count; ++path) u[path * places] = u[path * places + run.m] = one;
    if (k % steps_a_report == 0) progress.add(5.0 * static_cast<double>(lanes) * steps_a_report);
  }
  std::vector<double> end;
  for (const uint16_t code : u) end.push_back(fp::to_double(f, code));
  return end;
}

std::vector<double> exact_heat(std::vector<double> u) {
  const size_t m = u.size() - 1;
  std::vector<double> old(u.size());
  for (size_t k = 0; k < m * m / 2; ++k) {
    old = u;
    for (size_t j = 1; j < m; ++j) u[j] = old[j] + kHeatRatio * ((old[j - 1] - old[j]) + (old[j + 1] - old[j]));
  }
  return u;
}

// An error e put in at one step goes on as the sine waves that it consists of, the i-th shrinking by g_i a step. Errors
// of different places and steps are uncorrelated, with variance at most q^2/4: so is, place by place, the coefficient
// of each wave in an orthonormal basis; and after n steps that of the i-th has the variance
//   q^2/4 (1 + g^2 + ... + g^(2n - 2)) = q^2/4 w_i,   w_i = (1 - g_i^(2n)) / (1 - g_i^2)
// or less, and the mean of e^2 over the m - 1 places is the sum of all by m - 1. (For m large and i small, 1 - g_i^2 is
// near 7/16 pi^2 i^2 / m^2, so that the sum goes as m^2, the mean square as m, and e as m^(1/2), which is dt^(-1/4):
// Croci's and Giles' order.) sum of w_i^2 tells how far normal variates of these variances spread.
HeatExpectation expected_heat(const FloatFormat& format, uint32_t m) {
  const double q = quantum(format), n = 0.5 * m * m;
  double sum = 0, squares = 0, first = 0;
  for (uint32_t i = 1; i < m; ++i) {
    const double g = factor(i, m), w = (1 - std::pow(g, 2 * n)) / (1 - g * g);
    if (i == 1) first = w;
    sum += w;
    squares += w * w;
  }
  return {q * q / 4 * sum / (m - 1), std::sqrt(2 * squares) / sum, q * q / 4 * first * 2 / m};
}

double first_wave(std::span<const double> u) {
  const uint32_t m = static_cast<uint32_t>(u.size() - 1);
  double sum = 0;
  for (uint32_t j = 1; j < m; ++j) sum += u[j] * std::sin(std::numbers::pi * place(j, m));
  return 2 * sum / m;
}

// Let u be the start, rounded to nearest: each u[j] is off by half a quantum q at most, so u[j-1] - 2 u[j] + u[j+1], a
// whole number k of quanta, is off by two, from a number that is at most dx^2 max|u_xx| = pi^2 A / m^2. Where that is
// less than q, |k| < 3, and p = 7/32 k q is less than half a quantum: u + p rounds to u, everywhere, for ever. (At u =
// 1, below which quanta are half as large, no inner place is: A sin(pi / m) > q / 2 for all m that are run.)
uint32_t stagnation_of_heat(const FloatFormat& format) {
  const double pi = std::numbers::pi;
  return static_cast<uint32_t>(std::floor(std::sqrt(pi * pi * kHeatAmplitude / quantum(format)))) + 1;
}

}  // namespace softamp::reproduce::stepping
