// Forward values of the networks: each once more, layer by layer on the model library's ranges. Each rounding widens a
// range by what it may do, so that the executor's logits and loss must lie inside.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "softamp/train/models.h"
#include "tests/graph/models/model_run.h"
#include "tests/oracle/tensor_model_elementwise.h"
#include "tests/oracle/tensor_model_reductions.h"

namespace softamp::test {
namespace {

using enum DType;
using namespace oracle::model;
using Names = std::vector<std::string>;

/// Numbers from -1 to 1, whole multiples of 2^-9.
Tensor fractions(const TensorType& type, uint64_t seed) {
  Mixer mix(seed);
  std::vector<double> values;
  for (int64_t i = 0; i < type.shape.elements(); ++i)
    values.push_back(static_cast<double>(mix.between(-512, 512)) / 512);
  return Tensor::from_values(type.dtype, type.shape, values);
}

/// Layers on ranges, in a dtype, with values for the variables of a model: the initial ones; biases are fractions.
/// sparse: all but two weights of a convolution's output are zero, so that ranges stay narrow through a deep network.
class Forward {
 public:
  Forward(const Model& model, DType dtype, bool sparse) : dtype_(dtype) {
    for (const VariableSpec& v : model.variables) {
      Tensor value = initial_value(v.initializer, v.type, v.name, 11);
      if (sparse && v.type.shape.rank() == 4) value = thinned(v);
      if (v.name.ends_with("bias") || v.name.ends_with("beta")) value = fractions(v.type, values_.size() + 1);
      values_.emplace(v.name, std::move(value));
    }
  }
  const std::map<std::string, Tensor>& values() const { return values_; }

  /// A variable as the layers see it.
  Array variable(const std::string& name) const {
    Array a = load(values_.at(name), kModes[0]);
    for (Range& r : a.at) r = rounded(r);
    return a;
  }
  /// One rounding to the compute dtype.
  Array rounded(Array a) const {
    for (Range& r : a.at) r = rounded(r);
    return a;
  }
  Range rounded(const Range& r) const {
    return Range(oracle::model::nearest(dtype_, r.low), oracle::model::nearest(dtype_, r.high));
  }

  Array convolve(const Array& x, const std::string& scope, int64_t stride, bool same, bool bias) const {
    Window window;
    window.strides = {1, stride, stride, 1};
    window.same = same;
    Array y = rounded(convolution(x, variable(scope + "/kernel"), window, false).sums({}, kModes[0]));
    return bias ? add(y, variable(scope + "/bias")) : y;
  }
  Array add(const Array& x, const Array& y) const {
    return rounded(broadcast_map(x, y, [](const Range& a, const Range& b) { return a + b; }));
  }
  Array relu(const Array& x) const {
    return map(x, [](const Range& a) { return larger(a, Range(0)); });
  }
  Array pool(const Array& x) const {
    Window window;
    window.strides = {1, 2, 2, 1};
    window.same = false;
    return max_pool(x, {1, 2, 2, 1}, window);
  }
  Array product(const Array& x, const Array& w, bool transpose_w) const {
    return rounded(matrix_product(x, w, false, transpose_w).sums({}, kModes[0]));
  }
  Array norm(const Array& x, const std::string& scope) const {
    return rounded(normalise(x, variable(scope + "/gamma"), variable(scope + "/beta"), batch_groups(x.shape),
                             static_cast<float>(1e-3), false)
                       .y);
  }
  static Array reshaped(Array x, Ints shape) {
    x.shape = std::move(shape);
    return x;
  }

 private:
  /// Two taps of each output that are not zero, +-1/2 .. +-1.
  static Tensor thinned(const VariableSpec& v) {
    const int64_t outputs = v.type.shape[3], inputs = v.type.shape.elements() / outputs;
    Mixer mix(static_cast<uint64_t>(inputs + v.type.shape[0]));
    std::vector<double> values(static_cast<size_t>(inputs * outputs));
    for (int64_t o = 0; o < outputs; ++o)
      for (int tap = 0; tap < 2; ++tap) {
        const double magnitude = static_cast<double>(mix.between(256, 512)) / 512;
        values[static_cast<size_t>(mix.below(inputs) * outputs + o)] = mix() & 1 ? magnitude : -magnitude;
      }
    return Tensor::from_values(v.type.dtype, v.type.shape, values);
  }

