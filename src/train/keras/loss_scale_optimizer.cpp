// Wrapped optimizers: arguments, and who may be wrapped. Texts are TensorFlow's (r2.3) and Keras' (2.4).
#include "softamp/train/keras/loss_scale_optimizer.h"

#include <stdexcept>

#include "softamp/machine/float_environment.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

/// Roughly what Python would print for a value.
std::string text_of(const AnyOptimizer& optimizer) {
  if (const auto* text = std::get_if<std::string>(&optimizer)) return files::excerpt(*text);
  static constexpr const char* kNames[] = {"tf.train.Optimizer", "tf.keras.optimizers.Optimizer", TrainFamily::kWrapper,
                                           KerasFamily::kWrapper};
  return kNames[optimizer.index()];
}

[[noreturn]] void refuse_wrapped(const std::string& wrapper) {
  throw std::invalid_argument("\"opt\" must not already be an instance of a " + wrapper +
                              ". `enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer with a " +
                              wrapper + ".");
}

AnyOptimizer wrapped(const AnyOptimizer& optimizer, const LossScaleArgument& loss_scale, DtypeBehaviour behaviour) {
  if (std::holds_alternative<MixedPrecisionLossScaleOptimizer>(optimizer)) refuse_wrapped(TrainFamily::kWrapper);
  if (std::holds_alternative<LossScaleOptimizer>(optimizer)) refuse_wrapped(KerasFamily::kWrapper);
  if (const auto* train = std::get_if<TrainOptimizer>(&optimizer))
    return MixedPrecisionLossScaleOptimizer(*train, loss_scale);
  if (const auto* keras = std::get_if<KerasOptimizer>(&optimizer)) return LossScaleOptimizer(*keras, loss_scale);
  // The function of TensorFlow 2 names only Keras' class.
  const char* expected = behaviour == DtypeBehaviour::kV1 ? "tf.train.Optimizer or a tf.keras.optimizers.Optimizer"
                                                          : "tf.keras.optimizers.Optimizer";
  throw std::invalid_argument(std::string("\"opt\" must be an instance of a ") + expected +
                              ", but got: " + text_of(optimizer));
}

LossScaleOptions keras_options(const KerasLossScale& a) {
  if (!a.dynamic) {
    if (!a.initial_scale) throw std::invalid_argument("\"initial_scale\" must be specified if \"dynamic\" is False");
    if (a.dynamic_growth_steps)
      throw std::invalid_argument("\"dynamic_growth_steps\" must be None if \"dynamic\" is False, but got: " +
                                  std::to_string(*a.dynamic_growth_steps));
    return LossScaleArgument(*a.initial_scale).options();
  }
  LossScaleOptions o = LossScaleOptions::keras();
  if (a.initial_scale) o.initial = *a.initial_scale;
  if (a.dynamic_growth_steps) o.window = *a.dynamic_growth_steps;
  o.validate();
  return o;
}

}  // namespace

LossScaleOptions LossScaleArgument::fixed(double scale) {
  LossScaleOptions o = LossScaleOptions::fixed();
  o.initial = scale;
  o.unscale = Unscale::kReciprocal;
  return o;
}

LossScaleOptions LossScaleArgument::options() const {
  const engine::DefaultEnvironment guard;
  const auto* text = std::get_if<std::string>(&value_);
  LossScaleOptions options = text ? LossScaleOptions::parse(*text) : std::get<LossScaleOptions>(value_);
  if (!options.dynamic && options.initial < 1) throw std::invalid_argument("loss_scale_value must be at least 1.");
  options.validate();
  return options;
}

LossScaleOptimizer::LossScaleOptimizer(KerasOptimizer inner, const KerasLossScale& arguments)
    : ScaledOptimizer(std::move(inner), keras_options(arguments)) {}

AnyOptimizer enable_mixed_precision_graph_rewrite(MixedPrecisionContext& context, const AnyOptimizer& optimizer,
                                                  const LossScaleArgument& loss_scale, OpLists lists,
                                                  RewriteOptions options) {
  lists.validate();
  context.check_graph_rewrite();
  AnyOptimizer result = wrapped(optimizer, loss_scale, context.dtype_behaviour());
  context.turn_graph_rewrite_on(std::move(lists), std::move(options));
  return result;
}

AnyOptimizer compiled_optimizer(const Policy& policy, AnyOptimizer optimizer) {
  if (policy.name() != "mixed_float16" || std::holds_alternative<LossScaleOptimizer>(optimizer)) return optimizer;
  if (const auto* keras = std::get_if<KerasOptimizer>(&optimizer)) return LossScaleOptimizer(*keras, KerasLossScale{});
  throw std::invalid_argument("\"inner_optimizer\" must be an instance of OptimizerV2, but got: " + text_of(optimizer));
}

}  // namespace softamp
