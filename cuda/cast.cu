#include "cuda/op_kernel.h"

namespace softamp::cuda {

std::span<const KernelEntry> cast_kernels() { return {}; }

}  // namespace softamp::cuda
