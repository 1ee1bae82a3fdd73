// Variables, scopes and getters (TUTORIAL G15, G17 to G19, G47), and first values.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <functional>

#include "softamp/graph/gradients.h"
#include "softamp/train/initializer.h"
#include "softamp/train/keras/layer_classes.h"
#include "softamp/train/layers.h"
#include "softamp/train/variable.h"
#include "tests/graph/executor_check.h"
#include "tests/oracle/tensor_order.h"

namespace softamp::test {
namespace {

using enum DType;

template <class T>
concept Assignable = requires(GraphBuilder& builder, const T& to, Port value) {
  assign(builder, to, value);
};

VariableRequest request(const std::string& name, DType dtype = kFloat32, const Shape& shape = {2},
                        bool trainable = true) {
  return {name, shape, dtype, Initializer::zeros(), trainable};
}

std::vector<std::string> names_of(const VariableStore& store) {
  std::vector<std::string> names;
  for (const VariableSpec& spec : store.variables()) names.push_back(spec.name);
  return names;
}

using Words = std::vector<std::string>;

// tests: G19
TEST(VariableStore, FullPathsInOrderOfCreation) {
  // TUTORIAL G19
  GraphBuilder builder;
  VariableStore store(builder);
  store.create(request("step", kInt32, {}, false));
  {
    const auto outer = store.scope("net");
    EXPECT_EQ(store.scope_path(), "net/");
    {
      const auto inner = store.scope("op/conv2d");
      store.get(request("kernel", kFloat16, {3, 3, 1, 2}));
      builder.add("Fill", {}, {{"shape", Shape{1}}}, "node");
    }
    store.get(request("bias"));
  }
  store.get(request("kernel"));
  EXPECT_EQ(names_of(store), (Words{"step", "net/op/conv2d/kernel", "net/bias", "kernel"}));
  const VariableSpec& kernel = store.variables()[1];
  EXPECT_EQ(kernel, (VariableSpec{"net/op/conv2d/kernel", {kFloat16, {3, 3, 1, 2}}, Initializer::zeros(), true}));
  EXPECT_FALSE(store.variables()[0].trainable);
  const Variable& variable = store.variable("net/op/conv2d/kernel");
  EXPECT_EQ(variable.name, kernel.name);
  const Graph graph = builder.build();
  EXPECT_EQ(graph.node(variable.port.node).op, "VariableV2");
  EXPECT_EQ(graph.node(variable.port.node).name, kernel.name);
  EXPECT_EQ(graph.type(variable.port), kernel.type);
  EXPECT_NE(graph.find("net/op/conv2d/node"), -1) << "nodes stand in the store's scope";
}

// tests: G19
TEST(VariableStore, ATakenNameIsRefused) {
  GraphBuilder builder;
  VariableStore store(builder);
  const auto conv = store.scope("conv");
  store.get(request("kernel"));
  EXPECT_EQ(refusal<GraphError>([&] { store.get(request("kernel")); }),
            "Variable conv/kernel already exists, disallowed. Did you mean to set reuse=True?");
  EXPECT_EQ(refusal<GraphError>([&] { store.create(request("kernel", kFloat16)); }),
            "Variable conv/kernel already exists, disallowed. Did you mean to set reuse=True?");
  const auto other = store.scope("deeper");
  EXPECT_EQ(refusal<GraphError>([&] { store.get(request("kernel")); }), "") << "another path";
  EXPECT_EQ(store.variables().size(), 2u);
}

// tests: G19
TEST(VariableStore, ReuseHandsOutTheSameVariable) {
  // TUTORIAL G19
  GraphBuilder builder;
  VariableStore store(builder);
  const auto net = [&] {
    const auto scope = store.scope("layer");
    return store.get(request("w", kFloat16, {2, 3})).port;
  };
  const Port first = net();
  EXPECT_NE(refusal<GraphError>([&] { net(); }), "");
  {
    const auto reuse = store.scope("", {}, true);
    EXPECT_EQ(net(), first) << "inherited by the scopes within";
    const auto layer = store.scope("layer");
    EXPECT_EQ(refusal<GraphError>([&] {
                store.get(request("w", kFloat16, {3, 2}));
              }),
              "Trying to share variable layer/w, but specified shape [3,2] and found shape [2,3].");
    EXPECT_EQ(refusal<GraphError>([&] {
                store.get(request("w", kFloat32, {2, 3}));
              }),
              "Trying to share variable layer/w, but specified dtype float32 and found dtype float16.");
    store.get(request("new"));
  }
  EXPECT_NE(refusal<GraphError>([&] { net(); }), "") << "reuse ends with its scope";
  EXPECT_EQ(names_of(store), (Words{"layer/w", "layer/new"}));
}

TEST(VariableStore, LayersOfOneNameAreCounted) {
  GraphBuilder builder;
  VariableStore store(builder);
  const Port x = builder.placeholder("x", kFloat32, {2, 4});
  const auto net = [&](const char* scope, bool reuse) {
    const auto outer = store.scope(scope, {}, reuse);
    layers::DenseOptions options;
    options.use_bias = false;
    layers::dense(store, x, 4, options);
    layers::dense(store, x, 4, options);
    layers::dense(store, x, 4, options, "dense_2");
    layers::dense(store, x, 4, options);
    layers::dense(store, x, 4, options, "mine");
  };
  net("a", false);
  net("b", false);
  const Words in_a = {"a/dense/kernel", "a/dense_1/kernel", "a/dense_2/kernel", "a/dense_3/kernel", "a/mine/kernel"};
  Words all = in_a;
  for (std::string name : in_a) all.push_back("b" + name.substr(1));
  EXPECT_EQ(names_of(store), all);
  net("a", true);
  EXPECT_EQ(names_of(store), all) << "entered again under reuse, a scope names its layers alike";
  EXPECT_EQ(refusal<GraphError>([&] { net("a", false); }),
            "Variable a/dense/kernel already exists, disallowed. Did you mean to set reuse=True?");
  EXPECT_EQ(refusal<GraphError>([&] {
              const auto scope = store.scope("c");
              for (int i = 0; i < 2; ++i) layers::dense(store, x, 4, {}, "mine");
            }),
            "Variable c/mine/kernel already exists, disallowed. Did you mean to set reuse=True?")
      << "a name that is given stays as it is";
}

TEST(VariableStore, MalformedAndUnknownNames) {
  GraphBuilder builder;
  VariableStore store(builder);
  EXPECT_EQ(refusal<GraphError>([&] { (void)store.scope("a b"); }),
            "'a b' is not a valid scope name: expected letters, digits and '.', then these and '_', '-', '/'");
  EXPECT_NE(refusal<GraphError>([&] { store.get(request("")); }), "");
  EXPECT_EQ(store.scope_path(), "");
  store.get(request("conv/kernel"));
  EXPECT_EQ(refusal<GraphError>([&] { store.variable("conv/kernal"); }),
            "there is no variable 'conv/kernal' among 1; nearest: conv/kernel");
  EXPECT_EQ(store.variables().size(), 1u);
}

// tests: G18
TEST(VariableStore, AssignSetsTheVariable) {
  // TUTORIAL G18: what a getter gives out cannot be assigned to, and the compiler says so.
  static_assert(Assignable<Variable>);
  static_assert(!Assignable<NodeOutput>);
  static_assert(!std::convertible_to<NodeOutput, Variable> && std::convertible_to<Variable, NodeOutput>);
  GraphBuilder builder;
  VariableStore store(builder);
  const Variable v = store.create(request("v", kFloat32, {2}));
  const Port one = builder.constant(Tensor::full(kFloat32, {2}, 1));
  assign(builder, v, builder.add("AddV2", {v.port, one}));
  const auto executor = make_executor(builder.build());
  executor->set_variable("v", floats({1, 2}));
  for (int step = 0; step < 3; ++step) run(*executor, {}, {"Assign"});
  EXPECT_TRUE(executor->variable("v").same_bits(floats({4, 5})));
}

// ---- Getters ----------------------------------------------------------------------------------------------------

// tests: G17, N266
TEST(Getters, Float32Parameters) {
  GraphBuilder builder;
  VariableStore store(builder);
  const auto scope = store.scope("net", float32_parameters());
  const auto layer = store.scope("conv2d");
  const NodeOutput half = store.get(request("kernel", kFloat16));
  const NodeOutput bfloat = store.get(request("bias", kBFloat16));
  const NodeOutput single = store.get(request("gamma", kFloat32));
  const NodeOutput fixed = store.get(request("moving_mean", kFloat16, {2}, false));
  EXPECT_EQ(store.getter_calls(), 4);
  const Graph& graph = builder.graph();
  const auto expect = [&](NodeOutput value, DType dtype, const char* node, const char* op, DType kept) {
    EXPECT_EQ(graph.type(value.port).dtype, dtype) << node;
    EXPECT_EQ(graph.node(value.port.node).name, node);
    EXPECT_EQ(graph.node(value.port.node).op, op);
    const Port variable = graph.node(value.port.node).op == "Cast" ? graph.node(value.port.node).inputs[0] : value.port;
    EXPECT_EQ(graph.node(variable.node).op, "VariableV2");
    EXPECT_EQ(graph.type(variable).dtype, kept) << node;
  };
  expect(half, kFloat16, "net/conv2d/kernel_cast", "Cast", kFloat32);
  expect(bfloat, kBFloat16, "net/conv2d/bias_cast", "Cast", kFloat32);
  expect(single, kFloat32, "net/conv2d/gamma", "VariableV2", kFloat32);
  expect(fixed, kFloat16, "net/conv2d/moving_mean", "VariableV2", kFloat16);
  EXPECT_EQ(names_of(store),
            (Words{"net/conv2d/kernel", "net/conv2d/bias", "net/conv2d/gamma", "net/conv2d/moving_mean"}));
  EXPECT_EQ(store.variables()[0].type.dtype, kFloat32);
  EXPECT_TRUE(store.variables()[0].trainable);
}

// tests: G17, N265
TEST(Getters, InnermostFirstAndGoneWithTheirScopes) {
  // TUTORIAL G17
  GraphBuilder builder;
  VariableStore store(builder);
  Words seen;
  const auto noting = [&](const std::string& word) {
    return [&seen, word](const VariableStore::Next& next, const VariableRequest& asked) {
      seen.push_back(word + ":" + asked.name);
      VariableRequest more = asked;
      more.name += word;
      return next(more);
    };
  };
  {
    const auto outer = store.scope("o", noting("1"));
    {
      const auto inner = store.scope("i", noting("2"));
      const auto plain = store.scope("p");
      store.get(request("v"));
    }
    store.get(request("w"));
  }
  store.get(request("x"));
  EXPECT_EQ(seen, (Words{"2:v", "1:v2", "1:w"}));
  EXPECT_EQ(names_of(store), (Words{"o/i/p/v21", "o/w1", "x"}));
  EXPECT_EQ(store.getter_calls(), 2) << "a request counts once, however many getters it passes";
}

TEST(Getters, AnExceptionEndsItsScopes) {
  GraphBuilder builder;
  VariableStore store(builder);
  const auto failing = [](const VariableStore::Next&, const VariableRequest&) -> NodeOutput {
    throw std::runtime_error("no");
  };
  EXPECT_EQ(refusal<std::runtime_error>([&] {
              const auto a = store.scope("a", float32_parameters(), true);
              const auto b = store.scope("b", failing);
              store.get(request("v", kFloat16));
            }),
            "no");
  EXPECT_EQ(store.scope_path(), "");
  EXPECT_EQ(builder.graph().type(store.get(request("v", kFloat16)).port).dtype, kFloat16) << "no getter is left";
  EXPECT_NE(refusal<GraphError>([&] { store.get(request("v", kFloat16)); }), "") << "reuse is not left";
  const Port node = builder.add("Fill", {}, {{"shape", Shape{}}}, "node");
  EXPECT_EQ(builder.graph().node(node.node).name, "node") << "the builder's scope is not left";
}

TEST(Getters, AGetterMayOpenScopes) {
  GraphBuilder builder;
  VariableStore store(builder);
  const auto scope = store.scope("s", [&](const VariableStore::Next& next, const VariableRequest& asked) {
    const auto deeper = store.scope("kept", float32_parameters());
    const auto deepest = store.scope("there", float32_parameters());
    return next(asked);
  });
  store.get(request("v", kFloat16));
  EXPECT_EQ(names_of(store), Words{"s/kept/there/v"});
}

// tests: G47
TEST(Getters, LayersPastTheGetterAreNotCounted) {  // TUTORIAL G47: a Keras layer's weights do not consult the scope
  GraphBuilder builder;
  VariableStore store(builder);
  const auto scope = store.scope("keras", float32_parameters());
  const Variable kernel = store.create(request("kernel", kFloat16));
  EXPECT_EQ(builder.type(kernel.port).dtype, kFloat16);
  EXPECT_EQ(store.getter_calls(), 0);
}

// tests: G47
TEST(Getters, KerasLayersNeverAskThem) {  // TUTORIAL G47, through layers
  GraphBuilder builder;
  VariableStore store(builder);
  const MixedPrecisionContext precision;
  LayerContext context(store, precision);
  const auto scope = store.scope("net", float32_parameters());
  const Port x = builder.placeholder("x", kFloat16, {2, 4, 4, 3});
  layers::Conv2D convolution(context, 5, {}, {.dtype = "float16"});
  layers::Flatten flatten(context, {.dtype = "float16"});
  layers::Dense dense(context, 7, {}, {.dtype = "float16"});
  const Port y = dense(flatten(convolution(x))).port();
  EXPECT_EQ(store.getter_calls(), 0);
  ASSERT_EQ(store.variables().size(), 4u);
  for (const VariableSpec& v : store.variables()) EXPECT_EQ(v.type.dtype, kFloat16) << v.name << ": as its layer says";
  for (const Node& node : builder.graph().nodes()) EXPECT_NE(node.op, "Cast") << node.name;
  // The function of the same name asks, and gets a cast of a float32 variable, in the same scope.
  layers::dense(store, y, 3, {}, "asks");
  EXPECT_EQ(store.getter_calls(), 2);
  EXPECT_EQ(store.variables().back().type.dtype, kFloat32);
}

// tests: G15
TEST(Getters, GradientsReachTheFloat32Variable) {
  GraphBuilder builder;
  VariableStore store(builder);
  const auto scope = store.scope("net", float32_parameters());
  const NodeOutput w = store.get(request("w", kFloat16, {3}));
  const Tensor factors = halves({0x1p-24, -3, 65504});  // a half's least and greatest number
  const Port x = builder.constant(factors.clone());
  const Port loss = builder.add("Sum", {builder.add("Mul", {w.port, x})});
  EXPECT_EQ(builder.type(loss).dtype, kFloat16);
  const Port variables[] = {store.variable("net/w").port};
  const auto found = gradients(builder, loss, variables);
  ASSERT_TRUE(found.at(0).has_value());
  EXPECT_EQ(builder.type(*found[0]), (TensorType{kFloat32, {3}}));
  const std::string name = builder.graph().port_name(*found[0]);
  const auto executor = make_executor(builder.build());
  EXPECT_TRUE(run(*executor, {}, {name}).values[0].same_bits(floats(factors.values())));
}

// ---- First values -----------------------------------------------------------------------------------------------

// tests: N267, N268
TEST(InitialValue, Texts) {
  EXPECT_EQ(Initializer::zeros().text(), "zeros");
  EXPECT_EQ(Initializer::ones().text(), "ones");
  EXPECT_EQ(Initializer::constant(0.1).text(), "constant(0.1)");
  EXPECT_EQ(Initializer::glorot_uniform().text(), "glorot_uniform");
  EXPECT_EQ(Initializer::normal(0.02).text(), "normal(0, 0.02)");
  EXPECT_EQ(Initializer::truncated_normal(0.5, -1).text(), "truncated_normal(-1, 0.5)");
  EXPECT_EQ(Initializer::uniform(-0.25, 3).text(), "uniform(-0.25, 3)");
}

// tests: N267, N268
TEST(InitialValue, Fans) {
  const auto fans = [](const Shape& shape) { return std::pair(fans_of(shape).in, fans_of(shape).out); };
  EXPECT_EQ(fans({}), std::pair(1.0, 1.0));
  EXPECT_EQ(fans({7}), std::pair(7.0, 7.0));
  EXPECT_EQ(fans({3, 5}), std::pair(3.0, 5.0));
  EXPECT_EQ(fans({2, 3, 5, 7}), std::pair(30.0, 42.0));
}

// tests: N267, N268
TEST(InitialValue, Constants) {
  EXPECT_TRUE(initial_value(Initializer::zeros(), {kInt32, {3}}, "v", 1).same_bits(Tensor(kInt32, {3})));
  EXPECT_TRUE(initial_value(Initializer::ones(), {kFloat16, {2}}, "v", 1).same_bits(halves({1, 1})));
  EXPECT_TRUE(initial_value(Initializer::constant(0.1), {kFloat16, {1}}, "v", 1).same_bits(halves({0.0999755859375})));
  EXPECT_TRUE(initial_value(Initializer::constant(1), {kBool, {1}}, "v", 1).same_bits(Tensor::full(kBool, {1}, 1)));
  EXPECT_EQ(
      refusal<std::invalid_argument>([] {
        (void)initial_value(Initializer::normal(0.5), {kInt32, {2}}, "global_step", 1);
      }),
      "variable 'global_step' of int32 cannot begin as normal(0, 0.5): expected a floating dtype (zeros, ones and "
      "constants take any)");
  for (const auto& initializer : {Initializer::glorot_uniform(), Initializer::normal(1)})
    EXPECT_EQ(initial_value(initializer, {kFloat32, {0, 0}}, "v", 1).elements(), 0);
}

/// The words of a variable, by the definitions of the generator and of the hash.
std::vector<uint32_t> words_of(const std::string& path, uint64_t seed, size_t count) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : path) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 1099511628211u;
  }
  const uint32_t operation = static_cast<uint32_t>((hash % (1 << 24)) ^ (hash / (1 << 24) % (1 << 24)) ^ (hash >> 48));
  std::vector<uint32_t> words;
  for (uint32_t block = 0; words.size() < count; ++block)
    for (const uint32_t word : oracle::order::philox({block, 0, operation, 0xFFFFFFFF}, static_cast<uint32_t>(seed),
                                                     static_cast<uint32_t>(seed >> 32)))
      words.push_back(word);
  return words;
}

