// Rounding of a real number to any format under any policy, from the definitions in numerics/rounding.h: bisection of
// the format's values, comparison with points of the gap, and for tininess a second rounding with a wider exponent.
#pragma once

#include "softamp/numerics/rounding.h"
#include "tests/oracle/exact_number.h"

namespace oracle {

using softamp::NanPattern;
using softamp::Overflow;
using softamp::OverflowRule;
using softamp::Rounded;
using softamp::RoundingMode;
using softamp::RoundingPolicy;
using softamp::StochasticVariant;

inline uint64_t with_sign(const FloatFormat& f, bool negative, uint64_t magnitude) {
  if (f.specials == Specials::kNegativeZeroNan && magnitude == 0) return 0;
  return magnitude | uint64_t{negative} << (f.exponent_bits + f.precision - 1);
}

/// The NaN of a pattern; kPropagate is settled where the operand is known.
uint64_t nan_of(const FloatFormat& f, NanPattern pattern);

/// A real number between two neighbours of a format.
struct Gapped {
  Big lower;         ///< code of the greatest value not above it
  Dyadic low, high;  ///< the neighbours
  bool on;           ///< the number is `low`
};

Gapped neighbours(const FloatFormat& f, const Real& x);

/// Point numerator / 2^bits of the way from low to high.
Dyadic point(const Gapped& g, const Big& numerator, int bits);

/// Whether the magnitude goes to the upper neighbour: N12, N13 and IEEE 754, 4.3, as they read.
bool goes_up(const Gapped& g, const Real& x, bool negative, const RoundingPolicy& p, uint32_t random);
Rounded infinity_under(const FloatFormat& f, bool negative, const RoundingPolicy& p);

/// Rounds the positive number x, given a sign.
Rounded round_real(const FloatFormat& f, const Real& x, bool negative, const RoundingPolicy& p, uint32_t random = 0);

/// The same for any dyadic number; a zero takes `zero_negative`.
Rounded round_value(const FloatFormat& f, const Dyadic& x, const RoundingPolicy& p, uint32_t random = 0,
                    bool zero_negative = false);

}  // namespace oracle
