// Status is a value (N386): flags of one operation, and the sticky status of many.
#pragma once

#include "softamp/numerics/platform.h"

namespace softamp {

/// Exception flags of an operation, OR-ed. The bit order is that of Berkeley SoftFloat and TestFloat.
// implements: N30
enum Flag : uint8_t {
  kInexact = 1,
  kUnderflow = 2,
  kOverflow = 4,
  kDivideByZero = 8,
  kInvalid = 16,
};
inline constexpr int kFlagCount = 5;
inline constexpr uint8_t kAllFlags = 31;

/// A code in some format together with the flags that making it raised.
struct Rounded {
  uint64_t code;
  uint8_t flags;
};

/// Bits of the IPU worker's status register $FP_STS (N56, reverse-engineered).
// implements: N56
struct StatusRegister {
  static constexpr uint32_t kInv = 1, kDiv0 = 2, kOflo = 4;
  static SOFTAMP_INLINE uint32_t encode(uint8_t flags) {
    return (flags & kInvalid ? kInv : 0u) | (flags & kDivideByZero ? kDiv0 : 0u) | (flags & kOverflow ? kOflo : 0u);
  }
  static SOFTAMP_INLINE uint8_t decode(uint32_t word) {
    return static_cast<uint8_t>((word & kInv ? kInvalid : 0) | (word & kDiv0 ? kDivideByZero : 0) |
                                (word & kOflo ? kOverflow : 0));
  }
};

/// Sticky flags of many operations, with the lowest element index at which each was raised.
// implements: N37, N386
struct FpStatus {
  static constexpr uint64_t kNever = ~uint64_t{0};

  uint8_t flags = 0;
  /// Lowest index per flag bit: first_index[0] for kInexact ... [4] for kInvalid; kNever where not raised.
  uint64_t first_index[kFlagCount] = {kNever, kNever, kNever, kNever, kNever};

  /// ORs in the flags raised by element `index`.
  SOFTAMP_INLINE void raise(uint8_t raised, uint64_t index) {
    flags = static_cast<uint8_t>(flags | raised);
    for (int b = 0; b < kFlagCount; ++b)
      if ((raised >> b & 1) && index < first_index[b]) first_index[b] = index;
  }
  /// ORs in another status; the order of merges does not matter.
  SOFTAMP_INLINE void merge(const FpStatus& other) {
    flags = static_cast<uint8_t>(flags | other.flags);
    for (int b = 0; b < kFlagCount; ++b)
      if (other.first_index[b] < first_index[b]) first_index[b] = other.first_index[b];
  }
  /// The lowest index at which any flag of `mask` was raised; kNever if none was.
  // implements: N37
  SOFTAMP_INLINE uint64_t lowest_index(uint8_t mask) const {
    uint64_t lowest = kNever;
    for (int b = 0; b < kFlagCount; ++b)
      if ((mask >> b & 1) && first_index[b] < lowest) lowest = first_index[b];
    return lowest;
  }
  constexpr bool operator==(const FpStatus&) const = default;
};

}  // namespace softamp
