// MindSpore's Model: network, loss, optimizer and a level of automatic mixed precision in one object
// (MIXED_PRECISION M01, M02, M04, M18 to M20).
//
//   LeNet5 network;
//   cells::SoftmaxCrossEntropyWithLogits loss(false, cells::Reduction::kMean);
//   cells::AmpModelOptions options;
//   options.amp_level = AmpLevel::kO2;
//   cells::AmpModel model(network, &loss, momentum, options);
//   model.train(10, dataset);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "softamp/precision/amp_level.h"
#include "softamp/train/mindspore/cell_dataset.h"
#include "softamp/train/mindspore/train_one_step.h"

namespace softamp::cells {

class Metric {
 public:
  virtual ~Metric() = default;
  virtual void clear() = 0;
  virtual void update(const Tensor& logits, const Tensor& labels) = 0;
  virtual double eval() const = 0;
};

/// MIXED_PRECISION M18: the share of rows whose greatest logit (the first among equals; a NaN is no maximum) is the
/// label. Labels: int32 [batch], or of the logits' shape, whose greatest is the class.
class Accuracy : public Metric {
 public:
  void clear() override;
  /// Throws std::invalid_argument for other shapes.
  void update(const Tensor& logits, const Tensor& labels) override;
  double eval() const override;  ///< throws std::runtime_error where nothing was counted

 private:
  int64_t correct_ = 0, total_ = 0;
};

struct AmpModelOptions {
  std::map<std::string, std::shared_ptr<Metric>> metrics{};  ///< for eval, by name
  AmpLevel amp_level = AmpLevel::kO0;
  Context context{};

  // What overrides the level. keep_batchnorm_fp32: [=true, at O3 too, as Model passes it; at O0 nothing to keep]
  std::optional<bool> keep_batchnorm_fp32{};
  std::optional<DType> cast_model_type{};  ///< (float16, bfloat16, float32)
  /// Null: none, for any level [=the level's: O2 a DynamicLossScaleManager, others none]
  std::optional<std::shared_ptr<LossScaleManager>> loss_scale_manager{};

  using Override = std::variant<bool, DType, std::shared_ptr<LossScaleManager>>;
  /// The three by name, as Model's keyword arguments. Throws std::invalid_argument "Unsupported arg '<name>'" for
  /// another, and for a value of another kind.
  AmpModelOptions& set(std::string_view name, Override value);
};

class AmpModel {
 public:
  /// network: (data) -> logits, or, where loss_fn is null, (data, label) -> loss; both must live as long as the model,
  /// and take the precision of the level by to_float. Throws std::invalid_argument: level `auto` on a CPU; under
  /// Context::strict on a CPU a manager with an update cell: "Only `loss_scale_manager=None` or
  /// `loss_scale_manager=FixedLossScaleManager(drop_overflow_update=False)`are supported on device `CPU`. ".
  AmpModel(Cell& network, Cell* loss_fn, const CellOptimizer& optimizer, AmpModelOptions options = {});

  /// Runs epochs x dataset.size() steps. on_step is called after each; false stops.
  void train(int64_t epochs, const GeneratorDataset& dataset,
             const std::function<bool(int64_t epoch, const StepResult& step)>& on_step = {});
  /// One step.
  const StepResult& train_on(const Batch& batch);
  /// All metrics over the dataset, with the current parameters; norms use their averages. Throws std::invalid_argument
  /// without metrics or loss_fn (the network then gives no logits).
  std::map<std::string, double> eval(const GeneratorDataset& dataset);
  /// The network's output; where it computes in 16 bits, cast to float32.
  Tensor predict(const Tensor& data);

  const AmpSettings& settings() const { return settings_; }
  /// The step underneath: TrainOneStepWithLossScaleCell where the manager has an update cell.
  TrainStep& step() { return *step_; }
  bool has_loss_scale_cell() const { return scaled_ != nullptr; }
  float loss_scale() const;

 private:
  Executor& prediction_for(const TensorType& data);

  Cell& network_;
  AmpModelOptions options_;
  AmpSettings settings_;
  GraphPass pass_;
  std::unique_ptr<WithLossCell> with_loss_;
  std::unique_ptr<TrainStep> step_;
  TrainOneStepCell* plain_ = nullptr;
  TrainOneStepWithLossScaleCell* scaled_ = nullptr;
  float sens_ = 1;
  std::unique_ptr<Executor> prediction_;
  TensorType predicts_;
};

}  // namespace softamp::cells
