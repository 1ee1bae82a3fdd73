// Networks as files: those with names are what the same layers give when they are called, a file is refused with its
// place, and every option of every layer changes the graph.
#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <vector>

#include "softamp/graph/operation.h"
#include "softamp/train/gpt.h"
#include "softamp/train/layers.h"
#include "softamp/train/network_file.h"
#include "src/train/network/layer_types.h"
#include "tests/files.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

std::string network_of(const std::string& layers, const std::string& input = R"({"kind": "image", "shape": [8, 8, 4]})",
                       const std::string& output = R"({"kind": "classes", "count": 10})") {
  return R"({"softamp_network": 1, "input": )" + input + R"(, "output": )" + output + R"(, "layers": )" + layers + "}";
}

std::string refused(const std::string& text) {
  return refusal<std::invalid_argument>([&] { (void)parse_network(text, "net.json"); });
}

/// What the layers make of x, without the check of what they end with.
std::string graph_of(const Network& network, const TensorType& x, bool training = true) {
  GraphBuilder builder;
  VariableStore store(builder, {}, training);
  std::string text;
  network(store, builder.placeholder("x", x.dtype, x.shape));
  for (const VariableSpec& v : store.variables()) text += v.name + v.type.text() + v.initializer.text() + "\n";
  for (const Node& node : builder.graph().nodes()) {
    text += node.op + " " + node.name;
    for (const auto& [key, value] : node.attributes) text += " " + key + "=" + text_of(value);
    for (const Port p : node.inputs) text += " " + std::to_string(p.node) + ":" + std::to_string(p.port);
    text += "\n";
  }
  return text;
}
const TensorType kFileImages{DType::kFloat32, {2, 8, 8, 4}}, kFileTokens{DType::kInt32, {2, 6}};

/// Layers of a file, whatever they end with.
Network layers_of(const std::string& layers) {
  const NetworkInfo info = parse_network(network_of(layers), "net.json");
  return [build = info.build](VariableStore& store, Port x) {
    try {
      build(store, x);
    } catch (const GraphError& e) {
      if (!contains(e.what(), "the last layer gives")) throw;
    }
    return x;
  };
}

TEST(NetworkFile, ModelBIsTheLayersOfTheTutorial) {
  const Network expected = [](VariableStore& store, Port images) {
    layers::Conv2DOptions first;
    first.use_bias = false;
    layers::Conv2DOptions second = first;
    first.relu = true;
    Port x = layers::conv2d(store, images, 32, first);
    x = layers::conv2d(store, x, 32, second);
    return layers::dense_column(store, layers::flatten(store, x), 10);
  };
  const TensorType images{DType::kFloat16, {2, 28, 28, 1}};
  EXPECT_EQ(graph_of(fashion_cnn(), images), graph_of(expected, images));
}

TEST(NetworkFile, ModelAOfEveryDepthIsTheLayersOfTheTutorial) {
  const TensorType images{DType::kFloat16, {1, 32, 32, 3}};
  for (const int64_t depth : {8, 14, 26}) {
    const Network expected = [depth](VariableStore& store, Port pixels) {
      layers::Conv2DOptions first;
      first.relu = true;
      Port x = layers::conv2d(store, pixels, 16, first);
      int64_t number = 0;
      for (const int64_t filters : {16, 32, 64})
        for (int64_t i = 0; i < (depth - 2) / 6; ++i) {
          x = layers::batch_norm(store, x);
          const std::string name = "block" + std::to_string(++number);
          x = i == 0 && filters > 16 ? layers::downsample_block(store, x, filters, name)
                                     : layers::residual_block(store, x, filters, name);
        }
      return layers::dense(store, layers::global_average_pool(store, x), 10);
    };
    EXPECT_EQ(graph_of(resnet(depth), images), graph_of(expected, images)) << depth;
  }
}

TEST(NetworkFile, GptTinyIsTheFunction) {
  const TensorType tokens{DType::kInt32, {2, 64}};
  EXPECT_EQ(graph_of(find_network("gpt_tiny").build, tokens), graph_of(gpt_tiny(96), tokens));
}

TEST(NetworkFile, WhatIsPrintedIsReadAgain) {
  for (const std::string& name : network_names()) {
    const NetworkInfo info = find_network(name), again = parse_network(info.json, name);
    TensorType x{DType::kFloat32, {1, info.image[0], info.image[1], info.image[2]}};
    if (info.input.kind == NetworkInput::Kind::kTokens) x = {DType::kInt32, {1, info.input.shape[0]}};
    EXPECT_EQ(graph_of(info.build, x), graph_of(again.build, x)) << name;
  }
}

