// Batch, layer and group normalisation: norm_forward.cu, norm_gradient.cu.
#include "cuda/norms/norm.h"

namespace softamp::cuda {

std::span<const KernelEntry> norm_kernels() {
  static constexpr KernelEntry entries[] = {
      {"FusedBatchNormV3", make_norm}, {"FusedBatchNormGradV3", make_norm_gradient},
      {"LayerNorm", make_norm},        {"LayerNormGrad", make_norm_gradient},
      {"GroupNorm", make_norm},        {"GroupNormGrad", make_norm_gradient},
  };
  return entries;
}

}  // namespace softamp::cuda
