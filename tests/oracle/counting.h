// How many of the 2^r random numbers round a remainder up: the four formulas of N12 and N13 in plain integers.
#pragma once

#include <cstdint>

#include "softamp/numerics/rounding.h"

namespace oracle {

/// d = rest / 2^bits of a quantum, 0 <= d < 1.
struct Remainder {
  uint64_t rest;
  int bits;  ///< at most 40

  double fraction() const {
    double d = static_cast<double>(rest);
    for (int i = 0; i < bits; ++i) d /= 2;
    return d;
  }
};

/// The number of R in [0, 2^r) for which the magnitude goes up.
inline uint64_t numbers_that_go_up(softamp::StochasticVariant variant, Remainder d, int r) {
  const uint64_t one = uint64_t{1} << d.bits;
  const uint64_t scaled = d.rest << r;  // d 2^r = scaled / one
  const uint64_t whole = scaled / one, left = scaled % one;
  switch (variant) {
    case softamp::StochasticVariant::kCarry: return whole;
    case softamp::StochasticVariant::kHalf: return (2 * scaled / one + 1) / 2;
    case softamp::StochasticVariant::kRne: return whole + (2 * left > one || (2 * left == one && whole % 2 == 1));
    case softamp::StochasticVariant::kOdd: return whole + (2 * left > one || (2 * left == one && whole % 2 == 0));
    case softamp::StochasticVariant::kAtLeast: return whole + 1;  // 0 .. whole
  }
  return 0;
}

}  // namespace oracle
