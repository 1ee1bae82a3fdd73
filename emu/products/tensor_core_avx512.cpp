// Tensor cores' groups: AVX-512.
#include "emu/products/tensor_core_body.h"

namespace softamp::emu {

const TensorCoreKernels kAvx512TensorCores = {tensor_core_add};

}  // namespace softamp::emu
