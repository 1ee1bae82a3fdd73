// How many numbers become zero, subnormal or infinite when multiplied by a power of two and rounded to a narrow format:
// counted through the unit, and predicted from a histogram of their exponents.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "softamp/numerics/format.h"

namespace softamp::reproduce {

/// How many non-zero numbers become zero, subnormal, infinite.
struct Fate {
  int64_t zero = 0, subnormal = 0, overflow = 0;
  bool operator==(const Fate&) const = default;
};

/// Each of `values` times 2^scale, exactly, then rounded once to `format`, to nearest even, by the unit. `format` has
/// infinities and at most 16 bits.
Fate count_fates(std::span<const float> values, const FloatFormat& format, int scale);

/// floor(log2 |x|) of the finite numbers that are not zero -> how many.
std::map<int, int64_t> exponent_histogram(std::span<const float> values);

/// A histogram of exponents, and for each exponent the numbers at a boundary where rounding decides.
class ExponentTable {
 public:
  ExponentTable(std::span<const float> values, const FloatFormat& format);

  /// What count_fates counts: for a number of exponent e = floor(log2 |x|), significand m = |x| 2^-e, k the scale:
  ///   zero        e + k < q - 1, or = q - 1 and m = 1: at most half of the smallest number 2^q, the tie being even
  ///   subnormal   otherwise, e + k < E, but for e + k = E - 1 and m >= 2 - 2^(1-p), which rounds up to 2^E (E:
  ///   smallest
  ///               exponent of a normal number; the significand of the number below it has p - 1 bits)
  ///   overflow    e + k > M, or = M and m >= 2 - 2^-p (M: largest exponent, p: precision; the largest finite number is
  ///               odd, so that the tie goes up)
  Fate predict(int scale) const;
  int64_t nonzero() const { return nonzero_; }

 private:
  struct Bin {
    int64_t all = 0, powers = 0, near_normal = 0, near_overflow = 0;
  };
  FloatFormat format_;
  std::map<int, Bin> bins_;
  int64_t nonzero_ = 0;
};

}  // namespace softamp::reproduce
