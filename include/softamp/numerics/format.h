// Floating-point formats as data: one constexpr literal each, every limit derived (N384).
//
// A code is the format's bit pattern, right-aligned in an unsigned integer: sign, exponent_bits of exponent,
// precision - 1 bits of mantissa. tf32 therefore has 19-bit codes.
#pragma once

#include "softamp/numerics/platform.h"

namespace softamp {

/// Which codes are not numbers.
// implements: N5, N442
enum class Specials : uint8_t {
  kIeee,             ///< largest exponent field: infinity (mantissa 0) and NaNs, as in IEEE 754.
  kNanOnly,          ///< one NaN per sign (all ones), no infinity: OCP e4m3.
  kNegativeZeroNan,  ///< one NaN, the code of -0; no infinity, no -0 ("FNUZ"): the IPU's f143 and f152.
  kNone,             ///< none, every code is a number: OCP MX's e2m1, e2m3 and e3m2.
};

/// A binary format: value = (-1)^sign * significand * 2^exponent, significand of `precision` bits, gradual underflow.
///
/// exponent_bits (2..8; 11 in binary64)   width of the exponent field
/// precision     (2..24; 53 in binary64)  significand bits, the hidden one included
/// bias                                   [=2^(exponent_bits-1) - 1 where made by `ieee`]
// implements: N1, N384
struct FloatFormat {
  int exponent_bits;
  int precision;
  int bias;
  Specials specials;

  // implements: N3
  static SOFTAMP_INLINE FloatFormat ieee(int exponent_bits, int precision) {
    return {exponent_bits, precision, (1 << (exponent_bits - 1)) - 1, Specials::kIeee};
  }
  static SOFTAMP_INLINE FloatFormat fp16() { return ieee(5, 11); }
  static SOFTAMP_INLINE FloatFormat bf16() { return ieee(8, 8); }
  static SOFTAMP_INLINE FloatFormat tf32() { return ieee(8, 11); }
  static SOFTAMP_INLINE FloatFormat fp32() { return ieee(8, 24); }
  static SOFTAMP_INLINE FloatFormat binary64() { return ieee(11, 53); }
  // implements: N4
  static SOFTAMP_INLINE FloatFormat e5m2() { return ieee(5, 3); }  ///< OCP OFP8
  // implements: N4
  static SOFTAMP_INLINE FloatFormat e4m3() { return {4, 4, 7, Specials::kNanOnly}; }  ///< OCP OFP8
  // implements: N5
  static SOFTAMP_INLINE FloatFormat f143() { return {4, 4, 8, Specials::kNegativeZeroNan}; }  ///< IPU quarter
  // implements: N5
  static SOFTAMP_INLINE FloatFormat f152() { return {5, 3, 16, Specials::kNegativeZeroNan}; }  ///< IPU quarter
  // implements: N442
  static SOFTAMP_INLINE FloatFormat e2m1() { return {2, 2, 1, Specials::kNone}; }  ///< OCP MX, FP4
  // implements: N442
  static SOFTAMP_INLINE FloatFormat e2m3() { return {2, 4, 1, Specials::kNone}; }  ///< OCP MX, FP6
  // implements: N442
  static SOFTAMP_INLINE FloatFormat e3m2() { return {3, 3, 3, Specials::kNone}; }  ///< OCP MX, FP6

  /// Formats that this library computes in: exponent_bits 2..8 with precision 2..24, or binary64.
  SOFTAMP_INLINE bool valid() const {
    const bool small = exponent_bits >= 2 && exponent_bits <= 8 && precision >= 2 && precision <= 24;
    return small || (exponent_bits == 11 && precision == 53);
  }

  constexpr bool operator==(const FloatFormat&) const = default;

  SOFTAMP_INLINE int storage_bits() const { return exponent_bits + precision; }
  // implements: N2
  SOFTAMP_INLINE int mantissa_bits() const { return precision - 1; }
  // implements: N2
  SOFTAMP_INLINE uint64_t sign_mask() const { return uint64_t{1} << (storage_bits() - 1); }
  SOFTAMP_INLINE uint64_t magnitude_mask() const { return sign_mask() - 1; }
  SOFTAMP_INLINE uint64_t code_mask() const { return sign_mask() | magnitude_mask(); }
  SOFTAMP_INLINE uint64_t mantissa_mask() const { return (uint64_t{1} << mantissa_bits()) - 1; }
  SOFTAMP_INLINE uint64_t exponent_field_max() const { return (uint64_t{1} << exponent_bits) - 1; }

  /// The smallest normal number is 2^min_exponent, the smallest subnormal 2^min_quantum.
  // implements: N1
  SOFTAMP_INLINE int min_exponent() const { return 1 - bias; }
  // implements: N1
  SOFTAMP_INLINE int min_quantum() const { return min_exponent() - mantissa_bits(); }
  /// The largest finite number lies in [2^max_exponent, 2^(max_exponent + 1)).
  SOFTAMP_INLINE int max_exponent() const { return static_cast<int>(max_finite_code() >> mantissa_bits()) - bias; }

