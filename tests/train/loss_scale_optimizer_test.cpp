// Wrapped optimizers: who is wrapped and how that is refused, what a wrapper hands on, and the vectors of loss scaling
// run through a Trainer (MIXED_PRECISION T01 to T03, T09 to T12, T18, K23, K24).
#include "softamp/train/keras/loss_scale_optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/graph/executor_check.h"
#include "tests/train/sgd.h"

namespace softamp {
namespace {

using test::refusal;
using test::sgd;
using Strings = std::vector<std::string>;
using Numbers = std::vector<double>;

template <class Error = std::invalid_argument, class Act>
std::string refused(Act&& act) {
  return refusal<Error>(std::forward<Act>(act));
}

// ---- MIXED_PRECISION T01 to T03

// tests: T01, T18
TEST(EnableRewrite, ReturnsTheOptimizerInItsFamilysWrapper) {
  MixedPrecisionContext context;
  const auto train = enable_mixed_precision_graph_rewrite(context, TrainOptimizer{sgd(0.5)});
  static_assert(std::is_same_v<decltype(train), const MixedPrecisionLossScaleOptimizer>);
  EXPECT_TRUE(context.graph_rewrite_enabled());
  EXPECT_EQ(train.loss_scale().options(), LossScaleOptions::tensorflow());
  EXPECT_EQ(train.learning_rate(), 0.5);
  const auto keras = enable_mixed_precision_graph_rewrite(context, KerasOptimizer{sgd(0.5)});
  static_assert(std::is_same_v<decltype(keras), const LossScaleOptimizer>);
  EXPECT_EQ(keras.loss_scale().options().initial, 0x1p15);
  EXPECT_FALSE(MixedPrecisionContext().graph_rewrite_enabled());  // the switch is the context's
  // MIXED_PRECISION T18, TUTORIAL X6: the same machine, but for what a skipped step counts.
  LossScaleOptions same = keras.loss_scale().options();
  EXPECT_TRUE(same.count_skipped_steps);
  same.count_skipped_steps = false;
  EXPECT_EQ(same, train.loss_scale().options());
  disable_mixed_precision_graph_rewrite(context);
  EXPECT_FALSE(context.graph_rewrite_enabled());
  // Wrapped optimizers keep scaling.
  GraphBuilder b;
  const Port scaled = train.get_scaled_loss(b, b.constant(test::floats({1.5})));
  const Graph graph = b.build();
  EXPECT_EQ(make_executor(graph)->run({}, Strings{graph.port_name(scaled)}).values[0].value(0), 1.5 * 0x1p15);
}

// tests: T02
TEST(EnableRewrite, LossScaleMayBeMany) {
  MixedPrecisionContext context;
  const auto options = [&](const LossScaleArgument& argument) {
    return enable_mixed_precision_graph_rewrite(context, TrainOptimizer{}, argument).loss_scale().options();
  };
  EXPECT_EQ(options(128).initial, 128);
  EXPECT_FALSE(options(128).dynamic);
  EXPECT_FALSE(options(128.5).skip_overflowed);
  EXPECT_EQ(options(128).unscale, Unscale::kReciprocal);
  EXPECT_TRUE(options("dynamic").dynamic);
  EXPECT_EQ(options(std::nullopt).initial, 1);
  EXPECT_FALSE(options(std::nullopt).dynamic);
  EXPECT_EQ(options("2^10").initial, 1024);
  EXPECT_FALSE(options("2^10").dynamic);
  EXPECT_EQ(options("mindspore").initial, 0x1p24);
  LossScaleOptions own = LossScaleOptions::tensorflow();
  own.initial = 4;
  own.window = 3;
  EXPECT_EQ(options(own), own);
  struct Doubling : LossScaleRule {
    double next(const Step& step) const override { return 2 * static_cast<double>(step.scale); }
  };
  const LossScaleOptions doubling = LossScaleOptions::own(std::make_shared<Doubling>(), 8);
  EXPECT_EQ(options(doubling), doubling);
  EXPECT_EQ(refused([&] {
              LossScaleOptimizer(KerasOptimizer{}, doubling).get_config();
            }).find("the loss scale 'own' moves by a rule of the user's own"),
            std::string("LossScaleOptimizer: ").size());

  const auto refused_off = [&](const LossScaleArgument& argument) {
    MixedPrecisionContext fresh;
    const std::string text = refused([&] { enable_mixed_precision_graph_rewrite(fresh, TrainOptimizer{}, argument); });
    EXPECT_FALSE(fresh.graph_rewrite_enabled()) << text;
    return text;
  };
  EXPECT_EQ(refused_off("abc").rfind("Could not interpret loss scale identifier: abc", 0), 0u);
  EXPECT_EQ(refused_off(0.5), "loss_scale_value must be at least 1.");
  EXPECT_EQ(refused_off(std::nan("")), "loss_scale_value must be a Python int or float.");
}

template <class Candidate>
concept IsTaken = requires(MixedPrecisionContext c, Candidate o) {
  enable_mixed_precision_graph_rewrite(c, o);
};

// tests: T03
TEST(EnableRewrite, TakesOptimizersThatAreNotWrapped) {
  static_assert(IsTaken<TrainOptimizer> && IsTaken<KerasOptimizer> && IsTaken<AnyOptimizer>);
  static_assert(!IsTaken<MixedPrecisionLossScaleOptimizer> && !IsTaken<LossScaleOptimizer> && !IsTaken<int>);
  const auto text = [](const AnyOptimizer& optimizer, DtypeBehaviour behaviour = DtypeBehaviour::kV2) {
    MixedPrecisionContext context({}, behaviour);
    const std::string why = refused([&] { enable_mixed_precision_graph_rewrite(context, optimizer); });
    EXPECT_FALSE(context.graph_rewrite_enabled());
    return why;
  };
  EXPECT_EQ(text(MixedPrecisionLossScaleOptimizer(TrainOptimizer{})),
            "\"opt\" must not already be an instance of a MixedPrecisionLossScaleOptimizer. "
            "`enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer with a "
            "MixedPrecisionLossScaleOptimizer.");
  EXPECT_EQ(text(LossScaleOptimizer(KerasOptimizer{})),
            "\"opt\" must not already be an instance of a LossScaleOptimizer. `enable_mixed_precision_graph_rewrite` "
            "will automatically wrap the optimizer with a LossScaleOptimizer.");
  EXPECT_EQ(text("sgd"), "\"opt\" must be an instance of a tf.keras.optimizers.Optimizer, but got: sgd");
  EXPECT_EQ(text("sgd", DtypeBehaviour::kV1),
            "\"opt\" must be an instance of a tf.train.Optimizer or a tf.keras.optimizers.Optimizer, but got: sgd");
}

// tests: T03, T04, T05
TEST(EnableRewrite, NotBesideAPolicyAndOnlyOnce) {
  Strings log;
  MixedPrecisionContext context([&](LogLevel, const std::string& line) { log.push_back(line); });
  context.set_global_policy("mixed_float16");
  // The policy is looked at before the optimizer.
  EXPECT_EQ(refused<ApiConflictError>([&] {
              enable_mixed_precision_graph_rewrite(context, AnyOptimizer("sgd"));
            }).rfind("The mixed precision graph rewrite cannot be enabled", 0),
            0u);
  context.reset_global_policy();
  log.clear();  // the policy has spoken of the device (MIXED_PRECISION K21)
  context.note_session();
  (void)enable_mixed_precision_graph_rewrite(context, TrainOptimizer{});
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].rfind("You already have existing Sessions", 0), 0u);
  // A call that fails leaves it on.
  EXPECT_THROW(enable_mixed_precision_graph_rewrite(context, AnyOptimizer("sgd")), std::invalid_argument);
  EXPECT_TRUE(context.graph_rewrite_enabled());
}

