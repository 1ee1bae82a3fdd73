// libFuzzer target: any bytes given to the reader of network files are refused with std::invalid_argument that names
// the source, or give a network that reads the same again, and whose layers a graph takes or refuses with GraphError.
#include <stdexcept>
#include <string>

#include "softamp/train/network_file.h"
#include "tests/fuzz/require.h"

using namespace softamp;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  NetworkInfo network;
  try {
    network = parse_network({reinterpret_cast<const char*>(data), size}, "input");
  } catch (const std::invalid_argument& e) {
    require(std::string(e.what()).rfind("input", 0) == 0, "an error names the source");
    return 0;
  }
  const bool tokens = network.input.kind == NetworkInput::Kind::kTokens;
  std::vector<int64_t> extents = {1};
  extents.insert(extents.end(), network.input.shape.begin(), network.input.shape.end());
  const auto built = [&](const NetworkInfo& info) -> std::string {
    GraphBuilder builder;
    VariableStore store(builder);
    try {
      info.build(store, builder.placeholder("x", tokens ? DType::kInt32 : DType::kFloat32,
                                            Shape(std::span<const int64_t>(extents))));
    } catch (const GraphError& e) {
      return e.what();
    }
    return std::to_string(builder.graph().size());
  };
  require(built(network) == built(parse_network(network.json, "input")), "what is kept of a file reads the same");
  return 0;
}
