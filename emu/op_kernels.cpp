// The operation types that this engine runs, all families together.
#include "emu/op_kernel.h"

namespace softamp::emu {

KernelFactory find_kernel(std::string_view op, DType type) {
  static const engine::KernelRegistry<KernelFactory> kAll(
      make_elementwise, make_function,
      {elementwise_kernels, function_kernels, cast_kernels, random_kernels, product_kernels, convolution_kernels,
       pooling_kernels, reduction_kernels, softmax_kernels, norm_kernels, structure_kernels, optimizer_kernels,
       quantization_kernels},
      double_kernels);
  return kAll.find(op, type);
}

}  // namespace softamp::emu
