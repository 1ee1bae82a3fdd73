// FloatingPointBehaviour and the control register that holds it.
#pragma once

#include "softamp/numerics/status.h"

namespace softamp {

/// FloatingPointBehaviour{} has all five flags on, as Poplar's structure of the same name; Python's softamp.behaviour()
/// has all off.
///
/// What a tile does on floating-point exceptions, and how it rounds:
///
/// inv   (true, false) [=true]  stop on an invalid operation
/// div0  (true, false) [=true]  stop on a division by zero
/// oflo  (true, false) [=true]  stop on overflow
/// esr   (true, false) [=true]  enable stochastic rounding of fp16 results
/// nanoo (true, false) [=true]  fp16 overflow gives NaN and raises inv; otherwise it saturates
///
/// The hardware's default, and IpuConfig's, is `all_off()`.
// implements: N48, N58
struct FloatingPointBehaviour {
  bool inv = true;
  bool div0 = true;
  bool oflo = true;
  bool esr = true;
  bool nanoo = true;

  // implements: N58
  static SOFTAMP_INLINE FloatingPointBehaviour all_off() { return {false, false, false, false, false}; }
  constexpr bool operator==(const FloatingPointBehaviour&) const = default;

  /// The exceptions that stop the machine, as Flag bits.
  SOFTAMP_INLINE uint8_t enabled_flags() const {
    return static_cast<uint8_t>((inv ? kInvalid : 0) | (div0 ? kDivideByZero : 0) | (oflo ? kOverflow : 0));
  }
};

/// Layout of $FP_CTL and $FP_ICTL: INV b0, DIV0 b1, OFLO b2, RND b16..18, ESR b19, NANOO b20.
// implements: N56
struct ControlRegister {
  static constexpr uint32_t kInv = 1u << 0, kDiv0 = 1u << 1, kOflo = 1u << 2;
  static constexpr uint32_t kRnd = 7u << 16;
  static constexpr uint32_t kEsr = 1u << 19, kNanoo = 1u << 20;
  static constexpr uint32_t kKnown = kInv | kDiv0 | kOflo | kRnd | kEsr | kNanoo;

  static SOFTAMP_INLINE uint32_t encode(const FloatingPointBehaviour& b) {
    return (b.inv ? kInv : 0) | (b.div0 ? kDiv0 : 0) | (b.oflo ? kOflo : 0) | (b.esr ? kEsr : 0) |
           (b.nanoo ? kNanoo : 0);
  }
  static SOFTAMP_INLINE FloatingPointBehaviour decode(uint32_t word) {
    return {(word & kInv) != 0, (word & kDiv0) != 0, (word & kOflo) != 0, (word & kEsr) != 0, (word & kNanoo) != 0};
  }
  /// Words that the unit accepts: no unknown bit, and RND 0, whose other encodings are not public (`rnd_modes`).
  static SOFTAMP_INLINE bool acceptable(uint32_t word) { return (word & ~(kKnown & ~kRnd)) == 0; }
};

}  // namespace softamp
