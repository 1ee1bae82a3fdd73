// Replicas: how their gradients become one, when their weights stay equal, and when their number changes no bit.
#include "softamp/train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "softamp/graph/trace.h"
#include "tests/files.h"
#include "tests/train/quiet_run.h"
#include "tests/train/trainer_rig.h"

namespace softamp {
namespace {

using namespace test;
using Esr = StochasticRoundingBehaviour;

constexpr Esr kModes[] = {Esr::kOff, Esr::kOn, Esr::kReplicaIdenticalOnly};

// tests: N277
TEST(Replicas, SumInRankOrder) {  // N277: a float32 chain from rank 0
  TrainerOptions o = rig_options();
  o.optimizer = sgd(1);
  o.replicas = 3;
  o.reduction = ReplicaReduction::kSum;
  const auto sum_of = [&](std::vector<double> values) {
    Trainer trainer(one_weight_model(DType::kFloat32, DType::kFloat32), o);
    trainer.set_variable("net/w", Tensor::full(DType::kFloat32, {}, 0));
    return taken_off(trainer, DType::kFloat32, values);
  };
  EXPECT_EQ(sum_of({1, 0x1p-24, 0x1p-24}), 1);
  EXPECT_EQ(sum_of({0x1p-24, 0x1p-24, 1}), 1 + 0x1p-23);
  o.reduction = ReplicaReduction::kMean;
  EXPECT_EQ(sum_of({3, 6, 9}), 6);
}

// tests: N276, N277
TEST(Replicas, MicroBatchesAreSummedOrAveraged) {  // N276, N277: one division for both means
  TrainerOptions o = rig_options();
  o.optimizer = sgd(1);
  o.replicas = 2;
  o.accumulation = 3;
  const auto taken = [&](ReplicaReduction replicas, ReplicaReduction micro_batches) {
    o.reduction = replicas;
    o.accumulation_reduction = micro_batches;
    Trainer trainer(one_weight_model(DType::kFloat32, DType::kFloat32), o);
    trainer.set_variable("net/w", Tensor::full(DType::kFloat32, {}, 0));
    return taken_off(trainer, DType::kFloat32, {1, 2, 3, 4, 5, 6});
  };
  using enum ReplicaReduction;
  EXPECT_EQ(taken(kSum, kSum), 21);
  EXPECT_EQ(taken(kMean, kSum), 10.5);
  EXPECT_EQ(taken(kSum, kMean), 7);
  EXPECT_EQ(taken(kMean, kMean), 3.5);
  o.replicas = 1;
  o.accumulation = 6;
  EXPECT_EQ(taken(kMean, kMean), 3.5);
  o.accumulation = 2;
  o.replicas = 3;
  o.reduction = kMean;
  o.accumulation_reduction = kMean;
  o.replica_invariant = true;
  EXPECT_THROW(Trainer(one_weight_model(DType::kFloat32, DType::kFloat32), o), std::invalid_argument);
}

/// What may be set about replicas, and what it did.
struct Drifting {
  std::string precision;
  Esr mode;
  int replicas;
  bool stability, drift;

