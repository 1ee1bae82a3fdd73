// Goes through the graph once forward, to find what depends on the variables; then back from the loss, node by node.
#include "softamp/graph/gradients.h"

#include <algorithm>

#include "src/graph/gradient_context.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

using graph_detail::GradientContext;

std::string place(const Node& node) { return node.op + " '" + node.name + "'"; }

/// "inputs[2]" of a variadic port.
std::string input_name(const Node& node, size_t input) {
  const std::vector<PortSpec>& ports = operation(node.op).inputs;
  const PortSpec& port = ports[std::min(input, ports.size() - 1)];
  return port.variadic ? port.name + "[" + std::to_string(input + 1 - ports.size()) + "]" : port.name;
}

// implements: N220
class Walk {
 public:
  Walk(GraphBuilder& builder, Port loss, std::span<const Port> variables, const GradientOptions& options)
      : builder_(builder), loss_(loss), variables_(variables), options_(options) {
    check(loss, "the loss");
    for (size_t i = 0; i < variables.size(); ++i) check(variables[i], "variables[" + std::to_string(i) + "]");
    for (size_t i = 0; i < options.stop.size(); ++i) check(options.stop[i], "stop[" + std::to_string(i) + "]", false);
    check_seed();
    for (const auto& [name, function] : options.custom) {
      if (builder.graph().find(name) >= 0 && function) continue;
      throw GraphError("custom gradient of '" + files::excerpt(name) + "': " +
                       (function ? "the graph has no such node" +
                                       graph_detail::nearest_of(name, builder.graph().nodes(), &Node::name)
                                 : "the function is empty"));
    }
  }

  std::vector<std::optional<Port>> run() {
    std::vector<std::optional<Port>> results(variables_.size());
    mark();
    if (!active(loss_)) return results;
    const size_t nodes = static_cast<size_t>(loss_.node) + 1;
    contributions_.resize(nodes);
    totals_.resize(nodes);
    for (size_t n = 0; n < nodes; ++n) {
      contributions_[n].resize(active_[n].size());
      totals_[n].resize(active_[n].size());
    }
    contributions_of(loss_).push_back({loss_.node, 0, seed()});
    for (int n = loss_.node; n >= 0; --n) step(n);
    for (size_t i = 0; i < results.size(); ++i) {
      const Port v = variables_[i];
      if (v.node <= loss_.node) results[i] = totals_[static_cast<size_t>(v.node)][static_cast<size_t>(v.port)];
    }
    return results;
  }

 private:
  /// What a reader's input passes on to the output that it reads.
  struct Contribution {
    int reader;
    size_t input;
    Port gradient;
  };

  bool exists(Port p) const {
    const Graph& graph = builder_.graph();
    return p.node >= 0 && p.node < graph.size() && p.port >= 0 &&
           static_cast<size_t>(p.port) < graph.node(p.node).outputs.size();
  }

  void check(Port p, const std::string& what, bool floating = true) const {
    if (!exists(p))
      throw GraphError("gradients: " + what + " is output " + std::to_string(p.port) + " of node number " +
                       std::to_string(p.node) + "; expected an output of the graph");
    const DType t = builder_.type(p).dtype;
    if (floating && !is_floating(t))
      throw GraphError("gradients: " + what + " ('" + builder_.graph().port_name(p) + "') is " + name_of(t) +
                       "; expected a floating tensor");
  }

  void check_seed() const {
    if (!options_.seed) return;
    check(*options_.seed, "the seed");
    const TensorType &seed = builder_.type(*options_.seed), &loss = builder_.type(loss_);
    if (seed != loss)
      throw GraphError("gradients: the seed ('" + builder_.graph().port_name(*options_.seed) + "') is " + seed.text() +
                       "; expected " + loss.text() + ", the type of the loss '" + builder_.graph().port_name(loss_) +
                       "'");
  }

  bool active(Port p) const { return active_[static_cast<size_t>(p.node)][static_cast<size_t>(p.port)]; }
  std::vector<Contribution>& contributions_of(Port p) {
    return contributions_[static_cast<size_t>(p.node)][static_cast<size_t>(p.port)];
  }

