// Training steps: what each phase computes in which dtype, scaling that changes nothing, steps that are skipped, sums
// of micro-batches. (Replicas: replicas_test.cpp.)
#include "softamp/train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "softamp/findings/exception.h"
#include "softamp/graph/operation.h"
#include "softamp/graph/trace.h"
#include "softamp/numerics/status.h"
#include "softamp/train/layers.h"
#include "tests/train/trainer_rig.h"

namespace softamp {
namespace {

using namespace test;

TEST(Step, DenseProductsMayBeginWithTheirBias) {
  TrainerOptions o = rig_options();
  o.bias_in_accumulator = true;
  Trainer trainer(three_layer_model("mixed"), o);
  std::map<std::string, int> biases, started;
  const auto count = [&](std::string_view phase, int, uint32_t, const Node& node, int, const TensorType& type,
                         const void*) {
    if (node.op == "BiasAdd") ++biases[std::string(phase)];
    if (node.op != "MatMul" || node.inputs.size() != 3) return;
    ++started[std::string(phase)];
    EXPECT_EQ(node.name, "dense/BiasAdd");
    EXPECT_EQ(type.dtype, DType::kFloat16);
  };
  trainer.observe(count);
  const std::vector<StepResult> results = train_steps(trainer, 3);
  EXPECT_EQ(started, (std::map<std::string, int>{{"forward", 3}}));
  EXPECT_EQ(biases, (std::map<std::string, int>{{"forward", 3}}));  // the convolution's
  // Another rounding, another loss; the logits of an evaluation are made alike.
  Trainer added(three_layer_model("mixed"), rig_options());
  const std::vector<StepResult> others = train_steps(added, 3);
  EXPECT_NE(others.back().loss, results.back().loss);
  EXPECT_NEAR(others.back().loss, results.back().loss, 0x1p-6);
}

// tests: G15, M03, N278
TEST(Step, PhasesAndTheirDtypes) {
  TrainerOptions o = rig_options(LossScaleOptions::fixed(256));
  Trainer trainer(three_layer_model("mixed"), o);
  std::map<std::string, std::set<std::string>> dtypes;
  std::vector<std::string> order;
  trainer.observe([&](std::string_view phase, int, uint32_t, const Node&, int, const TensorType& type, const void*) {
    if (order.empty() || order.back() != phase) order.emplace_back(phase);
    if (is_floating(type.dtype)) dtypes[std::string(phase)].insert(name_of(type.dtype));
  });
  train_steps(trainer, 1);
  using Set = std::set<std::string>;
  EXPECT_EQ(dtypes["cast"], Set{"float16"});
  EXPECT_EQ(dtypes["forward"], Set{"float16"});
  EXPECT_EQ(dtypes["scale"], Set{"float32"});
  EXPECT_EQ(dtypes["unscale"], Set{"float32"});
  EXPECT_EQ(dtypes["update"], Set{"float32"});
  EXPECT_TRUE(dtypes["loss"].contains("float32"));
  EXPECT_EQ(dtypes["backward"], (Set{"float16", "float32"}));
  // Gradients leave the backward phase as float32: the gradient of the cast (TUTORIAL G15).
  for (const Node& n : trainer.update_graph().nodes())
    if (n.op == "Placeholder" && n.name.rfind("unscale/gradient/", 0) == 0) {
      EXPECT_EQ(n.outputs[0].dtype, DType::kFloat32) << n.name;
    }
  EXPECT_EQ(order.back(), "update");
}

// tests: G15
TEST(Step, MasterWeightKeepsWhatHalfLoses) {  // TUTORIAL G15: w = 1, lr g = 2^-12
  for (const DType parameters : {DType::kFloat32, DType::kFloat16}) {
    TrainerOptions o = rig_options();
    o.optimizer = sgd(0x1p-12);
    Trainer trainer(one_weight_model(DType::kFloat16, parameters), o);
    const std::vector<Batch> batch = [] {
      std::vector<Batch> b;
      b.push_back(one_number_batch(DType::kFloat16, 1));
      return b;
    }();
    trainer.step(batch);
    EXPECT_EQ(trainer.variable("net/w").value(0), parameters == DType::kFloat32 ? 1 - 0x1p-12 : 1);
  }
}

// tests: G22
TEST(Step, PowerOfTwoScaleChangesNothing) {  // TUTORIAL G22; float32 throughout: nothing under- or overflows
  const std::vector<StepResult> plain = train_steps("float32", rig_options(), 4);
  for (const double scale : {2.0, 256.0, 0x1p20}) {
    const std::vector<StepResult> scaled = train_steps("float32", rig_options(LossScaleOptions::fixed(scale)), 4);
    for (size_t s = 0; s < plain.size(); ++s) {
      EXPECT_EQ(scaled[s].loss, plain[s].loss);
      EXPECT_EQ(scaled[s].weight_hashes, plain[s].weight_hashes) << scale << " step " << s;
    }
  }
  const std::vector<StepResult> odd = train_steps("float32", rig_options(LossScaleOptions::fixed(3)), 4);
  EXPECT_NE(odd[3].weight_hashes, plain[3].weight_hashes);
}

/// The momentum of all variables after so many steps in float32.
std::vector<double> momentum_after(const TrainerOptions& options, int steps) {
  Trainer trainer(three_layer_model("float32"), options);
  train_steps(trainer, steps);
  const Trainer::State state = trainer.state();
  std::vector<double> all;
  for (const auto& [name, tensor] : state.tensors[0])
    if (name.ends_with("/Momentum"))
      for (const double x : tensor.values()) all.push_back(x);
  EXPECT_FALSE(all.empty());
  return all;
}

// tests: G26, N278
TEST(Step, ScaleFoldedIntoTheRateIsTheUnscaledStep) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kMomentum, OptimizerKind::kNesterov}) {
    TrainerOptions plain = rig_options(), folded = rig_options(LossScaleOptions::fixed(256));
    plain.optimizer = folded.optimizer = OptimizerOptions::of(kind);
    folded.loss_scale.unscale = Unscale::kFoldedIntoRate;
    EXPECT_EQ(train_steps("float32", folded, 4)[3].weight_hashes, train_steps("float32", plain, 4)[3].weight_hashes)
        << name_of(kind);
    if (kind == OptimizerKind::kSgd) continue;
    const std::vector<double> once = momentum_after(plain, 4), scaled = momentum_after(folded, 4);
    ASSERT_EQ(scaled.size(), once.size());
    for (size_t i = 0; i < once.size(); ++i) EXPECT_EQ(scaled[i], 256 * once[i]) << "sums of gradients keep the scale";
  }
}

