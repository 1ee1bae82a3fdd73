// Tensor cores' groups: any machine, by the scalar form.
#include "emu/products/tensor_core_kernels.h"

namespace softamp::emu {

const TensorCoreKernels kPortableTensorCores = {nullptr};

}  // namespace softamp::emu
