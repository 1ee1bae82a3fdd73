// TUTORIAL G40: updates below half the spacing of their weights are counted, by variable and step.
#include "softamp/train/lost_updates.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "softamp/train/trainer.h"
#include "src/train/run/lost_update_report.h"
#include "tests/train/optimizer_rig.h"
#include "tests/train/quiet_run.h"
#include "tests/train/sgd.h"

namespace softamp {
namespace {

using test::kB16;
using test::kF16;
using test::kF32;
using test::refusal;
using test::sgd;
using Numbers = std::vector<double>;

// tests: G40, N298
TEST(IsLost, OnHandWorkedPlaces) {
  // Half has 11 bits: from 1 up the next number is 2^-10 away, downwards 2^-11.
  EXPECT_TRUE(is_lost(kF16, 1, 0x1p-12));  // the middle below 1: the even neighbour is 1
  EXPECT_FALSE(is_lost(kF16, 1, 0x1.004p-12));
  EXPECT_FALSE(is_lost(kF16, 1, 0x1p-11));  // the next number below 1
  EXPECT_TRUE(is_lost(kF16, 1, -0x1p-11));  // the middle above 1
  EXPECT_FALSE(is_lost(kF16, 1, -0x1.004p-11));
  EXPECT_TRUE(is_lost(kF16, -1, -0x1p-12));
  EXPECT_FALSE(is_lost(kF16, -1, -0x1p-11));
  EXPECT_TRUE(is_lost(kF16, -1, 0x1p-11));
  EXPECT_FALSE(is_lost(kF16, 0x1.004p0, 0x1p-11));  // a middle beside an odd number goes to the even one
  EXPECT_TRUE(is_lost(kF16, 0x1.004p0, 0x1.ffcp-12));
  EXPECT_FALSE(is_lost(kF16, 0, 0x1p-24));  // the smallest subnormal number
  EXPECT_TRUE(is_lost(kF16, 0, 0x1p-25));
  EXPECT_FALSE(is_lost(kF16, 0x1p-14, 0x1p-24));
  EXPECT_TRUE(is_lost(kF16, 0x1p-14, 0x1p-25));  // below the smallest normal number the spacing stays
  EXPECT_TRUE(is_lost(kF32, 1, 0x1p-25));
  EXPECT_FALSE(is_lost(kF32, 1, 0x1p-12));
  EXPECT_TRUE(is_lost(kB16, 1, 0x1p-9));
  EXPECT_FALSE(is_lost(kB16, 1, 0x1p-8));
  for (const double x : {0.0, HUGE_VAL, std::nan("")}) EXPECT_FALSE(is_lost(kF16, 1, x)) << x;  // no update, or no loss
  EXPECT_FALSE(is_lost(kF16, HUGE_VAL, 1));
  EXPECT_FALSE(is_lost(kF16, std::nan(""), 1));
  EXPECT_EQ(refusal<std::invalid_argument>([] { is_lost(DType::kInt32, 1, 1); }),
            "the weight's dtype is int32; expected a floating one");
}

// tests: N298
TEST(IsLost, IsTheOraclesRoundingOfTheExactDifference) {
  std::mt19937 random(7);
  for (const DType dtype : {kF16, kB16, kF32}) {
    const FloatFormat f = format_of(dtype);
    const uint64_t codes = uint64_t{1} << (f.storage_bits() - 1);
    int lost = 0, ties = 0;
    for (int i = 0; i < 6000; ++i) {
      // Also powers of two and the smallest and largest numbers, and updates in the middle and one bit beside it.
      uint64_t code = random() % codes;
      if (i % 4 == 0) code &= ~((uint64_t{1} << f.mantissa_bits()) - 1);
      if (i % 8 == 1) code %= 64;
      const double w = test::value_of_code(f, code);
      if (!std::isfinite(w)) continue;
      const double other = test::value_of_code(f, i & 16 ? code + 1 : code ? code - 1 : 1);
      if (!std::isfinite(other)) continue;
      double update = (w - other) / 2;
      if (i % 3 == 1) update *= 1 + 0x1p-20;
      if (i % 3 == 2) update *= 1 - 0x1p-20;
      const double signed_w = i & 32 ? -w : w, signed_update = i & 32 ? -update : update;
      const oracle::Dyadic difference = test::exact(signed_w) + test::exact(-signed_update);
      const uint64_t rounded = oracle::round_value(f, difference, RoundingPolicy{}).code;
      const bool expected = test::value_of_code(f, rounded) == signed_w;
      ASSERT_EQ(is_lost(dtype, signed_w, signed_update), expected) << name_of(dtype) << " " << w << " " << update;
      lost += expected;
      ties += i % 3 == 0 && expected;
    }
    EXPECT_GT(lost, 1500);
    EXPECT_GT(ties, 300);
  }
}

/// loss = sum of w * x over 8 weights, kept in `parameters`: the gradient of w is x, in half.
Model eight_weights(DType parameters) {
  GraphBuilder b;
  Model m;
  m.precision = {"test", kF16, parameters};
  const Port x = b.placeholder("images", kF16, {1, 1, 1, 8});
  b.placeholder("labels", DType::kInt32, {1});
  VariableStore store(b);
  {
    const auto scope = store.scope("net", parameters == kF16 ? VariableStore::Getter{} : float32_parameters());
    const NodeOutput w = store.get({"w", {8}, kF16, Initializer::ones(), true});
    const Port y = b.add("Mul", {b.add("Reshape", {x}, {{"shape", std::vector<int64_t>{8}}}), w.port});
    b.add("Identity", {b.add("Reshape", {y}, {{"shape", std::vector<int64_t>{1, 8}}})}, {}, "logits");
  }
  const Port wide = b.add("Cast", {b.graph().port("net/logits")}, {{"DstT", kF32}}, "loss_fn/logits_cast");
  b.add("Sum", {wide}, {{"axes", std::vector<int64_t>{0, 1}}}, "loss");
  m.logits = "net/logits";
  m.variables = store.variables();
  m.graph = b.build();
  return m;
}

TrainerOptions counting(const OptimizerOptions& optimizer) {
  TrainerOptions o;
  o.optimizer = optimizer;
  o.loss_scale = LossScaleOptions::none();
  o.count_lost_updates = true;
  o.hash_weights = true;
  return o;
}

/// One step with this gradient; the counts of the one variable.
LostUpdates counted(Trainer& trainer, const Numbers& gradient, StepResult* whole = nullptr) {
  std::vector<Batch> batch;
  batch.push_back({test::tensor(kF16, {1, 1, 1, 8}, gradient), Tensor(DType::kInt32, {1})});
  StepResult r = trainer.step(batch);
  if (whole) *whole = r;
  return r.lost_updates.size() == 1 ? r.lost_updates[0] : LostUpdates{};
}

Numbers weights(const Trainer& trainer) {
  Numbers all;
  for (int i = 0; i < 8; ++i) all.push_back(trainer.variable("net/w").value(i));
  return all;
}

// w = 1 six times, then 0 and 2048; of the eight updates one is 0 and four are lost in half, none in float32.
const Numbers kStart = {1, 1, 1, 1, 1, 1, 0, 2048};
const Numbers kUpdates = {0x1p-12, 0x1p-11, -0x1p-11, -0x1.004p-11, 0, 0x1p-13, 0x1p-20, -1};

// tests: G40
TEST(LostUpdates, ExactCountsInHalfAndNoneInFloat32Masters) {
  for (const DType parameters : {kF16, kF32}) {
    Trainer trainer(eight_weights(parameters), counting(sgd(1)));
    trainer.set_variable("net/w", test::tensor(parameters, {8}, kStart));
    StepResult step;
    const LostUpdates counts = counted(trainer, kUpdates, &step);
    EXPECT_EQ(counts.variable, "net/w");
    EXPECT_EQ(counts.dtype, parameters);
    EXPECT_FALSE(counts.stochastic);
    EXPECT_EQ(counts.elements, 8);
    EXPECT_EQ(counts.moving, 7);
    EXPECT_EQ(counts.lost, parameters == kF16 ? 4 : 0);
    // And so the weights say: what is lost has not moved.
    int moved = 0;
    for (size_t i = 0; i < 8; ++i) moved += weights(trainer)[i] != kStart[i];
    EXPECT_EQ(moved, counts.moving - counts.lost);
    EXPECT_NE(
        step.json().find(parameters == kF16 ? R"("lost_updates":{"net/w":{"moving":7,"lost":4,"stochastic":false}})"
                                            : R"("lost_updates":{"net/w":{"moving":7,"lost":0,"stochastic":false}})"),
        std::string::npos)
        << step.json();
  }
}

/// Kahan's compensation takes what the weights lose. What it loses itself counts: 2^-24 beside 2^-12.
TEST(LostUpdates, ACompensationKeepsThem) {
  OptimizerOptions kahan = sgd(1);
  kahan.weight_update = WeightUpdate::kKahan;
  Trainer trainer(eight_weights(kF16), counting(kahan));
  trainer.set_variable("net/w", test::tensor(kF16, {8}, kStart));
  const LostUpdates first = counted(trainer, kUpdates);
  EXPECT_EQ(first.moving, 7);
  EXPECT_EQ(first.lost, 0);
  EXPECT_FALSE(first.stochastic);
  EXPECT_EQ(weights(trainer)[0], 1);
  const LostUpdates second = counted(trainer, {0x1p-24, 0, 0, 0, 0x1p-24, 0, 0x1p-24, 0});
  EXPECT_EQ(second.moving, 3);
  EXPECT_EQ(second.lost, 1);
}

/// What is said of rounding follows the word, not the run.
TEST(LostUpdates, WeightUpdatesSayHowTheyRound) {
  for (const bool esr : {false, true})
    for (const WeightUpdate update : {WeightUpdate::kNearest, WeightUpdate::kStochastic}) {
      OptimizerOptions o = sgd(1);
      o.weight_update = update;
      TrainerOptions options = counting(o);
      if (esr) options.executor.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
      Trainer trainer(eight_weights(kF16), options);
      trainer.set_variable("net/w", test::tensor(kF16, {8}, kStart));
      const LostUpdates counts = counted(trainer, kUpdates);
      EXPECT_EQ(counts.stochastic, update == WeightUpdate::kStochastic);
      EXPECT_EQ(counts.lost, 4);
    }
}

// tests: G40, N298
TEST(LostUpdates, MomentumGrowsOutOfThem) {
  // Updates of -2^-12 to 1 in half, where half the spacing is 2^-11: plain descent never moves. Momentum of 3/4 adds
  // them up to 1, 1.75 and 2.3125 times 2^-12; the third is no longer lost.
  OptimizerOptions momentum = OptimizerOptions::of(OptimizerKind::kMomentum);
  momentum.momentum = 0.75;
  momentum.learning_rate = 1;
  OptimizerOptions nesterov = momentum;
  nesterov.kind = OptimizerKind::kNesterov;  // looks ahead: 1.75, then 2.3125
  for (const auto& [options, lost] : std::vector<std::pair<OptimizerOptions, std::vector<int64_t>>>{
           {sgd(1), {8, 8, 8}}, {momentum, {8, 8, 0}}, {nesterov, {8, 0, 0}}}) {
    Trainer trainer(eight_weights(kF16), counting(options));
    std::vector<int64_t> found;
    for (int step = 0; step < 3; ++step) {
      const Numbers before = weights(trainer);
      const LostUpdates counts = counted(trainer, Numbers(8, -0x1p-12));
      EXPECT_EQ(counts.moving, 8);
      EXPECT_EQ(weights(trainer) == before, counts.lost == 8) << name_of(options.kind) << " " << step;
      found.push_back(counts.lost);
    }
    EXPECT_EQ(found, lost) << name_of(options.kind);
  }
}

// tests: G40
TEST(LostUpdates, OfAdamAndRmsPropAreOfTheirOwnFormulas) {
  // Without memory both go by lr g / |g|: lr decides, not the gradient.
  for (const OptimizerKind kind : {OptimizerKind::kAdam, OptimizerKind::kRmsProp})
    for (const auto& [rate, lost] : std::vector<std::pair<double, int64_t>>{{0x1p-13, 8}, {0x1p-10, 0}}) {
      OptimizerOptions o = OptimizerOptions::of(kind);
      o.beta1 = o.beta2 = o.rho = o.momentum = 0;
      o.learning_rate = rate;
      o.epsilon = 0x1p-30;
      o.state = o.hyperparameters = kF32;
      Trainer trainer(eight_weights(kF16), counting(o));
      const LostUpdates counts = counted(trainer, {1, -1, 8, -8, 0.5, 2, 4, -4});
      EXPECT_EQ(counts.moving, 8) << name_of(kind);
      EXPECT_EQ(counts.lost, lost) << name_of(kind) << " " << rate;
    }
  {  // the decay alone moves weights: 1 by 2^-12, 2048 by 1/2; 0 not at all
    OptimizerOptions o = OptimizerOptions::of(OptimizerKind::kAdamW);
    o.learning_rate = 0x1p-10;
    o.weight_decay = 0.25;
    o.epsilon = 1;
    Trainer trainer(eight_weights(kF16), counting(o));
    trainer.set_variable("net/w", test::tensor(kF16, {8}, kStart));
    const LostUpdates counts = counted(trainer, Numbers(8, 0));
    EXPECT_EQ(counts.moving, 7);
    EXPECT_EQ(counts.lost, 7);
  }
}

// tests: G40
TEST(LostUpdates, CountingChangesNoBitAndSkippedStepsHaveNone) {
  for (const bool stochastic : {false, true}) {
    TrainerOptions options = counting(sgd(1));
    options.loss_scale = LossScaleOptions::torch();
    options.executor.config.floating_point_behaviour.nanoo = true;
    options.executor.config.floating_point_behaviour.esr =
        stochastic ? StochasticRoundingBehaviour::kOn : StochasticRoundingBehaviour::kOff;
    TrainerOptions plain = options;
    plain.count_lost_updates = false;
    Trainer a(eight_weights(kF16), options), b(eight_weights(kF16), plain);
    StepResult counted_step, plain_step;
    EXPECT_EQ(counted(a, Numbers(8, 1), &counted_step).elements, 0);  // 2^16 in half: skipped
    EXPECT_FALSE(counted_step.applied);
    counted(b, Numbers(8, 1));
    for (int step = 0; step < 4; ++step) {
      const LostUpdates counts = counted(a, Numbers(8, 0x1p-13), &counted_step);
      EXPECT_EQ(counts.stochastic, stochastic);
      EXPECT_EQ(counts.lost, 8) << step;
      counted(b, Numbers(8, 0x1p-13), &plain_step);
      EXPECT_TRUE(plain_step.lost_updates.empty());
      EXPECT_EQ(counted_step.weight_hashes, plain_step.weight_hashes) << step;
    }
    EXPECT_EQ(weights(a) == Numbers(8, 1), !stochastic);  // stochastically some of them are kept
  }
  OptimizerOptions separate = sgd(1);
  separate.separate_roundings = true;
  EXPECT_EQ(
      refusal<std::invalid_argument>([&] { Trainer(eight_weights(kF16), counting(separate)); }),
      "training: lost updates are counted of updates that are rounded once; expected no separate_roundings, or no "
      "count");
}

// tests: G40
TEST(LostUpdates, ARunWarnsOnceAndTellsTheTotals) {
  train_detail::LostUpdateReport report;
  StepResult step;
  const auto add = [&](int64_t number, std::vector<LostUpdates> counts) {
    step.step = number;
    step.lost_updates = std::move(counts);
    return report.add(step);
  };
  EXPECT_EQ(add(0, {{"a", kF16, false, 10, 8, 3}, {"bias", kF32, false, 4, 4, 0}}), "");
  EXPECT_EQ(add(1, {{"a", kF16, true, 10, 10, 10}, {"bias", kF32, false, 4, 4, 0}}), "");  // not lost, but rounded
  EXPECT_EQ(add(2, {{"a", kF16, false, 10, 8, 4}, {"bias", kF32, false, 4, 4, 3}}),
            "step 2: rounding to nearest loses 3 of 4 updates of 'bias' (75.0 %): they are below half the spacing of "
            "float32 at their weights. Momentum makes updates larger, stochastic rounding keeps small ones on average, "
            "float32 parameters are spaced more finely");
  EXPECT_EQ(add(3, {{"a", kF16, false, 10, 4, 4}, {"bias", kF32, false, 4, 4, 4}}), "");
  EXPECT_EQ(report.lines(),
            (std::vector<std::string>{"a     float16  70.0 % of 30 updates are lost, at most 100.0 % (step 1)",
                                      "bias  float32  43.8 % of 16 updates are lost, at most 100.0 % (step 3)"}));
}

// tests: G40
TEST(LostUpdates, OfAWholeRun) {  // TUTORIAL G40: plain descent in half loses what momentum does not
  const auto share = [](const char* more) {
    const RunSummary run = test::quiet_run(test::small_run(more), {.lost_updates = true});
    int64_t lost = 0, moving = 0;
    for (const LostUpdateTotals& t : run.lost_updates) lost += t.lost, moving += t.moving;
    EXPECT_GT(moving, 0) << more;
    return static_cast<double>(lost) / static_cast<double>(moving);
  };
  const double plain = share(R"({"precision": "float16", "optimizer": "sgd", "learning_rate": 0.001})"),
               momentum = share(R"({"precision": "float16", "optimizer": "momentum", "learning_rate": 0.001})"),
               masters = share(R"({"precision": "mixed", "optimizer": "sgd", "learning_rate": 0.001})");
  EXPECT_GT(plain, 0.5);
  EXPECT_LT(momentum, plain - 0.05);
  EXPECT_LT(masters, 0.01);
}

}  // namespace
}  // namespace softamp
