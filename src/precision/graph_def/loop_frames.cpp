#include "src/precision/graph_def/loop_frames.h"

#include <algorithm>

namespace softamp::graph_def_detail {

using graph_def::AttrValue;
using graph_def::NodeDef;

bool is_enter(std::string_view op) { return op == "Enter" || op == "RefEnter"; }
bool is_exit(std::string_view op) { return op == "Exit" || op == "RefExit"; }
bool closes_loop(std::string_view from, std::string_view to) {
  return (from == "NextIteration" || from == "RefNextIteration") && (to == "Merge" || to == "RefMerge");
}

LoopMembership loops_of(const std::vector<const NodeDef*>& nodes, const std::vector<std::vector<int>>& inputs) {
  LoopMembership found;
  found.of.assign(nodes.size(), -1);
  std::vector<int> waits(nodes.size(), 0), ready;
  std::vector<std::vector<int>> readers(nodes.size());
  for (size_t n = 0; n < nodes.size(); ++n)
    for (const int from : inputs[n])
      if (from >= 0 && !closes_loop(nodes[static_cast<size_t>(from)]->op(), nodes[n]->op())) {
        ++waits[n];
        readers[static_cast<size_t>(from)].push_back(static_cast<int>(n));
      }
  for (size_t n = 0; n < nodes.size(); ++n)
    if (waits[n] == 0) ready.push_back(static_cast<int>(n));
  std::unordered_map<std::string, int> by_name;
  const auto depth = [&](int loop) {
    int d = 0;
    for (; loop >= 0; loop = found.loops[static_cast<size_t>(loop)].outer) ++d;
    return d;
  };
  for (size_t done = 0; done < ready.size(); ++done) {
    const auto n = static_cast<size_t>(ready[done]);
    int loop = -1;
    for (const int from : inputs[n]) {
      if (from < 0 || closes_loop(nodes[static_cast<size_t>(from)]->op(), nodes[n]->op())) continue;
      int of = found.of[static_cast<size_t>(from)];
      if (of >= 0 && is_exit(nodes[static_cast<size_t>(from)]->op())) of = found.loops[static_cast<size_t>(of)].outer;
      if (depth(of) > depth(loop)) loop = of;
    }
    if (is_enter(nodes[n]->op())) {
      const AttrValue* name = find_attribute(*nodes[n], "frame_name");
      const std::string text = name ? name->s() : "";
      const auto [at, fresh] = by_name.emplace(std::to_string(loop) + "/" + text, static_cast<int>(found.loops.size()));
      if (fresh) found.loops.push_back({text, loop});
      loop = at->second;
    }
    found.of[n] = loop;
    for (const int reader : readers[n])
      if (--waits[static_cast<size_t>(reader)] == 0) ready.push_back(reader);
  }
  return found;
}

LoopFrames::LoopFrames(const std::vector<NodeDef>& nodes) {
  if (std::none_of(nodes.begin(), nodes.end(), [](const NodeDef& n) { return is_enter(n.op()); })) return;
  std::unordered_map<std::string_view, int> numbers;
  std::vector<const NodeDef*> all;
  for (const NodeDef& node : nodes) {
    numbers.emplace(node.name(), static_cast<int>(all.size()));
    all.push_back(&node);
  }
  std::vector<std::vector<int>> inputs(nodes.size());
  for (size_t n = 0; n < nodes.size(); ++n)
    for (const std::string& input : nodes[n].input()) inputs[n].push_back(numbers.at(parse_input(input).node));
  const LoopMembership loops = loops_of(all, inputs);
  std::vector<std::string> control(loops.loops.size());
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (loops.of[n] < 0) continue;
    std::string& of = control[static_cast<size_t>(loops.of[n])];
    const bool merges =
        nodes[n].op() == "Merge" && nodes[n].input_size() > 0 && is_enter(all[static_cast<size_t>(inputs[n][0])]->op());
    const bool constant =
        is_enter(nodes[n].op()) && nodes[n].attr().contains("is_constant") && nodes[n].attr().at("is_constant").b();
    if (merges || (constant && of.empty())) of = nodes[n].name();
  }
  for (size_t n = 0; n < nodes.size(); ++n)
    if (loops.of[n] >= 0) controls_.emplace(nodes[n].name(), control[static_cast<size_t>(loops.of[n])]);
}

}  // namespace softamp::graph_def_detail
