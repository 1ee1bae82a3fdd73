// Layers that work on each element: activations by name, and dropout.
#include <algorithm>

#include "softamp/machine/float_environment.h"
#include "softamp/train/layers.h"
#include "src/text/joined.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/train/layers/layer_input.h"

namespace softamp::layers {
namespace {

using layers_detail::Check;

struct Activation {
  const char *name, *op;
};
constexpr Activation kActivations[] = {
    {"relu", "Relu"}, {"relu6", "Relu6"},       {"leaky_relu", "LeakyRelu"}, {"elu", "Elu"},   {"selu", "Selu"},
    {"gelu", "Gelu"}, {"softplus", "Softplus"}, {"sigmoid", "Sigmoid"},      {"tanh", "Tanh"},
};

}  // namespace

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const Activation& a : kActivations) names.emplace_back(a.name);
  return names;
}

Port activation(VariableStore& store, Port x, std::string_view kind, const ActivationOptions& options) {
  const Check check(store, "activation", files::excerpt(kind));
  const auto* const known = std::find_if(std::begin(kActivations), std::end(kActivations),
                                         [&](const Activation& a) { return kind == a.name; });
  if (known == std::end(kActivations))
    check.fail("there is no such activation; expected one of " + joined(activation_names()) +
               graph_detail::nearest_of(kind, activation_names()));
  check.ranked(x, 0, Shape::kMaxRank, "a tensor");
  Attributes attributes;
  if (kind == "gelu") attributes = {{"approximate", options.approximate}};
  if (kind == "leaky_relu") attributes = {{"alpha", options.alpha}};
  return store.builder().add(known->op, {x}, attributes);
}

Port dropout(VariableStore& store, Port x, double rate) {
  const engine::DefaultEnvironment guard;
  const Check check(store, "dropout", "SelectV2");
  check.rate("rate", rate);
  const TensorType type = check.ranked(x, 0, Shape::kMaxRank, "a tensor");
  if (!store.training() || rate == 0) return x;
  GraphBuilder& builder = store.builder();
  const auto number = [&](double value) { return builder.constant(Tensor::full(type.dtype, {}, value)); };
  const Port kept = builder.add("RandomBernoulli", {}, {{"shape", type.shape}, {"probability", 1 - rate}});
  const Port scaled = builder.add("Mul", {x, number(1 / (1 - rate))});
  return builder.add("SelectV2", {kept, scaled, number(0)});
}

}  // namespace softamp::layers
