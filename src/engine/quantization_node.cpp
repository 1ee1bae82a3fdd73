#include "softamp/engine/quantization_node.h"

#include "softamp/graph/operation.h"
#include "softamp/names/block_format_names.h"

namespace softamp::engine {

AxisExtents::AxisExtents(const Shape& shape, int64_t axis) {
  const int at = static_cast<int>(axis < 0 ? axis + shape.rank() : axis);
  for (int i = 0; i < shape.rank(); ++i) (i < at ? outer : i > at ? inner : length) *= static_cast<uint64_t>(shape[i]);
}

FakeQuantizeNode::FakeQuantizeNode(const OpContext& c)
    : format(parse_block_format(attribute<std::string>(c.node, "format"))),
      elements(static_cast<uint64_t>(c.inputs[0].shape.elements())),
      by_factor(c.inputs.size() > 1) {
  const AxisExtents e(c.inputs[0].shape, attribute<int64_t>(c.node, "axis"));
  grid = kernel::BlockGrid::of(format, e.outer, e.length, e.inner);
}

OpKernel::SiteRoundings FakeQuantizeNode::roundings(uint32_t site) const {
  return draws() && site == 0 ? OpKernel::SiteRoundings{1, elements} : OpKernel::SiteRoundings{};
}

block::Nvfp4Tensor FakeQuantizeNode::tensor(uint32_t amax) const {
  return needs_amax() ? block::nvfp4_tensor(amax, format.nvfp4) : block::Nvfp4Tensor{};
}

HadamardNode::HadamardNode(const OpContext& c)
    : size(static_cast<uint64_t>(attribute<int64_t>(c.node, "size"))),
      signs(static_cast<uint64_t>(attribute<int64_t>(c.node, "signs"))) {
  const AxisExtents e(c.inputs[0].shape, attribute<int64_t>(c.node, "axis"));
  outer = e.outer, length = e.length, inner = e.inner;
}

Fp8ScaleUpdateNode::Fp8ScaleUpdateNode(const OpContext& c) : length(static_cast<uint64_t>(c.inputs[0].shape[0])) {
  using block::detail32::mul;
  const block::BlockFormat format = parse_block_format(attribute<std::string>(c.node, "format"));
  const FloatFormat& element = format.element.format;
  uint64_t most = block::detail32::widened(element, element.max_finite_code());
  for (int64_t k = attribute<int64_t>(c.node, "margin"); k != 0; k += k < 0 ? 1 : -1)
    most = mul(static_cast<uint32_t>(most), k < 0 ? 0x40000000u : 0x3F000000u);
  rule.most = static_cast<uint32_t>(most);
  rule.most_recent = attribute<std::string>(c.node, "amax_compute_algo") == "most_recent";
  rule.zero_keeps_history = attribute<bool>(c.node, "zero_keeps_history");
}

}  // namespace softamp::engine