TEST(InitialValue, UniformFromItsWords) {
  const std::string path = "block1/conv2d/kernel";
  const uint64_t seed = 0x123456789ABCDEFu;
  const std::vector<uint32_t> words = words_of(path, seed, 1024);
  const TensorType type{kFloat32, {2, 2, 16, 16}};
  const Tensor glorot = initial_value(Initializer::glorot_uniform(), type, path, seed);
  const Tensor uniform = initial_value(Initializer::uniform(-1, 3), type, path, seed);
  // sqrt(6 / (64 + 64)) as binary32, doubled; the product of 24 by 24 bits and its sum with the limit are exact in
  // binary64, so the conversion to float is the one rounding.
  const float limit = static_cast<float>(std::sqrt(6.0 / 128));
  for (int64_t i = 0; i < type.shape.elements(); ++i) {
    const double u = static_cast<double>(words[static_cast<size_t>(i)] >> 8) * 0x1p-24;
    ASSERT_EQ(glorot.as<float>()[static_cast<size_t>(i)], static_cast<float>(u * (2.0 * limit) - limit)) << i;
    ASSERT_EQ(uniform.as<float>()[static_cast<size_t>(i)], static_cast<float>(u * 4 - 1)) << i;
  }
}

TEST(InitialValue, KnownAnswers) {  // the same bits on every machine
  const auto codes = [](const Initializer& initializer, DType dtype) {
    const Tensor value = initial_value(initializer, {dtype, {4}}, "conv2d/kernel", 42);
    std::vector<uint64_t> list;
    for (int64_t i = 0; i < 4; ++i) list.push_back(value.code(i));
    return list;
  };
  using Codes = std::vector<uint64_t>;
  EXPECT_EQ(codes(Initializer::uniform(0, 1), kFloat32), (Codes{0x3F641928, 0x3F227DE6, 0x3E5CB8D0, 0x3F470DD1}));
  EXPECT_EQ(codes(Initializer::glorot_uniform(), kFloat32), (Codes{0x3F2D6012, 0x3E6EF754, 0xBEFC4114, 0x3EF6235F}));
  EXPECT_EQ(codes(Initializer::normal(1), kFloat32), (Codes{0x3F9DAF45, 0x3EB05768, 0xBF498D77, 0x3F4392E8}));
  EXPECT_EQ(codes(Initializer::truncated_normal(0.1), kFloat32),
            (Codes{0x3DE9D3CA, 0x3D0669AA, 0xBD9855D0, 0x3D93EA0B}));
  EXPECT_EQ(codes(Initializer::normal(1), kFloat16), (Codes{0x3CED, 0x3583, 0xBA4C, 0x3A1D}));
  EXPECT_EQ(codes(Initializer::normal(1), kBFloat16), (Codes{0x3F9E, 0x3EB0, 0xBF4A, 0x3F44}));
  // All values of a kernel, folded.
  const Tensor kernel = initial_value(Initializer::normal(0.02), {kFloat32, {400, 120}}, "dense/kernel", 1);
  uint64_t hash = 14695981039346656037u;
  for (const uint32_t code : kernel.as<uint32_t>()) hash = (hash ^ code) * 1099511628211u;
  EXPECT_EQ(hash, 0xE4A011E57F1E99F3u);
}

