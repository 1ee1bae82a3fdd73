// Loss scaling on graphs: what the systems publish of their optimizers (TUTORIAL G22 to G28, MIXED_PRECISION T09 to
// T12, K24, M09, M12, M13, M20), clipping, and the nodes that scale and unscale.
#include <gtest/gtest.h>

#include <random>

#include "softamp/findings/exception.h"
#include "softamp/precision/loss_scale.h"
#include "softamp/train/loss_scale_search.h"
#include "tests/train/optimizer_rig.h"
#include "tests/train/quiet_run.h"
#include "tests/train/sgd.h"

namespace softamp {
namespace {

using namespace test;
using enum OptimizerKind;

Tensor scalar(DType dtype, double value) { return Tensor::full(dtype, {}, value); }

/// One variable "var" and a whole step: loss, scale, gradients, unscaling, finite test, clipping, update; the machine
/// on the host decides as its preset says.
class Loop {
 public:
  using Loss = std::function<Port(GraphBuilder&, Port var)>;

  Loop(const OptimizerOptions& o, const LossScaleOptions& s, const TensorType& type, const Loss& loss_of,
       const GradientClipping& clipping = {}, ExecutorOptions how = {})
      : optimizer(o), machine(s) {
    GraphBuilder b;
    const Variable var{"var", b.add_named("var", "VariableV2", {}, {{"dtype", type.dtype}, {"shape", type.shape}})};
    const Port unscaled = loss_of(b, var.port);
    const Port scale = b.placeholder("loss_scale", kF32, {}), rate = b.placeholder("rate", kF32, {}),
               allowed = b.placeholder("allowed", DType::kBool, {});
    const Port scaled = get_scaled_loss(b, unscaled, scale);
    const auto computed = optimizer.compute_gradients(b, scaled, std::vector<Variable>{var});
    std::vector<std::optional<Port>> found{computed[0].gradient};
    if (s.unscale != Unscale::kFoldedIntoRate)
      found = get_unscaled_gradients(b, found, scale, s.unscale == Unscale::kReciprocal);
    const Port finite = b.add("AllFinite", {*found[0]}, {}, "finite");
    const bool decides = s.skip_overflowed && s.overflow_from != OverflowFrom::kStatus;
    const Port apply = decides ? b.add("LogicalAnd", {allowed, finite}) : allowed;
    if (b.type(*found[0]).dtype == kF32) found[0] = clip_gradients(b, std::vector<Port>{*found[0]}, clipping)[0];
    gradient = b.graph().port_name(*found[0]);
    optimizer.apply_gradients(b, std::vector<GradientAndVariable>{{found[0], var}}, rate, apply);
    how.status = true;
    loss_name = b.graph().port_name(unscaled);
    executor = make_executor(b.build(), std::move(how));
  }

  /// Whether the step was applied. x: fed to the placeholder "x", where there is one.
  bool step(double x = 0) {
    const bool folded = machine.options().unscale == Unscale::kFoldedIntoRate;
    const Tensor scale = scalar(kF32, machine.scale()), fed = scalar(kF32, x);
    const Tensor rate = scalar(kF32, optimizer.rate(++t, folded ? machine.scale() : 1));
    Tensors feeds{{"loss_scale", &scale}, {"rate", &rate}};
    if (executor->graph().find("x") >= 0) feeds["x"] = &fed;
    Tensor allowed = scalar(DType::kBool, true);
    bool raised = false;
    if (machine.options().overflow_from != OverflowFrom::kGradients) {
      // The device's flag is known after the backward pass: a dry run tells it.
      const Tensor no = scalar(DType::kBool, false);
      feeds["allowed"] = &no;
      raised = run(*executor, feeds, {loss_name}).flags & (kOverflow | kInvalid);
      if (raised && machine.options().skip_overflowed) allowed = scalar(DType::kBool, false);
    }
    feeds["allowed"] = &allowed;
    const RunResult result = run(*executor, feeds, {"finite", gradient, loss_name});
    const bool finite = result.values[0].code(0) != 0;
    last_gradient = result.values[1].value(0);
    loss = result.values[2].value(0);
    LossScaleEvidence evidence;
    if (machine.options().overflow_from != OverflowFrom::kStatus) evidence.finite = finite;
    if (raised) evidence.finite = false;
    return machine.update(evidence);
  }
  double var() const { return executor->variable("var").value(0); }
  void set(double value) { executor->set_variable("var", scalar(executor->variable("var").dtype(), value)); }

