// MindSpore's page at its own size: LeNet5 on images with the channels first (MIXED_PRECISION M01).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/train/cell_networks.h"

namespace softamp::test {
namespace {

/// The batch with its images as [batch, h, w, c].
Batch channels_last(const Batch& batch) {
  const Shape& s = batch.images.shape();
  Batch moved{Tensor(kFloat32, {s[0], s[2], s[3], s[1]}), batch.labels.clone()};
  const auto from = batch.images.as<float>();
  const auto to = moved.images.as<float>();
  for (int64_t n = 0; n < s[0]; ++n)
    for (int64_t c = 0; c < s[1]; ++c)
      for (int64_t y = 0; y < s[2]; ++y)
        for (int64_t x = 0; x < s[3]; ++x)
          to[static_cast<size_t>(((n * s[2] + y) * s[3] + x) * s[1] + c)] =
              from[static_cast<size_t>(((n * s[1] + c) * s[2] + y) * s[3] + x)];
  return moved;
}

// tests: M01
TEST(Images, M01TenEpochsOfThePageUnderO2) {
  // 1024 samples [1, 32, 32] of noise in batches of 32, and the manager that the level brings.
  LeNet5 network(DataFormat::kNCHW);
  SoftmaxCrossEntropyWithLogits loss(false, Reduction::kMean);
  AmpModel model(network, &loss, momentum(0.01), {.amp_level = AmpLevel::kO2});
  GeneratorDataset data(
      [](int64_t i) {
        Batch sample = random_sample(i);
        Tensor image(kFloat32, {1, 32, 32});  // one channel: the same elements
        std::memcpy(image.data(), sample.images.data(), image.bytes());
        sample.images = std::move(image);
        return sample;
      },
      1024);
  data.batch(32, true).repeat(1);
  ASSERT_EQ(data.size(), 32);
  int64_t steps = 0, applied = 0;
  double sum = 0;
  model.train(10, data, [&](int64_t epoch, const StepResult& r) {
    EXPECT_EQ(epoch, steps / 32);
    EXPECT_TRUE(std::isfinite(r.loss)) << steps;
    if (steps < 3) {
      EXPECT_FALSE(r.applied);
      EXPECT_EQ(r.scale_before, std::ldexp(1.0f, 24 - static_cast<int>(steps)));
    }
    applied += r.applied;
    sum += r.loss;
    return ++steps > 0;
  });
  EXPECT_EQ(steps, 320);
  EXPECT_EQ(model.step().parameter_count(), 61684);
  EXPECT_GT(applied, 290);
  EXPECT_NEAR(sum / 320, std::log(10.0), 0.01);  // random labels: nothing to learn within 10 epochs
  for (const VariableSpec& v : model.step().parameters())
    for (const double x : model.step().parameter(v.name).values()) ASSERT_TRUE(std::isfinite(x)) << v.name;
}

/// Convolution, norm and pooling of two channels in either format; what is flattened has the channels first in both.
struct TwoChannels : Cell {
  DataFormat format;
  Conv2d conv;
  BatchNorm2d bn;
  ReLU relu{*this, "relu"};
  MaxPool2d pool;
  Flatten flatten{*this, "flatten"};
  Dense fc{*this, "fc", 3 * 2 * 3, 4};
  static Conv2dOptions biased(DataFormat format) {
    Conv2dOptions o;
    o.has_bias = true;
    o.bias_init = Initializer::normal(0.1);
    o.weight_init = Initializer::normal(0.5);
    o.data_format = format;
    return o;
  }
  explicit TwoChannels(DataFormat f)
      : format(f),
        conv(*this, "conv", 2, 3, 3, biased(f)),
        bn(*this, "bn", 3, 1e-5, 0.9, f),
        pool(*this, "pool", 2, 2, "valid", f) {}
  Port construct(CellBuild& build, std::span<const Port> in) override {
    Port x = pool(build, relu(build, bn(build, conv(build, in[0]))));
    if (format == DataFormat::kNHWC)
      x = build.builder().add("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
    return fc(build, flatten(build, x));
  }
};

// tests: M01
TEST(Images, M01ChannelsFirstGivesTheBitsOfChannelsLast) {
  for (const AmpLevel level : {AmpLevel::kO0, AmpLevel::kO1, AmpLevel::kO2, AmpLevel::kO3}) {
    TwoChannels first(DataFormat::kNCHW), last(DataFormat::kNHWC);
    SoftmaxCrossEntropyWithLogits loss(true, Reduction::kMean);
    AmpModelOptions options;
    options.amp_level = level;
    options.loss_scale_manager = std::make_shared<FixedLossScaleManager>(64);
    AmpModel a(first, &loss, momentum(0.25), options), b(last, &loss, momentum(0.25), options);
    for (int i = 0; i < 4; ++i) {
      Batch batch{initial_value(Initializer::normal(1), {kFloat32, {3, 2, 4, 6}}, "images/" + std::to_string(i), 1),
                  Tensor(kInt32, {3})};
      batch.labels.as<int32_t>()[1] = 3;
      const StepResult ours = a.train_on(batch), theirs = b.train_on(channels_last(batch));
      EXPECT_TRUE(ours.applied);
      EXPECT_EQ(ours.loss, theirs.loss) << name_of(level);
      EXPECT_TRUE(a.predict(batch.images).same_bits(b.predict(channels_last(batch).images)));
    }
    ASSERT_EQ(a.step().parameters().size(), 8u);
    for (const VariableSpec& v : a.step().parameters()) {
      const Tensor &x = a.step().parameter(v.name), &y = b.step().parameter(v.name);
      EXPECT_TRUE(x.same_bits(y)) << v.name << " " << name_of(level);
      EXPECT_FALSE(x.same_bits(initial_value(v.initializer, v.type, v.name, 0))) << v.name << " has not moved";
    }
  }
}

// tests: M01
TEST(Images, M01WhatFlattenSeesIsPermuted) {
  // Small whole numbers, whose sums are exact in any order: the dense weights of [c, h, w] are those of [h, w, c] under
  // the permutation of the features, and so is what they become.
  struct Net : Cell {
    Conv2d conv;
    Flatten flatten{*this, "flatten"};
    Dense fc{*this, "fc", 2 * 2 * 2, 1};
    static Conv2dOptions of(DataFormat f) {
      Conv2dOptions o;
      o.pad_mode = "valid";
      o.weight_init = Initializer::ones();
      o.data_format = f;
      return o;
    }
    explicit Net(DataFormat f) : conv(*this, "conv", 1, 2, 2, of(f)) {}
    Port construct(CellBuild& build, std::span<const Port> in) override {
      return build.builder().add("Sum", {fc(build, flatten(build, conv(build, in[0])))});
    }
  } first(DataFormat::kNCHW), last(DataFormat::kNHWC);
  TrainOneStepCell a(first, sgd(1)), b(last, sgd(1));
  const Batch batch{tensor(kFloat32, {1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), scalar(0)};
  a.compile(batch.images.type(), batch.labels.type());
  const Batch moved = channels_last(batch);
  b.compile(moved.images.type(), moved.labels.type());
  const std::vector<double> weights{1, 2, 3, 4, 5, 6, 7, 8};  // [c, y, x]
  const auto permuted = [](const std::vector<double>& w) {    // [y, x, c]
    std::vector<double> p;
    for (size_t place = 0; place < 4; ++place)
      for (size_t c = 0; c < 2; ++c) p.push_back(w[4 * c + place]);
    return p;
  };
  a.set_parameter("fc/weight", tensor(kFloat32, {1, 8}, weights));
  b.set_parameter("fc/weight", tensor(kFloat32, {1, 8}, permuted(weights)));
  // Sums of 2 x 2 windows: 12, 16, 24, 28, the same in both channels.
  EXPECT_EQ(a(batch).value(0), 12 * (1 + 5) + 16 * (2 + 6) + 24 * (3 + 7) + 28 * (4 + 8));
  EXPECT_EQ(b(moved).value(0), a.last().loss);
  const std::vector<double> after = a.parameter("fc/weight").values();
  EXPECT_EQ(after, (std::vector<double>{1 - 12, 2 - 16, 3 - 24, 4 - 28, 5 - 12, 6 - 16, 7 - 24, 8 - 28}));
  EXPECT_EQ(b.parameter("fc/weight").values(), permuted(after));
  EXPECT_EQ(a.parameter("conv/weight").values(), b.parameter("conv/weight").values());
}

TEST(Images, M01ChannelsFirstNeedsFourAxes) {
  SequentialCell parent;
  MaxPool2d pool(parent, "pool", 2, 2, "valid", DataFormat::kNCHW);
  GraphBuilder b;
  VariableStore store(b);
  CellBuild build{store, true};
  const Port x = b.placeholder("x", kFloat32, {2, 4, 4});
  const std::string said = refusal<GraphError>([&] { pool(build, x); });
  EXPECT_EQ(said, "cell 'pool': x has shape [2,4,4]; expected [batch, channels, height, width]");
}

// tests: M01
TEST(Images, M01CellsAreChannelsFirstUnlessToldOtherwise) {
  SequentialCell parent;
  Conv2d first(parent, "first", 3, 4, 3), last(parent, "last", 3, 4, 3, {.data_format = DataFormat::kNHWC});
  BatchNorm2d norm(parent, "norm", 4);
  MaxPool2d pool(parent, "pool", 2, 2);
  GraphBuilder b;
  VariableStore store(b);
  CellBuild build{store, true};
  const Port x = b.placeholder("x", kFloat32, {2, 3, 8, 6}), y = b.placeholder("y", kFloat32, {2, 8, 6, 3});
  EXPECT_EQ(b.type(pool(build, norm(build, first(build, x)))).shape, (Shape{2, 4, 4, 3}));
  EXPECT_EQ(b.type(last(build, y)).shape, (Shape{2, 8, 6, 4}));
  EXPECT_EQ(refusal<GraphError>([&] { first(build, y); }),
            "cell 'first': x has shape [2,8,6,3] and so 8 channels in axis 1; expected 3, or data_format kNHWC, whose "
            "channels are axis 3");
  EXPECT_EQ(refusal<GraphError>([&] { last(build, x); }),
            "cell 'last': x has shape [2,3,8,6] and so 6 channels in axis 3; expected 3, or data_format kNCHW, whose "
            "channels are axis 1");
}

}  // namespace
}  // namespace softamp::test
