#include "src/sums/exact_sum.h"

#include <bit>
#include <cmath>
#include <limits>

namespace softamp::detail {
namespace {

constexpr uint64_t kDigitMask = 0xffffffffu;
constexpr int kDigitBits = 32;
constexpr int kHalfBits = 27;  // the lower part of a significand of 53 bits, so that products of parts have 54

}  // namespace

ExactSum::ExactSum() : digits_(kDigits) {}

void ExactSum::settle(std::vector<int64_t>& digits) {
  int64_t carry = 0;
  for (size_t i = 0; i + 1 < digits.size(); ++i) {
    const int64_t digit = digits[i] + carry;
    digits[i] = digit & static_cast<int64_t>(kDigitMask);
    carry = digit >> kDigitBits;
  }
  digits.back() += carry;
}

void ExactSum::add_finite(bool negative, uint64_t significand, int exponent) {
  const unsigned at = static_cast<unsigned>(exponent - kLeast);
  const size_t place = at / kDigitBits;
  const unsigned shift = at % kDigitBits;
  const uint64_t low = (significand & kDigitMask) << shift, high = (significand >> kDigitBits) << shift;
  const int64_t parts[3] = {static_cast<int64_t>(low & kDigitMask),
                            static_cast<int64_t>((low >> kDigitBits) + (high & kDigitMask)),
                            static_cast<int64_t>(high >> kDigitBits)};
  for (size_t i = 0; i < 3; ++i) digits_[place + i] += negative ? -parts[i] : parts[i];
  if (++pending_ < kMostPending) return;
  settle(digits_);
  pending_ = 0;
}

void ExactSum::note_special(double x) {
  if (std::isnan(x))
    nan_ = true;
  else
    infinite_[std::signbit(x)] = true;
}

void ExactSum::add(double x) {
  if (!std::isfinite(x)) return note_special(x);
  const Exact e = unpack_finite(kBinary64, std::bit_cast<uint64_t>(x));
  add_finite(e.negative, e.significand, e.exponent);
}

void ExactSum::add_product(double a, double b) {
  // Of these the product is a NaN or an infinity whatever it rounds to.
  if (!std::isfinite(a) || !std::isfinite(b)) return note_special(a * b);
  const Exact x = unpack_finite(kBinary64, std::bit_cast<uint64_t>(a)),
              y = unpack_finite(kBinary64, std::bit_cast<uint64_t>(b));
  constexpr uint64_t kLow = (uint64_t{1} << kHalfBits) - 1;
  const uint64_t x_parts[2] = {x.significand & kLow, x.significand >> kHalfBits},
                 y_parts[2] = {y.significand & kLow, y.significand >> kHalfBits};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      add_finite(x.negative != y.negative, x_parts[i] * y_parts[j], x.exponent + y.exponent + kHalfBits * (i + j));
}

Dyadic ExactSum::total() const {
  std::vector<int64_t> digits = digits_;
  settle(digits);
  size_t first = 0;
  while (first + 1 < digits.size() && digits[first] == 0) ++first;
  boost::multiprecision::cpp_int number = 0;
  for (size_t i = digits.size(); i-- > first;) number = (number << kDigitBits) + digits[i];
  return {number, kLeast + static_cast<int>(first) * kDigitBits};
}

double ExactSum::to_double() const {
  if (nan_ || (infinite_[0] && infinite_[1])) return std::numeric_limits<double>::quiet_NaN();
  if (infinite_[0]) return HUGE_VAL;
  if (infinite_[1]) return -HUGE_VAL;
  return total().to_double();
}

}  // namespace softamp::detail
