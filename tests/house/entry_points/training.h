// Entry points of precision/ and train/.
#pragma once

#include "softamp/precision/fp8_recipe.h"
#include "softamp/precision/graph_def.h"
#include "softamp/precision/graph_def_import.h"
#include "softamp/precision/loss_scale.h"
#include "softamp/precision/recipe.h"
#include "softamp/train/checkpoint.h"
#include "softamp/train/gpt.h"
#include "softamp/train/graphcore/estimator.h"
#include "softamp/train/keras/keras_model.h"
#include "softamp/train/keras/loss_scale_optimizer.h"
#include "softamp/train/layers.h"
#include "softamp/train/lost_updates.h"
#include "softamp/train/mindspore/loss_scale_manager.h"
#include "softamp/train/network_file.h"
#include "softamp/train/sampling.h"
#include "softamp/train/schedule.h"
#include "softamp/train/training_run.h"
#include "tests/house/entry_points/graphs.h"
#include "tests/train/cell_networks.h"
#include "tests/train/quiet_run.h"

namespace softamp::house {

inline std::string loss_scales() {
  LossScaleOptions o = LossScaleOptions::parse("tensorflow");
  o.growth = 1.7, o.backoff = 0.3, o.window = 1, o.initial = 0x1.234p3, o.min = 0x1p-149;
  LossScale scale(o);
  std::string text = all(o.to_json(), LossScaleOptions::parse("1.1^30").initial, LossScaleOptions::fixed(256).initial);
  for (int i = 0; i < 200; ++i) {
    scale.update({.finite = i % 3 == 0});
    text += shown(scale.scale());
  }
  o.initial = 0x1p-149;  // a subnormal number
  scale = LossScale(o);
  scale.set_state({.scale = 0x1p-140f});
  o.min = 0.1;
  return text +
         all(scale.scale(), error_of([&] { o.validate(); }), find_max_loss_scale([](double s) { return s > 1e6; }));
}

inline std::string a_report() {
  const GraphRewrite r = convert_bfloat16(awkward_graph(), Recipe::full());
  return all(r.report.low_share(), r.report.summary(), r.report.table(), r.report.csv(), r.report.latex(),
             r.report.json(), r.report.dot(), graph_json(r.graph));
}

inline std::string graph_defs() {
  const auto file = GraphDefFile::parse_text(
      "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } }\n"
      "       attr { key: \"a\" value { f: 0.1 } } attr { key: \"b\" value { f: 1e-45 } }\n"
      "       attr { key: \"c\" value { f: 0.30000001192092897 } } }");
  return all(file.text(), hash_text(file.binary().data(), file.binary().size()));
}

inline std::string imported_graphs() {
  const auto file = GraphDefFile::parse_text(
      "node { name: \"c\" op: \"Const\" attr { key: \"dtype\" value { type: DT_FLOAT } }\n"
      "       attr { key: \"value\" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } }\n"
      "                                           float_val: [0.1, 1e-45] } } } }\n"
      "node { name: \"s\" op: \"Shape\" input: \"c\" attr { key: \"T\" value { type: DT_FLOAT } } }\n"
      "node { name: \"n\" op: \"Cast\" input: \"s\" attr { key: \"DstT\" value { type: DT_HALF } } }\n"
      "node { name: \"y\" op: \"LeakyRelu\" input: \"c\" attr { key: \"alpha\" value { f: 0.1 } } }");
  return graph_json(import_graph(file).graph);
}

inline std::string hyperparameters() {
  std::string text;
  for (const DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32})
    for (const OptimizerKind kind : {OptimizerKind::kMomentum, OptimizerKind::kRmsProp, OptimizerKind::kAdamW}) {
      OptimizerOptions o = OptimizerOptions::of(kind);
      o.learning_rate = 0.1;
      o.epsilon = 5e-324;
      const Optimizer optimizer(o);
      for (const HyperparameterCheck& c : optimizer.check(t, 3)) text += all(c.got, c.doubtful, c.text());
      for (const int64_t step : {1, 7, 1000}) text += all(optimizer.rate(step, 3));
      GraphBuilder b;
      VariableStore store(b);
      const Variable v = store.create({"v", {2}, t, Initializer::glorot_uniform()});
      const Port rate = b.placeholder("rate", DType::kFloat32, {}), apply = b.placeholder("apply", DType::kBool, {});
      optimizer.apply_gradients(b, std::vector<GradientAndVariable>{{v.port, v}}, rate, apply);
      text += graph_json(b.build());
    }
  GradientClipping clipping;
  clipping.norm = 0x1p-126;
  clipping.validate();
  return text;
}

