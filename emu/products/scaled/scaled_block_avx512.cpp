// Blocks of ScaledMatMul: AVX-512.
#include "emu/products/scaled/scaled_block_body.h"

namespace softamp::emu {

const ScaledBlockKernels kAvx512ScaledBlocks = {scaled_tile_narrow, scaled_tile_wide, promote_partials};

}  // namespace softamp::emu