// tests: G22, T11
TEST(Step, ScaleKeepsGradientsThatHalfLoses) {  // TUTORIAL G22, MIXED_PRECISION T11: a gradient of 2^-26
  for (const double scale : {1.0, 256.0}) {
    TrainerOptions o = rig_options(LossScaleOptions::fixed(scale));
    o.optimizer = sgd(1);
    Trainer trainer(one_weight_model(DType::kFloat16, DType::kFloat32, 4), o);
    // The mean over four divides the seed, so each image's gradient is S 2^-2 x; x = 2^-24 gives S 2^-26, summed to S
    // 2^-24.
    std::vector<Batch> batch;
    batch.push_back(one_number_batch(DType::kFloat16, 0x1p-24, 4));
    trainer.step(batch);
    const double moved = 1 - trainer.variable("net/w").value(0);
    // 2^-24 below 1 is representable in float32; products of 2^-26 are zeros in halves.
    EXPECT_EQ(moved, scale == 1 ? 0 : 0x1p-24) << scale;
  }
}

// tests: M12, T10
TEST(Step, SkippedStepChangesNoBit) {
  LossScaleOptions dynamic = LossScaleOptions::mindspore();
  TrainerOptions o = rig_options(dynamic);
  o.executor.config.floating_point_behaviour.nanoo = true;  // an overflow becomes a NaN, so gradients show it
  o.optimizer = OptimizerOptions::of(OptimizerKind::kAdam);
  o.optimizer.epsilon = 1e-4;
  Trainer trainer(three_layer_model("mixed"), o);
  const Trainer::State before = trainer.state();
  const std::vector<StepResult> results = train_steps(trainer, 1);
  ASSERT_FALSE(results[0].applied);
  EXPECT_GT(results[0].nonfinite, 0);
  EXPECT_EQ(results[0].scale_after, results[0].scale_before / 2);
  const Trainer::State after = trainer.state();
  ASSERT_EQ(after.tensors[0].size(), before.tensors[0].size());
  for (size_t i = 0; i < before.tensors[0].size(); ++i)
    EXPECT_TRUE(after.tensors[0][i].second.same_bits(before.tensors[0][i].second)) << before.tensors[0][i].first;
  EXPECT_EQ(after.optimizer_step, 0);
  EXPECT_EQ(after.step, 1);
  EXPECT_GT(after.executions, before.executions);  // its random bits are used up
  // The scale falls until a step is applied.
  for (int s = 1; s < 20; ++s)
    if (train_steps(trainer, 1, s)[0].applied) {
      EXPECT_EQ(trainer.state().optimizer_step, 1);
      return;
    }
  FAIL() << "no step was applied";
}