/// A value of an option that is neither its default nor another layer's.
std::string other_value(const network_detail::OptionType& o) {
  using network_detail::OptionKind;
  if (o.name == "dropout" || o.name == "rate") return "0.25";
  if (o.name == "heads") return "2";
  if (o.name == "groups") return "2";
  if (o.name == "embedding") return "\"embedding\"";
  if (o.name == "context") return "7";
  switch (o.kind) {
    case OptionKind::kWhole: return o.required ? "4" : std::to_string(std::get<int64_t>(o.usual) + 1);
    case OptionKind::kNumber: return "0.5";
    case OptionKind::kTruth: return std::get<bool>(o.usual) ? "false" : "true";
    case OptionKind::kWord:
      for (const std::string& word : o.words)
        if (o.required || word != std::get<std::string>(o.usual)) {
          if (!word.empty() && word != "float") return '"' + word + '"';
        }
      return "\"\"";
    case OptionKind::kInitializer: return "\"constant(0.75)\"";
    case OptionKind::kLayers: return R"([{"type": "batch_norm"}])";
    case OptionKind::kBranches: return R"([[{"type": "flatten"}], [{"type": "flatten"}]])";
  }
  return {};
}

TEST(NetworkFile, EveryOptionOfEveryLayerCounts) {
  size_t options = 0;
  for (const network_detail::LayerType& type : network_detail::layer_types()) {
    std::string before, required;
    const bool of_tokens = type.name == "embedding" || type.name == "position_embedding" ||
                           type.name == "self_attention" || type.name == "transformer_block" ||
                           type.name == "tied_output";
    if (of_tokens && type.name != "embedding") before = R"({"type": "embedding", "vocabulary": 8, "units": 4}, )";
    if (type.name == "dense_column") before = R"({"type": "flatten"}, )";
    for (const auto& o : type.options)
      if (o.required) required += ", \"" + o.name + "\": " + other_value(o);
    if (type.name == "activation") required = R"(, "function": "gelu")";
    const auto graph = [&](const std::string& extra, const std::string& needed) {
      return graph_of(layers_of("[" + before + R"({"type": ")" + type.name + '"' + needed + extra + "}]"),
                      of_tokens ? kFileTokens : kFileImages);
    };
    std::string plain;
    ASSERT_NO_THROW(plain = graph("", required)) << type.name;
    for (const auto& o : type.options) {
      if (o.required || o.name == "embedding" || o.name == "from") continue;
      std::string needed = required;
      if (o.name == "alpha") needed = R"(, "function": "leaky_relu")";
      const std::string usual = o.name == "alpha" ? graph("", needed) : plain;
      EXPECT_NE(graph(", \"" + o.name + "\": " + other_value(o), needed), usual) << type.name << ": " << o.name;
      ++options;
    }
    if (type.named) {
      EXPECT_NE(graph(R"(, "name": "mine")", required), plain) << type.name;
    } else {
      EXPECT_TRUE(contains(refused(network_of(R"([{"type": ")" + type.name + R"(", "name": "x")" + required + "}]")),
                           "'name' is no option of " + type.name))
          << type.name;
    }
  }
  EXPECT_GT(options, 50u);
}

/// Words of a file in capitals: types of layers, kinds, activations, initialisers.
TEST(NetworkFile, WordsAreReadWithoutRegardToCase) {
  std::string text = network_of(R"x([{"type": "conv2d", "filters": 2, "kernel": 3, "activation": "relu",
    "kernel_initializer": "glorot_uniform"}, {"type": "flatten"}, {"type": "dense", "units": 10,
    "kernel_initializer": "truncated_normal(0, 0.5)"}])x");
  const std::string wanted = graph_of(parse_network(text, "net.json").build, kFileImages);
  for (const std::string word :
       {"image", "classes", "conv2d", "relu", "glorot_uniform", "flatten", "dense", "truncated_normal"}) {
    std::string upper = word;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    text.replace(text.find('"' + word) + 1, word.size(), upper);
  }
  EXPECT_EQ(graph_of(parse_network(text, "net.json").build, kFileImages), wanted) << text;
}