/// x to a multiple of the unit of p bits at x, ties to even; at least 2^least. Divisions by powers of two are exact.
double nearest(double x, int p, int least) {
  const double unit = std::ldexp(1.0, std::max(std::ilogb(x) - p + 1, least));
  return std::nearbyint(x / unit) * unit;
}

TEST(InitialValue, RoundedOnceToItsDtype) {
  for (const Initializer& initializer : {Initializer::glorot_uniform(), Initializer::normal(0.3),
                                         Initializer::truncated_normal(3), Initializer::uniform(-2, 5)}) {
    const Tensor wide = initial_value(initializer, {kFloat32, {40, 50}}, "v", 3);
    for (const DType dtype : {kFloat16, kBFloat16, kFloat64}) {
      const Tensor narrow = initial_value(initializer, {dtype, {40, 50}}, "v", 3);
      for (int64_t i = 0; i < wide.elements(); ++i) {
        const double x = wide.value(i);
        const double expected = dtype == kFloat16 ? nearest(x, 11, -24) : dtype == kBFloat16 ? nearest(x, 8, -133) : x;
        ASSERT_EQ(narrow.value(i), expected) << initializer.text() << " " << name_of(dtype) << " element " << i;
      }
    }
  }
}

TEST(InitialValue, AnotherPathOrSeedGivesOtherValues) {
  const auto value = [](const char* path, uint64_t seed) {
    return initial_value(Initializer::normal(1), {kFloat32, {64}}, path, seed);
  };
  const Tensor first = value("a/kernel", 1);
  EXPECT_TRUE(first.same_bits(value("a/kernel", 1)));
  const std::pair<const char*, uint64_t> others[] = {
      {"b/kernel", 1}, {"a/kernel", 2}, {"a/kernel", uint64_t{1} << 32 | 1}};
  for (const auto& [path, seed] : others) {
    const Tensor other = value(path, seed);
    int equal = 0;
    for (size_t i = 0; i < 64; ++i) equal += first.as<uint32_t>()[i] == other.as<uint32_t>()[i];
    // Two independent words are equal with probability 2^-32, and so are about 2^-20 of the numbers made of them.
    EXPECT_EQ(equal, 0);
  }
}

