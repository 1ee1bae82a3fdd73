// Depthwise convolutions and their gradients: sums of few products for many channels, one output per thread.
#pragma once

#include "cuda/op_kernel.h"
#include "softamp/engine/convolution_node.h"

namespace softamp::cuda {

std::unique_ptr<OpKernel> make_depthwise(const OpContext& context, Device& device, engine::ConvolutionKind kind);

}  // namespace softamp::cuda
