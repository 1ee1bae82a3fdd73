// Networks, data and short words for tests of cells.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "softamp/train/mindspore/amp_model.h"
#include "tests/graph/executor_check.h"
#include "tests/train/sgd.h"

namespace softamp::test {

using namespace cells;
using enum DType;

/// MIXED_PRECISION M01: 61,684 parameters.
struct LeNet5 : Cell {
  static Conv2dOptions valid(DataFormat format) {
    Conv2dOptions o;
    o.pad_mode = "valid";
    o.weight_init = Initializer::normal(0.01);
    o.data_format = format;
    return o;
  }
  static DenseOptions normal() {
    DenseOptions o;
    o.weight_init = Initializer::normal(0.02);
    return o;
  }
  explicit LeNet5(DataFormat format = DataFormat::kNHWC)
      : conv1(*this, "conv1", 1, 6, 5, valid(format)),
        conv2(*this, "conv2", 6, 16, 5, valid(format)),
        pool(*this, "max_pool2d", 2, 2, "valid", format) {}
  Conv2d conv1, conv2;
  ReLU relu{*this, "relu"};
  MaxPool2d pool;
  Flatten flatten{*this, "flatten"};
  Dense fc1{*this, "fc1", 400, 120, normal()}, fc2{*this, "fc2", 120, 84, normal()},
      fc3{*this, "fc3", 84, 10, normal()};

  Port construct(CellBuild& build, std::span<const Port> in) override {
    Port x = pool(build, relu(build, conv1(build, in[0])));
    x = flatten(build, pool(build, relu(build, conv2(build, x))));
    return fc3(build, relu(build, fc2(build, relu(build, fc1(build, x)))));
  }
};

/// Random images N(0, 1) and one-hot labels, as the page's generator makes them.
inline Batch random_sample(int64_t i) {
  const std::string number = std::to_string(i);
  Batch sample{initial_value(Initializer::normal(1), {kFloat32, {32, 32, 1}}, "data/" + number, 1),
               Tensor(kFloat32, {10})};
  const Tensor draw = initial_value(Initializer::uniform(0, 10), {kFloat32, {1}}, "label/" + number, 1);
  sample.labels.as<float>()[static_cast<size_t>(draw.value(0))] = 1;
  return sample;
}
inline GeneratorDataset random_dataset(int64_t samples, int64_t batch) {
  GeneratorDataset d(random_sample, samples);
  d.batch(batch, true);
  return d;
}

inline OptimizerOptions momentum(double rate = 0.01) {
  OptimizerOptions o;
  o.kind = OptimizerKind::kMomentum;
  o.learning_rate = rate;
  o.momentum = 0.9;
  return o;
}

/// A small network with a norm: dense would do, but levels are about norms.
struct NormNet : Cell {
  Conv2d conv{*this, "conv", 1, 2, 3, {.data_format = DataFormat::kNHWC}};
  BatchNorm2d bn{*this, "bn", 2, 1e-5, 0.9, DataFormat::kNHWC};
  ReLU relu{*this, "relu"};
  Flatten flatten{*this, "flatten"};
  Dense fc{*this, "fc", 32, 3};
  Port construct(CellBuild& build, std::span<const Port> in) override {
    return fc(build, flatten(build, relu(build, bn(build, conv(build, in[0])))));
  }
};
inline Batch norm_batch(int64_t i = 0) {
  Batch batch{initial_value(Initializer::normal(1), {kFloat32, {2, 4, 4, 1}}, "images/" + std::to_string(i), 1),
              Tensor(kInt32, {2})};
  batch.labels.as<int32_t>()[1] = 2;
  return batch;
}

/// A cell with one scalar parameter "w" and a loss of the test's own.
struct Scalar : Cell {
  using Loss = std::function<Port(GraphBuilder&, Port w, Port x)>;
  explicit Scalar(Loss l, double first = 1) : loss(std::move(l)), w0(first) {}
  Loss loss;
  double w0;
  Port construct(CellBuild& build, std::span<const Port> in) override {
    return loss(build.builder(), parameter(build, "w", {}, Initializer::constant(w0)), in[0]);
  }
};
inline Tensor scalar(double x) { return Tensor::full(kFloat32, {}, x); }
inline Batch scalar_batch(double x) { return {scalar(x), scalar(0)}; }
inline Port times(GraphBuilder& b, Port w, Port x) { return b.add("Mul", {w, x}); }

inline std::map<std::string, DType> dtypes(const Graph& g) {
  std::map<std::string, DType> types;
  for (const Node& node : g.nodes())
    if (!node.outputs.empty()) types[node.name] = node.outputs[0].dtype;
  return types;
}

template <class Act>
std::string invalid(Act&& act) {
  return refusal<std::invalid_argument>(std::forward<Act>(act));
}

/// The one of MIXED_PRECISION M07: ReLU is an operation of the network's own.
struct Manual : Cell {
  Dense dense;
  Manual(int64_t in, int64_t out) : dense(*this, "dense", in, out) {}
  Port construct(CellBuild& build, std::span<const Port> in) override {
    return build.builder().add("Relu", {dense(build, in[0])});
  }
};

}  // namespace softamp::test
