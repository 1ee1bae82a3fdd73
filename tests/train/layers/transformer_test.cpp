// Layers of a transformer against plain loops, their gradients against differences of these loops; causality bit for
// bit; every dtype, rule and way to run.
#include <gtest/gtest.h>

#include <functional>

#include "softamp/graph/gradients.h"
#include "softamp/train/gpt.h"
#include "softamp/train/layers.h"
#include "softamp/train/trainer.h"
#include "tests/graph/executor_check.h"
#include "tests/train/layers/layer_run.h"
#include "tests/train/layers/transformer_rig.h"

namespace softamp::test {
namespace {

using enum DType;
using Ints = std::vector<int64_t>;

Tensor random_values(const TensorType& type, const std::string& name, double deviation = 0.5) {
  return initial_value(Initializer::normal(deviation), type, name, 3);
}

/// Values around 0 for every variable, no zeros and ones.
std::map<std::string, Tensor> values_around_zero(const std::vector<VariableSpec>& variables) {
  std::map<std::string, Tensor> values;
  for (const VariableSpec& v : variables) values.emplace(v.name, random_values(v.type, v.name));
  return values;
}
plain::Weights plain_weights(const std::map<std::string, Tensor>& values) {
  plain::Weights weights;
  for (const auto& [name, value] : values) weights[name] = value.values();
  return weights;
}
void set_variables(Executor& executor, const std::map<std::string, Tensor>& values) {
  for (const auto& [name, value] : values) executor.set_variable(name, value);
}

/// Expects each gradient of a number to be the central difference of its value, every element of every variable.
void expect_gradients(const std::vector<VariableSpec>& variables, const std::vector<Tensor>& gradients,
                      plain::Weights weights, const std::function<double(const plain::Weights&)>& value) {
  constexpr double kStep = 0x1p-14;
  for (size_t v = 0; v < variables.size(); ++v) {
    plain::Values& w = weights[variables[v].name];
    ASSERT_EQ(gradients[v].values().size(), w.size());
    for (size_t i = 0; i < w.size(); ++i) {
      const double at = w[i];
      w[i] = at + kStep;
      const double above = value(weights);
      w[i] = at - kStep;
      const double below = value(weights);
      w[i] = at;
      // Roundings of values up to 100: 2^-47 / step; step^2 / 6 times a third derivative of up to 1000.
      EXPECT_NEAR(gradients[v].value(static_cast<int64_t>(i)), (above - below) / (2 * kStep), 2e-6)
          << variables[v].name << " " << i;
    }
  }
}

TEST(Transformer, BlockIsItsFormulasAndHasTheirGradients) {
  const plain::Extents e{2, 4, 6, 2};
  GraphBuilder b;
  VariableStore store(b);
  const Port x = b.placeholder("x", kFloat64, {2, 4, 6});
  layers::TransformerBlockOptions options;
  options.heads = 2;
  const Port y = layers::transformer_block(store, x, options);
  const Tensor seed = random_values({kFloat64, {2, 4, 6}}, "seed");
  const Port sum = b.add("Sum", {b.add("Mul", {y, b.constant(seed.clone())})}, {}, "sum");
  std::vector<Port> ports;
  Names fetches{b.graph().port_name(y)};
  for (const VariableSpec& v : store.variables()) ports.push_back(b.graph().port(v.name));
  for (const auto& g : gradients(b, sum, ports)) fetches.push_back(b.graph().port_name(*g));
  const std::vector<VariableSpec> variables = store.variables();
  ASSERT_EQ(variables.size(), 12u);
  const auto values = values_around_zero(variables);
  const auto executor = make_executor(b.build(), ieee_on_one_thread());
  set_variables(*executor, values);
  const Tensor image = random_values({kFloat64, {2, 4, 6}}, "x", 1);
  RunResult got = run(*executor, {{"x", &image}}, fetches);
  const plain::Weights weights = plain_weights(values);
  const plain::Values expected = plain::block(image.values(), e, weights, "block");
  // Sums of at most 24 products, twice over, of numbers below 100.
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(got.values[0].value(static_cast<int64_t>(i)), expected[i], 1e-11) << i;
  std::vector<Tensor> found;
  for (size_t i = 1; i < got.values.size(); ++i) found.push_back(std::move(got.values[i]));
  expect_gradients(variables, found, weights, [&](const plain::Weights& w) {
    const plain::Values out = plain::block(image.values(), e, w, "block");
    double total = 0;
    for (size_t i = 0; i < out.size(); ++i) total += out[i] * seed.value(static_cast<int64_t>(i));
    return total;
  });
}

GptOptions small_gpt() {
  GptOptions options;
  options.vocabulary = 7;
  options.context = 5;
  options.layers = 2;
  options.heads = 2;
  options.units = 6;
  return options;
}

const std::vector<double> kTokens = {3, 0, 6, 3, 1, 5, 2, 4}, kLabels = {0, 6, 3, 1, 2, 2, 4, 0};

TEST(Transformer, GptIsItsFormulasAndTiesItsEmbeddings) {
  // The gradient of the embeddings is that of both uses: the differences see both.
  GraphBuilder b;
  VariableStore store(b);
  store.set_dtype(kFloat64);
  const Port tokens = b.placeholder("tokens", kInt32, {2, 4}), labels = b.placeholder("labels", kInt32, {2, 4});
  const Port logits = gpt(small_gpt())(store, tokens);
  EXPECT_EQ(b.type(logits), (TensorType{kFloat64, {2, 4, 7}}));
  const LossFunction loss = find_loss("sparse_categorical_crossentropy_from_logits");
  const Port mean = b.add("Mean", {loss(b, labels, logits)}, {}, "loss");
  std::vector<Port> ports;
  Names fetches{b.graph().port_name(logits), b.graph().port_name(mean)};
  const std::vector<VariableSpec> variables = store.variables();
  for (const VariableSpec& v : variables) ports.push_back(b.graph().port(v.name));
  for (const auto& g : gradients(b, mean, ports)) fetches.push_back(b.graph().port_name(*g));
  ASSERT_EQ(variables.size(), 2u + 24u + 2u) << "the output has no variable of its own";
  const auto values = values_around_zero(variables);
  const auto executor = make_executor(b.build(), ieee_on_one_thread());
  set_variables(*executor, values);
  const Tensor fed = tensor(kInt32, {2, 4}, kTokens), wanted = tensor(kInt32, {2, 4}, kLabels);
  RunResult got = run(*executor, {{"tokens", &fed}, {"labels", &wanted}}, fetches);

  const plain::Extents e{2, 4, 6, 2};
  const std::vector<size_t> numbers(kTokens.begin(), kTokens.end()), classes(kLabels.begin(), kLabels.end());
  const plain::Weights weights = plain_weights(values);
  const plain::Values expected = plain::gpt(numbers, e, 2, weights);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(got.values[0].value(static_cast<int64_t>(i)), expected[i], 1e-11) << i;
  const auto loss_of = [&](const plain::Weights& w) {
    return plain::next_token_loss(plain::gpt(numbers, e, 2, w), classes);
  };
  EXPECT_NEAR(got.values[1].value(0), loss_of(weights), 1e-12);
  std::vector<Tensor> found;
  for (size_t i = 2; i < got.values.size(); ++i) found.push_back(std::move(got.values[i]));
  expect_gradients(variables, found, weights, loss_of);
}

/// The GPT in a precision, or under a rule; executed with values around 0.
struct GptRun {
  GptRun(DType compute, bool masters, const ExecutorOptions& options, std::optional<LayerRule> rule = {}) {
    GraphBuilder b;
    VariableStore store(b, std::move(rule));
    store.set_dtype(compute);
    const Port tokens = b.placeholder("tokens", kInt32, {2, 4});
    {
      const auto scope = store.scope("", masters ? float32_parameters() : VariableStore::Getter());
      logits = b.graph().port_name(gpt(small_gpt())(store, tokens));
    }
    variables = store.variables();
    ruled = store.ruled_layers();
    graph = b.build();
    executor = make_executor(graph, options);
    set_variables(*executor, values_around_zero(variables));
  }
  RunResult result(const std::vector<double>& numbers) {
    const Tensor fed = tensor(kInt32, {2, 4}, numbers);
    executor->set_step(5);
    return run(*executor, {{"tokens", &fed}}, {logits});
  }
  Tensor of(const std::vector<double>& numbers) { return std::move(result(numbers).values[0]); }

