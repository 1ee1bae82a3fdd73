// Training on a device that has kernels of some dtypes only: what the context's kernels do to graphs and numbers, and
// the search of the log for it (MIXED_PRECISION M05, M06).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "softamp/precision/kernel_select.h"
#include "tests/train/cell_networks.h"

namespace softamp::test {
namespace {

/// loss = sum of x w, without bias; w begins with ones.
struct Line : Cell {
  static DenseOptions ones() {
    DenseOptions o;
    o.has_bias = false;
    o.weight_init = Initializer::ones();
    return o;
  }
  Dense dense{*this, "dense", 2, 1, ones()};
  Port construct(CellBuild& build, std::span<const Port> in) override {
    return build.builder().add("Sum", {dense(build, in[0])});
  }
};

Context on(std::vector<KernelInfo> kernels, LogLines& log, Context::Mode mode = Context::Mode::kGraph) {
  Context context;
  context.kernels = std::move(kernels);
  context.log = log.sink();
  context.mode = mode;
  return context;
}

// tests: M05, M06
TEST(TrainingKernels, M05M06Float32NodesOnHalfProducts) {
  for (const auto mode : {Context::Mode::kGraph, Context::Mode::kPynative}) {
    Line net;
    LogLines log;
    TrainOneStepCell step(net, sgd(1), 1, on(product_kernels(), log, mode));
    const Batch batch{tensor(kFloat32, {1, 2}, {1 + 0x1p-12, 3}), scalar(0)};
    // x is 1 and 3 in float16: the loss is 4, and the gradient of w is x. In float32 both would have the 2^-12.
    EXPECT_EQ(step(batch).value(0), 4);
    EXPECT_EQ(step.parameter("dense/weight").values(), (std::vector<double>{0, -2}));
    // w x = -6, and 10^5 is infinite in float16.
    EXPECT_EQ(step(batch).value(0), -6);
    EXPECT_TRUE(std::isinf(step(Batch{tensor(kFloat32, {1, 2}, {0, 1e5}), scalar(0)}).value(0)));

    // The log is searched as the page says: one line for the product, one for that of its gradient, at INFO.
    EXPECT_EQ(log.count("Reduce precision"), 2);
    EXPECT_EQ(log.count("Raise precision"), 0);
    EXPECT_EQ(log.count("Reduce precision", LogLevel::kWarning), 0);
    EXPECT_EQ(log.lines().size(), 2u);
    EXPECT_EQ(log.lines()[0],
              std::pair(LogLevel::kInfo,
                        std::string("MatMul 'dense/MatMul' Reduce precision, node datatype: (float32, float32) -> "
                                    "(float32), select kernel: MatMul(float16, float16) -> (float16)")));
    const auto types = dtypes(step.gradient_graph());
    EXPECT_EQ(types.at("dense/MatMul"), kFloat16);
    EXPECT_EQ(types.at("dense/MatMul/to_float16"), kFloat16);
    EXPECT_EQ(types.at("dense/MatMul/from_float16"), kFloat32);
    EXPECT_EQ(types.at("dense/weight"), kFloat32);
    EXPECT_EQ(types.at("Sum"), kFloat32);
  }
  Line net;
  TrainOneStepCell step(net, sgd(1));  // every operation in all its dtypes
  EXPECT_EQ(step(Batch{tensor(kFloat32, {1, 2}, {1 + 0x1p-12, 3}), scalar(0)}).value(0), 4 + 0x1p-12);
  EXPECT_EQ(step.parameter("dense/weight").values(), (std::vector<double>{-0x1p-12, -2}));
}

/// NormNet without a bias, whose products a caller may put into float16 by hand.
struct ByHand : Cell {
  static DenseOptions bare() {
    DenseOptions o;
    o.has_bias = false;
    return o;
  }
  Conv2d conv{*this, "conv", 1, 2, 3, {.data_format = DataFormat::kNHWC}};
  BatchNorm2d bn{*this, "bn", 2, 1e-5, 0.9, DataFormat::kNHWC};
  Flatten flatten{*this, "flatten"};
  Dense fc{*this, "fc", 32, 3, bare()};
  Port construct(CellBuild& build, std::span<const Port> in) override {
    return fc(build, flatten(build, bn(build, conv(build, in[0]))));
  }
};

/// conv/weight after three steps, and the logits of the first batch.
std::pair<std::vector<double>, std::vector<double>> weights(ByHand& net, const Context& context) {
  SoftmaxCrossEntropyWithLogits loss(true, Reduction::kMean);
  AmpModelOptions options;
  options.context = context;
  AmpModel model(net, &loss, momentum(0.25), options);
  for (int i = 0; i < 3; ++i) model.train_on(norm_batch(i));
  return {model.step().parameter("conv/weight").values(), model.predict(norm_batch().images).values()};
}

// tests: M05, M06
TEST(TrainingKernels, M05ReducedIsWhatCastsByHandGive) {
  ByHand cast, reduced, plain;
  for (Cell* product : {static_cast<Cell*>(&cast.conv), static_cast<Cell*>(&cast.fc)})
    product->to_float(kFloat16).set_output(kFloat32);
  LogLines log;
  Context device = on(product_kernels(), log);
  device.device_target = "Ascend";
  const auto by_kernels = weights(reduced, device);
  EXPECT_EQ(by_kernels, weights(cast, {}));
  EXPECT_NE(by_kernels, weights(plain, {}));
  // Training: two products, of the second the gradients of both operands, of the first that of its filter. Prediction:
  // two products.
  EXPECT_EQ(log.count("Reduce precision, node datatype"), 5 + 2);
  EXPECT_EQ(log.count("Conv2DBackpropFilter '"), 1);
  EXPECT_EQ(log.count("MatMul '"), 3 + 1);
}

// tests: M05
TEST(TrainingKernels, M05HalfNodesOnFloat32Products) {
  NormNet net;
  SoftmaxCrossEntropyWithLogits loss(true, Reduction::kMean);
  LogLines log;
  AmpModelOptions options;
  options.amp_level = AmpLevel::kO3;
  options.context = on(product_kernels(kFloat32), log);
  AmpModel model(net, &loss, momentum(), options);
  EXPECT_TRUE(model.train_on(norm_batch()).applied);
  EXPECT_EQ(log.count("Raise precision, node datatype: (float16, float16) -> (float16)"), 5);
  EXPECT_EQ(log.count("Reduce precision"), 0);
  const auto types = dtypes(model.step().gradient_graph());
  EXPECT_EQ(types.at("conv/Conv2D"), kFloat32);
  EXPECT_EQ(types.at("conv/Conv2D/from_float32"), kFloat16);
  EXPECT_EQ(types.at("fc/BiasAdd"), kFloat16);
}

// tests: M05
TEST(TrainingKernels, M05TheUpdateRunsOnTheDeviceToo) {
  Scalar net(times);
  LogLines log;
  TrainOneStepCell step(net, CellOptimizer(sgd(1), 4), 4, on({{"Mul", {kFloat16, kFloat16}, {kFloat16}}}, log));
  step(scalar_batch(1 + 0x1p-12));
  // The gradient is 1 in float16, times 4, divided by 4.
  EXPECT_EQ(step.parameter("w").value(0), 0);
  int64_t products = 0;
  for (const Graph* graph : {&step.gradient_graph(), &step.update_graph()})
    for (const Node& node : graph->nodes())
      if (node.op == "Mul") {
        ++products;
        EXPECT_EQ(node.outputs[0].dtype, kFloat16) << node.name;
      }
  EXPECT_EQ(log.count("Reduce precision"), products);
  EXPECT_TRUE(std::any_of(step.update_graph().nodes().begin(), step.update_graph().nodes().end(),
                          [](const Node& n) { return n.op == "Mul"; }));
}

// tests: M05
TEST(TrainingKernels, M05WithoutAKernelNothingIsTrained) {
  Line net;
  LogLines log;
  Context context = on(product_kernels(), log);
  context.enable_reduce_precision = false;
  TrainOneStepCell step(net, sgd(1), 1, context);
  EXPECT_EQ(invalid([&] {
              step(Batch{Tensor(kFloat32, {1, 2}), scalar(0)});
            }),
            "MatMul 'dense/MatMul': no kernel for (float32, float32) -> (float32); expected one of MatMul(float16, "
            "float16) -> (float16) (reducing precision is not allowed)");
  EXPECT_FALSE(step.compiled());
  EXPECT_TRUE(log.lines().empty());
  Line other;
  TrainOneStepCell brain(other, sgd(1), 1, on({{"Sum", {kInt32}, {kInt32}}}, log));
  EXPECT_EQ(invalid([&] {
              brain(Batch{Tensor(kFloat32, {1, 2}), scalar(0)});
            }),
            "Sum 'Sum': no kernel for (float32) -> (float32); expected one of Sum(int32) -> (int32)");
}

}  // namespace
}  // namespace softamp::test