inline std::string first_values() {
  std::string text;
  for (const Initializer& i : {Initializer::glorot_uniform(), Initializer::normal(0.1, 0.3),
                               Initializer::uniform(0.1, 0.7), Initializer::truncated_normal(0.1, 1e-40)})
    for (const DType t : {DType::kFloat16, DType::kFloat32, DType::kFloat64})
      text += all(initial_value(i, {t, {3, 3, 5, 7}}, "a/kernel", 3), i.text());
  return text + all(fans_of({3, 5, 7, 9}).in);
}

inline TrainSettings small_settings(const std::string& more = "") {
  return TrainSettings::from_json(
      R"({"network": "lenet5", "generated": true, "train_images": 8, "test_images": 4, "batch_size": 4, "epochs": 1,
          "seed": 5, "optimizer": "adam", "learning_rate": 0.003, "precision": "float16", "loss_scale": "tensorflow",
          "threads": 3, "stochastic_rounding": "on")" +
      more + "}");
}

inline std::string a_training() {
  const std::string log = scratch_file("log"), checkpoint = scratch_file("c.npz");
  const RunSummary run = test::quiet_run(small_settings(), {.log = log, .checkpoint = checkpoint});
  const Checkpoint c = load_checkpoint(checkpoint);
  save_checkpoint(c, scratch_file("d.npz"));
  std::string text = all(run.losses, run.epoch_losses, run.weight_hashes, test::read_text(log), c.settings, c.progress,
                         test::read_text(checkpoint) == test::read_text(scratch_file("d.npz")));
  for (const Evaluation& e : run.evaluations) text += all(e.correct, e.loss, e.accuracy());
  return text;
}

inline std::string steps_of_a_trainer() {
  const TrainSettings s = small_settings(R"(, "replicas": 2)");
  ModelOptions options;
  options.batch_size = 3;
  options.precision = s.precision_value();
  Trainer trainer(build_model(lenet5(), options), s.trainer_options());
  const ImageSet set = generated_images(28, 28, 1, 12, 1).train;
  const std::vector<int64_t> indices[2] = {{0, 1, 2}, {3, 4, 5}};
  std::string text;
  for (int i = 0; i < 2; ++i) {
    std::vector<Batch> batches;
    for (const auto& some : indices) batches.push_back({normalise(set, some, DType::kFloat16), labels_of(set, some)});
    const StepResult r = trainer.step(batches);
    text += all(r.json(), r.loss, r.learning_rate, trainer.logits(batches[0].images), trainer.weight_hash(),
                trainer.forward(batches[0]).loss);
  }
  return text;
}

inline std::string an_estimator() {
  RunConfig config;
  config.features = {DType::kFloat32, {3, 5}};
  config.log_steps = 3;
  std::string text;
  config.on_log = [&](int64_t, double mean) { text += shown(mean); };
  Estimator estimator(
      [](VariableStore& store, Port features, Port labels, EstimatorMode) {
        const Port logits = layers::dense(store, features, 4);
        GraphBuilder& b = store.builder();
        const Port losses = b.add("SparseSoftmaxCrossEntropyWithLogits", {logits, labels});
        return EstimatorSpec{b.add("Mean", {losses}), OptimizerOptions::of(OptimizerKind::kSgd),
                             LossScaleOptions::none()};
      },
      config);
  estimator.train(
      [] {
        return Batch{initial_value(Initializer::normal(1), {DType::kFloat32, {3, 5}}, "x", 1),
                     Tensor(DType::kInt32, {3})};
      },
      7);
  return text;
}

inline std::string a_compiled_model() {
  MixedPrecisionContext precision;
  precision.set_global_policy("mixed_float16");
  KerasModel model(precision, [](LayerContext& context, Port x) {
    layers::Dense dense(context, 3, {.activation = "sigmoid"});
    return dense(x);
  });
  model.compile(KerasOptimizer{OptimizerOptions::of(OptimizerKind::kAdam)}, "binary_crossentropy",
                {.metrics = {"accuracy", "log_cosh"}});
  const Tensor x = initial_value(Initializer::normal(0.3), {DType::kFloat64, {5, 2}}, "x", 1),
               y = initial_value(Initializer::uniform(0, 1), {DType::kFloat32, {5, 3}}, "y", 1);
  std::string text;
  for (const auto& [name, values] :
       model.fit(x, y, {.batch_size = 3, .epochs = 2, .validation_x = &x, .validation_y = &y}))
    text += all(name, values);
  for (const auto& [name, value] : model.evaluate(x, y, 2)) text += all(name, value);
  return text + all(model.predict(x), model.trainer().weight_hash());
}