// tests: N281, X6
TEST(Step, KerasCountsSkippedSteps) {
  for (const bool keras : {false, true}) {
    TrainerOptions o = rig_options(keras ? LossScaleOptions::keras() : LossScaleOptions::tensorflow());
    o.loss_scale.initial = 0x1p100;
    o.executor.config.floating_point_behaviour.nanoo = true;
    Trainer trainer(three_layer_model("mixed"), o);
    EXPECT_FALSE(train_steps(trainer, 1)[0].applied);
    EXPECT_EQ(trainer.state().optimizer_step, keras ? 1 : 0);
  }
}

// tests: M20
TEST(Step, FixedScaleWithoutDropLetsNaNsIn) {
  for (const bool drop : {true, false}) {
    TrainerOptions o = rig_options(LossScaleOptions::mindspore_fixed(0x1p100, drop));
    o.executor.config.floating_point_behaviour.nanoo = true;
    Trainer trainer(three_layer_model("mixed"), o);
    EXPECT_EQ(train_steps(trainer, 1)[0].applied, !drop);
    bool nan = false;
    for (const double x : trainer.variable("dense/bias").values()) nan = nan || std::isnan(x);
    EXPECT_EQ(nan, !drop);
  }
}

TEST(Step, OverflowByStatusOrByGradients) {  // MIXED_PRECISION M13: the forward pass overflows, the gradient does not
  for (const OverflowFrom from : {OverflowFrom::kGradients, OverflowFrom::kStatus, OverflowFrom::kBoth}) {
    TrainerOptions o = rig_options(LossScaleOptions::tensorflow());
    o.loss_scale.initial = 1;
    o.loss_scale.overflow_from = from;
    o.optimizer = sgd(0);
    Trainer trainer(one_weight_model(DType::kFloat16, DType::kFloat16), o);
    trainer.set_variable("net/w", Tensor::full(DType::kFloat16, {}, 60000));
    std::vector<Batch> batch;
    batch.push_back(one_number_batch(DType::kFloat16, 2));
    const StepResult r = trainer.step(batch);
    EXPECT_EQ(r.nonfinite, 0);
    EXPECT_EQ(r.applied, from == OverflowFrom::kGradients);
    EXPECT_EQ(r.status & kOverflow, from == OverflowFrom::kGradients ? 0 : kOverflow);
  }
}

TEST(Step, ThreadsAndTheReferenceGiveTheSameBits) {
  for (const char* precision : {"float16", "mixed", "float32"}) {
    TrainerOptions o = rig_options(LossScaleOptions::fixed(256));
    set_esr(o, StochasticRoundingBehaviour::kOn);
    o.executor.config.convolutions.poplar_options = {{"partialsType", "half"}};
    o.executor.threads = 1;
    const std::string one = step_lines(train_steps(precision, o, 3));
    for (const int threads : {2, 3}) {
      o.executor.threads = threads;
      EXPECT_EQ(step_lines(train_steps(precision, o, 3)), one) << precision << " " << threads;
    }
    o.executor.reference = true;
    EXPECT_EQ(step_lines(train_steps(precision, o, 3)), one) << precision << " by the definitions";
  }
}

TEST(Step, SeedsAndStochasticRoundingMatter) {
  TrainerOptions o = rig_options();
  set_esr(o, StochasticRoundingBehaviour::kOn);
  const std::string first = step_lines(train_steps("float16", o, 3));
  EXPECT_EQ(step_lines(train_steps("float16", o, 3)), first);
  TrainerOptions other = o;
  other.executor.seed = 4;
  EXPECT_NE(step_lines(train_steps("float16", other, 3)), first);
  set_esr(o, StochasticRoundingBehaviour::kOff);
  EXPECT_NE(step_lines(train_steps("float16", o, 3)), first);
}

TEST(State, ResumedEqualsNeverStopped) {
  for (const char* precision : {"float16", "mixed"}) {
    TrainerOptions o = rig_options(LossScaleOptions::tensorflow());
    o.loss_scale.window = 2;
    o.optimizer = OptimizerOptions::of(OptimizerKind::kAdam);
    o.optimizer.epsilon = 1e-4;
    o.accumulation = 2;
    set_esr(o, StochasticRoundingBehaviour::kOn);
    Trainer whole(three_layer_model(precision), o);
    train_steps(whole, 3);
    const Trainer::State middle = whole.state();
    Trainer resumed(three_layer_model(precision), o);
    resumed.set_state(middle);
    EXPECT_EQ(step_lines(train_steps(resumed, 3, 3)), step_lines(train_steps(whole, 3, 3))) << precision;
  }
}