  /// Marks the outputs that depend on a variable by a differentiable path.
  void mark() {
    const auto among = [](std::span<const Port> ports, Port p) {
      return std::find(ports.begin(), ports.end(), p) != ports.end();
    };
    active_.resize(static_cast<size_t>(loss_.node) + 1);
    for (int n = 0; n <= loss_.node; ++n) {
      const Node& node = builder_.graph().node(n);
      bool from_inputs = false;
      for (const Port p : node.inputs) from_inputs = from_inputs || active(p);
      if (from_inputs && !options_.custom.contains(node.name))
        from_inputs = differentiability(node.op) != Differentiability::kConstant;
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        const Port p{n, static_cast<int>(i)};
        active_[static_cast<size_t>(n)].push_back(
            ((from_inputs && is_floating(node.outputs[i].dtype)) || among(variables_, p)) && !among(options_.stop, p));
      }
    }
  }

  Port seed() {
    if (options_.seed) return *options_.seed;
    const TensorType t = builder_.type(loss_);
    return builder_.add("Fill", {}, {{"dtype", t.dtype}, {"shape", t.shape}, {"value", 1.0}}, prefix() + "seed");
  }

  std::string prefix() const { return options_.scope.empty() ? "" : options_.scope + "/"; }

  /// Sums the gradients that have arrived at node n, and passes them on to its inputs.
  void step(int n) {
    auto& arrived = contributions_[static_cast<size_t>(n)];
    if (std::all_of(arrived.begin(), arrived.end(), [](const auto& list) { return list.empty(); })) return;
    const Node node = builder_.graph().node(n);  // a copy: the builder moves its nodes as it grows
    const GraphBuilder::Scope scope = builder_.scope(prefix() + node.name + "_grad");
    auto& totals = totals_[static_cast<size_t>(n)];
    for (size_t i = 0; i < arrived.size(); ++i) totals[i] = sum(arrived[i]);

    std::vector<bool> wanted;
    for (const Port p : node.inputs) wanted.push_back(active(p));
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
    const std::vector<std::optional<Port>> results = differentiate(node, n, totals, wanted);
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i] && wanted[i]) contributions_of(node.inputs[i]).push_back({n, i, *results[i]});
  }

  /// One AddN in the order of the readers and their inputs; the walk meets the readers from the last to the first.
  // implements: N220
  std::optional<Port> sum(std::vector<Contribution>& list) {
    if (list.empty()) return std::nullopt;
    if (list.size() == 1) return list[0].gradient;
    std::stable_sort(list.begin(), list.end(), [](const Contribution& a, const Contribution& b) {
      return std::pair(a.reader, a.input) < std::pair(b.reader, b.input);
    });
    std::vector<Port> gradients;
    for (const Contribution& c : list) gradients.push_back(c.gradient);
    return builder_.add("AddN", std::move(gradients));
  }

  std::vector<std::optional<Port>> differentiate(const Node& node, int n, std::span<const std::optional<Port>> arriving,
                                                 const std::vector<bool>& wanted) {
    const auto custom = options_.custom.find(node.name);
    if (custom != options_.custom.end()) {
      std::vector<std::optional<Port>> results = custom->second(builder_, node, n, arriving);
      if (results.size() != node.inputs.size())
        throw GraphError(place(node) + ": its custom gradient has " + std::to_string(results.size()) +
                         (results.size() == 1 ? " result" : " results") + "; expected " +
                         std::to_string(node.inputs.size()) + ", one to an input");
      check_results(node, results, "its custom gradient");
      return results;
    }
    const GradientRule rule = operation(node.op).gradient;
    if (!rule)
      throw GraphError(place(node) + ": no gradient of this operation; it lies between the loss '" +
                       builder_.graph().port_name(loss_) + "' and a variable");
    GradientContext context(builder_, node, n, arriving, wanted);
    rule(context);
    check_results(node, context.results(), "its gradient");
    return context.results();
  }

  void check_results(const Node& node, const std::vector<std::optional<Port>>& results, const char* whose) const {
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i]) continue;
      const std::string what = place(node) + ": " + whose + " of input " + std::to_string(i);
      if (!exists(*results[i]))
        throw GraphError(what + " ('" + input_name(node, i) + "') is output " + std::to_string(results[i]->port) +
                         " of node number " + std::to_string(results[i]->node) + "; expected an output of the graph");
      const TensorType &found = builder_.type(*results[i]), &expected = builder_.type(node.inputs[i]);
      if (found.dtype != expected.dtype)
        throw DtypeMismatchError(node.op, input_name(node, i), found.dtype, "", expected.dtype, node.name, what + ": ");
      if (found.shape != expected.shape)
        throw GraphError(what + " ('" + input_name(node, i) + "') has shape " + found.shape.text() + "; expected " +
                         expected.shape.text() + ", that of the input");
    }
  }

  GraphBuilder& builder_;
  const Port loss_;
  const std::span<const Port> variables_;
  const GradientOptions& options_;
  // Of each output of the nodes up to the loss:
  std::vector<std::vector<bool>> active_;
  std::vector<std::vector<std::vector<Contribution>>> contributions_;
  std::vector<std::vector<std::optional<Port>>> totals_;
};

}  // namespace

std::vector<std::optional<Port>> gradients(GraphBuilder& builder, Port loss, ListView<Port> variables,
                                           const GradientOptions& options) {
  return Walk(builder, loss, variables, options).run();
}

GradientGraph gradients(const Graph& graph, Port loss, ListView<Port> variables, const GradientOptions& options) {
  GraphBuilder builder(graph);
  std::vector<std::optional<Port>> ports = gradients(builder, loss, variables, options);
  return {builder.build(), std::move(ports)};
}

}  // namespace softamp
