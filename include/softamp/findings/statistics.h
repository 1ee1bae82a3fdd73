// Statistics of a tensor's values: extremes, counts of special values, a histogram of exponents.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "softamp/tensor/tensor.h"

namespace softamp {

/// Counts of one tensor. Integers and bools: minimum, maximum and zeros only.
struct TensorStatistics {
  int64_t elements = 0;
  double minimum = 0, maximum = 0;  ///< over the numbers, infinities included; 0 and 0 where there is none
  int64_t zeros = 0;
  int64_t subnormals = 0;
  int64_t saturated = 0;  ///< of the largest finite magnitude
  int64_t infinities = 0;
  int64_t nans = 0;
  /// floor(log2 |x|) of the finite non-zero elements -> how many.
  std::map<int, int64_t> exponents;

  /// One JSON object, keys as above.
  std::string json() const;
};

TensorStatistics statistics_of(const TensorType& type, const void* data);
inline TensorStatistics statistics_of(const Tensor& t) { return statistics_of(t.type(), t.data()); }

}  // namespace softamp
