// How an update is added to weights of few bits: to nearest, stochastically, or with Kahan's compensation (Zamirai et
// al. 2020). Every update against exact formulas; swamping; replicas; slots.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/train/optimizer_rig.h"
#include "tests/train/sgd.h"
#include "tests/train/trainer_rig.h"

namespace softamp::weight_update {
namespace {

using namespace test;
using enum OptimizerKind;
constexpr OptimizerKind kEveryKind[] = {kSgd, kMomentum, kNesterov, kRmsProp, kAdam, kAdamW};
constexpr WeightUpdate kWords[] = {WeightUpdate::kNearest, WeightUpdate::kStochastic, WeightUpdate::kKahan};

/// Numbers of 8 bits, exact in float16 and bfloat16, with zeros among them.
std::vector<double> eight_bits(size_t n, uint32_t seed, double factor) {
  std::mt19937 random(seed);
  std::vector<double> values(n);
  for (double& v : values) {
    v = std::ldexp(128 + static_cast<double>(random() % 128), -14 + static_cast<int>(random() % 9)) * factor;
    if (random() & 1) v = -v;
    if (random() % 16 == 0) v = 0;
  }
  return values;
}

OptimizerOptions options_with(OptimizerKind kind, WeightUpdate update) {
  OptimizerOptions o = OptimizerOptions::of(kind);
  o.learning_rate = 0.0625;
  o.epsilon = 1e-4;
  o.weight_update = update;
  if (kind == kRmsProp) o.momentum = 0.5;
  return o;
}

struct Coded {
  uint64_t code;
  double value;
};
/// a + b, exactly, then to nearest even.
Coded nearest(const FloatFormat& f, double a, double b, const RoundingPolicy& policy) {
  RoundingPolicy p = policy;
  p.mode = RoundingMode::kNearestEven;
  const uint64_t code = oracle::round_value(f, exact(a) + exact(b), p, 0, std::signbit(a) && std::signbit(b)).code;
  return {code, value_of_code(f, code)};
}

/// Four steps of 41 elements against the formulas, every stored value.
void compare_weights(OptimizerKind kind, WeightUpdate update, DType var, DType state, const ExecutorOptions& how) {
  SCOPED_TRACE(std::string(name_of(kind)) + " " + name_of(update) + " " + name_of(var) + " " + name_of(state));
  constexpr int64_t n = 41;
  OptimizerOptions asked = options_with(kind, update);
  asked.state = state;
  UpdateRig rig(asked, {var, {n}}, kF32, how);
  const OptimizerOptions h = rounded_options(asked, var);
  const FloatFormat f = format_of(var);
  RoundingPolicy of_weight = rig.executor->semantics().rounding(f);
  of_weight.mode = update == WeightUpdate::kStochastic ? RoundingMode::kStochastic : RoundingMode::kNearestEven;
  const bool kahan = update == WeightUpdate::kKahan;
  uint32_t operation = 0;
  for (const Node& node : rig.executor->graph().nodes())
    if (node.op.starts_with("Apply") && node.op != "ApplyCompensated") operation = node.operation_id;

  std::vector<double> w = eight_bits(n, 1, 1), c(n, 0.0);
  std::vector<double> slots[2] = {std::vector<double>(n, kind == kRmsProp ? 1.0 : 0.0), std::vector<double>(n, 0.0)};
  rig.set("w", w);
  const double decay_asked = kind == kAdamW ? asked.learning_rate * asked.weight_decay : 0;
  const double decay = value_of_code(f, oracle::round_value(f, exact(decay_asked), RoundingPolicy{}).code);
  for (uint32_t step = 0; step < 4; ++step) {
    // Every other step is small against the weights.
    const std::vector<double> g = eight_bits(n, 100 + step, step % 2 ? 0x1p-6 : 0.25);
    const double rate = 0.09375 / (step + 1), lr = static_cast<float>(rate);
    rig.step(g, rate);
    for (size_t i = 0; i < n; ++i) {
      uint64_t codes[3] = {};
      const Store store = [&](int site, const oracle::Dyadic& sum, bool negative_zero) {
        const FloatFormat to = site == 0 ? f : format_of(state);
        const RoundingPolicy& p = site == 0 ? of_weight : rig.executor->semantics().rounding(to);
        const uint32_t random =
            p.stochastic() ? RandomBits{how.seed}.bits(step, operation + static_cast<uint32_t>(site), i, p.random_bits)
                           : 0;
        const bool alone = site == 0 && kahan;  // the sum without the weight
        codes[site] = alone ? oracle::round_value(to, sum + exact(-w[i]), p, 0, false).code
                            : oracle::round_value(to, sum, p, random, negative_zero).code;
        return value_of_code(to, codes[site]);
      };
      double slot[2] = {slots[0][i], slots[1][i]};
      const double got = expected_update(h, w[i], slot, g[i], lr, decay, store);
      slots[0][i] = slot[0];
      slots[1][i] = slot[1];
      size_t own = rig.slots.size();
      if (kahan) {
        const double y = nearest(f, got, -c[i], of_weight).value;
        const Coded s = nearest(f, w[i], y, of_weight);
        const Coded kept = nearest(f, nearest(f, s.value, -w[i], of_weight).value, -y, of_weight);
        codes[0] = s.code;
        w[i] = s.value;
        c[i] = kept.value;
        ASSERT_EQ(rig.slot(--own).code(static_cast<int64_t>(i)), kept.code) << "c[" << i << "], step " << step;
      } else {
        w[i] = got;
      }
      ASSERT_EQ(rig.w().code(static_cast<int64_t>(i)), codes[0]) << "w[" << i << "], step " << step;
      for (size_t s = 0; s < own; ++s)
        ASSERT_EQ(rig.slot(s).code(static_cast<int64_t>(i)), codes[s + 1]) << rig.slots[s] << "[" << i << "]";
    }
  }
}

TEST(WeightUpdate, EveryOptimizerEqualsTheFormulas) {
  ExecutorOptions ieee;
  ieee.semantics = Semantics::ieee();
  ExecutorOptions ipu = stochastic();
  ipu.seed = 12;
  const std::pair<DType, DType> types[] = {{kF16, kF16}, {kB16, kB16}, {kF32, kF32}, {kB16, kF32}, {kF16, kB16}};
  for (const OptimizerKind kind : kEveryKind)
    for (const WeightUpdate update : kWords)
      for (const auto& [var, state] : types)
        for (const ExecutorOptions& how : {ieee, ipu}) {
          compare_weights(kind, update, var, state, how);
          if (HasFailure()) return;
        }
}

TEST(WeightUpdate, TheCompensationIsTheLastSlotInTheWeightsDtype) {
  OptimizerOptions o = options_with(kAdam, WeightUpdate::kKahan);
  o.state = kF32;
  const std::vector<VariableSpec> slots = Optimizer(o).slots({"net/w", {kB16, {3}}, {}, true});
  ASSERT_EQ(slots.size(), 3u);
  EXPECT_EQ(slots[1].type.dtype, kF32);
  EXPECT_EQ(slots[2].name, "net/w/Compensation");
  EXPECT_EQ(slots[2].type.dtype, kB16);
}

TEST(WeightUpdate, ASkippedUpdateKeepsTheCompensation) {
  for (const bool separate : {false, true}) {
    OptimizerOptions o = options_with(kSgd, WeightUpdate::kKahan);
    o.separate_roundings = separate;
    UpdateRig rig(o, {kB16, {1}}, kB16);
    rig.set("w", {1});
    rig.step({1}, 0x1p-10);
    EXPECT_EQ(rig.w().value(0), 1);
    EXPECT_EQ(rig.slot(0).value(0), 0x1p-10);  // what w has too much
    EXPECT_EQ(rig.step({HUGE_VAL}, 1, false), 0);
    EXPECT_EQ(rig.w().value(0), 1);
    EXPECT_EQ(rig.slot(0).value(0), 0x1p-10);
  }
}

/// With a rate that is a power of two the product is exact, and separate roundings are those of one operation.
TEST(WeightUpdate, SeparateRoundingsHaveAllOfThem) {
  for (const WeightUpdate update : kWords)
    for (const DType type : {kF16, kB16}) {
      OptimizerOptions o = options_with(kSgd, update);
      UpdateRig one(o, {type, {64}}, type);
      o.separate_roundings = true;
      UpdateRig apart(o, {type, {64}}, type);
      for (UpdateRig* rig : {&one, &apart}) {
        rig->set("w", eight_bits(64, 5, 1));
        for (uint32_t step = 0; step < 3; ++step) rig->step(eight_bits(64, 6 + step, 0x1p-3), 0x1p-4);
      }
      // Stochastically the addresses differ.
      const bool drawn = update == WeightUpdate::kStochastic;
      EXPECT_EQ(one.w().same_bits(apart.w()), !drawn) << name_of(update);
      if (update == WeightUpdate::kKahan) {
        EXPECT_TRUE(one.slot(0).same_bits(apart.slot(0)));
      }
    }
}

/// A weight of 1 in bfloat16, 512 updates of -2^-10, a quarter of the spacing below 1: together -1/2.
TEST(WeightUpdate, SmallUpdatesAreSwampedByNearestAlone) {
  constexpr int64_t n = 256;
  const auto mean_after = [&](WeightUpdate update) {
    UpdateRig rig(options_with(kSgd, update), {kB16, {n}}, kB16);
    rig.set("w", std::vector<double>(n, 1.0));
    for (int step = 0; step < 512; ++step) rig.step(std::vector<double>(n, 1.0), 0x1p-10);
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += rig.w().value(i);
    return sum / n;
  };
  EXPECT_EQ(mean_after(WeightUpdate::kDefault), 1);
  EXPECT_EQ(mean_after(WeightUpdate::kNearest), 1);
  EXPECT_EQ(mean_after(WeightUpdate::kKahan), 0.5);
  // A weight takes 128 steps of 2^-8, each step with probability 1/4: deviation sqrt(96) 2^-8, of the mean of 256
  // weights 0.0024; six of them.
  const double drawn = mean_after(WeightUpdate::kStochastic);
  EXPECT_NEAR(drawn, 0.5, 0.0144);
  EXPECT_NE(drawn, 0.5);
}

/// Stochastic rounding of all is swamped by `nearest` too, and drawn bits come again.
TEST(WeightUpdate, WordsHoldUnderEveryRoundingOfTheRun) {
  ExecutorOptions on = stochastic();
  on.seed = 9;
  const auto after = [&](WeightUpdate update, const ExecutorOptions& how) {
    UpdateRig rig(options_with(kSgd, update), {kB16, {64}}, kB16, how);
    rig.set("w", std::vector<double>(64, 1.0));
    for (int step = 0; step < 8; ++step) rig.step(std::vector<double>(64, 1.0), 0x1p-10);
    return rig.w().clone();
  };
  EXPECT_EQ(after(WeightUpdate::kNearest, on).value(5), 1);
  ExecutorOptions off;
  off.seed = 9;
  EXPECT_TRUE(after(WeightUpdate::kStochastic, off).same_bits(after(WeightUpdate::kDefault, on)));
  EXPECT_TRUE(after(WeightUpdate::kStochastic, off).same_bits(after(WeightUpdate::kStochastic, off)));
  EXPECT_TRUE(after(WeightUpdate::kKahan, off).same_bits(after(WeightUpdate::kKahan, on)));
}

TEST(WeightUpdate, ReplicasAgreeUnlessTheyAreToDrift) {
  for (const WeightUpdate update : kWords)
    for (const bool drift : {false, true}) {
      SCOPED_TRACE(std::string(name_of(update)) + (drift ? ", drift" : ""));
      TrainerOptions o = rig_options();
      o.optimizer.weight_update = update;
      o.replicas = 3;
      o.replica_drift = drift;
      Trainer trainer(three_layer_model("bfloat16"), o);
      const bool can = drift && update == WeightUpdate::kStochastic;
      EXPECT_EQ(trainer.warnings().size(), can ? 1u : 0u);
      for (const StepResult& r : train_steps(trainer, 3)) {
        const std::set<std::string> hashes(r.weight_hashes.begin(), r.weight_hashes.end());
        EXPECT_EQ(hashes.size(), can ? 3u : 1u) << "step " << r.step;
      }
    }
}

TEST(WeightUpdate, NamesAreReadAndRefused) {
  for (const WeightUpdate update :
       {WeightUpdate::kDefault, WeightUpdate::kNearest, WeightUpdate::kStochastic, WeightUpdate::kKahan})
    EXPECT_EQ(parse_weight_update(name_of(update)), update);
  EXPECT_THROW(parse_weight_update("kahn"), std::invalid_argument);
  OptimizerOptions o;
  o.weight_update = static_cast<WeightUpdate>(4);
  EXPECT_THROW(o.validate(), std::invalid_argument);
}

}  // namespace
}  // namespace softamp::weight_update
