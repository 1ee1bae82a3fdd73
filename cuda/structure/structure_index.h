// Kernels of the operations that read indices from a tensor: GatherV2, OneHot, UnsortedSegmentSum.
#pragma once

#include "cuda/op_kernel.h"

namespace softamp::cuda {

std::unique_ptr<OpKernel> make_gather(const OpContext& context, Device& device);
std::unique_ptr<OpKernel> make_one_hot(const OpContext& context, Device& device);
std::unique_ptr<OpKernel> make_segment_sum(const OpContext& context, Device& device);

}  // namespace softamp::cuda
