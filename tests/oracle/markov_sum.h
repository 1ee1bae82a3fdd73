// The exact distribution of a running fp16 sum with stochastic rounding: a Markov chain over the fp16 values, whose
// transition probabilities are multiples of 2^-r.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/oracle/fp16_table.h"

namespace oracle {

/// Distribution of s after n additions of `addend` (a positive fp16 code), s -> SR(s + addend), carry with r bits.
///
/// Error: a new probability is a sum of terms p w with w exact in binary64, p w rounded once and each addition once. At
/// most three states reach a state here (s + addend moves by at least one quantum of the addend), so a step multiplies
/// the relative error by at most (1 + 2^-53)^4, n = 10,000 steps by 1 + 4.5e-12. No term cancels: all are positive.
class MarkovSum {
 public:
  MarkovSum(uint32_t addend, int random_bits) : addend_(magnitude(addend)), one_(uint64_t{1} << random_bits) {
    probability_.assign(kInfinity, 0.0);
    probability_[0] = 1;
  }

  void add(int times) {
    std::vector<double> next(kInfinity, 0.0);
    for (; times > 0; --times) {
      uint32_t low = kInfinity, high = 0;
      for (uint32_t code = lowest_; code <= highest_; ++code) {
        if (probability_[code] == 0) continue;
        const Place p = place(kTable.value[code] + addend_, 1);
        const uint64_t quantum = kTable.value[p.lower + 1] - kTable.value[p.lower];
        const uint64_t rest = kTable.value[code] + addend_ - kTable.value[p.lower];
        const uint64_t up = rest * one_ / quantum;  // floor(d 2^r)
        const double upward = static_cast<double>(up) / static_cast<double>(one_);
        next[p.lower] += probability_[code] * (1 - upward);  // 1 - upward is exact
        if (up > 0) next[p.lower + 1] += probability_[code] * upward;
        low = std::min(low, p.lower);
        high = std::max(high, p.lower + (up > 0));
      }
      std::fill(probability_.begin() + lowest_, probability_.begin() + highest_ + 1, 0.0);
      lowest_ = low;
      highest_ = high;
      probability_.swap(next);
    }
  }

  static double value(uint32_t code) { return static_cast<double>(kTable.value[code]) * 0x1p-24; }

  double total() const {
    double sum = 0;
    for (const double p : probability_) sum += p;
    return sum;
  }
  double mean() const {
    double sum = 0;
    for (uint32_t c = lowest_; c <= highest_; ++c) sum += probability_[c] * value(c);
    return sum;
  }
  /// The k-th moment about the mean.
  double central_moment(int k) const {
    const double m = mean();
    double sum = 0;
    for (uint32_t c = lowest_; c <= highest_; ++c) {
      double power = 1;
      for (int i = 0; i < k; ++i) power *= value(c) - m;
      sum += probability_[c] * power;
    }
    return sum;
  }
  double probability(uint32_t code) const { return probability_[code]; }

 private:
  uint64_t addend_, one_;
  uint32_t lowest_ = 0, highest_ = 0;
  std::vector<double> probability_;
};

}  // namespace oracle
