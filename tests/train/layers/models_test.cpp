// Networks and their models: names, counts, shapes and dtypes of the tutorial's tables (TUTORIAL G07, G14, X7).
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "softamp/train/models.h"
#include "src/train/run/run_data.h"
#include "tests/graph/executor_check.h"

namespace softamp::test {
namespace {

using enum DType;

// ---- Names -------------------------------------------------------------------------------------------------------

// tests: N266
TEST(PrecisionNames, AllOfThem) {
  EXPECT_EQ(Precision::names(), (Names{"float32", "float16", "bfloat16", "mixed", "mixed_bfloat16", "float64"}));
  const auto expect = [](const char* text, DType compute, DType parameters) {
    const Precision p = Precision::parse(text);
    EXPECT_EQ(p.compute, compute) << text;
    EXPECT_EQ(p.parameters, parameters) << text;
    EXPECT_EQ(Precision::parse(p.name), p) << text;
  };
  expect("float32", kFloat32, kFloat32);
  expect("float16", kFloat16, kFloat16);
  expect("bfloat16", kBFloat16, kBFloat16);
  expect("mixed", kFloat16, kFloat32);
  expect("mixed_float16", kFloat16, kFloat32);
  expect("mixed_bfloat16", kBFloat16, kFloat32);
  expect("float64", kFloat64, kFloat64);
  EXPECT_EQ(Precision{}, Precision::parse("float32"));
  EXPECT_EQ(refusal<std::invalid_argument>([] { Precision::parse("fp8\n"); }),
            "unknown precision 'fp8\\n'; expected one of float32, float16, bfloat16, mixed, mixed_bfloat16, "
            "float64, mixed_float16");
}

TEST(NetworkNames, AllOfThem) {
  for (const std::string& name : network_names()) {
    const NetworkInfo info = find_network(name);
    EXPECT_EQ(info.name, name);
    if (info.input.kind != NetworkInput::Kind::kImage) {
      EXPECT_EQ(name, "gpt_tiny");
      continue;
    }
    EXPECT_EQ(info.classes, 10);
    ModelOptions options;
    options.batch_size = 1;
    options.image = info.image;
    EXPECT_NO_THROW(build_model(info.build, options)) << name;
  }
  const auto text = [](const std::string& name) {
    return refusal<std::invalid_argument>([&] { (void)find_network(name); });
  };
  EXPECT_EQ(find_network("resnet32").name, "resnet32");
  EXPECT_EQ(
      text("lenet"),
      "unknown network 'lenet'; expected one of resnet8, resnet14, resnet20, resnet26, fashion_cnn, lenet5, "
      "small_cnn, small_resnet, gpt_tiny, resnet with another depth of the form 6N+2, or a JSON file; nearest: lenet5");
  for (const char* name : {"resnet", "resnet8x", "resnet 8", "resnet99999999999999999999", ""})
    EXPECT_TRUE(text(name).starts_with("unknown network")) << name << ": " << text(name);
  for (const char* name : {"resnet9", "resnet2", "resnet-4", "resnet0"})
    EXPECT_TRUE(text(name).ends_with("it must be of the form 6N+2 (8, 14, 20, 26)")) << text(name);
  EXPECT_EQ(text("resnet6000002"), "the depth of a ResNet is 6000002; expected at most 1202");
}

TEST(ResnetDepth, OfTheForm6NPlus2) {
  for (int64_t depth = -10; depth < 60; ++depth) {
    const std::string text = refusal<std::invalid_argument>([&] { check_resnet_depth(depth); });
    const bool good = depth >= 8 && (depth - 2) % 6 == 0;
    EXPECT_EQ(text, good ? ""
                         : "the depth of a ResNet is " + std::to_string(depth) +
                               "; it must be of the form 6N+2 (8, 14, 20, 26)");
  }
}

// ---- Models: counts, dtypes, shapes ---------------------------------------------------------------------------------

Model model_of(const std::string& network, const char* precision, int64_t batch = 1, bool loss_in_float32 = true) {
  const NetworkInfo info = find_network(network);
  ModelOptions options;
  options.batch_size = batch;
  options.image = info.image;
  options.precision = Precision::parse(precision);
  options.loss_in_float32 = loss_in_float32;
  return build_model(info.build, options);
}

// tests: G07, G14
TEST(Models, CountsOfTheTable) {
  struct Counts {
    int64_t depth, parameters, trainable, bytes16, bytes32;
  };
  for (const Counts& row : std::vector<Counts>{{8, 85642, 85514, 171284, 342568},
                                               {14, 183082, 182730, 366164, 732328},
                                               {20, 280522, 279946, 561044, 1122088},
                                               {26, 377962, 377162, 755924, 1511848}}) {
    const std::string name = "resnet" + std::to_string(row.depth);
    const Model half = model_of(name, "float16"), single = model_of(name, "float32");
    EXPECT_EQ(half.parameters(), row.parameters);
    EXPECT_EQ(half.trainable_parameters(), row.trainable);
    EXPECT_EQ(half.parameter_bytes(), row.bytes16);
    EXPECT_EQ(single.parameters(), row.parameters);
    EXPECT_EQ(single.parameter_bytes(), row.bytes32);
    for (const VariableSpec& v : half.variables) EXPECT_EQ(v.type.dtype, kFloat16) << v.name;  // TUTORIAL G07
    int convolutions = 0, products = 0;
    for (const Node& node : half.graph.nodes()) convolutions += node.op == "Conv2D", products += node.op == "MatMul";
    EXPECT_EQ(convolutions + products, row.depth + 2) << "the depth counts all but the two paths past";
  }
  // TUTORIAL G07: nothing but the images tells the network.
  GraphBuilder builder;
  VariableStore store(builder);
  const Port logits = resnet(8)(store, builder.placeholder("images", kFloat16, {2, 32, 32, 3}));
  EXPECT_EQ(builder.type(logits), (TensorType{kFloat16, {2, 10}}));
  int64_t bytes = 0;
  for (const VariableSpec& v : store.variables()) bytes += static_cast<int64_t>(v.type.bytes());
  EXPECT_EQ(bytes, 171284);
  EXPECT_EQ(model_of("fashion_cnn", "float32").parameters(), 288 + 9216 + 250880 + 10);
  EXPECT_EQ(model_of("fashion_cnn", "float32").parameters(), 260394);
  EXPECT_EQ(model_of("lenet5", "float32").parameters(), 61684);
  EXPECT_EQ(model_of("small_cnn", "float32").parameters(), 9 * 8 + 8 + 9 * 8 * 16 + 16 + 784 * 10 + 10);
}

struct Entry {
  std::string name;
  Shape shape;
  Initializer initializer;
};

void expect_variables(const Model& model, const std::vector<Entry>& expected) {
  ASSERT_EQ(model.variables.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(model.variables[i].name, expected[i].name);
    EXPECT_EQ(model.variables[i].type.shape, expected[i].shape) << expected[i].name;
    EXPECT_EQ(model.variables[i].initializer, expected[i].initializer) << expected[i].name;
    const int node = model.graph.find(expected[i].name);
    ASSERT_NE(node, -1);
    EXPECT_EQ(model.graph.node(node).op, "VariableV2");
  }
}

/// Types of the outputs 0 of all nodes of these operations, in the order of the graph.
std::vector<std::string> shapes_of(const Model& model, const std::set<std::string>& operations) {
  std::vector<std::string> shapes;
  for (const Node& node : model.graph.nodes())
    if (operations.contains(node.op)) shapes.push_back(node.outputs[0].shape.text());
  return shapes;
}

// tests: N272
TEST(Models, VariablesAndShapes) {
  const auto glorot = Initializer::glorot_uniform(), zeros = Initializer::zeros(), ones = Initializer::ones();
  for (const int64_t n : {1, 2}) {  // depths 8 and 14, in the order of the table
    std::vector<Entry> resnet;
    int norms = 0, blocks = 0;
    const auto conv = [&](const std::string& scope, int64_t kernel, int64_t in, int64_t out) {
      resnet.push_back({scope + "/kernel", {kernel, kernel, in, out}, glorot});
      resnet.push_back({scope + "/bias", {out}, zeros});
    };
    const auto norm_and_block = [&](int64_t in, int64_t out) {
      const std::string norm = "batch_normalization" + (norms ? "_" + std::to_string(norms) : std::string());
      const std::string block = "block" + std::to_string(++blocks);
      ++norms;
      resnet.push_back({norm + "/gamma", {in}, ones});
      resnet.push_back({norm + "/beta", {in}, zeros});
      resnet.push_back({norm + "/moving_mean", {in}, zeros});
      resnet.push_back({norm + "/moving_variance", {in}, ones});
      conv(block + "/conv2d", 3, in, out);
      conv(block + "/conv2d_1", 3, out, out);
      if (in != out) conv(block + "/conv2d_2", 2, in, out);
    };
    conv("conv2d", 3, 3, 16);
    for (int64_t i = 0; i < n; ++i) norm_and_block(16, 16);
    norm_and_block(16, 32);
    for (int64_t i = 1; i < n; ++i) norm_and_block(32, 32);
    norm_and_block(32, 64);
    for (int64_t i = 1; i < n; ++i) norm_and_block(64, 64);
    resnet.push_back({"dense/kernel", {64, 10}, glorot});
    resnet.push_back({"dense/bias", {10}, zeros});
    expect_variables(model_of("resnet" + std::to_string(6 * n + 2), "float32"), resnet);
  }
  EXPECT_EQ(shapes_of(model_of("resnet8", "float16", 5), {"Conv2D", "FusedBatchNormV3", "Mean", "MatMul"}),
            (Names{"[5,32,32,16]", "[5,32,32,16]", "[5,32,32,16]", "[5,32,32,16]", "[5,32,32,16]", "[5,16,16,32]",
                   "[5,16,16,32]", "[5,16,16,32]", "[5,16,16,32]", "[5,8,8,64]", "[5,8,8,64]", "[5,8,8,64]", "[5,64]",
                   "[5,10]", "[]"}));
  expect_variables(model_of("fashion_cnn", "mixed"), {{"conv2d/kernel", {3, 3, 1, 32}, glorot},
                                                      {"conv2d_1/kernel", {3, 3, 32, 32}, glorot},
                                                      {"dense/weights", {10, 25088}, glorot},
                                                      {"dense/biases", {10, 1}, glorot}});
  const auto n1 = Initializer::normal(0.01), n2 = Initializer::normal(0.02);
  expect_variables(model_of("lenet5", "float32"), {{"conv2d/kernel", {5, 5, 1, 6}, n1},
                                                   {"conv2d_1/kernel", {5, 5, 6, 16}, n1},
                                                   {"dense/kernel", {400, 120}, n2},
                                                   {"dense/bias", {120}, zeros},
                                                   {"dense_1/kernel", {120, 84}, n2},
                                                   {"dense_1/bias", {84}, zeros},
                                                   {"dense_2/kernel", {84, 10}, n2},
                                                   {"dense_2/bias", {10}, zeros}});
  EXPECT_EQ(shapes_of(model_of("lenet5", "float32", 2), {"Conv2D", "Relu", "MaxPool", "Reshape", "MatMul"}),
            (Names{"[2,28,28,6]", "[2,28,28,6]", "[2,14,14,6]", "[2,10,10,16]", "[2,10,10,16]", "[2,5,5,16]", "[2,400]",
                   "[2,120]", "[2,120]", "[2,84]", "[2,84]", "[2,10]"}));
}

// tests: G03, G07, N273, X7, X13
TEST(Models, DtypesOfEveryPrecision) {
  // TUTORIAL G03, G07, X7 and X13: what is computed, kept and fed in which dtype.
  for (const char* network : {"resnet8", "fashion_cnn", "lenet5", "small_cnn"})
    for (const std::string& precision : Precision::names()) {
      const Precision p = Precision::parse(precision);
      const Model model = model_of(network, precision.c_str(), 4);
      EXPECT_EQ(model.precision, p);
      const auto type = [&](const std::string& name) { return model.graph.type(model.graph.port(name)); };
      EXPECT_EQ(type("images").dtype, p.compute);
      EXPECT_EQ(type("labels"), (TensorType{kInt32, {4}}));
      EXPECT_EQ(type("logits"), (TensorType{p.compute, {4, 10}}));
      EXPECT_EQ(type("loss"), (TensorType{wide_dtype(p.compute), {}}));
      int casts = 0;
      for (const Node& node : model.graph.nodes()) {
        const bool norm = node.name.find("batch_normalization") != std::string::npos;
        if (node.op == "Cast" && !node.name.starts_with("loss_fn/")) {
          EXPECT_TRUE(node.name.ends_with("_cast")) << node.name;
          EXPECT_EQ(model.graph.node(node.inputs[0].node).op, "VariableV2");
          ++casts;
        }
        if (node.op == "VariableV2" || node.name == "labels" || node.name == "loss" ||
            node.name.starts_with("loss_fn/"))
          continue;
        if (!norm) {
          EXPECT_EQ(node.outputs[0].dtype, p.compute) << precision << " " << node.name;
        }
      }
      int trainable = 0;
      for (const VariableSpec& v : model.variables) {
        const bool norm = v.name.find("batch_normalization") != std::string::npos;
        // Norms have no bfloat16 variables; the getter leaves alone what is not trained.
        const DType expected = norm && p.compute == kBFloat16 ? kFloat32 : v.trainable ? p.parameters : p.compute;
        EXPECT_EQ(v.type.dtype, expected) << precision << " " << v.name;
        trainable += v.trainable && !(norm && p.compute == kBFloat16);
      }
      EXPECT_EQ(casts, p.parameters == p.compute ? 0 : trainable) << network << " " << precision;
    }
  const Model script = model_of("fashion_cnn", "mixed", 4, false);  // TUTORIAL X7: the shipped scripts' way
  EXPECT_EQ(script.graph.type(script.graph.port("loss")).dtype, kFloat16);
  for (const Node& node : script.graph.nodes()) EXPECT_FALSE(node.op == "Cast" && node.name.starts_with("loss_fn/"));
}

/// A precision changes dtypes and adds casts, nothing else.
TEST(Models, OneStructureForAllPrecisions) {
  const auto structure = [](const Model& model) {
    std::vector<std::string> lines;
    const auto source = [&](Port p) {  // past casts
      while (model.graph.node(p.node).op == "Cast") p = model.graph.node(p.node).inputs[0];
      return model.graph.port_name(p);
    };
    for (const Node& node : model.graph.nodes()) {
      if (node.op == "Cast") continue;
      std::string line = node.op + " " + node.name + " " + node.outputs[0].shape.text();
      for (const Port p : node.inputs) line += " " + source(p);
      for (const auto& [name, value] : node.attributes)
        if (!std::holds_alternative<DType>(value)) line += " " + name + "=" + text_of(value);
      lines.push_back(line);
    }
    return lines;
  };
  for (const char* network : {"resnet14", "fashion_cnn", "lenet5", "small_cnn"}) {
    const std::vector<std::string> expected = structure(model_of(network, "float32", 2));
    for (const std::string& precision : Precision::names())
      EXPECT_EQ(structure(model_of(network, precision.c_str(), 2)), expected) << network << " " << precision;
  }
}

/// First values are addressed by a hash of 24 bits of the path: no two variables of the networks share it.
TEST(Models, NoTwoVariablesShareTheirRandomNumbers) {
  std::map<std::vector<double>, std::string> seen;
  std::set<std::string> names;
  for (const std::string& network : network_names()) {
    TrainSettings settings;
    settings.network = network;
    for (const VariableSpec& v : train_detail::model_of(settings, find_network(network)).variables)
      names.insert(v.name);
  }
  EXPECT_GT(names.size(), 100u);
  for (const std::string& name : names) {
    const Tensor numbers = initial_value(Initializer::uniform(0, 1), {kFloat32, {4}}, name, 0);
    const auto [other, fresh] = seen.emplace(numbers.values(), name);
    EXPECT_TRUE(fresh) << name << " and " << other->second;
  }
}

TEST(Models, Refusals) {
  const auto text = [](const Network& network, const ModelOptions& options) {
    return refusal<std::invalid_argument>([&] { (void)build_model(network, options); });
  };
  ModelOptions options;
  options.batch_size = 0;
  EXPECT_EQ(text(small_cnn(), options), "build_model: batch_size is 0; expected at least 1");
  options.batch_size = 2;
  options.image = {28, -1, 1};
  EXPECT_EQ(text(small_cnn(), options), "build_model: an extent of the image is -1; expected at least 1");
  options.image = {28, 28, 1};
  options.classes = 7;
  EXPECT_EQ(text(small_cnn(), options), "build_model: the network gives float32[2,10]; expected logits float32[2,7]");
  options.classes = 10;
  options.precision = {"odd", kFloat16, kBFloat16};
  EXPECT_EQ(
      text(small_cnn(), options),
      "build_model: the precision keeps parameters in bfloat16; expected float32 or float16, in which it computes");
  options.precision = {"odd", kInt32, kInt32};
  EXPECT_EQ(text(small_cnn(), options), "build_model: the precision computes in int32; expected a floating dtype");
  options.precision = {};
  EXPECT_EQ(text([](VariableStore&, Port) { return Port{}; }, options),
            "build_model: the network gives no output of a node");
  EXPECT_NE(text(
                [](VariableStore& store, Port images) {
                  const Port y = small_cnn()(store, images);
                  return store.builder().add("Identity", {y}, {}, "logits");
                },
                options)
                .find("'logits' is taken"),
            std::string::npos);
  options.image = {4, 4, 1};  // LeNet5 needs 32
  EXPECT_NE(text(lenet5(), options), "");
}

}  // namespace
}  // namespace softamp::test
