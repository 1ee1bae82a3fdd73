// Batch normalisation whose averages move in training and normalise in evaluation (N271, N280, N289).
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "softamp/precision/mechanism.h"
#include "softamp/train/keras/layer_classes.h"
#include "tests/refusal.h"
#include "tests/train/trainer_rig.h"

namespace softamp::test {
namespace {

constexpr layers::BatchNormOptions kMoving{.momentum = 0.75, .epsilon = 0, .moving_averages = true};

/// Two numbers, normalised; the loss is the mean of their squares.
Model two_numbers(const layers::BatchNormOptions& options = kMoving, const char* precision = "float32") {
  const Precision parsed = Precision::parse(precision);
  return build_model([options](VariableStore& store, Port x) { return layers::batch_norm(store, x, options, "bn"); },
                     [](GraphBuilder& b, Port, Port y) { return b.add("Square", {y}); },
                     {{parsed.compute, {2, 1}}, {DType::kInt32, {2}}, parsed});
}

Batch numbers(double a, double b, DType dtype = DType::kFloat32) {
  return {tensor(dtype, {2, 1}, {a, b}), Tensor(DType::kInt32, {2})};
}

struct Averages {
  double mean, variance;
  bool operator==(const Averages&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Averages& a) { return out << a.mean << ' ' << a.variance; }
Averages averages_of(const Trainer& trainer, int replica = 0) {
  return {trainer.variable("bn/moving_mean", replica).value(0),
          trainer.variable("bn/moving_variance", replica).value(0)};
}

// Of 3 and 5: mean 4, variance 1, unbiased 2; a quarter of them moves 0 and 1.
constexpr Averages kOnce{1, 1.25}, kTwice{1.75, 1.4375};

// tests: N271
TEST(MovingAverages, MoveByEveryStep) {
  Trainer trainer(two_numbers(), rig_options());
  trainer.step(numbers(3, 5));
  EXPECT_EQ(averages_of(trainer), kOnce);
  trainer.step(numbers(3, 5));
  EXPECT_EQ(averages_of(trainer), kTwice);
  layers::BatchNormOptions still = kMoving;
  still.moving_averages = false;
  Trainer as_before(two_numbers(still), rig_options());
  as_before.step(numbers(3, 5));
  EXPECT_EQ(averages_of(as_before), (Averages{0, 1}));
  EXPECT_FALSE(as_before.model().evaluation);
}

// tests: N280
TEST(MovingAverages, NormaliseInEvaluation) {
  Trainer trainer(two_numbers(), rig_options());
  trainer.set_variable("bn/moving_mean", Tensor::full(DType::kFloat32, {1}, 4));
  trainer.set_variable("bn/moving_variance", Tensor::full(DType::kFloat32, {1}, 4));
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(trainer.logits(numbers(6, 8).images).values(), (std::vector<double>{1, 2}));
    EXPECT_EQ(trainer.forward(numbers(6, 8)).loss, 2.5);
  }
  EXPECT_EQ(averages_of(trainer), (Averages{4, 4})) << "evaluation moves nothing";
  // `training` off: the averages in training, too, which nothing moves.
  layers::BatchNormOptions given = kMoving;
  given.training = false;
  Trainer frozen(two_numbers(given), rig_options());
  EXPECT_FALSE(frozen.model().evaluation);
  EXPECT_EQ(frozen.step(numbers(3, 5)).loss, 17);
  EXPECT_EQ(averages_of(frozen), (Averages{0, 1}));
}

/// N289, as in TensorFlow and PyTorch: the forward pass moves them, whatever becomes of the step.
// tests: N289, N293
TEST(MovingAverages, MoveInSkippedStepsToo) {
  TrainerOptions options = rig_options(LossScaleOptions::torch());
  options.executor.config.floating_point_behaviour.nanoo = true;
  Trainer trainer(two_numbers(kMoving, "float16"), options);
  const std::vector<double> before = trainer.logits(numbers(3, 5, DType::kFloat16).images).values();
  EXPECT_FALSE(trainer.step(numbers(3, 5, DType::kFloat16)).applied) << "2^16 times the gradient 2";
  EXPECT_EQ(averages_of(trainer), kOnce);
  EXPECT_EQ(trainer.variable("bn/gamma").value(0), 1);
  EXPECT_NE(trainer.logits(numbers(3, 5, DType::kFloat16).images).values(), before) << "evaluated with the new ones";
}

TEST(MovingAverages, GoBackWhereAStepFails) {
  TrainerOptions options = rig_options(LossScaleOptions::torch());
  options.executor.config.floating_point_behaviour.nanoo = true;
  options.loss_scale.max_consecutive = 1;
  Trainer overflows(two_numbers(kMoving, "float16"), options);
  overflows.step(numbers(3, 5, DType::kFloat16));
  overflows.set_state([&] {
    Trainer::State s = overflows.state();
    s.loss_scale.scale = 0x1p16f;
    return s;
  }());
  EXPECT_THROW(overflows.step(numbers(3, 5, DType::kFloat16)), std::runtime_error) << "a second overflow";
  EXPECT_EQ(averages_of(overflows), kOnce);

  struct Failure {};
  for (const int failing : {0, 1}) {
    options = rig_options();
    options.replicas = 2;
    options.accumulation = 2;
    Trainer trainer(two_numbers(), options);
    std::vector<Batch> batches;
    for (int i = 0; i < 4; ++i) batches.push_back(numbers(3, 5));
    trainer.step(batches);
    int runs = 0;
    trainer.observe(
        [&](std::string_view phase, int replica, uint32_t, const Node& node, int, const TensorType&, const void*) {
          runs += replica == failing && phase == "forward" && node.op == "FusedBatchNormV3";
          if (runs > 5) throw Failure();  // it has five outputs: in the second micro-batch
        });
    EXPECT_THROW(trainer.step(batches), Failure);
    for (const int replica : {0, 1}) EXPECT_EQ(averages_of(trainer, replica), kTwice) << failing << ' ' << replica;
  }
}

// tests: N289
TEST(MovingAverages, MoveByEveryMicroBatchOfTheirReplica) {
  TrainerOptions options = rig_options();
  options.accumulation = 2;
  options.replicas = 2;
  Trainer trainer(two_numbers(), options);
  EXPECT_TRUE(trainer.replicas_may_differ());
  std::vector<Batch> batches;
  for (int m = 0; m < 2; ++m) {
    batches.push_back(numbers(3, 5));
    batches.push_back(numbers(10, 20));  // mean 15, unbiased variance 50
  }
  trainer.step(batches);
  EXPECT_EQ(averages_of(trainer, 0), kTwice);
  EXPECT_EQ(averages_of(trainer, 1), (Averages{6.5625, 22.4375}));
  // Those of replica 0 are evaluated.
  TrainerOptions alone = rig_options();
  Trainer one(two_numbers(), alone);
  for (const char* name : {"bn/moving_mean", "bn/moving_variance", "bn/gamma", "bn/beta"})
    one.set_variable(name, trainer.variable(name, 0));
  EXPECT_TRUE(trainer.logits(numbers(1, 2).images).same_bits(one.logits(numbers(1, 2).images)));
  // Each replica's are kept.
  const Trainer::State state = trainer.state();
  EXPECT_EQ(state.tensors.size(), 2u);
  Trainer resumed(two_numbers(), options);
  resumed.set_state(state);
  EXPECT_EQ(resumed.step(batches).json(), trainer.step(batches).json());
  EXPECT_EQ(averages_of(resumed, 1), averages_of(trainer, 1));

  options.replica_invariant = true;
  options.hash_weights = false;
  EXPECT_EQ(refusal<std::invalid_argument>([&] { Trainer(two_numbers(), options); }),
            "training: replica_invariant: node 'bn/AssignMovingAvg' (Assign) keeps state from one slice to the next; "
            "expected a model without");
}

TEST(MovingAverages, OfALayerThatIsCalledTwiceMoveTwice) {
  for (const bool keras : {false, true}) {
    GraphBuilder b;
    VariableStore store(b);
    const MixedPrecisionContext precision;
    LayerContext context(store, precision);
    const Port x = b.placeholder("x", DType::kFloat32, {2, 1});
    Port y;
    if (keras) {
      layers::BatchNormalization norm(context, kMoving, {.name = "bn"});
      norm(x);
      y = norm(x);
    } else {
      layers::batch_norm(store, x, kMoving, "bn");
      const auto again = store.scope("", {}, true);
      y = layers::batch_norm(store, x, kMoving, "bn");
    }
    const auto executor = make_executor(b.build(), {});
    for (const VariableSpec& spec : store.variables())
      executor->set_variable(spec.name, initial_value(spec.initializer, spec.type, spec.name, 0));
    const Tensor rows = std::move(numbers(3, 5).images);
    const Feed feed{"x", &rows};
    executor->run({&feed, 1}, {});
    EXPECT_EQ(
        (Averages{executor->variable("bn/moving_mean").value(0), executor->variable("bn/moving_variance").value(0)}),
        kTwice)
        << keras;
  }
}

TEST(MovingAverages, AreVariablesWhereTheyMove) {
  GraphBuilder b;
  VariableStore store(b);
  const auto scope = store.scope("", [](const VariableStore::Next& next, const VariableRequest& request) -> NodeOutput {
    return {next.builder().add("Identity", {next(request).port}, {}, "read")};
  });
  const Port x = b.placeholder("x", DType::kFloat32, {2, 1});
  EXPECT_EQ(
      refusal<GraphError>([&] { layers::batch_norm(store, x, kMoving, "bn"); }),
      "batch_norm 'bn': a moving average is read through 'bn/read_2' (Identity); expected the variable itself, to "
      "which the new one is assigned");
}

/// Under every mechanism and precision a sample's logits do not depend on its neighbours once averages normalise.
TEST(MovingAverages, UnderEveryMechanism) {
  const auto network = [](VariableStore& store, Port x) {
    x = layers::batch_norm(store, layers::conv2d(store, x, 4, {.relu = true}),
                           {.momentum = 0.5, .moving_averages = true});
    return layers::dense(store, layers::flatten(store, x), 10);
  };
  struct Combination {
    std::string mechanism, precision;
  };
  for (const auto& [name, precision] : std::vector<Combination>{{"none", "float32"},
                                                                {"none", "float16"},
                                                                {"none", "bfloat16"},
                                                                {"none", "mixed"},
                                                                {"none", "mixed_bfloat16"},
                                                                {"tensorflow", "float32"},
                                                                {"recipe=full", "float32"},
                                                                {"level=O1", "float32"},
                                                                {"level=O2", "float32"},
                                                                {"policy=mixed_float16", "float32"}}) {
    SCOPED_TRACE(name + " " + precision);
    const Mechanism mechanism = Mechanism::parse(name);
    ModelOptions options;
    options.batch_size = kRigBatch;
    options.image = {8, 8, 1};
    options.precision = Precision::parse(precision);
    options.layers = mechanism.layer_rule();
    options.mechanism = mechanism.kind == Mechanism::Kind::kNone ? "" : mechanism.text();
    TrainerOptions training = rig_options(mechanism.loss_scale());
    if (mechanism.rewrites()) training.pass = mechanism.pass();
    Trainer trainer(build_model(network, options), training);
    const DType dtype = trainer.model().precision.compute;
    for (int s = 0; s < 3; ++s) trainer.step(rig_batches(s, 1, dtype)[0]);
    const Tensor& mean = trainer.variable("batch_normalization/moving_mean");
    EXPECT_GT(mean.value(0) * mean.value(0) + mean.value(1) * mean.value(1), 0);
    const Tensor images = std::move(rig_batches(9, 1, dtype)[0].images);
    Tensor others = rig_batches(10, 1, dtype)[0].images.clone();
    std::memcpy(others.data(), images.data(), images.bytes() / kRigBatch);
    const Tensor first = trainer.logits(images), second = trainer.logits(others);
    for (int64_t k = 0; k < 10; ++k) EXPECT_EQ(first.value(k), second.value(k));
    EXPECT_NE(first.value(10), second.value(10));
  }
}

}  // namespace
}  // namespace softamp::test
