#include "emu/norms/norm_body.h"

namespace softamp::emu {

const NormKernels kAvx512Norms = kNormKernels;

}  // namespace softamp::emu
