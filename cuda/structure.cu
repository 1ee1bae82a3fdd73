#include "cuda/op_kernel.h"

namespace softamp::cuda {

std::span<const KernelEntry> structure_kernels() { return {}; }

}  // namespace softamp::cuda
