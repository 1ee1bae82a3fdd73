// Schedules of the learning rate: their formulas, what updates get of them, the decay that follows them, resumed runs.
#include "softamp/train/schedule.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "softamp/train/train_settings.h"
#include "softamp/train/trainer.h"
#include "src/train/settings/settings_fields.h"
#include "src/train/settings/used_settings.h"
#include "tests/graph/executor_check.h"

namespace softamp::test {
namespace {

using enum DType;
using enum ScheduleKind;

TEST(Schedule, RisesAndFallsByItsFormulas) {
  const double pi = 3.14159265358979323846;
  for (const auto& [kind, warmup, decay, least] :
       {std::tuple{kCosine, 10, 100, 1e-4}, {kLinear, 10, 100, 1e-4}, {kCosine, 0, 7, 0.0}, {kLinear, 0, 1, 0.0}}) {
    const LearningRateSchedule schedule{kind, warmup, decay, least};
    schedule.validate(1e-3);
    EXPECT_TRUE(schedule.varies());
    for (int64_t t = 1; t <= 2 * decay; ++t) {
      const double s = static_cast<double>(t - 1), r = (s - warmup) / (decay - warmup);
      const double share = kind == kCosine ? (1 + std::cos(pi * r)) / 2 : 1 - r;
      const double expected = s < warmup  ? 1e-3 * (s + 1) / (warmup + 1)
                              : s < decay ? least + (1e-3 - least) * share
                                          : least;
      EXPECT_NEAR(schedule.rate(1e-3, t), expected, 4e-19) << name_of(kind) << " " << t;  // two units of the last place
    }
    EXPECT_EQ(schedule.rate(1e-3, warmup + 1), 1e-3) << "the highest, exactly";
    EXPECT_EQ(schedule.rate(1e-3, decay + 1), least);
  }
  const LearningRateSchedule constant, rising{kConstant, 3};
  EXPECT_FALSE(constant.varies());
  EXPECT_TRUE(rising.varies());
  for (const int64_t t : {1, 2, 1000000}) EXPECT_EQ(constant.rate(0.1, t), 0.1);
  for (const int64_t t : {1, 2, 3}) EXPECT_EQ(rising.rate(1.0, t), static_cast<double>(t) / 4);
  for (const int64_t t : {4, 5, 1000}) EXPECT_EQ(rising.rate(1.0, t), 1);
  const LearningRateSchedule endless{kCosine, 0, 0};
  EXPECT_EQ(endless.rate(0.1, 12345), 0.1) << "nobody has said how many steps there are";
}

TEST(Schedule, CosineHasOneSetOfBits) {
  // Found once: within a unit of the last place of what they stand for.
  const LearningRateSchedule schedule{kCosine, 0, 8};
  const uint64_t bits[] = {0x3ff0000000000000, 0x3feec835e79946a3, 0x3feb504f333f9de6, 0x3fe61f78a9abaa59,
                           0x3fe0000000000001, 0x3fd3c10eaca8ab4e, 0x3fc2bec333018867, 0x3fa37ca1866b95ce};
  for (size_t s = 0; s < 8; ++s) {
    const double rate = schedule.rate(1, static_cast<int64_t>(s) + 1);
    EXPECT_EQ(std::bit_cast<uint64_t>(rate), bits[s]) << s << " " << std::hex << std::bit_cast<uint64_t>(rate);
  }
  for (int64_t t = 1; t < 4096; ++t) {  // it never rises
    const LearningRateSchedule fine{kCosine, 0, 4096};
    EXPECT_LE(fine.rate(1, t + 1), fine.rate(1, t)) << t;
  }
}

TEST(Schedule, Refusals) {
  const auto refused = [](const LearningRateSchedule& s) {
    return refusal<std::invalid_argument>([&] { s.validate(0.1); });
  };
  EXPECT_EQ(refused({kConstant, -1}), "schedule: warmup_steps is -1; expected 0 or more");
  EXPECT_EQ(refused({kConstant, 0, 5}), "schedule: decay_steps is 5; expected 0: a constant rate does not fall");
  EXPECT_EQ(refused({kConstant, 0, 0, 0.01}),
            "schedule: min_learning_rate is 0.01; expected 0: a constant rate does not fall");
  EXPECT_EQ(refused({kLinear, 10, 10}), "schedule: decay_steps is 10; expected 0, or more than the 10 of warmup_steps");
  EXPECT_EQ(refused({kCosine, 0, 10, 0.2}), "schedule: min_learning_rate is 0.2; expected 0 to the learning rate, 0.1");
  EXPECT_EQ(refusal<std::invalid_argument>([] { LearningRateSchedule{}.rate(1, 0); }),
            "schedule: update is 0; expected 1 or more");
  EXPECT_NE(refusal<std::invalid_argument>([] { parse_schedule("cosin"); }).find("cosine"), std::string::npos);
  for (const std::string& name : schedule_names()) EXPECT_EQ(name_of(parse_schedule(name)), name);
  OptimizerOptions o = OptimizerOptions::of(OptimizerKind::kSgd);
  o.schedule = {kCosine, 5, 3};
  EXPECT_EQ(refusal<std::invalid_argument>([&] { o.validate(); }),
            "optimizer sgd: schedule: decay_steps is 3; expected 0, or more than the 5 of warmup_steps");
  o = OptimizerOptions::of(OptimizerKind::kAdam);
  o.decay_matrices_only = true;
  EXPECT_EQ(refusal<std::invalid_argument>([&] { o.validate(); }),
            "optimizer adam: decay_matrices_only is true; expected false: adamw alone has a decay of weights");
}

/// One weight matrix and one bias; the loss is the mean of x weights + bias, so that gradients stay.
Model two_variables() {
  const Network network = [](VariableStore& store, Port x) {
    const Port w = store.get({"w", {2, 1}, kFloat32, Initializer::constant(1)}).port;
    const Port bias = store.get({"b", {1}, kFloat32, Initializer::constant(1)}).port;
    return store.builder().add("BiasAdd", {store.builder().add("MatMul", {x, w}), bias});
  };
  const LossFunction loss = [](GraphBuilder&, Port, Port outputs) { return outputs; };
  return build_model(network, loss, {{kFloat32, {2, 2}}, {kInt32, {2}}});
}
const Batch& ones() {
  static const Batch batch{Tensor::full(kFloat32, {2, 2}, 1), Tensor::full(kInt32, {2}, 0)};
  return batch;
}
TrainerOptions with(OptimizerKind kind) {
  TrainerOptions o;
  o.optimizer = OptimizerOptions::of(kind);
  o.optimizer.learning_rate = 0.125;
  o.executor.threads = 1;
  return o;
}

TEST(Schedule, UpdatesHaveItsRates) {
  for (const bool separate : {false, true}) {
    TrainerOptions o = with(OptimizerKind::kSgd);
    o.optimizer.schedule = {kLinear, 1, 5};
    o.optimizer.separate_roundings = separate;
    Trainer trainer(two_variables(), o);
    double b = 1;
    for (int64_t t = 1; t <= 6; ++t) {
      const StepResult result = trainer.step(ones());
      EXPECT_EQ(result.learning_rate, o.optimizer.schedule.rate(0.125, t)) << t;
      b -= result.learning_rate;  // the gradient of the bias is 1; these rates are exact
      EXPECT_EQ(trainer.variable("b").value(0), b) << t;
    }
  }
}

TEST(Schedule, DecayFollowsTheRate) {
  // A gradient of 0 leaves the decay alone: w (1 - rate_t decay), rounded to float32 each time.
  for (const bool separate : {false, true})
    for (const bool matrices : {false, true}) {
      TrainerOptions o = with(OptimizerKind::kAdamW);
      o.optimizer.weight_decay = 0.5;
      o.optimizer.schedule = {kLinear, 1, 5, 0.03125};
      o.optimizer.separate_roundings = separate;
      o.optimizer.decay_matrices_only = matrices;
      const LossFunction nothing = [](GraphBuilder& b, Port, Port outputs) {
        return b.add("Mul", {outputs, b.constant(Tensor::full(kFloat32, {}, 0))});
      };
      const Network network = [](VariableStore& store, Port x) {
        const Port w = store.get({"w", {2, 1}, kFloat32, Initializer::constant(1)}).port;
        const Port bias = store.get({"b", {1}, kFloat32, Initializer::constant(1)}).port;
        return store.builder().add("BiasAdd", {store.builder().add("MatMul", {x, w}), bias});
      };
      Trainer trainer(build_model(network, nothing, {{kFloat32, {2, 2}}, {kInt32, {2}}}), o);
      float w = 1;
      for (int64_t t = 1; t <= 7; ++t) {
        trainer.step(ones());
        const float share = static_cast<float>(o.optimizer.schedule.rate(0.125, t) * 0.5);
        w = static_cast<float>(w - (separate ? static_cast<double>(static_cast<float>(static_cast<double>(share) * w))
                                             : static_cast<double>(share) * w));
        EXPECT_EQ(trainer.variable("w").value(0), w) << t;
        EXPECT_EQ(trainer.variable("b").value(0), matrices ? 1 : w) << t;
      }
    }
}

TEST(Schedule, AConstantOneLeavesGraphsAsTheyWere) {
  TrainerOptions o = with(OptimizerKind::kAdamW);
  const Trainer before(two_variables(), o);
  for (const Node& node : before.update_graph().nodes())
    EXPECT_EQ(node.name.find("decay/"), std::string::npos) << node.name;
  o.optimizer.schedule = {kConstant, 2};
  const Trainer after(two_variables(), o);
  EXPECT_GE(after.update_graph().find("decay/float32"), 0);
}

TEST(Schedule, AResumedRunGoesOnWithIt) {
  TrainerOptions o = with(OptimizerKind::kAdamW);
  o.optimizer.schedule = {kCosine, 2, 9, 0.001};
  Trainer whole(two_variables(), o), first(two_variables(), o), second(two_variables(), o);
  for (int i = 0; i < 4; ++i) first.step(ones());
  second.set_state(first.state());
  for (int i = 0; i < 4; ++i) whole.step(ones());
  for (int i = 0; i < 4; ++i) {
    const StepResult expected = whole.step(ones()), found = second.step(ones());
    EXPECT_EQ(found.learning_rate, expected.learning_rate) << i;
    EXPECT_EQ(second.weight_hash(), whole.weight_hash()) << i;
  }
}

TrainSettings settings(const std::string& json) { return TrainSettings::from_json(json); }

TEST(Schedule, Settings) {
  const TrainSettings s = settings(R"({"optimizer": "adamw", "learning_rate": 0.001, "learning_rate_schedule": "cosine",
    "warmup_steps": 100, "decay_steps": 2000, "min_learning_rate": 0.0001, "decay_matrices_only": true})");
  const OptimizerOptions o = s.trainer_options().optimizer;
  EXPECT_EQ(o.schedule, (LearningRateSchedule{kCosine, 100, 2000, 0.0001}));
  EXPECT_TRUE(o.decay_matrices_only);
  EXPECT_EQ(settings(s.to_json()).to_json(), s.to_json());
  EXPECT_NE(s.to_json().find("\"warmup_steps\":100"), std::string::npos);
  EXPECT_EQ(TrainSettings{}.to_json().find("warmup_steps"), std::string::npos) << "as in logs from before";
  EXPECT_EQ(TrainSettings{}.with("learning_rate_schedule", "linear").learning_rate_schedule, "linear");
  const std::string used = train_detail::used_settings(s, {kFloat32});
  EXPECT_NE(used.find("\"learning_rate_schedule\":\"cosine\""), std::string::npos) << used;
  EXPECT_NE(used.find("\"highest_learning_rate\":0.001"), std::string::npos) << used;

