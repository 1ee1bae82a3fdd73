// ScaledMatMul's kernel.
#pragma once

#include "emu/op_kernel.h"

namespace softamp::emu {

std::unique_ptr<OpKernel> make_scaled_matmul(const OpContext& context);

}  // namespace softamp::emu
