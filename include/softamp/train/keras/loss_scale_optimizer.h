// Optimizers wrapped in loss scaling, as tf.train and Keras wrap them (MIXED_PRECISION T01 to T03, T09 to T12, T18,
// K23, K24).
//
// A wrapper is a value: an inner optimizer's options, and the state machine of a loss scale. It builds the scaled step
// into a graph, and gives the options for a Trainer: trainer_options(). The two families scale alike; they differ in
// whether a skipped step counts (TUTORIAL X6).
//
// Source: TensorFlow r2.3 (mixed_precision.py, loss_scale_optimizer.py), Keras 2.4.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "softamp/precision/loss_scale.h"
#include "softamp/precision/mixed_precision_context.h"
#include "softamp/train/optimizer.h"
#include "softamp/train/trainer.h"

namespace softamp {

/// tf.train.Optimizer: a skipped step does not move the global step.
struct TrainFamily {
  static constexpr const char* kWrapper = "MixedPrecisionLossScaleOptimizer";
  static constexpr bool kCountsSkippedSteps = false;
};
/// tf.keras.optimizers.Optimizer: it moves `iterations`.
struct KerasFamily {
  static constexpr const char* kWrapper = "LossScaleOptimizer";
  static constexpr bool kCountsSkippedSteps = true;
};

/// The defaults of a family's optimizer, where they are not those of OptimizerOptions::of.
template <class Family>
OptimizerOptions defaults_of(OptimizerKind kind) {
  OptimizerOptions o = OptimizerOptions::of(kind);
  const bool adaptive = kind >= OptimizerKind::kRmsProp;
  if (std::is_same_v<Family, KerasFamily>) {
    if (adaptive) o.learning_rate = 0.001, o.epsilon = 1e-7;
    if (kind == OptimizerKind::kAdamW) o.weight_decay = 0.004;
  } else if (adaptive) {
    o.learning_rate = 0.001;
    if (kind == OptimizerKind::kRmsProp) o.epsilon = 1e-10;
  }
  return o;
}

/// An optimizer of a family, not wrapped.
template <class Family>
struct FamilyOptimizer {
  OptimizerOptions options{};

  /// With the family's own defaults: of Keras a rate of 0.001 and epsilon 1e-7 for rmsprop, adam and adamw, and 0.004
  /// as adamw's decay; of tf.train a rate of 0.001 for these, and epsilon 1e-8, 1e-10 for rmsprop.
  static FamilyOptimizer of(OptimizerKind kind) { return {defaults_of<Family>(kind)}; }
};
using TrainOptimizer = FamilyOptimizer<TrainFamily>;
using KerasOptimizer = FamilyOptimizer<KerasFamily>;

/// What the argument loss_scale may be (MIXED_PRECISION T02): a number, which is a fixed scale and never skips; text,
/// as LossScaleOptions::parse reads it ("dynamic"); options; std::nullopt: none.
class LossScaleArgument {
 public:
  template <class Number>
  requires std::is_arithmetic_v<Number> LossScaleArgument(Number scale) : value_(fixed(static_cast<double>(scale))) {}
  LossScaleArgument(const char* text) : value_(std::string(text)) {}
  LossScaleArgument(std::string text) : value_(std::move(text)) {}
  LossScaleArgument(LossScaleOptions options) : value_(std::move(options)) {}
  LossScaleArgument(std::nullopt_t) : value_(LossScaleOptions::none()) {}

  /// Throws std::invalid_argument: "Could not interpret loss scale identifier: abc...", "loss_scale_value must be at
  /// least 1.", "loss_scale_value must be a Python int or float." (NaN). Numbers and "dynamic" unscale by the
  /// reciprocal.
  LossScaleOptions options() const;

 private:
  static LossScaleOptions fixed(double scale);  ///< not validated

  std::variant<std::string, LossScaleOptions> value_;
};

/// Loss scaling around an optimizer of a family.
template <class Family>
class ScaledOptimizer {
 public:
  /// Throws as Optimizer and LossScaleArgument::options do.
  explicit ScaledOptimizer(FamilyOptimizer<Family> inner, const LossScaleArgument& loss_scale = "dynamic")
      : inner_(std::move(inner)), machine_(counted(loss_scale.options())) {
    inner_.options.validate();
  }

  const FamilyOptimizer<Family>& inner_optimizer() const { return inner_; }
  /// The state machine: graphs are built with its scale; a caller's own training loop must update it.
  const LossScale& loss_scale() const { return machine_; }
  LossScale& loss_scale() { return machine_; }
  bool dynamic() const { return machine_.options().dynamic; }
  /// Whether a skipped step moves the optimizer's counter.
  static constexpr bool counts_skipped_steps() { return Family::kCountsSkippedSteps; }

