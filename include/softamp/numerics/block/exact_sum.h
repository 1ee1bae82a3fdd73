// Sums of any number of products of scaled elements, exact, rounded to fp32 once (N485).
#pragma once

#include "softamp/numerics/operand.h"

namespace softamp::block {

/// A fixed-point number between 2^-384 and 2^384 in limbs of 32 bits, whose carries wait until it is read. It holds
/// every product of two elements of at most 8 bits with any fp32 numbers as scales, up to 2^35 of them, and an fp32
/// number.
// implements: N485
class ExactSum {
 public:
  /// Adds the product of two operands.
  SOFTAMP_INLINE void add(const detail::Operand& x, const detail::Operand& y) {
    const bool negative = x.negative != y.negative;
    if (x.nan() || y.nan()) {
      nan_ = true;
    } else if (x.infinite() || y.infinite()) {
      if (x.zero() || y.zero())
        invalid_ = true;
      else
        infinite_[negative] = true;
    } else {
      add({negative, x.exponent + y.exponent, x.significand * y.significand});
    }
  }

  /// Adds a number.
  SOFTAMP_INLINE void add(const detail::Operand& x) {
    if (x.nan()) nan_ = true;
    if (x.infinite()) infinite_[x.negative] = true;
    if (x.finite()) add(x.exact());
  }

  /// The sum as fp32 under the wide policy of `s`; one of zeros is +0. A NaN operand makes a NaN, which raises invalid
  /// only as `s` says of quiet NaNs; Inf 0 and Inf - Inf raise it.
  SOFTAMP_GENERAL Rounded round(const Semantics& s) {
    const FloatFormat f = FloatFormat::fp32();
    const bool invalid = invalid_ || (!nan_ && infinite_[0] && infinite_[1]);
    if (nan_) {
      const uint32_t quiet = static_cast<uint32_t>(nan_code(f, NanPattern::kQuiet));
      const int flags = detail::nan_flags(f, quiet, s) | (invalid ? kInvalid : 0);
      return detail::nan_result(f, quiet, static_cast<uint8_t>(flags), s);
    }
    if (invalid) return detail::invalid_result(f, s);
    if (infinite_[0] || infinite_[1]) return pack_infinity(f, infinite_[1], s.wide);
    const Exact sum = exact();
    return sum.significand == 0 ? Rounded{0, 0} : round_and_pack(f, sum, s.wide);
  }

 private:
  static constexpr int kLimbs = 24, kLeast = -384;
  static constexpr uint32_t kPending = uint32_t{1} << 28;  ///< additions before a limb could overflow

  SOFTAMP_INLINE void add(Exact x) {
    const int place = x.exponent - kLeast, limb = place >> 5, shift = place & 31;
    const uint64_t low = (x.significand & 0xFFFFFFFFu) << shift, high = (x.significand >> 32) << shift;
    const int64_t parts[3] = {static_cast<int64_t>(low & 0xFFFFFFFFu),
                              static_cast<int64_t>((low >> 32) + (high & 0xFFFFFFFFu)),
                              static_cast<int64_t>(high >> 32)};
    for (int i = 0; i < 3; ++i)
      if (limb + i < kLimbs) limbs_[limb + i] += x.negative ? -parts[i] : parts[i];
    if (++pending_ == kPending) carry();
  }

  /// Brings all limbs but the last into 0 .. 2^32 - 1. The sign is that of the last.
  SOFTAMP_INLINE void carry() {
    for (int i = 0; i + 1 < kLimbs; ++i) {
      limbs_[i + 1] += limbs_[i] >> 32;
      limbs_[i] &= 0xFFFFFFFF;
    }
    pending_ = 0;
  }

  /// The top 64 bits, the lowest of them sticky.
  SOFTAMP_INLINE Exact exact() {
    carry();
    const bool negative = limbs_[kLimbs - 1] < 0;
    if (negative) {
      for (int64_t& limb : limbs_) limb = -limb;
      carry();
    }
    int top = kLimbs - 1;
    while (top > 0 && limbs_[top] == 0) --top;
    if (limbs_[top] == 0) return {false, 0, 0};
    const auto limb = [&](int i) { return i >= 0 ? static_cast<uint64_t>(limbs_[i]) : 0; };
    const int zeros = detail::countl_zero(limb(top) << 32);
    uint64_t significand = (limb(top) << 32 | limb(top - 1)) << zeros;
    if (zeros > 0) significand |= limb(top - 2) >> (32 - zeros);
    uint64_t lost = limb(top - 2) << (32 + zeros);
    for (int i = 0; i < top - 2; ++i) lost |= limb(i);
    return {negative, kLeast + 32 * (top - 1) - zeros, significand | (lost != 0)};
  }

  int64_t limbs_[kLimbs] = {};
  uint32_t pending_ = 0;
  bool nan_ = false, invalid_ = false;
  bool infinite_[2] = {};
};

}  // namespace softamp::block
