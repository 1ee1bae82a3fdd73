// The kernels of AVX2.
#include "emu/bulk/half_body.h"

namespace softamp::emu {

const KernelTable kAvx2Kernels = kHalfBodyKernels;

}  // namespace softamp::emu
