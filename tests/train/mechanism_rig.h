// Networks, runs and figures of tests that train under mechanisms of mixed precision.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "softamp/data/sampler.h"
#include "softamp/precision/mechanism.h"
#include "softamp/train/layers.h"
#include "softamp/train/training_run.h"
#include "tests/train/quiet_run.h"

namespace softamp::mechanisms {

using Json = nlohmann::ordered_json;
using test::quiet_run;

constexpr DType kF16 = DType::kFloat16, kF32 = DType::kFloat32;
constexpr int64_t kBatch = 8;

inline const std::vector<std::string> kAll = {"tensorflow=2.3",
                                              "tensorflow=2019",
                                              "recipe=basic",
                                              "recipe=full",
                                              "recipe=full,dtype=fp16",
                                              "policy=mixed_float16",
                                              "policy=mixed_bfloat16",
                                              "policy=float16",
                                              "level=O1",
                                              "level=O2",
                                              "level=O3",
                                              "level=O2,dtype=bf16"};

inline bool is_low(DType t) { return t == kF16 || t == DType::kBFloat16; }

/// 12x12 images through every kind of layer: convolutions, norms, a residual sum, pooling, products.
inline Port tiny_network(VariableStore& store, Port x) {
  x = layers::conv2d(store, x, 4, {.relu = true});
  x = layers::batch_norm(store, x);
  x = layers::residual_block(store, x, 4, "block1");
  x = layers::max_pool(store, x, 2, 2);
  x = layers::downsample_block(store, x, 8, "block2");
  x = layers::group_norm(store, x, {.groups = 2});
  x = layers::relu(store, x);
  return layers::dense(store, layers::global_average_pool(store, x), 10);
}

inline ModelOptions tiny_options() {
  ModelOptions options;
  options.batch_size = kBatch;
  options.image = {12, 12, 1};
  return options;
}

inline Model tiny_model(const std::string& mechanism = "none") {
  ModelOptions options = tiny_options();
  const Mechanism m = Mechanism::parse(mechanism);
  options.layers = m.layer_rule();
  options.mechanism = m.text();
  return build_model(tiny_network, options);
}

inline TrainerOptions tiny_trainer(const std::string& mechanism = "none") {
  const Mechanism m = Mechanism::parse(mechanism);
  TrainerOptions o;
  o.executor.seed = 3;
  o.executor.config.floating_point_behaviour.nanoo = true;
  o.loss_scale = m.loss_scale();
  if (m.rewrites()) o.pass = m.pass();
  return o;
}

inline std::vector<Batch> batches_of(int64_t first, int count) {
  static const ImageSets sets = generated_images(12, 12, 1, 64, 16);
  const Sampler sampler(sets.train.count, kBatch);
  std::vector<Batch> batches;
  for (int64_t b = first; b < first + count; ++b) {
    const std::vector<int64_t> indices = sampler.batch(b);
    batches.push_back({normalise(sets.train, indices, kF32), labels_of(sets.train, indices)});
  }
  return batches;
}

/// So many steps of one trainer; its weights afterwards.
inline std::string weights_after(Trainer& trainer, int steps) {
  const int count = trainer.options().replicas * trainer.options().accumulation;
  for (int s = 0; s < steps; ++s) trainer.step(batches_of(s * count, count));
  return trainer.weight_hash();
}

/// The dtype of output 0 of a node; "" where there is no such node.
inline std::string dtype(const Graph& graph, const std::string& name) {
  const int n = graph.find(name);
  return n < 0 ? "" : name_of(graph.node(n).outputs[0].dtype);
}

inline TrainSettings small(const std::string& mechanism, const std::string& more = "{}") {
  Json json = Json::parse(R"({"network": "small_resnet", "generated": true, "train_images": 128, "test_images": 64,
                              "batch_size": 16, "epochs": 1, "seed": 5, "evaluate": false, "threads": 1})");
  json["mechanism"] = mechanism;
  return test::settings_over(std::move(json), more);
}

/// A network that learns generated images of 12x12 in a second, with every kind of layer that mechanisms tell apart.
inline Port learner(VariableStore& store, Port x) {
  x = layers::max_pool(store, layers::conv2d(store, x, 8, {.relu = true}), 2, 2);
  x = layers::residual_block(store, layers::batch_norm(store, x), 8, "block1");
  x = layers::downsample_block(store, x, 16, "block2");
  return layers::dense(store, layers::flatten(store, x), 10);
}

struct Learned {
  double loss = 0;  ///< mean cross-entropy on the test images
  int64_t skipped = 0;
};

