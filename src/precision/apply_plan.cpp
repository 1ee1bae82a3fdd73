// A plan of casts applied to a Graph.
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "softamp/graph/operation.h"
#include "softamp/precision/casts.h"
#include "softamp/precision/precision_report.h"

namespace softamp {
namespace {

class Application {
 public:
  Application(const Graph& graph, const CastPlan& plan)
      : graph_(graph), plan_(plan), nodes_(static_cast<size_t>(graph.size())) {
    for (int n = 0; n < graph.size(); ++n)
      for (const Port& p : graph.node(n).inputs) of(n).inputs.push_back({p, -1});
    for (const auto& [node, unit] : plan.retyped) of(checked(node)).retyped.push_back(unit);
    for (int c = 0; c < static_cast<int>(plan.casts.size()); ++c) {
      const PlannedCast& cast = plan.casts[static_cast<size_t>(c)];
      of(checked(cast.from.node)).casts.push_back(c);
      for (const auto& [reader, input] : cast.readers) input_of(reader, input).cast = c;
    }
    for (const CastPlan::Redirect& r : plan.redirected)
      input_of(r.node, r.input).port = {checked(r.to.node), r.to.port};
    cast_nodes_.assign(plan.casts.size(), -1);
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
  struct State {
    std::vector<Input> inputs;
    std::vector<int> retyped, casts;
    int number = -1;  // in the new graph
  };

  State& of(int n) { return nodes_[static_cast<size_t>(n)]; }
  int checked(int n) const {
    if (n < 0 || n >= graph_.size())
      throw GraphError("apply: the plan names node number " + std::to_string(n) + "; the graph has " +
                       std::to_string(graph_.size()) + ": expected the graph that the plan was made for");
    return n;
  }
  Input& input_of(int n, int input) {
    State& state = of(checked(n));
    if (input < 0 || static_cast<size_t>(input) >= state.inputs.size())
      throw GraphError("apply: the plan names input " + std::to_string(input) + " of '" + graph_.node(n).name +
                       "', which has " + std::to_string(state.inputs.size()));
    return state.inputs[static_cast<size_t>(input)];
  }

  void add(int n) {
    State& state = of(n);
    if (state.number >= 0) return;
    const Node& node = graph_.node(n);
    std::vector<Port> inputs;
    for (const Input& input : state.inputs) {
      // An existing Cast may come later in the graph; its input is what this node read before.
      if (input.cast < 0 && of(input.port.node).number < 0) add(input.port.node);
      inputs.push_back(input.cast >= 0 ? Port{cast_nodes_[static_cast<size_t>(input.cast)], 0}
                                       : Port{of(input.port.node).number, input.port.port});
    }
    Attributes attributes = node.attributes;
    for (const int unit : state.retyped) attributes[type_attribute(node, unit)] = plan_.low;
    state.number = builder_.add_named(node.name, node.op, std::move(inputs), std::move(attributes)).node;
    for (const int c : state.casts) add_cast(node, c);
  }

  void add_cast(const Node& producer, int c) {
    const PlannedCast& cast = plan_.casts[static_cast<size_t>(c)];
    Attributes attributes{{"DstT", cast.to}};
    for (const char* name : {"device", "layer"})
      if (const auto it = producer.attributes.find(name); it != producer.attributes.end()) attributes.insert(*it);
    const Port from{of(cast.from.node).number, cast.from.port};
    cast_nodes_[static_cast<size_t>(c)] = builder_.add_named(cast.name, "Cast", {from}, std::move(attributes)).node;
  }

  /// The name of a node's type attribute number `unit`, in the table's order as in op_graph.
  static const std::string& type_attribute(const Node& node, int unit) {
    for (const AttributeSpec& spec : operation(node.op).attributes)
      if (spec.kind == AttributeKind::kType && unit-- == 0) return spec.name;
    throw GraphError("apply: " + node.op + " '" + node.name + "' has fewer type attributes than the plan names");
  }

  const Graph& graph_;
  const CastPlan& plan_;
  std::vector<State> nodes_;
  std::vector<int> cast_nodes_;
  GraphBuilder builder_;
};

}  // namespace

Graph apply(const Graph& graph, const CastPlan& plan) { return Application(graph, plan).run(); }

GraphRewrite rewrite_with(const Graph& graph, std::span<const std::string> fetches,
                          const std::function<Colouring(const OpGraph&)>& colour) {
  PrecisionReport report;
  report.before = op_graph(graph, fetches);
  report.colours = colour(report.before);
  report.plan = plan_casts(report.before, report.colours);
  Graph rewritten = apply(graph, report.plan);
  return {std::move(rewritten), std::move(report)};
}

}  // namespace softamp
