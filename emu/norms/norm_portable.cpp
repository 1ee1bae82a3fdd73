#include "emu/norms/norm_body.h"

namespace softamp::emu {

const NormKernels kPortableNorms = kNormKernels;

}  // namespace softamp::emu
