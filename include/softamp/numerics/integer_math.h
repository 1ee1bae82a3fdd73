// Exact integer quotients and square roots, as many bits as any rounding needs.
#pragma once

#include "softamp/numerics/round.h"

namespace softamp::detail {

/// floor(sqrt(n)) for n >= 2^62.
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

/// |a| / |b| as a non-zero finite quotient of significands of at most 24 bits, 62 bits or more and a jam.
SOFTAMP_INLINE Exact quotient(Exact a, Exact b, int bits) {
  const bool negative = a.negative != b.negative;
  const int zeros_a = countl_zero(a.significand);
  const int zeros_b = countl_zero(b.significand) - 40;  // b of 24 bits
  const uint64_t dividend = a.significand << zeros_a;
  const uint64_t divisor = b.significand << zeros_b;
  uint64_t q = dividend / divisor;  // 40 or 41 bits
  uint64_t rest = dividend - q * divisor;
  int exponent = (a.exponent - zeros_a) - (b.exponent - zeros_b);
  if (bits <= 38) {
    q <<= 23;
    exponent -= 23;
  } else {
    q = q << 23 | (rest << 23) / divisor;
    rest = (rest << 23) % divisor;
    exponent -= 23;
  }
  return {negative, exponent, q | (rest != 0)};
}

/// significand * 2^exponent with the leading bit moved to bit 61; a zero moves far below everything.
struct Aligned {
  uint64_t significand;
  int exponent;
};
SOFTAMP_INLINE Aligned align(Exact x) {
  constexpr int kFarBelow = -(1 << 20);
  const int zeros = countl_zero(x.significand | 1) - 2;
  return {x.significand << zeros, x.significand != 0 ? x.exponent - zeros : kFarBelow};
}

SOFTAMP_INLINE int64_t with_sign(bool negative, uint64_t magnitude) {
  const int64_t value = static_cast<int64_t>(magnitude), mask = -static_cast<int64_t>(negative);
  return (value ^ mask) - mask;
}
SOFTAMP_INLINE Exact from_signed(int64_t value, int exponent) {
  return {value < 0, exponent, static_cast<uint64_t>(value < 0 ? -value : value)};
}

/// a + b with a jam, significands of at most 48 bits; an exact zero has significand 0 (its sign is the caller's).
/// Selections instead of branches: neither the signs nor the sizes of operands are predictable.
SOFTAMP_INLINE Exact sum(Exact a, Exact b) {
  const Aligned x = align(a), y = align(b);
  const int exponent = x.exponent > y.exponent ? x.exponent : y.exponent;
  return from_signed(with_sign(a.negative, shift_right_jam(x.significand, exponent - x.exponent)) +
                         with_sign(b.negative, shift_right_jam(y.significand, exponent - y.exponent)),
                     exponent);
}

/// The same for operands of a format whose whole range of bits fits an integer: a fixed-point sum.
SOFTAMP_INLINE bool sums_in_fixed_point(const FloatFormat& f) {
  return f.precision + static_cast<int>(f.exponent_field_max()) <= 61;
}
SOFTAMP_INLINE Exact fixed_point_sum(const FloatFormat& f, Exact a, Exact b) {
  const int quantum = f.min_quantum();
  return from_signed(with_sign(a.negative, a.significand << (a.exponent - quantum)) +
                         with_sign(b.negative, b.significand << (b.exponent - quantum)),
                     quantum);
}

/// Bits that a rounding of format f under p reads of an exact value, the deciding one included.
SOFTAMP_INLINE int bits_read(const FloatFormat& f, const RoundingPolicy& p) {
  return f.precision + 2 + (p.stochastic() ? p.random_bits : 0);
}

}  // namespace softamp::detail
