// Element-wise operations: arithmetic, selections, functions, comparisons, conversions. Meaning: kernel/elementwise.h,
// kernel/function.h, kernel/cast.h.
#include "softamp/graph/operation.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;

std::vector<DType> floats() { return {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}; }
/// Dtypes that are computed in fp32 inside: float64 has no elementary functions.
std::vector<DType> up_to_fp32() { return {DType::kFloat16, DType::kBFloat16, DType::kFloat32}; }
std::vector<DType> numbers() {
  return {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kInt32};
}

void same_shape(InferenceContext& c) { c.output(0, c.shape(0)); }

Shape broadcast_of(InferenceContext& c, const Shape& a, const Shape& b) {
  try {
    return broadcast(a, b);
  } catch (const std::invalid_argument& e) {
    c.fail(e.what());
  }
}
void broadcast_two(InferenceContext& c) { c.output(0, broadcast_of(c, c.shape(0), c.shape(1))); }
void broadcast_three(InferenceContext& c) {
  c.output(0, broadcast_of(c, c.shape(0), broadcast_of(c, c.shape(1), c.shape(2))));
}
void equal_two(InferenceContext& c) {
  if (!(c.shape(0) == c.shape(1)))
    c.fail("shapes differ: " + c.shape(0).text() + " and " + c.shape(1).text() + "; expected equal ones");
  c.output(0, c.shape(0));
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

AttributeSpec type_of(const std::vector<DType>& types) {
  return {"T", kType, {}, "dtype of operands and result", {}, types};
}
AttributeSpec alpha() { return {"alpha", kFloat, 0.2, "slope below zero, rounded to fp32", {}, {}}; }
AttributeSpec approximate() { return {"approximate", kBool, false, "the tanh formula, else the exact one", {}, {}}; }

Operation unary(const char* name, const char* summary, const std::vector<DType>& types, const char* input = "x",
                const char* output = "y", std::vector<AttributeSpec> more = {}) {
  more.insert(more.begin(), type_of(types));
  return {name, summary, {{input, "T"}}, {{output, "T"}}, std::move(more), 1, same_shape, false};
}
Operation binary(const char* name, const char* summary, const std::vector<DType>& types) {
  return {name, summary, {{"x", "T"}, {"y", "T"}}, {{"z", "T"}}, {type_of(types)}, 1, broadcast_two, false};
}
Operation gradient(const char* name, const char* summary, const char* first, const char* second,
                   const std::vector<DType>& types, const char* output, std::vector<AttributeSpec> more = {}) {
  more.insert(more.begin(), type_of(types));
  return {name, summary, {{first, "T"}, {second, "T"}}, {{output, "T"}}, std::move(more), 1, equal_two, false};
}
Operation comparison(const char* name, const char* summary) {
  return {name, summary, {{"x", "T"}, {"y", "T"}}, {{"z", "bool"}}, {type_of(numbers())}, 1, broadcast_two, false};
}
Operation test(const char* name, const char* summary) {
  return {name, summary, {{"x", "T"}}, {{"y", "bool"}}, {type_of(floats())}, 1, same_shape, false};
}

}  // namespace