  Optimizer optimizer;
  LossScale machine;
  std::unique_ptr<Executor> executor;
  std::string gradient, loss_name;
  int64_t t = 0;
  double last_gradient = 0, loss = 0;
};

LossScaleOptions keras(double initial, int64_t growth_steps) {
  LossScaleOptions o = LossScaleOptions::keras();
  o.initial = initial;
  o.window = growth_steps;
  return o;
}

Port times_x(GraphBuilder& b, Port var) { return b.add("Mul", {var, b.placeholder("x", kF32, {})}); }
Port squared(GraphBuilder& b, Port var) { return b.add("Square", {var}); }

TEST(Keras, PublishedVectors) {
  Loop square(sgd(0.25), keras(2, 2000), {kF32, {}}, squared);
  square.set(1);
  EXPECT_TRUE(square.step());
  EXPECT_EQ(square.var(), 0.5);
  EXPECT_EQ(square.loss, 1);  // the loss itself is not scaled
  square.step();
  EXPECT_EQ(square.var(), 0.25);

  Loop fixed(sgd(2), LossScaleOptions::fixed(10), {kF32, {}}, times_x);
  fixed.set(5);
  EXPECT_TRUE(fixed.step(1));
  EXPECT_EQ(fixed.var(), 3);

  Loop dynamic(sgd(1), keras(2, 1), {kF32, {}}, times_x);
  dynamic.set(4);
  EXPECT_TRUE(dynamic.step(1));
  EXPECT_EQ(dynamic.machine.scale(), 4);
  EXPECT_EQ(dynamic.var(), 3);
  EXPECT_FALSE(dynamic.step(std::nan("")));
  EXPECT_EQ(dynamic.machine.scale(), 2);
  EXPECT_EQ(dynamic.var(), 3);
}

TEST(Keras, ClippingActsAfterUnscaling) {
  const auto check = [](const char* way, const std::function<void(GradientClipping&, double)>& set) {
    // Clip 2, gradient 4, rate 2: 5 -> 1 (scale 4); clip 3: 1 -> -5 (scale 8); Inf: stays -5 (scale 4).
    double at = 5;
    LossScale::State state = LossScale(keras(2, 1)).state();
    struct Step {
      double bound, gradient, var, scale;
    };
    for (const Step& s : {Step{2, 4, 1, 4}, Step{3, 4, -5, 8}, Step{3, HUGE_VAL, -5, 4}}) {
      GradientClipping clipping;
      set(clipping, s.bound);
      Loop loop(sgd(2), keras(2, 1), {kF32, {}}, times_x, clipping);
      loop.machine.set_state(state);
      loop.set(at);
      EXPECT_EQ(loop.step(s.gradient), s.gradient < 100) << way;
      EXPECT_EQ(loop.var(), s.var) << way;
      EXPECT_EQ(loop.machine.scale(), s.scale) << way;
      at = loop.var();
      state = loop.machine.state();
    }
  };
  check("value", [](GradientClipping& c, double bound) { c.value = bound; });
  check("norm", [](GradientClipping& c, double bound) { c.norm = bound; });
  check("global norm", [](GradientClipping& c, double bound) { c.global_norm = bound; });
}

TEST(Keras, SmallUpdatesReachFloat32Variables) {
  // Variable 1, rate 2^-14, gradient 1: 1 - 2^-14; a float16 variable stays 1.
  for (const DType dtype : {kF32, kF16}) {
    const Loop::Loss through_half = [](GraphBuilder& b, Port var) {
      if (b.type(var).dtype == kF32) var = b.add("Cast", {var}, {{"DstT", kF16}});
      return b.add("Identity", {var});
    };
    Loop loop(sgd(0x1p-14), keras(8, 2000), {dtype, {}}, through_half);
    loop.set(1);
    EXPECT_TRUE(loop.step());
    EXPECT_EQ(loop.var(), dtype == kF32 ? 1 - 0x1p-14 : 1);
    EXPECT_EQ(loop.last_gradient, 1);
  }
}

// tests: N254, N260
TEST(Unscaling, DividesAndKeepsWhatIsMissing) {
  // MIXED_PRECISION T12: [3, none, -4] / 2 -> [1.5, none, -2].
  for (const bool reciprocal : {false, true})
    for (const DType dtype : {kF32, kF16}) {
      GraphBuilder b;
      const std::vector<std::optional<Port>> g{b.constant(scalar(dtype, 3)), {}, b.constant(scalar(dtype, -4))};
      const auto unscaled = get_unscaled_gradients(b, g, b.constant(scalar(kF32, 2)), reciprocal);
      ASSERT_EQ(unscaled.size(), 3u);
      EXPECT_FALSE(unscaled[1]);
      const Names fetches{b.graph().port_name(*unscaled[0]), b.graph().port_name(*unscaled[2])};
      EXPECT_EQ(b.type(*unscaled[0]).dtype, kF32);
      const RunResult result = run(*make_executor(b.build()), {}, fetches);
      EXPECT_EQ(result.values[0].value(0), 1.5);
      EXPECT_EQ(result.values[1].value(0), -2);
    }
}

// tests: N254, N260
TEST(Unscaling, TheOrderOfCastAndQuotient) {
  // TUTORIAL G25, scale 256: a true gradient of 2^-20 survives both ways, one of 2^-26 float32 alone. The quotient in
  // float16 and the reciprocal in the gradient's dtype are MindSpore's way (MIXED_PRECISION M12).
  for (const double g : {0x1p-20, 0x1p-26}) {
    GraphBuilder b;
    const Port scaled = b.constant(scalar(kF16, g * 256)), scale = b.constant(scalar(kF32, 256));
    const Port wide = *get_unscaled_gradients(b, std::vector<std::optional<Port>>{scaled}, scale, false)[0];
    const Port narrow = b.add("RealDiv", {scaled, b.add("Cast", {scale}, {{"DstT", kF16}})});
    const Port inverse = b.add("Cast", {b.add("Reciprocal", {scale})}, {{"DstT", kF16}});
    const Port by_reciprocal = b.add("Mul", {scaled, inverse});
    const Names fetches{b.graph().port_name(wide), b.graph().port_name(narrow), b.graph().port_name(by_reciprocal)};
    const RunResult result = run(*make_executor(b.build()), {}, fetches);
    EXPECT_EQ(result.values[0].value(0), g);
    EXPECT_EQ(result.values[1].value(0), g == 0x1p-20 ? g : 0);
    EXPECT_EQ(result.values[2].value(0), g == 0x1p-20 ? g : 0);
  }
}

// tests: N254, N260
TEST(Unscaling, MindSporesPublishedHalves) {
  GraphBuilder b;
  const Port g = b.constant(halves({1.5, 1.2})), scale = b.constant(scalar(kF32, 1024));
  const Port inverse = b.add("Cast", {b.add("Reciprocal", {scale})}, {{"DstT", kF16}});
  const Names fetch{b.graph().port_name(b.add("Mul", {g, inverse}))};
  const RunResult result = run(*make_executor(b.build()), {}, fetch);
  EXPECT_EQ(result.values[0].value(0), 0.00146484375);
  EXPECT_NEAR(result.values[0].value(1), 0.00117206573, 5e-12);  // the digits that are published
}

TEST(Scaling, IsInTheDtypeOfTheLoss) {
  // A scale of 2^24 does not fit float16 (TUTORIAL X14): ipu saturates it, ieee makes it infinite.
  for (const bool ieee : {false, true}) {
    GraphBuilder b;
    const Port scale = b.constant(scalar(kF32, 0x1p24));
    const Port half = get_scaled_loss(b, b.constant(scalar(kF16, 0.5)), scale);
    const Port wide = get_scaled_loss(b, b.constant(scalar(kF32, 0.5)), scale);
    EXPECT_EQ(b.type(half).dtype, kF16);
    EXPECT_EQ(b.type(wide).dtype, kF32);
    const Names fetches{b.graph().port_name(half), b.graph().port_name(wide)};
    ExecutorOptions how;
    if (ieee) how.semantics = Semantics::ieee();
    const RunResult result = run(*make_executor(b.build(), how), {}, fetches);
    EXPECT_EQ(result.values[0].value(0), ieee ? HUGE_VAL : 65504 * 0.5);
    EXPECT_EQ(result.values[1].value(0), 0x1p23);
  }
}

TEST(Scaling, APowerOfTwoChangesNoBitAndRecoversWhatUnderflows) {
  // TUTORIAL G22, MIXED_PRECISION T11: a float32 variable read as float16; the gradient of its cast is computed in
  // float16.
  const auto trained = [](double scale, double factor, int steps) {
    const Loop::Loss loss = [&](GraphBuilder& b, Port var) {
      const Port half = b.add("Cast", {var}, {{"DstT", kF16}});
      const Port wide = b.add("Cast", {b.add("Mul", {half, b.constant(scalar(kF16, 1))})}, {{"DstT", kF32}});
      return b.add("Mul", {b.add("Square", {wide}), b.constant(scalar(kF32, factor))});
    };
    Loop loop(sgd(0.0123), scale == 1 ? LossScaleOptions::none() : LossScaleOptions::fixed(scale), {kF32, {}}, loss);
    loop.set(1.2345);
    for (int i = 0; i < steps; ++i) loop.step();
    return std::pair(loop.executor->variable("var").code(0), loop.last_gradient);
  };
  const auto plain = trained(1, 0.37, 20);
  for (const double scale : {2.0, 256.0, 4096.0}) EXPECT_EQ(trained(scale, 0.37, 20), plain) << scale;
  // 2 w factor = 2^-26 1.234...: gone in float16, there at scale 256.
  EXPECT_EQ(trained(1, 0x1p-27, 1).second, 0);
  const double found = trained(256, 0x1p-27, 1).second;
  EXPECT_GT(found, 0x1p-26);
  EXPECT_LT(found, 0x1p-25);
}

TEST(Scaling, FoldedIntoTheRate) {
  // TUTORIAL G26: gradients S g at the rate lr / S against g at lr: the same bits, slots S times as large; stochastic
  // too, because a power of two moves no digit.
  for (const OptimizerKind kind : {kSgd, kMomentum, kNesterov})
    for (const DType dtype : {kF32, kF16})
      for (const bool random : {false, true}) {
        OptimizerOptions o = OptimizerOptions::of(kind);
        o.learning_rate = 0x1p-3;  // exact in float16, as is lr / S
        constexpr double kScale = 64;
        const ExecutorOptions how = random ? stochastic() : ExecutorOptions{};
        UpdateRig plain(o, {dtype, {6}}, dtype, how), folded(o, {dtype, {6}}, dtype, how);
        for (UpdateRig* rig : {&plain, &folded}) rig->set("w", {1, -2, 0.3, 0.07, -0.9, 3});
        for (int step = 1; step <= 10; ++step) {
          std::vector<double> g{0.3, -0.2, 0.1, 0.7, -0.4, 0.9}, scaled;
          for (double& x : g) {
            x = tensor(dtype, {1}, {x / step}).value(0);
            scaled.push_back(x * kScale);
          }
          plain.step(g, plain.optimizer.rate(step));
          folded.step(scaled, folded.optimizer.rate(step, kScale));
        }
        EXPECT_TRUE(folded.w().same_bits(plain.w())) << name_of(kind) << name_of(dtype) << random;
        for (size_t s = 0; s < plain.slots.size(); ++s)
          for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(folded.slot(s).value(i), kScale * plain.slot(s).value(i));
      }
}

TEST(Scaling, AdamAndRmsPropDoNotSeeItWhereEpsilonFollows) {
  // TUTORIAL G28: epsilon times S outside the root, times S^2 inside. A power of two, on graphs: the same bits.
  constexpr double kScale = 16;
  for (const OptimizerKind kind : {kAdam, kAdamW, kRmsProp}) {
    OptimizerOptions o = OptimizerOptions::of(kind);
    o.epsilon = 1e-4;
    o.momentum = 0.5;
    OptimizerOptions scaled_options = o;
    scaled_options.epsilon = static_cast<double>(1e-4f) * (kind == kRmsProp ? kScale * kScale : kScale);
    UpdateRig plain(o, {kF32, {4}}, kF32), scaled(scaled_options, {kF32, {4}}, kF32);
    for (UpdateRig* rig : {&plain, &scaled}) rig->set("w", {1, -2, 0.3, 0.07});
    if (kind == kRmsProp) scaled.set("w/RMSProp", std::vector<double>(4, kScale * kScale));
    for (int step = 1; step <= 10; ++step) {
      const std::vector<double> g{0.5 / step, -0.25, 0.125, 1.0 / (1 << step)};
      std::vector<double> s;
      for (const double x : g) s.push_back(static_cast<float>(x) * kScale);
      plain.step(g, plain.optimizer.rate(step));
      scaled.step(s, plain.optimizer.rate(step));
    }
    EXPECT_TRUE(scaled.w().same_bits(plain.w())) << name_of(kind);
  }
  // Any S, in binary64: the two updates differ by their roundings alone, some 20 of 2^-53 each a step.
  const Store identity = [](int, const oracle::Dyadic& sum, bool) {
    return static_cast<double>(std::ldexp(static_cast<long double>(sum.significand), sum.exponent));
  };
  for (const OptimizerKind kind : {kAdam, kRmsProp})
    for (const double s : {3.0, 1000.0, 0.07}) {
      OptimizerOptions o = OptimizerOptions::of(kind), with_s = o;
      o.epsilon = 1e-4;
      with_s.epsilon = 1e-4 * (kind == kRmsProp ? s * s : s);
      double w = 0.7, w_s = 0.7, slot[2] = {}, slot_s[2] = {};
      for (int t = 1; t <= 100; ++t) {
        const double g = 1.0 / t - 0.02;
        w = expected_update(o, w, slot, g, 0.01, 0, identity);
        w_s = expected_update(with_s, w_s, slot_s, s * g, 0.01, 0, identity);
        ASSERT_NEAR(w_s, w, 1e-12) << name_of(kind) << s << " step " << t;
      }
    }
}

TEST(MindSpore, TheSeedScalesGradientsExactly) {
  // MIXED_PRECISION M09: TrainOneStepCell(sens).
  const auto gradient_of = [](double sens) {
    GraphBuilder b;
    const Variable var{"var", b.add_named("var", "VariableV2", {}, {{"dtype", kF32}, {"shape", Shape{}}})};
    GradientOptions options;
    options.seed = b.constant(scalar(kF32, sens));
    const auto computed =
        Optimizer(sgd(1)).compute_gradients(b, squared(b, var.port), std::vector<Variable>{var}, options);
    const Names fetch{b.graph().port_name(*computed[0].gradient)};
    const auto executor = make_executor(b.build());
    executor->set_variable("var", scalar(kF32, 0.1));
    return run(*executor, {}, fetch).values[0].value(0);
  };
  EXPECT_EQ(gradient_of(1), 2 * static_cast<double>(0.1f));
  EXPECT_EQ(gradient_of(1024), 1024 * gradient_of(1));
}

TEST(MindSpore, OverflowByFlagOrByGradients) {
  // MIXED_PRECISION M13: infinite in the forward pass, but not in the gradients.
  const Loop::Loss loss = [](GraphBuilder& b, Port var) {
    const Port infinite = b.add("StopGradient", {b.add("Exp", {b.constant(scalar(kF32, 100))})});
    return b.add("AddV2", {var, infinite});
  };
  for (const OverflowFrom from : {OverflowFrom::kGradients, OverflowFrom::kStatus, OverflowFrom::kBoth}) {
    LossScaleOptions o = LossScaleOptions::mindspore();
    o.initial = 4;
    o.overflow_from = from;
    o.unscale = Unscale::kReciprocal;
    Loop loop(sgd(0.5), o, {kF32, {}}, loss);
    loop.set(1);
    const bool applied = from == OverflowFrom::kGradients;
    EXPECT_EQ(loop.step(), applied);
    EXPECT_EQ(loop.var(), applied ? 0.5 : 1);
    EXPECT_EQ(loop.machine.scale(), applied ? 4 : 2);
  }
}

TEST(MindSpore, WithoutDroppingParametersBecomeNaN) {
  // MIXED_PRECISION M20.
  for (const bool drop : {true, false}) {
    LossScaleOptions o = LossScaleOptions::mindspore_fixed(128, drop);
    o.unscale = Unscale::kReciprocal;
    OptimizerOptions momentum;
    Loop loop(momentum, o, {kF32, {}}, [](GraphBuilder& b, Port var) {
      return b.add("Mul", {b.add("Square", {var}), b.placeholder("x", kF32, {})});
    });
    loop.set(1);
    EXPECT_EQ(loop.step(HUGE_VAL), !drop);
    EXPECT_EQ(loop.var(), drop ? 1 : -HUGE_VAL);
    EXPECT_EQ(loop.step(1), true);
    EXPECT_EQ(std::isnan(loop.var()), !drop);
  }
}

TEST(FindMax, OnAGraph) {
  // TUTORIAL G23: exceptions on, the scale is raised until the step overflows: |g| up to 0.75, so 2^16 0.75 = 49152
  // fits.
  GraphBuilder b;
  const Port g = b.placeholder("g", kF32, {4}), scale = b.placeholder("scale", kF32, {});
  const Names fetch{b.graph().port_name(b.add("Cast", {b.add("Mul", {g, scale})}, {{"DstT", kF16}}))};
  const auto executor = make_executor(b.build(), stopping_on(true, true, true));
  const Tensor gradients = floats({0.75, -0.1, 0, 1e-6});
  const double found = find_max_loss_scale([&](double s) {
    const Tensor fed = scalar(kF32, s);
    const auto attempt = [&] { run(*executor, {{"g", &gradients}, {"scale", &fed}}, fetch); };
    return refusal<FloatingPointError>(attempt) != "";
  });
  EXPECT_EQ(found, 0x1p16);
  // Of settings: neither their rate nor warnings that are errors in a run have to do with it.
  const auto of = [](const std::string& more) {
    const TrainSettings settings = small_run(R"({"precision": "float16", "train_images": 16)" + more + "}");
    return find_max_loss_scale(settings).scale;
  };
  const double usual = of("");
  EXPECT_GT(usual, 1);
  EXPECT_EQ(of(R"(, "learning_rate": 60000)"), usual);
  EXPECT_EQ(of(R"(, "optimizer": "adam", "hyperparameters": "float16", "strict": true)"), usual);
}

// ---------------------------------------------------------------------------------------------------------------------

/// The gradients after clipping, by name g0, g1, ...
std::vector<Tensor> clipped(const std::vector<std::vector<double>>& gradients, const GradientClipping& clipping) {
  GraphBuilder b;
  std::vector<Port> ports;
  for (const std::vector<double>& g : gradients) ports.push_back(b.constant(floats(g)));
  Names fetches;
  for (const Port p : clip_gradients(b, ports, clipping)) fetches.push_back(b.graph().port_name(p));
  for (const Node& n : b.graph().nodes()) EXPECT_TRUE(n.op == "Const" || n.name.starts_with("clip/")) << n.name;
  return run(*make_executor(b.build()), {}, fetches).values;
}

// tests: N261
TEST(Clipping, ByValue) {
  GradientClipping c;
  c.value = 0.5;
  const std::vector<Tensor> g = clipped({{0.25, -0.75, HUGE_VAL, std::nan(""), -0.0}}, c);
  EXPECT_EQ(g[0].value(0), 0.25);
  EXPECT_EQ(g[0].value(1), -0.5);
  EXPECT_EQ(g[0].value(2), 0.5);
  EXPECT_TRUE(std::isnan(g[0].value(3)));
  EXPECT_EQ(g[0].code(4), 0x80000000u);
}

// tests: N261
TEST(Clipping, ByNorm) {
  GradientClipping each, together;
  each.norm = 2.5;
  together.global_norm = 6.5;
  // Norms 5 and 12, together 13.
  std::vector<Tensor> g = clipped({{3, 4}, {12, 0}}, each);
  EXPECT_EQ(g[0].values(), (std::vector<double>{1.5, 2}));
  const float factor = 2.5f / 12;
  EXPECT_EQ(g[1].value(0), 12 * factor);
  g = clipped({{3, 4}, {12, 0}}, together);
  EXPECT_EQ(g[0].values(), (std::vector<double>{1.5, 2}));
  EXPECT_EQ(g[1].values(), (std::vector<double>{6, 0}));
  // Within the bound no bit moves.
  std::mt19937 random(3);
  std::vector<double> values(50);
  for (double& v : values) v = std::ldexp(static_cast<double>(random()), -36);
  each.norm = together.global_norm = 1;
  for (const GradientClipping& c : {each, together}) EXPECT_TRUE(clipped({values}, c)[0].same_bits(floats(values)));
  // All in the order of the fields.
  GradientClipping all;
  all.value = 3;
  all.norm = 1.5;
  all.global_norm = 0.75;
  EXPECT_EQ(clipped({{4, 0}}, all)[0].values(), (std::vector<double>{0.75, 0}));
}

// tests: N261
TEST(Clipping, ANormThatIsNotFiniteIsSeen) {
  GradientClipping each, together;
  each.norm = together.global_norm = 1;
  std::vector<Tensor> g = clipped({{HUGE_VAL, 1}, {1, 0}}, each);
  EXPECT_TRUE(std::isnan(g[0].value(0)) && std::isnan(g[0].value(1)));
  EXPECT_EQ(g[1].value(0), 1);
  g = clipped({{HUGE_VAL, 1}, {1, 0}}, together);
  for (const Tensor& t : g) EXPECT_TRUE(std::isnan(t.value(0)) && std::isnan(t.value(1)));
  EXPECT_TRUE(std::isnan(clipped({{1e30, 1}}, each)[0].value(0)));  // the square overflows
}

TEST(Clipping, Refusals) {
  for (const double bound : {0.0, -1.0, std::nan(""), HUGE_VAL, 0x1p-140}) {
    GradientClipping c;
    c.norm = bound;
    const std::string said = refusal<std::invalid_argument>([&] { c.validate(); });
    EXPECT_TRUE(said.starts_with("gradient clipping: norm is ")) << said;
  }
  GradientClipping c;
  c.global_norm = -2;
  EXPECT_EQ(refusal<std::invalid_argument>([&] { clipped({{1}}, c); }),
            "gradient clipping: global_norm is -2; expected a positive number in the range of float32, from "
            "1.1754944e-38");
  GraphBuilder b;
  const Port half = b.placeholder("g", kF16, {2});
  c.global_norm = 1;
  EXPECT_EQ(refusal<GraphError>([&] { clip_gradients(b, std::vector<Port>{half}, c); }),
            "clipping of g: dtype is float16; expected float32");
  EXPECT_TRUE(clip_gradients(b, {}, c).empty());
}

}  // namespace
}  // namespace softamp
