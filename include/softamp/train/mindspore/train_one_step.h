// MindSpore's training steps (MIXED_PRECISION M09, M12, M13, M15): a network with its loss, an optimizer, and one call
// a batch.
//
// The step underneath is a Trainer's (train/trainer.h): one graph computes loss and gradients, one unscales, looks for
// elements that are not finite, and updates. Node names show the phases of a step (phase_of, MIXED_PRECISION M03).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "softamp/precision/mixed_precision_context.h"
#include "softamp/train/mindspore/cell.h"
#include "softamp/train/mindspore/loss_scale_manager.h"
#include "softamp/train/trainer.h"

namespace softamp::cells {

/// What MindSpore sets for a whole process (set_context), here a value.
struct Context {
  enum class Mode : uint8_t {
    kGraph,     ///< the network is compiled by the first step
    kPynative,  ///< operation by operation; here the same graphs and the same numbers
  };
  Mode mode = Mode::kGraph;
  std::string device_target = "GPU";  ///< (CPU, GPU, Ascend) decides level "auto" and how overflows are found
  /// Refuse on a CPU what MindSpore refuses there: managers with an update cell (MIXED_PRECISION M19, TUTORIAL X9).
  bool strict = false;
  /// (gradients, status, both) [=on Ascend the sticky flag of the device, else a finite test of all gradients]
  std::optional<OverflowFrom> overflow_from{};
  LogSink log{};  ///< [=no log]
  /// Options of all runs. Arithmetic is IEEE 754's [=semantics], so that an overflow is infinite, as on these devices.
  ExecutorOptions executor = ieee_executor();

  static ExecutorOptions ieee_executor(uint64_t seed = 0);
  OverflowFrom overflow() const {
    return overflow_from.value_or(device_target == "Ascend" ? OverflowFrom::kStatus : OverflowFrom::kGradients);
  }
  /// Throws std::invalid_argument for another device_target.
  void validate() const;
};

/// An optimizer as MindSpore's constructors make it: with a loss scale by which it divides gradients, for steps that do
/// not divide (MIXED_PRECISION M20).
struct CellOptimizer {
  CellOptimizer(OptimizerOptions o, double scale = 1) : options(o), loss_scale(scale) {}
  OptimizerOptions options;
  double loss_scale;  ///< > 0, finite [=1]
};

/// What both steps share. The network is compiled by the first batch; later ones must have its types.
class TrainStep {
 public:
  virtual ~TrainStep();
  TrainStep(const TrainStep&) = delete;
  TrainStep& operator=(const TrainStep&) = delete;

  /// Builds graphs and first values for batches of this type before the first step. Throws GraphError, where the
  /// network does not fit.
  void compile(const TensorType& data, const TensorType& label);
  bool compiled() const;
  /// Parameters, in order of creation. These throw std::logic_error before the network is compiled.
  const std::vector<VariableSpec>& parameters() const;
  int64_t parameter_count() const;  ///< elements of all parameters
  const Tensor& parameter(std::string_view name) const;
  void set_parameter(std::string_view name, const Tensor& value);
  const Graph& gradient_graph() const;
  const Graph& update_graph() const;
  /// What the last step did; its loss is the mean of the elements of the loss.
  const StepResult& last() const;

 protected:
  struct Impl;
  explicit TrainStep(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// MIXED_PRECISION M09: gradients of the loss seeded with `sens`, then the optimizer, for any gradients; returns the
/// loss. The network must live as long as the step.
class TrainOneStepCell : public TrainStep {
 public:
  /// pass: acts on the forward graph, before it is differentiated [=none] (level O1). Throws std::invalid_argument:
  /// sens not positive and finite, options of optimizer or context.
  TrainOneStepCell(Cell& network_with_loss, const CellOptimizer& optimizer, double sens = 1,
                   const Context& context = {}, GraphPass pass = {});
  Tensor operator()(const Batch& batch);

 private:
  float sens_;
};

/// What a step under a loss scale returns.
struct LossScaleStep {
  Tensor loss;  ///< unscaled
  bool overflow = false;
  float scale = 1;  ///< that this step used
};

/// MIXED_PRECISION M12: gradients are multiplied by the reciprocal of the scale in their dtype; after an overflow
/// (Context::overflow) the optimizer does not run. The update cell is told.
class TrainOneStepWithLossScaleCell : public TrainStep {
 public:
  /// scale_sense: a cell that moves the scale, or a scale as a float32 tensor of shape () or (1,), which is kept until
  /// set_sense_scale. Throws std::invalid_argument for another tensor, a null cell, and as TrainOneStepCell.
  using ScaleSense = std::variant<std::shared_ptr<LossScaleUpdateCell>, Tensor>;
  TrainOneStepWithLossScaleCell(Cell& network_with_loss, const CellOptimizer& optimizer, ScaleSense scale_sense,
                                const Context& context = {}, GraphPass pass = {});
  LossScaleStep operator()(const Batch& batch);
  void set_sense_scale(const Tensor& scale);
  float scale_sense() const;

 private:
  std::shared_ptr<LossScaleUpdateCell> cell_;
  float scale_ = 1;
};

}  // namespace softamp::cells
