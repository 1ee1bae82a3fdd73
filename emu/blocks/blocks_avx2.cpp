#include "emu/blocks/block_body.h"

namespace softamp::emu {

const BlockKernels kAvx2Blocks = kBlockKernels;

}  // namespace softamp::emu