double normal_cdf(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

/// n values against their distribution function (Dvoretzky, Kiefer, Wolfowitz: the largest distance exceeds
/// sqrt(ln(2 / p) / 2n) with probability at most p = 10^-9) and against mean and variance, within six standard
/// deviations of their means. Seeds are fixed, so a pass stays one.
void expect_distribution(const Initializer& initializer, const Shape& shape, double mean, double variance,
                         double fourth_moment, const std::function<double(double)>& cdf) {
  const Tensor value = initial_value(initializer, {kFloat32, shape}, "dense/kernel", 5);
  std::vector<double> x = value.values();
  const double n = static_cast<double>(x.size());
  double sum = 0, squares = 0;
  for (const double v : x) sum += v - mean, squares += (v - mean) * (v - mean);
  EXPECT_NEAR(sum / n, 0, 6 * std::sqrt(variance / n)) << initializer.text();
  EXPECT_NEAR(squares / n, variance, 6 * std::sqrt((fourth_moment - variance * variance) / n)) << initializer.text();
  std::sort(x.begin(), x.end());
  double distance = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double f = cdf(x[i]), k = static_cast<double>(i);
    distance = std::max({distance, std::abs(f - k / n), std::abs(f - (k + 1) / n)});
  }
  EXPECT_LT(distance, std::sqrt(std::log(2e9) / (2 * n))) << initializer.text();
}

