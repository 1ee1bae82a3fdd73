// Operands of fp16 fused multiply-adds: random ones, and families built so that rounding twice goes wrong.
#pragma once

#include <cstdint>

#include "tests/oracle/fp16_oracle.h"

namespace oracle {

/// SplitMix64 (Steele, Lea, Flood 2014): a case is a function of its number, so any case can be made again alone.
inline uint64_t mixed(uint64_t number) {
  uint64_t z = (number + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

struct Triple {
  uint32_t a, b, c;
};

/// fp16 code of significand * 2^exponent, significand below 2^11 and not zero; exponents are kept in the normal range.
constexpr uint32_t half_code(uint32_t significand, int exponent) {
  while (significand < 1024) significand *= 2, --exponent;
  if (exponent < -24) exponent = -24;
  if (exponent > 5) exponent = 5;
  return static_cast<uint32_t>(exponent + 24) * 1024 + significand;
}

/// a b has 12 significant bits, the last one set: halfway between two fp16 numbers. c is smaller by 13 to 54 binary
/// places: less than a wider first rounding keeps, yet it alone decides.
inline Triple tie_and_a_little(uint64_t random) {
  const uint32_t odd = static_cast<uint32_t>(random % 16) * 2 + 33;  // 33 .. 63: 6 bits
  const uint32_t least = (2048 + odd - 1) / odd, most = 4095 / odd;
  const uint32_t other = (least + static_cast<uint32_t>(random >> 8) % (most - least + 1)) | 1;
  const uint32_t second = other * odd > 4095 ? other - 2 : other;
  const int exponent_a = -20 + static_cast<int>(random >> 24 & 31),
            exponent_b = -15 + static_cast<int>(random >> 32 & 31);
  const uint32_t signs = static_cast<uint32_t>(random >> 40);
  const uint32_t little = static_cast<uint32_t>(random >> 44) % 2 == 0 ? 1 + (static_cast<uint32_t>(random >> 48) & 3)
                                                                       : static_cast<uint32_t>(random >> 48) & 0x3FFF;
  return {half_code(odd, exponent_a) | (signs & 1) << 15, half_code(second, exponent_b) | (signs >> 1 & 1) << 15,
          little | (signs >> 2 & 1) << 15};
}

/// a b is half a quantum of c, times 1 +- 2^-20 or so: (1 + i 2^-10)(1 - j 2^-10) with i near j.
inline Triple half_quantum_product(uint64_t random) {
  const uint32_t i = static_cast<uint32_t>(random % 8), j = static_cast<uint32_t>(random >> 8) % 8;
  const int field_c = 12 + static_cast<int>((random >> 16 & 0xFF) % 18);
  const uint32_t c = static_cast<uint32_t>(field_c) << 10 | (static_cast<uint32_t>(random >> 32) & 1023);
  // half a quantum of c is 2^(field_c - 26); split between a, near 2^e, and b, near 2^(field_c - 26 - e)
  const int e = (field_c - 26) / 2 + static_cast<int>(random >> 24 & 3) - 1, rest = field_c - 26 - e;
  const uint32_t signs = static_cast<uint32_t>(random >> 48);
  const uint32_t below_one = (2048 - j) & 2047;  // 1 - j 2^-11 has one binade less
  const uint32_t b = below_one == 0 ? half_code(1024, rest - 10) : half_code(below_one, rest - 11);
  return {half_code(1024 + i, e - 10) | (signs & 1) << 15, b | (signs >> 1 & 1) << 15, c | (signs >> 2 & 1) << 15};
}

/// c of 2^13 and more, and a product of at most 225 2^-48: below half a quantum that binary64 has at c.
inline Triple vanishing_product(uint64_t random) {
  const auto small = [](uint64_t bits) { return 1 + static_cast<uint32_t>(bits % 15); };
  const auto signs = static_cast<uint32_t>(random >> 48);
  const uint32_t c =
      (28 + static_cast<uint32_t>(random & 0xFF) % 3) << 10 | (static_cast<uint32_t>(random >> 8) & 1023);
  return {small(random >> 24 & 0xFF) | (signs & 1) << 15, small(random >> 32 & 0xFF) | (signs >> 1 & 1) << 15,
          c | (signs >> 2 & 1) << 15};
}

/// Case `number`: of eight two are ties and a little, two half quanta, one has a vanishing product, three are random
/// codes.
inline Triple fma_case(uint64_t number) {
  const uint64_t random = mixed(number);
  switch (number % 8) {
    case 0:
    case 1: return tie_and_a_little(random);
    case 2:
    case 3: return half_quantum_product(random);
    case 4: return vanishing_product(random);
    default:
      return {static_cast<uint32_t>(random & 0xFFFF), static_cast<uint32_t>(random >> 16 & 0xFFFF),
              static_cast<uint32_t>(random >> 32 & 0xFFFF)};
  }
}
inline bool is_constructed(uint64_t number) { return number % 8 < 5; }

/// The code of a b + c, finite operands, rounded to nearest in `Wider` (float or double) first, then in `mode`. To
/// nearest twice is wrong by way of binary32. By way of binary64 it is not: a tie is a product of 12 bits below 2^16,
/// with an addend of 2^-24 or more, so the sum has at most 41 bits; but the directed modes miss what vanishes.
template <class Wider>
uint32_t rounded_twice(const Triple& t, RoundingMode mode) {
  const auto value = [](uint32_t code) {
    return static_cast<Wider>(static_cast<double>(signed_value(code)) * 0x1p-24);
  };
  Wider first;
  if constexpr (sizeof(Wider) == sizeof(float))
    first = __builtin_fmaf(value(t.a), value(t.b), value(t.c));
  else
    first = __builtin_fma(value(t.a), value(t.b), value(t.c));
  const bool negative = first < 0;
  const double magnitude_units = static_cast<double>(negative ? -first : first) * 0x1p64;  // an integer
  return ieee_outcome(place(static_cast<Wide>(magnitude_units), kFloatDenominator), negative, mode).code;
}

}  // namespace oracle
