#include "src/program/rewrite/evaluate.h"

#include <algorithm>
#include <map>
#include <set>

#include "softamp/findings/statistics.h"
#include "softamp/names/names.h"
#include "src/precision/in_float64.h"

namespace softamp::program {
namespace {

/// The names of all ports of the graph that hold numbers of floating point.
std::vector<std::string> floating_ports(const Graph& graph) {
  std::vector<std::string> names;
  for (int n = 0; n < graph.size(); ++n)
    for (size_t p = 0; p < graph.node(n).outputs.size(); ++p)
      if (is_floating(graph.node(n).outputs[p].dtype)) names.push_back(graph.port_name({n, static_cast<int>(p)}));
  return names;
}

std::map<std::string, Tensor> values_of(const RunnableGraph& graph, const std::vector<std::string>& ports) {
  std::vector<Tensor> values = std::move(run_once(graph, ports, {}).values);
  std::map<std::string, Tensor> all;
  for (size_t i = 0; i < ports.size(); ++i) all.emplace(ports[i], std::move(values[i]));
  return all;
}

std::map<std::string, Tensor> converted(const Graph& graph, const std::map<std::string, Tensor>& values) {
  std::map<std::string, Tensor> all;
  for (const auto& [name, value] : values) {
    const int node = graph.find(name);
    const DType t = node >= 0 ? graph.node(node).outputs[0].dtype : value.dtype();
    all.emplace(name, t == value.dtype() ? value.clone() : Tensor::from_values(t, value.shape(), value.values()));
  }
  return all;
}

bool draws(const Node& node) { return node.op.starts_with("Random") || node.op == "TruncatedNormal"; }

/// The graph with the random values that another run has drawn, as feeds: what is drawn depends on a node's place in
/// the graph, which casts move. Nodes keep their numbers.
RunnableGraph with_drawn(const RunnableGraph& graph, const std::map<std::string, Tensor>& drawn) {
  RunnableGraph result;
  GraphBuilder b;
  b.set_preset(graph.graph.preset());
  std::map<std::string, Tensor> feeds;
  for (int n = 0; n < graph.graph.size(); ++n) {
    const Node& node = graph.graph.node(n);
    const auto value = draws(node) ? drawn.find(node.name) : drawn.end();
    if (value == drawn.end() || value->second.shape() != node.outputs[0].shape) {
      b.add_copy(graph.graph, n, node.inputs);
      continue;
    }
    b.add_named(node.name, "Placeholder", {}, {{"dtype", node.outputs[0].dtype}, {"shape", node.outputs[0].shape}});
    feeds.emplace(node.name, value->second.clone());
  }
  result.graph = b.build();
  for (const auto& [name, value] : graph.feeds) feeds.emplace(name, value.clone());
  result.feeds = converted(result.graph, feeds);
  for (const auto& [name, value] : graph.variables) result.variables.emplace(name, value.clone());
  return result;
}

/// The values in binary64 under the names of the original's ports.
std::map<std::string, Tensor> values_in_float64(const RunnableGraph& graph, const std::vector<std::string>& ports,
                                                const std::map<std::string, Tensor>& drawn) {
  InFloat64 wide = in_float64(with_drawn(graph, drawn).graph);
  RunnableGraph run;
  run.graph = std::move(wide.graph);
  run.feeds = converted(run.graph, with_drawn(graph, drawn).feeds);
  run.variables = converted(run.graph, graph.variables);
  std::vector<std::string> names;
  for (const std::string& port : ports) {
    const Port p = graph.graph.port(port);
    names.push_back(run.graph.port_name(wide.ports[static_cast<size_t>(p.node)][static_cast<size_t>(p.port)]));
  }
  std::vector<Tensor> values = std::move(run_once(run, names, {}).values);
  std::map<std::string, Tensor> all;
  for (size_t i = 0; i < ports.size(); ++i) all.emplace(ports[i], std::move(values[i]));
  return all;
}

bool same_dtypes(const Graph& a, const Node& x, const Graph& b, const Node& y) {
  for (size_t i = 0; i < x.inputs.size(); ++i)
    if (a.type(x.inputs[i]).dtype != b.type(y.inputs[i]).dtype) return false;
  for (size_t p = 0; p < x.outputs.size(); ++p)
    if (x.outputs[p].dtype != y.outputs[p].dtype) return false;
  return true;
}

class Evaluator {
 public:
  Evaluator(const RunnableGraph& before, const RunnableGraph& after) : before_(before), after_(after) {}