TEST(State, NamesWhatDoesNotFit) {
  Trainer trainer(three_layer_model("float16"), rig_options());
  Trainer::State s = trainer.state();
  s.tensors[0].pop_back();
  EXPECT_NE(refusal<std::invalid_argument>([&] { trainer.set_state(s); }).find("the state lacks 'dense/"),
            std::string::npos);
  s = Trainer(three_layer_model("float32"), rig_options()).state();
  EXPECT_NE(
      refusal<std::invalid_argument>([&] { trainer.set_state(s); }).find("is float32 [3,3,1,4]; expected float16"),
      std::string::npos);
}

// tests: G24
TEST(Accumulation, DtypeOfTheSums) {  // TUTORIAL G24: 1024 gradients of 2^-11 onto 1
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    TrainerOptions o = rig_options();
    o.optimizer = sgd(1);
    o.accumulation = 1025;
    o.accumulation_dtype = dtype;
    Trainer trainer(one_weight_model(DType::kFloat16, DType::kFloat32), o);
    std::vector<double> values(1025, 0x1p-11);
    values[0] = 1;
    EXPECT_EQ(taken_off(trainer, DType::kFloat16, values), dtype == DType::kFloat32 ? 1.5 : 1.0);
  }
}

TEST(Accumulation, MicroBatchesInAscendingOrder) {
  TrainerOptions o = rig_options();
  o.optimizer = sgd(1);
  o.accumulation = 3;
  o.accumulation_dtype = DType::kFloat16;
  const auto sum_of = [&](std::vector<double> values) {
    Trainer trainer(one_weight_model(DType::kFloat16, DType::kFloat32), o);
    return taken_off(trainer, DType::kFloat16, values);
  };
  EXPECT_EQ(sum_of({1, 0x1p-11, 0x1p-11}), 1);            // each is half an ulp: a tie to even
  EXPECT_EQ(sum_of({0x1p-11, 0x1p-11, 1}), 1 + 0x1p-10);  // together they count
}

TEST(Exceptions, StopAndLeaveEverythingAsItWas) {
  TrainerOptions o = rig_options();
  o.executor.config.floating_point_behaviour.oflo = true;
  o.optimizer = sgd(1);
  o.replicas = 2;
  Trainer trainer(one_weight_model(DType::kFloat16, DType::kFloat16), o);
  const auto step = [&](double first, double second) {
    std::vector<Batch> batches;
    batches.push_back(one_number_batch(DType::kFloat16, first));
    batches.push_back(one_number_batch(DType::kFloat16, second));
    return trainer.step(batches);
  };
  step(1, 1);  // w = 0
  EXPECT_EQ(trainer.variable("net/w").value(0), 0);
  step(-3, -3);
  const Trainer::State before = trainer.state();
  EXPECT_THROW(step(65504, 30000), FloatingPointError);  // 3 x 65504
  const Trainer::State after = trainer.state();
  EXPECT_EQ(after.step, before.step);
  EXPECT_EQ(after.executions, before.executions);
  EXPECT_EQ(trainer.variable("net/w", 1).value(0), 3);
  step(1, 1);
  EXPECT_EQ(trainer.variable("net/w").value(0), 2);
}

// Whatever stops a step, `state` is that before the step, or refuses: never half of each.
TEST(Exceptions, AStepThatFailsAnywhereLeavesNoHalfState) {
  struct Failure {};
  for (const bool in_update : {false, true})
    for (const int failing : {0, 1}) {
      SCOPED_TRACE(std::string(in_update ? "update" : "gradients") + " of replica " + std::to_string(failing));
      TrainerOptions o = rig_options();
      o.replicas = 2;
      set_esr(o, StochasticRoundingBehaviour::kOn);
      Trainer trainer(three_layer_model("float16"), o);
      train_steps(trainer, 1);
      const Trainer::State before = trainer.state();
      bool fails = true;
      trainer.observe(
          [&](std::string_view phase, int replica, uint32_t, const Node&, int, const TensorType&, const void*) {
            if (fails && replica == failing && (phase == "update") == in_update) throw Failure();
          });
      EXPECT_THROW(train_steps(trainer, 1, 1), Failure);
      fails = false;
      if (in_update && failing == 1) {
        EXPECT_THROW(trainer.state(), std::logic_error) << "replica 0 has been updated";
        trainer.set_state(before);
      }
      const Trainer::State after = trainer.state();
      EXPECT_EQ(after.step, before.step);
      EXPECT_EQ(after.executions, before.executions);
      ASSERT_EQ(after.tensors.size(), before.tensors.size());
      for (size_t r = 0; r < after.tensors.size(); ++r)
        for (size_t t = 0; t < after.tensors[r].size(); ++t)
          EXPECT_TRUE(after.tensors[r][t].second.same_bits(before.tensors[r][t].second)) << after.tensors[r][t].first;
      Trainer never(three_layer_model("float16"), o);
      train_steps(never, 1);
      EXPECT_EQ(step_lines(train_steps(trainer, 1, 1)), step_lines(train_steps(never, 1, 1)))
          << "the step is taken again";
    }
}

