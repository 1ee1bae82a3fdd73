#include "src/reproduce/training/loss_scaling_runs.h"

#include <algorithm>
#include <cmath>

#include "softamp/data/images.h"
#include "softamp/data/sampler.h"
#include "softamp/train/trainer.h"

namespace softamp::reproduce {
namespace {

Trainer make_trainer(const RunSetup& setup, const char* precision, const LossScaleOptions& scale) {
  ModelOptions model;
  model.batch_size = setup.batch;
  model.image = {setup.image, setup.image, 1};
  model.precision = Precision::parse(precision);
  TrainerOptions options;
  options.executor.seed = setup.seed;
  options.executor.config.floating_point_behaviour.nanoo = true;  // so that an overflow is recognised
  options.optimizer = OptimizerOptions::of(OptimizerKind::kMomentum);
  options.optimizer.learning_rate = setup.rate;
  options.loss_scale = scale;
  return Trainer(build_model(small_cnn(), model), options);
}

/// The batches of a run, the same for all runs.
class Batches {
 public:
  Batches(const RunSetup& setup, DType dtype)
      : sets_(generated_images(setup.image, setup.image, 1, setup.images, 1)),
        sampler_(setup.images, setup.batch, true, setup.seed),
        dtype_(dtype) {}
  Batch at(uint64_t step) const {
    const std::vector<int64_t> indices = sampler_.batch(static_cast<int64_t>(step));
    return {normalise(sets_.train, indices, dtype_), labels_of(sets_.train, indices)};
  }

 private:
  ImageSets sets_;
  Sampler sampler_;
  DType dtype_;
};

/// A tensor of the backward pass that belongs to an activation: it has a row for each image, which none of a weight has
/// (its first extent is not the batch). Nodes that only pass a tensor on are not counted again.
bool is_activation_gradient(std::string_view phase, const Node& node, const TensorType& type, int64_t batch) {
  if (phase != "backward" || node.op == "Reshape" || node.op == "Identity" || node.op == "Cast") return false;
  return type.shape.rank() >= 2 && type.shape[0] == batch && type.dtype <= DType::kFloat32;
}

/// A gradient of a variable at the end of the backward pass: recognised by its shape.
bool is_weight_gradient(std::string_view phase, const Node& node, const TensorType& type, const Model& model) {
  if (phase != "backward" || node.op == "Reshape" || node.op == "Identity" || node.op == "Cast") return false;
  if (type.dtype != DType::kFloat32 || type.shape.rank() < 1) return false;
  return std::any_of(model.variables.begin(), model.variables.end(),
                     [&](const VariableSpec& v) { return v.type.shape == type.shape; });
}

}  // namespace

double ScaleRun::last_quarter() const {
  const size_t quarter = (losses.size() + 3) / 4;
  double sum = 0;
  for (size_t i = losses.size() - quarter; i < losses.size(); ++i) sum += losses[i];
  return sum / static_cast<double>(quarter);
}

Gradients reference_gradients(const RunSetup& setup, const Told& told) {
  Trainer trainer = make_trainer(setup, "float32", LossScaleOptions::none());
  const Batches batches(setup, DType::kFloat32);
  Gradients gradients;
  bool looking = false;
  trainer.observe(
      [&](std::string_view phase, int, uint32_t, const Node& node, int, const TensorType& type, const void* data) {
        if (!looking) return;
        const auto* values = static_cast<const float*>(data);
        const auto keep = [&](std::vector<float>& where) {
          where.insert(where.end(), values, values + type.shape.elements());
        };
        if (is_activation_gradient(phase, node, type, setup.batch)) keep(gradients.activations);
        if (is_weight_gradient(phase, node, type, trainer.model())) keep(gradients.weights);
      });
  for (uint64_t step = 0; step <= setup.steps; ++step) {
    told(static_cast<double>(step) / static_cast<double>(setup.steps + 1));
    looking = step == setup.steps;
    const Batch batch = batches.at(step);
    trainer.step({&batch, 1});
  }
  return gradients;
}

ScaleRun run_at_scale(const RunSetup& setup, int exponent, const Told& told) {
  ScaleRun run;
  run.scale = std::ldexp(1.0, exponent);
  LossScaleOptions scale = LossScaleOptions::fixed(run.scale);
  scale.skip_overflowed = true;
  Trainer trainer = make_trainer(setup, "mixed", scale);
  const Batches batches(setup, DType::kFloat16);
  bool looking = false;
  int64_t zeros = 0, all = 0;
  trainer.observe(
      [&](std::string_view phase, int, uint32_t, const Node& node, int, const TensorType& type, const void* data) {
        if (!looking || type.dtype != DType::kFloat16 || !is_activation_gradient(phase, node, type, setup.batch))
          return;
        const auto* codes = static_cast<const uint16_t*>(data);
        for (int64_t i = 0; i < type.shape.elements(); ++i) zeros += kFp16.is_zero(codes[i]);
        all += type.shape.elements();
      });
  for (uint64_t step = 0; step < setup.steps; ++step) {
    told(static_cast<double>(step) / static_cast<double>(setup.steps));
    looking = step + 1 == setup.steps;
    const Batch batch = batches.at(step);
    const StepResult result = trainer.step({&batch, 1});
    run.losses.push_back(result.loss);
    run.skipped += !result.applied;
  }
  run.zero_share = all > 0 ? static_cast<double>(zeros) / static_cast<double>(all) : 0;
  return run;
}

}  // namespace softamp::reproduce
