// The loop of the harmonic series: S <- fl(S + fl(1/i)), one rounding each.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"
#include "softamp/pictures/plot.h"
#include "src/reproduce/sums/sum_chain.h"

namespace softamp::reproduce {

/// fl(1/i): the code of the exact quotient rounded once. i is 1 .. 2^24.
uint64_t harmonic_term(const FloatFormat& format, const RoundingPolicy& policy, uint64_t i);

struct HarmonicSum {
  uint64_t code;  ///< where the sum stays; infinity, or the NaN of a format without, where it overflows
  uint64_t term;  ///< the first i (from 1) that does not change it, or that makes it overflow
};

/// Adds until the sum stays or overflows, under a deterministic policy. `curve`, if given, receives the sums after 1,
/// 2, 3, ... then ever rarer numbers of terms, at equal distances of their logarithm.
HarmonicSum harmonic_sum(const FloatFormat& format, const RoundingPolicy& policy, Curve* curve = nullptr);

struct StochasticHarmonic {
  std::vector<double> sums;  ///< of each path
  SumDistribution expected;  ///< exactly, by sum_chain.h
  double beyond;             ///< probability that a sum comes to the largest number; `expected` is of the others
  double exact_terms;        ///< the sum of the terms, rounded to the format to nearest, without any further rounding
  double bias_bound;         ///< the expectation of a sum lies at most this far below it, and never above
};

/// Independent sums of the first `terms` terms rounded to nearest, the additions stochastic (carry, `bits` random
/// bits); the format has at most 16 bits. Path p reads its random words at step = i - 1, the operation
/// sum_site(format, bits), index p. progress: called with the fraction done, on the calling thread.
StochasticHarmonic stochastic_harmonic(const FloatFormat& format, int bits, uint64_t seed, uint64_t paths,
                                       uint64_t terms, const std::function<void(double share)>& progress);

}  // namespace softamp::reproduce
