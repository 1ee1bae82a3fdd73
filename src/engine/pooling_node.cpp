#include "softamp/engine/pooling_node.h"

#include "softamp/graph/operation.h"

namespace softamp::engine {
namespace {

const Shape& pooled_input(const OpContext& c) {
  return c.node.op == "AvgPoolGrad" ? c.node.outputs[0].shape : c.inputs[0].shape;
}
const Shape& pooled_output(const OpContext& c) {
  if (c.node.op == "AvgPoolGrad") return c.inputs[0].shape;
  return c.node.op == "MaxPoolGrad" ? c.inputs[2].shape : c.node.outputs[0].shape;
}

}  // namespace

PoolingPlan pooling_plan(DType type, const Semantics& s) {
  const FloatFormat f = format_of(type);
  const auto flush_below = static_cast<uint32_t>(f.min_normal_code());
  PoolingPlan p{};
  p.type = type == DType::kFloat16    ? PoolingPlan::Type::kFp16
           : type == DType::kBFloat16 ? PoolingPlan::Type::kBf16
                                      : PoolingPlan::Type::kFp32;
  if (type == DType::kFloat32 && s.wide_operands_flushed) p.operand_flush_below = flush_below;
  p.operand_flush_kept = s.operand_flush_sign == FlushSign::kSame ? ~0u : 0u;
  const RoundingPolicy& policy = s.rounding(f);
  if (policy.subnormals != Subnormals::kKeep) p.result_flush_below = flush_below;
  p.result_flush_kept = policy.subnormals == Subnormals::kFlush ? ~0u : 0u;
  return p;
}

kernel::PoolingGeometry pooling_geometry(const Node& node, const Shape& input, const Shape& output) {
  const auto& ksize = attribute<std::vector<int64_t>>(node, "ksize");
  const auto& strides = attribute<std::vector<int64_t>>(node, "strides");
  const bool same = attribute<std::string>(node, "padding") == "SAME";
  const auto axis = [&](int i) {
    const auto at = static_cast<size_t>(i);
    kernel::WindowAxis a{input[i], output[i], ksize[at], strides[at], 1, 0};
    if (same) a.pad = kernel::same_padding(a.input, a.output, a.kernel, a.stride);
    return a;
  };
  return {input[0], axis(1), axis(2), input[3]};
}

PoolingNode::PoolingNode(const OpContext& c)
    : type(c.node.outputs[0].dtype),
      format(format_of(type)),
      maximum(c.node.op == "MaxPool" || c.node.op == "MaxPoolGrad"),
      gradient(c.node.op == "AvgPoolGrad" || c.node.op == "MaxPoolGrad"),
      geometry(pooling_geometry(c.node, pooled_input(c), pooled_output(c))),
      plan(pooling_plan(type, c.settings.environment.semantics)),
      outputs(static_cast<size_t>(c.node.outputs[0].shape.elements())) {}

}  // namespace softamp::engine