  std::vector<NodeEvaluation> rows() {
    const std::vector<std::string> ports = floating_ports(before_.graph);
    // All tensors, for operations that take integers, too.
    std::vector<std::string> all;
    for (int n = 0; n < before_.graph.size(); ++n)
      for (size_t p = 0; p < before_.graph.node(n).outputs.size(); ++p)
        all.push_back(before_.graph.port_name({n, static_cast<int>(p)}));
    was_ = values_of(before_, all);
    exact_ = values_in_float64(before_, ports, was_);
    ExecutorOptions watched;
    watched.status = true;
    std::vector<std::string> shared;
    for (const std::string& port : ports)
      if (is_shared(port)) shared.push_back(port);
    const size_t common = shared.size();
    for (const std::string& name : floating_ports(after_.graph))
      if (is_added_cast(after_.graph.port(name))) shared.push_back(name);
    if (common == 0) throw UsageError("--evaluate: no floating-point tensor is there before and after the rewrite");
    RunResult result = run_once(with_drawn(after_, was_), shared, watched);
    for (size_t i = 0; i < shared.size(); ++i) is_.emplace(shared[i], std::move(result.values[i]));
    constexpr uint8_t kShown = kInvalid | kDivideByZero | kOverflow;  // not that a result is inexact, as most are
    for (const OperationStatus& o : result.operations) flags_[o.name] = o.status.flags & kShown;
    std::vector<NodeEvaluation> rows;
    for (int n = 0; n < before_.graph.size(); ++n) add(n, rows);
    std::stable_sort(rows.begin(), rows.end(), [](const NodeEvaluation& a, const NodeEvaluation& b) {
      return a.own.largest != b.own.largest ? a.own.largest > b.own.largest : a.before.largest > b.before.largest;
    });
    return rows;
  }

 private:
  /// A port of the graph before that the graph after has with the same shape.
  bool is_shared(const std::string& port) const {
    const Port p = before_.graph.port(port);
    const int n = after_.graph.find(before_.graph.node(p.node).name);
    if (n < 0) return false;
    const auto& outputs = after_.graph.node(n).outputs;
    const auto at = static_cast<size_t>(p.port);
    return at < outputs.size() && is_floating(outputs[at].dtype) && outputs[at].shape == before_.graph.type(p).shape;
  }

  bool is_added_cast(Port p) const {
    const Node& node = after_.graph.node(p.node);
    return node.op == "Cast" && before_.graph.find(node.name) < 0;
  }

  static void count(const Tensor& value, NodeEvaluation& row) {
    const TensorStatistics s = statistics_of(value);
    row.subnormals += s.subnormals;
    row.saturated += s.saturated;
    row.nonfinite += s.infinities + s.nans;
  }

  /// The nodes that the rewrite has put in front of node n of the new graph, in its order.
  std::set<int> added_before(int n) const {
    std::set<int> added;
    std::vector<int> open{n};
    while (!open.empty()) {
      const Node& node = after_.graph.node(open.back());
      open.pop_back();
      for (const Port& p : node.inputs)
        if (before_.graph.find(after_.graph.node(p.node).name) < 0 && added.insert(p.node).second)
          open.push_back(p.node);
    }
    return added;
  }

  /// What these raised, and what casts among them made.
  void add_conversions(const std::set<int>& added, NodeEvaluation& row) const {
    for (const int n : added) {
      const std::string& name = after_.graph.node(n).name;
      if (is_added_cast({n, 0})) count(is_.at(name), row);
      if (const auto flags = flags_.find(name); flags != flags_.end()) row.flags |= flags->second;
    }
  }

