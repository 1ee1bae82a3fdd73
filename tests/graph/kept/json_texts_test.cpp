// Graphs and configurations as JSON with one change: what is read, or the whole message.
#include "softamp/graph/graph_json.h"
#include "softamp/graph/graph_text.h"
#include "softamp/graph/ipu_config.h"

#include <sstream>

#include "tests/json_changes.h"
#include "tests/kept_text.h"
#include "tests/outcomes.h"

namespace softamp::test::json_texts {
namespace {

const char* const kGraph = R"({"softamp_graph": 1, "preset": "ieee", "nodes": [
  {"name": "x", "op": "Placeholder", "attributes": {"dtype": "float16", "shape": [2, 3]}},
  {"name": "y/z", "op": "Pack", "inputs": ["w", "x:0"], "attributes": {"axis": -1, "N": 2, "layer": "a"}},
  {"name": "w", "op": "Pad", "inputs": ["c"], "attributes": {"paddings": [0, 1, 0, 1], "constant_value": 0.5}},
  {"name": "c", "op": "Const", "attributes": {"value": {"dtype": "float16", "shape": [1, 2], "values": [1.5, "0x3c01"]}}},
  {"name": "i", "op": "Const", "attributes": {"value": {"dtype": "uint8", "shape": [2], "values": [255, 0]}}},
  {"name": "l", "op": "Const", "attributes": {"value": {"dtype": "int64", "shape": [1], "values": [9007199254740993]}}},
  {"name": "b", "op": "Const", "attributes": {"value": {"dtype": "int32", "shape": [1], "base64": "AQAAAA=="}}},
  {"name": "n", "op": "Const", "attributes": {"value": {"dtype": "int32", "shape": [1], "npy": "n.npy"}}},
  {"name": "m", "op": "MatMul", "inputs": ["x", "w"], "attributes": {"transpose_b": true, "partialsType": "half"}}],
  "outputs": ["y/z", "m:0"]})";

TEST(ReadGraph, WithOneChange) {
  const TemporaryFolder folder;
  save_npy(Tensor::full(DType::kInt32, {1}, 5), folder.path() / "n.npy");
  JsonOptions options;
  options.source = "g.json";
  options.folder = folder.path();
  const OrderedJson document = OrderedJson::parse(kGraph);
  Outcomes outcomes;
  JsonChanges(document, usual_values()).each([&](const std::string& change, const std::string& changed) {
    outcomes.add(change, [&] {
      try {
        const GraphFile file = read_graph_file(changed, options);
        return text(file.graph) + graph_json(file.graph, file.outputs);
      } catch (const GraphError& error) {
        throw std::invalid_argument(folder.without(error.what()));
      }
    });
  });
  for (const std::string reads :
       {"0", "1", "2", "12", "01", "02", "012", "0 1", "1 02", "1 0 2"}) {  // a cycle to a word
    OrderedJson nodes = OrderedJson::array();
    for (const char* name : {"0", "1", "2"}) nodes.push_back({{"name", name}, {"op", "Identity"}, {"inputs", {"x"}}});
    nodes.push_back({{"name", "x"}, {"op", "Placeholder"}, {"attributes", {{"dtype", "bool"}, {"shape", {2}}}}});
    std::istringstream words(reads);
    for (std::string cycle; words >> cycle;)
      for (size_t i = 0; i < cycle.size(); ++i)
        nodes[static_cast<size_t>(cycle[i] - '0')]["inputs"] = {std::string(1, cycle[(i + 1) % cycle.size()])};
    outcomes.add("cycles " + reads, [&] {
      return text(read_graph_file(OrderedJson{{"softamp_graph", 1}, {"nodes", nodes}}.dump(), options).graph);
    });
  }
  expect_kept("graph/kept/read_graph.txt", outcomes.text(), outcomes.all());
}

TEST(ReadIpuConfig, WithOneChange) {
  Outcomes outcomes;
  JsonChanges(OrderedJson::parse(IpuConfig().to_json()), usual_values())
      .each([&](const std::string& change, const std::string& changed) {
        outcomes.add(change, [&] {
          const IpuConfig config = IpuConfig::from_json(changed);
          std::string said = config.to_json();
          for (const std::string& line : config.without_effect()) said += line;
          config.validate();
          return said;
        });
      });
  expect_kept("graph/kept/ipu_config.txt", IpuConfig().to_json() + "\n" + outcomes.text(), outcomes.all());
}

}  // namespace
}  // namespace softamp::test::json_texts
