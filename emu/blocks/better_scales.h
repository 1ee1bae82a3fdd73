// The better of two scales for each of many blocks (N469), where they lie side by side along the last axis.
#pragma once

#include "emu/blocks/block_kernels.h"

namespace softamp::emu {

/// Elements of the blocks that are chosen for so; others go one by one.
constexpr size_t kChoosingBlock = 16;

/// What BlockKernels::scales writes, for `whole` blocks, a multiple of kBlockGroup.
struct ScaledBlocks {
  uint32_t* kept;  ///< bytes
  float *factor, *decode;
};

/// As BlockKernels::scales, for the n elements at x, at most kBlockStrip, with their blocks' greatest magnitudes.
// implements: N469
bool better_scales(const BlockKernels& kernels, const BlockPlan& plan, const float* x, size_t n, const uint32_t* amax,
                   size_t whole, const ScaledBlocks& out);

}  // namespace softamp::emu
