// Tensor cores' groups: AVX2.
#include "emu/products/tensor_core_body.h"

namespace softamp::emu {

const TensorCoreKernels kAvx2TensorCores = {tensor_core_add};

}  // namespace softamp::emu
