// Gradients of functions of one element, and of Pow. g is the gradient that arrives, x the operand, y the result.
//
// If the table has an operation for the gradient, it is used. Otherwise several operations are combined, and each
// rounds; if that would lose digits in 16 bits (an exponential of a rounded square, a rounded exponent), they compute
// in fp32 and the result is cast back, rounded once.
#include "src/graph/gradient_table.h"

namespace softamp::graph_detail {
namespace {

void negate(GradientContext& c) { c.set(0, c.add("Neg", {c.arriving()})); }

/// g where x > 0, -g where x < 0, 0 at zeros and NaNs.
void absolute(GradientContext& c) {
  const Port g = c.arriving(), x = c.input(0), zero = c.scalar(c.dtype(), 0);
  const Port below = c.add("SelectV2", {c.add("Less", {x, zero}), c.add("Neg", {g}), zero});
  c.set(0, c.add("SelectV2", {c.add("Greater", {x, zero}), g, below}));
}

/// g (2 x): 2 x is exact, and overflows only where x x did.
void square(GradientContext& c) {
  const Port twice = c.add("Mul", {c.input(0), c.scalar(c.dtype(), 2)});
  c.set(0, c.add("Mul", {c.arriving(), twice}));
}

// The dedicated operations of (y, g) have no float64; there their formulas are written out.

void square_root(GradientContext& c) {
  const Port g = c.arriving(), y = c.output();
  if (c.dtype() != DType::kFloat64) return c.set(0, c.add("SqrtGrad", {y, g}));
  c.set(0, c.add("RealDiv", {c.add("Mul", {g, c.scalar(c.dtype(), 0.5)}), y}));
}

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

void tanh(GradientContext& c) { c.set(0, c.add("TanhGrad", {c.output(), c.arriving()})); }
void sigmoid(GradientContext& c) { c.set(0, c.add("SigmoidGrad", {c.output(), c.arriving()})); }

void exponential(GradientContext& c) { c.set(0, c.add("Mul", {c.arriving(), c.output()})); }
/// Not y + 1, which loses digits for y near -1.
void exponential_less_1(GradientContext& c) { c.set(0, c.add("Mul", {c.arriving(), c.add("Exp", {c.input(0)})})); }
void logarithm(GradientContext& c) { c.set(0, c.add("RealDiv", {c.arriving(), c.input(0)})); }
void logarithm_of_1_and(GradientContext& c) {
  const Port sum = c.add("AddV2", {c.input(0), c.scalar(c.dtype(), 1)});
  c.set(0, c.add("RealDiv", {c.arriving(), sum}));
}
void sine(GradientContext& c) { c.set(0, c.add("Mul", {c.arriving(), c.add("Cos", {c.input(0)})})); }
void cosine(GradientContext& c) { c.set(0, c.add("Neg", {c.add("Mul", {c.arriving(), c.add("Sin", {c.input(0)})})})); }

/// g (2 / sqrt(pi)) exp(-x x), in fp32.
void error_function(GradientContext& c) {
  constexpr double kTwoByRootPi = 1.1283791670955126;
  const DType t = c.dtype(), wide = wide_of(t);
  const Port x = c.cast(c.input(0), wide), g = c.cast(c.arriving(), wide);
  const Port bell = c.add("Exp", {c.add("Neg", {c.add("Square", {x})})});
  c.set(0, c.cast(c.add("Mul", {g, c.add("Mul", {bell, c.scalar(wide, kTwoByRootPi)})}), t));
}

/// x^y in fp32: for x, g (y x^(y-1)), 0 where y is 0, for any x; for y, g (x^y log x), 0 where x is not positive.
/// Operands that would raise a flag for an unused value are replaced before the functions are applied.
void power(GradientContext& c) {
  const DType t = c.dtype(), wide = wide_of(t);
  const Port g = c.cast(c.arriving(), wide), x = c.cast(c.input(0), wide), y = c.cast(c.input(1), wide);
  const Port zero = c.scalar(wide, 0), one = c.scalar(wide, 1);
  if (c.wants(0)) {
    const Port less = c.add("SelectV2", {c.add("Equal", {y, zero}), zero, c.add("Sub", {y, one})});
    const Port slope = c.add("Mul", {y, c.add("Pow", {x, less})});
    c.set(0, c.cast(c.sum_to(c.add("Mul", {g, slope}), c.shape(0)), t));
  }
  if (c.wants(1)) {
    const Port log = c.add("Log", {c.add("SelectV2", {c.add("Greater", {x, zero}), x, one})});
    const Port slope = c.add("Mul", {c.cast(c.output(), wide), log});
    c.set(1, c.cast(c.sum_to(c.add("Mul", {g, slope}), c.shape(1)), t));
  }
}

/// Uses the result, which is positive exactly where the operand is, so the operand need not be kept.
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
void gelu(GradientContext& c) {
  c.set(0, c.add("GeluGrad", {c.arriving(), c.input(0)}, c.attributes({"approximate"})));
}

// Gradients of gradients: these are linear in `gradients`, and are piecewise constant in `features`.
void relu_gradient(GradientContext& c) {
  if (c.wants(0)) c.set(0, c.add("ReluGrad", {c.arriving(), c.input(1)}));
}
void leaky_relu_gradient(GradientContext& c) {
  if (c.wants(0)) c.set(0, c.add("LeakyReluGrad", {c.arriving(), c.input(1)}, c.attributes({"alpha"})));
}

}  // namespace

GradientRules gradients_of::functions() {
  return {{"Neg", negate},
          {"Abs", absolute},
          {"Square", square},
          {"Sqrt", square_root},
          {"Rsqrt", reciprocal_root},
          {"Reciprocal", reciprocal},
          {"Tanh", tanh},
          {"Sigmoid", sigmoid},
          {"Exp", exponential},
          {"Expm1", exponential_less_1},
          {"Log", logarithm},
          {"Log1p", logarithm_of_1_and},
          {"Sin", sine},
          {"Cos", cosine},
          {"Erf", error_function},
          {"Pow", power},
          {"Relu", relu},
          {"Relu6", relu6},
          {"LeakyRelu", leaky_relu},
          {"Gelu", gelu},
          {"ReluGrad", relu_gradient},
          {"LeakyReluGrad", leaky_relu_gradient}};
}

}  // namespace softamp::graph_detail
