// The last passes of TensorFlow's graph rewrite: loops and existing casts; and what happened to each unit.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "softamp/precision/casts.h"
#include "src/precision/tensorflow/rewrite_passes.h"

namespace softamp::precision_detail {
namespace {

/// The unit of a node's first output; -1: none.
int first_output_unit(const OpGraph& graph, int node) { return graph.producer_unit({node, 0}); }

int required_unit(const OpGraph& graph, int node) {
  const int unit = first_output_unit(graph, node);
  const OpNode& n = graph.nodes[static_cast<size_t>(node)];
  if (unit < 0)
    throw std::runtime_error("Internal: Type attribute T of " + n.op + " node " + n.name + " not found in graph view");
  return unit;
}

}  // namespace

void RewritePasses::match_loops() {
  std::vector<int> nexts;
  for (int n = 0; n < graph_.size(); ++n)
    if (graph_.nodes[static_cast<size_t>(n)].op == "NextIteration") nexts.push_back(n);
  if (nexts.empty()) return;
  std::stable_sort(nexts.begin(), nexts.end(), [&](int a, int b) {
    return graph_.nodes[static_cast<size_t>(a)].name < graph_.nodes[static_cast<size_t>(b)].name;
  });

  const OpReaders all = readers(graph_);
  std::vector<std::pair<int, int>> pairs;  // NextIteration and Merge
  std::vector<int> work;                   // nodes whose partners must stay float32
  for (const int next : nexts) {
    for (const OpReaders::Read& read : all.of(next)) {
      const OpNode& merge = graph_.nodes[static_cast<size_t>(read.node)];
      if (merge.op != "Merge")
        throw std::runtime_error("Failed precondition: Expected Merge node after NextIteration, got " + merge.op);
      pairs.emplace_back(next, read.node);
      if (!allow_[static_cast<size_t>(required_unit(graph_, read.node))]) work.push_back(read.node);
    }
    const int unit = required_unit(graph_, next);
    const int local = unit - graph_.unit(next, 0);
    // [ours] A NextIteration that is fetched, or has no kernel, keeps its Merges in float32, too.
    if (convertible(unit) && !may_become_low(graph_, next, local, low_)) work.push_back(next);
  }
  // Merges have one NextIteration each in a graph that runs; otherwise colours still spread to all partners, so that
  // the order of nodes does not matter.
  std::vector<std::pair<int, int>> partners = pairs;
  for (const auto& [next, merge] : pairs) partners.emplace_back(merge, next);
  std::sort(partners.begin(), partners.end());
  std::vector<uint8_t> stays(graph_.nodes.size());
  std::vector<int> because(graph_.nodes.size(), -1);
  const auto by_name = [&](int a, int b) {
    return graph_.nodes[static_cast<size_t>(a)].name < graph_.nodes[static_cast<size_t>(b)].name;
  };
  std::sort(work.begin(), work.end(), by_name);
  for (const int origin : std::vector<int>(work)) {
    std::vector<int> stack{origin};
    while (!stack.empty()) {
      const int n = stack.back();
      stack.pop_back();
      if (stays[static_cast<size_t>(n)]) continue;
      stays[static_cast<size_t>(n)] = 1;
      because[static_cast<size_t>(n)] = origin;
      for (auto it = std::lower_bound(partners.begin(), partners.end(), std::pair(n, -1));
           it != partners.end() && it->first == n; ++it)
        stack.push_back(it->second);
    }
  }
  for (int n = 0; n < graph_.size(); ++n) {
    if (!stays[static_cast<size_t>(n)]) continue;
    const int unit = required_unit(graph_, n);
    if (allow_[static_cast<size_t>(unit)]) paint(unit, Why::kLoopFloat, because[static_cast<size_t>(n)]);
    allow_[static_cast<size_t>(unit)] = 0;
  }
  for (const int next : nexts) {
    const int unit = required_unit(graph_, next);
    if (stays[static_cast<size_t>(next)] || allow_[static_cast<size_t>(unit)]) continue;
    allow_[static_cast<size_t>(unit)] = 1;
    int first = next;  // of its Merges the first by name
    for (auto it = std::lower_bound(partners.begin(), partners.end(), std::pair(next, -1));
         it != partners.end() && it->first == next; ++it)
      if (first == next || by_name(it->second, first)) first = it->second;
    paint(unit, Why::kLoopLow, first);
  }
}

void RewritePasses::allow_casts() {
  std::vector<int> casts;
  for (int n = 0; n < graph_.size(); ++n)
    if (graph_.nodes[static_cast<size_t>(n)].op == "Cast" && graph_.type({n, 0}) == ElementType::kFloat &&
        first_output_unit(graph_, n) >= 0)
      casts.push_back(n);
  if (casts.empty()) return;
  const OpReaders all = readers(graph_);
  for (const int n : casts) {
    const auto reads = all.of(n);
    const bool all_low = std::all_of(reads.begin(), reads.end(), [&](const OpReaders::Read& read) {
      const int unit = graph_.reader_unit(read.node, read.input);
      return unit >= 0 && low(unit);
    });
    const int unit = first_output_unit(graph_, n);
    if (reads.empty() || !all_low || allow_[static_cast<size_t>(unit)]) continue;
    allow_[static_cast<size_t>(unit)] = 1;
    paint(unit, Why::kCast);
  }
}

bool RewritePasses::low(int unit) const {
  const int node = view_.node(unit);
  return allow_[static_cast<size_t>(unit)] && may_become_low(graph_, node, unit - graph_.unit(node, 0), low_);
}

std::string RewritePasses::told(const char* before, int node, const char* behind, int other) const {
  // One allocation: this is said of every unit of the graph.
  const auto name = [&](int n) -> const std::string& { return graph_.nodes[static_cast<size_t>(n)].name; };
  std::string text;
  text.reserve(std::strlen(before) + name(node).size() + std::strlen(behind) + (other < 0 ? 0 : name(other).size()) +
               4);
  text.append(before).append("'").append(name(node)).append("'").append(behind);
  if (other >= 0) text.append("'").append(name(other)).append("'");
  return text;
}

std::string RewritePasses::reason(int unit) {
  const int n = view_.node(unit);
  const OpNode& node = graph_.nodes[static_cast<size_t>(n)];
  const TypeUnit& type = node.units[static_cast<size_t>(unit - graph_.unit(n, 0))];
  const Paint& paint = paint_[static_cast<size_t>(unit)];
  const char* const name = name_of(low_);
  if (type.type != ElementType::kFloat) return "is " + name_of(type.type);
  if (node.preserved) return "preserved";
  if (allow_[static_cast<size_t>(unit)] && !low(unit))
    return is_constant(node.op) ? "a constant stays float32" : std::string("no ") + name + " kernel, or holds state";
  switch (paint.why) {
    case Why::kAllowList: return "allow list";
    case Why::kForced: return "UNSAFE_FORCE_ALL";
    case Why::kDenyList: return "deny list";
    case Why::kDownstream: return told("downstream of ", paint.a);
    case Why::kBetween: return told("between ", paint.a, " and ", paint.b);
    case Why::kThroughClear: return told("reached through clear operations from ", paint.a);
    case Why::kUnsafeList: return told("list of tensors that cannot change because of ", paint.a);
    case Why::kListDenied: return told("list of tensors shared with ", paint.a, ", which is denied");
    case Why::kListAllowed: return told("list of tensors shared with ", paint.a);
    case Why::kNoKernel: return std::string("no ") + name + " kernel";
    case Why::kLoopFloat: return told("in a loop with ", paint.a, ", which stays float32");
    case Why::kLoopLow: return told("in a loop with ", paint.a);
    case Why::kCast: return std::string("all that read it are ") + name;
    case Why::kNothing: break;
  }
  if (!processable(unit)) return std::string("not on a ") + device_kind_ + ": device '" + node.device + "'";
  if (class_of(unit) == OpClass::kUnlisted) return is_constant(node.op) ? "a constant stays float32" : "in no list";
  if (!type.can_be(low_)) return std::string("no ") + name + " kernel";
  if (reads_plain_variable(n)) return "reads a variable";
  return class_of(unit) == OpClass::kInfer ? "not between allowed operations"
                                           : "no allowed operation beside it or beyond clear ones";
}

}  // namespace softamp::precision_detail
