// The exact sum of numbers and of products of two numbers, however many: a fixed-point number as long as binary64's
// products need it.
#pragma once

#include <cstdint>
#include <vector>

#include "src/numbers/dyadic.h"

namespace softamp::detail {

/// A sum of binary64 numbers, exact. NaNs and infinities are counted beside it.
class ExactSum {
 public:
  ExactSum();

  void add(double x);
  /// a * b, exactly; infinity times zero is a NaN.
  void add_product(double a, double b);

  bool finite() const { return !nan_ && !infinite_[0] && !infinite_[1]; }
  /// What finite numbers were added; an infinity or a NaN is left out.
  Dyadic total() const;
  /// The sum, rounded to nearest even; an infinity, or a NaN after a NaN or infinities of both signs.
  double to_double() const;

 private:
  static constexpr int kLeast = -2176;  ///< the first bit's exponent: below 2^-2148, the least square in binary64
  static constexpr int kDigits = 144;   ///< of 32 bits: up to 2^2432, 2^64 times the greatest square and more
  static constexpr uint64_t kMostPending = uint64_t{1} << 28;

  void add_finite(bool negative, uint64_t significand, int exponent);
  /// Carries, so that every digit but the last is one of 32 bits.
  static void settle(std::vector<int64_t>& digits);
  void note_special(double x);

  std::vector<int64_t> digits_;  ///< each has room for the carries of many additions
  uint64_t pending_ = 0;         ///< additions since the last carries
  bool nan_ = false;
  bool infinite_[2] = {false, false};  ///< +, -
};

}  // namespace softamp::detail
