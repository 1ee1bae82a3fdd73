// Small models for tests of Trainer, their batches and options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "softamp/data/images.h"
#include "softamp/data/sampler.h"
#include "softamp/train/layers.h"
#include "softamp/train/trainer.h"
#include "tests/graph/executor_check.h"
#include "tests/train/sgd.h"

namespace softamp::test {

inline constexpr int64_t kRigBatch = 8;

/// 8x8 images: conv, pool, dense: every kind of layer in milliseconds.
inline Port three_layers(VariableStore& store, Port x) {
  x = layers::conv2d(store, x, 4, {.relu = true});
  x = layers::max_pool(store, x, 2, 2);
  return layers::dense(store, layers::flatten(store, x), 10);
}

inline Model three_layer_model(std::string_view precision) {
  ModelOptions options;
  options.batch_size = kRigBatch;
  options.image = {8, 8, 1};
  options.precision = Precision::parse(precision);
  return build_model(three_layers, options);
}

inline const ImageSet& rig_images() {
  static const ImageSets sets = generated_images(8, 8, 1, 64, 16);
  return sets.train;
}

inline std::vector<Batch> rig_batches(int64_t first, int count, DType dtype) {
  std::vector<Batch> batches;
  const Sampler sampler(rig_images().count, kRigBatch);
  for (int64_t b = first; b < first + count; ++b) {
    const std::vector<int64_t> indices = sampler.batch(b);
    batches.push_back({normalise(rig_images(), indices, dtype), labels_of(rig_images(), indices)});
  }
  return batches;
}

inline TrainerOptions rig_options(const LossScaleOptions& scale = LossScaleOptions::none()) {
  TrainerOptions o;
  o.executor.seed = 3;
  o.loss_scale = scale;
  o.hash_weights = true;
  return o;
}

inline void set_esr(TrainerOptions& o, StochasticRoundingBehaviour mode, bool stability = false) {
  o.executor.config.floating_point_behaviour.esr = mode;
  o.executor.config.experimental.enable_prng_stability = stability;
}

/// So many steps; the results.
inline std::vector<StepResult> train_steps(Trainer& trainer, int steps, int64_t first = 0) {
  std::vector<StepResult> results;
  const int count = trainer.options().replicas * trainer.options().accumulation;
  for (int s = 0; s < steps; ++s) {
    const std::vector<Batch> b = rig_batches((first + s) * count, count, trainer.model().precision.compute);
    results.push_back(trainer.step(b));
  }
  return results;
}

inline std::vector<StepResult> train_steps(std::string_view precision, const TrainerOptions& options, int steps) {
  Trainer trainer(three_layer_model(precision), options);
  return train_steps(trainer, steps);
}

inline std::string step_lines(const std::vector<StepResult>& results) {
  std::string text;
  for (const StepResult& r : results) text += r.json() + "\n";
  return text;
}

/// A model of one weight: loss = mean(w * x) over a batch of images [n, 1, 1, 1]; its gradient is the mean of x.
inline Model one_weight_model(DType compute, DType parameters, int64_t batch = 1) {
  GraphBuilder b;
  Model m;
  m.precision = {"test", compute, parameters};
  const Port x = b.placeholder("images", compute, {batch, 1, 1, 1});
  b.placeholder("labels", DType::kInt32, {batch});
  VariableStore store(b);
  {
    const auto scope = store.scope("net", compute == parameters ? VariableStore::Getter{} : float32_parameters());
    const NodeOutput w = store.get({"w", {}, compute, Initializer::ones(), true});
    const Port y = b.add("Mul", {x, w.port}, {}, "y");
    b.add("Identity", {b.add("Reshape", {y}, {{"shape", std::vector<int64_t>{batch, 1}}})}, {}, "logits");
  }
  Port logits = b.graph().port("net/logits");
  if (compute != DType::kFloat32) logits = b.add("Cast", {logits}, {{"DstT", DType::kFloat32}}, "loss_fn/logits_cast");
  b.add("Mean", {logits}, {}, "loss");
  m.logits = "net/logits";
  m.variables = store.variables();
  m.graph = b.build();
  return m;
}

inline Batch one_number_batch(DType dtype, double x, int64_t batch = 1) {
  return {Tensor::full(dtype, {batch, 1, 1, 1}, x), Tensor(DType::kInt32, {batch})};
}

/// What a step of batches of one number each takes off the weight.
inline double taken_off(Trainer& trainer, DType dtype, const std::vector<double>& values) {
  const double before = trainer.variable("net/w").value(0);
  std::vector<Batch> batches;
  for (const double v : values) batches.push_back(one_number_batch(dtype, v));
  trainer.step(batches);
  return before - trainer.variable("net/w").value(0);
}

}  // namespace softamp::test
