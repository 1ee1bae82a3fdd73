// Which policies the vectors of families support beyond those that are usual (RoundingPolicy::usual): other chips'.
#pragma once

#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"

namespace softamp::emu {

/// Whether a policy that is not usual differs only in where R lies. Then exact values stay what they are, and results
/// of several steps are rounded by a RoundPlan like any others; else the sign of a NaN may count, which is no result.
// implements: N29
inline bool only_bits_lie_elsewhere(const RoundingPolicy& p) {
  return p.signed_zeros && p.nan != NanPattern::kInfinity && p.nan != NanPattern::kSigned &&
         !(p.stochastic() && p.variant == StochasticVariant::kAtLeast);
}
/// Whether values rounded to odd to binary64 have all the bits that a rounding to `f` reads.
inline bool odd_double_serves(const FloatFormat& f, const RoundingPolicy& p) {
  const bool with_source = p.stochastic() && p.alignment == RandomAlignment::kAsIfNormal;
  return with_source ? p.random_bits <= 53 - 2 * f.precision - 2
                     : f.precision + (p.stochastic() ? p.random_bits : 0) <= 50;
}

}  // namespace softamp::emu
