// Optimizers on graphs: every update against exact formulas, hyperparameters in their dtypes (TUTORIAL G27, G30),
// slots, skipped updates, separate roundings, refusals.
#include <gtest/gtest.h>

#include <random>

#include "tests/train/optimizer_rig.h"

namespace softamp {
namespace {

using namespace test;
using enum OptimizerKind;
constexpr OptimizerKind kAllKinds[] = {kSgd, kMomentum, kNesterov, kRmsProp, kAdam, kAdamW};

/// Numbers of 2^-8 .. 2^3 in magnitude that are exact in float16 and bfloat16.
std::vector<double> numbers(size_t n, uint32_t seed, double factor = 1) {
  std::mt19937 random(seed);
  std::vector<double> values(n);
  for (double& v : values) {
    const double significand = 128 + static_cast<double>(random() % 128);
    v = std::ldexp(significand, -15 + static_cast<int>(random() % 11)) * factor;
    if (random() & 1) v = -v;
    if (random() % 16 == 0) v = 0;
  }
  return values;
}

OptimizerOptions options_of(OptimizerKind kind) {
  OptimizerOptions o = OptimizerOptions::of(kind);
  o.learning_rate = 0.0625;
  o.epsilon = 1e-4;
  if (kind == kRmsProp) o.momentum = 0.5;
  return o;
}

const Node& apply_node(const Graph& graph) {
  for (const Node& n : graph.nodes())
    if (n.op.starts_with("Apply")) return n;
  throw std::logic_error("no Apply operation");
}

/// Three steps of 37 elements against the formulas, every stored value of every element.
void compare_with_formulas(const OptimizerOptions& o, DType var, DType state, DType grad, const ExecutorOptions& how) {
  constexpr int64_t n = 37;
  OptimizerOptions asked = o;
  asked.state = state;
  UpdateRig rig(asked, {var, {n}}, grad, how);
  const OptimizerOptions h = rounded_options(asked, var);
  const Semantics& semantics = rig.executor->semantics();
  const Node& node = apply_node(rig.executor->graph());
  std::vector<double> w = numbers(n, 1),
                      slots[2] = {std::vector<double>(n, o.kind == kRmsProp ? 1.0 : 0.0), std::vector<double>(n, 0.0)};
  rig.set("w", w);
  const double decay_asked = o.kind == kAdamW ? o.learning_rate * o.weight_decay : 0;
  const FloatFormat hf = format_of(var);
  const double decay = value_of_code(hf, oracle::round_value(hf, exact(decay_asked), RoundingPolicy{}).code);
  for (uint32_t step = 0; step < 3; ++step) {
    const std::vector<double> g = numbers(n, 100 + step, 0.25);
    const double rate = 0.09375 / (step + 1);
    const double lr = static_cast<float>(rate);
    rig.step(g, rate);
    for (size_t i = 0; i < n; ++i) {
      uint64_t codes[3] = {};
      const Store store = [&](int site, const oracle::Dyadic& sum, bool negative_zero) {
        const FloatFormat f = format_of(site == 0 ? var : state);
        const RoundingPolicy& p = semantics.rounding(f);
        const uint32_t random =
            p.stochastic()
                ? RandomBits{how.seed}.bits(step, node.operation_id + static_cast<uint32_t>(site), i, p.random_bits)
                : 0;
        codes[site] = oracle::round_value(f, sum, p, random, negative_zero).code;
        return value_of_code(f, codes[site]);
      };
      double slot[2] = {slots[0][i], slots[1][i]};
      w[i] = expected_update(h, w[i], slot, g[i], lr, decay, store);
      slots[0][i] = slot[0];
      slots[1][i] = slot[1];
      ASSERT_EQ(rig.w().code(static_cast<int64_t>(i)), codes[0]) << name_of(o.kind) << " w[" << i << "], step " << step;
      for (size_t s = 0; s < rig.slots.size(); ++s)
        ASSERT_EQ(rig.slot(s).code(static_cast<int64_t>(i)), codes[s + 1]) << rig.slots[s] << "[" << i << "]";
    }
  }
}

struct Dtypes {
  DType var, state, grad;
};
constexpr Dtypes kDtypes[] = {{kF32, kF32, kF32}, {kF16, kF16, kF16}, {kF16, kF16, kF32}, {kF16, kF32, kF32},
                              {kB16, kB16, kB16}, {kF32, kF16, kF16}, {kF16, kB16, kB16}};

// tests: N256, N262
TEST(Fused, NearestEqualsTheFormulas) {
  ExecutorOptions how;
  how.semantics = Semantics::ieee();
  for (const OptimizerKind kind : kAllKinds)
    for (const Dtypes& d : kDtypes) compare_with_formulas(options_of(kind), d.var, d.state, d.grad, how);
}

// tests: N256, N262
TEST(Fused, StochasticEqualsTheFormulas) {
  ExecutorOptions ipu = stochastic();
  ipu.seed = 11;
  ExecutorOptions every;  // float32 too
  every.seed = 0x123456789abcdef0;
  RoundingPolicy policy;
  policy.mode = RoundingMode::kStochastic;
  every.semantics = Semantics::ieee(policy);
  for (const OptimizerKind kind : kAllKinds)
    for (const Dtypes& d : kDtypes) {
      compare_with_formulas(options_of(kind), d.var, d.state, d.grad, ipu);
      compare_with_formulas(options_of(kind), d.var, d.state, d.grad, every);
    }
}

// tests: N256, N262
TEST(Fused, HyperparametersHaveADtypeOfTheirOwn) {
  ExecutorOptions how;
  how.semantics = Semantics::ieee();
  OptimizerOptions o = options_of(kMomentum);
  o.hyperparameters = kF32;  // momentum 0.9 of float32 in an update of float16
  compare_with_formulas(o, kF16, kF16, kF16, how);
  UpdateRig rig(o, {kF16, {1}}, kF16, how);
  EXPECT_EQ(attribute<double>(apply_node(rig.executor->graph()), "momentum"), static_cast<double>(0.9f));
  o.hyperparameters.reset();
  UpdateRig narrow(o, {kF16, {1}}, kF16, how);
  EXPECT_EQ(attribute<double>(apply_node(narrow.executor->graph()), "momentum"), 0.89990234375);
}

// tests: N244, N281
TEST(Skipped, NoBitChangesAndNothingIsRaised) {
  for (const bool separate : {false, true})
    for (const OptimizerKind kind : kAllKinds)
      for (const DType dtype : {kF16, kF32}) {
        OptimizerOptions o = options_of(kind);
        o.separate_roundings = separate;
        UpdateRig rig(o, {dtype, {5}}, dtype, stochastic());
        rig.set("w", {1, -0.0, 0.1, -3, 0});
        rig.step({1, 2, -3, 0.3, 0}, 0.1);
        std::vector<Tensor> before;
        before.push_back(rig.w().clone());
        for (size_t s = 0; s < rig.slots.size(); ++s) before.push_back(rig.slot(s).clone());
        const double nan = std::nan("");
        EXPECT_EQ(rig.step({nan, HUGE_VAL, -HUGE_VAL, 60000, 0}, 0.1, false), 0) << name_of(kind) << separate;
        EXPECT_TRUE(rig.w().same_bits(before[0])) << name_of(kind) << separate;
        for (size_t s = 0; s < rig.slots.size(); ++s) EXPECT_TRUE(rig.slot(s).same_bits(before[s + 1]));
        rig.step({1, 1, 1, 1, 1}, 0.1);  // and goes on
        EXPECT_FALSE(rig.w().same_bits(before[0]));
      }
}

// ---------------------------------------------------------------------------------------------------------------------

/// fp16 to nearest of a binary64 result. One operation of two halves is exact in binary64, or (quotient, root) has so
/// many digits there that the second rounding sees the right side of every midpoint: 53 >= 2 * 11 + 2.
double h(double x) { return value_of_code(kFp16, Tensor::full(kF16, {}, x).code(0)); }

double separate_formula(const OptimizerOptions& o, double w, double slot[2], double g, double lr) {
  switch (o.kind) {
    case kSgd: return h(w - h(lr * g));
    case kMomentum: slot[0] = h(h(o.momentum * slot[0]) + g); return h(w - h(lr * slot[0]));
    case kNesterov: slot[0] = h(h(o.momentum * slot[0]) + g); return h(w - h(lr * h(g + h(o.momentum * slot[0]))));
    case kRmsProp:
      slot[0] = h(h(o.rho * slot[0]) + h(h(1 - o.rho) * h(g * g)));
      slot[1] = h(h(o.momentum * slot[1]) + h(h(lr * g) / h(std::sqrt(h(slot[0] + o.epsilon)))));
      return h(w - slot[1]);
    default:
      slot[0] = h(h(o.beta1 * slot[0]) + h(h(1 - o.beta1) * g));
      slot[1] = h(h(o.beta2 * slot[1]) + h(h(1 - o.beta2) * h(g * g)));
      const double change = h(h(lr * slot[0]) / h(h(std::sqrt(slot[1])) + o.epsilon));
      if (o.kind == kAdam) return h(w - change);
      return h(w - h(change + h(h(o.learning_rate * o.weight_decay) * w)));
  }
}

// tests: N259
TEST(Separate, EveryOperationRoundsToHalf) {
  for (const OptimizerKind kind : kAllKinds) {
    OptimizerOptions o = options_of(kind);
    o.separate_roundings = true;
    constexpr size_t n = 41;
    UpdateRig rig(o, {kF16, {n}}, kF16);
    const OptimizerOptions rounded = rounded_options(o, kF16);
    std::vector<double> w = numbers(n, 5),
                        slots[2] = {std::vector<double>(n, kind == kRmsProp ? 1.0 : 0.0), std::vector<double>(n, 0.0)};
    rig.set("w", w);
    for (uint32_t step = 0; step < 4; ++step) {
      const std::vector<double> g = numbers(n, 50 + step, 0.25);
      const double lr = h(0.07);
      rig.step(g, lr);
      for (size_t i = 0; i < n; ++i) {
        double slot[2] = {slots[0][i], slots[1][i]};
        w[i] = separate_formula(rounded, w[i], slot, g[i], lr);
        slots[0][i] = slot[0];
        slots[1][i] = slot[1];
        ASSERT_EQ(rig.w().value(static_cast<int64_t>(i)), w[i]) << name_of(kind) << " step " << step;
        for (size_t s = 0; s < rig.slots.size(); ++s)
          ASSERT_EQ(rig.slot(s).value(static_cast<int64_t>(i)), slots[s][i]) << rig.slots[s];
      }
    }
    for (const Node& node : rig.executor->graph().nodes()) EXPECT_FALSE(node.op.starts_with("Apply")) << node.name;
  }
}

// tests: N259
TEST(Separate, EachRoundingHasItsOwnRandomBits) {
  OptimizerOptions o = options_of(kSgd);
  o.separate_roundings = true;
  ExecutorOptions how = stochastic();
  how.seed = 5;
  constexpr size_t n = 64;
  UpdateRig rig(o, {kF16, {n}}, kF16, how);
  const std::vector<double> w = numbers(n, 3), g = numbers(n, 4);
  rig.set("w", w);
  const double lr = h(0.3);
  rig.step(g, lr);
  const RoundingPolicy& p = rig.executor->semantics().rounding(kFp16);
  uint32_t mul = 0, sub = 0;
  for (const Node& node : rig.executor->graph().nodes()) {
    if (node.op == "Mul") mul = node.operation_id;
    if (node.op == "Sub") sub = node.operation_id;
  }
  ASSERT_NE(mul, sub);
  const auto rounded = [&](const oracle::Dyadic& x, uint32_t operation, size_t i) {
    const uint32_t bits = RandomBits{5}.bits(0, operation, i, p.random_bits);
    return value_of_code(kFp16, oracle::round_value(kFp16, x, p, bits).code);
  };
  for (size_t i = 0; i < n; ++i) {
    const double change = rounded(exact(lr) * exact(g[i]), mul, i);
    EXPECT_EQ(rig.w().value(static_cast<int64_t>(i)), rounded(exact(w[i]) - exact(change), sub, i)) << i;
  }
}

// tests: N259
TEST(Separate, MixedDtypesAreCast) {
  OptimizerOptions o = options_of(kMomentum);
  o.separate_roundings = true;
  o.state = kF32;
  UpdateRig rig(o, {kF16, {1}}, kF32);
  rig.set("w", {1});
  rig.step({0x1p-20}, 0.5);
  EXPECT_EQ(rig.slot(0).value(0), 0x1p-20);
  EXPECT_EQ(rig.slot(0).dtype(), kF32);
  EXPECT_EQ(rig.w().value(0), 1);
}

// ---------------------------------------------------------------------------------------------------------------------

// tests: N255
TEST(Slots, NamesTypesAndFirstValues) {
  const VariableSpec kernel{"conv/kernel", {kF16, {3, 3, 1, 8}}, Initializer::glorot_uniform(), true};
  const auto names = [&](OptimizerKind kind) {
    std::string text;
    for (const VariableSpec& s : Optimizer(OptimizerOptions::of(kind)).slots(kernel)) {
      EXPECT_EQ(s.type, kernel.type);
      EXPECT_FALSE(s.trainable);
      text += s.name + (s.initializer == Initializer::ones() ? "=1 " : " ");
      EXPECT_TRUE(s.initializer == Initializer::ones() || s.initializer == Initializer::zeros());
    }
    return text;
  };
  EXPECT_EQ(names(kSgd), "");
  EXPECT_EQ(names(kMomentum), "conv/kernel/Momentum ");
  EXPECT_EQ(names(kNesterov), "conv/kernel/Momentum ");
  EXPECT_EQ(names(kRmsProp), "conv/kernel/RMSProp=1 conv/kernel/Momentum ");
  EXPECT_EQ(names(kAdam), "conv/kernel/Adam conv/kernel/Adam_1 ");
  EXPECT_EQ(names(kAdamW), "conv/kernel/Adam conv/kernel/Adam_1 ");
  OptimizerOptions o;
  o.state = kF32;
  EXPECT_EQ(Optimizer(o).slots(kernel)[0].type.dtype, kF32);
}

TEST(Graph, NodesStandInScopeUpdate) {
  UpdateRig rig(options_of(kAdamW), {kF32, {2}}, kF32);
  for (const char* name : {"w/Adam", "w/Adam_1", "update/w/ApplyAdam", "update/w/decay", "update/w/Assign",
                           "update/w/Assign_1", "update/w/Assign_2"})
    EXPECT_GE(rig.executor->graph().find(name), 0) << name;
  EXPECT_EQ(rig.executor->graph().size(), 4 + 2 + 5);
  EXPECT_NO_THROW(verify(rig.executor->graph()));
}

TEST(Graph, VariablesOfSeveralDtypes) {
  GraphBuilder b;
  std::vector<GradientAndVariable> pairs;
  for (const auto& [name, dtype] : {std::pair{"conv/kernel", kF16}, {"conv/kernel_1", kF32}}) {
    const Variable v{name, b.add_named(name, "VariableV2", {}, {{"dtype", dtype}, {"shape", Shape{2}}})};
    pairs.push_back({b.placeholder("g", kF32, {2}), v});
  }
  const Port lr = b.placeholder("lr", kF32, {}), apply = b.placeholder("apply", DType::kBool, {});
  Optimizer(options_of(kMomentum)).apply_gradients(b, pairs, lr, apply);
  const Graph graph = b.build();
  for (const auto& [name, momentum] : {std::pair{"conv/kernel", 0.89990234375}, {"conv/kernel_1", double{0.9f}}}) {
    const int node = graph.find("update/" + std::string(name) + "/ApplyMomentum");
    ASSERT_GE(node, 0) << name;
    EXPECT_EQ(attribute<double>(graph.node(node), "momentum"), momentum);
    const int slot = graph.find(std::string(name) + "/Momentum");
    ASSERT_GE(slot, 0) << name;
    EXPECT_EQ(graph.node(slot).outputs[0], graph.node(graph.find(name)).outputs[0]);
  }
}

// tests: G29
TEST(Minimize, IsComputeThenApply) {
  // TUTORIAL G29. Loss: the sum of (x w)^2, once by each way; a variable that the loss does not read is left alone.
  const auto graph = [](bool composed, const OptimizerOptions& o) {
    GraphBuilder b;
    std::vector<Variable> variables;
    for (const char* name : {"w", "unread"})
      variables.push_back({name, b.add_named(name, "VariableV2", {}, {{"dtype", kF32}, {"shape", Shape{3}}})});
    const Port x = b.placeholder("x", kF32, {3});
    const Port lr = b.placeholder("lr", kF32, {}), apply = b.placeholder("apply", DType::kBool, {});
    const Port loss = b.add("Sum", {b.add("Square", {b.add("Mul", {x, variables[0].port})})});
    const Optimizer optimizer(o);
    if (composed) {
      const auto computed = optimizer.compute_gradients(b, loss, variables);
      EXPECT_EQ(computed.size(), 2u);
      EXPECT_TRUE(computed[0].gradient && !computed[1].gradient);
      optimizer.apply_gradients(b, computed, lr, apply);
    } else {
      optimizer.minimize(b, loss, variables, lr, apply);
    }
    return b.build();
  };
  for (const OptimizerKind kind : kAllKinds) {
    const Graph one = graph(false, options_of(kind)), two = graph(true, options_of(kind));
    EXPECT_TRUE(one == two) << name_of(kind);
    EXPECT_EQ(one.find("unread/Momentum"), -1);
    EXPECT_EQ(one.find("update/unread/Assign"), -1);
  }
}

// tests: N257
TEST(Rate, BiasCorrectionInBinary64) {
  Optimizer adam(options_of(kAdam));
  double p1 = 1, p2 = 1;
  for (int64_t t = 1; t <= 60000; ++t) {
    p1 *= 0.9;
    p2 *= 0.999;
    if (t < 100 || t % 1999 == 0) {
      ASSERT_EQ(adam.rate(t), 0.0625 * std::sqrt(1 - p2) / (1 - p1)) << t;
      // t u of each power; 1 - p divides it by 1 - p, and t b^t / (1 - b^t) <= b / (1 - b): 999 u, halved by the root,
      // and 9 u; five more roundings.
      __float128 q1 = 1, q2 = 1;
      for (int64_t i = 0; i < t; ++i) {
        q1 *= static_cast<__float128>(0.9);
        q2 *= static_cast<__float128>(0.999);
      }
      const __float128 got = adam.rate(t) * (1 - q1) / static_cast<__float128>(0.0625);
      const double error = static_cast<double>(got * got / (1 - q2) - 1);
      ASSERT_LE(std::fabs(error), 2 * (999.0 / 2 + 9 + 5) * 0x1p-53) << t;
    }
  }
  EXPECT_EQ(adam.rate(100000000), 0.0625);  // both powers have gone
  EXPECT_EQ(Optimizer(options_of(kMomentum)).rate(7, 256), 0.0625 / 256);
  EXPECT_EQ(adam.rate(1, 4), adam.rate(1) / 4);
  EXPECT_EQ(refusal<std::invalid_argument>([&] { adam.rate(0); }), "optimizer adam: step is 0; expected 1 or more");
  EXPECT_EQ(refusal<std::invalid_argument>([&] { adam.rate(1, 0); }),
            "optimizer adam: loss scale is 0; expected a positive finite number");
}

// ---------------------------------------------------------------------------------------------------------------------

// tests: G27, N258
TEST(Hyperparameters, RateOverScaleInHalf) {
  // TUTORIAL G27: divided first, then cast; cast first, then divided in float16; and gone.
  const HyperparameterCheck first = check_hyperparameter("learning_rate", 0.01 / 256, kF16);
  EXPECT_EQ(first.got, 655 * 0x1p-24);
  EXPECT_NEAR(first.got / first.asked - 1, -5.493e-4, 5e-8);  // the published figure has four digits
  EXPECT_TRUE(first.doubtful);
  EXPECT_EQ(
      first.text(),
      "learning_rate 3.90625e-05 is 3.9041042e-05 in float16, a subnormal number (smallest normal 6.1035156e-05)");
  EXPECT_EQ(check_hyperparameter("learning_rate", check_hyperparameter("x", 0.01, kF16).got / 256, kF16).got,
            656 * 0x1p-24);
  const HyperparameterCheck gone = check_hyperparameter("learning_rate", 0.01 / 0x1p19, kF16);
  EXPECT_EQ(gone.got, 0);
  EXPECT_TRUE(gone.doubtful);
  EXPECT_EQ(Optimizer(OptimizerOptions{}).check(kF16, 256)[0].got, first.got);
}

// tests: G30, N258
TEST(Hyperparameters, PublishedRoundings) {
  // TUTORIAL G30
  const auto half = [](double x) { return check_hyperparameter("x", x, kF16).got; };
  EXPECT_EQ(half(0.01), 0x1.47cp-7);
  EXPECT_EQ(half(0.9), 0.89990234375);
  EXPECT_EQ(half(1e-8), 0);
  EXPECT_EQ(half(1e-4), 1678 * 0x1p-24);
  EXPECT_EQ(check_hyperparameter("epsilon", 1e-8, kF16).text(),
            "epsilon 1e-08 is 0 in float16 (smallest positive 5.9604645e-08)");
  EXPECT_EQ(check_hyperparameter("learning_rate", 1e5, kF16).text(),
            "learning_rate 100000 is inf in float16 (largest 65504)");
  EXPECT_EQ(check_hyperparameter("momentum", 0.9, kF16).text(), "momentum 0.9 is 0.89990234 in float16");
  EXPECT_FALSE(check_hyperparameter("momentum", 0.9, kF16).doubtful);
  EXPECT_FALSE(check_hyperparameter("momentum", 0, kF16).doubtful);
  EXPECT_EQ(refusal<std::invalid_argument>([] { check_hyperparameter("rho", HUGE_VAL, kF16); }),
            "hyperparameter rho is inf; expected a finite number");
  EXPECT_EQ(refusal<std::invalid_argument>([] { check_hyperparameter("rho", 1, DType::kInt32); }),
            "hyperparameter rho: dtype is int32; expected a floating one");
}

/// "epsilon 1 - beta2": the doubtful ones.
std::string doubts(const OptimizerOptions& o, DType dtype, double scale = 1) {
  std::string text;
  for (const HyperparameterCheck& c : Optimizer(o).check(dtype, scale))
    if (c.doubtful) text += (text.empty() ? "" : ", ") + c.name;
  return text;
}

// tests: G30, G36, N258
TEST(Hyperparameters, AllOfAllOptimizers) {
  // TUTORIAL G30, G36, with the defaults of each kind.
  const auto names = [](OptimizerKind kind) {
    std::string text;
    for (const HyperparameterCheck& c : Optimizer(OptimizerOptions::of(kind)).check(kF32)) text += c.name + ", ";
    return text;
  };
  EXPECT_EQ(names(kSgd), "learning_rate, ");
  EXPECT_EQ(names(kMomentum), "learning_rate, momentum, ");
  EXPECT_EQ(names(kNesterov), "learning_rate, momentum, ");
  EXPECT_EQ(names(kRmsProp), "learning_rate, rho, 1 - rho, momentum, epsilon, ");
  EXPECT_EQ(names(kAdam), "learning_rate, beta1, 1 - beta1, beta2, 1 - beta2, epsilon, second moment, ");
  EXPECT_EQ(
      names(kAdamW),
      "learning_rate, beta1, 1 - beta1, beta2, 1 - beta2, epsilon, second moment, learning_rate * weight_decay, ");
  for (const OptimizerKind kind : kAllKinds) EXPECT_EQ(doubts(OptimizerOptions::of(kind), kF32), "") << name_of(kind);
  EXPECT_EQ(doubts(OptimizerOptions::of(kSgd), kF16), "");
  EXPECT_EQ(doubts(OptimizerOptions::of(kMomentum), kF16), "");
  EXPECT_EQ(doubts(OptimizerOptions::of(kRmsProp), kF16), "epsilon");
  EXPECT_EQ(doubts(OptimizerOptions::of(kAdam), kF16), "1 - beta2, epsilon, second moment");
  OptimizerOptions adamw = OptimizerOptions::of(kAdamW);
  adamw.learning_rate = 0.001;  // a decay of 1e-5 is subnormal
  EXPECT_EQ(doubts(adamw, kF16), "1 - beta2, epsilon, second moment, learning_rate * weight_decay");
  EXPECT_EQ(doubts(OptimizerOptions::of(kAdam), kB16), "1 - beta1, 1 - beta2");
  for (const HyperparameterCheck& c : Optimizer(OptimizerOptions::of(kAdam)).check(kB16))
    if (c.name == "1 - beta2") {
      EXPECT_EQ(c.text(), "1 - beta2 0.001 is 0 in bfloat16: beta2 is rounded to 1");
    }
  OptimizerOptions momentum;
  EXPECT_EQ(doubts(momentum, kF16, 256), "learning_rate");
  momentum.hyperparameters = kF32;
  EXPECT_EQ(doubts(momentum, kF16, 256), "");
}

TEST(Hyperparameters, ACureIsNamedOnlyWhereItCures) {
  const auto cures = [](const OptimizerOptions& o, DType dtype) {
    std::string text;
    for (const HyperparameterCheck& c : Optimizer(o).check(dtype)) {
      EXPECT_EQ(c.warning().find("to cure it: ") != std::string::npos, !c.cure.empty());
      if (c.doubtful) text += c.name + ": " + c.cure + "; ";
      EXPECT_TRUE(c.doubtful || c.cure.empty()) << c.name;
    }
    return text;
  };
  const std::string wide = "--set hyperparameters=float32", state = " --set optimizer_state=float32";
  OptimizerOptions o = OptimizerOptions::of(kAdam);
  EXPECT_EQ(cures(o, kB16), "1 - beta1: " + wide + "; 1 - beta2: " + wide + "; ");
  o.hyperparameters = kF32;
  EXPECT_EQ(cures(o, kB16), "");
  // An epsilon of float32 alone, beside second moments that underflow, would leave steps of 10^5 learning rates.
  EXPECT_EQ(cures(o, kF16), "second moment: " + wide + state + "; ");
  o.hyperparameters.reset();
  EXPECT_EQ(cures(o, kF16),
            "1 - beta2: " + wide + state + "; epsilon: " + wide + state + "; second moment: " + wide + state + "; ");
  o.epsilon = 2e-3;
  EXPECT_EQ(cures(o, kF16), "1 - beta2: " + wide + "; ");
  o.epsilon = 1e-8;
  o.hyperparameters = kF32;
  // Constants of plain nodes have the slots' dtype, epsilon that of the variable.
  o.separate_roundings = true;
  EXPECT_EQ(cures(o, kF16), "1 - beta2: " + wide + state + "; epsilon: ; second moment: " + wide + state + "; ");
  o.state = kF32;
  EXPECT_EQ(cures(o, kF16), "epsilon: ; ");
  o.hyperparameters.reset();
  EXPECT_EQ(cures(o, kF16), "1 - beta2: " + wide + "; epsilon: ; ");
  OptimizerOptions tiny = OptimizerOptions::of(kSgd);
  tiny.learning_rate = 1e-60;
  EXPECT_EQ(cures(tiny, kF16), "learning_rate: ; ");
}

// tests: G30, G36
TEST(Hyperparameters, StrictRefuses) {
  // TUTORIAL G30, G36
  OptimizerOptions o = OptimizerOptions::of(kAdam);
  o.strict = true;
  const Optimizer strict(o);
  EXPECT_NO_THROW(strict.check(kF32));
  EXPECT_EQ(refusal<std::invalid_argument>([&] { strict.check(kF16); }),
            "optimizer adam: 1 - beta2 0.001 is 0.0009765625 in float16 (off by 2.34375 %); to cure it: --set "
            "hyperparameters=float32 --set optimizer_state=float32; epsilon 1e-08 is 0 in float16 (smallest positive "
            "5.9604645e-08); to cure it: --set hyperparameters=float32 --set optimizer_state=float32; second moment: 0 "
            "in float16 for gradients below 0.00552, which then move a weight by up to 5.52e+05 learning rates, not "
            "3.2; to cure it: --set hyperparameters=float32 --set optimizer_state=float32");
  EXPECT_THROW(UpdateRig(o, {kF16, {1}}, kF16), std::invalid_argument);
  EXPECT_NO_THROW(UpdateRig(o, {kF32, {1}}, kF32));
}

TEST(Options, NamesAndRanges) {
  for (const OptimizerKind kind : kAllKinds) EXPECT_EQ(parse_optimizer(name_of(kind)), kind);
  EXPECT_EQ(parse_optimizer("AdamW"), kAdamW);
  EXPECT_EQ(refusal<std::invalid_argument>([] { parse_optimizer("adan"); }),
            "unknown optimizer 'adan'; nearest: adam; known: sgd, momentum, nesterov, rmsprop, adam, adamw");
  const auto refused = [](OptimizerKind kind, const std::function<void(OptimizerOptions&)>& change) {
    OptimizerOptions o = OptimizerOptions::of(kind);
    change(o);
    return refusal<std::invalid_argument>([&] { Optimizer optimizer(o); });
  };
  EXPECT_EQ(refused(kSgd, [](auto& o) { o.learning_rate = -1; }),
            "optimizer sgd: learning_rate is -1; expected a finite number from 0");
  EXPECT_EQ(refused(kSgd, [](auto& o) { o.learning_rate = std::nan(""); }),
            "optimizer sgd: learning_rate is nan; expected a finite number from 0");
  EXPECT_EQ(refused(kMomentum, [](auto& o) { o.momentum = 1; }),
            "optimizer momentum: momentum is 1; expected a number of [0, 1)");
  EXPECT_EQ(refused(kRmsProp, [](auto& o) { o.rho = -0.1; }),
            "optimizer rmsprop: rho is -0.1; expected a number of [0, 1)");
  EXPECT_EQ(refused(kAdam, [](auto& o) { o.beta1 = 1; }), "optimizer adam: beta1 is 1; expected a number of [0, 1)");
  EXPECT_EQ(refused(kAdam, [](auto& o) { o.beta2 = 2; }), "optimizer adam: beta2 is 2; expected a number of [0, 1)");
  EXPECT_EQ(refused(kAdam, [](auto& o) { o.epsilon = 0; }),
            "optimizer adam: epsilon is 0; expected a finite number above 0");
  EXPECT_EQ(refused(kAdamW, [](auto& o) { o.weight_decay = -1; }),
            "optimizer adamw: weight_decay is -1; expected a finite number from 0");
  EXPECT_EQ(refused(kAdam, [](auto& o) { o.weight_decay = 0.1; }),
            "optimizer adam: weight_decay is 0.1; expected 0: adamw alone has a decay of weights");
  EXPECT_EQ(refused(kAdam, [](auto& o) { o.state = DType::kFloat64; }),
            "optimizer adam: state is float64; expected float16, bfloat16 or float32");
  EXPECT_EQ(refused(kAdam, [](auto& o) { o.hyperparameters = DType::kInt32; }),
            "optimizer adam: hyperparameters is int32; expected float16, bfloat16 or float32");
}

TEST(Graph, WhatDoesNotFitIsRefused) {
  GraphBuilder b;
  const auto variable = [&](const char* name, const Shape& shape) {
    return Variable{name, b.add_named(name, "VariableV2", {}, {{"dtype", kF32}, {"shape", shape}})};
  };
  const Variable w = variable("w", {2}), v = variable("v", {3});
  const Port g = b.placeholder("g", kF32, {2}), lr = b.placeholder("lr", kF32, {}),
             half_lr = b.placeholder("half_lr", kF16, {}), apply = b.placeholder("apply", DType::kBool, {});
  const auto refused = [&](std::vector<GradientAndVariable> pairs, Port rate, Port flag) {
    return refusal<std::invalid_argument>([&] { Optimizer(OptimizerOptions{}).apply_gradients(b, pairs, rate, flag); });
  };
  EXPECT_EQ(refused({}, lr, apply), "No gradients provided for any variable");
  EXPECT_EQ(refused({{{}, w}, {{}, v}}, lr, apply), "No gradients provided for any variable");
  EXPECT_EQ(refused({{g, v}}, lr, apply),
            "the gradient of variable 'v' is g, float32 [2]; expected float16, bfloat16 or float32 [3]");
  EXPECT_EQ(refused({{g, w}, {g, w}}, lr, apply), "variable 'w' comes twice; expected one gradient for each");
  EXPECT_EQ(refused({{g, w}}, half_lr, apply), "the learning rate is half_lr, float16 []; expected a float32 scalar");
  EXPECT_EQ(refused({{g, w}}, lr, g),
            "what says whether an update is applied is g, float32 [2]; expected a bool scalar");
  EXPECT_EQ(refused({{g, Variable{"w", g}}}, lr, apply),
            "variable 'w' is no VariableV2 of that name in the graph of the update");
  EXPECT_EQ(refused({{Port{99, 0}, w}}, lr, apply),
            "the gradient of variable 'w' is no output of the graph of the update");
  EXPECT_EQ(refused({{g, w}}, lr, apply), "");
}

}  // namespace
}  // namespace softamp
