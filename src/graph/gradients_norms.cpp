// Gradients of normalisations: the table's own operations, which read the statistics that the forward one kept.
#include "src/graph/gradient_table.h"

namespace softamp::graph_detail {
namespace {

/// Sets the gradients of x, scale and offset from the three outputs of `gradient`.
void set_outputs(GradientContext& c, Port gradient) {
  for (size_t i = 0; i < 3; ++i) c.set(i, {gradient.node, static_cast<int>(i)});
}

/// In training the given mean and variance do not affect y. If x is normalised by them, then with i = 1 / sqrt(variance
/// + epsilon), A = the sum of g over a channel and B = that of g (x - mean) i:
///   mean: -scale i A      variance: -(scale / 2) i^2 B
/// in fp32, from the reserve_space outputs, which hold the variance unchanged.
void batch_norm(GradientContext& c) {
  const bool training = attribute<bool>(c.node(), "is_training");
  const Port gradient = c.add("FusedBatchNormGradV3", {c.arriving(), c.input(0), c.input(1), c.output(3), c.output(4)},
                              c.attributes({"epsilon", "is_training", "data_format"}));
  set_outputs(c, gradient);
  if (training || (!c.wants(3) && !c.wants(4))) return;
  constexpr DType kWide = DType::kFloat32;
  const DType t = c.dtype(3);
  const Port scale = c.cast(c.input(1), kWide);
  const Port sum = c.add("AddV2", {c.output(4), c.scalar(kWide, attribute<double>(c.node(), "epsilon"))});
  const Port inverse = c.add("Rsqrt", {sum});
  if (c.wants(3)) {
    const Port offset = c.cast({gradient.node, 2}, kWide);
    c.set(3, c.cast(c.add("Neg", {c.add("Mul", {c.add("Mul", {scale, inverse}), offset})}), t));
  }
  if (c.wants(4)) {
    const Port half = c.add("Mul", {scale, c.scalar(kWide, -0.5)});
    const Port factor = c.add("Mul", {half, c.add("Square", {inverse})});
    c.set(4, c.cast(c.add("Mul", {factor, c.cast({gradient.node, 1}, kWide)}), t));
  }
}

void layer_norm(GradientContext& c) {
  set_outputs(c, c.add("LayerNormGrad", {c.arriving(), c.input(0), c.input(1), c.output(1), c.output(2)},
                       c.attributes({"epsilon", "begin_norm_axis"})));
}

void group_norm(GradientContext& c) {
  set_outputs(c, c.add("GroupNormGrad", {c.arriving(), c.input(0), c.input(1), c.output(1), c.output(2)},
                       c.attributes({"epsilon", "groups", "data_format"})));
}

}  // namespace

GradientRules gradients_of::norms() {
  return {{"FusedBatchNormV3", batch_norm}, {"LayerNorm", layer_norm}, {"GroupNorm", group_norm}};
}

}  // namespace softamp::graph_detail