  SOFTAMP_INLINE bool has_infinity() const { return specials == Specials::kIeee; }
  SOFTAMP_INLINE bool has_nan() const { return specials != Specials::kNone; }
  SOFTAMP_INLINE bool has_negative_zero() const { return specials != Specials::kNegativeZeroNan; }

  /// Code of +infinity; only where has_infinity().
  SOFTAMP_INLINE uint64_t infinity_code() const { return exponent_field_max() << mantissa_bits(); }
  SOFTAMP_INLINE uint64_t max_finite_code() const {
    switch (specials) {
      case Specials::kIeee: return infinity_code() - 1;
      case Specials::kNanOnly: return magnitude_mask() - 1;
      case Specials::kNegativeZeroNan:
      case Specials::kNone: break;
    }
    return magnitude_mask();
  }
  /// Code of 2^max_exponent().
  SOFTAMP_INLINE uint64_t last_binade_code() const { return max_finite_code() >> mantissa_bits() << mantissa_bits(); }
  SOFTAMP_INLINE uint64_t min_normal_code() const { return uint64_t{1} << mantissa_bits(); }
  SOFTAMP_INLINE uint64_t min_subnormal_code() const { return 1; }
  /// The bit that marks a NaN as quiet (IEEE formats).
  // implements: N25
  SOFTAMP_INLINE uint64_t quiet_bit() const { return uint64_t{1} << (mantissa_bits() - 1); }

  SOFTAMP_INLINE bool is_nan(uint64_t code) const {
    switch (specials) {
      case Specials::kIeee: return (code & magnitude_mask()) > infinity_code();
      case Specials::kNanOnly: return (code & magnitude_mask()) == magnitude_mask();
      case Specials::kNone: return false;
      case Specials::kNegativeZeroNan: break;
    }
    return code == sign_mask();
  }
  // implements: N25
  SOFTAMP_INLINE bool is_signaling_nan(uint64_t code) const {
    return specials == Specials::kIeee && is_nan(code) && !(code & quiet_bit());
  }
  SOFTAMP_INLINE bool is_infinity(uint64_t code) const {
    return specials == Specials::kIeee && (code & magnitude_mask()) == infinity_code();
  }
  SOFTAMP_INLINE bool is_finite(uint64_t code) const {
    switch (specials) {
      case Specials::kIeee: return ((code & magnitude_mask()) >> mantissa_bits()) != exponent_field_max();
      case Specials::kNanOnly: return (code & magnitude_mask()) != magnitude_mask();
      case Specials::kNone: return true;
      case Specials::kNegativeZeroNan: break;
    }
    return code != sign_mask();
  }
  SOFTAMP_INLINE bool is_zero(uint64_t code) const {
    return has_negative_zero() ? (code & magnitude_mask()) == 0 : code == 0;
  }
  SOFTAMP_INLINE bool is_subnormal(uint64_t code) const {
    const uint64_t magnitude = code & magnitude_mask();
    return magnitude != 0 && magnitude < min_normal_code();
  }
};

// implements: N3
SOFTAMP_CONSTANT FloatFormat kFp16 = FloatFormat::fp16();
// implements: N3
SOFTAMP_CONSTANT FloatFormat kBf16 = FloatFormat::bf16();
// implements: N3
SOFTAMP_CONSTANT FloatFormat kTf32 = FloatFormat::tf32();
// implements: N3
SOFTAMP_CONSTANT FloatFormat kFp32 = FloatFormat::fp32();
// implements: N3
SOFTAMP_CONSTANT FloatFormat kBinary64 = FloatFormat::binary64();
SOFTAMP_CONSTANT FloatFormat kE4m3 = FloatFormat::e4m3();
SOFTAMP_CONSTANT FloatFormat kE5m2 = FloatFormat::e5m2();
SOFTAMP_CONSTANT FloatFormat kF143 = FloatFormat::f143();
SOFTAMP_CONSTANT FloatFormat kF152 = FloatFormat::f152();
SOFTAMP_CONSTANT FloatFormat kE2m1 = FloatFormat::e2m1();
SOFTAMP_CONSTANT FloatFormat kE2m3 = FloatFormat::e2m3();
SOFTAMP_CONSTANT FloatFormat kE3m2 = FloatFormat::e3m2();

/// A two's-complement fixed-point format: value = code * 2^quantum_exponent, least <= code <= greatest.
/// Example: 16 bits with 12 after the point is {-12, -32768, 32767}. Rounded by `round_to_fixed` in round.h.
// implements: N7
struct FixedFormat {
  int quantum_exponent;
  int64_t least;
  int64_t greatest;
};

}  // namespace softamp
