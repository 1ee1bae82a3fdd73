// Gradients of reductions, softmax and cross-entropies. Reshape and Tile, which copy, restore the reduced axes; g is
// the gradient that arrives.
#include <bit>

#include "src/graph/gradient_table.h"

namespace softamp::graph_detail {
namespace {

/// The input's shape with extents of 1 for the reduced axes; `count`: elements per output.
Shape kept(const GradientContext& c, int64_t& count) {
  const Shape shape = c.shape();
  const auto& axes = attribute<std::vector<int64_t>>(c.node(), "axes");
  std::vector<int64_t> extents(shape.begin(), shape.end());
  count = 1;
  const auto reduce = [&](int64_t axis) { count *= std::exchange(extents[static_cast<size_t>(axis)], 1); };
  if (axes.empty())
    for (int a = 0; a < shape.rank(); ++a) reduce(a);
  for (const int64_t axis : axes) reduce(axis < 0 ? axis + shape.rank() : axis);
  return Shape(extents);
}

void sum(GradientContext& c) {
  int64_t count = 1;
  const Shape keep = kept(c, count);
  c.set(0, c.tile_to(c.reshape(c.arriving(), keep), c.shape()));
}

/// Whether dtype t holds this positive integer exactly.
bool holds(DType t, int64_t count) {
  const uint64_t n = static_cast<uint64_t>(count);
  const int digits = t == DType::kFloat64 ? 53 : t == DType::kFloat32 ? 24 : t == DType::kFloat16 ? 11 : 8;
  return static_cast<int>(std::bit_width(n >> std::countr_zero(n))) <= digits && (t != DType::kFloat16 || n <= 65504);
}

/// Divides first, then copies. If a 16-bit format cannot hold the number of elements, divides in fp32.
void mean(GradientContext& c) {
  int64_t count = 1;
  const Shape keep = kept(c, count);
  Port g = c.reshape(c.arriving(), keep);
  if (count > 1) {
    const DType t = holds(c.dtype(), count) ? c.dtype() : wide_of(c.dtype());
    g = c.cast(c.add("RealDiv", {c.cast(g, t), c.scalar(t, static_cast<double>(count))}), c.dtype());
  }
  c.set(0, c.tile_to(g, c.shape()));
}

/// Equal extrema share g: each gets g divided by their number. The quotient of 16-bit formats is formed in fp32, which
/// holds the number.
void extremum(GradientContext& c) {
  int64_t count = 1;
  const Shape keep = kept(c, count);
  const DType t = c.dtype(), wide = wide_of(t);
  const Port place = c.add("Equal", {c.input(0), c.reshape(c.output(), keep)});
  Port g = c.reshape(c.arriving(), keep);
  if (count > 1) {
    const Port number = c.sum_to(c.cast(place, wide), keep);
    g = c.cast(c.add("RealDiv", {c.cast(g, wide), number}), t);
  }
  c.set(0, c.add("SelectV2", {place, g, c.scalar(t, 0)}));
}

/// t g: half the sum of squares.
void half_square(GradientContext& c) { c.set(0, c.add("Mul", {c.input(0), c.arriving()})); }

void softmax(GradientContext& c) { c.set(0, c.add("SoftmaxGrad", {c.output(), c.arriving()})); }
void log_softmax(GradientContext& c) { c.set(0, c.add("LogSoftmaxGrad", {c.output(), c.arriving()})); }

/// For the logits: the loss' gradient of a row times the operation's output `backprop`. For dense labels: times -log
/// softmax.
void cross_entropy(GradientContext& c) {
  const Port rows = c.add("ExpandDims", {c.arriving()}, {{"axis", -1}});
  if (c.wants(0)) c.set(0, c.add("Mul", {rows, c.output(1)}));
  if (c.wants(1)) c.set(1, c.add("Neg", {c.add("Mul", {rows, c.add("LogSoftmax", {c.input(0)})})}));
}

}  // namespace

GradientRules gradients_of::reductions() {
  return {{"Sum", sum},
          {"Mean", mean},
          {"Max", extremum},
          {"Min", extremum},
          {"L2Loss", half_square},
          {"Softmax", softmax},
          {"LogSoftmax", log_softmax},
          {"SoftmaxCrossEntropyWithLogits", cross_entropy},
          {"SparseSoftmaxCrossEntropyWithLogits", cross_entropy}};
}

}  // namespace softamp::graph_detail