  const auto error = [](const std::string& json) {
    return refusal<std::invalid_argument>([&] { settings(json).validate(); });
  };
  EXPECT_EQ(error(R"({"learning_rate_schedule": "cosin"})").find("settings: line 1: 'learning_rate_schedule'"), 0u);
  EXPECT_NE(error(R"({"decay_steps": 5})").find("'decay_steps' has no effect on a constant rate"), std::string::npos);
  EXPECT_NE(error(R"({"min_learning_rate": 0.001})").find("'min_learning_rate' has no effect"), std::string::npos);
  EXPECT_NE(error(R"({"learning_rate_schedule": "linear", "warmup_steps": 9, "decay_steps": 9})")
                .find("'decay_steps' is 9; expected 0, or more than the 9 of 'warmup_steps'"),
            std::string::npos);
  EXPECT_NE(error(R"({"learning_rate_schedule": "linear", "min_learning_rate": 0.5})")
                .find("'min_learning_rate' is 0.5; expected at most 'learning_rate', 0.01"),
            std::string::npos);
  EXPECT_NE(error(R"({"decay_matrices_only": true})").find("'decay_matrices_only' is true, but momentum has no decay"),
            std::string::npos);
}

TEST(Schedule, ARunOfAnotherLengthHasOtherRatesIfItEndsWithTheRun) {
  const auto difference = [](TrainSettings s) {
    TrainSettings longer = s;
    longer.epochs += 1;
    return train_detail::difference_that_decides(longer.to_json(), s.to_json());
  };
  TrainSettings s;
  EXPECT_EQ(difference(s), "");
  s.learning_rate_schedule = "cosine";
  EXPECT_EQ(difference(s), "'epochs' is 6 and was 5");
  s.decay_steps = 100;
  EXPECT_EQ(difference(s), "");
  EXPECT_EQ(train_detail::difference_that_decides(s.to_json(), TrainSettings{}.to_json()),
            "'learning_rate_schedule' is \"cosine\" and was \"constant\", 'decay_steps' is 100 and was 0");
}

}  // namespace
}  // namespace softamp::test
