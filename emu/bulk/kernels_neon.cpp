// The kernels of NEON.
#include "emu/bulk/half_body.h"

namespace softamp::emu {

const KernelTable kNeonKernels = kHalfBodyKernels;

}  // namespace softamp::emu
