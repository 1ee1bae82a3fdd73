// What the default of each system does with an overflow: the step is left out, and the scale falls. No test here says
// which arithmetic it wants, except those of the refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "softamp/train/graphcore/estimator.h"
#include "softamp/train/keras/keras_model.h"
#include "softamp/train/mindspore/amp_model.h"
#include "softamp/train/train_settings.h"
#include "tests/train/trainer_rig.h"

namespace softamp::test {
namespace {

using enum DType;

KerasOptimizer descent() { return KerasOptimizer{sgd(1)}; }

/// One step of a Dense layer of 8 that meets 100 and shall give -10000: its gradient, scaled, does not fit float16.
struct Fitted {
  StepResult step;
  double moved = 0;  ///< of kernel[0]
};
Fitted fitted(MixedPrecisionContext& precision, const AnyOptimizer& optimizer, CompileOptions options = {}) {
  KerasModel model(precision, [](LayerContext& context, Port x) {
    layers::Dense dense(context, 8);
    return dense(x);
  });
  model.compile(optimizer, "mse", std::move(options));
  const Tensor x = Tensor::full(kFloat32, {1, 1}, 100), y = Tensor::full(kFloat32, {1, 8}, -10000);
  model.evaluate(x, y);
  const double before = model.trainer().variable("dense/kernel").value(0);
  Fitted result;
  FitOptions fit;
  fit.on_step = [&](const StepResult& step) {
    result.step = step;
    return true;
  };
  model.fit(x, y, fit);
  result.moved = model.trainer().variable("dense/kernel").value(0) - before;
  return result;
}

void expect_skipped(const Fitted& f) {
  EXPECT_FALSE(f.step.applied);
  EXPECT_EQ(f.step.scale_before, 32768);
  EXPECT_EQ(f.step.scale_after, 16384);
  EXPECT_GT(f.step.nonfinite, 0);
  EXPECT_EQ(f.moved, 0);
}

TEST(SystemArithmetic, TensorFlowsRewriteSkipsAnOverflow) {
  MixedPrecisionContext precision;
  expect_skipped(fitted(precision, enable_mixed_precision_graph_rewrite(precision, AnyOptimizer(descent()))));
}

TEST(SystemArithmetic, KerasPolicySkipsAnOverflow) {
  MixedPrecisionContext precision;
  precision.set_global_policy("mixed_float16");
  expect_skipped(fitted(precision, descent()));
}

/// The scale halves until the gradients fit, and then each step is applied: the gradient of a weight is 2 / 8 x 100 S
/// times the difference, 20 to 180 by the first weights, which float16 has up to S between 14 and 131.
void expect_overflows_then_updates(const std::vector<StepResult>& steps, float first_scale) {
  float scale = first_scale;
  bool applied = false;
  for (const StepResult& step : steps) {
    EXPECT_EQ(step.scale_before, scale);
    EXPECT_TRUE(step.applied || !applied) << "skipped after a step that was not";
    applied = step.applied;
    if (!applied) scale /= 2;
    EXPECT_EQ(step.scale_after, scale);
  }
  EXPECT_TRUE(applied);
  EXPECT_GE(scale, 8);
  EXPECT_LE(scale, 128);
  EXPECT_LT(steps.back().loss, steps.front().loss);
}

/// Steps of a Dense layer of 8 that meets 100 and shall give -100.
std::vector<StepResult> trained(MixedPrecisionContext& precision, const AnyOptimizer& optimizer) {
  KerasModel model(precision, [](LayerContext& context, Port x) {
    layers::Dense dense(context, 8);
    return dense(x);
  });
  model.compile(optimizer, "mse");
  const Tensor x = Tensor::full(kFloat32, {1, 1}, 100), y = Tensor::full(kFloat32, {1, 8}, -100);
  FitOptions fit;
  fit.epochs = 30;
  std::vector<StepResult> steps;
  fit.on_step = [&](const StepResult& step) {
    steps.push_back(step);
    return true;
  };
  model.fit(x, y, fit);
  return steps;
}

TEST(SystemArithmetic, KerasTrainsThroughOverflowsToUpdates) {
  MixedPrecisionContext precision;
  precision.set_global_policy("mixed_float16");
  expect_overflows_then_updates(trained(precision, KerasOptimizer{sgd(1e-5)}), 32768);
}

TEST(SystemArithmetic, TensorFlowTrainsThroughOverflowsToUpdates) {
  MixedPrecisionContext precision;
  const AnyOptimizer optimizer =
      enable_mixed_precision_graph_rewrite(precision, AnyOptimizer(KerasOptimizer{sgd(1e-5)}));
  expect_overflows_then_updates(trained(precision, optimizer), 32768);
}

TEST(SystemArithmetic, MindSporeTrainsThroughOverflowsToUpdates) {
  struct Net : cells::Cell {
    cells::Dense dense{*this, "dense", 1, 8, {.weight_init = Initializer::zeros()}};
    Port construct(cells::CellBuild& build, std::span<const Port> inputs) override { return dense(build, inputs[0]); }
  } network;
  struct Squares : cells::Cell {
    Port construct(cells::CellBuild& build, std::span<const Port> inputs) override {
      GraphBuilder& b = build.builder();
      return b.add("Mean", {b.add("Square", {b.add("Sub", {inputs[0], inputs[1]})})});
    }
  } loss;
  cells::AmpModelOptions options;
  options.amp_level = AmpLevel::kO2;
  options.context.executor = ExecutorOptions();  // says nothing
  cells::AmpModel model(network, &loss, cells::CellOptimizer(sgd(1e-5)), options);
  std::vector<StepResult> steps;
  for (int i = 0; i < 30; ++i)
    steps.push_back(model.train_on({Tensor::full(kFloat32, {1, 1}, 100), Tensor::full(kFloat32, {1, 8}, -100)}));
  expect_overflows_then_updates(steps, 0x1p24F);
}

TEST(SystemArithmetic, TorchsScalerSkipsAnOverflow) {
  Trainer trainer(one_weight_model(kFloat16, kFloat16), {.optimizer = sgd(1), .loss_scale = LossScaleOptions::torch()});
  const StepResult step = trainer.step(one_number_batch(kFloat16, 100));
  EXPECT_FALSE(step.applied);
  EXPECT_EQ(step.scale_after, step.scale_before / 2);
  EXPECT_EQ(trainer.variable("net/w").value(0), 1);
}

/// 60000 + 60000 in the dtype of a mechanism's product, fetched in float32.
double sum_of_two(const MixedPrecisionContext& precision, double x, ExecutorOptions options = {}) {
  GraphBuilder b;
  const Port ones = b.constant(Tensor::full(kFloat32, {1, 2}, 1)),
             large = b.constant(Tensor::full(kFloat32, {2, 1}, x));
  b.add("Identity", {b.add("MatMul", {ones, large}, {}, "product")}, {}, "sum");
  const auto executor = make_executor(precision.finish(b.build(), {"sum"}), std::move(options));
  return executor->run(std::vector<Feed>{}, std::vector<std::string>{"sum"}).values[0].value(0);
}

TEST(SystemArithmetic, WhatAContextFinishesIsComputedAsItsSystemDoes) {
  MixedPrecisionContext tensorflow;
  tensorflow.enable_graph_rewrite();
  EXPECT_EQ(sum_of_two(tensorflow, 60000), HUGE_VAL);
  MixedPrecisionContext gaudi;
  gaudi.enable_bfloat16_conversion(Recipe::find("full"));
  EXPECT_EQ(sum_of_two(gaudi, 0x1.8p127), HUGE_VAL);
  // What options say counts.
  ExecutorOptions ipu;
  ipu.preset = Preset::kIpu;
  EXPECT_EQ(sum_of_two(tensorflow, 60000, ipu), 65504);
  ExecutorOptions nan;
  nan.config.floating_point_behaviour.nanoo = true;
  EXPECT_TRUE(std::isnan(sum_of_two(tensorflow, 60000, nan)));
}

TEST(SystemArithmetic, AStepOfOnesOwnWithAWrappedOptimizerSeesAnOverflow) {
  GraphBuilder b;
  const Port v = b.add("VariableV2", {}, {{"dtype", kFloat16}, {"shape", Shape{}}}, "v");
  const Port loss = b.add("Mul", {v, b.constant(Tensor::full(kFloat16, {}, 300))});  // times 2^15: no float16
  const LossScaleOptimizer optimizer{KerasOptimizer{sgd(1)}};
  const std::vector<Variable> variables{{"v", v, true}};
  const Port rate = b.constant(Tensor::full(kFloat32, {}, 1));
  const std::string applied = b.graph().port_name(optimizer.minimize(b, loss, variables, rate));
  const auto executor = make_executor(b.build());
  executor->set_variable("v", Tensor::full(kFloat16, {}, 1));
  EXPECT_EQ(executor->run(std::vector<Feed>{}, std::vector<std::string>{applied}).values[0].code(0), 0u);
  EXPECT_EQ(executor->variable("v").value(0), 1);
}

TEST(SystemArithmetic, APassMakesATrainingItsSystems) {
  for (const char* mechanism : {"tensorflow", "recipe=full", "level=O1", "fp8=mxfp8"}) {
    TrainerOptions o = rig_options();
    o.pass = Mechanism::parse(mechanism).pass();
    const Trainer trainer(three_layer_model("float32"), o);
    EXPECT_EQ(trainer.options().executor.preset, Preset::kIeee) << mechanism;
    EXPECT_EQ(trainer.gradient_graph().preset(), Preset::kIeee) << mechanism;
  }
  const Trainer plain(three_layer_model("float16"), rig_options());
  EXPECT_EQ(preset_of(plain.options().executor), Preset::kIpu);
}

TEST(SystemArithmetic, GraphcoresEstimatorSaturates) {
  RunConfig config;
  config.features = {kFloat16, {1, 1}};
  config.precision = Precision::parse("float16");
  Estimator estimator(
      [](VariableStore& store, Port images, Port, EstimatorMode) {
        GraphBuilder& b = store.builder();
        const Port y = b.add("Sum", {layers::dense(store, images, 8)});
        EstimatorSpec spec;
        spec.loss = y;
        spec.train_op = sgd(1);
        spec.loss_scale = LossScaleOptions::fixed(0x1p15);
        return spec;
      },
      config);
  const StepResult step = estimator.trainer().step({Tensor::full(kFloat16, {1, 1}, 100), Tensor(kInt32, {1})});
  EXPECT_TRUE(step.applied);
  EXPECT_EQ(step.nonfinite, 0);
  EXPECT_EQ(preset_of(estimator.trainer().options().executor), Preset::kIpu);
}

// tests: N263
TEST(SystemArithmetic, AScaleThatWouldSeeNoOverflowIsAnError) {
  TrainerOptions o = rig_options(LossScaleOptions::torch());
  o.executor.preset = Preset::kIpu;
  const std::string text =
      refusal<std::invalid_argument>([&] { const Trainer trainer(three_layer_model("mixed"), o); });
  EXPECT_EQ(
      text.find("training: the loss scale 'torch' looks for gradients that are not finite, but values of 16 bits"), 0u)
      << text;
  EXPECT_NE(text.find("expected the preset ieee, nanoo on, or a loss scale that"), std::string::npos) << text;
  const Trainer wide(three_layer_model("float32"), o);  // nothing saturates
  o.executor.preset.reset();
  const Trainer ieee(three_layer_model("mixed"), o);
  EXPECT_EQ(ieee.options().executor.preset, Preset::kIeee);
  o.executor.config.floating_point_behaviour.nanoo = true;
  const Trainer nans(three_layer_model("mixed"), o);
  EXPECT_EQ(preset_of(nans.options().executor), Preset::kIpu);
  o.executor.preset = Preset::kIeee;
  EXPECT_NE(refusal<std::invalid_argument>([&] {
              const Trainer both(three_layer_model("mixed"), o);
            }).find("preset ieee and floating_point_behaviour.nanoo exclude each other"),
            std::string::npos);
}

TEST(SystemArithmetic, StochasticRoundingIsNotTheIpusAlone) {
  ExecutorOptions o;
  o.preset = Preset::kIeee;
  o.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
  o.switches.sr_bits = 10;
  const Semantics s = semantics_of(o);
  EXPECT_EQ(s.narrow.mode, RoundingMode::kStochastic);
  EXPECT_EQ(s.narrow.random_bits, 10);
  EXPECT_EQ(s.narrow.overflow, Overflow::kInfinity);
  EXPECT_EQ(s.wide, Semantics::ieee().wide);
}

TrainSettings settings_with(std::initializer_list<std::pair<const char*, const char*>> changes) {
  TrainSettings s;
  for (const auto& [key, value] : changes) s = s.with(key, value);
  return s;
}

TEST(SystemArithmetic, OfSettings) {
  const struct {
    TrainSettings settings;
    const char *preset, *behaviour;
  } rows[] = {
      {settings_with({}), "ipu", "off"},
      {settings_with({{"precision", "mixed"}}), "ipu", "off"},
      {settings_with({{"precision", "mixed"}, {"loss_scale", "mindspore"}}), "ieee", "off"},
      {settings_with({{"precision", "mixed"}, {"loss_scale", "mindspore"}, {"behaviour", "nanoo"}}), "ipu", "nanoo"},
      {settings_with({{"precision", "mixed"}, {"loss_scale", "graphcore_automatic"}}), "ipu", "off"},
      {settings_with({{"mechanism", "tensorflow"}}), "ieee", "off"},
      {settings_with({{"mechanism", "recipe=full"}}), "ieee", "off"},
      {settings_with({{"mechanism", "level=O2"}, {"stochastic_rounding", "on"}}), "ieee", "off"},
      {settings_with({{"mechanism", "policy=mixed_float16"}, {"preset", "ipu"}}), "ipu", "nanoo"},
      {settings_with({{"mechanism", "policy=mixed_float16"}, {"behaviour", "inv nanoo"}}), "ipu", "inv nanoo"},
  };
  for (const auto& row : rows) {
    const TrainSettings all = row.settings.spelled_out();
    EXPECT_EQ(all.preset, row.preset) << all.to_json();
    EXPECT_EQ(all.behaviour, row.behaviour) << all.to_json();
    EXPECT_EQ(name_of(*row.settings.trainer_options().executor.preset), row.preset);
    // What a log holds says the same; ipu goes without saying where nothing else follows.
    EXPECT_EQ(TrainSettings::from_json(all.to_json()).spelled_out().preset, row.preset) << all.to_json();
  }
  EXPECT_EQ(settings_with({}).spelled_out().to_json().find("preset"), std::string::npos);
  EXPECT_EQ(refusal<std::invalid_argument>([] {
              settings_with({{"preset", "ieee"}, {"behaviour", "nanoo"}}).validate();
            }),
            "settings: 'preset' is 'ieee', in which an overflow is infinite, but 'behaviour' is 'nanoo'; expected no "
            "nanoo, or the preset ipu");
  EXPECT_NE(refusal<std::invalid_argument>([] {
              settings_with({{"preset", "ieeee"}});
            }).find("nearest: ieee"),
            std::string::npos);
}

}  // namespace
}  // namespace softamp::test
