#include "emu/blocks/block_body.h"

namespace softamp::emu {

const BlockKernels kNeonBlocks = kBlockKernels;

}  // namespace softamp::emu
