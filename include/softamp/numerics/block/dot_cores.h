// Fused groups of scaled elements: Hopper's FP8 and Blackwell's block-scaled instructions (N489 to N491). Vendor
// behaviour, reverse engineered (MMA-Sim); the fused group is that of numerics/products/tensor_core.h.
#pragma once

#include "softamp/numerics/block/dot_operand.h"
#include "softamp/numerics/products/tensor_core.h"

namespace softamp::block {

/// The special values of a group, and what they make of its result.
class GroupSpecials {
 public:
  static constexpr uint32_t kNan = 0x7FFFFFFFu;

  /// Whether the product is a number; if not, it is taken note of.
  SOFTAMP_INLINE bool finite(const detail::Operand& x, const detail::Operand& y) {
    if (x.nan() || y.nan()) nan_ = true;
    if ((x.infinite() && y.zero()) || (x.zero() && y.infinite())) invalid_ = true;
    if (x.finite() && y.finite()) return true;
    infinite_[x.negative != y.negative] = true;
    return false;
  }
  SOFTAMP_INLINE void set_nan() { nan_ = true; }
  SOFTAMP_INLINE bool any() const { return nan_ || invalid_ || infinite_[0] || infinite_[1]; }

  /// The result where any term or the fp32 accumulator c is no number.
  SOFTAMP_INLINE Rounded result(uint32_t c, const Semantics& s) const {
    const FloatFormat f = FloatFormat::fp32();
    const bool nan = nan_ || f.is_nan(c), negative = c >> 31 != 0;
    const bool plus = infinite_[0] || (f.is_infinity(c) && !negative);
    const bool minus = infinite_[1] || (f.is_infinity(c) && negative);
    const bool invalid = invalid_ || (!nan && plus && minus);
    if (nan || invalid)
      return {kNan, static_cast<uint8_t>(invalid || s.quiet_nan_is_invalid ? kInvalid & s.wide.flags : 0)};
    return {f.infinity_code() | (minus ? f.sign_mask() : 0), 0};
  }

 private:
  bool nan_ = false, invalid_ = false;
  bool infinite_[2] = {};
};

/// Whether c and all terms are numbers.
SOFTAMP_INLINE bool all_finite(const GroupSpecials& specials, uint32_t c) {
  return !specials.any() && FloatFormat::fp32().is_finite(c);
}
/// The result of a group whose terms are numbers: too large is an infinity, with overflow.
SOFTAMP_INLINE Rounded group_result(uint32_t code, const Semantics& s) {
  const bool infinite = (code & 0x7FFFFFFFu) == 0x7F800000u;
  return {code, static_cast<uint8_t>(infinite ? kOverflow & s.wide.flags : 0)};
}

/// The exponent of 2^0's place in a significand of an element: e of the value, not below the format's least.
SOFTAMP_INLINE int term_exponent(const FloatFormat& f, const Exact& x) {
  const int top = x.exponent + 63 - detail::countl_zero(x.significand);
  return top > f.min_exponent() ? top : f.min_exponent();
}

/// A group of 32 products of FP8, FP6 or FP4 elements, each in its own format, and an fp32 accumulator. All
/// significands have 3 fraction bits at most, those of e4m3.
// implements: N489, N490
class ScaledGroup {
 public:
  static constexpr int kLength = 32;

  SOFTAMP_INLINE int count() const { return count_; }

  /// The next product; the exponents of both scales together are `scale`.
  SOFTAMP_INLINE void add(const Element& ea, uint64_t a, const Element& eb, uint64_t b, int scale) {
    const detail::Operand x = element_operand(ea, a), y = element_operand(eb, b);
    product_[count_] = 0;
    exponent_[count_] = kNone;
    if (specials_.finite(x, y) && !x.zero() && !y.zero()) {
      const int e = term_exponent(ea.format, x.exact()), f = term_exponent(eb.format, y.exact());
      const int magnitude = static_cast<int>(x.significand * y.significand) << (x.exponent - e + y.exponent - f + 6);
      product_[count_] = x.negative != y.negative ? -magnitude : magnitude;
      exponent_[count_] = e + f + scale;
    }
    ++count_;
  }
  SOFTAMP_INLINE void set_nan() { specials_.set_nan(); }

  SOFTAMP_INLINE Rounded round(int fraction_bits, TensorCoreResult result, uint32_t c, const Semantics& s) const {
    if (!all_finite(specials_, c)) return specials_.result(c, s);
    const TensorCore core{FloatFormat::e4m3(), fraction_bits, kLength, result, TensorCoreOrder::kChain, kFloor};
    return group_result(fused_sum(core, product_, exponent_, count_, c), s);
  }

