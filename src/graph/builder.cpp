#include <utility>

#include "src/graph/node_check.h"

namespace softamp {

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
  if (!graph_.index_.contains(name)) return name;
  int& last = last_suffix_[name];
  std::string candidate;
  do candidate = name + "_" + std::to_string(++last);
  while (graph_.index_.contains(candidate));
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
  if (graph_.index_.contains(name)) throw GraphError("the name '" + name + "' is taken; expected a new one");
  Node node{std::move(name), std::string(op), std::move(inputs), std::move(attributes), {}, 0};
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
  graph_detail::complete_node(node, types);
  const int number = graph_.size();
  graph_.index_.emplace(node.name, number);
  graph_.nodes_.push_back(std::move(node));
  return {number, 0};
}

Port GraphBuilder::placeholder(std::string_view name, DType dtype, const Shape& shape) {
  return add("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}}, name);
}

Port GraphBuilder::constant(Tensor value, std::string_view name) {
  return add("Const", {}, {{"value", std::make_shared<const Tensor>(std::move(value))}}, name);
}

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

}  // namespace softamp
