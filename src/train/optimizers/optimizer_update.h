// The update of one variable as nodes: by one Apply operation, or by plain ones.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "softamp/train/optimizer.h"

namespace softamp {

/// Inputs of an update. All tensors have the variable's shape.
struct UpdateInputs {
  Port variable, gradient;
  std::vector<Port> slots;      ///< in the order of Optimizer::slots
  Port learning_rate;           ///< float32 scalar
  Port apply;                   ///< bool scalar
  std::optional<Port> decay{};  ///< scalar [=the constant of RoundedHyperparameters]
};

/// New values, of the types of the old ones; the old ones if `apply` is false.
struct UpdateOutputs {
  Port variable;
  std::vector<Port> slots;
};

/// Hyperparameters as the update of a variable uses them: exactly representable in their dtype.
struct RoundedHyperparameters {
  double momentum, rho, beta1, beta2, epsilon;
  double decay;  ///< learning_rate weight_decay
  DType dtype;
};
RoundedHyperparameters rounded_hyperparameters(const OptimizerOptions& options, DType variable);

/// What `weight_update` of the Apply operations is: "step" for kKahan, else the name.
const char* rounding_of(WeightUpdate update);

/// WeightUpdate::kKahan: adds delta to the variable; its last slot is the compensation.
UpdateOutputs compensated_update(GraphBuilder& builder, const UpdateInputs& in, Port delta);

/// The options for a variable of this shape: those whose decay passes it over have none.
OptimizerOptions options_of(const OptimizerOptions& options, const Shape& variable);

/// One Apply operation (docs/OPERATIONS.md): one rounding per stored value.
UpdateOutputs fused_update(GraphBuilder& builder, const OptimizerOptions& options, const UpdateInputs& in);

/// OptimizerOptions::separate_roundings.
UpdateOutputs separate_update(GraphBuilder& builder, const OptimizerOptions& options, const UpdateInputs& in);

}  // namespace softamp