  std::string logits;
  std::vector<VariableSpec> variables;
  std::vector<RuledLayer> ruled;
  Graph graph;
  std::unique_ptr<Executor> executor;
};

struct GptWay {
  const char* name;
  DType compute;
  bool masters;
  ExecutorOptions options;
};

std::vector<GptWay> gpt_ways() {
  ExecutorOptions preset;
  ExecutorOptions rounded = stochastic();
  ExecutorOptions halves;
  halves.config.matmuls.poplar_options["partialsType"] = "half";
  return {{"float32", kFloat32, false, preset},
          {"float16", kFloat16, false, preset},
          {"bfloat16", kBFloat16, false, preset},
          {"mixed", kFloat16, true, preset},
          {"mixed_bfloat16", kBFloat16, true, preset},
          {"float16 stochastic", kFloat16, false, rounded},
          {"bfloat16 stochastic", kBFloat16, true, rounded},
          {"float16 half partials", kFloat16, false, halves}};
}

TEST(Transformer, ALaterTokenChangesNoEarlierBit) {
  for (const GptWay& way : gpt_ways()) {
    SCOPED_TRACE(way.name);
    GptRun running(way.compute, way.masters, way.options);
    const Tensor before = running.of(kTokens);
    EXPECT_EQ(before.type(), (TensorType{way.compute, {2, 4, 7}}));
    for (int64_t place = 0; place < 4; ++place) {
      std::vector<double> tokens = kTokens;
      tokens[static_cast<size_t>(place)] = 2;  // of the first text
      const Tensor after = running.of(tokens);
      for (int64_t i = 0; i < after.elements(); ++i) {
        const int64_t text = i / 28, position = i / 7 % 4;
        if (text == 1 || position < place) {
          ASSERT_EQ(after.code(i), before.code(i)) << "token " << place << ", logit " << i;
        }
      }
      bool changed = false;
      for (int64_t i = place * 7; i < 28; ++i) changed = changed || after.code(i) != before.code(i);
      EXPECT_TRUE(changed) << place;
    }
  }
}

TEST(Transformer, EveryWayToRunGivesTheBitsOfTheDefinitions) {
  for (const GptWay& way : gpt_ways()) {
    SCOPED_TRACE(way.name);
    ExecutorOptions reference = way.options;
    reference.reference = true;
    reference.threads = 1;
    reference.status = true;
    GptRun judge(way.compute, way.masters, reference);
    const RunResult expected = judge.result(kTokens);
    const auto compare = [&](const ExecutorOptions& options, const std::string& name) {
      ExecutorOptions with_status = options;
      with_status.status = true;
      GptRun running(way.compute, way.masters, with_status);
      const RunResult got = running.result(kTokens);
      EXPECT_TRUE(got.values[0].same_bits(expected.values[0])) << name;
      ASSERT_EQ(got.operations.size(), expected.operations.size()) << name;
      for (size_t i = 0; i < got.operations.size(); ++i)
        EXPECT_EQ(got.operations[i].status, expected.operations[i].status) << name << " " << got.operations[i].name;
    };
    for (const auto isa : bulk::instruction_sets()) {
      ExecutorOptions options = way.options;
      options.isa = isa;
      options.threads = 1;
      compare(options, bulk::name(isa));
    }
    ExecutorOptions threads = way.options;
    threads.threads = 3;
    compare(threads, "3 threads");
  }
}

TEST(Transformer, PrecisionsAreNearFloat32) {
  // Half a unit of the last place at each of some 60 roundings on the way, of numbers up to some 4.
  GptRun reference(kFloat32, false, ieee_on_one_thread());
  const Tensor expected = reference.of(kTokens);
  for (const auto& [dtype, bound] : {std::pair{kFloat16, 0.05}, {kBFloat16, 0.4}})
    for (const bool masters : {false, true}) {
      GptRun running(dtype, masters, ieee_on_one_thread());
      for (const VariableSpec& v : running.variables)
        EXPECT_EQ(v.type.dtype,
                  masters || (dtype == kBFloat16 && v.name.find("norm") != std::string::npos) ? kFloat32 : dtype)
            << v.name;
      const Tensor got = running.of(kTokens);
      for (int64_t i = 0; i < got.elements(); ++i) EXPECT_NEAR(got.value(i), expected.value(i), bound) << i;
    }
}

TEST(Transformer, UnderARuleEveryLayerComputesAsItSays) {
  const LayerRule rule = [](std::string_view kind, std::string_view) {
    LayerPrecision p;
    p.compute = kind == "layer_norm" ? kFloat32 : kFloat16;
    p.reason = "by hand";
    return p;
  };
  GptRun running(kFloat32, false, ieee_on_one_thread(), rule);
  for (const VariableSpec& v : running.variables) EXPECT_EQ(v.type.dtype, kFloat32) << v.name;
  int products = 0;
  for (const Node& node : running.graph.nodes()) {
    const bool product = node.op == "MatMul" || node.op == "BatchMatMulV2" || node.op == "Softmax";
    products += product;
    if (product || node.op == "Gelu") {
      EXPECT_EQ(node.outputs[0].dtype, kFloat16) << node.name;
    }
    if (node.op == "LayerNorm") {
      EXPECT_EQ(node.outputs[0].dtype, kFloat32) << node.name;
    }
  }
  EXPECT_EQ(products, 2 * 7 + 1) << "two blocks of four dense layers, two products and a softmax; the output";
  std::vector<std::string> kinds;
  for (const RuledLayer& layer : running.ruled) kinds.push_back(layer.kind + " " + layer.path);
  EXPECT_EQ(std::vector<std::string>(kinds.begin(), kinds.begin() + 5),
            (std::vector<std::string>{"embedding embedding", "position_embedding position_embedding",
                                      "layer_norm block1/layer_norm", "dense block1/attention/qkv",
                                      "dense block1/attention/projection"}));
  EXPECT_EQ(kinds.back(), "dense tied_output");
  GptRun reference(kFloat32, false, ieee_on_one_thread());
  const Tensor expected = reference.of(kTokens), got = running.of(kTokens);
  for (int64_t i = 0; i < got.elements(); ++i) EXPECT_NEAR(got.value(i), expected.value(i), 0.05) << i;
}

TEST(Transformer, TrainsInEveryPrecision) {
  // A sequence that repeats itself is learnt by heart.
  for (const char* precision : {"float32", "float16", "bfloat16", "mixed"}) {
    SCOPED_TRACE(precision);
    ModelInputs inputs{{kInt32, {4, 5}}, {kInt32, {4, 5}}, Precision::parse(precision)};
    GptOptions options = small_gpt();
    options.units = 16;
    TrainerOptions how;
    how.optimizer = OptimizerOptions::of(OptimizerKind::kAdam);
    how.optimizer.hyperparameters = kFloat32;
    how.optimizer.epsilon = 1e-6;
    how.executor.threads = 1;
    Trainer trainer(build_model(gpt(options), find_loss("sparse_categorical_crossentropy_from_logits"), inputs), how);
    std::vector<double> text;
    for (int i = 0; i < 24; ++i) text.push_back(i * i % 7);
    std::vector<double> x, y;
    for (size_t row = 0; row < 4; ++row)
      for (size_t t = 0; t < 5; ++t) {
        x.push_back(text[5 * row + t]);
        y.push_back(text[5 * row + t + 1]);
      }
    const Batch batch{tensor(kInt32, {4, 5}, x), tensor(kInt32, {4, 5}, y)};
    const double first = trainer.step(batch).loss;
    double last = 0;
    for (int i = 0; i < 60; ++i) last = trainer.step(batch).loss;
    EXPECT_NEAR(first, 1.95, 0.2) << "ln 7";
    EXPECT_LT(last, 0.5 * first);
  }
}

TEST(Transformer, EmbeddingTakesRowsAndSumsTheirGradients) {
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32}) {
    GraphBuilder b;
    VariableStore store(b);
    const Port x = b.placeholder("x", kInt32, {2, 1, 3});
    layers::EmbeddingOptions options;
    options.dtype = dtype;
    const Port rows = layers::embedding(store, x, 4, 2, options);
    EXPECT_EQ(b.type(rows), (TensorType{dtype, {2, 1, 3, 2}}));
    const Port sum = b.add("Sum", {rows}, {}, "sum");
    const auto g = gradients(b, sum, std::vector<Port>{b.graph().port("embedding/embeddings")});
    const Names fetches{b.graph().port_name(rows), b.graph().port_name(*g[0])};
    const auto executor = make_executor(b.build(), ieee_on_one_thread());
    executor->set_variable("embedding/embeddings", tensor(dtype, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
    const Tensor fed = tensor(kInt32, {2, 1, 3}, {3, 0, 0, 1, 0, 3});
    const RunResult got = run(*executor, {{"x", &fed}}, fetches);
    EXPECT_EQ(got.values[0].values(), (std::vector<double>{7, 8, 1, 2, 1, 2, 3, 4, 1, 2, 7, 8}));
    EXPECT_EQ(got.values[1].values(), (std::vector<double>{3, 3, 1, 1, 0, 0, 2, 2}));
  }
}

TEST(Transformer, AShorterTextTakesTheFirstPositions) {
  GraphBuilder b;
  VariableStore store(b);
  const Port x = b.placeholder("x", kFloat32, {2, 2, 2});
  layers::PositionEmbeddingOptions options;
  options.context = 3;
  const std::string y = b.graph().port_name(layers::position_embedding(store, x, options));
  const auto executor = make_executor(b.build(), ieee_on_one_thread());
  executor->set_variable("position_embedding/positions", tensor(kFloat32, {3, 2}, {1, 2, 3, 4, 5, 6}));
  const Tensor fed = tensor(kFloat32, {2, 2, 2}, {10, 20, 30, 40, 50, 60, 70, 80});
  EXPECT_EQ(run(*executor, {{"x", &fed}}, {y}).values[0].values(),
            (std::vector<double>{11, 22, 33, 44, 51, 62, 73, 84}));
}

TEST(Transformer, InitialValuesAreThoseOfGpt2) {
  GraphBuilder b;
  VariableStore store(b);
  (void)gpt(gpt_tiny_options(65))(store, b.placeholder("tokens", kInt32, {1, 64}));
  for (const VariableSpec& v : store.variables()) {
    const std::string name = v.name.substr(v.name.rfind('/') + 1);
    const Initializer expected = name == "gamma"                    ? Initializer::ones()
                                 : name == "beta" || name == "bias" ? Initializer::zeros()
                                 : v.name.find("projection/") != std::string::npos
                                     ? Initializer::normal(0.02 / std::sqrt(8.0))
                                     : Initializer::normal(0.02);
    EXPECT_EQ(v.initializer, expected) << v.name;
  }
}

TEST(Transformer, Refusals) {
  GraphBuilder b;
  VariableStore store(b);
  const auto text = [](const auto& act) { return refusal<GraphError>(act); };
  const Port tokens = b.placeholder("tokens", kInt32, {2, 4});
  const Port x = b.placeholder("x", kFloat32, {2, 4, 6}), rows = b.placeholder("rows", kFloat32, {2, 6});
  EXPECT_EQ(text([&] { layers::embedding(store, x, 7, 6); }),
            "embedding 'embedding': x is float32[2,4,6]; expected indices of int32 and a rank below 8");
  EXPECT_EQ(text([&] { layers::embedding(store, tokens, 0, 6); }),
            "embedding 'embedding': vocabulary is 0; expected at least 1");
  layers::PositionEmbeddingOptions positions;
  positions.context = 3;
  EXPECT_EQ(text([&] { layers::position_embedding(store, x, positions); }),
            "position_embedding 'position_embedding': context is 3; expected at least the 4 positions of x");
  EXPECT_EQ(text([&] { layers::self_attention(store, rows); }),
            "self_attention 'attention': x is float32[2,6]; expected [batch, time, units] of float16, bfloat16, "
            "float32 or float64");
  layers::TransformerBlockOptions block;
  block.heads = 4;
  EXPECT_EQ(text([&] { layers::transformer_block(store, x, block, "b"); }),
            "transformer_block 'b': heads is 4; expected a divisor of the 6 units of x");
  block.heads = 2;
  block.dropout = 1;
  EXPECT_EQ(text([&] { layers::transformer_block(store, x, block, "b"); }),
            "transformer_block 'b': dropout is 1; expected 0 or more, and less than 1");
  block.dropout = 0;
  block.activation = "gelo";
  EXPECT_EQ(text([&] { layers::transformer_block(store, x, block, "b"); }),
            "activation 'b/mlp/gelo': there is no such activation; expected one of relu, relu6, leaky_relu, elu, selu, "
            "gelu, softplus, sigmoid, tanh; nearest: gelu");
  (void)layers::embedding(store, tokens, 7, 5, {}, "table");
  EXPECT_EQ(
      text([&] { layers::tied_output(store, x, "table"); }),
      "tied_output 'tied_output': x is float32[2,4,6], and the variable 'table/embeddings' float32[7,5]; expected "
      "x's last axis to be as long as its rows");
  EXPECT_NE(text([&] { layers::tied_output(store, x, "tabel"); }).find("nearest: table/embeddings"), std::string::npos);
  const auto bad = [](const auto& change) {
    GptOptions options;
    change(options);
    return refusal<std::invalid_argument>([&] { gpt(options); });
  };
  const std::pair<const char*, int64_t GptOptions::*> whole[] = {{"vocabulary", &GptOptions::vocabulary},
                                                                 {"context", &GptOptions::context},
                                                                 {"layers", &GptOptions::layers},
                                                                 {"units", &GptOptions::units},
                                                                 {"heads", &GptOptions::heads}};
  for (const auto& [name, field] : whole)
    for (const int64_t value : {int64_t{0}, int64_t{-1}})
      EXPECT_EQ(bad([&](GptOptions& o) { o.*field = value; }),
                std::string("gpt: ") + name + " is " + std::to_string(value) + "; expected at least 1");
  EXPECT_EQ(bad([](GptOptions& o) { o.heads = 3; }), "gpt: heads is 3; expected a divisor of the 128 units");
  EXPECT_EQ(bad([](GptOptions& o) { o.layers = 1001; }), "gpt: layers is 1001; expected at most 1000");
  EXPECT_EQ(bad([](GptOptions& o) { o.dropout = -0.5; }), "gpt: dropout is -0.5; expected 0 or more, and less than 1");
  EXPECT_EQ(text([&] { gpt(small_gpt())(store, x); }),
            "gpt: the tokens are float32[2,4,6]; expected int32 [batch, time]");
  const Port longer = b.placeholder("longer", kInt32, {2, 6});
  EXPECT_EQ(text([&] { gpt(small_gpt())(store, longer); }),
            "position_embedding 'position_embedding': context is 5; expected at least the 6 positions of x");
}

}  // namespace
}  // namespace softamp::test
