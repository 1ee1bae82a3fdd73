// What Keras does where nothing is said: padding, averages of norms, hyperparameters, random tensors, losses of NaN.
#include <gtest/gtest.h>

#include <cmath>

#include "softamp/train/keras/keras_model.h"
#include "tests/graph/executor_check.h"
#include "tests/train/sgd.h"

namespace softamp::test {
namespace {

using enum DType;

struct KerasPlace {
  GraphBuilder builder;
  VariableStore store{builder};
  MixedPrecisionContext precision;
  LayerContext context{store, precision};
};

// tests: K10
TEST(KerasDefaults, ConvolutionsPadNothing) {
  const auto shape = [](layers::Conv2DOptions options) {
    KerasPlace p;
    layers::Conv2D conv(p.context, 4, {.function = std::move(options)});
    return p.builder.type(conv(p.builder.placeholder("x", kFloat32, {4, 4, 4, 4})).port()).shape;
  };
  EXPECT_EQ(shape({.kernel = 2}), (Shape{4, 3, 3, 4}));
  EXPECT_EQ(shape({.kernel = 2, .padding = "same"}), (Shape{4, 4, 4, 4}));
  EXPECT_EQ(shape({.kernel = 2, .padding = "SAME"}), (Shape{4, 4, 4, 4}));
  EXPECT_EQ(shape({.kernel = 2, .padding = "valid"}), (Shape{4, 3, 3, 4}));
  EXPECT_THROW(shape({.kernel = 2, .padding = "causal"}), GraphError);
  // The function beside it keeps TensorFlow's for the IPU, as network files do.
  KerasPlace p;
  const Port x = p.builder.placeholder("x", kFloat32, {4, 4, 4, 4});
  EXPECT_EQ(p.builder.type(layers::conv2d(p.store, x, 4, {.kernel = 2})).shape, (Shape{4, 4, 4, 4}));
}

// tests: K10
TEST(KerasDefaults, PredictNormalisesByMovingAverages) {
  MixedPrecisionContext precision;
  KerasModel model(precision, [](LayerContext& context, Port x) {
    layers::BatchNormalization norm(context, {.momentum = 0.5, .epsilon = 1e-6});
    return norm(x);
  });
  model.compile(KerasOptimizer{sgd(0)}, "mse");
  const Tensor x = Tensor::from_values(kFloat32, {4, 1}, {1, 2, 3, 6}), y = Tensor(kFloat32, {4, 1});
  FitOptions once;
  once.shuffle = false;
  model.fit(x, y, once);
  // Mean 3, unbiased variance 14 / 3: halfway from 0 and 1.
  const double mean = 1.5, variance = 0.5 + 0.5 * 14 / 3;
  const Tensor got = model.predict(x);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_NEAR(got.value(i), (x.value(i) - mean) / std::sqrt(variance + 1e-6), 1e-5) << i;
  // Of one sample, whose own statistics would give 0.
  const Tensor one = model.predict(Tensor::full(kFloat32, {1, 1}, 6));
  EXPECT_NEAR(one.value(0), got.value(3), 1e-6);
}

// tests: K10
TEST(KerasDefaults, HyperparametersOfOptimizers) {
  using enum OptimizerKind;
  EXPECT_EQ(KerasOptimizer::of(kAdam).options.epsilon, 1e-7);
  EXPECT_EQ(KerasOptimizer::of(kAdam).options.learning_rate, 0.001);
  EXPECT_EQ(KerasOptimizer::of(kRmsProp).options.epsilon, 1e-7);
  EXPECT_EQ(KerasOptimizer::of(kAdamW).options.weight_decay, 0.004);
  EXPECT_EQ(KerasOptimizer::of(kSgd).options.learning_rate, 0.01);
  EXPECT_EQ(TrainOptimizer::of(kAdam).options.epsilon, 1e-8);
  EXPECT_EQ(TrainOptimizer::of(kRmsProp).options.epsilon, 1e-10);
}

// tests: K15
TEST(KerasDefaults, RandomTensorsInFloat64) {
  class AddRandom : public Layer {
   public:
    using Layer::Layer;
    LayerValue call(const LayerArguments& in) override {
      const Port x = in[0];
      return op("AddV2", {x, random_normal({2}, *compute_dtype())});
    }
  };
  KerasPlace p;
  AddRandom layer(p.context, {.dtype = "float64"});
  const Port x = p.builder.placeholder("x", kFloat32, {2});
  const Port y = layer(x).port();
  EXPECT_EQ(p.builder.type(y).dtype, kFloat64);
  const std::string name = p.builder.graph().port_name(y);
  const auto executor = make_executor(p.builder.build());
  const Tensor zeros(kFloat32, {2});
  const Tensor drawn = std::move(executor->run({{"x", zeros}}, {name}).values[0]);
  EXPECT_NE(drawn.value(0), 0);
  EXPECT_NE(drawn.value(0), drawn.value(1));
}

TEST(KerasDefaults, ALossOfNanIsSaidOnce) {
  std::vector<std::string> lines;
  MixedPrecisionContext precision([&](LogLevel level, const std::string& line) {
    if (level == LogLevel::kWarning) lines.push_back(line);
  });
  KerasModel model(precision, [](LayerContext& context, Port x) {
    layers::Dense dense(context, 1);
    return dense(x);
  });
  model.compile(KerasOptimizer{sgd(1e30)}, "mse");
  FitOptions fit;
  fit.epochs = 6;
  model.fit(Tensor::full(kFloat32, {1, 1}, 1), Tensor::full(kFloat32, {1, 1}, 5), fit);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("fit: the loss is NaN at step 0 of epoch "), 0u) << lines[0];
}

}  // namespace
}  // namespace softamp::test