  std::string text() const {
    return precision + " " + name_of(mode) + ", " + std::to_string(replicas) + " replicas" +
           (stability ? ", stability" : "") + (drift ? ", drift" : "");
  }
};

std::vector<Drifting> all_modes() {
  std::vector<Drifting> all;
  for (const char* precision : {"float32", "float16", "bfloat16", "mixed"})
    for (const Esr mode : kModes)
      for (const int replicas : {2, 3})
        for (const bool stability : {false, true})
          for (const bool drift : {false, true})
            if (!(stability && drift)) all.push_back({precision, mode, replicas, stability, drift});
  return all;
}

// tests: G12, N279, N282
TEST(Replicas, WeightsDifferOnlyWhereThatWasAskedFor) {
  int drifted = 0;
  for (const Drifting& d : all_modes()) {
    SCOPED_TRACE(d.text());
    TrainerOptions o = rig_options();
    o.replicas = d.replicas;
    o.replica_drift = d.drift;
    set_esr(o, d.mode, d.stability);
    Trainer trainer(three_layer_model(d.precision), o);
    const bool sixteen_bits = d.precision == "float16" || d.precision == "bfloat16";
    const bool can = d.drift && d.mode != Esr::kOff && sixteen_bits;
    ASSERT_EQ(trainer.warnings().size(), can ? 1u : 0u);
    if (can) {
      EXPECT_EQ(trainer.warnings()[0], "replica_drift: each of the " + std::to_string(d.replicas) +
                                           " replicas rounds its update with random bits of its own, so that their "
                                           "weights drift apart; without it they stay equal");
    }
    for (const StepResult& r : train_steps(trainer, 3)) {
      ASSERT_EQ(r.weight_hashes.size(), static_cast<size_t>(d.replicas));
      const std::set<std::string> hashes(r.weight_hashes.begin(), r.weight_hashes.end());
      EXPECT_EQ(hashes.size(), can ? static_cast<size_t>(d.replicas) : 1u) << "step " << r.step;
      EXPECT_EQ(r.replica_drift.has_value(), can);
      EXPECT_EQ(r.json().find("replica_drift") != std::string::npos, can);
    }
    drifted += can;
  }
  EXPECT_EQ(drifted, 8);
}

// tests: G12, N279
TEST(Replicas, ModesRoundOtherThings) {
  std::set<std::string> ends;
  for (const Esr mode : kModes) {
    TrainerOptions o = rig_options();
    o.replicas = 2;
    set_esr(o, mode);
    ends.insert(train_steps("float16", o, 3)[2].weight_hashes[0]);
  }
  EXPECT_EQ(ends.size(), 3u);
}

// tests: N282
TEST(Replicas, DriftIsTheLargestDistance) {
  TrainerOptions o = rig_options();
  o.replicas = 3;
  o.replica_drift = true;
  set_esr(o, Esr::kOn);
  Trainer trainer(three_layer_model("float16"), o);
  const std::vector<StepResult> results = train_steps(trainer, 2);
  const ReplicaDrift found = results[1].replica_drift.value();
  double largest = 0;
  for (const VariableSpec& v : trainer.model().variables)
    for (int r = 1; r < 3; ++r)
      for (int64_t i = 0; i < v.type.shape.elements(); ++i)
        largest =
            std::max(largest, std::fabs(trainer.variable(v.name, r).value(i) - trainer.variable(v.name).value(i)));
  EXPECT_GT(largest, 0);
  EXPECT_EQ(found.distance, largest);
  EXPECT_EQ(std::fabs(trainer.variable(found.variable, found.replica).value(found.element) -
                      trainer.variable(found.variable).value(found.element)),
            largest);
}

/// Convolution, batch norm (of a slice at a time), pooling, dense.
Port with_norm(VariableStore& store, Port x) {
  x = layers::conv2d(store, x, 4, {});
  x = layers::batch_norm(store, x, {});
  x = layers::max_pool(store, x, 2, 2);
  return layers::dense(store, layers::flatten(store, x), 10);
}

/// Eight slices on so many replicas.
TrainerOptions invariant(TrainerOptions o, int replicas, int slices = 8) {
  o.replica_invariant = true;
  o.replicas = replicas;
  o.accumulation = slices / replicas;
  return o;
}

// tests: N275, N283
TEST(ReplicaInvariance, TheNumberOfReplicasChangesNoBit) {
  const LossScaleOptions moving = LossScaleOptions::parse("tensorflow");
  for (const char* precision : {"float32", "float16", "bfloat16", "mixed"})
    for (const Esr mode : kModes)
      for (const bool norm : {false, true}) {
        SCOPED_TRACE(std::string(precision) + " " + name_of(mode) + (norm ? ", batch norm, a moving scale, Adam" : ""));
        std::string one_replica;
        for (const int replicas : {1, 2, 4, 8}) {
          TrainerOptions o = invariant(rig_options(norm ? moving : LossScaleOptions::none()), replicas);
          o.executor.status = true;
          o.reduction = norm ? ReplicaReduction::kSum : ReplicaReduction::kMean;
          if (norm) o.optimizer = OptimizerOptions::of(OptimizerKind::kAdam);
          set_esr(o, mode);
          ModelOptions m;
          m.batch_size = kRigBatch;
          m.image = {8, 8, 1};
          m.precision = Precision::parse(precision);
          Trainer trainer(build_model(norm ? with_norm : three_layers, m), o);
          std::string all = step_lines(train_steps(trainer, 2));
          const Trainer::State state = trainer.state();
          ASSERT_EQ(state.tensors.size(), 1u);
          for (const auto& [name, tensor] : state.tensors[0]) all += name + hash_text(tensor.data(), tensor.bytes());
          all += std::to_string(state.executions);
          if (replicas == 1) one_replica = all;
          EXPECT_EQ(all, one_replica) << replicas << " replicas";
        }
      }
}

// tests: N275
TEST(ReplicaInvariance, GradientsAreSummedInATree) {  // N283
  for (const int replicas : {1, 2, 4}) {
    TrainerOptions o = invariant(rig_options(), replicas, 4);
    o.optimizer = sgd(1);
    o.reduction = ReplicaReduction::kSum;
    const auto sum_of = [&](std::vector<double> values) {
      Trainer trainer(one_weight_model(DType::kFloat32, DType::kFloat32), o);
      trainer.set_variable("net/w", Tensor::full(DType::kFloat32, {}, 0));
      return taken_off(trainer, DType::kFloat32, values);
    };
    EXPECT_EQ(sum_of({1, 0x1p-24, 0x1p-24, 0x1p-24}), 1 + 0x1p-23);  // a chain from the left: 1
    EXPECT_EQ(sum_of({1, 0x1p-24, 0x1p-24, 0}), 1);                  // one from the right: 1 + 2^-23
    o.reduction = ReplicaReduction::kMean;
    EXPECT_EQ(sum_of({4, 8, 12, 16}), 10);
  }
}

TEST(ReplicaInvariance, EachSliceDrawsBitsOfItsOwn) {  // N283: equal data, unlike gradients, on any replica
  std::vector<std::map<std::string, std::vector<std::string>>> seen(2);
  for (size_t which = 0; which < 2; ++which) {
    TrainerOptions o = invariant(rig_options(), which == 0 ? 1 : 4, 4);
    set_esr(o, Esr::kOn);
    Trainer trainer(three_layer_model("float16"), o);
    trainer.observe(
        [&](std::string_view phase, int, uint32_t, const Node& node, int, const TensorType& type, const void* data) {
          if (phase == "forward" && node.op == "MatMul")
            seen[which][node.name].push_back(hash_text(data, type.bytes()));
        });
    std::vector<Batch> equal;
    for (int i = 0; i < 4; ++i) equal.push_back(std::move(rig_batches(0, 1, DType::kFloat16)[0]));
    trainer.step(equal);
  }
  ASSERT_FALSE(seen[0].empty());
  EXPECT_EQ(seen[0], seen[1]);
  for (const auto& [name, hashes] : seen[0])
    EXPECT_EQ(std::set<std::string>(hashes.begin(), hashes.end()).size(), 4u) << name;
}

TEST(ReplicaInvariance, NeighboursAreComputedByOneReplica) {  // N283: execution i by replica floor(i R / S)
  Trainer trainer(three_layer_model("float32"), invariant(rig_options(), 2));
  std::set<std::pair<int, int>> seen;
  trainer.observe(
      [&](std::string_view phase, int replica, uint32_t execution, const Node&, int, const TensorType&, const void*) {
        if (phase == "forward") seen.emplace(replica, static_cast<int>(execution));
      });
  train_steps(trainer, 1);
  EXPECT_EQ(seen, (std::set<std::pair<int, int>>{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 4}, {1, 5}, {1, 6}, {1, 7}}));
}

TEST(ReplicaInvariance, IsRefusedWhereItCannotHold) {
  const auto refused = [](TrainerOptions o, Model model = three_layer_model("float16")) {
    return refusal<std::invalid_argument>([&] { Trainer trainer(std::move(model), o); });
  };
  TrainerOptions o = invariant(rig_options(), 3, 6);
  EXPECT_EQ(refused(o),
            "training: replica_invariant with 3 replicas x 2 micro-batches of each: 6 slices; expected a power of two, "
            "at most 65536");
  o = invariant(rig_options(), 2);
  o.accumulation_dtype = DType::kFloat32;
  EXPECT_EQ(refused(o),
            "training: replica_invariant with an accumulation_dtype; expected none: slices are summed in float32");
  o = invariant(rig_options(), 2);
  o.replica_drift = true;
  EXPECT_EQ(refused(o),
            "training: replica_invariant with replica_drift, which depends on the replicas; expected one of them");
  o = rig_options();
  o.replica_drift = true;
  set_esr(o, Esr::kOn, true);
  EXPECT_EQ(refused(o),
            "training: replica_drift is on, and so is experimental.enable_prng_stability, with which a device keeps "
            "identical seeds; expected one of them");
  Model keeps = one_weight_model(DType::kFloat32, DType::kFloat32);
  GraphBuilder b(keeps.graph);
  b.add_named("seen", "VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", Shape{}}});
  b.add("Assign", {b.graph().port("loss")}, {{"ref", "seen"}}, "keep");
  keeps.graph = b.build();
  EXPECT_EQ(
      refused(invariant(rig_options(), 2), std::move(keeps)),
      "training: replica_invariant: node 'keep' (Assign) keeps state from one slice to the next; expected a model "
      "without");
}

