// What the tests of the experiments that step in time share: a slow rounding to judge them by.
#pragma once

#include <algorithm>
#include <cmath>

#include "src/reproduce/experiment.h"
#include "tests/reproduce/brief.h"

namespace softamp::reproduce {

inline Json rows(const Outcome& outcome) { return outcome.tables.at(0).rows; }

/// x to `precision` bits, to nearest even; a multiple of 2^quantum at the least.
inline double rounded(double x, int precision, int quantum) {
  if (x == 0) return 0;
  const int exponent = std::max(std::ilogb(x) - precision + 1, quantum);
  return std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
}

}  // namespace softamp::reproduce
