// Replicas shared by the ranks of an exchange: N processes give the bits of one (N284). Ranks are threads here.
#include "softamp/train/exchange.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <mutex>

#include "softamp/findings/exception.h"
#include "softamp/graph/trace.h"
#include "softamp/train/trainer.h"
#include "tests/train/ranks.h"
#include "tests/train/trainer_rig.h"

namespace softamp {
namespace {

using namespace test;
using Esr = StochasticRoundingBehaviour;

std::string text_of(const Trainer::State& state) {
  std::string text = std::to_string(state.step) + " " + std::to_string(state.optimizer_step) + " " +
                     std::to_string(state.executions) + " " + std::to_string(state.loss_scale.scale) + "\n";
  for (const auto& of_replica : state.tensors)
    for (const auto& [name, tensor] : of_replica) text += name + " " + hash_text(tensor.data(), tensor.bytes()) + "\n";
  return text;
}

using MakeModel = std::function<Model()>;

/// Steps, then the state, of a run in one process.
std::string alone(const MakeModel& model, const TrainerOptions& options, int steps) {
  Trainer trainer(model(), options);
  const std::string lines = step_lines(train_steps(trainer, steps));
  return lines + text_of(trainer.state());
}

/// The batches of a step of rank_rig_batches that belong to this rank, in the order of one process.
std::vector<Batch> batches_here(const Trainer& trainer, int64_t step) {
  const TrainerOptions& o = trainer.options();
  const int count = o.replicas * o.accumulation, here = o.replicas / o.exchange->ranks(),
            first = here * o.exchange->rank();
  std::vector<Batch> all = rig_batches(step * count, count, trainer.model().precision.compute), mine;
  if (o.replica_invariant)
    for (int i = first * o.accumulation; i < (first + here) * o.accumulation; ++i)
      mine.push_back(std::move(all[static_cast<size_t>(i)]));
  else
    for (int m = 0; m < o.accumulation; ++m)
      for (int r = first; r < first + here; ++r)
        mine.push_back(std::move(all[static_cast<size_t>(m * o.replicas + r)]));
  return mine;
}

/// The same, shared by so many ranks; all ranks must say the same.
std::string shared(const MakeModel& model, const TrainerOptions& options, int ranks, int steps) {
  std::vector<std::string> texts(static_cast<size_t>(ranks));
  const std::vector<std::string> errors = on_ranks(ranks, [&](Exchange& exchange) {
    TrainerOptions o = options;
    o.exchange = &exchange;
    Trainer trainer(model(), o);
    std::vector<StepResult> results;
    for (int s = 0; s < steps; ++s) results.push_back(trainer.step(batches_here(trainer, s)));
    texts[static_cast<size_t>(exchange.rank())] = step_lines(results) + text_of(trainer.state());
  });
  for (size_t r = 0; r < errors.size(); ++r) {
    EXPECT_EQ(errors[r], "") << "rank " << r;
    EXPECT_EQ(texts[r], texts[0]) << "rank " << r;
  }
  return texts[0];
}

struct Case {
  std::string precision;
  Esr mode = Esr::kOff;
  int replicas = 2, accumulation = 1;
  bool drift = false, invariant = false;

  std::string text() const {
    return precision + " " + name_of(mode) + ", " + std::to_string(replicas) + " replicas x " +
           std::to_string(accumulation) + (drift ? ", drift" : "") + (invariant ? ", invariant" : "");
  }
};

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const char* precision : {"float32", "float16", "bfloat16", "mixed"})
    for (const Esr mode : {Esr::kOff, Esr::kOn, Esr::kReplicaIdenticalOnly}) {
      all.push_back({precision, mode, 2, 1});
      all.push_back({precision, mode, 4, 3});
      all.push_back({precision, mode, 4, 1, true});
      all.push_back({precision, mode, 4, 2, false, true});
    }
  all.push_back({"float16", Esr::kOn, 6, 2});  // a mean that is not exact
  return all;
}