// tests: N79
TEST(Replicas, DrawBitsOfTheirOwn) {  // N79: equal data, unlike gradients
  TrainerOptions o = rig_options();
  o.replicas = 2;
  set_esr(o, StochasticRoundingBehaviour::kOn, true);
  Trainer trainer(three_layer_model("float16"), o);
  std::map<std::string, std::vector<std::string>> seen;
  trainer.observe(
      [&](std::string_view phase, int, uint32_t, const Node& node, int, const TensorType& type, const void* data) {
        if (phase == "forward" && node.op == "MatMul") seen[node.name].push_back(hash_text(data, type.bytes()));
      });
  std::vector<Batch> twice = rig_batches(0, 1, DType::kFloat16);
  twice.push_back(std::move(rig_batches(0, 1, DType::kFloat16)[0]));
  trainer.step(twice);
  ASSERT_FALSE(seen.empty());
  for (const auto& [name, hashes] : seen) EXPECT_NE(hashes.at(0), hashes.at(1)) << name;
}

TEST(Replicas, StateOfDriftedReplicasIsKept) {
  TrainerOptions o = rig_options();
  o.replicas = 2;
  set_esr(o, StochasticRoundingBehaviour::kOn);
  o.replica_drift = true;
  Trainer whole(three_layer_model("float16"), o);
  train_steps(whole, 2);
  const Trainer::State middle = whole.state();
  EXPECT_EQ(middle.tensors.size(), 2u);
  Trainer resumed(three_layer_model("float16"), o);
  resumed.set_state(middle);
  EXPECT_EQ(step_lines(train_steps(resumed, 2, 2)), step_lines(train_steps(whole, 2, 2)));
}

