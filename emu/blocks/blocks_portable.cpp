#include "emu/blocks/block_body.h"

namespace softamp::emu {

const BlockKernels kPortableBlocks = kBlockKernels;

}  // namespace softamp::emu
