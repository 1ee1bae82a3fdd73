// Element-wise operations: arithmetic, selections, comparisons, logic, constants. Meaning: kernel/elementwise.h.
//
// Gradients: g is the gradient that arrives, x the operand, y the result. Where an operand was broadcast, its gradient
// is summed over the axes along which it was. If the table has an operation for the gradient, it is used.
#include "softamp/kernel/elementwise.h"

#include "src/graph/ops/rows.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;
using enum kernel::Elementwise;

void broadcast_three(InferenceContext& c) {
  c.output(0, broadcast_of(c, c.shape(0), broadcast_of(c, c.shape(1), c.shape(2))));
}
void equal_all(InferenceContext& c) {
  for (size_t i = 1; i < c.inputs(); ++i)
    if (!(c.shape(i) == c.shape(0)))
      c.fail("inputs[" + std::to_string(i) + "] has shape " + c.shape(i).text() + "; expected that of inputs[0], " +
             c.shape(0).text());
  c.output(0, c.shape(0));
}
void infer_bias(InferenceContext& c) {
  const Shape &value = c.shape(0), &bias = c.shape(1);
  if (value.rank() < 2) c.fail("value is " + value.text() + "; expected a rank of 2 or more, channels last");
  if (bias.rank() != 1 || bias[0] != value[value.rank() - 1])
    c.fail("bias is " + bias.text() + "; expected [" + std::to_string(value[value.rank() - 1]) +
           "], the channels of value " + value.text());
  c.output(0, value);
}
void infer_fill(InferenceContext& c) {
  const double value = c.get_float("value");
  const DType t = c.get_type("dtype");
  const bool whole = value == static_cast<double>(static_cast<int64_t>(value > -1e15 && value < 1e15 ? value : 0));
  if (t == DType::kInt32 && !(whole && value >= -2147483648.0 && value <= 2147483647.0))
    c.fail("attribute 'value' is no int32; expected a whole number of -2147483648 .. 2147483647");
  if (t == DType::kBool && value != 0 && value != 1) c.fail("attribute 'value' is no bool; expected 0 or 1");
  c.output(0, c.get_shape("shape"));
}

AttributeSpec alpha() { return {"alpha", kFloat, 0.2, "slope below zero, rounded to fp32 but for float64", {}, {}}; }
Operation comparison(const char* name, ElementBody body, const char* summary) {
  return Operation{name,          summary, {{"x", "T"}, {"y", "T"}}, {{"z", "bool"}}, {type_of(numbers())}, 1,
                   broadcast_two, false}
      .computes(body);
}
Operation test(const char* name, ElementBody body, const char* summary) {
  return Operation{name, summary, {{"x", "T"}}, {{"y", "bool"}}, {type_of(floats())}, 1, same_shape, false}.computes(
      body);
}

void add(GradientContext& c) {
  const Port g = c.arriving();
  for (const size_t i : {size_t{0}, size_t{1}})
    if (c.wants(i)) c.set(i, c.sum_to(g, c.shape(i)));
}

// implements: N222
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
// implements: N223
void squared_difference(GradientContext& c) {
  const Port g = c.arriving();
  const Port twice = c.add("Mul", {c.scalar(c.type(g).dtype, 2), g});
  const Port slope = c.add("Mul", {twice, c.add("Sub", {c.input(0), c.input(1)})});
  if (c.wants(0)) c.set(0, c.sum_to(slope, c.shape(0)));
  if (c.wants(1)) c.set(1, c.add("Neg", {c.sum_to(slope, c.shape(1))}));
}

/// x: g / y; y: -g (z / y), z the quotient. z / y is formed first: g may be small enough for g / y to underflow.
// implements: N223
void divide(GradientContext& c) {
  const Port g = c.arriving(), y = c.input(1);
  if (c.wants(0)) c.set(0, c.sum_to(c.add("RealDiv", {g, y}), c.shape(0)));
  if (!c.wants(1)) return;
  const Port product = c.add("Mul", {g, c.add("RealDiv", {c.output(), y})});
  c.set(1, c.add("Neg", {c.sum_to(product, c.shape(1))}));
}

/// Gives g to one input where `condition` is true, and to the other elsewhere.
// implements: N226
void choose(GradientContext& c, Port condition, size_t where, size_t elsewhere) {
  const Port g = c.arriving(), zero = c.scalar(c.type(g).dtype, 0);
  if (c.wants(where)) c.set(where, c.sum_to(c.add("SelectV2", {condition, g, zero}), c.shape(where)));
  if (c.wants(elsewhere)) c.set(elsewhere, c.sum_to(c.add("SelectV2", {condition, zero, g}), c.shape(elsewhere)));
}

