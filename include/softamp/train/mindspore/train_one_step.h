// MindSpore's training steps (MIXED_PRECISION M09, M12, M13, M15): a network with its loss, an optimizer, and one call
// a batch.
//
// The step underneath is a Trainer's (train/trainer.h): one graph computes loss and gradients, one unscales, looks for
// elements that are not finite, and updates. Node names show the phases of a step (phase_of, MIXED_PRECISION M03).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "softamp/precision/kernel_select.h"
#include "softamp/precision/mixed_precision_context.h"
#include "softamp/train/mindspore/cell.h"
#include "softamp/train/mindspore/loss_scale_manager.h"
#include "softamp/train/trainer.h"

namespace softamp::cells {

/// An operation that has just run, in mode kPynative. All that it refers to lives until the call ends.
struct OperationRun {
  enum class Of : uint8_t { kTraining, kPrediction };
  Of of;
  uint32_t execution;  ///< of a step s: 2 s loss and gradients, 2 s + 1 the update; of a prediction 0 (N292)
  const Node& node;    ///< name (phase_of says the phase), operation, attributes
  std::span<const Tensor* const> inputs;  ///< null: an optional input that is left out
  std::span<const Tensor> outputs;        ///< of Assign: the value, which the variable takes when the step ends
};

/// What MindSpore sets for a whole process (set_context), here a value.
struct Context {
  /// The bits are the same in both.
  enum class Mode : uint8_t {
    kGraph,  ///< the first step compiles the network: graphs are planned whole, and what does not run is refused then
    /// Operation by operation: each runs by itself, in an executor of its own that is made when a step first arrives
    /// there, and after_operation can look into the step and stop it. Slower.
    kPynative,
  };
  Mode mode = Mode::kGraph;
  /// kPynative: called after each operation of training steps and predictions, in the order of the graph, not for
  /// placeholders, constants and variables. False, or an exception, ends the step: false with RunStopped (graph/
  /// executor.h). Such a step was not made: parameters, slots, averages of norms, the loss scale and the counters are
  /// as before it, and the next step draws the random bits that this one drew.
  using AfterOperation = std::function<bool(const OperationRun&)>;
  AfterOperation after_operation{};
  std::string device_target = "GPU";  ///< (CPU, GPU, Ascend) decides level "auto" and how overflows are found
  /// As MindSpore: what it refuses is refused, on a CPU managers with an update cell (MIXED_PRECISION M19, TUTORIAL
  /// X9), everywhere bfloat16 in cells and as cast_model_type (the network's cells are set_strict); and the default
  /// manager is strict, as one's own must be said to be (loss_scale_manager.h).
  bool strict = false;
  /// (gradients, status, both) [=on Ascend the sticky flag of the device, else a finite test of all gradients]
  std::optional<OverflowFrom> overflow_from{};
  /// What the device computes in, where that is not every operation in all its dtypes: each graph that is made for
  /// training or prediction runs as select_kernels says (kernel_select.h), which casts around operations and writes a
  /// line to `log` for each. Of a model of one's own, or product_kernels() [=every operation in all its dtypes].
  std::vector<KernelInfo> kernels{};
  bool enable_reduce_precision = true;  ///< kernels narrower than the operation may be chosen [=true, as MindSpore's]
  LogSink log{};                        ///< [=no log]
  /// Options of all runs. Arithmetic is IEEE 754's [=semantics], so that an overflow is infinite, as on these devices.
  ExecutorOptions executor = ieee_executor();

  static ExecutorOptions ieee_executor(uint64_t seed = 0);
  OverflowFrom overflow() const {
    return overflow_from.value_or(device_target == "Ascend" ? OverflowFrom::kStatus : OverflowFrom::kGradients);
  }
  /// Throws std::invalid_argument: another device_target or mode; after_operation with kGraph, which has no moment
  /// between two operations; kPynative with random bits of xoroshiro128aox, which have no address.
  void validate() const;
};

/// An optimizer as MindSpore's constructors make it: with a loss scale by which it divides gradients, for steps that do
/// not divide (MIXED_PRECISION M20).
struct CellOptimizer {
  CellOptimizer(OptimizerOptions o, double scale = 1) : options(o), loss_scale(scale) {}
  OptimizerOptions options;
  double loss_scale;  ///< > 0, finite [=1]
};

/// What both steps share. The network is compiled by the first batch; later ones must have its types. A step that ends
/// with an exception was not made: all that it would change is as before.
class TrainStep {
 public:
  virtual ~TrainStep();
  TrainStep(const TrainStep&) = delete;
  TrainStep& operator=(const TrainStep&) = delete;

  /// Builds graphs and first values for batches of this type before the first step. Throws GraphError, where the
  /// network does not fit, and as select_kernels, where no kernel of the context fits.
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
