// Unpacked operands, with NaNs, infinities and subnormals as the preset treats them.
#pragma once

#include "softamp/numerics/round.h"
#include "softamp/numerics/semantics.h"

namespace softamp::detail {

enum class Kind : uint8_t { kFinite, kInfinity, kNan };

/// A decoded code. For kFinite, value = (-1)^negative * significand * 2^exponent, significand not normalised.
struct Operand {
  Kind kind;
  bool negative;
  int exponent;
  uint64_t significand;

  SOFTAMP_INLINE bool finite() const { return kind == Kind::kFinite; }
  SOFTAMP_INLINE bool infinite() const { return kind == Kind::kInfinity; }
  SOFTAMP_INLINE bool nan() const { return kind == Kind::kNan; }
  SOFTAMP_INLINE bool zero() const { return kind == Kind::kFinite && significand == 0; }
  SOFTAMP_INLINE Exact exact() const { return {negative, exponent, significand}; }
  SOFTAMP_INLINE Signed parts() const { return detail::parts(exact()); }
};

SOFTAMP_INLINE bool is_wide(const FloatFormat& f) { return f.storage_bits() > 16 && f.storage_bits() <= 32; }

/// Decodes a finite code, without flushing and without a branch.
SOFTAMP_INLINE Signed unpack_signed(const FloatFormat& f, uint64_t code) {
  const uint64_t magnitude = code & f.magnitude_mask(), field = magnitude >> f.mantissa_bits();
  const uint64_t binade = field + (field < 1) - 1;  // subnormal numbers lie in the lowest normal binade
  return {code << (64 - f.storage_bits()), f.min_quantum() + static_cast<int64_t>(binade),
          magnitude - (binade << f.mantissa_bits())};
}
SOFTAMP_INLINE Exact unpack_finite(const FloatFormat& f, uint64_t code) { return unpack_signed(f, code).exact(); }

/// Whether the code is an ordinary number under the preset: no NaN, no infinity, not flushed.
SOFTAMP_INLINE bool plain(const FloatFormat& f, uint64_t code, const Semantics& s) {
  return f.is_finite(code) && !(is_wide(f) && s.wide_operands_flushed && f.is_subnormal(code));
}

// implements: N45, N47, N66
SOFTAMP_GENERAL Operand unpack(const FloatFormat& f, uint64_t code, const Semantics& s) {
  const bool negative = (code & f.sign_mask()) != 0;
  if (f.is_nan(code)) return {Kind::kNan, negative, 0, 0};
  if (f.is_infinity(code)) {
    if (f.storage_bits() > 16 || s.narrow_infinity == InfinityOperand::kIeee) return {Kind::kInfinity, negative, 0, 0};
    if (s.narrow_infinity == InfinityOperand::kNan) return {Kind::kNan, negative, 0, 0};
    if (s.narrow_infinity == InfinityOperand::kNextBinade)
      return {Kind::kFinite, negative, f.max_exponent() + 1 - f.mantissa_bits(), f.min_normal_code()};
    code = (code & f.sign_mask()) | f.max_finite_code();
  }
  const Exact x = unpack_finite(f, code);
  if (is_wide(f) && s.wide_operands_flushed && x.significand < f.min_normal_code())
    return {Kind::kFinite, negative && (x.significand == 0 || s.operand_flush_sign == FlushSign::kSame), x.exponent, 0};
  return {Kind::kFinite, x.negative, x.exponent, x.significand};
}

/// Flags of an operation that read the NaN `code`.
// implements: N33, N46
SOFTAMP_INLINE uint8_t nan_flags(const FloatFormat& f, uint64_t code, const Semantics& s) {
  return s.quiet_nan_is_invalid || f.is_signaling_nan(code) ? kInvalid : 0;
}

/// The NaN written to format `to` when `code`, a NaN or an operand counted as one, is the first NaN operand.
// implements: N24, N28
SOFTAMP_GENERAL uint64_t nan_from(const FloatFormat& to, const FloatFormat& from, uint64_t code, NanPattern pattern) {
  const bool ieee = to.specials == Specials::kIeee && from.specials == Specials::kIeee;
  if (pattern == NanPattern::kInfinity && to.has_infinity() && from.has_negative_zero() && from.is_nan(code))
    return signed_code(to, (code & from.sign_mask()) != 0, to.infinity_code());
  if (pattern == NanPattern::kSigned)
    return nan_code(to, pattern, from.has_negative_zero() && from.is_nan(code) && (code & from.sign_mask()) != 0);
  if (pattern != NanPattern::kPropagate || !ieee || !from.is_nan(code)) return nan_code(to, pattern);
  const uint64_t payload = code & from.mantissa_mask();
  const int widen = to.mantissa_bits() - from.mantissa_bits();
  const uint64_t moved = widen >= 0 ? payload << widen : payload >> -widen;
  return signed_code(to, (code & from.sign_mask()) != 0, to.infinity_code() | to.quiet_bit() | moved);
}

/// Result of an operation on codes of `f` at least one of which counts as a NaN; `first` says which comes first.
// implements: N24
SOFTAMP_INLINE Rounded nan_result(const FloatFormat& f, uint64_t first, uint8_t flags, const Semantics& s) {
  return {nan_from(f, f, first, s.rounding(f).nan), static_cast<uint8_t>(flags & s.rounding(f).flags)};
}

/// Result of an invalid combination of operands.
// implements: N34
SOFTAMP_INLINE Rounded invalid_result(const FloatFormat& f, const Semantics& s) {
  return {nan_code(f, s.rounding(f).nan), kInvalid};
}

}  // namespace softamp::detail
