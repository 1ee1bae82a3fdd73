// Gradients of sums, products, quotients, selections and conversions. Where an operand was broadcast, its gradient is
// summed over the axes along which it was; g is the gradient that arrives.
#include "src/graph/gradient_table.h"

namespace softamp::graph_detail {
namespace {

void add(GradientContext& c) {
  const Port g = c.arriving();
  for (const size_t i : {size_t{0}, size_t{1}})
    if (c.wants(i)) c.set(i, c.sum_to(g, c.shape(i)));
}

void subtract(GradientContext& c) {
  const Port g = c.arriving();
  if (c.wants(0)) c.set(0, c.sum_to(g, c.shape(0)));
  if (c.wants(1)) c.set(1, c.add("Neg", {c.sum_to(g, c.shape(1))}));
}

void multiply(GradientContext& c) {
  const Port g = c.arriving();
  if (c.wants(0)) c.set(0, c.sum_to(c.add("Mul", {g, c.input(1)}), c.shape(0)));
  if (c.wants(1)) c.set(1, c.sum_to(c.add("Mul", {c.input(0), g}), c.shape(1)));
}

/// x: 2 g (x - y); y: the same, negated.
void squared_difference(GradientContext& c) {
  const Port g = c.arriving();
  const Port twice = c.add("Mul", {c.scalar(c.type(g).dtype, 2), g});
  const Port slope = c.add("Mul", {twice, c.add("Sub", {c.input(0), c.input(1)})});
  if (c.wants(0)) c.set(0, c.sum_to(slope, c.shape(0)));
  if (c.wants(1)) c.set(1, c.add("Neg", {c.sum_to(slope, c.shape(1))}));
}

/// x: g / y; y: -g (z / y), z the quotient. z / y is formed first: g may be small enough for g / y to underflow.
void divide(GradientContext& c) {
  const Port g = c.arriving(), y = c.input(1);
  if (c.wants(0)) c.set(0, c.sum_to(c.add("RealDiv", {g, y}), c.shape(0)));
  if (!c.wants(1)) return;
  const Port product = c.add("Mul", {g, c.add("RealDiv", {c.output(), y})});
  c.set(1, c.add("Neg", {c.sum_to(product, c.shape(1))}));
}

/// Gives g to one input where `condition` is true, and to the other elsewhere.
void choose(GradientContext& c, Port condition, size_t where, size_t elsewhere) {
  const Port g = c.arriving(), zero = c.scalar(c.type(g).dtype, 0);
  if (c.wants(where)) c.set(where, c.sum_to(c.add("SelectV2", {condition, g, zero}), c.shape(where)));
  if (c.wants(elsewhere)) c.set(elsewhere, c.sum_to(c.add("SelectV2", {condition, zero, g}), c.shape(elsewhere)));
}

/// If the operands are equal, x gets all of g.
void maximum(GradientContext& c) { choose(c, c.add("GreaterEqual", {c.input(0), c.input(1)}), 0, 1); }
void minimum(GradientContext& c) { choose(c, c.add("LessEqual", {c.input(0), c.input(1)}), 0, 1); }
void select(GradientContext& c) { choose(c, c.input(0), 1, 2); }

void add_n(GradientContext& c) {
  const Port g = c.arriving();
  for (size_t i = 0; i < c.inputs(); ++i) c.set(i, g);
}

/// The sum over all axes except the last, also for dtypes that BiasAddGrad does not have.
void bias_add(GradientContext& c) {
  const Port g = c.arriving();
  c.set(0, g);
  if (!c.wants(1)) return;
  c.set(1, c.dtype() == DType::kFloat64 ? c.sum_to(g, c.shape(1)) : c.add("BiasAddGrad", {g}));
}

/// The gradient of BiasAddGrad, which is linear.
void bias_add_gradient(GradientContext& c) {
  const Port g = c.arriving();
  const Shape shape = c.shape();
  std::vector<int64_t> extents(static_cast<size_t>(shape.rank()), 1);
  extents.back() = shape[shape.rank() - 1];
  c.set(0, c.tile_to(c.reshape(g, Shape(extents)), shape));
}

/// Back to the dtype that the values came from, rounded once more. Integers and truth values have no gradient.
void cast(GradientContext& c) { c.set(0, c.cast(c.arriving(), c.dtype())); }

}  // namespace

GradientRules gradients_of::arithmetic() {
  return {{"AddV2", add},        {"Sub", subtract},
          {"Mul", multiply},     {"RealDiv", divide},
          {"Maximum", maximum},  {"Minimum", minimum},
          {"SelectV2", select},  {"AddN", add_n},
          {"BiasAdd", bias_add}, {"BiasAddGrad", bias_add_gradient},
          {"Cast", cast},        {"SquaredDifference", squared_difference}};
}

}  // namespace softamp::graph_detail
