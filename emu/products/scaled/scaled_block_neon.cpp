// Blocks of ScaledMatMul: NEON.
#include "emu/products/scaled/scaled_block_body.h"

namespace softamp::emu {

const ScaledBlockKernels kNeonScaledBlocks = {scaled_tile_narrow, scaled_tile_wide, promote_partials};

}  // namespace softamp::emu
