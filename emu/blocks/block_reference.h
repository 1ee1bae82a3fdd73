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

/// quantize (in, codes, scales), dequantize (codes, scales, values) or both (in, values); the others are null. `values`
/// may be `in`.
struct BlockArrays {
  const float* in = nullptr;
  uint8_t* codes = nullptr;
  uint8_t* scales = nullptr;
  float* values = nullptr;
};

/// One block of it. Flags to `status` where it is not null.
void reference_block(const BlockCall& call, const BlockArrays& arrays, BlockPlace place, FpStatus* status);

}  // namespace softamp::emu
