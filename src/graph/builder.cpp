#include <utility>

#include "softamp/graph/operation.h"
#include "src/graph/name_hash.h"
#include "src/graph/node_check.h"

namespace softamp {
namespace {

/// Begins to read the place of a name that will be looked up: in a large graph it is far from those before.
template <class Places>
void fetch_place(const Places& places, std::string_view name) {
#if defined(__GNUC__)
  if (!places.empty()) __builtin_prefetch(&places[graph_detail::hash_of(name) & (places.size() - 1)], 1);
#endif
}

[[noreturn]] void fail_taken(const std::string& name) {
  throw GraphError("the name '" + name + "' is taken; expected a new one");
}

}  // namespace

GraphBuilder::Scope::~Scope() { builder_.scope_.resize(length_); }

GraphBuilder::Scope GraphBuilder::scope(std::string_view name) {
  graph_detail::check_scope(name);
  const size_t length = scope_.size();
  scope_ += name;
  scope_ += '/';
  return Scope(*this, length);
}

/// The first of name, name_1, name_2, ... that is free. Does not try suffixes again that were tried before.
std::string GraphBuilder::unique_name(std::string name) {
  if (graph_.find(name) < 0) return name;
  int& last = last_suffix_[name];
  std::string candidate;
  do candidate = name + "_" + std::to_string(++last);
  while (graph_.find(candidate) >= 0);
  return candidate;
}

Port GraphBuilder::add(std::string_view op, std::vector<Port> inputs, Attributes attributes, std::string_view name) {
  return add_named(unique_name(scope_ + std::string(name.empty() ? op : name)), op, std::move(inputs),
                   std::move(attributes));
}

Port GraphBuilder::add_named(std::string name, std::string_view op, std::vector<Port> inputs, Attributes attributes) {
  if (!find_operation(op)) {
    try {
      operation(op);
    } catch (const GraphError& e) {
      throw GraphError("node '" + name + "': " + e.what());
    }
  }
  graph_detail::check_name(name);
  fetch_place(graph_.places_, name);
  Node node{std::move(name), std::string(op), std::move(inputs), std::move(attributes), {}, 0};
  try {
    graph_detail::complete_node(node, types_of(node));
  } catch (const std::exception&) {
    if (graph_.find(node.name) >= 0) fail_taken(node.name);  // comes first
    throw;
  }
  return append(std::move(node));
}

std::vector<TensorType> GraphBuilder::types_of(const Node& node) const {
  std::vector<TensorType> types;
  types.reserve(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Port p = node.inputs[i];
    if (p.node < 0 || p.node >= graph_.size() || p.port < 0 ||
        static_cast<size_t>(p.port) >= graph_.node(p.node).outputs.size())
      throw GraphError(node.op + " '" + node.name + "': input " + std::to_string(i) + " is output " +
                       std::to_string(p.port) + " of node number " + std::to_string(p.node) +
                       "; expected an output of a node that was added before");
    types.push_back(graph_.type(p));
  }
  return types;
}

Port GraphBuilder::append(Node node) {
  const int number = graph_.size();
  const size_t nodes = graph_.nodes_.size() + 1;
  if (2 * nodes > graph_.places_.size()) graph_.reserve(2 * nodes);
  const uint32_t hash = graph_detail::hash_of(node.name);
  Graph::Place& place = graph_.place_of(node.name, hash);
  if (place.node >= 0) fail_taken(node.name);
  graph_.nodes_.push_back(std::move(node));
  place = {hash, number};
  return {number, 0};
}

Port GraphBuilder::add_copy(const Graph& from, int number, std::vector<Port> inputs) {
  const Node& node = from.node(number);
  fetch_place(graph_.places_, node.name);
  bool same = inputs.size() == node.inputs.size();
  for (size_t i = 0; same && i < inputs.size(); ++i) {
    const Port p = inputs[i];
    same = p.node >= 0 && p.node < graph_.size() && p.port >= 0 &&
           static_cast<size_t>(p.port) < graph_.node(p.node).outputs.size() &&
           graph_.type(p) == from.type(node.inputs[i]);
  }
  if (!same) return add_named(node.name, node.op, std::move(inputs), node.attributes);
  return append({node.name, node.op, std::move(inputs), node.attributes, node.outputs, 0});
}

Port GraphBuilder::placeholder(std::string_view name, DType dtype, const Shape& shape) {
  return add("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}}, name);
}

Port GraphBuilder::constant(Tensor value, std::string_view name) {
  return add("Const", {}, {{"value", std::make_shared<const Tensor>(std::move(value))}}, name);
}

// implements: N78, N92
Graph GraphBuilder::build() {
  constexpr uint32_t kMostIds = (1u << 24) - 1;  // ids are 24 bits of a random word's address
  uint32_t next = 1;
  for (Node& node : graph_.nodes_) {
    const uint32_t sites = static_cast<uint32_t>(operation(node.op).sites);
    if (sites > kMostIds - next + 1)
      throw GraphError(node.op + " '" + node.name + "': the graph needs more than 2^24 - 1 operation ids");
    node.operation_id = next;
    next += sites;
  }
  for (int i = 0; i < graph_.size(); ++i) graph_detail::check_reference(graph_, i);
  scope_.clear();
  last_suffix_.clear();
  return std::exchange(graph_, Graph{});
}

Graph GraphBuilder::with_placeholders(const Graph& graph, ListView<std::string> tensors) {
  Graph fed = graph;
  for (const std::string& name : tensors) {
    Node& node = fed.nodes_[static_cast<size_t>(graph.port(name).node)];
    const Operation* op = find_operation(node.op);
    if (node.outputs.size() != 1 || (op && op->effect))
      throw GraphError(node.op + " '" + node.name + "' cannot be a placeholder; expected one output and no effect");
    const TensorType type = node.outputs[0];
    node.op = "Placeholder";
    node.inputs.clear();
    node.attributes = {{"dtype", type.dtype}, {"shape", type.shape}};
  }
  return fed;
}

// implements: N292
Graph GraphBuilder::alone(const Graph& graph, int number) {
  const Node& node = graph.node(number);
  if (node.attributes.contains("ref"))
    throw GraphError(node.op + " '" + node.name + "' refers to another node; expected one that stands alone");
  GraphBuilder b;
  b.set_preset(graph.preset());
  std::vector<Port> inputs = node.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].node < 0) continue;
    const TensorType& type = graph.type(inputs[i]);
    inputs[i] = b.add_named(node.name + "/input" + std::to_string(i), "Placeholder", {},
                            {{"dtype", type.dtype}, {"shape", type.shape}});
  }
  b.append({node.name, node.op, std::move(inputs), node.attributes, node.outputs, node.operation_id});
  return std::exchange(b.graph_, Graph{});
}

}  // namespace softamp
