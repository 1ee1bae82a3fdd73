// Options of `softamp run` that change nothing.
#include "src/program/idle_options.h"
#include "src/program/run/run_options.h"

#include "softamp/graph/attributes.h"

#include <algorithm>

namespace softamp::program {
namespace {

/// What a graph does with the rules of products, and with random bits.
struct Facts {
  bool multiplies = false;     ///< it has products
  bool half_partials = false;  ///< of some of them
  bool stochastic = false;     ///< results of some operation are rounded so
  bool random = false;         ///< an operation's result is random
};

bool says(const Node& node, const char* attribute, const std::string& value) {
  const auto at = node.attributes.find(attribute);
  if (at == node.attributes.end()) return false;
  const auto* text = std::get_if<std::string>(&at->second);
  return text && text->find(value) != std::string::npos;
}

bool has_half_partials(const Node& node, bool of_products, bool of_convolutions) {
  if (says(node, "accumulation", "half_partials") || says(node, "partialsType", "half")) return true;
  const bool is_half = !node.outputs.empty() && node.outputs[0].dtype == DType::kFloat16;
  return is_half && !says(node, "partialsType", "float") &&
         (node.op.find("Conv") != std::string::npos ? of_convolutions : of_products);
}

Facts facts_of(const Graph& graph, const ExecutorOptions& options) {
  const auto half = [](const PoplarOptions& poplar, const char* category) {
    const ProductOptions o = product_options(poplar, category);
    return o.half_partials || o.half_between_blocks;
  };
  const bool of_products = half(options.config.matmuls.poplar_options, "matmuls");
  const bool of_convolutions = half(options.config.convolutions.poplar_options, "convolutions");
  const Semantics semantics = semantics_of(options);
  Facts facts;
  for (const Node& node : graph.nodes()) {
    const bool multiplies = node.attributes.contains("partialsType") || node.attributes.contains("accumulation");
    facts.multiplies = facts.multiplies || multiplies;
    facts.half_partials = facts.half_partials || (multiplies && has_half_partials(node, of_products, of_convolutions));
    facts.random = facts.random || node.op.starts_with("Random") || node.op == "TruncatedNormal";
    for (const char* attribute : {"weight_update", "format", "rounding"})
      facts.stochastic = facts.stochastic || says(node, attribute, "stochastic");
    for (const TensorType& type : node.outputs)
      facts.stochastic = facts.stochastic || (is_floating(type.dtype) && semantics.draws(format_of(type.dtype)));
  }
  return facts;
}

}  // namespace

void refuse_idle_in_run(const cli::App& app, const Graph& graph, const ExecutorOptions& options, bool draws_values) {
  const Facts facts = facts_of(graph, options);
  RandomOptions how{.stochastic = "esr in --behaviour, and tensors of 16 bits"};
  if (facts.random || draws_values) how.used_otherwise = {"seed", "random"};
  const detail::RandomUse use{.stochastic = facts.stochastic};
  refuse_idle_random(app, {&use, 1}, how);
  if (!facts.multiplies)
    for (const char* option : {"--partials", "--block", "--inner", "--accumulator", "--tensor-core-operands"})
      refuse_idle(app, option, "the graph has no products", "a graph with MatMul, Conv2D or the like");
  const bool exact = options.amp_inner == AmpInner::kExactDot4;
  if (!facts.half_partials && !exact)
    refuse_idle(app, "--block", "no product has half partials", "--partials half, or --inner exact_dot4");
  if (options.amp_inner == AmpInner::kRn32Each && !(facts.half_partials && options.amp_block == 1))
    refuse_idle(app, "--inner", "differs from fma_chain only in half partials of one product each",
                "--partials half --block 1, or another word");
}

void refuse_idle_in_print(const cli::App& app, bool graph_def, bool network) {
  std::vector<std::string_view> used = {"GRAPH", "--print", "--quiet"};
  if (network) used.insert(used.end(), {"--precision", "--feed"});
  if (graph_def) used.insert(used.end(), {"--feed", "--fetch"});
  refuse_all_but(app, used, "--print runs nothing", "no --print");
}

}  // namespace softamp::program
