// Division by numbers that are fixed before a launch: a multiplication and a shift instead of some twenty instructions.
#pragma once

#include <cstdint>

#include "softamp/numerics/platform.h"

namespace softamp::cuda {

/// Numbers of 32 bits divided by `divisor` (1 .. 2^32 - 1): Granlund and Montgomery's multiplier of 33 bits, without
/// its first bit. Greater numbers use an ordinary division.
struct Division {
  uint64_t divisor = 1;
  uint32_t multiplier = 1, shift = 0;

  Division() = default;
  explicit Division(uint64_t d) : divisor(d) {
    if (d >> 32) return;
    while (uint64_t{1} << shift < d) ++shift;
    multiplier = static_cast<uint32_t>((((uint64_t{1} << shift) - d) << 32) / d + 1);
  }

  SOFTAMP_INLINE uint32_t quotient(uint32_t n) const {
    const uint32_t high = static_cast<uint32_t>(static_cast<uint64_t>(n) * multiplier >> 32);
    return static_cast<uint32_t>((static_cast<uint64_t>(high) + n) >> shift);
  }
  SOFTAMP_INLINE uint64_t quotient(uint64_t n) const { return n / divisor; }
  /// Takes n to n / divisor and returns the rest.
  template <class Index>
  SOFTAMP_INLINE Index split(Index& n) const {
    const Index q = quotient(n), rest = n - q * static_cast<Index>(divisor);
    n = q;
    return rest;
  }
};

}  // namespace softamp::cuda
