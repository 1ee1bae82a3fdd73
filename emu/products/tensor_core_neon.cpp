// Tensor cores' groups: NEON, by the scalar form: the vectors' form sets the mode of MXCSR.
#include "emu/products/tensor_core_kernels.h"

namespace softamp::emu {

const TensorCoreKernels kNeonTensorCores = {nullptr};

}  // namespace softamp::emu
