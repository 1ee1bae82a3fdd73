// The arithmetic of the experiment `decay`: one run of forward Euler, what is expected of it, and where rounding to
// nearest stops.
#pragma once

#include "src/reproduce/steps/time_stepping.h"

namespace softamp::reproduce::stepping {

/// y' = -y / divisor, y(0) = 2^start, 0 <= t <= 2^end.
struct DecayCase {
  int start, end;
  uint32_t divisor;  ///< (1, 20)
  const char* text;
  const char* name;

  double y0() const;
  double duration() const;
  double solution() const;  ///< y(T)
};

inline constexpr DecayCase kDecayCases[] = {
    {-6, 0, 1, "y' = -y, y(0) = 1/64, T = 1", "unit-rate"},
    {0, -6, 20, "y' = -y/20, y(0) = 1, T = 1/64", "slow-rate"},
};

/// One run: n steps of one case, in one format, by one mode.
struct DecayRun {
  uint32_t which;  ///< of kDecayCases
  FloatFormat format;
  RoundingMode mode;
  uint32_t n;
  uint32_t place;  ///< (0..31) of n among the published 16: part of the rounding sites' address
  uint32_t paths;
};

/// The final values of its paths.
struct DecayEnd {
  std::vector<double> h, y;
};

/// h = fl(T/n), drawn by each path for itself; n times g = fl(y / divisor), p = fl(h (-g)), y = fl(y + p).
DecayEnd run_decay(const DecayRun& run, int bits, uint64_t seed, JobProgress& progress);

/// Work that run_decay reports to its JobProgress, in roundings.
double decay_work(const DecayRun& run);

/// The mean that unbiased roundings give, and how far the mean of the paths may lie from it.
struct DecayExpectation {
  double mean;       ///< of y0 (1 - h_i / divisor)^n over the paths' own h_i
  double deviation;  ///< kStandardErrors standard errors, the variance bounded from above, plus the greatest bias
};
DecayExpectation expected_decay(const DecayRun& run, const std::vector<double>& h, int bits);

/// The least n from which on one step to nearest even leaves y = y0 as it is: found on the emulated unit, by bisection.
uint64_t found_stagnation(const DecayCase& c, const FloatFormat& format);
/// The same from the half-ulp rule, without any rounding of the unit.
uint64_t predicted_stagnation(const DecayCase& c, const FloatFormat& format);

}  // namespace softamp::reproduce::stepping
