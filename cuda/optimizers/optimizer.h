// Kernels for the list of optimizers (cuda/optimizers/optimizer.cu), from several files.
#pragma once

#include "cuda/op_kernel.h"

namespace softamp::cuda {

std::unique_ptr<OpKernel> make_all_finite(const OpContext& context, Device& device);

}  // namespace softamp::cuda
