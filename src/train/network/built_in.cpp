// The networks that have names, as files (network_file.h).
#include <charconv>
#include <stdexcept>

#include "softamp/train/network_file.h"
#include "src/text/joined.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/word.h"

namespace softamp {
namespace {

struct BuiltIn {
  const char *name, *json;
};

constexpr BuiltIn kBuiltIn[] = {
    {"fashion_cnn", R"net({
  "softamp_network": 1,
  "name": "fashion_cnn",
  "about": "Model B of the tutorial on half precision: two convolutions and a product",
  "input": {"kind": "image", "shape": [28, 28, 1]},
  "output": {"kind": "classes", "count": 10},
  "layers": [
    {"type": "conv2d", "filters": 32, "kernel": 3, "use_bias": false, "activation": "relu"},
    {"type": "conv2d", "filters": 32, "kernel": 3, "use_bias": false},
    {"type": "flatten"},
    {"type": "dense_column", "units": 10}
  ]
}
)net"},
    {"lenet5", R"net({
  "softamp_network": 1,
  "name": "lenet5",
  "about": "LeNet-5 (LeCun, Bottou, Bengio, Haffner 1998) with ReLU and without biases of convolutions",
  "input": {"kind": "image", "shape": [32, 32, 1]},
  "output": {"kind": "classes", "count": 10},
  "layers": [
    {"type": "conv2d", "filters": 6, "kernel": 5, "padding": "VALID", "use_bias": false, "activation": "relu", "kernel_initializer": "normal(0, 0.01)"},
    {"type": "max_pool", "size": 2, "stride": 2},
    {"type": "conv2d", "filters": 16, "kernel": 5, "padding": "VALID", "use_bias": false, "activation": "relu", "kernel_initializer": "normal(0, 0.01)"},
    {"type": "max_pool", "size": 2, "stride": 2},
    {"type": "flatten"},
    {"type": "dense", "units": 120, "activation": "relu", "kernel_initializer": "normal(0, 0.02)"},
    {"type": "dense", "units": 84, "activation": "relu", "kernel_initializer": "normal(0, 0.02)"},
    {"type": "dense", "units": 10, "kernel_initializer": "normal(0, 0.02)"}
  ]
}
)net"},
    {"small_cnn", R"net({
  "softamp_network": 1,
  "name": "small_cnn",
  "about": "Learns the generated images in a minute",
  "input": {"kind": "image", "shape": [28, 28, 1]},
  "output": {"kind": "classes", "count": 10},
  "layers": [
    {"type": "conv2d", "filters": 8, "kernel": 3, "activation": "relu"},
    {"type": "max_pool", "size": 2, "stride": 2},
    {"type": "conv2d", "filters": 16, "kernel": 3, "activation": "relu"},
    {"type": "max_pool", "size": 2, "stride": 2},
    {"type": "flatten"},
    {"type": "dense", "units": 10}
  ]
}
)net"},
    {"small_resnet", R"net({
  "softamp_network": 1,
  "name": "small_resnet",
  "about": "Every kind of layer of a residual network, cheap",
  "input": {"kind": "image", "shape": [28, 28, 1]},
  "output": {"kind": "classes", "count": 10},
  "layers": [
    {"type": "conv2d", "filters": 8, "kernel": 3, "activation": "relu"},
    {"type": "max_pool", "size": 2, "stride": 2},
    {"type": "batch_norm"},
    {"type": "residual_block", "name": "block1", "filters": 8},
    {"type": "max_pool", "size": 2, "stride": 2},
    {"type": "batch_norm"},
    {"type": "downsample_block", "name": "block2", "filters": 16},
    {"type": "flatten"},
    {"type": "dense", "units": 10}
  ]
}
)net"},
    {"gpt_tiny", R"net({
  "softamp_network": 1,
  "name": "gpt_tiny",
  "about": "A language model of GPT-2's form (Radford et al. 2019) of 4 blocks; 96: the printable characters of ASCII, and the end of a line",
  "input": {"kind": "tokens", "length": 64, "vocabulary": 96, "encoding": "characters"},
  "output": {"kind": "next_token"},
  "layers": [
    {"type": "embedding", "vocabulary": 96, "units": 128},
    {"type": "position_embedding", "context": 64},
    {"type": "repeat", "times": 4, "layers": [
      {"type": "transformer_block", "name": "block{i}", "heads": 4, "projection_initializer": "normal(0, 0.0070710678118654745)"}
    ]},
    {"type": "layer_norm"},
    {"type": "tied_output"}
  ]
}
)net"},
};

