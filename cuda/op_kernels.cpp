// The operation types that this engine runs, all families together.
#include <algorithm>
#include <vector>

#include "cuda/op_kernel.h"

namespace softamp::cuda {

KernelFactory find_kernel(std::string_view op) {
  static const std::vector<KernelEntry> all = [] {
    std::vector<KernelEntry> entries;
    for (const auto family :
         {elementwise_kernels, cast_kernels, function_kernels, random_kernels, product_kernels, convolution_kernels,
          pooling_kernels, reduction_kernels, softmax_kernels, norm_kernels, structure_kernels, optimizer_kernels})
      for (const KernelEntry& e : family()) entries.push_back(e);
    const auto by_name = [](const KernelEntry& a, const KernelEntry& b) {
      return std::string_view(a.op) < std::string_view(b.op);
    };
    std::sort(entries.begin(), entries.end(), by_name);
    return entries;
  }();
  const auto at = std::lower_bound(all.begin(), all.end(), op,
                                   [](const KernelEntry& e, std::string_view name) { return e.op < name; });
  return at != all.end() && at->op == op ? at->make : nullptr;
}

}  // namespace softamp::cuda
