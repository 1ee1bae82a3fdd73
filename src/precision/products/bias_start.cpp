#include "softamp/precision/bias_start.h"

#include <algorithm>
#include <vector>

#include "softamp/graph/operation.h"

namespace softamp {
namespace {

bool is_product(const std::string& op) { return op == "MatMul" || op == "BatchMatMulV2" || op == "ScaledMatMul"; }

/// The products that become one with the BiasAdd that reads them, by number; -1: it stays.
std::vector<int> products_of_biases(const Graph& graph, ListView<std::string> fetches) {
  std::vector<int> readers(static_cast<size_t>(graph.size()), 0), product(static_cast<size_t>(graph.size()), -1);
  for (int n = 0; n < graph.size(); ++n)
    for (const Port& p : graph.node(n).inputs) ++readers[static_cast<size_t>(p.node)];
  for (const std::string& fetch : fetches) ++readers[static_cast<size_t>(graph.port(fetch).node)];
  for (int n = 0; n < graph.size(); ++n) {
    if (graph.node(n).op != "BiasAdd") continue;
    const int from = graph.node(n).inputs[0].node;
    const Node& p = graph.node(from);
    if (!is_product(p.op) || p.inputs.size() != 2 || readers[static_cast<size_t>(from)] != 1) continue;
    if (graph.type(p.inputs[0]).dtype == DType::kFloat64) continue;
    if (p.op != "ScaledMatMul" && attribute<bool>(p, "batch_sum")) continue;
    product[static_cast<size_t>(n)] = from;
  }
  return product;
}

}  // namespace

Graph start_with_bias(const Graph& graph, ListView<std::string> fetches) {
  const std::vector<int> product = products_of_biases(graph, fetches);
  std::vector<bool> merged(product.size(), false);
  for (const int from : product)
    if (from >= 0) merged[static_cast<size_t>(from)] = true;
  GraphBuilder b;
  b.reserve(product.size());
  b.set_preset(graph.preset());
  std::vector<int> number(product.size(), -1);
  const auto moved = [&](Port p) { return Port{number[static_cast<size_t>(p.node)], p.port}; };
  for (int n = 0; n < graph.size(); ++n) {
    if (merged[static_cast<size_t>(n)]) continue;
    const Node& node = graph.node(n);
    std::vector<Port> inputs;
    const int from = product[static_cast<size_t>(n)];
    for (const Port& p : from < 0 ? node.inputs : graph.node(from).inputs) inputs.push_back(moved(p));
    if (from < 0) {
      number[static_cast<size_t>(n)] = b.add_copy(graph, n, std::move(inputs)).node;
      continue;
    }
    Port bias = moved(node.inputs[1]);
    if (b.type(bias).dtype != DType::kFloat32)
      bias = b.add("Cast", {bias}, {{"DstT", DType::kFloat32}}, node.name + "/bias_to_float32");
    inputs.push_back(bias);
    number[static_cast<size_t>(n)] =
        b.add_named(node.name, graph.node(from).op, std::move(inputs), graph.node(from).attributes).node;
  }
  Graph started = b.build();
  verify(started);
  return started;
}

}  // namespace softamp
