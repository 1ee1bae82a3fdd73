// An Estimator in the manner of TensorFlow 1 (TUTORIAL G45): a model function builds the graph, an input function
// supplies batches, and train() runs a number of steps.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "softamp/train/trainer.h"

namespace softamp {

enum class EstimatorMode { kTrain, kEvaluate, kPredict };

/// What a model function returns.
struct EstimatorSpec {
  Port loss;                  ///< unscaled, scalar
  OptimizerOptions train_op;  ///< the optimizer that minimises it
  LossScaleOptions loss_scale;
};

/// Builds the forward graph in store.builder(). features: images; labels: int32. Throws
/// std::invalid_argument("Only training is supported") for other modes, as the tutorial's does.
using ModelFunction =
    std::function<EstimatorSpec(VariableStore& store, Port features, Port labels, EstimatorMode mode)>;
/// Returns the next batch; images in the dtype of the features.
using InputFunction = std::function<Batch()>;

struct RunConfig {
  ExecutorOptions executor;
  TensorType features{DType::kFloat32, Shape{32, 28, 28, 1}};  ///< of one batch
  Precision precision;                                         ///< recorded; the model function decides
  int64_t log_steps = 0;                                       ///< (0: never) call on_log after every log_steps steps
  std::function<void(int64_t step, double mean_loss)> on_log;
  TrainerOptions trainer;  ///< everything else, such as a pass for mixed precision; its executor, optimizer and
                           ///< loss_scale are replaced
  std::optional<LayerRule> layers{};  ///< of the store that the model function gets [=none]; features in float32
  std::string mechanism{};            ///< the rule's name in reports [="layer rule"]
};

class Estimator {
 public:
  Estimator(ModelFunction model_fn, RunConfig config);
  ~Estimator();
  /// Runs `steps` more steps; each result is passed to `on_step`, which may return false to stop. Returns the steps
  /// done.
  int64_t train(const InputFunction& input_fn, int64_t steps,
                const std::function<bool(const StepResult&)>& on_step = {});
  [[noreturn]] void evaluate(
      const InputFunction&) const;  ///< throws std::invalid_argument("Only training is supported")
  [[noreturn]] void predict(const InputFunction&) const;
  Trainer& trainer();  ///< made at first use

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softamp
