// MindSpore's two examples of automatic mixed precision, as cells: LeNet5 under level O2, and a network whose precision
// is said cell by cell.
//
// Under O2 every cell computes in float16 but norms and the loss, parameters stay float32, and the loss is scaled. The
// default scale begins at 2^24, where the gradients of LeNet5's logits, up to 0.9 x 2^24 / 32, do not fit float16: the
// first steps are skipped, and each halves the scale.
// tests: M01, X14
#include "softamp/train/mindspore/amp_model.h"

#include <cstdio>
#include <string>

using namespace softamp;
using namespace softamp::cells;

namespace {

Conv2dOptions valid() {
  Conv2dOptions o;
  o.pad_mode = "valid";
  return o;  // no bias, weights N(0, 0.01)
}
DenseOptions normal() {
  DenseOptions o;
  o.weight_init = Initializer::normal(0.02);
  return o;
}

struct LeNet5 : Cell {
  Conv2d conv1{*this, "conv1", 1, 6, 5, valid()};
  Conv2d conv2{*this, "conv2", 6, 16, 5, valid()};
  ReLU relu{*this, "relu"};
  MaxPool2d max_pool2d{*this, "max_pool2d", 2, 2};
  Flatten flatten{*this, "flatten"};
  Dense fc1{*this, "fc1", 400, 120, normal()};
  Dense fc2{*this, "fc2", 120, 84, normal()};
  Dense fc3{*this, "fc3", 84, 10, normal()};

  Port construct(CellBuild& build, std::span<const Port> inputs) override {
    Port x = max_pool2d(build, relu(build, conv1(build, inputs[0])));
    x = flatten(build, max_pool2d(build, relu(build, conv2(build, x))));
    return fc3(build, relu(build, fc2(build, relu(build, fc1(build, x)))));
  }
};

/// Sample i: an image of noise, N(0, 1), with one of ten labels at random, one-hot. Functions of the seed and i alone.
Batch random_sample(int64_t i) {
  const std::string number = std::to_string(i);
  Batch sample;
  sample.images = initial_value(Initializer::normal(1), {DType::kFloat32, {1, 32, 32}}, "image/" + number, 0);
  const Tensor draw = initial_value(Initializer::uniform(0, 10), {DType::kFloat32, {1}}, "label/" + number, 0);
  sample.labels = Tensor(DType::kFloat32, {10});
  sample.labels.as<float>()[static_cast<size_t>(draw.value(0))] = 1;
  return sample;
}

OptimizerOptions momentum(double learning_rate) {
  OptimizerOptions o = OptimizerOptions::of(OptimizerKind::kMomentum);
  o.learning_rate = learning_rate;
  o.momentum = 0.9;
  return o;
}

void automatic() {
  std::printf("LeNet5 under level O2\n");
  GeneratorDataset dataset(random_sample, 1024);
  dataset.batch(32, true).repeat(1);

  LeNet5 network;
  SoftmaxCrossEntropyWithLogits loss(false, Reduction::kMean);
  AmpModelOptions options;
  options.amp_level = AmpLevel::kO2;
  options.metrics["Accuracy"] = std::make_shared<Accuracy>();
  AmpModel model(network, &loss, momentum(0.01), options);
  const Batch first = dataset.at(0);
  model.step().compile(first.images.type(), first.labels.type());
  std::printf("%lld batches of 32, %lld parameters\n\n", static_cast<long long>(dataset.size()),
              static_cast<long long>(model.step().parameter_count()));
  std::printf("%4s  %-9s %12s  %s\n", "step", "loss", "scale", "");
  model.train(1, dataset, [](int64_t, const StepResult& step) {  // TUTORIAL X14
    std::printf("%4lld  %.6f %12.0f  %s\n", static_cast<long long>(step.step + 1), step.loss,
                static_cast<double>(step.scale_before),
                step.applied ? "" : ("skipped: " + std::to_string(step.nonfinite) + " gradients overflow").c_str());
    return step.step + 1 < 10;
  });
}

struct Net : Cell {
  Dense dense;
  Net(int64_t in, int64_t out) : dense(*this, "dense", in, out) {}
  Port construct(CellBuild& build, std::span<const Port> inputs) override {
    return build.builder().add("Relu", {dense(build, inputs[0])});
  }
};

void manual() {
  std::printf("\nA network in float16, its dense cell in float32\n");
  Net net(512, 128);
  net.to_float(DType::kFloat16);
  net.dense.to_float(DType::kFloat32);

  SoftmaxCrossEntropyWithLogits loss;  // a loss per row
  WithLossCell net_with_loss(net, loss);
  TrainOneStepCell train(net_with_loss, momentum(0.1));
  const Batch batch{Tensor::full(DType::kFloat32, {64, 512}, 0.01), Tensor(DType::kFloat32, {64, 128})};
  train.compile(batch.images.type(), batch.labels.type());

  const std::vector<double> before = train.parameter("dense/weight").values();
  const Tensor losses = train(batch);
  int64_t zeros = 0, moved = 0;
  for (const double x : losses.values()) zeros += x == 0;
  const std::vector<double> after = train.parameter("dense/weight").values();
  for (size_t i = 0; i < after.size(); ++i) moved += after[i] != before[i];
  std::printf("%lld of %lld losses are 0: no label is set\n", static_cast<long long>(zeros),
              static_cast<long long>(losses.elements()));
  std::printf("%lld of %lld weights have moved: softmax - label is not 0\n", static_cast<long long>(moved),
              static_cast<long long>(after.size()));
  for (const Node& node : train.gradient_graph().nodes()) {
    if (node.name.starts_with("loss_fn")) break;
    if (!node.outputs.empty() && is_floating(node.outputs[0].dtype))
      std::printf("  %-18s %-12s %s\n", node.name.c_str(), node.op.c_str(), name_of(node.outputs[0].dtype));
  }
}

}  // namespace

int main() {
  automatic();
  manual();
}
