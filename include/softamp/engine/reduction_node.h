// Attributes of the nodes that reduce many elements to one: Sum, Mean, Max, Min, L2Loss, BiasAddGrad, ArgMax, ArgMin.
#pragma once

#include "softamp/engine/op_kernel.h"
#include "softamp/kernel/reductions.h"

namespace softamp::engine {

struct ReductionNode {
  explicit ReductionNode(const OpContext& context);

  kernel::Reduction what;  ///< of ArgMax and ArgMin: kMax, kMin
  DType type;              ///< of the elements
  bool half_accumulator;   ///< partial sums are rounded to fp16; only for halves
  kernel::ReduceShape shape;

  /// Site of the rounding of the output. A half accumulator rounds at site 0.
  uint32_t rounding_site() const { return sums() ? 1 : 0; }
  OpKernel::SiteRoundings roundings(uint32_t site) const;

 private:
  bool sums() const { return what == kernel::Reduction::kSum || what == kernel::Reduction::kMean; }

  bool draws_;
};

}  // namespace softamp::engine
