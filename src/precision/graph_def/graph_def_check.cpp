// Checks of names and edges of a GraphDef before anything else. Types are checked where the picture is made.
#include <algorithm>
#include <limits>

#include "src/precision/graph_def/graph_def_impl.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"

namespace softamp {
namespace graph_def_detail {

using files::excerpt;

InputName parse_input(std::string_view text) {
  if (text.starts_with('^')) return {text.substr(1), 0, true};
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return {text, 0, false};
  int64_t port = 0;
  for (const char c : text.substr(colon + 1)) {
    if (c < '0' || c > '9') return {text, 0, false};
    port = std::min<int64_t>(port * 10 + (c - '0'), std::numeric_limits<int>::max());
  }
  return {text.substr(0, colon), static_cast<int>(port), false};
}

std::string output_name(std::string_view node, int port) {
  return std::string(node) + (port == 0 ? "" : ":" + std::to_string(port));
}

void fail_node(std::string_view place, const graph_def::NodeDef& node, const std::string& what) {
  throw GraphDefError(std::string(place) + ": node '" + excerpt(node.name()) + "' (" + excerpt(node.op()) +
                      "): " + what);
}

}  // namespace graph_def_detail

namespace {

using files::excerpt;
using graph_def::NodeDef;
using graph_def_detail::fail_node;
using graph_def_detail::InputName;
using graph_def_detail::parse_input;

constexpr int kMostPort = 65535;  // outputs of a node; more are a mistake, and would only cost memory

class Checker {
 public:
  Checker(const graph_def::GraphDef& graph, std::string_view place, std::unordered_map<std::string_view, int>& numbers)
      : graph_(graph), place_(place), numbers_(numbers) {}

  void check() {
    number_nodes();
    for (int n = 0; n < graph_.node_size(); ++n) check_inputs(n);
    check_cycles();
  }

 private:
  void number_nodes() {
    numbers_.reserve(static_cast<size_t>(graph_.node_size()));
    for (int n = 0; n < graph_.node_size(); ++n) {
      const NodeDef& node = graph_.node(n);
      if (node.name().empty() || node.name().starts_with('^') || node.name().find(':') != std::string::npos)
        throw GraphDefError(std::string(place_) + ": node number " + std::to_string(n) + " is called '" +
                            excerpt(node.name()) + "'; expected a name without ':', and no '^' at its beginning");
      if (node.op().empty()) fail_node(place_, node, "it has no operation");
      const auto [first, fresh] = numbers_.emplace(node.name(), n);
      if (!fresh)
        fail_node(place_, node,
                  "node number " + std::to_string(n) + " has the name of node number " + std::to_string(first->second) +
                      "; expected unique names");
    }
  }

  void check_inputs(int n) {
    const NodeDef& node = graph_.node(n);
    bool controls = false;
    for (const std::string& text : node.input()) {
      const InputName input = parse_input(text);
      const auto it = numbers_.find(input.node);
      if (it == numbers_.end()) {
        fail_node(place_, node,
                  "input '" + excerpt(text) + "' names no node; expected \"name\", \"name:port\" or \"^name\"" +
                      graph_detail::nearest_of(input.node, graph_.node(), &NodeDef::name));
      }
      if (!input.control && input.port > kMostPort)
        fail_node(place_, node,
                  "input '" + excerpt(text) + "': expected a port from 0 to " + std::to_string(kMostPort));
      if (controls && !input.control)
        fail_node(place_, node, "input '" + excerpt(text) + "' stands behind a control input; expected those last");
      controls = controls || input.control;
      edges_.push_back({it->second, n});
    }
  }

  /// Kahn's algorithm over all data and control edges except those from a NextIteration to a Merge: nodes left over
  /// contain a cycle.
  void check_cycles() {
    const auto nodes = static_cast<size_t>(graph_.node_size());
    std::vector<int> begin(nodes + 1, 0), waits(nodes, 0);
    for (const auto& [from, to] : edges_) {
      if (goes_round(from, to)) continue;
      ++begin[static_cast<size_t>(from) + 1];
      ++waits[static_cast<size_t>(to)];
    }
    for (size_t n = 0; n < nodes; ++n) begin[n + 1] += begin[n];
    std::vector<int> next(begin.begin(), begin.end() - 1), readers(static_cast<size_t>(begin.back()));
    for (const auto& [from, to] : edges_)
      if (!goes_round(from, to)) readers[static_cast<size_t>(next[static_cast<size_t>(from)]++)] = to;
    std::vector<int> ready;
    for (size_t n = 0; n < nodes; ++n)
      if (waits[n] == 0) ready.push_back(static_cast<int>(n));
    for (size_t done = 0; done < ready.size(); ++done) {
      const auto n = static_cast<size_t>(ready[done]);
      for (int r = begin[n]; r < begin[n + 1]; ++r)
        if (const int reader = readers[static_cast<size_t>(r)]; --waits[static_cast<size_t>(reader)] == 0)
          ready.push_back(reader);
    }
    if (ready.size() != nodes) fail_cycle(waits);
  }

  bool goes_round(int from, int to) const {
    const std::string &next = graph_.node(from).op(), &merge = graph_.node(to).op();
    return (next == "NextIteration" || next == "RefNextIteration") && (merge == "Merge" || merge == "RefMerge");
  }

  /// Every node left over has an input left over: going back along these leads into a cycle.
  [[noreturn]] void fail_cycle(const std::vector<int>& waits) const {
    const auto before = [&](int node) {
      for (const std::string& text : graph_.node(node).input()) {
        const int from = numbers_.at(parse_input(text).node);
        if (waits[static_cast<size_t>(from)] > 0 && !goes_round(from, node)) return from;
      }
      return node;
    };
    int at = 0;
    while (waits[static_cast<size_t>(at)] == 0) ++at;
    for (int step = 0; step < graph_.node_size(); ++step) at = before(at);
    std::string names = "'" + excerpt(graph_.node(at).name()) + "'";
    constexpr int kShown = 8;
    int shown = 0;
    int n = before(at);
    for (; n != at && shown < kShown; n = before(n), ++shown) names += " <- '" + excerpt(graph_.node(n).name()) + "'";
    names += n == at ? " <- '" + excerpt(graph_.node(at).name()) + "'" : " <- ...";
    throw GraphDefError(std::string(place_) + ": a cycle: " + names +
                        "; expected cycles from NextIteration to Merge only");
  }

  const graph_def::GraphDef& graph_;
  std::string_view place_;
  std::unordered_map<std::string_view, int>& numbers_;
  std::vector<std::pair<int, int>> edges_;  // (from, to)
};

}  // namespace

graph_def_detail::HeldGraph::HeldGraph(graph_def::GraphDef&& moved, std::string_view where)
    : graph(std::move(moved)), place(where) {
  Checker(graph, place, numbers).check();
  for (const graph_def::FunctionDef& f : graph.library().function()) functions.insert(f.signature().name());
}

}  // namespace softamp
