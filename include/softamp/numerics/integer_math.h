// Exact integer quotients and square roots, as many bits as any rounding needs.
#pragma once

#include "softamp/numerics/round.h"

namespace softamp::detail {

/// floor(sqrt(n)) for n >= 2^62.
// implements: N64, N81
SOFTAMP_INLINE uint64_t root_of_64_bits(uint64_t n) {
  uint64_t root = 0;
  if (__builtin_is_constant_evaluated()) {
    for (uint64_t bit = uint64_t{1} << 31; bit != 0; bit >>= 1)
      if ((root | bit) * (root | bit) <= n) root |= bit;
    return root;
  }
  // A binary64 estimate, at most one off under any rounding mode, corrected by integers.
  const double halved = static_cast<double>(static_cast<int64_t>(n >> 1));  // signed: one instruction
#if defined(__CUDA_ARCH__)
  root = static_cast<uint64_t>(static_cast<int64_t>(__dsqrt_rn(__dmul_rn(halved, 2.0))));
#else
  root = static_cast<uint64_t>(static_cast<int64_t>(__builtin_sqrt(halved * 2.0)));
#endif
  root -= root >> 32;  // 2^32 is one too large
  root -= root * root > n;
  root += n - root * root > 2 * root;
  return root;
}

/// floor(sqrt(high 2^64 + low)) with a jam in bit 0, for high >= 2^62 (Zimmermann's recursive square root, one step).
SOFTAMP_INLINE uint64_t root_of_128_bits(uint64_t high, uint64_t low) {
  const uint64_t upper = root_of_64_bits(high);
  const uint64_t rest = high - upper * upper;  // <= 2 upper
  const uint64_t half_dividend = rest << 31 | low >> 33;
  const uint64_t quotient = half_dividend / upper;
  const uint64_t remainder = (rest << 32 | low >> 32) - quotient * 2 * upper;  // modulo 2^64: it is small
  uint64_t root = (upper << 32) + quotient;
  const uint128_t left = static_cast<uint128_t>(remainder) << 32 | (low & 0xFFFFFFFF);
  const uint128_t square = static_cast<uint128_t>(quotient) * quotient;
  if (left < square) return (root - 1) | 1;  // one too large, hence inexact
  return root | (left != square);
}

/// sqrt(x), 0 < x.significand < 2^63, to at least `bits` bits and a jam.
SOFTAMP_INLINE Exact square_root(Exact x, int bits) {
  const int zeros = countl_zero(x.significand);
  const int shift = zeros - ((x.exponent - zeros) & 1);  // leaves an even power of two, whose root is a power of two
  const uint64_t high = x.significand << shift;
  const int exponent = (x.exponent - shift) / 2 - 32;
  if (bits > 31) return {false, exponent, root_of_128_bits(high, 0)};
  const uint64_t root = root_of_64_bits(high);
  return {false, exponent, root << 32 | static_cast<uint64_t>(root * root != high)};
}

/// floor(a / b) with a jam in bit 0.
SOFTAMP_INLINE uint64_t divide_jam(uint64_t a, uint64_t b) { return a / b | (a % b != 0); }

/// |a| / |b| as a non-zero finite quotient of significands of at most 24 bits, 40 bits or more (beyond 38 `bits`: 62)
/// and a jam.
SOFTAMP_INLINE Exact quotient(Exact a, Exact b, int bits) {
  const bool negative = a.negative != b.negative;
  const int zeros_a = countl_zero(a.significand);
  const uint64_t dividend = a.significand << zeros_a;
  if (bits <= 38) return {negative, a.exponent - zeros_a - b.exponent, divide_jam(dividend, b.significand)};
  const int zeros_b = countl_zero(b.significand) - 40;  // b of 24 bits
  const uint64_t divisor = b.significand << zeros_b;
  const uint64_t high = dividend / divisor, rest = (dividend % divisor) << 23;  // high of 40 or 41 bits
  return {negative, (a.exponent - zeros_a) - (b.exponent - zeros_b) - 23, high << 23 | divide_jam(rest, divisor)};
}

/// a / b for operands of a format f of at most 12 bits of precision: 40 bits or more and a jam, though neither is
/// normalised.
SOFTAMP_INLINE Signed short_quotient(const FloatFormat& f, Signed a, Signed b) {
  const int shift = 64 - f.precision;
  return {a.sign ^ b.sign, a.exponent - shift - b.exponent, divide_jam(a.significand << shift, b.significand)};
}

SOFTAMP_CONSTANT int64_t kFarBelow = -(1 << 20);
/// x with its leading bit moved to bit 61; a zero moves far below everything.
SOFTAMP_INLINE Signed align(Signed x) {
  const int zeros = countl_zero(x.significand | 1) - 2;
  return {x.sign, x.significand != 0 ? x.exponent - zeros : kFarBelow, x.significand << zeros};
}
SOFTAMP_INLINE Signed raise(Signed x, int bits) { return {x.sign, x.exponent - bits, x.significand << bits}; }

SOFTAMP_INLINE int64_t with_sign(uint64_t sign, uint64_t magnitude) {
  const int64_t value = static_cast<int64_t>(magnitude), mask = static_cast<int64_t>(sign) >> 63;
  return (value ^ mask) - mask;
}
/// An integer times 2^exponent, times the sign.
SOFTAMP_INLINE Signed from_integer(uint64_t sign, int64_t value, int64_t exponent) {
  return {sign ^ static_cast<uint64_t>(value), exponent,
          static_cast<uint64_t>(with_sign(static_cast<uint64_t>(value), static_cast<uint64_t>(value)))};
}

/// a + b with a jam, significands below 2^62; an exact zero has significand 0 (its sign is the caller's). A significand
/// must be even where the other one loses bits. Exponents differ by at most `apart`.
/// Selections instead of branches: neither the signs nor the sizes of operands are predictable.
SOFTAMP_INLINE Signed sum(Signed a, Signed b, int64_t apart) {
  const int64_t x = static_cast<int64_t>(a.significand), y = with_sign(a.sign ^ b.sign, b.significand);
  const int64_t above = a.exponent - b.exponent, mask = above >> 63, swap = (x ^ y) & mask;
  const int64_t high = x ^ swap, low = y ^ swap;
  int64_t distance = (above ^ mask) - mask;
  if (apart > 63) distance = distance < 63 ? distance : 63;
  const int64_t shifted = low >> distance, lost = (shifted << distance) != low;
  return from_integer(a.sign, high + (shifted | lost), b.exponent + (above & ~mask));
}

/// The same for any significands of at most 53 bits.
SOFTAMP_INLINE Signed aligned_sum(Signed a, Signed b) { return sum(align(a), align(b), -kFarBelow); }

/// The same for operands of format f: what loses bits lies far below the leading one of a normal number.
SOFTAMP_INLINE Signed sum(const FloatFormat& f, Signed a, Signed b) {
  const int room = 61 - f.precision;
  return sum(raise(a, room), raise(b, room), 512);
}

/// product + c, the product that of two numbers of format f. Short significands need not be normalised for it: where
/// bits are lost, all that a rounding reads stands above them. In formats of few exponents a zero needs no care.
SOFTAMP_INLINE Signed sum_of_product(const FloatFormat& f, Signed product, Signed c) {
  if (f.precision > 12 || f.bias < 0) return aligned_sum(product, c);
  const bool few_exponents = f.exponent_bits <= 5 && f.bias <= 32;
  if (!few_exponents && product.significand == 0) product.exponent = kFarBelow;
  if (!few_exponents && c.significand == 0) c.exponent = kFarBelow;
  return sum(raise(product, 61 - 2 * f.precision), raise(c, 61 - f.precision), few_exponents ? 63 : -kFarBelow);
}

/// a + b for operands of a format whose whole range of bits fits an integer: a fixed-point sum.
SOFTAMP_INLINE bool sums_in_fixed_point(const FloatFormat& f) {
  return f.precision + static_cast<int>(f.exponent_field_max()) <= 61;
}
SOFTAMP_INLINE Signed fixed_point_sum(const FloatFormat& f, Signed a, Signed b) {
  const int quantum = f.min_quantum() - 1;  // one more bit than needed saves a subtraction
  const uint64_t x = a.significand << (a.exponent - quantum), y = b.significand << (b.exponent - quantum);
  return from_integer(a.sign, static_cast<int64_t>(x) + with_sign(a.sign ^ b.sign, y), quantum);
}

/// Bits that a rounding of format f under p reads of an exact value, the deciding one included.
SOFTAMP_INLINE int bits_read(const FloatFormat& f, const RoundingPolicy& p) {
  return f.precision + 2 + (p.stochastic() ? p.random_bits : 0);
}

}  // namespace softamp::detail
