// MindSpore's cells and steps one by one: to_float, losses, loss scales, kernels, gradients of the user's own
// (MIXED_PRECISION M05 to M10, M12 to M14).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "softamp/precision/kernel_select.h"
#include "tests/train/cell_networks.h"

namespace softamp::test {
namespace {

// ---- MIXED_PRECISION M05, M06: kernels -----------------------------------------------------------------------------

// tests: M05, M06, N294
TEST(Kernels, ExactThenRaiseThenReduce) {
  LogLines log;
  const KernelInfo half{"MatMul", {kFloat16, kFloat16}, {kFloat16}}, single{"MatMul", {kFloat32, kFloat32}, {kFloat32}},
      wide{"MatMul", {kFloat64, kFloat64}, {kFloat64}}, brain{"MatMul", {kBFloat16, kBFloat16}, {kBFloat16}};
  using How = KernelChoice::How;
  const auto choose = [&](const KernelInfo& wanted, std::vector<KernelInfo> kernels, bool reduce = true) {
    const KernelChoice c = select_kernel("net/MatMul", wanted, kernels, reduce, log.sink());
    return std::pair(c.number, c.how);
  };
  EXPECT_EQ(choose(single, {half, single}), std::pair(size_t{1}, How::kExact));
  EXPECT_TRUE(log.lines().empty());
  EXPECT_EQ(choose(single, {half}), std::pair(size_t{0}, How::kReduced));
  EXPECT_EQ(choose(half, {single}), std::pair(size_t{0}, How::kRaised));
  ASSERT_EQ(log.lines().size(), 2u);
  EXPECT_EQ(log.lines()[0].second,
            "MatMul 'net/MatMul' Reduce precision, node datatype: (float32, float32) -> (float32), select kernel: "
            "MatMul(float16, float16) -> (float16)");
  EXPECT_EQ(log.lines()[1].second,
            "MatMul 'net/MatMul' Raise precision, node datatype: (float16, float16) -> (float16), select kernel: "
            "MatMul(float32, float32) -> (float32)");
  EXPECT_EQ(log.lines()[0].first, LogLevel::kInfo);
  EXPECT_EQ(log.count("Reduce precision, node datatype"), 1);
  EXPECT_EQ(log.count("Reduce precision", LogLevel::kWarning), 0);
  // Raising goes before reducing, the nearest before the far one.
  EXPECT_EQ(choose(single, {half, wide}), std::pair(size_t{1}, How::kRaised));
  EXPECT_EQ(choose(half, {wide, single}), std::pair(size_t{1}, How::kRaised));
  EXPECT_EQ(choose(wide, {half, single}), std::pair(size_t{1}, How::kReduced));
  EXPECT_EQ(invalid([&] { choose(single, {half}, false); }),
            "MatMul 'net/MatMul': no kernel for (float32, float32) -> (float32); expected one of MatMul(float16, "
            "float16) -> (float16) (reducing precision is not allowed)");
  EXPECT_TRUE(invalid([&] { choose(half, {brain}); }).starts_with("MatMul 'net/MatMul': no kernel"));
  EXPECT_TRUE(invalid([&] { choose(half, {}); }).ends_with("expected one of none"));
}

// tests: M05
TEST(Kernels, AGraphOnADeviceWithoutFloat32Products) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2, 2});
  const Port y = b.add("MatMul", {x, x}, {}, "net/MatMul");
  b.add("AddV2", {y, x}, {}, "net/AddV2");
  const Graph graph = b.build();
  LogLines log;
  const std::vector<KernelInfo> kernels{{"MatMul", {kFloat16, kFloat16}, {kFloat16}},
                                        {"AddV2", {kFloat32, kFloat32}, {kFloat32}}};
  const Graph on_device = select_kernels(graph, kernels, true, log.sink());
  EXPECT_NO_THROW(verify(on_device));
  EXPECT_EQ(log.count("Reduce precision, node datatype"), 1);
  EXPECT_EQ(log.count("Raise precision"), 0);
  const Tensor in = tensor(kFloat32, {2, 2}, {1 + 0x1p-12, 0, 0, 1});
  const RunResult result = run(*make_executor(on_device), {{"x", &in}}, {"net/AddV2", "net/MatMul"});
  EXPECT_EQ(result.values[1].dtype(), kFloat16);
  EXPECT_EQ(result.values[0].values(), (std::vector<double>{2 + 0x1p-12, 0, 0, 2}));  // 1 from fp16, and x as it was
  EXPECT_EQ(select_kernels(graph, {}, true), graph);
}