// tests: K23
TEST(Compile, WrapsUnderMixedFloat16Alone) {
  const auto compiled = [](const char* policy, AnyOptimizer optimizer) {
    return compiled_optimizer(Policy(std::string_view(policy)), std::move(optimizer));
  };
  const AnyOptimizer wrapped = compiled("mixed_float16", KerasOptimizer{sgd(0.25)});
  ASSERT_TRUE(std::holds_alternative<LossScaleOptimizer>(wrapped));
  EXPECT_EQ(std::get<LossScaleOptimizer>(wrapped).loss_scale().options(), LossScaleOptions::keras());
  EXPECT_EQ(std::get<LossScaleOptimizer>(wrapped).lr(), 0.25);
  for (const char* policy : {"mixed_bfloat16", "float16", "float32"})
    EXPECT_TRUE(std::holds_alternative<KerasOptimizer>(compiled(policy, KerasOptimizer{}))) << policy;
  const AnyOptimizer own = compiled("mixed_float16", LossScaleOptimizer(KerasOptimizer{}, KerasLossScale{false, 4.0}));
  EXPECT_EQ(std::get<LossScaleOptimizer>(own).loss_scale().scale(), 4);
  EXPECT_EQ(refused([&] { compiled("mixed_float16", TrainOptimizer{}); }),
            "\"inner_optimizer\" must be an instance of OptimizerV2, but got: tf.train.Optimizer");
}

