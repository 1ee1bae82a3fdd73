// Kernels of the operations that read indices from a tensor: GatherV2, OneHot, UnsortedSegmentSum.
#pragma once

#include "emu/op_kernel.h"

namespace softamp::emu {

std::unique_ptr<OpKernel> make_gather(const OpContext& context);
std::unique_ptr<OpKernel> make_one_hot(const OpContext& context);
std::unique_ptr<OpKernel> make_segment_sum(const OpContext& context);

}  // namespace softamp::emu
