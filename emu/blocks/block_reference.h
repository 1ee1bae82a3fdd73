// One block of an array by the functions of numerics/block, element by element: what the kernels must equal, and what
// serves where they do not (special numbers, flags).
#pragma once

#include "emu/blocks/block_call.h"

namespace softamp::emu {

/// The place of a block: band `band`, block `block` of its axis, column `column`.
struct BlockPlace {
  uint64_t band, block, column;

  static BlockPlace of(const BlockCall& c, uint64_t i) {
    return {i / c.inner / c.blocks, i / c.inner % c.blocks, i % c.inner};
  }
};

/// Quantises one block: the codes of its elements and its scale. `amax`: its greatest magnitude where that is known
/// already. Flags to `status` where it is not null.
void quantize_block(const BlockCall& call, const float* in, BlockPlace place, uint8_t* codes, uint8_t* scales,
                    FpStatus* status, const uint32_t* amax = nullptr);

/// The values of one block.
void dequantize_block(const BlockCall& call, const uint8_t* codes, const uint8_t* scales, BlockPlace place, float* out);

/// What a block's elements become at once: the values of the same codes. `out` may be `in`.
void fake_quantize_block(const BlockCall& call, const float* in, BlockPlace place, float* out, FpStatus* status,
                         const uint32_t* amax = nullptr);

}  // namespace softamp::emu