TEST(Kernels, CastsTakeNamesThatAreFree) {
  GraphBuilder b;
  const Port x = b.placeholder("x", kFloat32, {2, 2});
  const Port y = b.add_named("m", "MatMul", {x, x}, {});
  const Port z = b.add_named("m/to_float16", "Neg", {y}, {});
  b.add_named("m/from_float16", "Neg", {z}, {});
  const Graph on_device = select_kernels(b.build(), {{{"MatMul", {kFloat16, kFloat16}, {kFloat16}}}}, true);
  EXPECT_NO_THROW(verify(on_device));
  for (const char* name : {"m/to_float16_1", "m/to_float16_2", "m/from_float16_1"}) {
    ASSERT_GE(on_device.find(name), 0) << name;
    EXPECT_EQ(on_device.node(on_device.find(name)).op, "Cast");
  }
  EXPECT_EQ(on_device.node(on_device.find("m/to_float16")).op, "Neg");
}

// ---- MIXED_PRECISION M07, M08: to_float ----------------------------------------------------------------------------

// tests: M07
TEST(ToFloat, RecursiveAndTheLastCallWins) {
  Manual net(4, 3);
  EXPECT_EQ(net.dense.compute_dtype(), std::nullopt);
  EXPECT_EQ(&net.to_float(kFloat16), &net);
  EXPECT_EQ(net.dense.compute_dtype(), kFloat16);
  net.dense.to_float(kFloat32);
  EXPECT_EQ(net.compute_dtype(), kFloat16);
  EXPECT_EQ(net.dense.compute_dtype(), kFloat32);
  net.to_float(kFloat16);  // the other way round
  EXPECT_EQ(net.dense.compute_dtype(), kFloat16);
  for (const DType bad : {kInt32, kFloat64, kBool}) {
    EXPECT_EQ(invalid([&] { net.to_float(bad); }), "dst_type should inside float32 or float16.");
  }
  EXPECT_EQ(net.dense.compute_dtype(), kFloat16);
  EXPECT_EQ(invalid([&] { Dense again(net, "dense", 1, 1); }),
            "cell '' has a cell 'dense' already; expected another name");
}

// tests: M07
TEST(ToFloat, M07StrictCellsRefuseBFloat16) {
  constexpr const char* kText = "dst_type should inside float32 or float16.";
  Manual net(4, 3);
  net.to_float(kBFloat16);
  EXPECT_EQ(net.dense.compute_dtype(), kBFloat16);
  EXPECT_EQ(invalid([&] { net.set_strict(); }), kText);  // dense computes in it
  EXPECT_FALSE(net.strict());
  net.to_float(kFloat16);
  EXPECT_EQ(&net.set_strict(), &net);
  for (const DType bad : {kBFloat16, kInt32, kFloat64}) {
    EXPECT_EQ(invalid([&] { net.to_float(bad); }), kText);
    EXPECT_EQ(invalid([&] { net.dense.to_float(bad); }), kText);
  }
  EXPECT_EQ(net.dense.compute_dtype(), kFloat16);
  EXPECT_EQ(invalid([&] { net.dense.set_output(kBFloat16); }),
            "cell 'dense': output dtype is bfloat16; expected float32 or float16");
  net.dense.to_float(kFloat32);
  EXPECT_EQ(net.dense.compute_dtype(), kFloat32);
  SequentialCell later;
  later.set_strict();
  EXPECT_EQ(invalid([&] { later.append<Dense>(4, 4).to_float(kBFloat16); }), kText);
  // A cell that is not strict, with one in it that is: refused as a whole.
  SequentialCell mixed;
  mixed.append<ReLU>();
  mixed.append<ReLU>().set_strict();
  EXPECT_EQ(invalid([&] { mixed.to_float(kBFloat16); }), kText);
  EXPECT_EQ(mixed.cells()[0]->compute_dtype(), std::nullopt);
}

