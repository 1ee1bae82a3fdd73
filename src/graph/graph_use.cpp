#include "src/graph/graph_use.h"

#include <algorithm>
#include <set>

#include "softamp/graph/operation.h"
#include "softamp/kernel/products.h"

namespace softamp::graph_detail {
namespace {

std::set<std::string> names_of(const std::vector<Operation>& family) {
  std::set<std::string> names;
  for (const Operation& o : family) names.insert(o.name);
  return names;
}

bool is_random(const std::string& op) {
  static const std::set<std::string> kNames = names_of(operations_of::random());
  return kNames.contains(op);
}
/// ScaledMatMul says itself how it sums.
bool is_matrix_product(const std::string& op) {
  static const std::set<std::string> kNames = names_of(operations_of::products());
  return kNames.contains(op) && op != "ScaledMatMul";
}
bool is_convolution(const std::string& op) {
  static const std::set<std::string> kNames = names_of(operations_of::convolutions());
  return kNames.contains(op);
}

/// "stochastic" of weight_update, or within the text of a block format.
bool says_stochastic(const Node& node) {
  return std::ranges::any_of(node.attributes, [](const auto& attribute) {
    const auto* text = std::get_if<std::string>(&attribute.second);
    return text && text->find("stochastic") != std::string::npos;
  });
}

/// As engine/product_rules.cpp says, where half partials are ignored. `half`: unless the node says otherwise.
ProductUse product_use(const Node& node, const ExecutorOptions& o, bool half, bool convolution) {
  kernel::ProductRules rules;
  rules.a = format_of(node.outputs.at(0).dtype);
  rules.accumulator = o.accumulator;
  rules.operands = o.tensor_core_operands;
  rules.half_accumulator = true;
  const std::string& own = attribute<std::string>(node, "partialsType");
  const bool holds_half = is_tensor_core(o.accumulator) ? kernel::core_of(rules).exists() : rules.a == kFp16;
  return {(own.empty() ? half : own == "half") && holds_half,
          o.accumulator,
          o.amp_inner,
          o.amp_block,
          own.empty() && holds_half,
          convolution};
}

}  // namespace

GraphUse use_of(const Graph& graph, const ExecutorOptions& options) {
  const Semantics semantics = semantics_of(with_preset(options, graph.preset()));
  const bool half_matmuls = product_options(options.config.matmuls.poplar_options, "matmuls").half_partials;
  const bool half_convolutions =
      product_options(options.config.convolutions.poplar_options, "convolutions").half_partials;
  GraphUse use;
  for (const Node& node : graph.nodes()) {
    const bool random = is_random(node.op);
    if (says_stochastic(node)) use.rounds = true;
    if (random) use.draws = true;
    if (random || !node.inputs.empty())
      for (const TensorType& type : node.outputs)
        if (is_floating(type.dtype) && type.dtype != DType::kFloat64) {
          use.narrow |= size_of(type.dtype) <= 2;
          use.rounds |= semantics.draws(format_of(type.dtype));
        }
    if (node.outputs.empty() || node.outputs[0].dtype == DType::kFloat64) continue;
    if (is_matrix_product(node.op)) use.products.push_back(product_use(node, options, half_matmuls, false));
    if (is_convolution(node.op)) use.products.push_back(product_use(node, options, half_convolutions, true));
  }
  use.draws |= use.rounds;
  return use;
}

}  // namespace softamp::graph_detail
