// Attributes of the nodes of softmax, its gradients and the cross-entropies.
#pragma once

#include <array>
#include <string>

#include "softamp/engine/kernel_registry.h"
#include "softamp/engine/op_kernel.h"

namespace softamp::engine {

enum class SoftmaxKind : uint8_t { kSoftmax, kLogSoftmax, kGradient, kLogGradient, kDense, kSparse };

struct SoftmaxNode {
  explicit SoftmaxNode(const OpContext& context);

  SoftmaxKind kind;
  DType type;
  uint64_t classes, rows;  ///< rows: 0 where there are no classes

  bool logarithmic() const { return kind == SoftmaxKind::kLogSoftmax || kind == SoftmaxKind::kLogGradient; }
  bool gradient() const { return kind == SoftmaxKind::kGradient || kind == SoftmaxKind::kLogGradient; }
  /// Output 0 is the loss, output 1 what is back-propagated.
  bool entropy() const { return kind == SoftmaxKind::kDense || kind == SoftmaxKind::kSparse; }
  bool valid(int32_t label) const { return label >= 0 && static_cast<uint64_t>(label) < classes; }
  /// Throws std::out_of_range.
  [[noreturn]] void fail_label(uint64_t row, int32_t label) const;
  OpKernel::SiteRoundings roundings(uint32_t site) const;

 private:
  std::string name_;
  bool draws_;
};

/// The operations that an engine's one kernel of this family serves.
template <class Factory>
constexpr auto softmax_entries(Factory make) {
  return std::to_array<KernelEntry<Factory>>({
      {"Softmax", make},
      {"LogSoftmax", make},
      {"SoftmaxGrad", make},
      {"LogSoftmaxGrad", make},
      {"SoftmaxCrossEntropyWithLogits", make},
      {"SparseSoftmaxCrossEntropyWithLogits", make},
  });
}

}  // namespace softamp::engine