/// 160 steps of 16 images under the mechanism's own loss scale.
inline Learned learn(const std::string& mechanism, uint64_t seed) {
  constexpr int64_t kImages = 16, kSteps = 160, kTest = 256;
  static const ImageSets sets = generated_images(12, 12, 1, 512, kTest);
  const Mechanism m = Mechanism::parse(mechanism);
  ModelOptions options;
  options.batch_size = kImages;
  options.image = {12, 12, 1};
  options.layers = m.layer_rule();
  options.mechanism = m.text();
  TrainerOptions o = tiny_trainer(mechanism);
  o.executor.seed = seed;
  o.executor.threads = 1;
  o.optimizer.learning_rate = 0.004;
  Trainer trainer(build_model(learner, options), o);
  Learned result;
  const Sampler sampler(sets.train.count, kImages, true, seed);
  for (int64_t step = 0; step < kSteps; ++step) {
    const std::vector<int64_t> indices = sampler.batch(step);
    const Batch batch{normalise(sets.train, indices, kF32), labels_of(sets.train, indices)};
    result.skipped += !trainer.step({&batch, 1}).applied;
  }
  for (int64_t first = 0; first < kTest; first += kImages) {
    std::vector<int64_t> indices(kImages);
    for (int64_t i = 0; i < kImages; ++i) indices[static_cast<size_t>(i)] = first + i;
    const Tensor logits = trainer.logits(normalise(sets.test, indices, kF32));
    for (int64_t i = 0; i < kImages; ++i) {
      const int32_t label = sets.test.labels[static_cast<size_t>(first + i)];
      double sum = 0;
      for (int64_t c = 0; c < 10; ++c) sum += std::exp(logits.value(i * 10 + c));
      result.loss += (std::log(sum) - logits.value(i * 10 + label)) / kTest;
    }
  }
  return result;
}

/// A network that is sound in float32 and in float16 products, with two steps that float16 has not the range for:
/// images of 0 .. 255 divided by the root of their sum of squares, and a loss by softmax and logarithm of its own.
inline Model sensitive_model() {
  Model m;
  GraphBuilder b;
  const Port images = b.placeholder(m.images, kF32, {16, 12, 12, 1});
  const Port labels = b.placeholder(m.labels, DType::kInt32, {16});
  VariableStore store(b);
  const auto number = [&b](double x) { return b.constant(Tensor::full(kF32, {}, x)); };
  Port x;
  {
    const auto scope = b.scope("normalise");
    const Port pixels = b.add("Mul", {images, number(255)});
    const Port sum =
        b.add("Sum", {b.add("Square", {pixels})}, {{"axes", std::vector<int64_t>{1, 2, 3}}, {"keep_dims", true}});
    x = b.add("Mul", {b.add("Mul", {pixels, b.add("Rsqrt", {sum})}), number(12)});
  }
  x = layers::max_pool(store, layers::conv2d(store, x, 8, {.relu = true}), 2, 2);
  x = b.add_named(m.logits, "Identity", {layers::dense(store, layers::flatten(store, x), 10)}, {});
  {
    const auto scope = b.scope("loss_fn");
    const Port classes = b.add("OneHot", {labels}, {{"depth", int64_t{10}}});
    const Port log = b.add("Log", {b.add("Softmax", {b.add("Mul", {x, number(3)})})});
    x = b.add("Neg", {b.add("Sum", {b.add("Mul", {classes, log})}, {{"axes", std::vector<int64_t>{1}}})});
  }
  b.add_named(m.loss, "Mean", {x}, {});
  m.variables = store.variables();
  m.graph = b.build();
  return m;
}

/// The mean loss of the last 16 of 96 steps, and the report.
inline std::pair<double, PrecisionReport> sensitive_run(const std::string& mechanism) {
  static const ImageSets sets = generated_images(12, 12, 1, 512, 16);
  TrainerOptions o = tiny_trainer(mechanism);
  o.loss_scale = LossScaleOptions::none();
  o.executor.threads = 1;
  Trainer trainer(sensitive_model(), o);
  const Sampler sampler(sets.train.count, 16);
  double loss = 0;
  for (int64_t step = 0; step < 96; ++step) {
    const std::vector<int64_t> indices = sampler.batch(step);
    const Batch batch{normalise(sets.train, indices, kF32), labels_of(sets.train, indices)};
    const double l = trainer.step({&batch, 1}).loss;
    if (step >= 80) loss += l / 16;
  }
  return {loss, trainer.precision_report().value_or(PrecisionReport{})};
}

}  // namespace softamp::mechanisms