  DType dtype_;
  std::map<std::string, Tensor> values_;
};

/// Runs the model and holds logits and loss against the ranges; gives the largest width relative to the largest logit:
/// where it is far below 1, the ranges say something.
Real expect_forward(const Model& model, const Forward& forward, const Tensor& images, const Array& logits) {
  const int64_t batch = images.shape()[0];
  std::vector<double> classes;
  for (int64_t i = 0; i < batch; ++i) classes.push_back(static_cast<double>((3 * i + 1) % 10));
  const Tensor labels = Tensor::from_values(kInt32, {batch}, classes);
  const auto executor = make_executor(model.graph, options_of(kModes[0]));
  for (const auto& [name, value] : forward.values()) executor->set_variable(name, value);
  const Feed feeds[] = {{"images", &images}, {"labels", &labels}};
  const RunResult result = executor->run(feeds, Names{"logits", "loss"});
  EXPECT_EQ(result.values[0].shape(), (Shape{batch, 10}));
  Real width = 0, most = 0;
  for (int64_t i = 0; i < logits.size(); ++i) {
    const Real got = result.values[0].value(i);
    EXPECT_TRUE(logits[i].low <= got && got <= logits[i].high)
        << "logit " << i << " is " << static_cast<double>(got) << ", expected " << text_of(logits[i]);
    width = std::max(width, logits[i].width());
    most = std::max(most, logits[i].magnitude());
  }
  Array hot({batch, 10});
  for (int64_t i = 0; i < batch; ++i) hot[i * 10 + static_cast<int64_t>(labels.value(i))] = Real{1};
  const Array losses = cross_entropy(logits, hot).loss;
  const Range mean = f32(sum_in_any_order(losses.at) / count_of(losses.at.size()));
  const Real loss = result.values[1].value(0);
  EXPECT_TRUE(mean.low <= loss && loss <= mean.high) << static_cast<double>(loss) << " " << text_of(mean);
  return width / most;
}

Model small_model(const Network& network, const char* precision, std::array<int64_t, 3> image) {
  ModelOptions options;
  options.batch_size = 2;
  options.image = image;
  options.precision = Precision::parse(precision);
  return build_model(network, options);
}

TEST(Forward, FashionCnn) {
  for (const auto& [precision, narrow] : {std::pair("float32", 0x1p-6L), std::pair("mixed", 0x1p-3L)}) {
    const Model model = small_model(fashion_cnn(), precision, {5, 4, 1});
    const Forward f(model, model.precision.compute, false);
    const Tensor images = fractions({model.precision.compute, {2, 5, 4, 1}}, 1);
    Array x = f.relu(f.convolve(load(images, kModes[0]), "conv2d", 1, true, false));
    x = f.convolve(x, "conv2d_1", 1, true, false);
    x = f.product(Forward::reshaped(x, {2, 5 * 4 * 32}), f.variable("dense/weights"), true);
    x = f.add(x, Forward::reshaped(f.variable("dense/biases"), {10}));
    EXPECT_LT(expect_forward(model, f, images, x), narrow) << precision;
  }
}

TEST(Forward, Lenet5) {
  const Model model = small_model(lenet5(), "float32", {32, 32, 1});
  const Forward f(model, kFloat32, false);
  const Tensor images = fractions({kFloat32, {2, 32, 32, 1}}, 1);
  Array x = load(images, kModes[0]);
  for (const char* scope : {"conv2d", "conv2d_1"}) x = f.pool(f.relu(f.convolve(x, scope, 1, false, false)));
  x = Forward::reshaped(x, {2, 400});
  for (const std::string scope : {"dense", "dense_1", "dense_2"}) {
    x = f.add(f.product(x, f.variable(scope + "/kernel"), false), f.variable(scope + "/bias"));
    if (scope != "dense_2") x = f.relu(x);
  }
  EXPECT_LT(expect_forward(model, f, images, x), 0x1p-6L);
}

TEST(Forward, SmallCnn) {
  const Model model = small_model(small_cnn(), "float32", {9, 8, 1});  // an odd extent: pooling leaves out the rest
  const Forward f(model, kFloat32, false);
  const Tensor images = fractions({kFloat32, {2, 9, 8, 1}}, 1);
  Array x = load(images, kModes[0]);
  for (const char* scope : {"conv2d", "conv2d_1"}) x = f.pool(f.relu(f.convolve(x, scope, 1, true, true)));
  x = Forward::reshaped(x, {2, 2 * 2 * 16});
  x = f.add(f.product(x, f.variable("dense/kernel"), false), f.variable("dense/bias"));
  EXPECT_LT(expect_forward(model, f, images, x), 0x1p-6L);
}

TEST(Forward, Resnet8) {
  const Model model = small_model(resnet(8), "float32", {8, 7, 3});
  const Forward f(model, kFloat32, true);
  const Tensor images = fractions({kFloat32, {2, 8, 7, 3}}, 1);
  Array x = f.relu(f.convolve(load(images, kModes[0]), "conv2d", 1, true, true));
  for (int number = 1; number <= 3; ++number) {  // ordinary 16; down to 32; down to 64
    x = f.norm(x, "batch_normalization" + (number == 1 ? std::string() : "_" + std::to_string(number - 1)));
    const std::string block = "block" + std::to_string(number);
    const bool down = number > 1;
    const Array first = f.relu(f.convolve(x, block + "/conv2d", down ? 2 : 1, true, true));
    const Array second = f.convolve(first, block + "/conv2d_1", 1, true, true);
    x = f.relu(f.add(second, down ? f.convolve(x, block + "/conv2d_2", 2, true, true) : x));
  }
  x = reduce(x, reduce_groups(x.shape, {1, 2}, false),
             [](const std::vector<Range>& terms) { return f32(sum_in_any_order(terms) / count_of(terms.size())); });
  x = f.add(f.product(x, f.variable("dense/kernel"), false), f.variable("dense/bias"));
  EXPECT_LT(expect_forward(model, f, images, x), 0x1p-6L);
}

}  // namespace
}  // namespace softamp::test
