// Where a running sum of one positive number stops, and after how many additions: from theory, in whole numbers.
#pragma once

#include <cstdint>

#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"

namespace softamp::reproduce {

struct Stop {
  bool overflows = false;  ///< the sum goes beyond the largest number before it stops
  bool at_limit = false;   ///< it comes to the largest number, which overflows are cut back to
  double sum = 0;          ///< where it stays, unless it overflows
  uint64_t additions = 0;  ///< the last addition (from 1) that changes it; the one that overflows
  double share = 0;        ///< addend / quantum of the sum where it stays
};

/// Where start + a + a + ... stops under a deterministic mode other than up. Between two powers of two every addition
/// moves the sum by the same number of quanta, but for the first one, which may make it even: whole binades at a time.
/// Throws std::invalid_argument for another mode. addend, start: codes of numbers, positive or zero; start is 0 or at
/// least the addend.
Stop predicted_stop(const FloatFormat& format, RoundingMode mode, uint64_t addend, uint64_t start = 0);

/// The same in one formula, for a sum from 0 to nearest even: 2^p times the least power of two that is at least a. From
/// there on a is at most half a quantum, and a tie leaves the even sum alone. Infinite where that overflows.
double stop_formula(const FloatFormat& format, uint64_t addend);

/// With r random bits of the variant carry an addend below 2^-r quanta is never added: 2^(p-1) times the least power of
/// two that exceeds a 2^r.
double stochastic_stop_formula(const FloatFormat& format, uint64_t addend, int random_bits);

}  // namespace softamp::reproduce
