// The portable kernels.
#include "emu/bulk/half_body.h"

namespace softamp::emu {

const KernelTable kPortableKernels = kHalfBodyKernels;

}  // namespace softamp::emu
