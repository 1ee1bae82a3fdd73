#include "cuda/op_kernel.h"

namespace softamp::cuda {

std::span<const KernelEntry> optimizer_kernels() { return {}; }

}  // namespace softamp::cuda
