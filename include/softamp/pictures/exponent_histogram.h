// How many of a tensor's elements have which binary exponent: counts, so that they are the same in any order. What a
// loss scale moves, and what a format has no numbers for, is seen in them (Micikevicius et al., "Mixed Precision
// Training", ICLR 2018, figure 3).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "softamp/tensor/tensor.h"

namespace softamp {

/// elements = zeros + infinities + nans + the sum of exponents' counts. Zeros count either sign.
struct ExponentHistogram {
  int64_t elements = 0, zeros = 0;
  int64_t subnormals = 0;  ///< of the tensor's format; their exponents are among `exponents`
  int64_t infinities = 0, nans = 0;
  std::map<int, int64_t> exponents;  ///< floor(log2 |x|) of the finite elements that are not 0 -> how many

  bool operator==(const ExponentHistogram&) const = default;
  /// The elements of both.
  void add(const ExponentHistogram& other);
  /// Of the same elements times 2^by, without a limit of range. No count of subnormals: there is no format.
  ExponentHistogram shifted(int by) const;
  /// {"elements":2,"zeros":0,"subnormals":0,"infinities":0,"nans":1,"exponents":{"-3":1}}
  std::string json() const;
};

/// Of a tensor of floating type, whose codes lie one after the other at `data`. Throws std::invalid_argument for
/// another type.
ExponentHistogram exponents_of(const TensorType& type, const void* data);

/// Of the elements divided by `divisor` (positive, finite), in binary64. No count of subnormals.
ExponentHistogram exponents_of_quotients(const TensorType& type, const void* data, double divisor);

}  // namespace softamp
