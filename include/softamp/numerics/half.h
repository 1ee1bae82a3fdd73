// Half and BFloat16: 16-bit values with the arithmetic of IEEE 754, nearest even, and no implicit conversion.
//
// For any other rounding, for flags, or for the IPU's semantics use the operations in operations.h or an FpUnit.
#pragma once

#include <compare>
#include <limits>

#include "softamp/numerics/decimal.h"
#include "softamp/numerics/operations.h"

namespace softamp {

/// A value of a 16-bit format F. Arithmetic is exact, then rounded to nearest even; overflow gives infinity.
template <FloatFormat F>
class ShortFloat {
  static_assert(F.storage_bits() == 16);

 public:
  static constexpr FloatFormat kFormat = F;

  constexpr ShortFloat() = default;
  /// Rounds to nearest even.
  explicit SOFTAMP_HD constexpr ShortFloat(float value) : bits_(static_cast<uint16_t>(fp::from_float(F, value))) {}
  explicit SOFTAMP_HD constexpr ShortFloat(double value) : bits_(static_cast<uint16_t>(fp::from_double(F, value))) {}
  explicit SOFTAMP_HD constexpr ShortFloat(int32_t value)
      : bits_(static_cast<uint16_t>(fp::from_int32(value, F, Semantics::ieee()).code)) {}

  static SOFTAMP_INLINE ShortFloat from_bits(uint16_t bits) {
    ShortFloat x;
    x.bits_ = bits;
    return x;
  }
  SOFTAMP_INLINE uint16_t bits() const { return bits_; }

  /// Exact.
  explicit SOFTAMP_HD constexpr operator float() const { return fp::to_float(F, bits_); }
  explicit SOFTAMP_HD constexpr operator double() const { return fp::to_double(F, bits_); }

  friend SOFTAMP_HD constexpr ShortFloat operator+(ShortFloat a, ShortFloat b) {
    return of(fp::add(F, a.bits_, b.bits_, Semantics::ieee()));
  }
  friend SOFTAMP_HD constexpr ShortFloat operator-(ShortFloat a, ShortFloat b) {
    return of(fp::sub(F, a.bits_, b.bits_, Semantics::ieee()));
  }
  friend SOFTAMP_HD constexpr ShortFloat operator*(ShortFloat a, ShortFloat b) {
    return of(fp::mul(F, a.bits_, b.bits_, Semantics::ieee()));
  }
  friend SOFTAMP_HD constexpr ShortFloat operator/(ShortFloat a, ShortFloat b) {
    return of(fp::div(F, a.bits_, b.bits_, Semantics::ieee()));
  }
  SOFTAMP_HD constexpr ShortFloat& operator+=(ShortFloat b) { return *this = *this + b; }
  SOFTAMP_HD constexpr ShortFloat& operator-=(ShortFloat b) { return *this = *this - b; }
  SOFTAMP_HD constexpr ShortFloat& operator*=(ShortFloat b) { return *this = *this * b; }
  SOFTAMP_HD constexpr ShortFloat& operator/=(ShortFloat b) { return *this = *this / b; }
  /// Flips the sign bit, of a NaN too.
  SOFTAMP_HD constexpr ShortFloat operator-() const { return from_bits(static_cast<uint16_t>(bits_ ^ F.sign_mask())); }
  SOFTAMP_HD constexpr ShortFloat operator+() const { return *this; }

  /// Of values, not of bits: -0 == +0, and a NaN equals nothing.
  friend SOFTAMP_HD constexpr bool operator==(ShortFloat a, ShortFloat b) {
    return fp::equal(F, a.bits_, b.bits_, Semantics::ieee()).value;
  }
  friend SOFTAMP_HD constexpr bool operator<(ShortFloat a, ShortFloat b) {
    return fp::less(F, a.bits_, b.bits_, Semantics::ieee()).value;
  }
  friend SOFTAMP_HD constexpr bool operator<=(ShortFloat a, ShortFloat b) {
    return fp::less_equal(F, a.bits_, b.bits_, Semantics::ieee()).value;
  }
  friend SOFTAMP_HD constexpr bool operator>(ShortFloat a, ShortFloat b) { return b < a; }
  friend SOFTAMP_HD constexpr bool operator>=(ShortFloat a, ShortFloat b) { return b <= a; }
  /// Host only: std::partial_ordering has no values in device code.
  friend constexpr std::partial_ordering operator<=>(ShortFloat a, ShortFloat b) {
    if (a == b) return std::partial_ordering::equivalent;
    return a < b   ? std::partial_ordering::less
           : b < a ? std::partial_ordering::greater
                   : std::partial_ordering::unordered;
  }

 private:
  static SOFTAMP_INLINE ShortFloat of(Rounded r) { return from_bits(static_cast<uint16_t>(r.code)); }

