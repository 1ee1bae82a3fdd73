// The import of a GraphDef: which nodes are needed, in which order they are translated, and loops of Enter and Exit,
// which are written out round by round while their conditions are known.
#include <algorithm>

#include "src/precision/graph_def/import.h"
#include "src/text/nearest_name.h"

namespace softamp::graph_def_detail {

using graph_def::NodeDef;

namespace {

using Kind = ImportedValue::Kind;

constexpr int64_t kMostCalled = int64_t{1} << 18;  // nodes that functions and loops become
constexpr int64_t kMostNames = int64_t{1} << 28;   // bytes of their names
constexpr int kMostLoopRounds = 10000;

bool writes(const NodeDef& node) {
  const auto known = translations().find(node.op());
  return known != translations().end() && known->second.writes;
}

}  // namespace

std::vector<int> Importer::needed(ImportFrame& frame, const std::vector<int>& roots) const {
  const auto count = static_cast<size_t>(frame.nodes->size());
  std::vector<char> seen(count, 0);
  std::vector<int> stack = roots, nodes;
  frame.edges.resize(count);
  while (!stack.empty()) {
    const int n = stack.back();
    stack.pop_back();
    if (std::exchange(seen[static_cast<size_t>(n)], 1)) continue;
    nodes.push_back(n);
    const NodeDef& node = frame.nodes->Get(n);
    for (const std::string& text : node.input()) {
      frame.edges[static_cast<size_t>(n)].push_back(edge(frame, node, text));
      if (const int from = frame.edges[static_cast<size_t>(n)].back().node; from >= 0) stack.push_back(from);
    }
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

/// Kahn's algorithm. What writes a variable waits until nothing else is ready, so that readings that no edge orders see
/// the value of before the step.
std::vector<int> Importer::order(const ImportFrame& frame, const std::vector<int>& nodes, int loop) const {
  const auto count = static_cast<size_t>(frame.nodes->size());
  const auto outer = [&](int of) { return frame.loops.loops[static_cast<size_t>(of)].outer; };
  // The item of a node: itself, or behind all nodes the loop in this one that it is in; -1: it is not in here.
  const auto item = [&](int n) {
    int of = frame.loops.of.empty() ? -1 : frame.loops.of[static_cast<size_t>(n)];
    if (of == loop) return n;
    while (of >= 0 && outer(of) != loop) of = outer(of);
    return of < 0 ? -1 : static_cast<int>(count) + of;
  };
  const size_t items = count + frame.loops.loops.size();
  std::vector<int> waits(items, 0), ready, writing, ordered;
  std::vector<char> there(items, 0), late(items, 0);
  std::vector<std::vector<int>> readers(items);
  for (const int n : nodes) {
    const int to = item(n);
    if (to < 0) continue;
    there[static_cast<size_t>(to)] = 1;
    late[static_cast<size_t>(to)] |= writes(frame.nodes->Get(n));
    for (const FrameEdge& e : frame.edges[static_cast<size_t>(n)]) {
      const int from = e.node < 0 ? -1 : item(e.node);
      if (from < 0 || from == to || closes_loop(frame.nodes->Get(e.node).op(), frame.nodes->Get(n).op())) continue;
      ++waits[static_cast<size_t>(to)];
      readers[static_cast<size_t>(from)].push_back(to);
    }
  }
  const auto offer = [&](int i) { (late[static_cast<size_t>(i)] ? writing : ready).push_back(i); };
  size_t all = 0;
  for (size_t i = 0; i < items; ++i) {
    all += there[i] != 0;
    if (there[i] && waits[i] == 0) offer(static_cast<int>(i));
  }
  for (size_t r = 0, w = 0; r < ready.size() || w < writing.size();) {
    const int i = r < ready.size() ? ready[r++] : writing[w++];
    ordered.push_back(i < static_cast<int>(count) ? i : ~(i - static_cast<int>(count)));
    for (const int reader : readers[static_cast<size_t>(i)])
      if (--waits[static_cast<size_t>(reader)] == 0) offer(reader);
  }
  if (ordered.size() != all)
    for (const int n : nodes)
      if (const int i = item(n); i >= 0 && waits[static_cast<size_t>(i)] > 0)
        fail_node(held_.place, frame.nodes->Get(n), "it is on a cycle of a function; expected none");
  return ordered;
}

void Importer::process(ImportFrame& frame, const std::vector<int>& roots) {
  frame.done.resize(static_cast<size_t>(frame.nodes->size()));
  const std::vector<int> nodes = needed(frame, roots);
  if (std::any_of(nodes.begin(), nodes.end(), [&](int n) { return is_enter(frame.nodes->Get(n).op()); })) {
    std::vector<const NodeDef*> all;
    for (const NodeDef& node : *frame.nodes) all.push_back(&node);
    std::vector<std::vector<int>> inputs(all.size());
    for (const int n : nodes)
      for (const FrameEdge& e : frame.edges[static_cast<size_t>(n)]) inputs[static_cast<size_t>(n)].push_back(e.node);
    frame.loops = loops_of(all, inputs);
  }
  run_nodes(frame, nodes, -1);
}

void Importer::run_nodes(ImportFrame& frame, const std::vector<int>& nodes, int loop) {
  for (const int n : order(frame, nodes, loop)) {
    if (n < 0) {
      run_loop(frame, nodes, ~n);
      continue;
    }
    if (frame.function || loop >= 0) {
      const NodeDef& node = frame.nodes->Get(n);
      called_names_ += static_cast<int64_t>(frame.prefix.size() + node.name().size());
      const std::string what = frame.function ? "functions" : "loops";
      if (++called_ > kMostCalled) fail_node(held_.place, node, what + " become more than 2^18 nodes up to this one");
      if (called_names_ > kMostNames)
        fail_node(held_.place, node, what + " become nodes whose names have more than 2^28 bytes up to this one");
    }
    translate(frame, n);
  }
}

void Importer::run_loop(ImportFrame& frame, const std::vector<int>& nodes, int loop) {
  const std::string outer_round = frame.round;
  std::vector<int> inside, ends;
  for (const int n : nodes) {
    int of = frame.loops.of[static_cast<size_t>(n)];
    const bool own = of == loop;
    while (of >= 0 && of != loop) of = frame.loops.loops[static_cast<size_t>(of)].outer;
    if (of != loop) continue;
    inside.push_back(n);
    if (own && closes_loop(frame.nodes->Get(n).op(), "Merge")) ends.push_back(n);
  }
  for (const int n : ends) frame.carried.erase(n);
  for (int round = 0;; ++round) {
    if (round > kMostLoopRounds) {
      note_fault(frame.nodes->Get(inside[0]), "its loop has more than 10000 rounds");
      break;
    }
    for (const int n : inside) frame.done[static_cast<size_t>(n)] = {};
    frame.round = outer_round + "/" + std::to_string(round);
    run_nodes(frame, nodes, loop);
    bool goes_on = false, failed = false;
    for (const int n : ends) {
      const ImportFrame::Done& done = frame.done[static_cast<size_t>(n)];
      failed = failed || done.failed;
      goes_on = goes_on || !done.dead;
      frame.carried[n] = value_of(frame, {n, 0, false, {}});
    }
    if (failed || !goes_on) break;
  }
  frame.round = outer_round;
}

/// A Merge takes what enters a loop in the first round, and what comes round in later ones.
ImportedValue Importer::input_of(const ImportFrame& frame, int reader, const FrameEdge& e) const {
  if (e.node < 0 || frame.round.empty()) return value_of(frame, e);
  const std::string &from = frame.nodes->Get(e.node).op(), &to = frame.nodes->Get(reader).op();
  const auto carried = [&](int next) { return frame.carried.find(next); };
  if (closes_loop(from, to))
    return carried(e.node) == frame.carried.end() ? ImportedValue::of(Kind::kDead) : carried(e.node)->second;
  if ((to == "Merge" || to == "RefMerge") && is_enter(from))
    for (const FrameEdge& other : frame.edges[static_cast<size_t>(reader)])
      if (other.node >= 0 && closes_loop(frame.nodes->Get(other.node).op(), to) &&
          carried(other.node) != frame.carried.end())
        return ImportedValue::of(Kind::kDead);
  return value_of(frame, e);
}

}  // namespace softamp::graph_def_detail
