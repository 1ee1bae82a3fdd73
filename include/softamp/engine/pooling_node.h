// Attributes of a pooling's node: its windows, and what follows from its dtype and the preset.
#pragma once

#include "softamp/engine/op_kernel.h"
#include "softamp/engine/pooling_plan.h"
#include "softamp/kernel/pooling.h"

namespace softamp::engine {

PoolingPlan pooling_plan(DType type, const Semantics& s);

/// `input`: what the pooling reads (or its gradient has the shape of), `output`: what it makes.
kernel::PoolingGeometry pooling_geometry(const Node& node, const Shape& input, const Shape& output);

/// A node of AvgPool, AvgPoolGrad, MaxPool or MaxPoolGrad.
struct PoolingNode {
  explicit PoolingNode(const OpContext& c);

  DType type;
  FloatFormat format;
  bool maximum, gradient;
  kernel::PoolingGeometry geometry;
  PoolingPlan plan;
  size_t outputs;  ///< elements

  /// See OpKernel::roundings: sums are rounded, maxima are not.
  OpKernel::SiteRoundings roundings(uint32_t site) const {
    if (site != 0 || type == DType::kFloat32 || (maximum && !gradient)) return {};
    return {1, outputs};
  }
};

}  // namespace softamp::engine