  /// Hyperparameters of the inner optimizer (without epsilon, as in Keras).
  double learning_rate() const { return inner_.options.learning_rate; }
  double lr() const { return learning_rate(); }
  double beta_1() const { return inner_.options.beta1; }
  void set_learning_rate(double rate) { set(&OptimizerOptions::learning_rate, rate); }
  void set_lr(double rate) { set_learning_rate(rate); }
  void set_beta_1(double beta) { set(&OptimizerOptions::beta1, beta); }

  /// `base`, with the options that make a Trainer train with this optimizer. Where base says nothing of the arithmetic,
  /// it is TensorFlow's: the preset ieee.
  TrainerOptions trainer_options(TrainerOptions base = {}) const {
    base.executor = with_preset(std::move(base.executor), Preset::kIeee);
    base.optimizer = inner_.options;
    base.loss_scale = machine_.options();
    return base;
  }

  // Building the step into a graph, which is then TensorFlow's: without a preset it gets ieee. `scale` is a float32
  // scalar [=a constant: the machine's present scale].
  /// loss * scale, the scale cast to the loss's dtype.
  Port get_scaled_loss(GraphBuilder& b, Port loss, std::optional<Port> scale = {}) const {
    compute_as_tensorflow(b);
    return softamp::get_scaled_loss(b, loss, scale ? *scale : scale_constant(b));
  }
  /// The same for a function that builds the loss: returns one that builds and scales it.
  template <std::invocable Loss>
  requires std::same_as<std::invoke_result_t<Loss>, Port> std::function<Port()> get_scaled_loss(
      GraphBuilder& b, Loss loss, std::optional<Port> scale = {})
  const {
    return [self = *this, &b, loss = std::move(loss), scale] { return self.get_scaled_loss(b, loss(), scale); };
  }
  /// Gradients in float32 times 1 / scale; missing ones stay missing.
  std::vector<std::optional<Port>> get_unscaled_gradients(GraphBuilder& b,
                                                          std::span<const std::optional<Port>> gradients,
                                                          std::optional<Port> scale = {}) const {
    return softamp::get_unscaled_gradients(b, gradients, scale ? *scale : scale_constant(b));
  }
  /// The same for pairs: of slices the values are unscaled, and the indices kept (MIXED_PRECISION T12).
  std::vector<GradientAndVariable> get_unscaled_gradients(GraphBuilder& b, ListView<GradientAndVariable> gradients,
                                                          std::optional<Port> scale = {}) const {
    return softamp::get_unscaled_gradients(b, gradients, scale ? *scale : scale_constant(b));
  }
  /// Scaled, differentiated, unscaled. Gradients computed in another way are not scaled (MIXED_PRECISION T11).
  /// `sparse`: what sparse_gradients finds stays slices.
  std::vector<GradientAndVariable> compute_gradients(GraphBuilder& b, Port loss, ListView<Variable> variables,
                                                     std::optional<Port> scale = {}, bool sparse = false) const {
    if (!scale) scale = scale_constant(b);
    std::vector<GradientAndVariable> pairs =
        Optimizer(inner_.options).compute_gradients(b, get_scaled_loss(b, loss, scale), variables);
    if (sparse) pairs = sparse_gradients(b, std::move(pairs));
    return get_unscaled_gradients(b, pairs, scale);
  }
  /// Adds the update, and returns a bool scalar: whether it is made. A dynamic scale makes none where an element of a
  /// gradient, or of a value of slices, is infinite or NaN; then no variable and no slot changes (MIXED_PRECISION T10).
  Port apply_gradients(GraphBuilder& b, ListView<GradientAndVariable> gradients, Port learning_rate) const {
    compute_as_tensorflow(b);
    std::vector<Port> present;
    for (const GradientAndVariable& pair : gradients)
      if (!pair.missing()) present.push_back(pair.slices ? pair.slices->values : *pair.gradient);
    const Port apply = machine_.options().skip_overflowed && !present.empty()
                           ? b.add("AllFinite", present, {}, "all_finite")
                           : b.constant(Tensor::full(DType::kBool, {}, 1), "always");
    Optimizer(inner_.options).apply_gradients(b, gradients, learning_rate, apply);
    return apply;
  }
  Port minimize(GraphBuilder& b, Port loss, ListView<Variable> variables, Port learning_rate,
                std::optional<Port> scale = {}) const {
    return apply_gradients(b, compute_gradients(b, loss, variables, scale), learning_rate);
  }