const char* json_of(std::string_view name) {
  for (const BuiltIn& network : kBuiltIn)
    if (name == network.name) return network.json;
  return nullptr;
}

NetworkInfo built_in(std::string_view name) { return parse_network(json_of(name), name); }

/// Model A of the tutorial, of any depth: three stages of equal blocks, the second and third halve the image.
// implements: N272
std::string resnet_json(int64_t depth) {
  const int64_t blocks = (depth - 2) / 6;
  std::string text = "{\n  \"softamp_network\": 1,\n  \"name\": \"resnet" + std::to_string(depth) +
                     "\",\n  \"about\": \"Model A of the tutorial: He, Zhang, Ren, Sun, CVPR 2016, for CIFAR-10\",\n"
                     "  \"input\": {\"kind\": \"image\", \"shape\": [32, 32, 3]},\n"
                     "  \"output\": {\"kind\": \"classes\", \"count\": 10},\n  \"layers\": [\n"
                     "    {\"type\": \"conv2d\", \"filters\": 16, \"kernel\": 3, \"activation\": \"relu\"},\n";
  int64_t number = 1;
  const auto blocks_of = [&](int64_t times, int64_t filters) {
    if (times == 0) return;
    text += "    {\"type\": \"repeat\", \"times\": " + std::to_string(times) + ", \"from\": " + std::to_string(number) +
            ", \"layers\": [\n      {\"type\": \"batch_norm\"},\n"
            "      {\"type\": \"residual_block\", \"name\": \"block{i}\", \"filters\": " +
            std::to_string(filters) + "}\n    ]},\n";
    number += times;
  };
  for (const int64_t filters : {int64_t{16}, int64_t{32}, int64_t{64}}) {
    if (filters > 16)
      text += "    {\"type\": \"batch_norm\"},\n    {\"type\": \"downsample_block\", \"name\": \"block" +
              std::to_string(number++) + "\", \"filters\": " + std::to_string(filters) + "},\n";
    blocks_of(filters > 16 ? blocks - 1 : blocks, filters);
  }
  return text + "    {\"type\": \"global_average_pool\"},\n    {\"type\": \"dense\", \"units\": 10}\n  ]\n}\n";
}

}  // namespace

void check_resnet_depth(int64_t depth) {
  if (depth < 8 || depth % 6 != 2)
    throw std::invalid_argument("the depth of a ResNet is " + std::to_string(depth) +
                                "; it must be of the form 6N+2 (8, 14, 20, 26)");
  if (depth > kDeepestResnet)
    throw std::invalid_argument("the depth of a ResNet is " + std::to_string(depth) + "; expected at most " +
                                std::to_string(kDeepestResnet));
}

Network resnet(int64_t depth) {
  check_resnet_depth(depth);
  return find_network("resnet" + std::to_string(depth)).build;
}

Network fashion_cnn() { return built_in("fashion_cnn").build; }
Network lenet5() { return built_in("lenet5").build; }
Network small_cnn() { return built_in("small_cnn").build; }
Network small_resnet() { return built_in("small_resnet").build; }

std::vector<std::string> network_names() {
  return {"resnet8", "resnet14",  "resnet20",     "resnet26", "fashion_cnn",
          "lenet5",  "small_cnn", "small_resnet", "gpt_tiny"};
}

NetworkInfo find_network(std::string_view name) {
  if (names_network_file(name)) {
    NetworkInfo info = load_network(name);
    info.name = name;
    return info;
  }
  const std::vector<std::string> known = network_names();
  if (const std::string ours = our_word(known, name); json_of(ours)) return built_in(ours);
  constexpr std::string_view kResnet = "resnet";
  if (same_word(name.substr(0, kResnet.size()), kResnet)) {
    int64_t depth = 0;
    const auto [end, error] = std::from_chars(name.data() + kResnet.size(), name.data() + name.size(), depth);
    if (error == std::errc() && end == name.data() + name.size()) {
      check_resnet_depth(depth);
      const std::string asked = std::string(kResnet) + std::string(name.substr(kResnet.size()));  // resnet08
      NetworkInfo info = parse_network(resnet_json(depth), asked);
      info.name = asked;
      return info;
    }
  }
  throw std::invalid_argument("unknown network '" + files::excerpt(name) + "'; expected one of " + joined(known) +
                              ", resnet with another depth of the form 6N+2, or a JSON file" +
                              graph_detail::nearest_of(name, known));
}

}  // namespace softamp
