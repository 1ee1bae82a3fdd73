// The elementary functions, Pow and Gelu. Meaning: kernel/functions.h.
//
// Gradients: g is the gradient that arrives, x the operand, y the result. If the table has an operation for the
// gradient, it is used. Otherwise several operations are combined, and each rounds; if that would lose digits in 16
// bits (an exponential of a rounded square, a rounded exponent), they compute in fp32 and the result is cast back,
// rounded once. Those of float64 compute in float64.
#include "softamp/kernel/functions.h"

#include "src/graph/ops/rows.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;
using enum kernel::Function;

AttributeSpec approximate() { return {"approximate", kBool, false, "the tanh formula, else the exact one", {}, {}}; }

// implements: N224
void tanh(GradientContext& c) { c.set(0, c.add("TanhGrad", {c.output(), c.arriving()})); }

// implements: N224
void sigmoid(GradientContext& c) { c.set(0, c.add("SigmoidGrad", {c.output(), c.arriving()})); }

void exponential(GradientContext& c) { c.set(0, c.add("Mul", {c.arriving(), c.output()})); }

/// Not y + 1, which loses digits for y near -1.
void exponential_less_1(GradientContext& c) { c.set(0, c.add("Mul", {c.arriving(), c.add("Exp", {c.input(0)})})); }

// implements: N223
void logarithm(GradientContext& c) { c.set(0, c.add("RealDiv", {c.arriving(), c.input(0)})); }

void logarithm_of_1_and(GradientContext& c) {
  const Port sum = c.add("AddV2", {c.input(0), c.scalar(c.dtype(), 1)});
  c.set(0, c.add("RealDiv", {c.arriving(), sum}));
}

void sine(GradientContext& c) { c.set(0, c.add("Mul", {c.arriving(), c.add("Cos", {c.input(0)})})); }

void cosine(GradientContext& c) { c.set(0, c.add("Neg", {c.add("Mul", {c.arriving(), c.add("Sin", {c.input(0)})})})); }

// implements: N225
void softplus(GradientContext& c) { c.set(0, c.add("Mul", {c.arriving(), c.add("Sigmoid", {c.input(0)})})); }

/// g times e^x up to 0 and 1 from there: not y + 1, as for Expm1.
// implements: N225
void exponential_linear(GradientContext& c) {
  const Port below = c.add("Minimum", {c.input(0), c.scalar(c.dtype(), 0)});
  c.set(0, c.add("Mul", {c.arriving(), c.add("Exp", {below})}));
}

/// g s a e^x below 0, g s from there on, in fp32 or float64.
// implements: N225
void scaled_exponential_linear(GradientContext& c) {
  constexpr double kScale = 1.0507009873554805, kScaleAlpha = 1.7580993408473768;
  const DType t = c.dtype(), wide = wide_of(t);
  const Port x = c.cast(c.input(0), wide), zero = c.scalar(wide, 0);
  const Port below = c.add("Mul", {c.add("Exp", {c.add("Minimum", {x, zero})}), c.scalar(wide, kScaleAlpha)});
  const Port slope = c.add("SelectV2", {c.add("Less", {x, zero}), below, c.scalar(wide, kScale)});
  c.set(0, c.cast(c.add("Mul", {c.cast(c.arriving(), wide), slope}), t));
}

/// g (sign 2 / sqrt(pi)) exp(-x x), in fp32 or float64.
// implements: N225
template <int sign>
void error_function(GradientContext& c) {
  constexpr double kTwoByRootPi = sign * 1.1283791670955126;
  const DType t = c.dtype(), wide = wide_of(t);
  const Port x = c.cast(c.input(0), wide), g = c.cast(c.arriving(), wide);
  const Port bell = c.add("Exp", {c.add("Neg", {c.add("Square", {x})})});
  c.set(0, c.cast(c.add("Mul", {g, c.add("Mul", {bell, c.scalar(wide, kTwoByRootPi)})}), t));
}

/// x^y in fp32: for x, g (y x^(y-1)), 0 where y is 0, for any x; for y, g (x^y log x), 0 where x is not positive.
/// Operands that would raise a flag for an unused value are replaced before the functions are applied.
// implements: N225
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

// implements: N224
void gelu(GradientContext& c) {
  c.set(0, c.add("GeluGrad", {c.arriving(), c.input(0)}, c.attributes({"approximate"})));
}

}  // namespace

std::vector<Operation> functions() {
  return {
      unary("Exp", kExp, "e^x.", floats()).with(exponential),
      unary("Expm1", kExpm1, "e^x - 1.", floats()).with(exponential_less_1),
      unary("Log", kLog, "ln x.", floats()).with(logarithm),
      unary("Log1p", kLog1p, "ln(1 + x).", floats()).with(logarithm_of_1_and),
      unary("Tanh", kTanh, "The hyperbolic tangent.", floats()).with(tanh),
      unary("Sigmoid", kSigmoid, "1 / (1 + e^-x).", floats()).with(sigmoid),
      unary("Erf", kErf, "The error function.", floats()).with(error_function<1>),
      unary("Erfc", kErfc, "1 - erf(x).", floats()).with(error_function<-1>),
      unary("Sin", kSin, "The sine.", up_to_fp32()).with(sine),
      unary("Cos", kCos, "The cosine.", up_to_fp32()).with(cosine),
      unary("Softplus", kSoftplus, "ln(1 + e^x).", floats(), "features", "activations").with(softplus),
      unary("Elu", kElu, "x, or e^x - 1 below 0.", floats(), "features", "activations").with(exponential_linear),
      unary("Selu", kSelu, "Elu with its constants of self-normalizing networks: s x, or s a (e^x - 1) below 0.",
            floats(), "features", "activations")
          .with(scaled_exponential_linear),
      unary("Gelu", {}, "x Phi(x).", floats(), "features", "activations", {approximate()}).with(gelu),
      gradient("GeluGrad", {}, "gradients times the derivative of Gelu at features, in fp32 inside.", "gradients",
               "features", floats(), "backprops", {approximate()}),
      binary("Pow", {}, "x to the power y: in binary64 inside, rounded to fp32, then to the dtype.", up_to_fp32())
          .with(power),
  };
}

}  // namespace softamp::operations_of
