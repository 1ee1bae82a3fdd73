// Arrays as a chip converts them: by its policy, and with random numbers taken out of whole words of 32 bits as its
// instruction takes them (N311, N329). Fp32 to the formats of numerics/chips.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "softamp/tensor/bulk.h"

namespace softamp::bulk {

/// A conversion of a chip.
struct ChipConversion {
  Chip chip = Chip::kNvidiaSm100;
  FloatFormat to = FloatFormat::fp16();
  ChipOverflow overflow = ChipOverflow::kUsual;  ///< [=kUsual]
  int bits = 0;  ///< (1 .. 32; 0: 8) [=0] random bits of the p3109 presets; the other chips have their own number
};

/// codes[i] = in[i] as the chip converts it. Of `options`, random.slice is not read: it is the chip's.
///
/// backend ("emu", "cuda" or "gpu") [="emu"]; the bits do not depend on it. "cuda" has nvidia_sm100 and nvidia_sm103.
/// Code compiled for the chip of the preset converts by its instruction cvt.rs, other code by the same policy: the
/// preset decides, not the machine.
///
/// Throws std::invalid_argument as bulk::round does; and where the chip has no such conversion, or not from fp32, where
/// the backend has none of this chip, for an instruction set with "cuda", and for codes that are wider than the
/// format's there. std::runtime_error: "cuda" without a device, or one that fails; some codes may be written then.
void round_as(const ChipConversion& conversion, std::span<const float> in, std::span<uint8_t> codes,
              const BulkOptions& options = {}, const std::string& backend = "emu");
void round_as(const ChipConversion& conversion, std::span<const float> in, std::span<uint16_t> codes,
              const BulkOptions& options = {}, const std::string& backend = "emu");
void round_as(const ChipConversion& conversion, std::span<const float> in, std::span<uint32_t> codes,
              const BulkOptions& options = {}, const std::string& backend = "emu");

}  // namespace softamp::bulk