TEST(InitialValue, Distributions) {
  const Shape shape{256, 512};
  const auto uniform = [&](const Initializer& initializer, double a, double b) {
    const double h = (b - a) / 2;
    expect_distribution(initializer, shape, (a + b) / 2, h * h / 3, h * h * h * h / 5,
                        [=](double x) { return std::clamp((x - a) / (b - a), 0.0, 1.0); });
  };
  const double limit = std::sqrt(6.0 / 768);
  uniform(Initializer::glorot_uniform(), -limit, limit);
  uniform(Initializer::uniform(-1, 2), -1, 2);
  const double s = 0.02, m = 0.01;
  expect_distribution(Initializer::normal(s, m), shape, m, s * s, 3 * s * s * s * s,
                      [=](double x) { return normal_cdf((x - m) / s); });
  // Cut at c = 2: moments m2 = 1 - 2 c phi / Z, m4 = 3 m2 - 2 c^3 phi / Z, by parts; Z = Phi(2) - Phi(-2).
  const double z = normal_cdf(2) - normal_cdf(-2), ratio = std::exp(-2.0) / std::sqrt(2 * std::acos(-1.0)) / z;
  const double m2 = 1 - 4 * ratio, m4 = 3 * m2 - 16 * ratio;
  expect_distribution(Initializer::truncated_normal(s, m), shape, m, m2 * s * s, m4 * s * s * s * s,
                      [=](double x) { return std::clamp((normal_cdf((x - m) / s) - normal_cdf(-2)) / z, 0.0, 1.0); });
}

TEST(InitialValue, Limits) {
  const Tensor uniform = initial_value(Initializer::glorot_uniform(), {kFloat32, {256, 256}}, "v", 9);
  const float limit = static_cast<float>(std::sqrt(6.0 / 512));
  for (const float x : uniform.as<float>()) ASSERT_TRUE(x >= -limit && x < limit) << x;
  const Tensor cut = initial_value(Initializer::truncated_normal(1), {kFloat32, {256, 256}}, "v", 9);
  for (const float x : cut.as<float>()) ASSERT_LE(std::abs(x), 2) << x;
}

}  // namespace
}  // namespace softamp::test
