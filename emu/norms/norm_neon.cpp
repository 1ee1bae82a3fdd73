#include "emu/norms/norm_body.h"

namespace softamp::emu {

const NormKernels kNeonNorms = kNormKernels;

}  // namespace softamp::emu