 private:
  static LossScaleOptions counted(LossScaleOptions o) {
    o.count_skipped_steps = Family::kCountsSkippedSteps;
    return o;
  }
  static void compute_as_tensorflow(GraphBuilder& b) {
    if (!b.graph().preset()) b.set_preset(Preset::kIeee);
  }
  Port scale_constant(GraphBuilder& b) const {
    return b.constant(Tensor::full(DType::kFloat32, {}, static_cast<double>(machine_.scale())), "loss_scale");
  }
  void set(double OptimizerOptions::*field, double value) {
    OptimizerOptions changed = inner_.options;
    changed.*field = value;
    changed.validate();
    inner_.options = changed;
  }

  FamilyOptimizer<Family> inner_;
  LossScale machine_;
};

using MixedPrecisionLossScaleOptimizer = ScaledOptimizer<TrainFamily>;

/// Arguments of Keras' LossScaleOptimizer beside the inner optimizer.
struct KerasLossScale {
  bool dynamic = true;
  std::optional<double> initial_scale{};          ///< [=2^15]; must be given where the scale is fixed
  std::optional<int64_t> dynamic_growth_steps{};  ///< >= 1 [=2000]; must not be given where the scale is fixed
};

/// Keras' wrapper.
class LossScaleOptimizer : public ScaledOptimizer<KerasFamily> {
 public:
  using ScaledOptimizer::ScaledOptimizer;
  /// Throws std::invalid_argument with Keras' texts (MIXED_PRECISION K24).
  LossScaleOptimizer(KerasOptimizer inner, const KerasLossScale& arguments);

  /// {"inner_optimizer":{"class_name":"sgd","config":{...}},"dynamic":...,"initial_scale":...,
  /// "dynamic_growth_steps":...}: the arguments, not the state.
  std::string get_config() const;
  /// Reads these. Throws std::invalid_argument with Keras' texts if a value is of another kind, and with the place for
  /// a text that is not such an object.
  static LossScaleOptimizer from_config(std::string_view json);
};

/// Any argument of enable_mixed_precision_graph_rewrite, for programs that know it at run time; a text stands for an
/// object that is no optimizer.
using AnyOptimizer =
    std::variant<TrainOptimizer, KerasOptimizer, MixedPrecisionLossScaleOptimizer, LossScaleOptimizer, std::string>;

/// MIXED_PRECISION T01: turns the graph rewrite on in `context`, and returns the optimizer in loss scaling. Throws
/// ApiConflictError (MIXED_PRECISION T04) and std::invalid_argument with TensorFlow's texts (MIXED_PRECISION T02, T03);
/// the rewrite is then as it was before.
AnyOptimizer enable_mixed_precision_graph_rewrite(MixedPrecisionContext& context, const AnyOptimizer& optimizer,
                                                  const LossScaleArgument& loss_scale = "dynamic",
                                                  OpLists lists = OpLists::tf_2_3(), RewriteOptions options = {});
/// The same for an optimizer of known type.
template <class Family>
auto enable_mixed_precision_graph_rewrite(MixedPrecisionContext& context, const FamilyOptimizer<Family>& optimizer,
                                          const LossScaleArgument& loss_scale = "dynamic",
                                          OpLists lists = OpLists::tf_2_3(), RewriteOptions options = {}) {
  using Wrapper = std::conditional_t<std::is_same_v<Family, KerasFamily>, LossScaleOptimizer, ScaledOptimizer<Family>>;
  return std::get<Wrapper>(enable_mixed_precision_graph_rewrite(context, AnyOptimizer(optimizer), loss_scale,
                                                                std::move(lists), std::move(options)));
}
/// One that is known to be wrapped does not compile (MIXED_PRECISION T03).
template <class Family>
AnyOptimizer enable_mixed_precision_graph_rewrite(MixedPrecisionContext& context,
                                                  const ScaledOptimizer<Family>& wrapped,
                                                  const LossScaleArgument& loss_scale = "dynamic",
                                                  OpLists lists = OpLists::tf_2_3(),
                                                  RewriteOptions options = {}) = delete;
/// disable_mixed_precision_graph_rewrite: warns if it is off; wrapped optimizers keep scaling.
inline void disable_mixed_precision_graph_rewrite(MixedPrecisionContext& context) { context.disable_graph_rewrite(); }

/// MIXED_PRECISION K23: what Keras' compile makes of an optimizer under a policy: under mixed_float16 one that is not
/// wrapped gets a dynamic LossScaleOptimizer; all others are unchanged. Throws std::invalid_argument with Keras' text
/// where it cannot be wrapped.
AnyOptimizer compiled_optimizer(const Policy& policy, AnyOptimizer optimizer);

}  // namespace softamp
