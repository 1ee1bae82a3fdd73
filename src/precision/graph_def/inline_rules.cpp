#include "src/precision/graph_def/inline_rules.h"

#include <algorithm>
#include <array>

#include "src/precision/graph_def/node_making.h"
#include "src/precision/graph_def/op_facts.h"
#include "src/text/printable.h"

namespace softamp::graph_def_detail {
namespace {

using graph_def::AttrValue;
using graph_def::FunctionDef;
using graph_def::NodeDef;

/// A body's edges, data and control, forwards.
class BodyEdges {
 public:
  explicit BodyEdges(const FunctionBody& body) : body_(body), readers_(body.nodes.size()) {
    for (size_t n = 0; n < body.nodes.size(); ++n) numbers_.emplace(body.nodes[n].name(), n);
    for (size_t n = 0; n < body.nodes.size(); ++n)
      for (const std::string& input : body.nodes[n].input())
        if (const auto from = numbers_.find(parse_input(input).node); from != numbers_.end())
          readers_[from->second].push_back(n);
  }

  size_t number(std::string_view name) const { return numbers_.at(name); }

  /// Whether a way along edges leads from a node to one that `is_end` accepts; it does not lead beyond `stop`.
  template <class IsEnd, class Stop>
  bool leads(size_t from, const IsEnd& is_end, const Stop& stop) const {
    std::vector<char> seen(readers_.size(), 0);
    std::vector<size_t> stack{from};
    seen[from] = 1;
    while (!stack.empty()) {
      const size_t n = stack.back();
      stack.pop_back();
      if (is_end(n)) return true;
      if (stop(n)) continue;
      for (const size_t r : readers_[n])
        if (!std::exchange(seen[r], 1)) stack.push_back(r);
    }
    return false;
  }

