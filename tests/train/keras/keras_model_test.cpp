// compile, fit, evaluate, predict: against training written out on doubles, against a Trainer bit for bit, and what is
// refused.
#include "softamp/train/keras/keras_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "softamp/data/sampler.h"
#include "softamp/precision/mechanism.h"
#include "tests/graph/executor_check.h"
#include "tests/train/sgd.h"

namespace softamp::test {
namespace {

using enum DType;

constexpr int64_t kCount = 10, kWidth = 4;

Tensor samples(const char* name, const Shape& shape = {kCount, kWidth}, DType dtype = kFloat32) {
  return initial_value(Initializer::uniform(0, 1), {dtype, shape}, name, 3);
}

LayerNetwork dense(int64_t units, const char* activation = "") {
  return [=](LayerContext& context, Port x) {
    layers::Dense layer(context, units, {.activation = activation});
    return layer(x);
  };
}

CompileOptions seeded(uint64_t seed, std::vector<std::string> metrics = {}) {
  CompileOptions o;
  o.metrics = std::move(metrics);
  o.trainer.executor.seed = seed;
  return o;
}

/// An integer dtype that graphs carry only.
Tensor integers(DType dtype, const std::vector<int64_t>& values, const Shape& shape) {
  Tensor t(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i)
    if (dtype == kInt64)
      t.as<int64_t>()[i] = values[i];
    else
      t.as<uint8_t>()[i] = static_cast<uint8_t>(values[i]);
  return t;
}

TEST(CompileFit, IsDescentWrittenOut) {
  // One dense layer, mean squared error, batches of 4, 4 and 2, in order: in float64, to the last digits.
  MixedPrecisionContext precision;
  precision.set_global_policy("float64");
  KerasModel model(precision, dense(2));
  model.compile(KerasOptimizer{sgd(0.25)}, "mse", seeded(1));
  const Tensor x = samples("x", {kCount, kWidth}, kFloat64), y = samples("y", {kCount, 2}, kFloat64);
  std::vector<double> w, b(2);
  FitOptions o;
  o.batch_size = 4;
  o.epochs = 3;
  o.shuffle = false;
  w = initial_value(Initializer::glorot_uniform(), {kFloat64, {kWidth, 2}}, "dense/kernel", 1).values();
  const History history = model.fit(x, y, o);
  std::vector<double> losses;
  for (int epoch = 0; epoch < 3; ++epoch) {
    double total = 0;
    for (int64_t first = 0; first < kCount; first += 4) {
      const int64_t last = std::min(kCount, first + 4), n = last - first;
      std::vector<double> dw(w.size()), db(2);
      for (int64_t s = first; s < last; ++s)
        for (int64_t j = 0; j < 2; ++j) {
          double out = b[static_cast<size_t>(j)];
          for (int64_t i = 0; i < kWidth; ++i) out += x.value(s * kWidth + i) * w[static_cast<size_t>(i * 2 + j)];
          const double e = out - y.value(s * 2 + j);
          total += e * e / 2;
          for (int64_t i = 0; i < kWidth; ++i)
            dw[static_cast<size_t>(i * 2 + j)] += e * x.value(s * kWidth + i) / static_cast<double>(n);
          db[static_cast<size_t>(j)] += e / static_cast<double>(n);
        }
      for (size_t i = 0; i < w.size(); ++i) w[i] -= 0.25 * dw[i];
      for (size_t j = 0; j < 2; ++j) b[j] -= 0.25 * db[j];
    }
    losses.push_back(total / kCount);
  }
  // 9 steps of some 30 roundings each of numbers below 2.
  constexpr double kBound = 9 * 30 * 0x1p-53;
  ASSERT_EQ(history.at("loss").size(), 3u);
  for (size_t e = 0; e < 3; ++e) EXPECT_NEAR(history.at("loss")[e], losses[e], kBound) << e;
  for (size_t i = 0; i < w.size(); ++i)
    EXPECT_NEAR(model.trainer().variable("dense/kernel").value(static_cast<int64_t>(i)), w[i], kBound) << i;
  for (int64_t j = 0; j < 2; ++j)
    EXPECT_NEAR(model.trainer().variable("dense/bias").value(j), b[static_cast<size_t>(j)], kBound) << j;
  EXPECT_LT(history.at("loss")[2], history.at("loss")[0]);
}

// tests: K23
TEST(CompileFit, IsATrainerBitForBit) {
  // Stochastic rounding, half activations, Adam, the loss scale of Keras, another order in each epoch.
  const Tensor x = samples("x", {8, kWidth}), y = tensor(kInt32, {8}, {0, 1, 2, 0, 1, 2, 0, 1});
  const KerasOptimizer adam{OptimizerOptions::of(OptimizerKind::kAdam)};
  MixedPrecisionContext precision;
  precision.set_global_policy("mixed_float16");
  CompileOptions compiled = seeded(9);
  compiled.trainer.executor.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
  KerasModel model(precision, dense(3));
  model.compile(adam, "sparse_categorical_crossentropy_from_logits", compiled);
  FitOptions o;
  o.batch_size = 4;
  o.epochs = 3;
  std::vector<double> losses;
  o.on_step = [&](const StepResult& step) {
    losses.push_back(step.loss);
    return true;
  };
  model.fit(x, y, o);

  Trainer trainer(build_layer_model(dense(3), precision, find_loss("sparse_categorical_crossentropy_from_logits"),
                                    {{kFloat32, {4, kWidth}}, {kInt32, {4}}}),
                  LossScaleOptimizer(adam).trainer_options(compiled.trainer));
  const Sampler order(8, 1, true, 9);
  std::set<std::vector<int64_t>> orders;
  std::vector<int64_t> seen;
  for (int64_t s = 0; s < 6; ++s) {
    Batch batch{Tensor(kFloat32, {4, kWidth}), Tensor(kInt32, {4})};
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t from = order.image(s * 4 + i);
      seen.push_back(from);
      for (int64_t c = 0; c < kWidth; ++c)
        batch.images.as<float>()[static_cast<size_t>(i * kWidth + c)] =
            x.as<float>()[static_cast<size_t>(from * kWidth + c)];
      batch.labels.as<int32_t>()[static_cast<size_t>(i)] = y.as<int32_t>()[static_cast<size_t>(from)];
    }
    EXPECT_EQ(trainer.step({&batch, 1}).loss, losses[static_cast<size_t>(s)]) << s;
    if (s % 2) orders.insert(std::exchange(seen, {}));
  }
  EXPECT_EQ(orders.size(), 3u) << "each epoch has an order of its own";
  EXPECT_EQ(model.trainer().weight_hash(), trainer.weight_hash());
  EXPECT_TRUE(model.trainer().loss_scale().options().dynamic) << "MIXED_PRECISION K23";
}

TEST(CompileFit, TheMechanismThatIsOnActs) {
  const Tensor x = samples("x"), y = samples("y", {kCount, 2});
  const auto trained = [&](MixedPrecisionContext& precision, const AnyOptimizer& optimizer) {
    KerasModel model(precision, dense(2, "relu"));
    model.compile(optimizer, "mse", seeded(4));
    model.fit(x, y, {.batch_size = 5, .epochs = 2});
    const auto& report = model.trainer().precision_report();
    return std::pair(report ? report->converted_nodes() : 0, model.trainer().weight_hash());
  };
  MixedPrecisionContext none, rewritten, recipe;
  const KerasOptimizer optimizer{sgd(0.5)};
  const auto plain = trained(none, optimizer);
  EXPECT_EQ(plain.first, 0);
  const auto tensorflow = trained(rewritten, enable_mixed_precision_graph_rewrite(rewritten, optimizer));
  EXPECT_GT(tensorflow.first, 2);
  EXPECT_NE(tensorflow.second, plain.second);
  recipe.enable_bfloat16_conversion(Recipe::full());
  const auto gaudi = trained(recipe, optimizer);
  EXPECT_GT(gaudi.first, 2);
  EXPECT_NE(gaudi.second, tensorflow.second);
}

TEST(CompileFit, LabelsOfAnyIntegerDtype) {
  const Tensor x = samples("x", {6, kWidth});
  const std::vector<int64_t> numbers = {0, 2, 1, 1, 0, 2};
  const auto hash = [&](const Tensor& y) {
    MixedPrecisionContext precision;
    KerasModel model(precision, dense(3, "softmax"));
    model.compile(KerasOptimizer{sgd(0.1)}, "sparse_categorical_crossentropy", seeded(2));
    model.fit(x, y, {.batch_size = 3, .epochs = 2});
    return model.trainer().weight_hash();
  };
  const std::vector<double> values(numbers.begin(), numbers.end());
  const std::string expected = hash(tensor(kInt32, {6}, values));
  EXPECT_EQ(hash(integers(kInt64, numbers, {6})), expected);
  EXPECT_EQ(hash(integers(kUint8, numbers, {6, 1})), expected);
  EXPECT_EQ(hash(tensor(kFloat32, {6}, values)), expected);
}

TEST(CompileFit, TwoCallsAreOne) {
  const Tensor x = samples("x"), y = samples("y", {kCount, 2});
  const auto begun = [&](KerasModel& model) { model.compile(KerasOptimizer{sgd(0.5)}, "mae", seeded(5)); };
  MixedPrecisionContext precision;
  KerasModel once(precision, dense(2)), twice(precision, dense(2));
  begun(once), begun(twice);
  // 4, 4 and 2 samples: the smaller batch has a graph of its own, and the same variables.
  const History whole = once.fit(x, y, {.batch_size = 4, .epochs = 2});
  const History first = twice.fit(x, y, {.batch_size = 4}), second = twice.fit(x, y, {.batch_size = 4});
  EXPECT_EQ(whole.at("loss"), (std::vector<double>{first.at("loss")[0], second.at("loss")[0]}));
  EXPECT_EQ(once.trainer().weight_hash(), twice.trainer().weight_hash());
  EXPECT_EQ(once.trainer().state().step, 6);
  begun(twice);  // compile begins anew
  EXPECT_EQ(twice.fit(x, y, {.batch_size = 4}).at("loss"), first.at("loss"));
}

TEST(CompileFit, RegularizersAreAddedToTheLoss) {
  const Tensor x = samples("x"), y = samples("y", {kCount, 2});
  const auto loss = [&](Regularizer regularizer) {
    MixedPrecisionContext precision;
    KerasModel model(precision, [&](LayerContext& context, Port in) {
      layers::Dense layer(context, 2, {.kernel_regularizer = regularizer});
      return layer(in);
    });
    model.compile(KerasOptimizer{sgd(0)}, "mse", seeded(5));
    return model.evaluate(x, y).at("loss");
  };
  double squares = 0;
  for (const double w :
       initial_value(Initializer::glorot_uniform(), {kFloat32, {kWidth, 2}}, "dense/kernel", 5).values())
    squares += w * w;
  EXPECT_NEAR(loss(l2_regularizer(0.5)) - loss({}), 0.5 * squares, 0x1p-20);
}

TEST(CompileFit, EvaluatesAndPredictsAllSamples) {
  const Tensor x = samples("x", {7, kWidth}), y = tensor(kInt32, {7}, {0, 1, 2, 0, 1, 2, 0});
  MixedPrecisionContext precision;
  KerasModel model(precision, dense(3, "softmax"));
  model.compile(KerasOptimizer{sgd(0.1)}, "sparse_categorical_crossentropy", seeded(6, {"accuracy"}));
  std::vector<double> watched;
  FitOptions o;
  o.batch_size = 3;
  o.epochs = 2;
  o.validation_x = &x;
  o.validation_y = &y;
  o.on_epoch = [&](int64_t epoch, const std::map<std::string, double>& values) {
    EXPECT_EQ(epoch, static_cast<int64_t>(watched.size()));
    watched.push_back(values.at("val_loss"));
    return true;
  };
  const History history = model.fit(x, y, o);
  EXPECT_EQ(history.at("val_loss"), watched);
  EXPECT_EQ(history.at("val_accuracy").size(), 2u);
  const Tensor all = model.predict(x, 7), parts = model.predict(x, 3);
  ASSERT_EQ(all.shape(), (Shape{7, 3}));
  EXPECT_TRUE(all.same_bits(parts)) << "each sample's sums are its own";
  double loss = 0, right = 0;
  for (int64_t n = 0; n < 7; ++n) {
    const auto label = static_cast<int64_t>(y.value(n));
    loss -= std::log(all.value(n * 3 + label)) / 7;
    bool greatest = true;
    for (int64_t c = 0; c < 3; ++c) greatest = greatest && all.value(n * 3 + c) <= all.value(n * 3 + label);
    right += greatest;
  }
  for (const int64_t size : {1, 3, 7, 100}) {
    const auto found = model.evaluate(x, y, size);
    EXPECT_NEAR(found.at("loss"), loss, 0x1p-20) << size;  // sums of fp32 numbers below 4
    EXPECT_NEAR(found.at("accuracy"), right / 7, 0x1p-50) << size;
  }
  EXPECT_EQ(history.at("val_loss")[1], model.evaluate(x, y, 3).at("loss"));
}

TEST(CompileFit, MetricsAreThoseOfKeras) {
  // The network hands on its inputs times a weight of 1, so that x is what is judged.
  const LayerNetwork same = [](LayerContext& context, Port x) {
    layers::Dense layer(context, context.builder().type(x).shape[1],
                        {.function = {.use_bias = false, .kernel_initializer = Initializer::zeros()}});
    return context.builder().add("AddV2", {x, layer(x)});
  };
  const LayerNetwork logarithms = [](LayerContext& context, Port x) {
    layers::Dense zeros(context, 2, {.function = {.use_bias = false, .kernel_initializer = Initializer::zeros()}});
    return context.builder().add("AddV2", {context.builder().add("Log", {x}), zeros(x)});
  };
  const auto measured = [&](const Tensor& x, const Tensor& y, const char* metric, bool of_logarithms = false) {
    MixedPrecisionContext precision;
    KerasModel model(precision, of_logarithms ? logarithms : same);
    model.compile(
        KerasOptimizer{sgd(0)}, [](GraphBuilder&, Port, Port outputs) { return outputs; }, seeded(1, {metric}));
    return model.evaluate(x, y, 2).at(metric);
  };
  const Tensor rows = tensor(kFloat32, {4, 3}, {1, 2, 3, 3, 2, 1, 2, 2, 1, 0, NAN, 0});
  EXPECT_EQ(measured(rows, tensor(kInt32, {4}, {2, 1, 0, 1}), "accuracy"), 0.5) << "the first of equals; no NaN";
  EXPECT_EQ(measured(rows, tensor(kFloat32, {4, 3}, {0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0}), "accuracy"), 0.5);
  EXPECT_EQ(measured(tensor(kFloat32, {1, 2}, {-1, 1}), tensor(kInt32, {1}, {0}), "accuracy", true), 0) << "NaN, 0";
  const Tensor one = tensor(kFloat32, {4, 1}, {0.4, 0.5, 0.6, 0.9});
  EXPECT_EQ(measured(one, tensor(kInt32, {4, 1}, {0, 1, 1, 0}), "accuracy"), 0.5);
  EXPECT_EQ(measured(one, tensor(kFloat32, {4, 1}, {0.5, 0.5, 0.5, 1}), "mae"),
            (static_cast<double>(0.5f - 0.4f) + static_cast<double>(0.6f - 0.5f) + static_cast<double>(1 - 0.9f)) / 4);
}

TEST(CompileFit, ACallbackEndsIt) {
  const Tensor x = samples("x"), y = samples("y", {kCount, 2});
  MixedPrecisionContext precision;
  KerasModel model(precision, dense(2));
  model.compile(KerasOptimizer{sgd(0.1)}, "mse");
  FitOptions o;
  o.batch_size = 5;
  o.epochs = 4;
  o.on_epoch = [](int64_t epoch, const auto&) { return epoch < 1; };
  EXPECT_EQ(model.fit(x, y, o).at("loss").size(), 2u);
  EXPECT_EQ(model.trainer().state().step, 4);
  o.on_epoch = {};
  o.on_step = [](const StepResult& step) { return step.step < 4; };
  EXPECT_TRUE(model.fit(x, y, o).empty()) << "an epoch that was not ended";
  EXPECT_EQ(model.trainer().state().step, 5);
  EXPECT_TRUE(model.fit(x, y, {.epochs = 0}).empty());
}

TEST(CompileFit, WhatDoesNotFitIsRefused) {
  const Tensor x = samples("x"), y = samples("y", {kCount, 2});
  MixedPrecisionContext precision;
  KerasModel model(precision, dense(2));
  const auto early = [&](auto act) { return refusal<std::logic_error>(act); };
  EXPECT_EQ(early([&] { model.fit(x, y); }), "KerasModel: no loss yet; expected compile() first");
  EXPECT_EQ(early([&] { model.trainer(); }), "KerasModel: no trainer yet; expected fit or evaluate first");
  model.compile(KerasOptimizer{sgd(0.1)}, "mse");
  EXPECT_EQ(early([&] { model.predict(x); }),
            "KerasModel: the types of y are not known yet; expected fit or evaluate first");

  const auto refused = [](auto act) { return refusal<std::invalid_argument>(act); };
  EXPECT_EQ(refused([&] { KerasModel(precision, {}); }),
            "KerasModel: the network is empty; expected a function from inputs to outputs");
  const auto fitted = [&](const Tensor& a, const Tensor& b, FitOptions o = {}) {
    return refused([&] { model.fit(a, b, o); });
  };
  EXPECT_EQ(fitted(x, samples("y", {4, 2})),
            "KerasModel: x has 10 samples and y 4; expected as many labels as samples");
  EXPECT_EQ(fitted(tensor(kFloat32, {}, {1}), y), "KerasModel: x is a scalar; expected samples along axis 0");
  EXPECT_EQ(fitted(x, Tensor(kFloat32, {0, 2})), "KerasModel: y is float32[0,2]; expected at least one sample");
  EXPECT_EQ(fitted(x, integers(kInt64, {1, int64_t{1} << 31}, {2})),
            "KerasModel: y, element 1, is 2147483648; expected what an int32 holds");
  EXPECT_EQ(fitted(x, y, {.batch_size = 0}), "KerasModel: batch_size is 0; expected 1 or more");
  EXPECT_EQ(fitted(x, y, {.epochs = -1}), "KerasModel: epochs is -1; expected 0 or more");
  EXPECT_EQ(fitted(x, y, {.validation_x = &x}),
            "KerasModel: one of validation_x, validation_y is given; expected both or none");
  EXPECT_EQ(refused([&] { model.evaluate(x, y, -3); }), "KerasModel: batch_size is -3; expected 1 or more");
  // What the network refuses leaves no trace: the right shape is taken after it.
  EXPECT_NE(fitted(x, samples("z", {kCount, 3})).find("expected labels [10,2]"), std::string::npos);
  EXPECT_EQ(fitted(x, y, {.epochs = 1}), "");
  EXPECT_EQ(fitted(samples("x", {kCount, 5}), y),
            "KerasModel: x has samples of type float32[1,5]; expected float32[1,4] as in the call before");

  const auto compiled = [&](const AnyOptimizer& optimizer, const AnyLoss& loss, CompileOptions o = {}) {
    return refused([&] { model.compile(optimizer, loss, std::move(o)); });
  };
  const KerasOptimizer optimizer{sgd(0.1)};
  EXPECT_EQ(compiled(std::string("adagrad"), "mse"),
            "KerasModel: optimizer 'adagrad': expected an optimizer of Keras or of tf.train");
  EXPECT_EQ(compiled(optimizer, "msee").substr(0, 19), "unknown loss 'msee'");
  EXPECT_EQ(compiled(optimizer, "mse", seeded(1, {"acuracy"})).substr(0, 66),
            "KerasModel: unknown metric 'acuracy'; expected one of accuracy, me");
  CompileOptions o;
  o.trainer.replicas = 2;
  EXPECT_EQ(compiled(optimizer, "mse", o),
            "KerasModel: trainer.replicas is 2; expected 1: others need a Trainer (train/trainer.h)");
  o = {};
  o.trainer.pass = Mechanism::parse("tensorflow").pass();
  EXPECT_EQ(compiled(optimizer, "mse", o),
            "KerasModel: trainer.pass is given; expected none: the mechanism that is on in the context acts");
  EXPECT_EQ(model.fit(x, y).at("loss").size(), 1u) << "what was compiled before is still there";
}

}  // namespace
}  // namespace softamp::test