 private:
  static constexpr int kNone = -100000;  ///< of a zero product: below the floor
  static constexpr int kFloor = -133;    ///< as of Hopper and Blackwell (N326, N490)
  int32_t product_[kLength] = {}, exponent_[kLength] = {};
  int count_ = 0;
  GroupSpecials specials_{};
};

/// Blackwell's mxf4nvf4: four exact sums of 16 products of e2m1 elements, times the significands of both scales. Their
/// exponent is that of the scales alone, even where products cancel; a sum whose products are all zero has none, nor
/// has one with a scale of zero. With E the largest exponent, but at least -139, they and the accumulator are cut to
/// multiples of 2^(E - 35) and summed exactly; the sum becomes fp32 toward zero.
// implements: N491
class Fp4Group {
 public:
  static constexpr int kLength = 64, kSum = 16;

  SOFTAMP_INLINE int count() const { return count_; }

  /// The next product; the first of every 16 brings both scales.
  SOFTAMP_INLINE void add(uint64_t a, uint64_t b, const DotOperand& of_a, uint32_t scale_a, const DotOperand& of_b,
                          uint32_t scale_b) {
    const int part = count_ / kSum;
    if (count_ % kSum == 0) {
      const Scale x = unpacked(of_a, scale_a), y = unpacked(of_b, scale_b);
      significand_[part] = x.significand * y.significand;
      exponent_[part] = x.exponent + y.exponent;
    }
    const int product = halves(a) * halves(b);
    sum_[part] += product;
    counts_[part] = counts_[part] || (product != 0 && significand_[part] != 0);
    ++count_;
  }

  SOFTAMP_INLINE Rounded round(uint32_t c, const Semantics& s) const {
    if (!all_finite(specials_, c)) return specials_.result(c, s);
    const uint32_t field = c >> 23 & 0xFF;
    const bool zero = c << 1 == 0;
    const int of_c = zero ? kFloor : static_cast<int>(field | (field == 0)) - 127;
    int greatest = of_c;
    for (int i = 0; i < kLength / kSum; ++i)
      if (counts_[i] && exponent_[i] > greatest) greatest = exponent_[i];
    // Sums are multiples of 1/4, significands of scales of 1/8 each: 8 fraction bits.
    int64_t total =
        cut(static_cast<int64_t>((c & 0x7FFFFFu) | (field != 0 ? 0x800000u : 0u)), kFraction - 23, greatest - of_c);
    if (c >> 31 != 0) total = -total;
    for (int i = 0; i < kLength / kSum; ++i)
      if (counts_[i]) total += cut(int64_t{sum_[i]} * significand_[i], kFraction - 8, greatest - exponent_[i]);
    return group_result(detail::truncate_to_fp32(total, greatest - kFraction), s);
  }

 private:
  static constexpr int kFraction = 35, kFloor = -139;
  struct Scale {
    int significand;  ///< of 2^3
    int exponent;
  };

  SOFTAMP_INLINE Scale unpacked(const DotOperand& o, uint32_t scale) {
    if (o.format.family == BlockFamily::kMx && scale == e8m0::kNan) specials_.set_nan();
    if (o.format.family == BlockFamily::kMx) return {8, static_cast<int>(scale) - 127};
    if (o.format.family != BlockFamily::kNvfp4) return {8, 0};
    const int field = static_cast<int>(scale >> 3 & 0xF), fraction = static_cast<int>(scale & 7);
    if ((scale & 0x7F) == 0x7F) specials_.set_nan();
    if ((scale & 0x7F) == 0) return {0, 0};
    return field == 0 ? Scale{fraction, -6} : Scale{8 + fraction, field - 7};
  }
  /// Twice the value of an e2m1 code.
  static SOFTAMP_INLINE int halves(uint64_t code) {
    const int c = static_cast<int>(code & 7), magnitude = c < 4 ? c : (2 + (c & 1)) << (c / 2 - 1);
    return (code & 8) != 0 ? -magnitude : magnitude;
  }
  /// x 2^(up - down), toward zero.
  static SOFTAMP_INLINE int64_t cut(int64_t x, int up, int down) {
    const int64_t magnitude = (x < 0 ? -x : x) << up >> (down < 63 ? down : 63);
    return x < 0 ? -magnitude : magnitude;
  }

  int32_t sum_[4] = {}, significand_[4] = {}, exponent_[4] = {};
  bool counts_[4] = {};  ///< a product is not zero, nor is the scale
  int count_ = 0;
  GroupSpecials specials_{};
};

}  // namespace softamp::block