  void add(int number, std::vector<NodeEvaluation>& rows) {
    const Node& node = before_.graph.node(number);
    NodeEvaluation row;
    row.node = node.name;
    row.op = node.op;
    for (size_t p = 0; p < node.outputs.size(); ++p) {
      const std::string port = before_.graph.port_name({number, static_cast<int>(p)});
      const auto is = is_.find(port);
      if (is == is_.end()) continue;
      if (row.dtype.empty()) row.dtype = name_of(is->second.dtype());
      row.before.add(was_.at(port), is->second);
      row.binary64.add(exact_.at(port), is->second);
      row.elements += is->second.elements();
      count(is->second, row);
    }
    if (row.dtype.empty()) return;
    if (const auto flags = flags_.find(node.name); flags != flags_.end()) row.flags = flags->second;
    const std::set<int> added = added_before(after_.graph.find(node.name));
    add_conversions(added, row);
    add_own(number, added, row);
    rows.push_back(std::move(row));
  }

  void add_own(int number, const std::set<int>& added, NodeEvaluation& row) {
    const Node& node = before_.graph.node(number);
    const int n = after_.graph.find(node.name);
    const Node& now = after_.graph.node(n);
    const bool unchanged = now.op == node.op && same_dtypes(before_.graph, node, after_.graph, now);
    if (now.inputs.size() != node.inputs.size() || now.attributes.contains("ref") || node.op == "Placeholder" ||
        node.op == "VariableV2" || draws(node) || (unchanged && added.empty()))
      return;
    // What was put in front of the node belongs to it: it is what asks for that.
    GraphBuilder b;
    b.set_preset(after_.graph.preset());
    RunnableGraph alone;
    std::map<int, int> copies;
    const auto inputs_of = [&](const Node& of) {
      std::vector<Port> inputs;
      for (const Port& p : of.inputs) inputs.push_back(input(p, of.op == "Cast", b, alone, copies));
      return inputs;
    };
    for (const int a : added) {
      const Node& of = after_.graph.node(a);
      // A cast takes what there was before, in the dtype of that.
      copies[a] = of.op == "Cast" ? b.add_named(of.name, "Cast", inputs_of(of), cast_attributes(of)).node
                                  : b.add_copy(after_.graph, a, inputs_of(of)).node;
    }
    for (const auto& [name, value] : after_.variables)
      if (added.contains(after_.graph.find(name))) alone.variables.emplace(name, value.clone());
    const Port out = b.add(now.op, inputs_of(now), now.attributes, "alone");
    std::vector<std::string> ports;
    std::vector<const Tensor*> wanted;
    for (size_t p = 0; p < node.outputs.size(); ++p) {
      const std::string port = before_.graph.port_name({number, static_cast<int>(p)});
      if (!is_.contains(port)) continue;
      ports.push_back(b.graph().port_name({out.node, static_cast<int>(p)}));
      wanted.push_back(&was_.at(port));
    }
    alone.graph = b.build();
    const std::vector<Tensor> values = std::move(run_once(alone, ports, {}).values);
    for (size_t i = 0; i < values.size(); ++i) row.own.add(*wanted[i], values[i]);
  }

  static Attributes cast_attributes(const Node& cast) {
    Attributes attributes = cast.attributes;
    attributes.erase("SrcT");
    return attributes;
  }
  /// An input of the new graph's: of a copy, or the value that the tensor had before the rewrite.
  Port input(Port p, bool in_any_dtype, GraphBuilder& b, RunnableGraph& alone, const std::map<int, int>& copies) const {
    if (const auto copy = copies.find(p.node); copy != copies.end()) return {copy->second, p.port};
    const std::string& node = after_.graph.node(p.node).name;
    const Tensor& given = was_.at(before_.graph.port_name({before_.graph.find(node), p.port}));
    const std::string name = "input/" + node + "/" + std::to_string(p.port);
    if (alone.feeds.emplace(name, given.clone()).second) b.placeholder(name, given.dtype(), given.shape());
    const Port fed = b.graph().port(name);
    const DType t = after_.graph.type(p).dtype;
    return in_any_dtype || given.dtype() == t ? fed : b.add("Cast", {fed}, {{"DstT", t}}, name + "/cast");
  }

  const RunnableGraph &before_, &after_;
  std::map<std::string, Tensor> was_, exact_, is_;
  std::map<std::string, uint8_t> flags_;
};

}  // namespace

std::vector<NodeEvaluation> evaluate(const RunnableGraph& before, const RunnableGraph& after) {
  return Evaluator(before, after).rows();
}

}  // namespace softamp::program
