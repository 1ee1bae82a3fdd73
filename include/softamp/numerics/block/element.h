// An element of a block format: a small float, or a two's-complement fraction (MX's INT8), as data (N446).
#pragma once

#include "softamp/numerics/operations.h"

namespace softamp::block {

/// The format of an element. Example: {kE2m1}; MX's INT8 is {{-6, -127, 127}}: code c stands for c 2^-6.
// implements: N446
struct Element {
  FloatFormat format{};
  FixedFormat fixed{};
  bool integer = false;

  SOFTAMP_INLINE explicit Element(const FloatFormat& f) : format(f) {}
  SOFTAMP_INLINE explicit Element(const FixedFormat& f) : fixed(f), integer(true) {}

  /// MX's INT8, without -128 (-2.0), so that the codes are symmetric.
  static SOFTAMP_INLINE Element int8() { return Element(FixedFormat{-6, -127, 127}); }

  SOFTAMP_INLINE int storage_bits() const {
    if (!integer) return format.storage_bits();
    int bits = 1;
    while (fixed.greatest >> (bits - 1) != 0) ++bits;
    return bits;
  }
  SOFTAMP_INLINE uint64_t code_mask() const { return (uint64_t{1} << storage_bits()) - 1; }
  /// Bits after the leading one, as the scale rule `even` counts them.
  SOFTAMP_INLINE int mantissa_bits() const { return integer ? storage_bits() - 2 : format.mantissa_bits(); }
  /// The largest power of two is 2^max_exponent.
  SOFTAMP_INLINE int max_exponent() const {
    return integer ? fixed.quantum_exponent + mantissa_bits() : format.max_exponent();
  }
  SOFTAMP_INLINE uint64_t max_code() const {
    return integer ? static_cast<uint64_t>(fixed.greatest) : format.max_finite_code();
  }
  /// What a NaN becomes: one, where the format has it, else the largest number.
  SOFTAMP_INLINE uint64_t nan_code(const RoundingPolicy& p) const {
    return integer ? max_code() : softamp::nan_code(format, p.nan);
  }
  SOFTAMP_INLINE bool is_nan(uint64_t code) const { return !integer && format.is_nan(code); }
};

/// The exact value of a code that is neither NaN nor infinite.
// implements: N446
SOFTAMP_INLINE Exact exact(const Element& e, uint64_t code) {
  if (!e.integer) return detail::unpack_finite(e.format, code & e.code_mask());
  const int bits = e.storage_bits();
  const uint64_t sign = uint64_t{1} << (bits - 1);
  const int64_t value = static_cast<int64_t>((code & e.code_mask()) ^ sign) - static_cast<int64_t>(sign);
  return {value < 0, e.fixed.quantum_exponent, static_cast<uint64_t>(value < 0 ? -value : value)};
}

/// x rounded once to an element. Fixed point saturates in any case.
SOFTAMP_GENERAL Rounded round(const Element& e, Exact x, const RoundingPolicy& p, uint32_t random = 0) {
  if (!e.integer) return round_and_pack(e.format, x, p, random);
  const RoundedInteger r = round_to_fixed(e.fixed, x, p, random);
  return {static_cast<uint64_t>(r.value) & e.code_mask(), r.flags};
}

/// The fp32 number `code`, times 2^shift times 3/4 where `three_quarters`, rounded once to an element.
// implements: N446
SOFTAMP_GENERAL Rounded round_fp32(const Element& e, uint32_t code, int shift, bool three_quarters,
                                   const RoundingPolicy& p, uint32_t random = 0) {
  const uint32_t magnitude = code & 0x7FFFFFFFu;
  const bool negative = code >> 31 != 0;
  if (magnitude > 0x7F800000u)
    return {e.nan_code(p), static_cast<uint8_t>(e.is_nan(e.nan_code(p)) ? 0 : kInvalid & p.flags)};
  if (magnitude == 0x7F800000u) {
    if (!e.integer) return pack_infinity(e.format, negative, p);
    const int64_t most = negative ? e.fixed.least : e.fixed.greatest;
    return {static_cast<uint64_t>(most) & e.code_mask(), static_cast<uint8_t>(kOverflow & p.flags)};
  }
  Exact x = detail::unpack_finite(kFp32, code);
  x.exponent += shift;
  if (three_quarters) x.significand *= 3, x.exponent -= 2;
  return round(e, x, p, random);
}

namespace detail32 {

/// fp32 arithmetic on codes, nearest even: what the recipes of systems compute their scales with.
SOFTAMP_INLINE uint32_t mul(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(fp::mul(kFp32, a, b, Semantics::ieee()).code);
}
SOFTAMP_INLINE uint32_t div(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(fp::div(kFp32, a, b, Semantics::ieee()).code);
}
SOFTAMP_INLINE uint32_t add(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(fp::add(kFp32, a, b, Semantics::ieee()).code);
}
SOFTAMP_INLINE uint32_t sub(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(fp::sub(kFp32, a, b, Semantics::ieee()).code);
}
/// The fp32 code of a float's code.
SOFTAMP_INLINE uint32_t widened(const FloatFormat& f, uint64_t code) {
  return static_cast<uint32_t>(fp::convert(f, kFp32, code, Semantics::ieee()).code);
}
/// The lesser of two that are not below +0; a NaN stays.
SOFTAMP_INLINE uint32_t at_most(uint32_t a, uint32_t limit) { return a > limit && a <= 0x7F800000u ? limit : a; }
constexpr uint32_t kOne = 0x3F800000u, kLargest = 0x7F7FFFFFu, kInfinity = 0x7F800000u;

}  // namespace detail32

/// The greatest magnitude (an fp32 code) of n fp32 codes, at distances of `stride`. A NaN is greater than all, unless
/// `nan_counts` is off: then NaNs are left out.
// implements: N447
SOFTAMP_INLINE uint32_t greatest_magnitude(const uint32_t* x, int n, bool nan_counts = true, int stride = 1) {
  uint32_t greatest = 0;
  for (int i = 0; i < n; ++i) {
    const uint32_t magnitude = x[i * stride] & 0x7FFFFFFFu;
    if (magnitude > greatest && (nan_counts || magnitude <= detail32::kInfinity)) greatest = magnitude;
  }
  return greatest;
}

}  // namespace softamp::block
