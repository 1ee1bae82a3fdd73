// E8M0, the scale of OCP's block formats: byte b is 2^(b - 127), FF is NaN; no sign, no zero (N445).
//
// Values of fp32 are given as their codes: nothing here depends on the host's floating-point environment.
#pragma once

#include "softamp/numerics/format.h"

namespace softamp::e8m0 {

SOFTAMP_CONSTANT uint32_t kNan = 0xFF, kLargest = 0xFE, kOne = 127;

/// How an fp32 value becomes a scale; the sign is ignored. For any: NaN gives FF; zero gives 00, 2^-127.
enum class Rounding : uint8_t {
  kDown,     ///< the power of two below.
  kUp,       ///< the power of two above.
  kNearest,  ///< the nearer power by ratio of the fraction, ties (1.5 2^k) up; all above 2^-127 to 2^-126.
};

/// What infinity becomes, and a value that is rounded to more than 2^127, in any rounding.
enum class Beyond : uint8_t {
  kToNan,      ///< FF.
  kToLargest,  ///< FE: CUDA's cvt.satfinite.ue8m0x2, TransformerEngine, ONNX's saturate.
};

/// The fp32 code of a scale: byte 00 is 2^-127, a subnormal number of fp32, which no unit may flush.
// implements: N445
SOFTAMP_INLINE uint32_t fp32_code(uint32_t byte) {
  if (byte == kNan) return 0x7FC00000u;
  return byte == 0 ? 0x00400000u : byte << 23;
}

/// The scale 1 / 2^(b - 127); NaN's is NaN. FE's is 00, and FF would be 00's: there it is FE, the largest.
// implements: N445
SOFTAMP_INLINE uint32_t reciprocal(uint32_t byte) { return byte == kNan ? kNan : kLargest - byte; }

// implements: N445
SOFTAMP_INLINE uint32_t from_fp32(uint32_t code, Rounding rounding, Beyond beyond = Beyond::kToNan) {
  const uint32_t magnitude = code & 0x7FFFFFFFu, exponent = magnitude >> 23, fraction = magnitude & 0x7FFFFFu;
  if (magnitude > 0x7F800000u) return kNan;
  bool up = false;
  switch (rounding) {
    case Rounding::kDown: break;
    case Rounding::kNearest: up = exponent == 0 ? fraction > 0x400000u : fraction >= 0x400000u; break;
    case Rounding::kUp: up = exponent == 0 ? fraction > 0x400000u : fraction != 0; break;  // 2^-127 itself is 00
  }
  const uint32_t byte = exponent + up;
  return byte > kLargest ? (beyond == Beyond::kToLargest ? kLargest : kNan) : byte;
}

}  // namespace softamp::e8m0