// ---- MIXED_PRECISION K24: the wrapper itself

// tests: K24
TEST(KerasWrapper, Arguments) {
  const LossScaleOptimizer usual(KerasOptimizer{}, KerasLossScale{});
  EXPECT_EQ(usual.loss_scale().options(), LossScaleOptions::keras());
  const LossScaleOptimizer own(KerasOptimizer{}, KerasLossScale{.initial_scale = 8.0, .dynamic_growth_steps = 5});
  EXPECT_EQ(own.loss_scale().scale(), 8);
  EXPECT_EQ(own.loss_scale().options().window, 5);
  EXPECT_EQ(own.loss_scale().options().growth, 2);
  EXPECT_EQ(own.loss_scale().options().min, 1);
  EXPECT_EQ(refused([] { LossScaleOptimizer(KerasOptimizer{}, KerasLossScale{.dynamic = false}); }),
            "\"initial_scale\" must be specified if \"dynamic\" is False");
  EXPECT_EQ(refused([] {
              LossScaleOptimizer(KerasOptimizer{}, KerasLossScale{false, 2.0, 3});
            }),
            "\"dynamic_growth_steps\" must be None if \"dynamic\" is False, but got: 3");
  EXPECT_THROW(LossScaleOptimizer(KerasOptimizer{}, KerasLossScale{.dynamic_growth_steps = 0}), std::invalid_argument);
  EXPECT_THROW(LossScaleOptimizer(KerasOptimizer{sgd(-1)}), std::invalid_argument);
}

// tests: K24
TEST(KerasWrapper, Configuration) {
  const LossScaleOptimizer dynamic(KerasOptimizer{sgd(0.25)}, KerasLossScale{});
  const std::string text = dynamic.get_config();
  EXPECT_EQ(text.rfind("{\"inner_optimizer\":{\"class_name\":\"sgd\",\"config\":{\"learning_rate\":0.25,", 0), 0u)
      << text;
  EXPECT_NE(text.find("},\"dynamic\":true,\"initial_scale\":32768.0,\"dynamic_growth_steps\":2000}"), std::string::npos)
      << text;
  EXPECT_EQ(LossScaleOptimizer::from_config(text).get_config(), text);
  const std::string fixed = LossScaleOptimizer(KerasOptimizer{}, KerasLossScale{false, 16.0}).get_config();
  EXPECT_NE(fixed.find("\"dynamic\":false,\"initial_scale\":16.0,\"dynamic_growth_steps\":null}"), std::string::npos)
      << fixed;
  EXPECT_EQ(LossScaleOptimizer::from_config(fixed).loss_scale().options().initial, 16);

  const auto refused_config = [](const std::string& json) {
    return refused([&] { LossScaleOptimizer::from_config(json); });
  };
  const std::string inner = R"({"inner_optimizer":{"class_name":"sgd","config":{}})";
  EXPECT_EQ(refused_config(inner + R"(,"dynamic":"dynamic"})"),
            "\"dynamic\" argument to LossScaleOptimizer.__init__ must be a bool, but got: \"dynamic\"");
  EXPECT_EQ(refused_config(R"({"inner_optimizer":3})"),
            "\"inner_optimizer\" must be an instance of OptimizerV2, but got: 3");
  EXPECT_EQ(refused_config("{}"), "\"inner_optimizer\" must be an instance of OptimizerV2, but got: null");
  EXPECT_EQ(refused_config(R"({"dinamic":true})"), "LossScaleOptimizer: unknown key 'dinamic'; nearest: dynamic");
  EXPECT_EQ(refused_config(inner + R"(,"initial_scale":"big"})"),
            "LossScaleOptimizer: initial_scale is \"big\"; expected a number or null");
  for (const char* steps : {"1e+300", "1.5", "9223372036854775808"})
    EXPECT_EQ(refused_config(inner + R"(,"dynamic_growth_steps":)" + steps + "}"),
              "LossScaleOptimizer: dynamic_growth_steps is " + std::string(steps) + "; expected an integer or null");
  EXPECT_EQ(refused_config(R"({"inner_optimizer":{"class_name":"sgd","config":{"lerning_rate":1}}})"),
            "LossScaleOptimizer: inner_optimizer has no hyperparameter 'lerning_rate'; nearest: learning_rate");
  EXPECT_NE(refused_config(R"({"inner_optimizer":{"class_name":"sdg","config":{}}})"), "");
  EXPECT_EQ(refused_config("[1e330]"), "LossScaleOptimizer: line 1, column 2: the number 1e330 is beyond binary64");
  EXPECT_EQ(refused_config(std::string(100000, '[')), "LossScaleOptimizer: line 1, column 17: nested deeper than 16");
  EXPECT_TRUE(refused_config("[1").starts_with("LossScaleOptimizer: line 1, column 3: "));
  EXPECT_EQ(refused_config("7"), "LossScaleOptimizer: the configuration is 7; expected an object");
}

