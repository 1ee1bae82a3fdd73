// Kernels that the optimizers' files hand to their list (cuda/optimizer.cu).
#pragma once

#include "cuda/op_kernel.h"

namespace softamp::cuda {

std::unique_ptr<OpKernel> make_all_finite(const OpContext& context, Device& device);

}  // namespace softamp::cuda