// tests: N275, N284
TEST(Exchange, RanksGiveTheBitsOfOneProcess) {
  for (const Case& c : all_cases())
    for (const int ranks : {2, 3, 4}) {
      if (c.replicas % ranks != 0 || (c.invariant && ranks == 3)) continue;
      SCOPED_TRACE(c.text() + ", " + std::to_string(ranks) + " ranks");
      TrainerOptions o = rig_options();
      o.replicas = c.replicas;
      o.accumulation = c.accumulation;
      o.replica_drift = c.drift;
      o.replica_invariant = c.invariant;
      o.executor.status = true;
      set_esr(o, c.mode);
      const auto model = [&] { return three_layer_model(c.precision); };
      EXPECT_EQ(shared(model, o, ranks, 3), alone(model, o, 3));
    }
}

TEST(Exchange, TheLossScaleMovesAlike) {  // N284
  for (const bool histogram : {false, true}) {
    LossScaleOptions scale = histogram ? LossScaleOptions::graphcore_automatic() : LossScaleOptions::keras();
    if (!histogram) scale.initial = 0x1p24;  // overflows at first
    scale.window = 3;
    TrainerOptions o = rig_options(scale);
    o.replicas = 4;
    o.clipping.global_norm = 0.5;
    o.executor.config.floating_point_behaviour.nanoo = true;
    const auto model = [] { return three_layer_model("mixed"); };
    const std::string expected = alone(model, o, 24);
    EXPECT_EQ(expected.find("\"applied\":false") == std::string::npos, histogram);
    EXPECT_NE(expected.find("\"applied\":true"), std::string::npos);
    for (const int ranks : {2, 4}) EXPECT_EQ(shared(model, o, ranks, 24), expected);
  }
}

/// A layer whose gradients fill several buckets, beside small ones.
Port wide_layer(VariableStore& store, Port x) {
  x = layers::dense(store, layers::flatten(store, x), 9000, {.relu = true});
  return layers::dense(store, x, 10);
}

TEST(Exchange, GradientsOfAnySizeAndDtype) {  // N284
  for (const char* precision : {"float32", "float16"}) {
    TrainerOptions o = rig_options();
    o.replicas = 4;
    const auto model = [&] {
      ModelOptions options;
      options.batch_size = kRigBatch;
      options.image = {8, 8, 1};
      options.precision = Precision::parse(precision);
      return build_model(wide_layer, options);
    };
    const std::string expected = alone(model, o, 2);
    for (const int ranks : {2, 4}) EXPECT_EQ(shared(model, o, ranks, 2), expected) << precision;
    o.replica_invariant = true;
    EXPECT_EQ(shared(model, o, 2, 2), alone(model, o, 2)) << precision;
  }
}

TEST(Exchange, ADivisionThatDrawsIsDoneAsInOneProcess) {  // N284
  TrainerOptions o = rig_options();
  o.replicas = 3;
  o.executor.semantics = Semantics{};
  o.executor.semantics->wide.mode = RoundingMode::kStochastic;
  o.executor.semantics->wide.random_bits = 13;
  const auto model = [] { return three_layer_model("float32"); };
  const std::string expected = alone(model, o, 3);
  EXPECT_EQ(shared(model, o, 3, 3), expected);
  o.executor.semantics->wide.mode = RoundingMode::kNearestEven;
  EXPECT_NE(alone(model, o, 3), expected);
}

/// Of one number each; where that is infinite, inf and -inf.
Batch two_images(double x) {
  return {Tensor::from_values(DType::kFloat32, {2, 1, 1, 1}, {x, std::isinf(x) ? -x : x}), Tensor(DType::kInt32, {2})};
}

