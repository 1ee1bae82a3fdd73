// The arithmetic of the experiment `heat-equation`: its grid, its runs, and their expected results.
//
// u_t = u_xx on 0 < x < 1, u(x, 0) = 1 + 3/4 sin(pi x), u = 1 at both ends, until T = 7/64, in m spaces of dx = 1/m (m
// even) and steps of dt = 7/32 dx^2, less than half of the greatest stable step: m^2 / 2 steps in all. In delta form,
// each operation rounded once:
//   a = fl(u[j-1] - u[j]);  b = fl(u[j+1] - u[j]);  s = fl(a + b);  p = fl(7/32 s);  u[j] = fl(u[j] + p)
// for all j from the old values. All numbers stay between 1/2 and 2, so the differences are exact (Sterbenz); so are s
// and p, the former being a small number of quanta, at most 36 with 8 bits: all that rounding does, it does in the last
// sum, to a number of 32nds of a quantum.
#pragma once

#include "src/reproduce/steps/time_stepping.h"

namespace softamp::reproduce::stepping {

inline constexpr double kHeatAmplitude = 0.75, kHeatRatio = 7.0 / 32;  ///< dt = kHeatRatio dx^2
inline constexpr int kHeatBits = 6;  ///< random bits that reach all that is rounded off; one more for sums that reach 1

/// m spaces, in one format, by one mode.
struct HeatRun {
  FloatFormat format;
  RoundingMode mode;
  uint32_t m;
  uint32_t paths;

  uint32_t steps() const { return m * m / 2; }
  double dt() const { return kHeatRatio / m / m; }
};

/// u at T, paths first .. first + count - 1 one after the other, m + 1 places each. Lanes: path (m + 1) + place.
std::vector<double> run_heat(const HeatRun& run, uint32_t first, uint32_t count, int bits, uint64_t seed,
                             JobProgress& progress);

/// Work that a path reports to its JobProgress, in roundings.
double heat_work(const HeatRun& run);

/// u at 0, rounded to nearest in the format: m + 1 places.
std::vector<double> heat_start(const FloatFormat& format, uint32_t m);

/// The result of the same scheme in binary64 from `u` (m + 1 places) after m^2 / 2 steps.
std::vector<double> exact_heat(std::vector<double> u);

/// Bounds on the errors of unbiased roundings whose variance is at most a quarter of the squared quantum of [1, 2),
/// without knowing the noise: means are 0.
struct HeatExpectation {
  double square;           ///< at least the mean of e^2 over paths and inner places
  double relative_spread;  ///< standard deviation of a path's mean of e^2, in its mean: as of normal variates
  double wave_variance;    ///< at least the variance of a path's first sine coefficient, 2/m sum of e sin(pi x)
};
HeatExpectation expected_heat(const FloatFormat& format, uint32_t m);

/// 2/m times the sum of u sin(pi x).
double first_wave(std::span<const double> u);

/// Nearest provably does not move in a grid of m or more spaces: see heat_runs.cpp.
uint32_t stagnation_of_heat(const FloatFormat& format);

}  // namespace softamp::reproduce::stepping
