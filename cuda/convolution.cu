#include "cuda/op_kernel.h"

namespace softamp::cuda {

std::span<const KernelEntry> convolution_kernels() { return {}; }

}  // namespace softamp::cuda
