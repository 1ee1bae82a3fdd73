// Updates by the Apply operations.
#include "src/train/optimizers/optimizer_update.h"

#include "src/train/cast_node.h"

namespace softamp {

// implements: N256, N262
RoundedHyperparameters rounded_hyperparameters(const OptimizerOptions& o, DType variable) {
  const DType dtype = o.hyperparameters.value_or(variable);
  const auto rounded = [dtype](const char* name, double asked) { return check_hyperparameter(name, asked, dtype).got; };
  return {rounded("momentum", o.momentum),
          rounded("rho", o.rho),
          rounded("beta1", o.beta1),
          rounded("beta2", o.beta2),
          rounded("epsilon", o.epsilon),
          rounded("learning_rate * weight_decay", o.learning_rate * o.weight_decay),
          dtype};
}

const char* rounding_of(WeightUpdate update) { return update == WeightUpdate::kKahan ? "step" : name_of(update); }

// implements: N246
UpdateOutputs compensated_update(GraphBuilder& b, const UpdateInputs& in, Port delta) {
  const Port result = b.add("ApplyCompensated", {in.variable, in.slots.back(), delta, in.apply});
  return {result, {{result.node, 1}}};
}

OptimizerOptions options_of(const OptimizerOptions& options, const Shape& variable) {
  OptimizerOptions o = options;
  if (o.decay_matrices_only && variable.rank() < 2) o.weight_decay = 0;
  return o;
}

UpdateOutputs fused_update(GraphBuilder& b, const OptimizerOptions& o, const UpdateInputs& in) {
  const DType wide = wide_dtype(b.type(in.variable).dtype);
  const RoundedHyperparameters h = rounded_hyperparameters(o, b.type(in.variable).dtype);
  std::vector<Port> inputs{in.variable};
  const bool kahan = o.weight_update == WeightUpdate::kKahan;
  const size_t own = in.slots.size() - (kahan ? 1 : 0);
  inputs.insert(inputs.end(), in.slots.begin(), in.slots.begin() + static_cast<std::ptrdiff_t>(own));
  inputs.push_back(cast_to(b, in.learning_rate, wide, "learning_rate_cast"));

  std::string_view op;
  Attributes attributes;
  switch (o.kind) {
    case OptimizerKind::kSgd: op = "ApplyGradientDescent"; break;
    case OptimizerKind::kMomentum:
    case OptimizerKind::kNesterov:
      op = "ApplyMomentum";
      attributes = {{"momentum", h.momentum}, {"use_nesterov", o.kind == OptimizerKind::kNesterov}};
      break;
    case OptimizerKind::kRmsProp:
      op = "ApplyRMSProp";
      attributes = {{"rho", h.rho}, {"momentum", h.momentum}, {"epsilon", h.epsilon}};
      break;
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      op = "ApplyAdam";
      attributes = {{"beta1", h.beta1}, {"beta2", h.beta2}, {"epsilon", h.epsilon}};
      inputs.push_back(in.decay ? cast_to(b, *in.decay, wide, "decay_cast")
                                : b.constant(Tensor::full(wide, {}, h.decay), "decay"));
      break;
  }
  inputs.push_back(in.gradient);
  inputs.push_back(in.apply);
  attributes["weight_update"] = std::string(rounding_of(o.weight_update));
  const Port result = b.add(op, inputs, attributes);
  UpdateOutputs out{result, {}};
  if (kahan) out.variable = compensated_update(b, in, result).variable;
  for (size_t i = 0; i < own; ++i) out.slots.push_back({result.node, static_cast<int>(i) + 1});
  if (kahan) out.slots.push_back({out.variable.node, 1});
  return out;
}

}  // namespace softamp
