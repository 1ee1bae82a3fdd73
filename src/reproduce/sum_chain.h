// The exact distribution of a stochastic running sum: what many sums scatter about.
//
// Adding a positive number a to a sum s of a format ends at one of two neighbours, the upper one with a probability
// that the discarded bits and the number of random bits fix: floor(d 2^r) / 2^r for d in [0, 1) of a quantum (variant
// carry). So the sum is a Markov chain over the format's codes, and its distribution after n additions follows step by
// step. The probabilities are exact; what is carried along of them is binary64, good to about n 2^-53.
#pragma once

#include <cstdint>
#include <vector>

#include "softamp/numerics/format.h"

namespace softamp::reproduce {

struct SumDistribution {
  uint64_t first_code = 0;          ///< code of probability[0]
  std::vector<double> probability;  ///< of ascending codes
  double mean = 0, sd = 0;
};

/// The distribution of 0 + a + a + ... (`count` additions), variant carry with `random_bits`; `addend` is the code of a
/// positive finite number, or of zero. Probabilities below 1e-30 at either end are dropped.
/// Throws std::invalid_argument where the sum may, with a probability above 1e-15, reach the format's largest number.
SumDistribution sum_distribution(const FloatFormat& format, uint64_t addend, uint64_t count, int random_bits);

}  // namespace softamp::reproduce