TEST(NetworkFile, RepeatNumbersNames) {
  const std::string graph =
      graph_of(layers_of(R"([{"type": "flatten"}, {"type": "repeat", "times": 3, "from": 5, "layers": [
                    {"type": "sequential", "name": "part{i}", "layers": [{"type": "dense", "units": 4}]}]}])"),
               kFileImages);
  for (const char* name : {"part5/dense/kernel", "part6/dense/kernel", "part7/dense/kernel"})
    EXPECT_TRUE(contains(graph, name)) << graph;
  EXPECT_EQ(graph_of(layers_of(R"([{"type": "repeat", "times": 0, "layers": [{"type": "flatten"}]}])"), kFileImages),
            graph_of(layers_of("[]"), kFileImages));
}

TEST(NetworkFile, IsRefusedByNameAndPlace) {
  const struct {
    std::string text, message;
  } rows[] = {
      {"[]", "net.json: is []; expected an object of a network"},
      {"{}", "net.json: there is no 'softamp_network'; expected 1"},
      {R"({"softamp_network": 2})", "net.json: 'softamp_network' is 2; expected 1"},
      {network_of(R"j([{"type": "dense", "units": 2, "bias_initializer": "constant(3.5e38)"}])j"),
       "net.json: layers[0] (dense): 'bias_initializer' is \"constant(3.5e38)\"; expected an initialiser: zeros, ones, "
       "constant(C), glorot_uniform, normal(MEAN, DEVIATION), truncated_normal(MEAN, DEVIATION) or uniform(LOW, HIGH)"},
      {R"({"softamp_network": 1, "layer": []})",
       "net.json: 'layer' is no option of a network; expected softamp_network, name, about, input, output, layers; "
       "nearest: layers"},
      {network_of("[]", R"({"kind": "picture"})"),
       "net.json: input: 'kind' is \"picture\"; expected one of image, features, tokens"},
      {network_of("[]", R"({"kind": "image", "shape": [8, 8]})"),
       "net.json: input: 'shape' is [8,8]; expected [height, width, channels]"},
      {network_of("[]", R"({"kind": "features", "shape": [16777216, 16777216]})"),
       "net.json: input: 'shape' is [16777216,16777216]; expected a list of 1 to 7 extents, those of one sample, at "
       "most 2^28 elements together"},
      {network_of("[]", R"({"kind": "tokens", "length": 0, "vocabulary": 8})"),
       "net.json: input: 'length' is 0; expected a whole number in 1 .. 65536"},
      {network_of("[]", R"({"kind": "features", "shape": [4]})", R"({"kind": "next_token"})"),
       "net.json: output: 'kind' is next_token, but the input has no tokens; expected an input of the kind tokens"},
      {network_of("[]", R"({"kind": "features", "shape": [4]})", R"({"kind": "values", "shape": [1], "loss": "mse"})"),
       "net.json: output: 'loss' is \"mse\"; expected one of mean_squared_error, mean_absolute_error, huber, log_cosh"},
      {network_of("{}"), "net.json: layers: is {}; expected a list of layers"},
      {network_of("[4]"), "net.json: layers[0]: is 4; expected an object with a 'type'"},
      {network_of(R"([{"type": "flatten"}, {"type": "dense", "unit": 3}])"),
       "net.json: layers[1] (dense): 'unit' is no option of dense; expected type, name, units, use_bias, activation, "
       "kernel_initializer, bias_initializer, partials; nearest: units"},
      {network_of(R"([{"type": "dense"}])"),
       "net.json: layers[0] (dense): there is no 'units'; expected a whole number in 1 .. 16777216"},
      {network_of(R"([{"type": "dense", "units": 1e3}])"),
       "net.json: layers[0] (dense): 'units' is 1000.0; expected a whole number in 1 .. 16777216"},
      {network_of(R"([{"type": "dropout", "rate": 1}])"),
       "net.json: layers[0] (dropout): 'rate' is 1; expected a number from 0 up to, but not including, 1"},
      {network_of(R"([{"type": "dense", "units": 2, "name": ""}])"),
       "net.json: layers[0] (dense): 'name' is \"\"; expected a text that is not empty"},
      {network_of(R"j([{"type": "dense", "units": 2, "kernel_initializer": "normal(1)"}])j"),
       "net.json: layers[0] (dense): 'kernel_initializer' is \"normal(1)\"; expected an initialiser: zeros, ones, "
       "constant(C), glorot_uniform, normal(MEAN, DEVIATION), truncated_normal(MEAN, DEVIATION) or uniform(LOW, HIGH)"},
      {network_of(R"([{"type": "concat", "branches": []}])"),
       "net.json: layers[0] (concat): 'branches' is []; expected a list of at least one list of layers"},
      {network_of(
           R"([{"type": "repeat", "times": 1000, "layers": [{"type": "repeat", "times": 1000, "layers": []}]}])"),
       "net.json: layers[0].layers[0] (repeat): the network has more than 4000 layers"},
  };
  for (const auto& row : rows) EXPECT_EQ(refused(row.text), row.message);
  EXPECT_EQ(
      refused(network_of(R"([{"type": "repeat", "times": 5, "layers": [{"type": "transformer_block", "heads": 1}]}])",
                         R"({"kind": "tokens", "length": 16384, "vocabulary": 8})")),
      "net.json: layers: 5 layers with attention over 16384 places; expected at most 2^30 pairs of places together");
  EXPECT_TRUE(refused(network_of(R"([{"type": "dens", "units": 3}])")).ends_with("; nearest: dense"));
  EXPECT_TRUE(
      refused(network_of(R"([{"type": 5}])")).starts_with("net.json: layers[0]: 'type' is 5; expected one of "));
  EXPECT_TRUE(refused(network_of("[{}]")).starts_with("net.json: layers[0]: there is no 'type'; expected one of "));
}

