// fp16 operations as integer arithmetic in units of 2^-24 (2^-48 for products), each result placed in the table.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/oracle/fp16_table.h"

namespace oracle {

__extension__ typedef __int128 SignedWide;

enum class Operation { kAdd, kSub, kMul, kDiv };

/// The preset under test: IEEE 754 in one mode, or the IPU in nearest even.
struct Machine {
  RoundingMode mode = RoundingMode::kNearestEven;
  softamp::Overflow overflow = softamp::Overflow::kInfinity;
  bool ipu = false;
  bool nanoo = false;

  static constexpr Machine ieee(RoundingMode m, softamp::Overflow o = softamp::Overflow::kInfinity) {
    return {m, o, false, false};
  }
  static constexpr Machine ipu_nearest(bool nanoo) {
    return {RoundingMode::kNearestEven, softamp::Overflow::kInfinity, true, nanoo};
  }

  constexpr Outcome finish(const Place& p, bool negative) const {
    return ipu ? ipu_outcome(p, negative, nanoo) : ieee_outcome(p, negative, mode, overflow);
  }
  constexpr Outcome invalid() const { return {kNan, softamp::kInvalid}; }
  /// IEEE 754: only a signalling NaN operand is invalid; on the IPU a quiet one is too.
  constexpr Outcome nan_operand(bool any_signaling) const {
    return {kNan, uint32_t{softamp::kInvalid} * (ipu || any_signaling)};
  }
  /// On the IPU an infinite fp16 result is NaN, and raises inv only under nanoo.
  constexpr Outcome infinite(bool negative) const {
    if (ipu) return {kNan, uint32_t{softamp::kInvalid} * nanoo};
    return {(negative ? kSign : 0) | kInfinity, 0};
  }
  /// A finite number divided by zero; on the IPU the fp32 infinity is then narrowed as in `infinite`.
  constexpr Outcome pole(bool negative) const {
    Outcome o = infinite(negative);
    o.flags |= softamp::kDivideByZero;
    return o;
  }
  static constexpr Outcome zero(bool negative) { return {negative ? kSign : 0, 0}; }
  /// An exactly cancelling sum (754, 6.3).
  constexpr Outcome cancelled() const { return zero(mode == RoundingMode::kDown); }
};

/// The outcomes that need no rounding: NaN, infinite and zero results decided by the kind of the operands.
constexpr std::optional<Outcome> special_sum(uint32_t a, uint32_t b, const Machine& m) {
  if (is_nan(a) || is_nan(b)) return m.nan_operand(is_signaling(a) || is_signaling(b));
  if (is_infinite(a) && is_infinite(b)) return a == b ? m.infinite(is_negative(a)) : m.invalid();
  if (is_infinite(a)) return m.infinite(is_negative(a));
  if (is_infinite(b)) return m.infinite(is_negative(b));
  if (is_zero(a) && is_zero(b) && a == b) return Machine::zero(is_negative(a));
  if (signed_value(a) + signed_value(b) == 0) return m.cancelled();
  return std::nullopt;
}

constexpr std::optional<Outcome> special_product(uint32_t a, uint32_t b, const Machine& m) {
  const bool negative = is_negative(a) != is_negative(b);
  if (is_nan(a) || is_nan(b)) return m.nan_operand(is_signaling(a) || is_signaling(b));
  if (is_infinite(a) || is_infinite(b)) return is_zero(a) || is_zero(b) ? m.invalid() : m.infinite(negative);
  if (is_zero(a) || is_zero(b)) return Machine::zero(negative);
  return std::nullopt;
}

constexpr std::optional<Outcome> special_quotient(uint32_t a, uint32_t b, const Machine& m) {
  const bool negative = is_negative(a) != is_negative(b);
  if (is_nan(a) || is_nan(b)) return m.nan_operand(is_signaling(a) || is_signaling(b));
  if (is_infinite(a)) return is_infinite(b) ? m.invalid() : m.infinite(negative);
  if (is_zero(b)) return is_zero(a) ? m.invalid() : m.pole(negative);
  if (is_zero(a) || is_infinite(b)) return Machine::zero(negative);
  return std::nullopt;
}

/// |value| / 2^-24 of an fp32 number between 2^-64 and 2^64 as a fraction with denominator 2^40.
inline constexpr Wide kFloatDenominator = Wide{1} << 40;
inline Wide float_numerator(float magnitude) {
  return static_cast<Wide>(static_cast<double>(magnitude) * 0x1p64);  // exact: 24 bits, an integer
}
/// A finite code's magnitude as an fp32 number (exact).
inline float widened(uint32_t code) { return static_cast<float>(magnitude(code)) * 0x1p-24f; }

/// Places |a| / |b|, both finite and not zero: exactly, or as the IPU does by way of the host's fp32 division.
inline Place place_quotient(uint32_t guess, uint32_t a, uint32_t b, bool by_way_of_fp32) {
  if (by_way_of_fp32) return place_near(guess, float_numerator(widened(a) / widened(b)), kFloatDenominator);
  return place_near(guess, Wide{magnitude(a)} << 24, magnitude(b));
}

inline Outcome add(uint32_t a, uint32_t b, const Machine& m) {
  if (const auto s = special_sum(a, b, m)) return *s;
  const int64_t sum = signed_value(a) + signed_value(b);
  return m.finish(place(static_cast<Wide>(sum < 0 ? -sum : sum), 1), sum < 0);
}

/// 754 defines x - y as x + (-y), except that a NaN's sign is not touched; ours come out canonical either way.
inline Outcome sub(uint32_t a, uint32_t b, const Machine& m) { return add(a, b ^ kSign, m); }

inline Outcome mul(uint32_t a, uint32_t b, const Machine& m) {
  if (const auto s = special_product(a, b, m)) return *s;
  return m.finish(place(Wide{magnitude(a)} * magnitude(b), Wide{1} << 24), is_negative(a) != is_negative(b));
}

inline Outcome div(uint32_t a, uint32_t b, const Machine& m) {
  if (const auto s = special_quotient(a, b, m)) return *s;
  const uint32_t guess = place(Wide{magnitude(a)} << 24, magnitude(b)).lower;
  return m.finish(place_quotient(guess, a, b, m.ipu), is_negative(a) != is_negative(b));
}

/// a * b + c in units of 2^-48, finite operands: |a b| < 2^81 and |c| < 2^65, exact in 128 bits.
inline SignedWide fma_value(uint32_t a, uint32_t b, uint32_t c) {
  return static_cast<SignedWide>(signed_value(a)) * signed_value(b) +
         static_cast<SignedWide>(signed_value(c)) * (SignedWide{1} << 24);
}
inline Place place_fma(SignedWide sum) { return place(static_cast<Wide>(sum < 0 ? -sum : sum), Wide{1} << 24); }

/// The outcomes of a * b + c that need no rounding.
inline std::optional<Outcome> special_fma(uint32_t a, uint32_t b, uint32_t c, const Machine& m) {
  const bool product_negative = is_negative(a) != is_negative(b);
  const bool zero_times_infinity = (is_infinite(a) && is_zero(b)) || (is_zero(a) && is_infinite(b));
  if (zero_times_infinity) return m.invalid();  // even with a quiet NaN added
  if (is_nan(a) || is_nan(b) || is_nan(c)) return m.nan_operand(is_signaling(a) || is_signaling(b) || is_signaling(c));
  if (is_infinite(a) || is_infinite(b)) {
    if (is_infinite(c) && is_negative(c) != product_negative) return m.invalid();
    return m.infinite(product_negative);
  }
  if (is_infinite(c)) return m.infinite(is_negative(c));
  if (fma_value(a, b, c) != 0) return std::nullopt;
  const bool both_zero = (is_zero(a) || is_zero(b)) && is_zero(c);
  return both_zero && product_negative == is_negative(c) ? Machine::zero(product_negative) : m.cancelled();
}

inline Outcome fma(uint32_t a, uint32_t b, uint32_t c, const Machine& m) {
  if (const auto s = special_fma(a, b, c, m)) return *s;
  const SignedWide sum = fma_value(a, b, c);
  return m.finish(place_fma(sum), sum < 0);
}

/// The root s of v satisfies s^2 = v: with both in units of 2^-24, S^2 = V 2^24. Squares of the candidates decide.
inline Place place_root(uint32_t a) {
  const Wide square = Wide{magnitude(a)} << 24;
  uint32_t k = 0;
  for (uint32_t step = 0x4000; step > 0; step /= 2)
    if (k + step < kInfinity && Wide{kTable.value[k + step]} * kTable.value[k + step] <= square) k += step;
  const Wide lower = kTable.value[k], upper = kTable.value[k + 1];
  Place p{k, Gap::kAboveMiddle, Gap::kOn};  // a root is never below 2^-12
  if (lower * lower == square)
    p.where = Gap::kOn;
  else if ((lower + upper) * (lower + upper) > 4 * square)
    p.where = Gap::kBelowMiddle;
  else if ((lower + upper) * (lower + upper) == 4 * square)
    p.where = Gap::kMiddle;
  return p;
}

inline Outcome sqrt(uint32_t a, const Machine& m) {
  if (is_nan(a)) return m.nan_operand(is_signaling(a));
  if (is_zero(a)) return {a, 0};
  if (is_negative(a)) return m.invalid();
  if (is_infinite(a)) return m.infinite(false);
  if (m.ipu) return m.finish(place(float_numerator(__builtin_sqrtf(widened(a))), kFloatDenominator), false);
  return m.finish(place_root(a), false);
}

/// IEEE remainder a - b n, n the integer nearest a / b, ties to even: always exact.
inline Outcome rem(uint32_t a, uint32_t b, const Machine& m) {
  if (is_nan(a) || is_nan(b)) return m.nan_operand(is_signaling(a) || is_signaling(b));
  if (is_infinite(a) || is_zero(b)) return m.invalid();
  if (is_infinite(b) || is_zero(a)) return {a, 0};
  const uint64_t x = magnitude(a), y = magnitude(b);
  const uint64_t quotient = x / y, rest = x % y;
  const bool up = 2 * rest > y || (2 * rest == y && (quotient & 1) != 0);
  const uint64_t distance = up ? y - rest : rest;
  if (distance == 0) return Machine::zero(is_negative(a));
  return m.finish(place(distance, 1), is_negative(a) != up);
}

/// A finite code's value rounded to an integer (not a table lookup: 2^24 units make one).
struct Integral {
  int64_t value;
  bool inexact;
};
constexpr Integral integral(uint32_t a, RoundingMode mode) {
  constexpr uint64_t kOne = uint64_t{1} << 24;
  const uint64_t m = magnitude(a), below = m / kOne;
  const Gap where = gap(2 * Wide{m}, Wide{below} * kOne, Wide{below + 1} * kOne);
  const auto rounded = static_cast<int64_t>(below + goes_away(mode, is_negative(a), where, below & 1));
  return {is_negative(a) ? -rounded : rounded, where != Gap::kOn};
}

/// Round to integral; `exact` raises inexact where the value changes.
inline Outcome round_to_integral(uint32_t a, bool exact, const Machine& m) {
  if (is_nan(a)) return m.nan_operand(is_signaling(a));
  if (is_infinite(a)) return m.infinite(is_negative(a));
  const Integral i = integral(a, m.mode);
  const auto magnitude_units = static_cast<Wide>(i.value < 0 ? -i.value : i.value) << 24;
  Outcome o = m.finish(place(magnitude_units, 1), is_negative(a));
  if (exact && i.inexact) o.flags |= softamp::kInexact;
  return o;
}

}  // namespace oracle
