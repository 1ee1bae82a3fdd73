// What tests of the import of GraphDefs share: running one, and running the graph that a person would build.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "softamp/graph/executor.h"
#include "softamp/precision/graph_def_import.h"

#include "tests/precision/graph_def_text.h"

namespace softamp::test {

using Values = std::map<std::string, Tensor>;

/// Numbers that look random, the same for the same seed: multiples of 2^-6 in [-4, 4).
inline Tensor drawn_tensor(DType dtype, const Shape& shape, uint32_t seed) {
  std::vector<double> values(static_cast<size_t>(shape.elements()));
  std::linear_congruential_engine<uint32_t, 1664525u, 1013904223u, 0> random(seed * 2654435761u + 12345);
  for (double& v : values) v = static_cast<double>(static_cast<int32_t>(random()) >> 23) / 64;
  return Tensor::from_values(dtype, shape, values);
}

inline std::string shape_value(const Shape& shape) {
  std::string text = "shape {";
  for (const int64_t extent : shape) text += " dim { size: " + std::to_string(extent) + " }";
  return text + " }";
}
inline std::string type_value(const std::string& type) { return "type: DT_" + type; }

inline std::string placeholder_text(const std::string& name, const Shape& shape, const std::string& type = "FLOAT") {
  return node_text(name, "Placeholder", {}, {{"dtype", type_value(type)}, {"shape", shape_value(shape)}});
}
inline std::string const_text(const std::string& name, const std::string& type, const Shape& shape,
                              const std::string& values) {
  std::string dims;
  for (const int64_t extent : shape) dims += " dim { size: " + std::to_string(extent) + " }";
  return node_text(name, "Const", {},
                   {{"dtype", type_value(type)},
                    {"value", "tensor { dtype: DT_" + type + " tensor_shape {" + dims + " } " + values + " }"}});
}
inline std::string ints_text(const std::string& name, const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t v : values) text += "int_val: " + std::to_string(v) + " ";
  return const_text(name, "INT32", Shape{static_cast<int64_t>(values.size())}, text);
}
inline std::string int_text(const std::string& name, int64_t value) {
  return const_text(name, "INT32", Shape{}, "int_val: " + std::to_string(value));
}

/// The values of fetches of a graph, after `steps` runs.
inline std::vector<Tensor> run_graph(const Graph& graph, const Values& feeds, const std::vector<std::string>& fetches,
                                     const Values& variables = {}, int steps = 1) {
  const auto executor = make_executor(graph);
  for (const auto& [name, value] : variables) executor->set_variable(name, value);
  std::vector<Feed> given;
  for (const auto& [name, value] : feeds)
    if (graph.find(name) >= 0) given.push_back({name, &value});
  RunResult result;
  for (int s = 0; s < steps; ++s) result = executor->run(given, fetches);
  return std::move(result.values);
}

/// The first fetch of a GraphDef whose placeholders are fed these values; variables begin with what it assigns.
inline Tensor run_graph_def(const GraphDefFile& file, const Values& feeds, const std::vector<std::string>& fetches = {},
                            int steps = 1) {
  GraphDefImportOptions options;
  options.fetches = fetches;
  for (const auto& [name, value] : feeds) options.shapes.emplace(name, value.shape());
  const ImportedGraph imported = import_graph(file, options);
  std::vector<std::string> ports;
  for (const std::string& fetch : imported.fetches)
    if (imported.ports.contains(fetch)) ports.push_back(imported.ports.at(fetch));
  Values placeholders, variables;
  for (const auto& [name, value] : feeds) {
    const int node = imported.graph.find(name);
    if (node < 0) continue;
    (imported.graph.node(node).op == "VariableV2" ? variables : placeholders).emplace(name, value.clone());
  }
  for (const auto& [node, fetch] : imported.initial_values)
    variables.emplace(node, std::move(run_graph(imported.initial, {}, {fetch})[0]));
  return std::move(run_graph(imported.graph, placeholders, ports, variables, steps).at(0));
}

inline std::string text_of_tensor(const Tensor& t) {
  std::string text = t.type().text();
  for (int64_t i = 0; i < std::min<int64_t>(t.elements(), 12); ++i) text += " " + std::to_string(t.value(i));
  return text;
}
inline void expect_bits(const Tensor& is, const Tensor& wanted, const std::string& what) {
  EXPECT_TRUE(is.same_bits(wanted)) << what << "\n  is     " << text_of_tensor(is) << "\n  wanted "
                                    << text_of_tensor(wanted);
}

inline std::string import_fault(const std::string& text, const GraphDefImportOptions& options = {}) {
  return fault_of([&] { import_graph(graph_of(text), options); });
}

}  // namespace softamp::test
