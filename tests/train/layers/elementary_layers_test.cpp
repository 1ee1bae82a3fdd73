// Layers without sums of their own, or with few: activations by name, dropout, dense layers of many axes, convolutions
// by channel, average pools, layer norms.
#include <gtest/gtest.h>

#include <cmath>

#include "softamp/train/layers.h"
#include "tests/graph/executor_check.h"
#include "tests/train/layers/layer_run.h"

namespace softamp::test {
namespace {

using enum DType;

TEST(ElementaryLayers, ActivationsByName) {
  const std::vector<double> x = {-4, -0.75, 0, 0.5, 7};
  const auto judge = [](const std::string& kind, double v, const layers::ActivationOptions& o) {
    if (kind == "relu") return std::max(v, 0.0);
    if (kind == "relu6") return std::min(std::max(v, 0.0), 6.0);
    if (kind == "leaky_relu") return v > 0 ? v : o.alpha * v;
    if (kind == "elu") return v > 0 ? v : std::expm1(v);
    if (kind == "selu") return 1.0507009873554805 * (v > 0 ? v : 1.6732632423543772 * std::expm1(v));
    if (kind == "softplus") return std::log1p(std::exp(v));
    if (kind == "sigmoid") return 1 / (1 + std::exp(-v));
    if (kind == "tanh") return std::tanh(v);
    const double pi = 3.14159265358979323846;
    if (o.approximate) return 0.5 * v * (1 + std::tanh(std::sqrt(2 / pi) * (v + 0.044715 * v * v * v)));
    return 0.5 * v * std::erfc(-v / std::sqrt(2.0));
  };
  EXPECT_EQ(layers::activation_names(), (std::vector<std::string>{"relu", "relu6", "leaky_relu", "elu", "selu", "gelu",
                                                                  "softplus", "sigmoid", "tanh"}));
  for (const std::string& kind : layers::activation_names())
    for (const bool approximate : {true, false}) {
      layers::ActivationOptions options;
      options.approximate = approximate;
      options.alpha = 0.25;
      GraphBuilder b;
      VariableStore store(b);
      const Port in = b.placeholder("x", kFloat64, {5});
      const std::string y = b.graph().port_name(layers::activation(store, in, kind, options));
      const auto executor = make_executor(b.build(), ieee_on_one_thread());
      const Tensor fed = tensor(kFloat64, {5}, x);
      const Tensor got = std::move(run(*executor, {{"x", &fed}}, {y}).values[0]);
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_NEAR(got.value(static_cast<int64_t>(i)), judge(kind, x[i], options), 1e-14) << kind << " of " << x[i];
    }
}

TEST(ElementaryLayers, DropoutKeepsSomeAndScalesThem) {
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32}) {
    GraphBuilder b;
    VariableStore store(b);
    const Port x = b.placeholder("x", dtype, {1000});
    EXPECT_EQ(layers::dropout(store, x, 0).node, x.node) << "nothing is added";
    const std::string y = b.graph().port_name(layers::dropout(store, x, 0.25));
    const auto executor = make_executor(b.build(), ieee_on_one_thread());
    const Tensor ones = Tensor::full(dtype, {1000}, 3);
    const Tensor factor = Tensor::full(dtype, {}, 1 / 0.75);
    const auto at = [&](uint32_t step) {
      executor->set_step(step);
      return std::move(run(*executor, {{"x", &ones}}, {y}).values[0]);
    };
    const Tensor first = at(0), second = at(1);
    int kept = 0;
    for (const double v : first.values()) {
      kept += v != 0;
      EXPECT_TRUE(v == 0 || v == Tensor::full(dtype, {}, 3 * factor.value(0)).value(0)) << v;
    }
    EXPECT_NEAR(kept, 750, 5 * 13.7) << "five standard deviations";
    EXPECT_FALSE(first.same_bits(second));
    EXPECT_TRUE(first.same_bits(at(0)));
  }
  GraphBuilder b;
  VariableStore evaluates(b, {}, false);
  const Port x = b.placeholder("x", kFloat32, {4});
  EXPECT_EQ(layers::dropout(evaluates, x, 0.5).node, x.node);
  EXPECT_EQ(refusal<GraphError>([&] { layers::dropout(evaluates, x, 1); }),
            "dropout 'SelectV2': rate is 1; expected 0 or more, and less than 1");
}

TEST(ElementaryLayers, DenseOfManyAxesIsThatOfTheirRows) {
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32}) {
    GraphBuilder b;
    VariableStore store(b);
    const Port x = b.placeholder("x", dtype, {2, 3, 2, 5}), rows = b.placeholder("rows", dtype, {12, 5});
    layers::DenseOptions options;
    options.relu = true;
    const Port y = layers::dense(store, x, 4, options);
    EXPECT_EQ(b.type(y), (TensorType{dtype, {2, 3, 2, 4}}));
    const Names fetches{b.graph().port_name(y)};
    const Tensor in = initial_value(Initializer::normal(1), {dtype, {2, 3, 2, 5}}, "x", 1);
    const Tensor flat = Tensor::from_values(dtype, {12, 5}, in.values());
    const std::string plain = b.graph().port_name(b.add(
        "Relu",
        {b.add("BiasAdd", {b.add("MatMul", {rows, b.graph().port("dense/kernel")}), b.graph().port("dense/bias")})}));
    const std::vector<VariableSpec> variables = store.variables();
    const auto executor = make_executor(b.build(), ExecutorOptions{});
    for (const VariableSpec& v : variables)
      executor->set_variable(v.name, initial_value(Initializer::normal(1), v.type, v.name, 2));
    const RunResult got = run(*executor, {{"x", &in}, {"rows", &flat}}, {fetches[0], plain});
    EXPECT_EQ(got.values[0].values(), got.values[1].values());
  }
}

