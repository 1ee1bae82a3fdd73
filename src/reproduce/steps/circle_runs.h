// The arithmetic of the experiment `unit-circle`: runs of forward Euler once round the circle, and their expected
// results.
#pragma once

#include "src/reproduce/steps/time_stepping.h"

namespace softamp::reproduce::stepping {

/// N = 2^steps_log2 steps of 2 pi / N, in one format, by one mode.
struct CircleRun {
  FloatFormat format;
  RoundingMode mode;
  int steps_log2;  ///< (1 .. 30)
  uint32_t paths;

  uint32_t steps() const { return uint32_t{1} << steps_log2; }
};

/// Where some paths ended, and the course of the first of them.
struct CircleEnd {
  std::vector<double> h, u, v;           ///< a value for each path
  std::vector<double> trace_u, trace_v;  ///< of path 0, at regular steps, if asked for
};

/// Paths first .. first + count - 1 of the run. Each draws h = fl(2 pi / N) for itself, starts at u = 1, v = 0, and
/// goes N times u' = fl(u + fl(h v)), v = fl(v - fl(h u)), both from the old values. trace: with some 2000 points of
/// its way.
CircleEnd run_circle(const CircleRun& run, uint32_t first, uint32_t count, bool trace, int bits, uint64_t seed,
                     JobProgress& progress);

/// What to expect of a path with step length h under unbiased roundings.
struct CircleExpectation {
  double u, v;    ///< exact Euler's end, which is the mean of both
  double radius;  ///< exact Euler's: (1 + h^2)^(N/2)
  double square;  ///< at least the mean of u^2 + v^2
  double bias;    ///< upper bound for the shift of the mean end by the bits left out
  /// The mean of the radius lies between radius and sqrt(square), and its variance is at most this.
  double variance() const { return square - radius * radius; }
};
CircleExpectation expected_circle(const FloatFormat& format, int steps_log2, double h, int bits);

}  // namespace softamp::reproduce::stepping