// tests: M07
TEST(ToFloat, M07AStrictContextMakesItsCellsStrict) {
  constexpr const char* kText = "dst_type should inside float32 or float16.";
  for (const bool strict : {false, true}) {
    AmpModelOptions options;
    options.context.strict = strict;
    Manual by_hand(4, 3), by_option(4, 3), trained(4, 3), o1(4, 3);
    SoftmaxCrossEntropyWithLogits loss;
    by_hand.to_float(kBFloat16);
    EXPECT_EQ(invalid([&] { AmpModel(by_hand, &loss, sgd(1), options); }), strict ? kText : "");
    EXPECT_EQ(invalid([&] { TrainOneStepCell(by_hand, sgd(1), 1, options.context); }), strict ? kText : "");
    TrainOneStepCell(trained, sgd(1), 1, options.context);
    EXPECT_EQ(invalid([&] { trained.to_float(kBFloat16); }), strict ? kText : "");
    options.cast_model_type = kBFloat16;
    for (const auto level : {AmpLevel::kO1, AmpLevel::kO3}) {
      options.amp_level = level;
      EXPECT_EQ(invalid([&] { AmpModel(by_option, &loss, sgd(1), options); }),
                strict ? "cast_model_type is bfloat16; expected float16 or float32" : "");
    }
    options.cast_model_type.reset();
    options.amp_level = AmpLevel::kO2;
    EXPECT_EQ(AmpModel(o1, &loss, sgd(1), options).settings().loss_scale.unbounded, strict);  // its default manager
  }
}

Graph built(Cell& net, const Shape& x) {
  GraphBuilder b;
  VariableStore store(b);
  CellBuild build{store, true};
  net(build, b.placeholder("x", kFloat32, x));
  return b.build();
}

// tests: M07
TEST(ToFloat, CastsStandAtEntryAndAtUse) {
  Manual net(4, 3);
  net.to_float(kFloat16);
  const auto low = dtypes(built(net, {2, 4}));
  EXPECT_EQ(low.at("input_cast"), kFloat16);
  EXPECT_EQ(low.at("dense/weight"), kFloat32);
  EXPECT_EQ(low.at("dense/weight_cast"), kFloat16);
  EXPECT_EQ(low.at("dense/MatMul"), kFloat16);
  EXPECT_EQ(low.at("Relu"), kFloat16);
  net.dense.to_float(kFloat32);
  const auto mixed = dtypes(built(net, {2, 4}));
  EXPECT_EQ(mixed.at("input_cast"), kFloat16);
  EXPECT_EQ(mixed.at("dense/input_cast"), kFloat32);  // what float16 has lost stays lost
  EXPECT_FALSE(mixed.contains("dense/weight_cast"));
  EXPECT_EQ(mixed.at("Relu"), kFloat32);
}

// tests: M08
TEST(ToFloat, ACellWithoutItIsUnchanged) {
  Manual plain(4, 3), single(4, 3);
  single.to_float(kFloat32);
  EXPECT_EQ(built(plain, {2, 4}), built(single, {2, 4}));
  for (const auto& [name, type] : dtypes(built(plain, {2, 4}))) EXPECT_EQ(type, kFloat32) << name;
  // Beside a cell in float16 it gets float16, which its float32 parameters do not meet: an error, not a promotion.
  struct Two : Cell {
    Dense first{*this, "first", 4, 4}, second{*this, "second", 4, 2};
    Port construct(CellBuild& build, std::span<const Port> in) override { return second(build, first(build, in[0])); }
  } two;
  two.first.to_float(kFloat16);
  EXPECT_EQ(refusal<DtypeMismatchError>([&] {
              built(two, {2, 4});
            }),
            "Input 'b' of 'MatMul' Op has type float32 that does not match type float16 of argument 'a'.");
  two.second.to_float(kFloat16);
  EXPECT_NO_THROW(built(two, {2, 4}));
}

// tests: M07
TEST(ToFloat, SequentialCellsAndSharedOnes) {
  SequentialCell net;
  net.append<Dense>(4, 4);
  net.append<ReLU>();
  Dense& last = net.append<Dense>(4, 2);
  net.to_float(kFloat16);
  last.to_float(kFloat32);
  const auto types = dtypes(built(net, {2, 4}));
  EXPECT_EQ(types.at("0/MatMul"), kFloat16);
  EXPECT_EQ(types.at("1/Relu"), kFloat16);
  EXPECT_EQ(types.at("2/MatMul"), kFloat32);
  struct Twice : Cell {
    Dense dense{*this, "dense", 4, 4};
    Port construct(CellBuild& build, std::span<const Port> in) override { return dense(build, dense(build, in[0])); }
  } twice;
  const Graph shared = built(twice, {2, 4});
  int variables = 0, products = 0;
  for (const Node& n : shared.nodes()) variables += n.op == "VariableV2", products += n.op == "MatMul";
  EXPECT_EQ(variables, 2);
  EXPECT_EQ(products, 2);
}

