// How far apart two numbers of a format are, in units in the last place.
#pragma once

#include "softamp/numerics/format.h"

namespace softamp {

/// What ulp_distance gives where an operand is a NaN.
SOFTAMP_CONSTANT uint64_t kNoUlpDistance = ~uint64_t{0};

/// How many steps from a number to its neighbour lead from one to the other: 0 for equal numbers (-0 and +0 are equal);
/// infinity is the neighbour of the largest number. Between powers of two such a step is one unit in the last place.
/// kNoUlpDistance where a or b is a NaN.
SOFTAMP_INLINE uint64_t ulp_distance(const FloatFormat& f, uint64_t a, uint64_t b) {
  if (f.is_nan(a) || f.is_nan(b)) return kNoUlpDistance;
  const uint64_t x = a & f.magnitude_mask(), y = b & f.magnitude_mask();
  if (((a ^ b) & f.sign_mask()) != 0) return x + y;
  return x < y ? y - x : x - y;
}

}  // namespace softamp