template <class Wrapper>
concept HasEpsilon = requires(Wrapper w) {
  w.epsilon();
};

// tests: K24
TEST(KerasWrapper, DelegatesRateAndBetaButNotEpsilon) {
  OptimizerOptions adam = OptimizerOptions::of(OptimizerKind::kAdam);
  adam.beta1 = 0.8;
  LossScaleOptimizer o(KerasOptimizer{adam}, KerasLossScale{});
  EXPECT_EQ(o.beta_1(), 0.8);
  o.set_lr(0.125);
  o.set_beta_1(0.5);
  EXPECT_EQ(o.learning_rate(), 0.125);
  EXPECT_EQ(o.inner_optimizer().options.beta1, 0.5);
  EXPECT_EQ(o.trainer_options().optimizer.learning_rate, 0.125);
  EXPECT_NE(refused([&] { o.set_beta_1(1); }), "");
  EXPECT_EQ(o.beta_1(), 0.5);
  static_assert(!HasEpsilon<LossScaleOptimizer>);
}

// tests: T12
TEST(ScaledGraphs, LossAndGradients) {  // MIXED_PRECISION T12: values, callables, missing gradients
  const MixedPrecisionLossScaleOptimizer two(TrainOptimizer{}, 2);
  GraphBuilder b;
  const Port loss = b.constant(test::halves({1.5}), "loss");
  const Port scaled = two.get_scaled_loss(b, loss);
  int called = 0;
  const std::function<Port()> later = two.get_scaled_loss(b, [&] {
    ++called;
    return loss;
  });
  EXPECT_EQ(called, 0);
  const Port again = later();
  EXPECT_EQ(called, 1);
  const Port three = b.constant(test::floats({3})), four = b.constant(test::halves({-4}));
  const std::vector<std::optional<Port>> gradients =
      two.get_unscaled_gradients(b, std::vector<std::optional<Port>>{three, std::nullopt, four});
  ASSERT_EQ(gradients.size(), 3u);
  EXPECT_FALSE(gradients[1].has_value());
  const Graph graph = b.build();
  EXPECT_EQ(graph.type(scaled).dtype, DType::kFloat16);  // the loss's own
  const RunResult r =
      make_executor(graph)->run({}, Strings{graph.port_name(scaled), graph.port_name(again),
                                            graph.port_name(*gradients[0]), graph.port_name(*gradients[2])});
  EXPECT_EQ(r.values[0].value(0), 3);
  EXPECT_EQ(r.values[1].value(0), 3);
  EXPECT_EQ(r.values[2].value(0), 1.5);
  EXPECT_EQ(r.values[3].value(0), -2);
  EXPECT_EQ(r.values[3].dtype(), DType::kFloat32);
}

