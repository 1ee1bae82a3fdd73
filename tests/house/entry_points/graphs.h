// Entry points of graph/.
#pragma once

#include "softamp/graph/executor.h"
#include "softamp/graph/gradients.h"
#include "softamp/graph/graph_json.h"
#include "softamp/graph/graph_text.h"
#include "softamp/graph/operation.h"
#include "tests/house/entry_points/entry_point.h"

namespace softamp::house {

inline Graph awkward_graph() {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {64, 96}), w = b.placeholder("w", DType::kFloat16, {96, 128});
  const Port y = b.add("MatMul", {x, w}, {}, "y");
  const Port wide = b.add("Cast", {y}, {{"DstT", DType::kFloat32}}, "wide");
  b.add("Softmax", {wide}, {}, "soft");
  b.add("LeakyRelu", {y}, {{"alpha", 0.3}}, "leaky");
  b.add("Exp", {wide}, {}, "exp");
  b.add("Erf", {wide}, {}, "erf");
  b.add("Sqrt", {b.add("Square", {y})}, {}, "root");
  b.add("RealDiv", {wide, b.constant(Tensor::full(DType::kFloat32, {}, 0.7))}, {}, "quotient");
  b.add("Mean", {wide}, {{"axes", std::vector<int64_t>{1}}}, "mean");
  b.add("Tanh", {y}, {}, "tanh");
  b.add("RandomStandardNormal", {}, {{"shape", Shape{1000}}, {"dtype", DType::kFloat16}}, "normal");
  return b.build();
}

/// Every operation of it on three threads, with flags, statistics and sums in several steps.
inline std::string a_run(bool reference) {
  ExecutorOptions options;
  options.threads = 3;
  options.reference = reference;
  options.status = options.statistics = true;
  options.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
  const auto e = make_executor(awkward_graph(), options);
  std::vector<double> values;
  for (size_t i = 0; i < 64 * 96; ++i) values.push_back(awkward_numbers()[i % awkward_numbers().size()]);
  const Tensor x = Tensor::from_values(DType::kFloat16, {64, 96}, values);
  values.resize(96 * 128, 0.3);
  const Tensor w = Tensor::from_values(DType::kFloat16, {96, 128}, values);
  const std::vector<Feed> feeds = {{"x", &x}, {"w", &w}};
  const std::vector<std::string> fetches = {"y",    "soft",     "leaky", "exp",  "erf",
                                            "root", "quotient", "mean",  "tanh", "normal"};
  const RunResult r = e->run(feeds, fetches);
  std::string text = all(r.values, uint64_t{r.flags});
  for (const NamedStatistics& s : r.statistics) text += s.name + s.statistics.json();
  for (const OperationStatus& o : r.operations) text += all(o.name, o.status.first_index[0], o.status.first_index[4]);
  return text;
}

inline std::string json_of_graphs() {
  const std::string text = R"({"softamp_graph": 1, "nodes": [
    {"name": "c", "op": "Const", "attributes": {"value": {"dtype": "float64", "shape": [6],
        "values": [0.1, 5e-324, 2.2250738585072011e-308, 1.7976931348623157e308, "1e-320", 9007199254740993]}}},
    {"name": "h", "op": "Const", "attributes": {"value": {"dtype": "float16", "shape": [3],
        "values": [0.1, 2049, "0.30000001"]}}},
    {"name": "l", "op": "LeakyRelu", "inputs": ["h"], "attributes": {"alpha": 0.30000000000000004}}]})";
  const GraphFile file = read_graph_file(text);
  return all(graph_json(file.graph), softamp::text(file.graph), dot(file.graph),
             *attribute<std::shared_ptr<const Tensor>>(file.graph.node(0), "value"),
             *attribute<std::shared_ptr<const Tensor>>(file.graph.node(1), "value"));
}

inline std::string derivatives() {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {3, 7});
  const Port loss = b.add("Mean", {b.add("Gelu", {b.add("Selu", {x})})});
  const std::vector<Port> variables = {x};
  return graph_json(gradients(b.build(), loss, variables).graph);
}

inline std::string configs() {
  IpuConfig c;
  c.set("matmuls.poplar_options", PoplarOptions{{"availableMemoryProportion", "0.6"}});
  std::string text = all(IpuConfig::from_json(c.to_json()).to_json());
  for (const char* share : {"1", "1.0000000000000000001", "1e-320", "-0", "-1e-320"})
    text += error_of([&] { product_options({{"availableMemoryProportion", share}}, "matmuls"); });
  return text;
}

inline std::string compared_traces() {
  const ExecutorOptions options;
  const std::string a = scratch_file("a"), b = scratch_file("b");
  const Graph graph = awkward_graph();
  for (const std::string& file : {a, b}) {
    TraceWriter writer(file, options);
    const uint16_t code = file == a ? 1 : 2;
    writer.write(0, graph.node(0), 0, {DType::kFloat16, {1}}, &code);
    writer.close();
  }
  return all(settings_json(options), compare_traces(a, b).difference->what, test::read_text(a));
}

inline std::vector<EntryPoint> graphs() {
  return {
      {"graph/graph.h", "GraphBuilder", [] { return all(graph_json(awkward_graph())); }},
      {"graph/graph_json.h", "read_graph_file, graph_json", json_of_graphs},
      {"graph/graph_text.h", "text, dot", [] { return all(text(awkward_graph()), dot(awkward_graph())); }},
      {"graph/gradients.h", "gradients", derivatives},
      {"graph/operation.h", "text_of, table",
       [] { return all(text_of(Attribute(0.1)), text_of(Attribute(5e-324)), operation_table_markdown()); }},
      {"graph/ipu_config.h", "set, from_json, product_options", configs},
      {"graph/trace.h", "settings_json, compare_traces", compared_traces},
      {"graph/executor.h", "run", [] { return a_run(false); }},
      {"graph/executor.h", "run, by the bodies", [] { return a_run(true); }},
  };
}

}  // namespace softamp::house
