#include "emu/norms/norm_body.h"

namespace softamp::emu {

const NormKernels kAvx2Norms = kNormKernels;

}  // namespace softamp::emu