/// One weight, a number for each replica; what all ranks throw.
std::string refusal(const TrainerOptions& options, const std::vector<double>& numbers, int ranks) {
  const auto errors = on_ranks(ranks, [&](Exchange& exchange) {
    TrainerOptions o = options;
    o.exchange = &exchange;
    o.replicas = static_cast<int>(numbers.size());
    Trainer trainer(one_weight_model(DType::kFloat32, DType::kFloat32, 2), o);
    const std::string before = text_of(trainer.state());
    const size_t here = numbers.size() / static_cast<size_t>(ranks),
                 first = here * static_cast<size_t>(exchange.rank());
    std::vector<Batch> batches;
    for (size_t r = first; r < first + here; ++r) batches.push_back(two_images(numbers[r]));
    try {
      trainer.step(batches);
    } catch (const FloatingPointError&) {
      EXPECT_EQ(text_of(trainer.state()), before);  // as before the step, on every rank
      throw;
    }
  });
  for (const std::string& e : errors) EXPECT_EQ(e, errors[0]);
  return errors[0];
}

std::string refusal_alone(TrainerOptions o, const std::vector<double>& numbers) {
  o.replicas = static_cast<int>(numbers.size());
  Trainer trainer(one_weight_model(DType::kFloat32, DType::kFloat32, 2), o);
  std::vector<Batch> batches;
  for (const double x : numbers) batches.push_back(two_images(x));
  try {
    trainer.step(batches);
  } catch (const FloatingPointError& e) {
    return e.what();
  }
  return "";
}

// tests: N284, N386
TEST(Exchange, AnExceptionStopsAllRanksAtItsFirstPlace) {
  TrainerOptions o = rig_options();
  o.executor.config.floating_point_behaviour.inv = true;
  o.executor.config.floating_point_behaviour.oflo = true;
  o.reduction = ReplicaReduction::kSum;
  o.optimizer = sgd(1);
  // The sum of two images overflows or is invalid in the forward pass, or only that of the replicas' gradients
  // overflows.
  const double most = 3e38, some = 1.6e38;
  for (const std::vector<double>& numbers : std::vector<std::vector<double>>{
           {1, 2, most, HUGE_VAL},   // at the third replica, and at the fourth in another way
           {1, 2, 3, most},          // at the last
           {some, some, some, 1},    // in the sum
           {-some, -some, -some, 1}  // in the sum
       }) {
    const std::string expected = refusal_alone(o, numbers);
    EXPECT_NE(expected, "");
    for (const int ranks : {2, 4}) EXPECT_EQ(refusal(o, numbers, ranks), expected);
    EXPECT_EQ(expected.find("all_reduce") != std::string::npos, std::fabs(numbers[0]) == some) << expected;
  }
  EXPECT_EQ(refusal(o, {1, 2, 3, 4}, 2), "");
}

TEST(Exchange, AStopOnOneRankStopsAll) {
  std::vector<std::string> before(2), after(2);
  const auto errors = on_ranks(2, [&](Exchange& exchange) {
    TrainerOptions o = rig_options();
    o.exchange = &exchange;
    o.replicas = 2;
    bool stop = false;
    if (exchange.rank() == 1) o.executor.stop = [&] { return stop; };
    Trainer trainer(three_layer_model("float16"), o);
    trainer.step(batches_here(trainer, 0));
    const auto me = static_cast<size_t>(exchange.rank());
    before[me] = text_of(trainer.state());
    stop = true;
    EXPECT_THROW(trainer.step(batches_here(trainer, 1)), RunStopped);
    after[me] = text_of(trainer.state());
    stop = false;
    trainer.step(batches_here(trainer, 1));
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"", ""}));
  EXPECT_EQ(after, before);
}

TEST(Exchange, AnErrorOfOneRankEndsAll) {
  const auto errors = on_ranks(2, [&](Exchange& exchange) {
    TrainerOptions o = rig_options();
    o.exchange = &exchange;
    o.replicas = 2;
    Trainer trainer(three_layer_model("float16"), o);
    std::vector<Batch> batches = batches_here(trainer, 0);
    if (exchange.rank() == 1) batches[0].labels = Tensor(DType::kInt32, {3});
    trainer.step(batches);
  });
  EXPECT_NE(errors[1].find("labels"), std::string::npos) << errors[1];
  EXPECT_EQ(errors[0], errors[1]);
}