 private:
  const FunctionBody& body_;
  std::unordered_map<std::string_view, size_t> numbers_;
  std::vector<std::vector<size_t>> readers_;
};

std::string in_quotes(const NodeDef& node) { return "'" + files::excerpt(node.name()) + "'"; }

/// An effect that would not happen, or whose order would not be kept.
std::string lost_effect(const FunctionLibrary& library, const FunctionBody& body, const InlineSituation& situation) {
  std::vector<size_t> effects;
  for (size_t n = 0; n < body.nodes.size(); ++n) {
    const NodeDef& node = body.nodes[n];
    if (node.op() != "_Arg" && node.op() != "_Retval" && is_stateful(library, node.op()) && !may_be_lost(node.op()))
      effects.push_back(n);
  }
  if (effects.empty()) return "";
  if (!situation.awaited)
    return "it has effects (" + in_quotes(body.nodes[effects[0]]) + "), and nothing waits for the call";
  const BodyEdges edges(body);
  std::vector<char> ends(body.nodes.size(), 0);
  if (situation.several_devices)
    for (const auto& [name, node] : body.control_results) ends[edges.number(node)] = 1;
  else
    for (size_t r = body.nodes.size() - body.results; r < body.nodes.size(); ++r) ends[r] = 1;
  for (const size_t effect : effects)
    if (!edges.leads(
            effect, [&](size_t n) { return ends[n] != 0; }, [](size_t) { return false; }))
      return "nothing of its results waits for the effect of " + in_quotes(body.nodes[effect]);
  return "";
}

std::string unlike_ends(const NodeDef& call, const FunctionBody& body) {
  const size_t given = split_inputs(call).data.size();
  if (given != body.arguments)
    return "it takes " + std::to_string(body.arguments) + " arguments, but " + std::to_string(given) + " are given";
  if (call.op() != "PartitionedCall" && call.op() != "StatefulPartitionedCall") return "";
  const auto takes = types_of_list(call, "Tin"), gives = types_of_list(call, "Tout");
  if (takes.size() != body.arguments || gives.size() != body.results)
    return "the call says " + std::to_string(takes.size()) + " arguments and " + std::to_string(gives.size()) +
           " results; the function has " + std::to_string(body.arguments) + " and " + std::to_string(body.results);
  for (size_t i = 0; i < takes.size(); ++i)
    if (takes[i] != type_of_end(body.nodes[i])) return "argument " + std::to_string(i) + " is of another type";
  for (size_t i = 0; i < gives.size(); ++i)
    if (gives[i] != type_of_end(body.nodes[body.nodes.size() - body.results + i]))
      return "result " + std::to_string(i) + " is of another type";
  return "";
}

/// The parts of a device's name: job, replica, task, and the device itself.
std::array<std::string, 4> parts_of(std::string_view name) {
  std::array<std::string, 4> parts;
  while (!name.empty()) {
    const size_t end = std::min(name.find('/'), name.size());
    const std::string part(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
    if (part.empty()) continue;
    const size_t at = part.starts_with("job:")       ? 0
                      : part.starts_with("replica:") ? 1
                      : part.starts_with("task:")    ? 2
                                                     : 3;
    parts[at] = part;
  }
  return parts;
}

}  // namespace

const std::string& DeadResults::source(const FunctionDef& function, const FunctionBody& body) {
  const auto [at, fresh] = sources_.emplace(&function, "");  // a function that calls itself: nothing of itself
  if (fresh) {
    std::string found = find(body);
    sources_[&function] = std::move(found);
  }
  return sources_[&function];
}

std::string DeadResults::find(const FunctionBody& body) {
  std::vector<size_t> sources;
  for (size_t n = 0; n < body.nodes.size(); ++n) {
    const NodeDef& node = body.nodes[n];
    if (node.op() == "Switch" || node.op() == "RefSwitch") sources.push_back(n);
    if (const FunctionDef* own = library_.find(node.op()))
      if (const auto known = sources_.find(own);
          !(known != sources_.end() ? known->second : source(*own, body_of(library_, *own, node.attr(), place_)))
               .empty())
        sources.push_back(n);
  }
  if (sources.empty()) return "";
  const BodyEdges edges(body);
  const size_t results = body.nodes.size() - body.results;
  for (const size_t source : sources)
    if (edges.leads(
            source, [&](size_t n) { return n >= results; },
            [&](size_t n) { return body.nodes[n].op() == "Merge" || body.nodes[n].op() == "RefMerge"; }))
      return body.nodes[source].name();
  return "";
}

std::string inline_obstacle(const FunctionLibrary& library, const NodeDef& call, const FunctionDef& function,
                            const FunctionBody& body, const InlineSituation& situation, DeadResults& dead) {
  if (const std::string unlike = unlike_ends(call, body); !unlike.empty()) return unlike;
  if (function.attr().contains("api_implements")) return "it is one of several implementations of an interface";
  if (has_flag(function.attr(), "_noinline")) return "it is marked '_noinline'";
  if (!situation.of_branch)
    if (std::string lost = lost_effect(library, body, situation); !lost.empty()) return lost;
  if (const std::string& source = dead.source(function, body); !source.empty())
    return "a result of it may not be there, by '" + files::excerpt(source) + "'";
  return "";
}

bool is_for_xla(const NodeDef& node) {
  for (const char* name : {"_xla_compile_id", "_tpu_replicate", "_XlaMustCompile"})
    if (const AttrValue* value = find_attribute(node, name); value && (!value->s().empty() || value->b())) return true;
  return false;
}

std::string inlined_device(const std::string& of_node, const std::string& of_call, bool several_devices) {
  if (!several_devices || of_node.empty()) return of_call;
  if (of_call.empty()) return of_node;
  const auto own = parts_of(of_node), call = parts_of(of_call);
  std::string device;
  for (size_t p = 0; p < own.size(); ++p) {
    const std::string& part = own[p].empty() ? call[p] : own[p];
    if (!part.empty()) device += "/" + part;
  }
  return device;
}

}  // namespace softamp::graph_def_detail
