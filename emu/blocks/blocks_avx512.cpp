#include "emu/blocks/block_body.h"

namespace softamp::emu {

const BlockKernels kAvx512Blocks = kBlockKernels;

}  // namespace softamp::emu