/// If the operands are equal, x gets all of g.
// implements: N226
void maximum(GradientContext& c) { choose(c, c.add("GreaterEqual", {c.input(0), c.input(1)}), 0, 1); }

// implements: N226
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

void negate(GradientContext& c) { c.set(0, c.add("Neg", {c.arriving()})); }

/// g where x > 0, -g where x < 0, 0 at zeros and NaNs.
void absolute(GradientContext& c) {
  const Port g = c.arriving(), x = c.input(0), zero = c.scalar(c.dtype(), 0);
  const Port below = c.add("SelectV2", {c.add("Less", {x, zero}), c.add("Neg", {g}), zero});
  c.set(0, c.add("SelectV2", {c.add("Greater", {x, zero}), g, below}));
}

/// g (2 x): 2 x is exact, and overflows only where x x did.
// implements: N223
void square(GradientContext& c) {
  const Port twice = c.add("Mul", {c.input(0), c.scalar(c.dtype(), 2)});
  c.set(0, c.add("Mul", {c.arriving(), twice}));
}

// In float64 the formulas of the dedicated operations of (y, g) are written out, with the same bits.

// implements: N224
void square_root(GradientContext& c) {
  const Port g = c.arriving(), y = c.output();
  if (c.dtype() != DType::kFloat64) return c.set(0, c.add("SqrtGrad", {y, g}));
  c.set(0, c.add("RealDiv", {c.add("Mul", {g, c.scalar(c.dtype(), 0.5)}), y}));
}

// implements: N224
void reciprocal_root(GradientContext& c) {
  const Port g = c.arriving(), y = c.output();
  if (c.dtype() != DType::kFloat64) return c.set(0, c.add("RsqrtGrad", {y, g}));
  const Port cube = c.add("Mul", {c.add("Square", {y}), y});
  c.set(0, c.add("Mul", {c.add("Mul", {g, c.scalar(c.dtype(), -0.5)}), cube}));
}

void reciprocal(GradientContext& c) {
  const Port g = c.arriving(), y = c.output();
  if (c.dtype() != DType::kFloat64) return c.set(0, c.add("ReciprocalGrad", {y, g}));
  c.set(0, c.add("Neg", {c.add("Mul", {g, c.add("Square", {y})})}));
}

/// Uses the result, which is positive exactly where the operand is, so the operand need not be kept.
// implements: N224
void relu(GradientContext& c) { c.set(0, c.add("ReluGrad", {c.arriving(), c.output()})); }

/// g where 0 < y < 6.
void relu6(GradientContext& c) {
  const Port y = c.output(), zero = c.scalar(c.dtype(), 0), six = c.scalar(c.dtype(), 6);
  const Port inside = c.add("LogicalAnd", {c.add("Greater", {y, zero}), c.add("Less", {y, six})});
  c.set(0, c.add("SelectV2", {inside, c.arriving(), zero}));
}

void leaky_relu(GradientContext& c) {
  c.set(0, c.add("LeakyReluGrad", {c.arriving(), c.input(0)}, c.attributes({"alpha"})));
}

// Gradients of gradients: these are linear in `gradients`, and are piecewise constant in `features`.
void relu_gradient(GradientContext& c) {
  if (c.wants(0)) c.set(0, c.add("ReluGrad", {c.arriving(), c.input(1)}));
}

void leaky_relu_gradient(GradientContext& c) {
  if (c.wants(0)) c.set(0, c.add("LeakyReluGrad", {c.arriving(), c.input(1)}, c.attributes({"alpha"})));
}

}  // namespace