  uint16_t bits_ = 0;
};

using Half = ShortFloat<FloatFormat::fp16()>;
using BFloat16 = ShortFloat<FloatFormat::bf16()>;

template <FloatFormat F>
SOFTAMP_HD constexpr bool isnan(ShortFloat<F> x) {
  return F.is_nan(x.bits());
}
template <FloatFormat F>
SOFTAMP_HD constexpr bool isinf(ShortFloat<F> x) {
  return F.is_infinity(x.bits());
}
template <FloatFormat F>
SOFTAMP_HD constexpr bool isfinite(ShortFloat<F> x) {
  return F.is_finite(x.bits());
}
template <FloatFormat F>
SOFTAMP_HD constexpr bool signbit(ShortFloat<F> x) {
  return (x.bits() & F.sign_mask()) != 0;
}
template <FloatFormat F>
SOFTAMP_HD constexpr ShortFloat<F> abs(ShortFloat<F> x) {
  return ShortFloat<F>::from_bits(static_cast<uint16_t>(x.bits() & F.magnitude_mask()));
}
template <FloatFormat F>
SOFTAMP_HD constexpr ShortFloat<F> sqrt(ShortFloat<F> x) {
  return ShortFloat<F>::from_bits(static_cast<uint16_t>(fp::sqrt(F, x.bits(), Semantics::ieee()).code));
}
template <FloatFormat F>
SOFTAMP_HD constexpr ShortFloat<F> fma(ShortFloat<F> a, ShortFloat<F> b, ShortFloat<F> c) {
  return ShortFloat<F>::from_bits(
      static_cast<uint16_t>(fp::fma(F, a.bits(), b.bits(), c.bits(), Semantics::ieee()).code));
}

namespace literals {

namespace detail {
// A literal that is no finite number of its format does not compile: it throws in a constant expression.
template <FloatFormat F>
consteval ShortFloat<F> literal(const char* text) {
  const ParsedNumber number = parse_number(text);
  // The compiler reads a bare 0x1F as an integer, so this literal does not accept it.
  if (number.kind != ParsedNumber::Kind::kFinite) throw "softamp: not a decimal or hexadecimal floating literal";
  const Rounded r = to_code(F, number);
  if (r.flags & kOverflow) throw "softamp: the literal is too large for its format";
  return ShortFloat<F>::from_bits(static_cast<uint16_t>(r.code));
}
}  // namespace detail

/// 0.1_h: the decimal (or 0x1.8p-3_h hexadecimal) text rounded once to fp16, at compile time.
consteval Half operator""_h(const char* text) { return detail::literal<FloatFormat::fp16()>(text); }
/// The same to bf16.
consteval BFloat16 operator""_bf16(const char* text) { return detail::literal<FloatFormat::bf16()>(text); }

}  // namespace literals
}  // namespace softamp

/// IEEE 754's view, as the operators are. (The IPU's own header differs: no infinity, min() 0, round_style unknown.)
template <softamp::FloatFormat F>
class std::numeric_limits<softamp::ShortFloat<F>> {
  using T = softamp::ShortFloat<F>;
  static constexpr T code(uint64_t bits) { return T::from_bits(static_cast<uint16_t>(bits)); }

 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr bool has_denorm_loss = false, is_iec559 = true, is_bounded = true, is_modulo = false;
  static constexpr bool traps = false, tinyness_before = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2;
  static constexpr int digits = F.precision;
  // floor((p - 1) log10 2), ceil(1 + p log10 2) and their like, by integers: log10 2 = 0.30103 to five places
  static constexpr int digits10 = (F.precision - 1) * 30103 / 100000;
  static constexpr int max_digits10 = 2 + F.precision * 30103 / 100000;
  static constexpr int min_exponent = F.min_exponent() + 1;
  static constexpr int min_exponent10 = F.min_exponent() * 30103 / 100000;
  static constexpr int max_exponent = F.max_exponent() + 1;
  static constexpr int max_exponent10 = (F.max_exponent() + 1) * 30103 / 100000;

  static constexpr T min() noexcept { return code(F.min_normal_code()); }
  static constexpr T lowest() noexcept { return code(F.sign_mask() | F.max_finite_code()); }
  static constexpr T max() noexcept { return code(F.max_finite_code()); }
  static constexpr T epsilon() noexcept {
    return code(static_cast<uint64_t>(F.bias - F.mantissa_bits()) << F.mantissa_bits());
  }
  static constexpr T round_error() noexcept { return T(0.5F); }
  static constexpr T infinity() noexcept { return code(F.infinity_code()); }
  static constexpr T quiet_NaN() noexcept { return code(softamp::nan_code(F, softamp::NanPattern::kQuiet)); }
  static constexpr T signaling_NaN() noexcept { return code(F.infinity_code() | 1); }
  static constexpr T denorm_min() noexcept { return code(F.min_subnormal_code()); }
};