TEST(ToFloat, ACellThatIsGoneIsNoPart) {
  struct Refused : ReLU {
    Refused(Cell& parent, std::string name) : ReLU(parent, std::move(name)) { throw std::runtime_error("refused"); }
  };
  SequentialCell net;
  net.append<Dense>(4, 4);
  EXPECT_THROW(net.append<Refused>(), std::runtime_error);
  EXPECT_EQ(net.cells().size(), 1u);
  {
    const ReLU passing(net, "passing");
    EXPECT_EQ(net.cells().size(), 2u);
  }
  EXPECT_EQ(net.cells().size(), 1u);
  net.to_float(kFloat16);
  EXPECT_EQ(dtypes(built(net, {2, 4})).at("0/MatMul"), kFloat16);
}

// ---- MIXED_PRECISION M09, M10: steps and losses --------------------------------------------------------------------

// tests: M09
TEST(TrainOneStep, SensScalesGradientsExactly) {
  // Weight 0, loss w x: with SGD at rate 1 the new weight is minus the gradient, x sens.
  for (const double sens : {1.0, 1024.0, 0.5}) {
    Scalar net(times, 0);
    TrainOneStepCell step(net, sgd(1), sens);
    const Tensor loss = step(scalar_batch(0.1));
    EXPECT_EQ(loss.value(0), 0);
    EXPECT_EQ(step.parameter("w").value(0), -sens * static_cast<double>(0.1f));
    EXPECT_EQ(step(scalar_batch(1)).value(0), -sens * static_cast<double>(0.1f)) << "the loss w, without sens";
  }
  Scalar net(times, 0);
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL, 1e-60})
    EXPECT_TRUE(
        invalid([&] { TrainOneStepCell(net, sgd(1), bad); }).ends_with("expected a positive finite float32 number"));
  TrainOneStepCell step(net, sgd(1));
  EXPECT_FALSE(step.compiled());
  EXPECT_THROW(step.parameters(), std::logic_error);
  EXPECT_THROW(step.parameter("w"), std::logic_error);
  step(scalar_batch(0.1));
  const Batch other{Tensor(kFloat32, {2}), scalar(0)};
  EXPECT_THROW(step(other), GraphError);  // compiled for the first batch's types
}

