// Updates of optimizers, and the check of gradients. Formulas: kernel/optimizers.h.
#include "softamp/numbers/number_text.h"
#include "src/graph/ops/rows.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;

void expect_shape(InferenceContext& c, size_t input, const char* name, const Shape& shape, const char* why) {
  if (c.shape(input) != shape)
    c.fail(std::string(name) + " is " + c.shape(input).text() + "; expected " + shape.text() + ", " + why);
}

std::string number(double value) { return shortest_decimal(kBinary64, __builtin_bit_cast(uint64_t, value)); }

/// A share of the old value that a slot keeps.
void need_share(InferenceContext& c, const char* name) {
  const double value = c.get_float(name);
  if (!(value >= 0 && value <= 1))
    c.fail(std::string("attribute '") + name + "' is " + number(value) + "; expected 0 .. 1");
}

void need_update_epsilon(InferenceContext& c) {
  constexpr double kMost = 0x1p127;
  const double value = c.get_float("epsilon");
  // It may include a loss scale (TUTORIAL G28), so it may exceed 1.
  if (!(value >= 0 && value <= kMost)) c.fail("attribute 'epsilon' is " + number(value) + "; expected 0 .. 2^127");
}

/// Every tensor has the shape of var, the first input; rates and apply are scalars. All tensors are float64, or none
/// is.
void infer_update(InferenceContext& c, const std::vector<PortSpec>& inputs, size_t outputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (is_floating(c.dtype(i)) && (c.dtype(i) == DType::kFloat64) != (c.dtype(0) == DType::kFloat64))
      c.fail("'" + inputs[i].name + "' is " + name_of(c.dtype(i)) + " and 'var' is " + name_of(c.dtype(0)) +
             "; float64 goes with float64 alone");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool scalar = inputs[i].type == "wide" || inputs[i].type == "bool";
    if (scalar)
      expect_shape(c, i, inputs[i].name.c_str(), Shape{}, "a scalar");
    else if (i > 0)
      expect_shape(c, i, inputs[i].name.c_str(), c.shape(0), "the shape of var");
  }
  for (size_t port = 0; port < outputs; ++port) c.output(port, c.shape(0));
}

AttributeSpec type_named(const char* name, const char* summary) { return {name, kType, {}, summary, {}, floats()}; }
AttributeSpec share(const char* name, const char* summary) { return {name, kFloat, {}, summary, {}, {}}; }
AttributeSpec weight_update() {
  return {
      "weight_update",
      kString,
      std::string("default"),
      "how var alone is rounded: by the policy, to nearest even, stochastically; step: var's output is what is added "
      "to var, to nearest even",
      {"default", "nearest", "stochastic", "step"},
      {}};
}
AttributeSpec epsilon() { return {"epsilon", kFloat, {}, "(>= 0) keeps the divisor above zero", {}, {}}; }

/// An update: var and slots are inputs and outputs; all hyperparameters that are attributes are checked.
Operation update(const char* name, const char* summary, std::vector<PortSpec> inputs, std::vector<PortSpec> outputs,
                 std::vector<AttributeSpec> own, int sites) {
  std::vector<AttributeSpec> attributes = {type_named("T", "dtype of var")};
  if (outputs.size() > 1) attributes.push_back(type_named("S", "dtype of the slots"));
  attributes.push_back(type_named("G", "dtype of the gradient"));
  for (const AttributeSpec& a : own) attributes.push_back(a);
  attributes.push_back(weight_update());
  const size_t results = outputs.size();
  auto infer = [inputs, own, results](InferenceContext& c) {
    for (const AttributeSpec& a : own)
      if (a.kind == kFloat) a.name == "epsilon" ? need_update_epsilon(c) : need_share(c, a.name.c_str());
    infer_update(c, inputs, results);
  };
  return row(name, summary, std::move(inputs), std::move(outputs), std::move(attributes), std::move(infer), sites);
}

void infer_all_finite(InferenceContext& c) {
  constexpr int64_t kMost = 2147483647;
  for (size_t i = 0; i < c.inputs(); ++i)
    if (c.shape(i).elements() > kMost)
      c.fail("inputs[" + std::to_string(i) + "] has " + std::to_string(c.shape(i).elements()) +
             " elements; counted are at most " + std::to_string(kMost));
  c.output(0, Shape{});
  c.output(1, Shape{static_cast<int64_t>(c.inputs())});
}

}  // namespace

std::vector<Operation> optimizers() {
  const PortSpec var{"var", "T"}, grad{"grad", "G"}, apply{"apply", "bool"}, lr{"lr", "wide"};
  const PortSpec accum{"accum", "S"}, ms{"ms", "S"}, mom{"mom", "S"}, m{"m", "S"}, v{"v", "S"};
  return {
      update("ApplyGradientDescent", "var - alpha delta, rounded once; where apply is false, a copy.",
             {var, {"alpha", "wide"}, {"delta", "G"}, apply}, {var}, {}, 1),
      update("ApplyMomentum",
             "accum = momentum accum + grad; var - lr accum, or (Nesterov) var - lr (grad + momentum accum); each is "
             "rounded once; accum is read as stored, after rounding.",
             {var, accum, lr, grad, apply}, {var, accum},
             {share("momentum", "(0 .. 1) share of accum that is kept"),
              {"use_nesterov", kBool, false, "look ahead by one step", {}, {}}},
             2),
      update("ApplyRMSProp",
             "ms = rho ms + (1 - rho) grad^2; mom = momentum mom + lr grad / sqrt(ms + epsilon); var - mom; binary64 "
             "inside. Each stored value is rounded once; slots are read as stored, after rounding.",
             {var, ms, mom, lr, grad, apply}, {var, ms, mom},
             {share("rho", "(0 .. 1) share of ms that is kept"),
              share("momentum", "(0 .. 1) share of mom that is kept"), epsilon()},
             3),
      update(
          "ApplyAdam",
          "m = beta1 m + (1 - beta1) grad; v = beta2 v + (1 - beta2) grad^2; var - (lr m / (sqrt(v) + epsilon) + "
          "decay var); binary64 inside. Each stored value is rounded once; slots are read as stored, after rounding.",
          {var, m, v, lr, {"decay", "wide"}, grad, apply}, {var, m, v},
          {share("beta1", "(0 .. 1) share of m that is kept"), share("beta2", "(0 .. 1) share of v that is kept"),
           epsilon()},
          3),
      row(
          "ApplyCompensated",
          "y = delta - compensation; s = var + y; compensation = (s - var) - y; var = s, every one rounded to nearest "
          "even whatever the policy: adds delta to var, and keeps what rounding lost.",
          {var, {"compensation", "T"}, {"delta", "T"}, apply}, {var, {"compensation", "T"}},
          {type_named("T", "dtype of all tensors")},
          [var, apply](InferenceContext& c) {
            infer_update(c, {var, {"compensation", "T"}, {"delta", "T"}, apply}, 2);
          },
          2),
      row("AllFinite", "Whether all elements are finite, and for each input how many are not; raises nothing.",
          {{"inputs", "T", true}}, {{"finite", "bool"}, {"nonfinite", "int32"}},
          {type_of(floats(), "dtype of the inputs")}, infer_all_finite)
          .constant(),
  };
}

}  // namespace softamp::operations_of
