#include "softamp/engine/reduction_node.h"

#include "softamp/engine/reduction_shape.h"
#include "softamp/graph/operation.h"

namespace softamp::engine {
namespace {

using kernel::Reduction;

Reduction what_of(const std::string& op) {
  if (op == "Mean") return Reduction::kMean;
  if (op == "Max" || op == "ArgMax") return Reduction::kMax;
  if (op == "Min" || op == "ArgMin") return Reduction::kMin;
  if (op == "L2Loss") return Reduction::kL2Loss;
  if (op == "BiasAddGrad") return Reduction::kBatchSum;
  return Reduction::kSum;
}

kernel::ReduceShape shape_of(const OpContext& c) {
  bool reduced[Shape::kMaxRank] = {};
  const Shape& shape = c.inputs[0].shape;
  const auto mark = [&](int64_t axis) { reduced[axis < 0 ? axis + shape.rank() : axis] = true; };
  if (c.node.op == "ArgMax" || c.node.op == "ArgMin") {
    mark(attribute<int64_t>(c.node, "axis"));
  } else if (c.node.op == "BiasAddGrad") {
    for (int a = 0; a + 1 < shape.rank(); ++a) mark(a);
  } else {
    const bool all = c.node.op == "L2Loss" || attribute<std::vector<int64_t>>(c.node, "axes").empty();
    for (int a = 0; all && a < shape.rank(); ++a) mark(a);
    if (!all)
      for (const int64_t axis : attribute<std::vector<int64_t>>(c.node, "axes")) mark(axis);
  }
  return reduce_shape(shape, reduced);
}

}  // namespace

ReductionNode::ReductionNode(const OpContext& c)
    : what(what_of(c.node.op)),
      type(c.inputs[0].dtype),
      half_accumulator(c.node.attributes.contains("accumulator") &&
                       attribute<std::string>(c.node, "accumulator") == "half"),
      shape(shape_of(c)),
      draws_(is_floating(type) && c.node.outputs[0].dtype == type &&
             c.settings.environment.semantics.draws(format_of(type))) {}

OpKernel::SiteRoundings ReductionNode::roundings(uint32_t site) const {
  using Roundings = OpKernel::SiteRoundings;
  if (!draws_ || shape.outputs == 0) return {};
  if (sums() && site == 0) return half_accumulator ? Roundings{shape.count, shape.outputs} : Roundings{};
  return site == rounding_site() ? Roundings{1, shape.outputs} : Roundings{};
}

}  // namespace softamp::engine