inline std::string cells_of_mindspore() {
  using namespace test;
  Scalar net(times, 0.3);
  OptimizerOptions o = sgd(0.1);
  cells::TrainOneStepCell step(net, o, 1000.1);
  std::string text = all(step(scalar_batch(0.1)));
  text += all(step.parameter("w"), step.last().loss);
  cells::DynamicLossScaleManager manager(1e6 + 0.1, 3, 1);
  for (int i = 0; i < 20; ++i) {
    manager.update_loss_scale(i % 4 != 0);
    text += shown(manager.get_loss_scale());
  }
  cells::Accuracy accuracy;
  accuracy.update(Tensor::from_values(DType::kFloat32, {3, 2}, std::vector<double>{0.1, 0.2, 0.3, 0.1, 0.5, 0.1}),
                  Tensor(DType::kInt32, {3}));
  return text + all(accuracy.eval());
}

inline std::string settings_as_text() {
  const TrainSettings s = TrainSettings::from_json(
      R"({"learning_rate": 0.30000000000000004, "clip_value": 5e-324, "optimizer": "adam", "epsilon": 1e-310})");
  s.validate();
  return all(s.to_json(), s.learning_rate, *s.clip_value, *s.epsilon, s.trainer_options().optimizer.epsilon,
             s.spelled_out().to_json(),
             error_of([] { TrainSettings::from_json(R"({"learning_rate": -0.1})").validate(); }));
}

inline std::string lost_updates() {
  const double small = 0x1p-1070;  // a subnormal number
  std::string text = all(LostUpdates{"w", DType::kFloat16, false, 9, 7, 3}.share());
  for (const DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32})
    for (const double update : {0x1p-12, -0x1p-25, 0x1.000001p-9, small, 0x1p-150})
      for (const double weight : {1.0, 0.0, 0x1p-149, -0x1.8p-14}) text += all(is_lost(t, weight, update));
  return text;
}

/// Its factors are roots of extents.
inline std::string a_recipe_of_blocks() {
  GraphBuilder b;
  VariableStore store(b);
  layers::dense(store, layers::dense(store, b.placeholder("x", DType::kFloat32, {3, 7}), 5), 2);
  return graph_json(quantize_products(b.build(), Fp8Recipe::find("unit_scaling")).graph);
}

inline std::vector<EntryPoint> training() {
  return {
      {"precision/fp8_recipe.h", "quantize_products", a_recipe_of_blocks},
      {"precision/loss_scale.h", "LossScale", loss_scales},
      {"precision/precision_report.h", "PrecisionReport", a_report},
      {"precision/recipe.h", "Recipe", [] { return all(Recipe::parse(Recipe::full().to_json()).to_json()); }},
      {"precision/graph_def.h", "GraphDefFile", graph_defs},
      {"precision/graph_def_import.h", "import_graph", imported_graphs},
      {"train/initializer.h", "initial_value", first_values},
      {"train/optimizer.h", "Optimizer", hyperparameters},
      {"train/gpt.h", "gpt",
       [] {
         GraphBuilder builder;
         VariableStore store(builder);
         gpt(gpt_tiny_options(5))(store, builder.placeholder("tokens", DType::kInt32, {1, 2}));
         return graph_json(builder.build());
       }},
      {"train/network_file.h", "parse_network",
       [] {
         const NetworkInfo info = parse_network(find_network("lenet5").json);
         ModelOptions options;
         options.image = info.image;
         return graph_json(build_model(info.build, options).graph);
       }},
      {"train/sampling.h", "draw_token",
       [] {
         return std::to_string(draw_token(std::vector<double>{0.1, 0.3, 0.2}, {0.7, 1}, 5));
       }},
      {"train/schedule.h", "rate",
       [] {
         return shortest_decimal(LearningRateSchedule{ScheduleKind::kCosine, 3, 17, 1e-5}.rate(1e-3, 9));
       }},
      {"train/models.h", "build_model", [] { return graph_json(build_model(lenet5(), ModelOptions()).graph); }},
      {"train/trainer.h", "Trainer", steps_of_a_trainer},
      {"train/training_run.h", "run_training", a_training},
      {"train/lost_updates.h", "is_lost, share", lost_updates},
      {"train/checkpoint.h", "save_checkpoint, load_checkpoint: in run_training's row", [] { return std::string(); }},
      {"train/train_settings.h", "from_json, to_json, validate", settings_as_text},
      {"train/graphcore/estimator.h", "Estimator::train", an_estimator},
      {"train/keras/keras_model.h", "fit, evaluate, predict", a_compiled_model},
      {"train/keras/loss_scale_optimizer.h", "get_config, from_config",
       [] {
         const LossScaleOptimizer o({.options = OptimizerOptions::of(OptimizerKind::kAdam)}, KerasLossScale{});
         return all(o.get_config(), LossScaleOptimizer::from_config(o.get_config()).get_config());
       }},
      {"train/mindspore/train_one_step.h", "TrainOneStepCell", cells_of_mindspore},
      {"train/mindspore/loss_scale_manager.h", "DynamicLossScaleManager", cells_of_mindspore},
      {"train/mindspore/amp_model.h", "Accuracy", cells_of_mindspore},
  };
}

}  // namespace softamp::house