// tests: N124
TEST(ElementaryLayers, DepthwiseConvolutionIsTheDirectSum) {
  // Whole numbers: every sum is exact in any order.
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32}) {
    GraphBuilder b;
    VariableStore store(b);
    const Port x = b.placeholder("x", dtype, {1, 3, 3, 2});
    layers::DepthwiseConv2DOptions options;
    options.kernel = 2;
    options.multiplier = 2;
    options.padding = "VALID";
    const Port y = layers::depthwise_conv2d(store, x, options);
    EXPECT_EQ(b.type(y), (TensorType{dtype, {1, 2, 2, 4}}));
    ASSERT_EQ(store.variables()[0].name, "depthwise_conv2d/kernel");
    EXPECT_EQ(store.variables()[0].type, (TensorType{dtype, {2, 2, 2, 2}}));
    std::vector<double> image(18), kernel(16), expected;
    for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<double>(i % 5) - 2;
    for (size_t i = 0; i < kernel.size(); ++i) kernel[i] = static_cast<double>(i * i % 7) - 3;
    for (size_t h = 0; h < 2; ++h)
      for (size_t w = 0; w < 2; ++w)
        for (size_t c = 0; c < 2; ++c)
          for (size_t m = 0; m < 2; ++m) {
            double sum = static_cast<double>(c * 2 + m);
            for (size_t i = 0; i < 2; ++i)
              for (size_t j = 0; j < 2; ++j)
                sum += image[((h + i) * 3 + w + j) * 2 + c] * kernel[((i * 2 + j) * 2 + c) * 2 + m];
            expected.push_back(sum);
          }
    const std::string fetch = b.graph().port_name(y);
    const auto executor = make_executor(b.build(), ieee_on_one_thread());
    executor->set_variable("depthwise_conv2d/kernel", tensor(dtype, {2, 2, 2, 2}, kernel));
    executor->set_variable("depthwise_conv2d/bias", tensor(dtype, {4}, {0, 1, 2, 3}));
    const Tensor fed = tensor(dtype, {1, 3, 3, 2}, image);
    EXPECT_EQ(run(*executor, {{"x", &fed}}, {fetch}).values[0].values(), expected);
    options.multiplier = 0;
    EXPECT_EQ(refusal<GraphError>([&] {
                GraphBuilder other;
                VariableStore there(other);
                layers::depthwise_conv2d(there, other.placeholder("x", kFloat32, {1, 3, 3, 2}), options);
              }),
              "depthwise_conv2d 'depthwise_conv2d': multiplier is 0; expected at least 1");
  }
}

TEST(ElementaryLayers, AveragePool) {
  GraphBuilder b;
  VariableStore store(b);
  const Port x = b.placeholder("x", kFloat32, {1, 2, 4, 1});
  const std::string y = b.graph().port_name(layers::average_pool(store, x, 2, 2));
  const Tensor fed = tensor(kFloat32, {1, 2, 4, 1}, {1, 2, 3, 4, 5, 8, 7, 6});
  const auto executor = make_executor(b.build(), ieee_on_one_thread());
  EXPECT_EQ(run(*executor, {{"x", &fed}}, {y}).values[0].values(), (std::vector<double>{4, 5}));
  GraphBuilder other;
  VariableStore there(other);
  const Port image = other.placeholder("x", kFloat32, {1, 2, 4, 1});
  EXPECT_EQ(refusal<GraphError>([&] { layers::average_pool(there, image, 2, 0); }),
            "average_pool 'AvgPool': stride is 0; expected at least 1");
}

TEST(ElementaryLayers, LayerNormKeepsItsVariablesAsTold) {
  struct Case {
    DType x;
    std::optional<DType> wanted;
    DType kept;
  };
  for (const Case& c :
       std::vector<Case>{{kFloat16, {}, kFloat16}, {kFloat16, kFloat32, kFloat32}, {kBFloat16, {}, kFloat32}}) {
    GraphBuilder b;
    VariableStore store(b);
    const Port x = b.placeholder("x", c.x, {2, 3, 6});
    layers::LayerNormOptions options;
    options.dtype = c.wanted;
    const Port y = layers::layer_norm(store, x, options);
    EXPECT_EQ(b.type(y), b.type(x));
    ASSERT_EQ(store.variables().size(), 2u);
    EXPECT_EQ(store.variables()[0], (VariableSpec{"layer_norm/gamma", {c.kept, {6}}, Initializer::ones(), true}));
    EXPECT_EQ(store.variables()[1], (VariableSpec{"layer_norm/beta", {c.kept, {6}}, Initializer::zeros(), true}));
    EXPECT_EQ(attribute<double>(b.graph().node(y.node), "epsilon"), 1e-5);
  }
}

}  // namespace
}  // namespace softamp::test
