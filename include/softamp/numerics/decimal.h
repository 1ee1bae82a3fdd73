// Numbers as text, exactly: decimal or hexadecimal digits to an Exact value, so that a literal or a command-line value
// is rounded once, directly to its format, never first to binary64.
#pragma once

#include <string_view>

#include "softamp/numerics/round.h"

namespace softamp {

/// A parsed text. For kFinite `value` has all bits that any rounding reads (see Exact).
struct ParsedNumber {
  enum class Kind : uint8_t { kMalformed, kFinite, kInfinity, kNan };
  Kind kind = Kind::kMalformed;
  Exact value{false, 0, 0};  ///< for kInfinity and kNan only the sign counts
};

namespace detail {

/// An unsigned integer of up to 6,144 bits: 800 decimal digits, 5^1200, and room to align them.
struct BigInteger {
  static constexpr int kWords = 192;
  uint32_t word[kWords] = {};
  int size = 0;  // words in use

  constexpr void multiply_add(uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (int i = 0; i < size; ++i) {
      carry += uint64_t{word[i]} * factor;
      word[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) word[size++] = static_cast<uint32_t>(carry);
  }
  constexpr int bits() const { return size == 0 ? 0 : 32 * size - (countl_zero(word[size - 1]) - 32); }
  constexpr void shift_left(int n) {
    const int words = n / 32, rest = n % 32;
    if (size == 0) return;
    for (int i = size; i >= 0; --i) {
      const uint64_t high = i < size ? word[i] : 0, low = i > 0 ? word[i - 1] : 0;
      word[i + words] = static_cast<uint32_t>((high << 32 | low) << rest >> 32);
    }
    for (int i = 0; i < words; ++i) word[i] = 0;
    size += words + 1;
    while (word[size - 1] == 0) --size;
  }
  constexpr bool at_least(const BigInteger& other) const {
    if (size != other.size) return size > other.size;
    for (int i = size - 1; i >= 0; --i)
      if (word[i] != other.word[i]) return word[i] > other.word[i];
    return true;
  }
  constexpr void subtract(const BigInteger& other) {
    uint64_t borrow = 0;
    for (int i = 0; i < size; ++i) {
      const uint64_t difference = uint64_t{word[i]} - (i < other.size ? other.word[i] : 0) - borrow;
      word[i] = static_cast<uint32_t>(difference);
      borrow = difference >> 63;
    }
    while (size > 0 && word[size - 1] == 0) --size;
  }
};

/// numerator / denominator * 2^exponent with 63 or 64 bits and a sticky bit; numerator not 0.
constexpr Exact divide(BigInteger numerator, BigInteger denominator, int exponent) {
  const int shift = numerator.bits() - denominator.bits();
  if (shift > 0) denominator.shift_left(shift);
  if (shift < 0) numerator.shift_left(-shift);
  uint64_t quotient = 0;
  for (int bit = 63; bit >= 0; --bit) {
    quotient <<= 1;
    if (numerator.at_least(denominator)) {
      numerator.subtract(denominator);
      quotient |= 1;
    }
    numerator.shift_left(1);
  }
  return {false, exponent + shift - 63, quotient | (numerator.size != 0)};
}

// implements: N80
constexpr Exact from_decimal(BigInteger digits, int power_of_ten) {
  BigInteger denominator;
  denominator.word[0] = 1;
  denominator.size = 1;
  BigInteger& scaled = power_of_ten >= 0 ? digits : denominator;
  for (int i = power_of_ten < 0 ? -power_of_ten : power_of_ten; i > 0; --i) scaled.multiply_add(5, 0);
  return divide(digits, denominator, power_of_ten);
}

constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool equal_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (to_lower(text[i]) != lower[i]) return false;
  return true;
}
constexpr int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = to_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/// Decimal digits with an optional exponent after `marker`, to base 10 or 16; the whole text or nothing.
// implements: N80
constexpr ParsedNumber parse_digits(std::string_view text, int base, char marker) {
  constexpr int kMostDigits = 800, kFar = 100000;
  BigInteger digits;
  bool any = false, point = false, tail = false;
  int kept = 0, scale = 0;  // value = digits base^scale
  size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\'' && any) continue;
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    const int digit = digit_value(c);
    if (digit >= base) break;
    any = true;
    if (kept < kMostDigits) {
      if (digits.size != 0 || digit != 0) {
        ++kept;
        if (digits.size == 0) digits.size = 1;
        digits.multiply_add(static_cast<uint32_t>(base), static_cast<uint32_t>(digit));
      }
      if (point && scale > -kFar) --scale;
    } else {
      tail = tail || digit != 0;
      if (!point && scale < kFar) ++scale;
    }
  }
  if (!any) return {};
  int exponent = 0;
  if (i < text.size()) {
    if (to_lower(text[i]) != marker || ++i == text.size()) return {};
    const bool negative = text[i] == '-';
    if (text[i] == '-' || text[i] == '+') ++i;
    if (i == text.size()) return {};
    for (; i < text.size(); ++i) {
      if (text[i] < '0' || text[i] > '9') return {};
      if (exponent < kFar) exponent = 10 * exponent + (text[i] - '0');
    }
    if (negative) exponent = -exponent;
  }
  ParsedNumber number{ParsedNumber::Kind::kFinite, {false, 0, 0}};
  if (digits.size == 0) return number;
  if (tail) {  // one more non-zero digit replaces all that follow
    digits.multiply_add(static_cast<uint32_t>(base), 1);
    --scale;
  }
  // Beyond every format's range; all such values behave alike.
  constexpr int kFarOut = 2000;
  if (base == 16) {
    const int power = 4 * scale + exponent;
    BigInteger one;
    one.word[0] = 1;
    one.size = 1;
    const int top = digits.bits() + power;
    number.value = top > kFarOut    ? Exact{false, kFarOut, 1}
                   : top < -kFarOut ? Exact{false, -kFarOut, 1}
                                    : divide(digits, one, power);
    return number;
  }
  const int power = scale + exponent;
  const int top = kept + power;  // |x| < 10^top
  number.value = top > 400    ? Exact{false, kFarOut, 1}
                 : top < -400 ? Exact{false, -kFarOut, 1}
                              : from_decimal(digits, power);
  return number;
}

}  // namespace detail

