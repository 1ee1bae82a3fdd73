// A plan of casts applied to a Graph.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "softamp/graph/operation.h"
#include "softamp/precision/casts.h"
#include "softamp/precision/precision_report.h"

namespace softamp {
namespace {

/// Items of each node, all in one array: those of node n are begin[n] .. begin[n + 1].
struct ByNode {
  std::vector<int> begin, items;

  explicit ByNode(int nodes) : begin(static_cast<size_t>(nodes) + 1) {}
  /// First every item is counted, then, after counted(), put; items of one node keep their order.
  void count(int node) { ++begin[static_cast<size_t>(node) + 1]; }
  void counted() {
    for (size_t n = 1; n < begin.size(); ++n) begin[n] += begin[n - 1];
    items.assign(static_cast<size_t>(begin.back()), -1);
    next_.assign(begin.begin(), begin.end() - 1);
  }
  void put(int node, int item) { items[static_cast<size_t>(next_[static_cast<size_t>(node)]++)] = item; }
  std::span<const int> of(int node) const {
    const auto n = static_cast<size_t>(node);
    return {items.data() + begin[n], static_cast<size_t>(begin[n + 1] - begin[n])};
  }

 private:
  std::vector<int> next_;
};

class Application {
 public:
  Application(const Graph& graph, const CastPlan& plan)
      : graph_(graph), plan_(plan), retyped_(graph.size()), casts_(graph.size()) {
    const auto nodes = static_cast<size_t>(graph.size());
    number_.assign(nodes, -1);
    input_begin_.reserve(nodes);
    for (const Node& node : graph.nodes()) {
      input_begin_.push_back(inputs_.size());
      for (const Port& p : node.inputs) inputs_.push_back({p, -1});
    }
    for (const auto& [node, unit] : plan.retyped) retyped_.count(checked(node));
    for (const PlannedCast& cast : plan.casts) casts_.count(checked(cast.from.node));
    retyped_.counted();
    casts_.counted();
    for (const auto& [node, unit] : plan.retyped) retyped_.put(node, unit);
    for (int c = 0; c < static_cast<int>(plan.casts.size()); ++c) {
      const PlannedCast& cast = plan.casts[static_cast<size_t>(c)];
      casts_.put(cast.from.node, c);
      for (const auto& [reader, input] : cast.readers) input_of(reader, input).cast = c;
    }
    for (const CastPlan::Redirect& r : plan.redirected)
      input_of(r.node, r.input).port = {checked(r.to.node), r.to.port};
    cast_nodes_.assign(plan.casts.size(), -1);
    builder_.reserve(nodes + plan.casts.size());
    builder_.set_preset(graph.preset());
  }

  Graph run() {
    for (int n = 0; n < graph_.size(); ++n) add(n);
    return builder_.build();
  }

 private:
  struct Input {
    Port port;      // of the old graph
    int cast = -1;  // number of the planned cast that it reads instead
  };

  int& number(int n) { return number_[static_cast<size_t>(n)]; }
  int checked(int n) const {
    if (n < 0 || n >= graph_.size())
      throw GraphError("apply: the plan names node number " + std::to_string(n) + "; the graph has " +
                       std::to_string(graph_.size()) + ": expected the graph that the plan was made for");
    return n;
  }
  Input& input_of(int n, int input) {
    const size_t inputs = graph_.node(checked(n)).inputs.size();
    if (input < 0 || static_cast<size_t>(input) >= inputs)
      throw GraphError("apply: the plan names input " + std::to_string(input) + " of '" + graph_.node(n).name +
                       "', which has " + std::to_string(inputs));
    return inputs_[input_begin_[static_cast<size_t>(n)] + static_cast<size_t>(input)];
  }

  void add(int n) {
    if (number(n) >= 0) return;
    const Node& node = graph_.node(n);
    std::vector<Port> inputs;
    inputs.reserve(node.inputs.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Input input = inputs_[input_begin_[static_cast<size_t>(n)] + i];
      // An existing Cast may come later in the graph; its input is what this node read before.
      if (number(input.port.node) < 0) add(input.port.node);
      inputs.push_back(input.cast >= 0 ? Port{cast_nodes_[static_cast<size_t>(input.cast)], 0}
                                       : Port{number(input.port.node), input.port.port});
    }
    if (const auto retyped = retyped_.of(n); retyped.empty()) {
      number(n) = builder_.add_copy(graph_, n, std::move(inputs)).node;
    } else {
      number(n) = builder_.add_named(node.name, node.op, std::move(inputs), retyped_attributes(node, retyped)).node;
    }
    for (const int c : casts_.of(n)) add_cast(node, c);
  }

  void add_cast(const Node& producer, int c) {
    const PlannedCast& cast = plan_.casts[static_cast<size_t>(c)];
    Attributes attributes{{"DstT", cast.to}};
    for (const char* name : {"device", "layer"})
      if (const auto it = producer.attributes.find(name); it != producer.attributes.end()) attributes.insert(*it);
    const Port from{number(cast.from.node), cast.from.port};
    cast_nodes_[static_cast<size_t>(c)] = builder_.add_named(cast.name, "Cast", {from}, std::move(attributes)).node;
  }

  /// Nodes that share their attributes before share them after.
  Attributes retyped_attributes(const Node& node, std::span<const int> units) {
    const auto place = reinterpret_cast<uintptr_t>(node.attributes.begin()) / sizeof(Attributes::value_type);
    Retyped& last = last_retyped_[(place ^ place >> 8) % last_retyped_.size()];
    if (last.before == node.attributes.begin() && last.op == node.op && std::ranges::equal(last.units, units))
      return last.after;
    Attributes after = node.attributes;
    for (const int unit : units) after[type_attribute(node, unit)] = plan_.low;
    last = {node.attributes.begin(), node.op, {units.begin(), units.end()}, after};
    return after;
  }

  /// The name of a node's type attribute number `unit`, in the table's order as in op_graph.
  static const std::string& type_attribute(const Node& node, int unit) {
    for (const AttributeSpec& spec : operation(node.op).attributes)
      if (spec.kind == AttributeKind::kType && unit-- == 0) return spec.name;
    throw GraphError("apply: " + node.op + " '" + node.name + "' has fewer type attributes than the plan names");
  }

  const Graph& graph_;
  const CastPlan& plan_;
  std::vector<Input> inputs_;  // of all nodes, one after the other
  std::vector<size_t> input_begin_;
  ByNode retyped_, casts_;  // units, and numbers of planned casts
  struct Retyped {
    Attributes::const_iterator before = nullptr;  // where they begin: what lives as long as the graph is told by that
    std::string_view op;
    std::vector<int> units;
    Attributes after;
  };
  std::array<Retyped, 256> last_retyped_;
  std::vector<int> number_;  // in the new graph
  std::vector<int> cast_nodes_;
  GraphBuilder builder_;
};

}  // namespace

// implements: N290
Graph apply(const Graph& graph, const CastPlan& plan) { return Application(graph, plan).run(); }

GraphRewrite rewrite_with(const Graph& graph, ListView<std::string> fetches,
                          const std::function<Colouring(const OpGraph&)>& colour) {
  PrecisionReport report;
  report.before = op_graph(graph, fetches);
  report.colours = colour(report.before);
  report.plan = plan_casts(report.before, report.colours);
  Graph rewritten = apply(graph, report.plan);
  if (!rewritten.preset()) rewritten = rewritten.with_preset(Preset::kIeee);  // the systems' whose lists these are
  return {std::move(rewritten), std::move(report)};
}

}  // namespace softamp