TEST(Exchange, WeightsThatDifferAreNamed) {  // N284
  const auto errors = on_ranks(2, [&](Exchange& exchange) {
    TrainerOptions o = rig_options();
    o.exchange = &exchange;
    o.replicas = 4;
    o.compare_weights_every = 3;
    Trainer trainer(three_layer_model("float32"), o);
    for (int s = 0; s < 2; ++s) trainer.step(batches_here(trainer, s));
    const std::string name = trainer.model().variables.back().name;
    Tensor other = trainer.variable(name).clone();
    other.as<float>()[3] += 1;
    if (exchange.rank() == 1) trainer.set_variable(name, other);
    trainer.step(batches_here(trainer, 2));
  });
  const std::string expected =
      "step 2: the variable '" + three_layer_model("float32").variables.back().name +
      "' of replica 2 (rank 1) differs from that of replica 0, first in element 3; expected the same bits on all ranks";
  EXPECT_EQ(errors, (std::vector<std::string>{expected, expected}));
}

TEST(Exchange, AStateGoesOnWithAnyNumberOfRanks) {  // N284
  for (const bool drift : {false, true}) {
    TrainerOptions o = rig_options();
    o.replicas = 4;
    o.replica_drift = drift;
    set_esr(o, Esr::kOn);
    const auto model = [] { return three_layer_model("float16"); };
    const std::string expected = alone(model, o, 4);
    Trainer::State kept;
    std::mutex mutex;
    const auto run = [&](int ranks, int from, int to, std::string* end) {
      const Trainer::State start = std::move(kept);
      const auto errors = on_ranks(ranks, [&](Exchange& exchange) {
        TrainerOptions shared = o;
        shared.exchange = &exchange;
        Trainer trainer(model(), shared);
        if (from > 0) trainer.set_state(start);
        for (int s = from; s < to; ++s) trainer.step(batches_here(trainer, s));
        Trainer::State state = trainer.state();
        const std::lock_guard lock(mutex);
        if (end) *end = text_of(state);
        if (exchange.rank() == 0) kept = std::move(state);
      });
      for (const std::string& e : errors) EXPECT_EQ(e, "");
    };
    std::string end;
    run(2, 0, 1, nullptr);
    run(4, 1, 3, nullptr);
    run(1, 3, 4, &end);
    EXPECT_EQ(expected.substr(expected.size() - end.size()), end);
    EXPECT_EQ(kept.tensors.size(), drift ? 4u : 1u);
  }
}

TEST(Exchange, RanksShareReplicasEvenly) {
  const auto errors = on_ranks(2, [&](Exchange& exchange) {
    TrainerOptions o = rig_options();
    o.exchange = &exchange;
    o.replicas = 3;
    Trainer(three_layer_model("float32"), o);
  });
  EXPECT_EQ(errors[0], "training: replicas is 3, shared by 2 processes; expected a multiple of these");
}

TEST(Exchange, OtherReplicasAreNotHere) {
  const auto errors = on_ranks(2, [&](Exchange& exchange) {
    TrainerOptions o = rig_options();
    o.exchange = &exchange;
    o.replicas = 4;
    Trainer trainer(three_layer_model("float32"), o);
    EXPECT_EQ(trainer.weight_hash(), trainer.weight_hash(2 * exchange.rank() + 1));
    trainer.weight_hash(2 - 2 * exchange.rank());
  });
  EXPECT_EQ(errors[0], "training: replica 2; expected 0..1 in this process");
  EXPECT_EQ(errors[1], "training: replica 0; expected 2..3 in this process");
}

}  // namespace
}  // namespace softamp
