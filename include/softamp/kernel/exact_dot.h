// Sums of a few fp32 products and one fp32 number, exact, rounded to fp32 once (`amp_inner` = exact_dot4).
#pragma once

#include "softamp/numerics/operand.h"

namespace softamp::kernel {

/// Collects products, then rounds their sum with an accumulator. A fixed-point number holds every product of two fp32
/// numbers: its bit 0 is worth 2^-298, the square of the smallest subnormal.
// implements: N106
class ExactDot {
 public:
  SOFTAMP_INLINE int count() const { return count_; }

  /// Adds the product of two fp32 codes.
  SOFTAMP_GENERAL void add(uint32_t a, uint32_t b, const Semantics& s) {
    const softamp::detail::Operand x = softamp::detail::unpack(FloatFormat::fp32(), a, s),
                                   y = softamp::detail::unpack(FloatFormat::fp32(), b, s);
    ++count_;
    if (x.nan() || y.nan()) {
      if (!nan_) nan_code_ = x.nan() ? a : b;
      nan_ = true;
      if (x.nan()) flags_ = static_cast<uint8_t>(flags_ | softamp::detail::nan_flags(FloatFormat::fp32(), a, s));
      if (y.nan()) flags_ = static_cast<uint8_t>(flags_ | softamp::detail::nan_flags(FloatFormat::fp32(), b, s));
      return;
    }
    const bool negative = x.negative != y.negative;
    if (x.infinite() || y.infinite()) {
      if (x.zero() || y.zero())
        invalid_ = true;
      else
        infinite_[negative] = true;
      return;
    }
    term({negative, x.exponent + y.exponent, x.significand * y.significand});
  }

  /// The sum of all that was added and the fp32 code `c`, rounded by the wide policy.
  SOFTAMP_GENERAL Rounded round(uint32_t c, const Semantics& s) {
    const softamp::detail::Operand z = softamp::detail::unpack(FloatFormat::fp32(), c, s);
    if (z.nan()) {
      if (!nan_) nan_code_ = c;
      nan_ = true;
      flags_ = static_cast<uint8_t>(flags_ | softamp::detail::nan_flags(FloatFormat::fp32(), c, s));
    }
    if (z.infinite()) infinite_[z.negative] = true;
    if (z.finite()) term(z.exact());
    invalid_ = invalid_ || (!nan_ && infinite_[0] && infinite_[1]);
    if (nan_)
      return softamp::detail::nan_result(FloatFormat::fp32(), nan_code_,
                                         static_cast<uint8_t>(flags_ | (invalid_ ? kInvalid : 0)), s);
    if (invalid_) return softamp::detail::invalid_result(FloatFormat::fp32(), s);
    if (infinite_[0] || infinite_[1]) return pack_infinity(FloatFormat::fp32(), infinite_[1], s.wide);
    const Exact total = sum();
    // Exact cancellation, and zeros of both signs, give +0.
    if (total.significand == 0) return {zero_code(FloatFormat::fp32(), all_negative_zeros_, s.wide), 0};
    return round_and_pack(FloatFormat::fp32(), total, s.wide);
  }

 private:
  static constexpr int kWords = 10, kLeast = -298;

  SOFTAMP_INLINE void term(Exact x) {
    if (x.significand != 0 || !x.negative) all_negative_zeros_ = false;
    if (x.significand == 0) return;
    const int place = x.exponent - kLeast;
    const softamp::detail::uint128_t moved = static_cast<softamp::detail::uint128_t>(x.significand) << (place & 63);
    uint64_t parts[2] = {static_cast<uint64_t>(moved), static_cast<uint64_t>(moved >> 64)};
    uint64_t carry = 0;
    for (int w = place >> 6, i = 0; w < kWords; ++w, ++i) {
      const uint64_t part = i < 2 ? parts[i] : 0;
      const softamp::detail::uint128_t total = x.negative
                                                   ? static_cast<softamp::detail::uint128_t>(words_[w]) - part - carry
                                                   : static_cast<softamp::detail::uint128_t>(words_[w]) + part + carry;
      words_[w] = static_cast<uint64_t>(total);
      carry = static_cast<uint64_t>(total >> 64) & 1;
    }
  }

  /// The fixed-point number's top 64 bits, the lowest of them sticky.
  SOFTAMP_INLINE Exact sum() const {
    uint64_t magnitude[kWords] = {};
    const bool negative = words_[kWords - 1] >> 63 != 0;
    uint64_t carry = negative;
    for (int w = 0; w < kWords; ++w) {
      magnitude[w] = (negative ? ~words_[w] : words_[w]) + carry;
      carry = carry && magnitude[w] == 0;
    }
    int top = kWords - 1;
    while (top > 0 && magnitude[top] == 0) --top;
    if (magnitude[top] == 0) return {false, 0, 0};
    const int zeros = softamp::detail::countl_zero(magnitude[top]);
    uint64_t significand = magnitude[top] << zeros, lost = 0;
    if (top > 0) {
      if (zeros > 0) significand |= magnitude[top - 1] >> (64 - zeros);
      lost = magnitude[top - 1] << zeros;
    }
    for (int w = 0; w < top - 1; ++w) lost |= magnitude[w];
    return {negative, kLeast + 64 * top - zeros, significand | (lost != 0)};
  }

  uint64_t words_[kWords] = {};  ///< two's complement
  int count_ = 0;
  bool nan_ = false, invalid_ = false, all_negative_zeros_ = true;
  bool infinite_[2] = {};
  uint32_t nan_code_ = 0;
  uint8_t flags_ = 0;
};

}  // namespace softamp::kernel
