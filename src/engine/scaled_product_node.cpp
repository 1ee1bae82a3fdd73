#include "softamp/engine/scaled_product_node.h"

#include "softamp/engine/product_rules.h"
#include "softamp/names/block_format_names.h"

namespace softamp::engine {
namespace {

/// The place of a word among those of an enumeration, in its order.
template <class T>
T word_of(const Node& node, const char* name, std::initializer_list<const char*> words) {
  const std::string& text = attribute<std::string>(node, name);
  int at = 0;
  for (const char* word : words) {
    if (text == word) return static_cast<T>(at);
    ++at;
  }
  throw GraphError(node.op + " '" + node.name + "': " + name + " is '" + text + "'");
}

ScaledMatMulNode::Side side_of(const OpContext& c, int input, bool transposed, const char* format) {
  ScaledMatMulNode::Side s;
  const TensorType& type = c.inputs[static_cast<size_t>(input)];
  const Shape& shape = type.shape;
  s.format = format_of(type.dtype);
  s.transposed = transposed;
  const auto last = static_cast<size_t>(shape[shape.rank() - 1]), before = static_cast<size_t>(shape[shape.rank() - 2]);
  s.rows = transposed ? last : before;
  s.matrices = 1;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) s.matrices *= static_cast<size_t>(shape[axis]);
  s.blocks = parse_block_format(attribute<std::string>(c.node, format));
  s.layout = kernel::ScaledLayout(s.blocks, s.matrices * s.rows, transposed ? before : last);
  return s;
}

}  // namespace

size_t ScaledMatMulNode::Side::scale_bytes() const {
  return layout.blocks() * static_cast<size_t>(blocks.scale_bytes());
}

size_t ScaledMatMulNode::Side::source(size_t place) const {
  if (!transposed) return place;
  const size_t row = place / layout.k, at = place % layout.k;
  return (row / rows * layout.k + at) * rows + row % rows;
}

ScaledMatMulNode::ScaledMatMulNode(const OpContext& c)
    : a(side_of(c, 0, attribute<bool>(c.node, "transpose_a"), "a_format")),
      b(side_of(c, 1, !attribute<bool>(c.node, "transpose_b"), "b_format")),
      rows(a.rows),
      columns(b.rows),
      k(a.layout.k),
      batches(matrix_pairs(c.inputs[0].shape, c.inputs[1].shape, c.node.outputs[0].shape)),
      start(StartNumbers::of(c, rows, columns)) {
  rules.a = a.blocks;
  rules.b = b.blocks;
  rules.accumulation = word_of<kernel::Accumulation>(
      c.node, "accumulation", {"exact", "fp32_chain", "half_partials", "block", "hopper", "blackwell"});
  rules.promotion = word_of<block::Promotion>(c.node, "promotion", {"scales_first", "partner_last", "unfused"});
  rules.promote_every = static_cast<int>(attribute<int64_t>(c.node, "promote_every"));
  rules.half_block = static_cast<uint32_t>(block_length(c.settings.matmuls));
  rules.stochastic_off = c.settings.matmuls.stochastic_off;
}

OpKernel::SiteRoundings ScaledMatMulNode::roundings(uint32_t site) const {
  if (site == 1)
    return a.blocks.rounding().stochastic() ? OpKernel::SiteRoundings{1, a.elements()} : OpKernel::SiteRoundings{};
  if (site == 2)
    return b.blocks.rounding().stochastic() ? OpKernel::SiteRoundings{1, b.elements()} : OpKernel::SiteRoundings{};
  if (rules.accumulation != kernel::Accumulation::kHalfPartials || k == 0) return {};
  const uint64_t length = rules.half_block == 0 ? k : rules.half_block;
  return {(k + length - 1) / length, uint64_t{batches.size()} * rows * columns};
}

}  // namespace softamp::engine
