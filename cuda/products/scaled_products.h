// ScaledMatMul's kernel.
#pragma once

#include "cuda/op_kernel.h"

namespace softamp::cuda {

std::unique_ptr<OpKernel> make_scaled_matmul(const OpContext& context, Device& device);

}  // namespace softamp::cuda