// tests: T09
TEST(ScaledGraphs, UnscalingMultipliesByTheReciprocal) {  // MIXED_PRECISION T09: 5 RN(1/3) is not RN(5/3)
  const MixedPrecisionLossScaleOptimizer three(TrainOptimizer{}, 3);
  GraphBuilder b;
  const std::optional<Port> five = b.constant(test::floats({5}));
  const Port unscaled = *three.get_unscaled_gradients(b, std::vector{five})[0];
  const Graph graph = b.build();
  const double got = make_executor(graph)->run({}, Strings{graph.port_name(unscaled)}).values[0].value(0);
  EXPECT_EQ(got, static_cast<double>(5.0f * (1.0f / 3.0f)));
  EXPECT_NE(got, static_cast<double>(5.0f / 3.0f));
}

// tests: T11
TEST(ScaledGraphs, OnlyTheOptimizersGradientsAreScaled) {  // MIXED_PRECISION T11: 2^-26 in half
  GraphBuilder b;
  const Variable w{"w", b.add_named("w", "VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", Shape{}}})};
  const Port half = b.add("Cast", {w.port}, {{"DstT", DType::kFloat16}});
  const Port c = b.constant(Tensor::full(DType::kFloat16, {}, 0x1p-13));
  const Port loss = b.add("Mul", {b.add("Mul", {half, c}), c}, {}, "loss");
  const MixedPrecisionLossScaleOptimizer optimizer(TrainOptimizer{}, 256);
  const std::vector<std::optional<Port>> raw = gradients(b, loss, std::vector{w.port});
  const std::vector<GradientAndVariable> scaled = optimizer.compute_gradients(b, loss, std::vector{w});
  const Graph graph = b.build();
  const auto executor = make_executor(graph);
  const RunResult r = executor->run({}, Strings{graph.port_name(*raw[0]), graph.port_name(*scaled[0].gradient)});
  EXPECT_EQ(r.values[0].value(0), 0);
  EXPECT_EQ(r.values[1].value(0), 0x1p-26);
}

// tests: T09, T10
TEST(ScaledGraphs, AnOverflowedStepChangesNothing) {  // MIXED_PRECISION T09, T10: variables and slots keep every bit
  GraphBuilder b;
  const Variable w{"w", b.add_named("w", "VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", Shape{2}}})};
  const Port x = b.placeholder("x", DType::kFloat32, {2}), rate = b.placeholder("rate", DType::kFloat32, {});
  const Port loss = b.add("Sum", {b.add("Mul", {w.port, x})}, {{"axes", std::vector<int64_t>{0}}}, "loss");
  const KerasOptimizer adam{OptimizerOptions::of(OptimizerKind::kAdam)};
  const LossScaleOptimizer optimizer(adam, KerasLossScale{});
  const Port applied = optimizer.minimize(b, loss, std::vector{w}, rate);
  const Graph graph = b.build();
  const auto executor = make_executor(graph);
  executor->set_variable("w", test::floats({1, 2}));
  const Tensor lr = Tensor::full(DType::kFloat32, {}, 0.5);
  const auto step = [&](const Numbers& values) {
    const Tensor fed = test::floats(values);
    return test::run(*executor, {{"x", &fed}, {"rate", &lr}}, {graph.port_name(applied)}).values[0].value(0) != 0;
  };
  const auto tensors = [&] {
    std::vector<Tensor> all;
    for (const char* name : {"w", "w/Adam", "w/Adam_1"}) all.push_back(executor->variable(name).clone());
    return all;
  };
  EXPECT_TRUE(step({1, 2}));
  const std::vector<Tensor> before = tensors();
  EXPECT_NE(before[1].value(0), 0);
  EXPECT_FALSE(step({1, HUGE_VAL}));
  EXPECT_FALSE(step({std::nan(""), 1}));
  const std::vector<Tensor> after = tensors();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(after[i].same_bits(before[i])) << i;
  EXPECT_TRUE(step({1, 2}));
  EXPECT_FALSE(tensors()[0].same_bits(before[0]));
}

// ---- the vectors, through a Trainer