/// Reads [+-] digits [. digits] [e [+-] digits], [+-] 0x hexdigits [. hexdigits] p [+-] digits, inf, infinity or nan,
/// in any case; the digit separator ' is allowed. The whole text must be a number: otherwise kMalformed.
constexpr ParsedNumber parse_number(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  ParsedNumber number;
  if (detail::equal_ignoring_case(text, "inf") || detail::equal_ignoring_case(text, "infinity")) {
    number.kind = ParsedNumber::Kind::kInfinity;
  } else if (detail::equal_ignoring_case(text, "nan")) {
    number.kind = ParsedNumber::Kind::kNan;
  } else if (text.size() > 2 && text[0] == '0' && detail::to_lower(text[1]) == 'x') {
    if (text.find_first_of("pP") == std::string_view::npos) return {};
    number = detail::parse_digits(text.substr(2), 16, 'p');
  } else {
    number = detail::parse_digits(text, 10, 'e');
  }
  number.value.negative = negative;
  return number;
}

/// The code of a parsed number in format `f`, rounded once under `p`; a NaN gives the policy's pattern, and invalid
/// where the format has none. The number must not be malformed.
constexpr Rounded to_code(const FloatFormat& f, const ParsedNumber& number, const RoundingPolicy& p = {},
                          uint32_t random = 0) {
  if (number.kind == ParsedNumber::Kind::kNan)
    return {nan_code(f, p.nan, number.value.negative), static_cast<uint8_t>(f.has_nan() ? 0 : kInvalid & p.flags)};
  if (number.kind == ParsedNumber::Kind::kInfinity) return pack_infinity(f, number.value.negative, p);
  return round_and_pack(f, number.value, p, random);
}

}  // namespace softamp