std::vector<Operation> elementwise() {
  std::vector<DType> any = numbers();
  any.push_back(DType::kBool);
  return {
      binary("AddV2", "x + y, rounded once.", numbers()),
      binary("Sub", "x - y, rounded once.", numbers()),
      binary("Mul", "x y, rounded once.", numbers()),
      binary("RealDiv", "x / y; in the IPU preset rounded to fp32 first.", floats()),
      binary("Maximum", "The greater; a NaN gives NaN, -0 is below +0.", numbers()),
      binary("Minimum", "The lesser; a NaN gives NaN, -0 is below +0.", numbers()),
      binary("SquaredDifference", "(x - y) (x - y), in fp32 inside.", up_to_fp32()),
      binary("Pow", "x to the power y: in binary64 inside, rounded to fp32, then to the dtype.", up_to_fp32()),
      {"BiasAdd",
       "value + bias over the last axis, rounded once.",
       {{"value", "T"}, {"bias", "T"}},
       {{"output", "T"}},
       {type_of(numbers()), {"data_format", kString, std::string("NHWC"), "channels are the last axis", {"NHWC"}, {}}},
       1,
       infer_bias,
       false},

      unary("Neg", "-x; raises nothing.", numbers()),
      unary("Abs", "|x|; raises nothing.", numbers()),
      unary("Square", "x x, rounded once.", numbers()),
      unary("Sqrt", "The square root; in the IPU preset rounded to fp32 first.", floats()),
      unary("Rsqrt", "1 / sqrt(x), rounded once (float64: root and quotient each).", floats()),
      unary("Reciprocal", "1 / x.", floats()),
      unary("Exp", "e^x.", up_to_fp32()),
      unary("Expm1", "e^x - 1.", up_to_fp32()),
      unary("Log", "ln x.", up_to_fp32()),
      unary("Log1p", "ln(1 + x).", up_to_fp32()),
      unary("Tanh", "The hyperbolic tangent.", up_to_fp32()),
      unary("Sigmoid", "1 / (1 + e^-x).", up_to_fp32()),
      unary("Erf", "The error function.", up_to_fp32()),
      unary("Sin", "The sine.", up_to_fp32()),
      unary("Cos", "The cosine.", up_to_fp32()),
      unary("Relu", "max(x, +0).", numbers(), "features", "activations"),
      unary("Relu6", "min(max(x, +0), 6).", numbers(), "features", "activations"),
      unary("LeakyRelu", "0 < x ? x : alpha x, in fp32 inside.", up_to_fp32(), "features", "activations", {alpha()}),
      unary("Gelu", "x Phi(x).", up_to_fp32(), "features", "activations", {approximate()}),

      gradient("ReluGrad", "features > 0 ? gradients : +0.", "gradients", "features", numbers(), "backprops"),
      gradient("LeakyReluGrad", "0 < features ? gradients : alpha gradients, in fp32 inside.", "gradients", "features",
               up_to_fp32(), "backprops", {alpha()}),
      gradient("GeluGrad", "gradients times the derivative of Gelu at features, in fp32 inside.", "gradients",
               "features", up_to_fp32(), "backprops", {approximate()}),
      gradient("TanhGrad", "dy (1 - y y), in fp32 inside.", "y", "dy", up_to_fp32(), "z"),
      gradient("SigmoidGrad", "(dy y) (1 - y), in fp32 inside.", "y", "dy", up_to_fp32(), "z"),
      gradient("SqrtGrad", "(0.5 dy) / y, in fp32 inside.", "y", "dy", up_to_fp32(), "z"),
      gradient("RsqrtGrad", "(-0.5 dy) ((y y) y), in fp32 inside.", "y", "dy", up_to_fp32(), "z"),
      gradient("ReciprocalGrad", "-dy (y y), in fp32 inside.", "y", "dy", up_to_fp32(), "z"),

      comparison("Equal", "x == y; a NaN is unequal."),
      comparison("NotEqual", "x != y."),
      comparison("Less", "x < y; false for a NaN, which raises invalid."),
      comparison("LessEqual", "x <= y; false for a NaN, which raises invalid."),
      comparison("Greater", "x > y; false for a NaN, which raises invalid."),
      comparison("GreaterEqual", "x >= y; false for a NaN, which raises invalid."),
      test("IsNan", "x is a NaN; raises nothing."),
      test("IsFinite", "x is neither infinite nor NaN; raises nothing."),
      {"LogicalAnd", "x and y.", {{"x", "bool"}, {"y", "bool"}}, {{"z", "bool"}}, {}, 1, broadcast_two, false},
      {"LogicalOr", "x or y.", {{"x", "bool"}, {"y", "bool"}}, {{"z", "bool"}}, {}, 1, broadcast_two, false},
      {"LogicalNot", "not x.", {{"x", "bool"}}, {{"y", "bool"}}, {}, 1, same_shape, false},
      {"SelectV2",
       "t where condition, else e: a copy.",
       {{"condition", "bool"}, {"t", "T"}, {"e", "T"}},
       {{"output", "T"}},
       {type_of(any)},
       1,
       broadcast_three,
       false},

      {"AddN",
       "The sum of the inputs, ascending; for dtypes of at most 32 bits in fp32 inside, rounded once.",
       {{"inputs", "T", true}},
       {{"sum", "T"}},
       {type_of(numbers())},
       1,
       equal_all,
       false},
      {"Cast",
       "x as another dtype: rounded once; to int32 truncated; to bool x != 0.",
       {{"x", "SrcT"}},
       {{"y", "DstT"}},
       {{"SrcT", kType, {}, "dtype of x", {}, any}, {"DstT", kType, {}, "dtype of the result", {}, any}},
       1,
       same_shape,
       false},
      {"Fill",
       "Every element is the value, rounded to nearest even.",
       {},
       {{"output", "dtype"}},
       {{"dtype", kType, DType::kFloat32, "dtype of the result", {}, any},
        {"shape", kShape, {}, "shape of the result", {}, {}},
        {"value", kFloat, 0.0, "the value", {}, {}}},
       1,
       infer_fill,
       false},
      unary("ZerosLike", "Zeros of the shape of x.", any),
      unary("OnesLike", "Ones of the shape of x.", any),
  };
}

}  // namespace softamp::operations_of
