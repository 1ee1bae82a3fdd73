// Sums and products of binary64 numbers with their rounding errors beside them: what the binary64 functions of
// math_double*.h are written with.
//
// A Pair is the exact sum of two numbers, |low| <= ulp(high) / 2, so about 106 bits. Sums of two numbers (Knuth) and
// products (Dekker, by Veltkamp's splitting) are exact, without fma, because the baseline has none: as each operation
// is one IEEE 754 operation to nearest, all machines get the same bits. Products are exact where the factors are below
// 2^995 and the product is 0 or above 2^-960; functions scale their operands so that this holds, or so that what is
// lost is far below the result. Sums, products and quotients of pairs are within 2^-100 of the exact value, relatively
// (a sum relative to its operands where it cancels).
#pragma once

#include "softamp/numerics/math_lane.h"

// Long functions of scalars: inlined where the compiler likes.
#define SOFTAMP_MATH_LONG SOFTAMP_HD inline

namespace softamp::math {

namespace detail {

inline constexpr uint64_t kSignOfDouble = uint64_t{1} << 63;

SOFTAMP_MATH Double size_of(Double a) { return Double::from_bits(bits(a) & ~kSignOfDouble); }
SOFTAMP_MATH Double signed_as(Double a, Double sign) {
  return Double::from_bits(bits(size_of(a)) | (bits(sign) & kSignOfDouble));
}
SOFTAMP_MATH bool is_nan(Double a) { return a.value != a.value; }

struct Pair {
  Double high, low;
};

/// a + b exactly.
// implements: N440
SOFTAMP_MATH Pair exact_sum(Double a, Double b) {
  const Double sum = a + b, b_seen = sum - a;
  return {sum, (a - (sum - b_seen)) + (b - b_seen)};
}
/// The same for |a| >= |b|, or a = 0.
SOFTAMP_MATH Pair ordered_sum(Double a, Double b) {
  const Double sum = a + b;
  return {sum, b - (sum - a)};
}
/// a in two parts of at most 26 bits each, the second with a sign of its own.
SOFTAMP_MATH Pair split(Double a) {
  const Double c = a * Double(0x1p+27 + 1), high = c - (c - a);
  return {high, a - high};
}
/// a b exactly.
// implements: N440
SOFTAMP_MATH Pair exact_product(Double a, Double b) {
  const Double product = a * b;
  const Pair x = split(a), y = split(b);
  return {product, ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

SOFTAMP_MATH Pair operator-(Pair a) { return {-a.high, -a.low}; }
SOFTAMP_MATH Pair operator+(Pair a, Pair b) {
  const Pair high = exact_sum(a.high, b.high), low = exact_sum(a.low, b.low);
  const Pair sum = ordered_sum(high.high, high.low + low.high);
  return ordered_sum(sum.high, low.low + sum.low);
}
SOFTAMP_MATH Pair operator+(Pair a, Double b) {
  const Pair sum = exact_sum(a.high, b);
  return ordered_sum(sum.high, sum.low + a.low);
}
SOFTAMP_MATH Pair operator*(Pair a, Pair b) {
  const Pair product = exact_product(a.high, b.high);
  return ordered_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}
SOFTAMP_MATH Pair operator*(Pair a, Double b) {
  const Pair product = exact_product(a.high, b);
  return ordered_sum(product.high, product.low + a.low * b);
}
/// The quotient of the high parts, corrected by its remainder.
SOFTAMP_MATH Pair operator/(Pair a, Pair b) {
  const Double first = a.high / b.high;
  const Pair product = exact_product(first, b.high);
  const Double rest = (((a.high - product.high) - product.low) + a.low) - first * b.low;
  return ordered_sum(first, rest / b.high);
}
SOFTAMP_MATH Pair of_double(Double a) { return {a, Double(0.0)}; }
/// Both parts times a power of two.
SOFTAMP_MATH Pair times_power(Pair a, Double power) { return {a.high * power, a.low * power}; }

/// c0 + c1 x + c2 x^2 + ... by Horner's scheme.
SOFTAMP_MATH Double horner(Double, double c) { return c; }
template <class... More>
SOFTAMP_MATH Double horner(Double x, double c, More... more) {
  return Double(c) + x * horner(x, more...);
}
/// The same with pairs as coefficients, the last one's place taken by a polynomial in binary64:
/// c0 + x (c1 + x (... + x rest)).
SOFTAMP_MATH Pair pair_horner(Pair x, Double rest, Pair c) { return c + x * rest; }
template <class... More>
SOFTAMP_MATH Pair pair_horner(Pair x, Double rest, Pair c, More... more) {
  return c + x * pair_horner(x, rest, more...);
}

/// 2^n for -1022 <= n <= 1023.
SOFTAMP_MATH Double power_of_two(int64_t n) { return Double::from_bits(static_cast<uint64_t>(n + 1023) << 52); }

/// a + b rounded to odd: where the sum is inexact, the one of the two neighbours whose last bit is 1. Rounded again to
/// fewer bits, at least two of them fewer, it gives what one rounding would.
SOFTAMP_MATH Double odd_sum(Double a, Double b) {
  const Pair sum = exact_sum(a, b);
  const bool inexact = sum.low.value != 0;
  const bool toward_zero = inexact & ((sum.low.value < 0) != (sum.high.value < 0));
  return Double::from_bits((bits(sum.high) - toward_zero) | static_cast<uint64_t>(inexact));
}

/// p 2^n rounded once, for p = 0 or 2^-60 <= |p| < 2^60 and -1400 <= n <= 1100: to infinity from 2^1024 on, and
/// gradually below 2^-1022.
// implements: N440
SOFTAMP_MATH_LONG Double rounded(Pair p, int64_t n) {
  p = ordered_sum(p.high, p.low);
  const int64_t exponent = static_cast<int64_t>((bits(p.high) >> 52) & 0x7FF) - 1023;
  if (exponent + n >= -1022 || p.high.value == 0) {
    const int64_t half = n / 2;  // exact, as the first product stays far from the ends of the range
    return p.high * power_of_two(half) * power_of_two(n - half);
  }
  // Subnormal: added to `one`, whose last place times 2^n is 2^-1074, |p| is rounded where the result is, and the sum's
  // code above that of `one` is the result's.
  const Double one = power_of_two(-1022 - n);
  const bool is_negative = p.high.value < 0;
  const Double high = is_negative ? -p.high : p.high, low = is_negative ? -p.low : p.low;
  const Pair sum = exact_sum(one, high);
  const Double whole = sum.high + odd_sum(sum.low, low);
  return Double::from_bits((bits(whole) - bits(one)) | (is_negative ? kSignOfDouble : 0));
}

}  // namespace detail

}  // namespace softamp::math
