// Why an addition leaves a sum as it was.
#pragma once

#include <string>

#include "softamp/numerics/format.h"
#include "softamp/numerics/semantics.h"

namespace softamp::detail {

/// An addition that did not change a finite sum, although its term is not zero.
struct LostAddition {
  uint64_t addition = 0;  ///< from 1; 0: none was lost
  uint64_t sum = 0;       ///< code
  double term = 0;        ///< what was added, exactly
};

/// "0.0001 is below half the spacing 0.000244 at 0.25". The spacing is that between the sum and its neighbour on the
/// side of the term.
std::string why_unchanged(const FloatFormat& format, const Semantics& semantics, uint64_t sum, double term);

}  // namespace softamp::detail
