#include "softamp/engine/double_nodes.h"

#include "softamp/graph/operation.h"

namespace softamp::engine {
namespace {

using kernel::ConvolutionGeometry;

/// The name of the attribute that says whether operand `second` is transposed: MatMul's, or BatchMatMulV2's (which
/// Einsum uses).
const char* transposes(const Node& node, bool second) {
  if (node.attributes.contains("transpose_a")) return second ? "transpose_b" : "transpose_a";
  return second ? "adj_y" : "adj_x";
}

ConvolutionKind kind_of(const std::string& op) {
  if (op.ends_with("BackpropInput")) return ConvolutionKind::kInputGradient;
  return op.ends_with("BackpropFilter") ? ConvolutionKind::kFilterGradient : ConvolutionKind::kForward;
}

uint64_t steps_of(const ConvolutionNode& n) {
  const ConvolutionGeometry& g = n.geometry;
  if (n.kind == ConvolutionKind::kFilterGradient) return static_cast<uint64_t>(g.batch * g.h.output * g.w.output);
  const int64_t channels = n.kind == ConvolutionKind::kForward ? g.in_channels : g.out_channels;
  return static_cast<uint64_t>(g.h.kernel * g.w.kernel * channels);
}

}  // namespace

DoubleMatMulNode::DoubleMatMulNode(const OpContext& c)
    : MatMulNode(c, transposes(c.node, false), transposes(c.node, true)),
      independent_(attribute<bool>(c.node, "batch_sum")),
      by_definition_(c.settings.reference) {}

std::vector<DoubleMatMul> DoubleMatMulNode::work() const {
  std::vector<Work> all;
  const kernel::DoubleMatrices one{rows, columns, k, transpose_a, transpose_b, independent_};
  for (const Pair& batch : batches)
    all.push_back({rows * Work::runs(columns), Work::kRun * k, one, batch.a * rows * k, batch.b * columns * k,
                   all.size() * rows * columns, by_definition_});
  return all;
}

std::vector<uint64_t> DoubleMatMulNode::operands_at(const void* const* in, const kernel::Environment& e,
                                                    uint64_t index) const {
  const Pair batch = batches[index / (rows * columns)];
  const uint64_t row = index % (rows * columns) / columns, column = index % columns;
  kernel::DoubleChain chain;
  for (uint64_t i = 0; i < k; ++i) {
    const uint64_t a =
        static_cast<const uint64_t*>(in[0])[batch.a * rows * k + (transpose_a ? i * rows + row : row * k + i)];
    const uint64_t b = static_cast<const uint64_t*>(
        in[1])[batch.b * columns * k + (transpose_b ? column * k + i : i * columns + column)];
    chain.step(a, b, e.semantics);
    if (chain.finish(false, e.semantics).flags != 0) return {a, b};
  }
  return {};
}

DoubleConvolutionNode::DoubleConvolutionNode(const OpContext& c) {
  const ConvolutionNode n(c, kind_of(c.node.op), c.node.op.starts_with("Depthwise"));
  work_ = {0, DoubleMatMul::kRun * steps_of(n), n.kind, n.geometry, c.settings.reference};
  const auto channels = static_cast<uint64_t>(work_.channels());
  work_.units = channels == 0 ? 0 : n.outputs / channels * DoubleMatMul::runs(channels);
}

std::vector<DoublePooling> DoublePoolingNode::work() const {
  const auto taps = static_cast<uint64_t>(geometry.h.kernel * geometry.w.kernel);
  return {{outputs, maximum && gradient ? taps * taps : taps, geometry, maximum, gradient}};
}

std::vector<DoubleNorm> DoubleNormNode::work() const {
  const uint64_t elements = shape.rows * shape.channels;
  if (elements == 0) return {};
  const uint64_t units = shape.groups() + (gradient ? shape.channels : 0);
  return {{units, 10 * elements / units + 1, kind, gradient, training, shape, options, wide_factor}};
}

std::vector<DoubleUpdate> DoubleUpdateNode::work() const {
  return {{size, 40, rule, slots, static_cast<uint32_t>(rate), static_cast<uint32_t>(UpdateNode::gradient),
           static_cast<uint32_t>(apply), decays, rated}};
}

}  // namespace softamp::engine