std::vector<Operation> elementwise() {
  return {
      binary("AddV2", kAdd, "x + y, rounded once.", numbers()).with(add),
      binary("Sub", kSub, "x - y, rounded once.", numbers()).with(subtract),
      binary("Mul", kMul, "x y, rounded once.", numbers()).with(multiply),
      binary("RealDiv", kDiv, "x / y; in the IPU preset rounded to fp32 first.", floats()).with(divide),
      binary("Maximum", kMaximum, "The greater; a NaN gives NaN, -0 is below +0.", numbers()).with(maximum),
      binary("Minimum", kMinimum, "The lesser; a NaN gives NaN, -0 is below +0.", numbers()).with(minimum),
      binary("SquaredDifference", kSquaredDifference, "(x - y) (x - y), in fp32 inside.", floats())
          .with(squared_difference),
      row("BiasAdd", "value + bias over the last axis, rounded once.", {{"value", "T"}, {"bias", "T"}},
          {{"output", "T"}},
          {type_of(numbers()),
           {"data_format", kString, std::string("NHWC"), "channels are the last axis", {"NHWC"}, {}}},
          infer_bias)
          .computes(kAdd)
          .with(bias_add),

      unary("Neg", kNeg, "-x; raises nothing.", numbers()).with(negate),
      unary("Abs", kAbs, "|x|; raises nothing.", numbers()).with(absolute),
      unary("Square", kSquare, "x x, rounded once.", numbers()).with(square),
      unary("Sqrt", kSqrt, "The square root; in the IPU preset rounded to fp32 first.", floats()).with(square_root),
      unary("Rsqrt", kRsqrt, "1 / sqrt(x), rounded once (float64: root and quotient each).", floats())
          .with(reciprocal_root),
      unary("Reciprocal", kReciprocal, "1 / x.", floats()).with(reciprocal),
      unary("Inv", kReciprocal, "1 / x: the old name of Reciprocal.", floats()).with(reciprocal),
      unary("Relu", kRelu, "max(x, +0).", numbers(), "features", "activations").with(relu),
      unary("Relu6", kRelu6, "min(max(x, +0), 6).", numbers(), "features", "activations").with(relu6),
      unary("LeakyRelu", kLeakyRelu, "0 < x ? x : alpha x, in fp32 inside.", floats(), "features", "activations",
            {alpha()})
          .with(leaky_relu),

      gradient("ReluGrad", kReluGrad, "features > 0 ? gradients : +0.", "gradients", "features", numbers(), "backprops")
          .with(relu_gradient),
      gradient("LeakyReluGrad", kLeakyReluGrad, "0 < features ? gradients : alpha gradients, in fp32 inside.",
               "gradients", "features", floats(), "backprops", {alpha()})
          .with(leaky_relu_gradient),
      gradient("TanhGrad", kTanhGrad, "dy (1 - y y), in fp32 inside.", "y", "dy", floats(), "z"),
      gradient("SigmoidGrad", kSigmoidGrad, "(dy y) (1 - y), in fp32 inside.", "y", "dy", floats(), "z"),
      gradient("SqrtGrad", kSqrtGrad, "(0.5 dy) / y, in fp32 inside.", "y", "dy", floats(), "z"),
      gradient("RsqrtGrad", kRsqrtGrad, "(-0.5 dy) ((y y) y), in fp32 inside.", "y", "dy", floats(), "z"),
      gradient("ReciprocalGrad", kReciprocalGrad, "-dy (y y), in fp32 inside.", "y", "dy", floats(), "z"),

      comparison("Equal", kEqual, "x == y; a NaN is unequal.").constant(),
      comparison("NotEqual", kNotEqual, "x != y.").constant(),
      comparison("Less", kLess, "x < y; false for a NaN, which raises invalid.").constant(),
      comparison("LessEqual", kLessEqual, "x <= y; false for a NaN, which raises invalid.").constant(),
      comparison("Greater", kGreater, "x > y; false for a NaN, which raises invalid.").constant(),
      comparison("GreaterEqual", kGreaterEqual, "x >= y; false for a NaN, which raises invalid.").constant(),
      test("IsNan", kIsNan, "x is a NaN; raises nothing.").constant(),
      test("IsFinite", kIsFinite, "x is neither infinite nor NaN; raises nothing.").constant(),
      row("LogicalAnd", "x and y.", {{"x", "bool"}, {"y", "bool"}}, {{"z", "bool"}}, {}, broadcast_two).constant(),
      row("LogicalOr", "x or y.", {{"x", "bool"}, {"y", "bool"}}, {{"z", "bool"}}, {}, broadcast_two).constant(),
      row("LogicalNot", "not x.", {{"x", "bool"}}, {{"y", "bool"}}, {}, same_shape).constant(),
      row("SelectV2", "t where condition, else e: a copy.", {{"condition", "bool"}, {"t", "T"}, {"e", "T"}},
          {{"output", "T"}}, {type_of(numbers_and_bool())}, broadcast_three)
          .with(select),

      row("AddN", "The sum of the inputs, ascending; for dtypes of at most 32 bits in fp32 inside, rounded once.",
          {{"inputs", "T", true}}, {{"sum", "T"}}, {type_of(numbers())}, equal_all)
          .with(add_n),
      row("Fill", "Every element is the value, rounded to nearest even.", {}, {{"output", "dtype"}},
          {{"dtype", kType, DType::kFloat32, "dtype of the result", {}, numbers_and_bool()},
           {"shape", kShape, {}, "shape of the result", {}, {}},
           {"value", kFloat, 0.0, "the value", {}, {}}},
          infer_fill)
          .constant(),
      unary("ZerosLike", {}, "Zeros of the shape of x.", numbers_and_bool()).constant(),
      unary("OnesLike", {}, "Ones of the shape of x.", numbers_and_bool()).constant(),
  };
}

}  // namespace softamp::operations_of