TEST(Options, RefusalsNameValueAndExpectation) {
  const auto message = [](auto&& change) {
    TrainerOptions o = rig_options(LossScaleOptions::fixed(256));
    change(o);
    return refusal<std::invalid_argument>([&] { Trainer(three_layer_model("float16"), o); });
  };
  EXPECT_EQ(message([](TrainerOptions& o) { o.replicas = 257; }), "training: replicas is 257; expected 1..256");
  EXPECT_EQ(message([](TrainerOptions& o) { o.accumulation = 0; }), "training: accumulation is 0; expected 1 or more");
  EXPECT_NE(message([](TrainerOptions& o) {
              o.loss_scale.unscale = Unscale::kFoldedIntoRate;
              o.optimizer.kind = OptimizerKind::kAdam;
            }).find("of adam; expected an optimizer that is linear"),
            std::string::npos);
  EXPECT_NE(message([](TrainerOptions& o) { o.executor.random = RandomEngine::kXoroshiro128aox; }).find("philox"),
            std::string::npos);
  EXPECT_NE(message([](TrainerOptions& o) { o.optimizer.learning_rate = -1; }).find("-1"), std::string::npos);
  EXPECT_NE(message([](TrainerOptions& o) {  // TUTORIAL G30
              o.strict = true;
              o.optimizer = OptimizerOptions::of(OptimizerKind::kAdam);
            })
                .find("epsilon"),
            std::string::npos);
  Trainer trainer(three_layer_model("float16"), rig_options());
  EXPECT_EQ(refusal<std::invalid_argument>([&] { trainer.step(rig_batches(0, 2, DType::kFloat16)); }),
            "training: 2 batches for a step; expected 1, 1 for each of 1 replicas");
  for (const int replica : {-1, 1}) {
    const std::string complaint = "training: replica " + std::to_string(replica) + "; expected 0..0";
    EXPECT_EQ(refusal<std::invalid_argument>([&] { trainer.weight_hash(replica); }), complaint);
    EXPECT_EQ(refusal<std::invalid_argument>([&] { trainer.variable("dense/kernel", replica); }), complaint);
  }
}

// tests: G14
TEST(Memory, HalfWeightsTakeHalf) {
  const Trainer half(three_layer_model("float16"), rig_options()), single(three_layer_model("float32"), rig_options());
  EXPECT_EQ(single.memory().parameters, 2 * half.memory().parameters);
  EXPECT_EQ(single.memory().slots, 2 * half.memory().slots);
  EXPECT_GT(half.memory().activations, 0);
}

TEST(Logits, AreRoundedToNearestAndMoveNothing) {
  TrainerOptions o = rig_options();
  set_esr(o, StochasticRoundingBehaviour::kOn);
  Trainer trainer(three_layer_model("float16"), o);
  train_steps(trainer, 1);
  const std::vector<Batch> batch = rig_batches(0, 1, DType::kFloat16);
  const Tensor first = trainer.logits(batch[0].images);
  EXPECT_TRUE(trainer.logits(batch[0].images).same_bits(first));
  EXPECT_EQ(trainer.state().executions, 2u);
  train_steps(trainer, 1, 1);
  EXPECT_FALSE(trainer.logits(batch[0].images).same_bits(first));
}

TEST(Timings, NameTheOperations) {
  TrainerOptions o = rig_options();
  o.executor.timings = true;
  Trainer trainer(three_layer_model("float32"), o);
  train_steps(trainer, 1);
  std::set<std::string> ops;
  for (const OperationTime& t : trainer.timings()) ops.insert(t.op);
  EXPECT_TRUE(ops.contains("Conv2DBackpropFilter"));
  EXPECT_TRUE(ops.contains("ApplyMomentum"));
}

}  // namespace
}  // namespace softamp