/// loss = mean over a batch of one image x of w * x, or of w * w * x; one weight in float32.
Model one_weight(bool squared, DType compute = DType::kFloat32) {
  GraphBuilder b;
  Model m;
  m.precision = {"test", compute, DType::kFloat32};
  const Port x = b.placeholder("images", compute, {1, 1, 1, 1});
  b.placeholder("labels", DType::kInt32, {1});
  VariableStore store(b);
  {
    const auto scope = store.scope("net", compute == DType::kFloat32 ? VariableStore::Getter{} : float32_parameters());
    const Port w = store.get({"w", {}, compute, Initializer::ones(), true}).port;
    const Port y = b.add("Mul", {squared ? b.add("Mul", {w, w}) : w, x});
    b.add("Identity", {b.add("Reshape", {y}, {{"shape", std::vector<int64_t>{1, 1}}})}, {}, "logits");
  }
  Port logits = b.graph().port("net/logits");
  if (compute != DType::kFloat32) logits = b.add("Cast", {logits}, {{"DstT", DType::kFloat32}}, "loss_fn/cast");
  b.add("Mean", {logits}, {}, "loss");
  m.logits = "net/logits";
  m.variables = store.variables();
  m.graph = b.build();
  return m;
}

struct WeightRun {
  template <class Wrapper>
  WeightRun(const Wrapper& optimizer, double start, bool squared = false, DType compute = DType::kFloat32,
            GradientClipping clipping = {})
      : trainer(one_weight(squared, compute), options(optimizer, clipping)) {
    trainer.set_variable("net/w", Tensor::full(DType::kFloat32, {}, start));
  }
  template <class Wrapper>
  static TrainerOptions options(const Wrapper& optimizer, const GradientClipping& clipping) {
    TrainerOptions o;
    o.clipping = clipping;
    o.executor.config.floating_point_behaviour.nanoo = true;
    return optimizer.trainer_options(o);
  }
  /// One step with this gradient of w; whether it was applied.
  bool step(double x = 1) {
    std::vector<Batch> batch;
    batch.push_back({Tensor::full(trainer.model().precision.compute, {1, 1, 1, 1}, x), Tensor(DType::kInt32, {1})});
    const StepResult r = trainer.step(batch);
    scales.push_back(r.scale_after);
    return r.applied;
  }
  double w() const { return trainer.variable("net/w").value(0); }

  Trainer trainer;
  Numbers scales;
};

// tests: K24
TEST(Vectors, KerasOptimizersOwn) {
  {
    WeightRun run(LossScaleOptimizer(KerasOptimizer{sgd(0.25)}, KerasLossScale{}), 1, true);  // loss w^2
    run.step();
    EXPECT_EQ(run.w(), 0.5);
    run.step();
    EXPECT_EQ(run.w(), 0.25);
  }
  {
    WeightRun run(LossScaleOptimizer(KerasOptimizer{sgd(2)}, KerasLossScale{false, 10.0}), 5);
    run.step();
    EXPECT_EQ(run.w(), 3);
  }
  {
    WeightRun run(LossScaleOptimizer(KerasOptimizer{sgd(1)}, KerasLossScale{true, 2.0, 1}), 1);
    EXPECT_TRUE(run.step());
    const double w = run.w();
    EXPECT_FALSE(run.step(std::nan("")));
    EXPECT_EQ(run.w(), w);
    EXPECT_EQ(run.scales, (Numbers{4, 2}));
  }
  {  // clipping acts on what is unscaled
    const LossScaleOptimizer optimizer(KerasOptimizer{sgd(2)}, KerasLossScale{true, 2.0, 1});
    for (const char* kind : {"value", "norm", "global norm"}) {
      const auto clip = [&](double c) {
        GradientClipping clipping;
        (kind == std::string("value")  ? clipping.value
         : kind == std::string("norm") ? clipping.norm
                                       : clipping.global_norm) = c;
        return clipping;
      };
      WeightRun first(optimizer, 5, false, DType::kFloat32, clip(2));
      first.step(4);
      EXPECT_EQ(first.w(), 1) << kind;
      EXPECT_EQ(first.scales, Numbers{4});
      WeightRun second(LossScaleOptimizer(KerasOptimizer{sgd(2)}, KerasLossScale{true, 4.0, 1}), 1, false,
                       DType::kFloat32, clip(3));
      second.step(4);
      EXPECT_EQ(second.w(), -5) << kind;
      EXPECT_FALSE(second.step(HUGE_VAL)) << kind;
      EXPECT_EQ(second.w(), -5) << kind;
      EXPECT_EQ(second.scales, (Numbers{8, 4}));
    }
  }
}

