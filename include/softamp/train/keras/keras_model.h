// Keras' Model: compile, fit, evaluate, predict, for a network of layers, any loss and any labels.
//
//   MixedPrecisionContext precision;
//   KerasModel model(precision, [](LayerContext& context, Port x) {
//     layers::Dense hidden(context, 64, {.activation = "relu"}), out(context, 64, {.activation = "softmax"});
//     return out(hidden(x));
//   });
//   model.compile(KerasOptimizer{OptimizerOptions::of(OptimizerKind::kSgd)}, "mse");
//   const History history = model.fit(x, y, {.batch_size = 32, .epochs = 20});
//
// The mechanism that is on in the context acts: the global policy on the layers, TensorFlow's rewrite or Gaudi's recipe
// on the finished graph of a step. Under mixed_float16 the optimizer is wrapped in a dynamic loss scale
// (MIXED_PRECISION K23). The arithmetic is Keras': an overflow is infinite, unless CompileOptions::trainer has another
// preset or semantics, or nanoo. evaluate and predict normalise by moving averages, as layers have them. A loss that
// becomes NaN is a warning in the context's log. Everything that a Trainer can do besides (replicas, accumulation,
// state, observers) is trainer(); what decides the bits is in CompileOptions::trainer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "softamp/train/keras/layer_classes.h"
#include "softamp/train/keras/loss_scale_optimizer.h"
#include "softamp/train/losses.h"

namespace softamp {

/// By name, one value for each epoch: "loss", with validation data "val_loss" and "val_" + metric.
using History = std::map<std::string, std::vector<double>>;

struct CompileOptions {
  /// Computed by `evaluate`: "accuracy" (the greatest output is the label, or the greatest label; of one output: its
  /// side of 1 / 2 is the label), and every name of a loss (losses.h) [=none].
  std::vector<std::string> metrics{};
  bool loss_in_float32 = true;  ///< outputs of 16 bits are cast to float32 before the loss
  /// Executor (seed, behaviour, threads, backend), clipping and strictness; optimizer, loss scale and pass are set by
  /// compile. replicas and accumulation are 1: others are a Trainer's own.
  TrainerOptions trainer{};
};

struct FitOptions {
  int64_t batch_size = 32;               ///< >= 1; the last batch of an epoch has what is left
  int64_t epochs = 1;                    ///< >= 0
  bool shuffle = true;                   ///< another order in every epoch, from the executor's seed (data/sampler.h)
  const Tensor* validation_x = nullptr;  ///< evaluated after every epoch, with the labels beside it [=none]
  const Tensor* validation_y = nullptr;
  bool progress = true;  ///< a line on standard error where that is a terminal
  /// After each step, and after each epoch with the last values of the history; false ends the training.
  std::function<bool(const StepResult& step)> on_step{};
  std::function<bool(int64_t epoch, const std::map<std::string, double>& values)> on_epoch{};
};

class KerasModel {
 public:
  /// The network is built at the first fit or evaluate, when the types of x and y are known, once for every batch size.
  /// `precision` must outlive the model.
  KerasModel(MixedPrecisionContext& precision, LayerNetwork network);
  ~KerasModel();
  KerasModel(const KerasModel&) = delete;
  KerasModel& operator=(const KerasModel&) = delete;

  /// Begins anew: variables get their first values. Throws std::invalid_argument for an unknown loss or metric, an
  /// optimizer that Keras cannot wrap, and options that a Trainer refuses or that are compile's to set.
  void compile(const AnyOptimizer& optimizer, const AnyLoss& loss, CompileOptions options = {});

  /// Trains on the samples x[i], y[i] of axis 0, and continues where the last call ended. int64 and uint8 become int32;
  /// everything else is fed as it is. "loss" is the mean over the epoch's samples, of each batch before its update; a
  /// batch whose update is skipped counts. An epoch that on_step ends is not in the history. Throws std::logic_error
  /// before compile; std::invalid_argument where x and y do not go together, are empty, strings, an int64 that no int32
  /// holds (with its place), or of other types than in the call before; and as Trainer::step does.
  History fit(const Tensor& x, const Tensor& y, const FitOptions& options = {});

  /// "loss" and the metrics, rounded to nearest, with the present variables: means over all samples. Throws as fit.
  std::map<std::string, double> evaluate(const Tensor& x, const Tensor& y, int64_t batch_size = 32);
  /// The outputs for all samples of x. Throws as fit; std::logic_error before the first fit or evaluate.
  Tensor predict(const Tensor& x, int64_t batch_size = 32);

  /// The trainer of the last batch size: it holds the present variables. Throws std::logic_error before the first fit
  /// or evaluate.
  Trainer& trainer();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softamp
