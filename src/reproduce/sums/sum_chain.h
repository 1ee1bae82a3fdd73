// The exact distribution of a stochastic running sum.
//
// Adding a positive number a to a sum s of a format ends at one of two neighbours, the upper one with a probability
// that the discarded bits, the number of random bits and the variant fix (N12, N13; carry: floor(d 2^r) / 2^r for d in
// [0, 1) of a quantum). So the sum is a Markov chain over the format's codes, and its distribution after n additions
// follows step by step, in whole numbers that share no code with the emulated unit. The probabilities of a step are
// exact; the distribution is kept in binary64, with an error of about n 2^-53.
#pragma once

#include <cstdint>
#include <vector>

#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"

namespace softamp::reproduce {

struct SumDistribution {
  uint64_t first_code = 0;          ///< code of probability[0]
  std::vector<double> probability;  ///< of ascending codes
  double mean = 0, sd = 0;
};

class SumChain {
 public:
  /// The sum is zero. random_bits: (1..32). variant: one of N12 and N13.
  SumChain(const FloatFormat& format, int random_bits, StochasticVariant variant = StochasticVariant::kCarry);

  /// Adds the number of this code, positive and finite, or zero, so many times. No sum but zero may lie below it.
  /// Probabilities below 1e-30 at either end are dropped.
  void add(uint64_t addend, uint64_t times = 1);

  /// Probability that a sum has reached the format's largest number, after which it is not followed.
  double beyond() const { return beyond_; }
  /// The distribution of the other sums.
  SumDistribution distribution() const;

 private:
  FloatFormat format_;
  int bits_;
  StochasticVariant variant_;
  uint64_t first_code_ = 0;
  std::vector<double> probability_ = {1};
  double beyond_ = 0;
};

/// The distribution of 0 + a + a + ... (`count` additions).
/// Throws std::invalid_argument where the sum may, with a probability above 1e-15, reach the format's largest number.
SumDistribution sum_distribution(const FloatFormat& format, uint64_t addend, uint64_t count, int random_bits,
                                 StochasticVariant variant = StochasticVariant::kCarry);

}  // namespace softamp::reproduce