// tests: K24
TEST(Vectors, MasterWeightTakesWhatHalfWouldLose) {  // MIXED_PRECISION K24: 1 - 2^-14
  WeightRun run(LossScaleOptimizer(KerasOptimizer{sgd(0x1p-14)}, KerasLossScale{}), 1, false, DType::kFloat16);
  EXPECT_TRUE(run.step());
  EXPECT_EQ(run.w(), 1 - 0x1p-14);
}

struct Sequence {
  double initial;
  const char* steps;
  Numbers scales;
};

// tests: K24, T09, T10, T18, X6
TEST(Vectors, ScalesOfBothWrappers) {
  const std::vector<Sequence> table = {{1, "TTTTTT", {1, 2, 2, 4, 4, 8}},
                                       {1024, "FFFFFF", {512, 256, 128, 64, 32, 16}},
                                       {16, "FFFFFF", {8, 4, 2, 1, 1, 1}},
                                       {1, "TTTFT", {1, 2, 2, 1, 1}},
                                       {32, "TFTFTFT", {32, 16, 16, 8, 8, 4, 4}}};
  const auto check = [&]<class Wrapper>(const Wrapper& optimizer, const Sequence& row) {
    WeightRun run(optimizer, 1);
    int64_t applied = 0, steps = 0;
    for (const char* c = row.steps; *c; ++c, ++steps) applied += run.step(*c == 'T' ? 1 : HUGE_VAL);
    EXPECT_EQ(run.scales, row.scales) << row.steps;
    const Trainer::State state = run.trainer.state();
    // TUTORIAL X6: tf.train's global step stands still on a skipped step, Keras' iterations do not.
    constexpr bool kKeras = std::is_same_v<Wrapper, LossScaleOptimizer>;
    EXPECT_EQ(state.optimizer_step, kKeras ? steps : applied) << row.steps;
  };
  for (const Sequence& row : table) {
    LossScaleOptions o = LossScaleOptions::tensorflow();
    o.initial = row.initial;
    o.window = 2;
    check(MixedPrecisionLossScaleOptimizer(TrainOptimizer{sgd(0.5)}, o), row);
    check(LossScaleOptimizer(KerasOptimizer{sgd(0.5)}, KerasLossScale{true, row.initial, 2}), row);
  }
}

// tests: T09
TEST(Vectors, AScaleNearTheLargestNumberStays) {
  WeightRun run(LossScaleOptimizer(KerasOptimizer{sgd(1)}, KerasLossScale{true, 0x1p127, 1}), 1);
  EXPECT_TRUE(run.step(0x1p-100));
  EXPECT_TRUE(run.step(0x1p-100));
  EXPECT_EQ(run.scales, (Numbers{0x1p127, 0x1p127}));
}

// tests: T09
TEST(Vectors, FixedScalesNeverSkip) {
  WeightRun run(MixedPrecisionLossScaleOptimizer(TrainOptimizer{sgd(1)}, 8), 1);
  EXPECT_TRUE(run.step(HUGE_VAL));
  EXPECT_FALSE(std::isfinite(run.w()));
  EXPECT_EQ(run.scales, Numbers{8});
}

// tests: K24
TEST(Vectors, ACheckpointIsTheInnerOptimizersAndTheScale) {
  const KerasOptimizer momentum{OptimizerOptions::of(OptimizerKind::kMomentum)};
  WeightRun wrapped(LossScaleOptimizer(momentum, KerasLossScale{}), 1);
  TrainerOptions plain;
  plain.optimizer = momentum.options;
  Trainer inner(one_weight(false), plain);
  const auto names = [](const Trainer& trainer) {
    Strings all;
    const Trainer::State state = trainer.state();
    for (const auto& [name, tensor] : state.tensors[0]) all.push_back(name);
    return all;
  };
  EXPECT_EQ(names(wrapped.trainer), names(inner));
  EXPECT_EQ(wrapped.trainer.state().loss_scale.scale, 0x1p15f);
}

}  // namespace
}  // namespace softamp