TEST(Replicas, OfRuns) {  // N282
  const auto run = [](const char* mode, bool drift) {
    TrainSettings s = small_run(R"({"precision": "float16", "replicas": 2, "batch_size": 4, "epochs": 1})");
    s.stochastic_rounding = mode;
    s.replica_drift = drift;
    return quiet_run(s);
  };
  for (const char* mode : {"on", "replica_identical_only"}) {
    const RunSummary equal = run(mode, false), apart = run(mode, true);
    EXPECT_EQ(equal.weight_hashes[0], equal.weight_hashes[1]);
    EXPECT_EQ(equal.replica_drift.first_step, -1);
    EXPECT_NE(apart.weight_hashes[0], apart.weight_hashes[1]);
    EXPECT_EQ(apart.replica_drift.first_step, 0);
    EXPECT_GT(apart.replica_drift.largest.distance, 0);
    EXPECT_GE(apart.replica_drift.largest_step, 0);
  }
}

/// What a run that watches its replicas says of them at its end, as its summary has it.
TEST(Replicas, ARunSaysHowFarTheyDrifted) {
  for (const char* rounding : {"off", "on"}) {
    TrainSettings settings = small_run(R"({"precision": "float16", "replicas": 2, "batch_size": 4, "epochs": 1,
        "replica_drift": true})");
    settings.stochastic_rounding = rounding;
    std::ostringstream report;
    RunOutput output;
    output.report = &report;
    output.progress = false;
    ::testing::internal::CaptureStderr();
    const ReplicaDriftTotals drift = run_training(settings, output).replica_drift;
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(drift.first_step >= 0, settings.stochastic_rounding == "on");
    const std::string line = drift.first_step < 0 ? "replicas: the weights are equal after every step\n"
                                                  : "replicas: the weights differ since step " +
                                                        std::to_string(drift.first_step) + ", by at most ";
    EXPECT_NE(said.find("softamp train: " + line), std::string::npos) << said;
    settings.replica_drift = false;
    ::testing::internal::CaptureStderr();
    run_training(settings, output);
    EXPECT_EQ(::testing::internal::GetCapturedStderr().find("replicas: "), std::string::npos);
  }
}

// N283: one log but for its first line, which names the settings; and a run goes on with another number of replicas.
TEST(ReplicaInvariance, OfRuns) {
  const TemporaryFolder folder;
  const auto settings = [](int replicas) {
    TrainSettings s = small_run(R"({"precision": "float16", "stochastic_rounding": "on", "replica_invariant": 4,
        "batch_size": 2, "shuffle": true, "evaluate": true})");
    s.replicas = replicas;
    return s;
  };
  const auto lines_of = [&](const std::string& file) {
    const std::string text = read_text(file);
    return text.substr(text.find('\n') + 1);
  };
  const std::string one = folder.file("1.jsonl");
  const RunSummary whole = quiet_run(settings(1), {.log = one});
  EXPECT_EQ(whole.steps, 16);
  for (const int replicas : {2, 4}) {
    const std::string log = folder.file("r.jsonl"), file = folder.file("r.npz");
    quiet_run(settings(replicas), {.log = log});
    EXPECT_EQ(lines_of(log), lines_of(one)) << replicas << " replicas";
    stopped_run(settings(replicas), {.log = log, .checkpoint = file}, 5);
    quiet_run(settings(1), {.log = log, .resume = file});
    EXPECT_EQ(lines_of(log), lines_of(one)) << replicas << " replicas, then one";
  }
}

}  // namespace
}  // namespace softamp