TEST(NetworkFile, AShapeThatDoesNotFitIsNamedAtItsLayer) {
  const NetworkInfo info = parse_network(
      network_of(R"([{"type": "flatten"}, {"type": "residual", "layers": [{"type": "conv2d", "filters": 3}]}])"),
      "net.json");
  GraphBuilder builder;
  VariableStore store(builder);
  const std::string text =
      refusal<GraphError>([&] { info.build(store, builder.placeholder("x", kFileImages.dtype, kFileImages.shape)); });
  EXPECT_TRUE(text.starts_with("net.json: layers[1].layers[0] (conv2d): conv2d 'residual/conv2d': x is float32[2,256]"))
      << text;
  const NetworkInfo wrong = parse_network(network_of(R"([{"type": "flatten"}, {"type": "dense", "units": 9}])"), "n");
  EXPECT_EQ(refusal<GraphError>([&] {
              GraphBuilder b;
              VariableStore s(b);
              wrong.build(s, b.placeholder("x", kFileImages.dtype, kFileImages.shape));
            }),
            "n: the last layer gives float32[2,9]; expected floating numbers of shape [2,10]");
}

// What only the build of the model finds is told with the file and the layer, in words of files.
TEST(NetworkFile, WhatDoesNotBuildIsNamedAtItsLayer) {
  const auto built = [](const std::string& layers) {
    const NetworkInfo info = parse_network(network_of(layers), "net.json");
    GraphBuilder b;
    VariableStore s(b);
    return refusal<GraphError>([&] { info.build(s, b.placeholder("x", kFileImages.dtype, kFileImages.shape)); });
  };
  EXPECT_EQ(built(R"([{"type": "dense", "units": 16777216}, {"type": "dense", "units": 16777216}])"),
            "net.json: layers[1] (dense): shape [16777216,16777216] has more than 2^40 elements");
  EXPECT_EQ(
      built(R"([{"type": "dense", "units": 4, "name": "d"}, {"type": "dense", "units": 4, "name": "d"}])"),
      "net.json: layers[1] (dense): Variable d/kernel already exists; expected a 'name' that no layer before has; "
      "in a repeat, one with {i}");
  EXPECT_EQ(
      built(R"([{"type": "tied_output", "embedding": "words"}])"),
      "net.json: layers[0] (tied_output): tied_output 'tied_output': there is no variable 'words/embeddings' among "
      "0; expected the name of an embedding before it");
}

TEST(NetworkFile, CutOffAnywhereItIsRefused) {
  const std::string text = find_network("gpt_tiny").json;
  const size_t end = text.rfind('}');
  for (size_t length = 0; length <= end; ++length)
    EXPECT_TRUE(refused(text.substr(0, length)).starts_with("net.json: ")) << length;
  EXPECT_EQ(refused(text.substr(0, end + 1)), "");
}

TEST(NetworkFile, AFileThatCannotBeReadIsNamed) {
  const TemporaryFolder folder;
  for (const std::string& name : {folder.file("none.json"), folder.path().string() + "/"})
    EXPECT_TRUE(contains(refusal<std::invalid_argument>([&] { (void)find_network(name); }), folder.path().string()));
}

TEST(NetworkFile, ThePageHoldsTheTableOfLayers) {
  EXPECT_TRUE(contains(read_text(SOFTAMP_SOURCE_DIR "/docs/NETWORKS.md"), "\n\n" + network_layers_markdown() + "\n"))
      << "softamp operations --layers";
}

}  // namespace
}  // namespace softamp::test