TEST(TrainOneStep, EveryRunHasRandomBitsOfItsOwn) {
  Scalar net(times);
  Context context;
  std::vector<uint32_t> steps;
  context.executor.observe = [&](uint32_t step, const Node&, int, const TensorType&, const void*) {
    if (steps.empty() || steps.back() != step) steps.push_back(step);
  };
  TrainOneStepCell step(net, sgd(1), 1, context);
  for (int i = 0; i < 2; ++i) step(scalar_batch(1));
  EXPECT_EQ(steps, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(step.last().step, 1);
}

// tests: M04, M10
TEST(WithLoss, CastsForLevelsOfSixteenBits) {
  for (const bool cast : {false, true}) {
    Manual net(4, 3);
    net.to_float(kFloat16);
    SoftmaxCrossEntropyWithLogits loss;
    WithLossCell with_loss(net, loss, cast);
    GraphBuilder b;
    VariableStore store(b);
    CellBuild build{store, true};
    const Port x = b.placeholder("x", kFloat32, {2, 4}), y = b.placeholder("y", kFloat16, {2, 3});
    EXPECT_EQ(b.type(with_loss(build, {x, y})).dtype, cast ? kFloat32 : kFloat16);
  }
  Manual net(4, 3);
  net.to_float(kFloat16);
  SoftmaxCrossEntropyWithLogits loss;
  WithLossCell with_loss(net, loss);
  TrainOneStepCell step(with_loss, sgd(1));
  const Batch batch{Tensor(kFloat32, {2, 4}), Tensor(kFloat32, {2, 3})};
  EXPECT_THROW(step(batch), DtypeMismatchError);  // logits float16, labels float32
}

// ---- MIXED_PRECISION M12, M13: the step under a scale --------------------------------------------------------------

// tests: M12
TEST(LossScaleCell, TripleAndSkippedUpdates) {
  Scalar net(times);
  TrainOneStepWithLossScaleCell step(net, sgd(0.5), std::make_shared<DynamicLossScaleUpdateCell>(16, 2, 2));
  LossScaleStep r = step(scalar_batch(0.25));
  EXPECT_EQ(r.loss.value(0), 0.25);
  EXPECT_FALSE(r.overflow);
  EXPECT_EQ(r.scale, 16);
  EXPECT_EQ(step.parameter("w").value(0), 1 - 0.125);
  r = step(scalar_batch(HUGE_VAL));
  EXPECT_TRUE(r.overflow);
  EXPECT_EQ(r.scale, 16);
  EXPECT_EQ(step.scale_sense(), 8);
  EXPECT_EQ(step.parameter("w").value(0), 1 - 0.125);  // unchanged
  EXPECT_FALSE(step.last().applied);
  EXPECT_EQ(step.last().nonfinite, 1);
  EXPECT_EQ(step.last().nonfinite_by_variable[0].first, "w");
  EXPECT_EQ(step.last().scale_before, 16);
  EXPECT_EQ(step.last().scale_after, 8);
  r = step(scalar_batch(0.25));
  EXPECT_EQ(r.scale, 8);
  EXPECT_EQ(step.parameter("w").value(0), 0.75);
}

// tests: M12
TEST(LossScaleCell, ScaleSense) {
  Scalar net(times);
  for (const Shape& shape : {Shape{}, Shape{1}}) {
    TrainOneStepWithLossScaleCell step(net, sgd(0.5), Tensor::full(kFloat32, shape, 32));
    EXPECT_EQ(step(scalar_batch(0.25)).scale, 32);
    EXPECT_TRUE(step(scalar_batch(HUGE_VAL)).overflow);
    EXPECT_EQ(step.scale_sense(), 32);  // nobody moves it but the user
    step.set_sense_scale(scalar(64));
    EXPECT_EQ(step(scalar_batch(0.25)).scale, 64);
  }
  const auto with = [&](TrainOneStepWithLossScaleCell::ScaleSense sense) {
    return invalid([&] { TrainOneStepWithLossScaleCell(net, sgd(0.5), std::move(sense)); });
  };
  EXPECT_EQ(with(Tensor::full(kFloat32, {2}, 1)),
            "scale_sense is float32 of shape [2]; expected a cell, or a float32 tensor of shape () or (1,)");
  EXPECT_TRUE(with(Tensor::full(kFloat32, {1, 1}, 1)).find("of shape [1,1]") != std::string::npos);
  EXPECT_TRUE(with(Tensor::full(kInt32, {}, 1)).find("is int32") != std::string::npos);
  EXPECT_TRUE(with(scalar(0)).starts_with("scale_sense is 0"));
  EXPECT_TRUE(with(std::shared_ptr<LossScaleUpdateCell>()).starts_with("scale_sense is null"));
  TrainOneStepWithLossScaleCell step(net, sgd(0.5), std::make_shared<FixedLossScaleUpdateCell>(4));
  EXPECT_TRUE(invalid([&] { step.set_sense_scale(scalar(2)); }).starts_with("scale_sense is a cell"));
  // Two scales whose product is beyond float32 would make all gradients zero.
  CellOptimizer large = sgd(0.5);
  large.loss_scale = 1e30;
  TrainOneStepWithLossScaleCell both(net, large, Tensor::full(kFloat32, {}, 0x1p30));
  EXPECT_TRUE(invalid([&] { both(scalar_batch(0.25)); }).starts_with("the scale times the optimizer's loss_scale is"));
}

// tests: M13
TEST(LossScaleCell, OverflowByFlagOrByGradients) {
  // exp(100) is infinite in float32, but no gradient passes through it.
  const Scalar::Loss loss = [](GraphBuilder& b, Port w, Port x) {
    const Port infinite = b.add("StopGradient", {b.add("Exp", {x})});
    return b.add("AddV2", {w, infinite});
  };
  for (int i = 0; i < 6; ++i) {
    const auto from =
        std::array{OverflowFrom::kGradients, OverflowFrom::kStatus, OverflowFrom::kBoth}[static_cast<size_t>(i % 3)];
    Scalar net(loss);
    Context context;
    context.overflow_from = from;
    context.mode = i < 3 ? Context::Mode::kGraph : Context::Mode::kPynative;
    TrainOneStepWithLossScaleCell step(net, sgd(0.5), std::make_shared<DynamicLossScaleUpdateCell>(4, 2, 2000),
                                       context);
    const bool flag = from != OverflowFrom::kGradients;
    for (int again = 0; again < 2; ++again) {
      const LossScaleStep r = step(scalar_batch(100));
      EXPECT_EQ(r.overflow, flag);
      EXPECT_TRUE(std::isinf(r.loss.value(0)));
    }
    EXPECT_EQ(step.parameter("w").value(0), flag ? 1 : 0);
    EXPECT_EQ(step.scale_sense(), flag ? 1 : 4);
    EXPECT_FALSE(step(scalar_batch(1)).overflow);  // the flag is cleared before each step
    EXPECT_EQ(step.parameter("w").value(0), flag ? 0.5 : -0.5);
  }
  Context context;
  EXPECT_EQ(context.overflow(), OverflowFrom::kGradients);
  context.device_target = "Ascend";
  EXPECT_EQ(context.overflow(), OverflowFrom::kStatus);
}

/// What a step of rate 1 takes off a weight of 0 in this dtype, whose gradient is x times the scale.
double unscaled(DType dtype, double x, double scale) {
  struct Product : Cell {
    DType dtype;
    explicit Product(DType d) : dtype(d) {}
    Port construct(CellBuild& build, std::span<const Port> in) override {
      const Port x = build.builder().add("Cast", {in[0]}, {{"DstT", dtype}});
      const Variable weight = build.store.create({"w", {}, dtype, Initializer::zeros(), true});
      const Port product = build.builder().add("Mul", {weight.port, x});
      return build.builder().add("Cast", {product}, {{"DstT", kFloat32}});
    }
  } net(dtype);
  TrainOneStepWithLossScaleCell step(net, sgd(1), Tensor::full(kFloat32, {}, scale));
  EXPECT_FALSE(step(scalar_batch(x)).overflow);
  EXPECT_EQ(step.parameter("w").dtype(), dtype);
  return -step.parameter("w").value(0);
}

// tests: M12
TEST(LossScaleCell, GradientsTimesTheReciprocalInTheirDtype) {
  // In float16 1/1000 is 1049 x 2^-20, and 750 times that rounds to 1537/2048; in float32 it rounds to 3/4 + 2^-24.
  EXPECT_EQ(unscaled(kFloat16, 0.75, 1000), 1537.0 / 2048);
  EXPECT_EQ(unscaled(kFloat32, 0.75, 1000), 0.75 + 0x1p-24);
  // 1/60000 is subnormal in float16, 280 x 2^-24, and 30000 times that rounds to 1025/2048.
  EXPECT_EQ(unscaled(kFloat16, 0.5, 60000), 1025.0 / 2048);
  EXPECT_EQ(unscaled(kFloat32, 0.5, 60000), 0.5);
}

// tests: M12
TEST(LossScaleCell, GradientsArriveUnscaledInTheirDtype) {
  // Through float16: 1.2 x 1024 is exact there once 1.2 is rounded, and 1/1024 takes it back in float32.
  const Scalar::Loss loss = [](GraphBuilder& b, Port w, Port x) {
    const Port half =
        b.add("Mul", {b.add("Cast", {w}, {{"DstT", kFloat16}}), b.add("Cast", {x}, {{"DstT", kFloat16}})});
    return b.add("Cast", {half}, {{"DstT", kFloat32}});
  };
  Scalar net(loss, 0);
  TrainOneStepWithLossScaleCell step(net, sgd(1), scalar(1024));
  step(scalar_batch(1.2));
  EXPECT_EQ(step.parameter("w").value(0), -1.2001953125);
  // An optimizer with a scale of its own divides too.
  Scalar other(times, 0);
  TrainOneStepWithLossScaleCell divides(other, CellOptimizer(sgd(1), 4), scalar(8));
  divides(scalar_batch(1));
  EXPECT_EQ(divides.parameter("w").value(0), -0.25);
}

// ---- MIXED_PRECISION M14: gradients of the user's own --------------------------------------------------------------

// tests: M14
TEST(CustomGradients, DtypesAreChecked) {
  GraphBuilder b;
  VariableStore store(b);
  CellBuild build{store, true};
  Manual net(4, 3);
  net.to_float(kFloat16);
  const Port y = net(build, b.placeholder("x", kFloat32, {2, 4}));
  GradientOptions options;
  options.custom["Relu"] = [](GraphBuilder& builder, const Node&, int,
                              std::span<const std::optional<Port>> dy) -> std::vector<std::optional<Port>> {
    return {builder.add("Cast", {*dy[0]}, {{"DstT", kFloat32}})};
  };
  const Port weight = store.variable("dense/weight").port;
  const std::string said = refusal<DtypeMismatchError>([&] { gradients(b, y, {&weight, 1}, options); });
  EXPECT_TRUE(said.starts_with("Relu 'Relu': its custom gradient of input 0: Input '")) << said;
  EXPECT_TRUE(said.ends_with("' of 'Relu' Op has type float32 that does not match expected type of float16.")) << said;
}

}  // namespace
}  // namespace softamp::test
