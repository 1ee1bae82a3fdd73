#include "src/precision/graph_def/open_bodies.h"

#include <algorithm>

#include "src/precision/graph_def/inline_functions.h"
#include "src/precision/graph_def/inline_rules.h"
#include "src/precision/graph_def/op_facts.h"
#include "src/text/printable.h"
#include "src/text/shortened_list.h"

namespace softamp::graph_def_detail {
namespace {

using files::excerpt;
using graph_def::FunctionDef;
using graph_def::GraphDef;
using graph_def::NodeDef;

std::string quoted(const FunctionDef& f) { return "'" + excerpt(f.signature().name()) + "'"; }

std::string prefixed(const std::string& prefix, const std::string& input) {
  return input.starts_with('^') ? "^" + prefix + input.substr(1) : prefix + input;
}

class Opener {
 public:
  Opener(const HeldGraph& held, const std::vector<std::string>& fetches) : held_(held), library_(held.graph.library()) {
    for (const std::string& fetch : fetches) keep_.insert(std::string(parse_input(fetch).node));
  }

  OpenedGraph open() {
    OpenedGraph result;
    const auto before = reached_from(library_, held_.graph.node());
    note_unreached(before);
    const bool calls = std::any_of(held_.graph.node().begin(), held_.graph.node().end(), [&](const NodeDef& node) {
      return !functions_of(library_, node).empty() || is_call(library_, node);
    });
    if (!calls) {
      result.notes = std::move(notes_);
      return result;
    }
    InlinedNodes top = with_inlined_functions(library_, {held_.graph.node().begin(), held_.graph.node().end()}, {},
                                              keep_, held_.place);
    add_notes(std::move(top.notes), "");
    result.graph = held_.graph;
    result.graph.clear_node();
    for (NodeDef& node : top.nodes) *result.graph.add_node() = std::move(node);
    auto all = std::make_shared<OpenBodies>();
    all->roots = std::move(top.roots);
    find_compiled(result.graph);
    std::vector<FunctionBody> opened = bodies_of(result.graph);
    drop_unreached(result.graph, before, opened);
    for (size_t b = 0; b < opened.size(); ++b) {
      all->bodies.push_back(add_body(result.graph, std::move(opened[b])));
      for (const std::string& root : roots_[b]) all->roots.insert(all->bodies[b].prefix + root);
    }
    result.open = std::move(all);
    result.notes = std::move(notes_);
    return result;
  }

 private:
  void add_notes(std::vector<std::string> notes, const std::string& where) {
    for (std::string& note : notes) notes_.push_back(where + std::move(note));
  }

  void note_unreached(const std::vector<const FunctionDef*>& reached) {
    const std::unordered_set<const FunctionDef*> seen(reached.begin(), reached.end());
    files::ShortenedList uncalled(5);
    for (const FunctionDef& f : held_.graph.library().function())
      if (!seen.contains(&f)) uncalled.add(quoted(f));
    if (uncalled.count() == 0) return;
    const bool one = uncalled.count() == 1;
    notes_.push_back(
        std::to_string(uncalled.count()) +
        (one ? " function that nothing in the graph calls is" : " functions that nothing in the graph calls are") +
        " left as " + (one ? "it is: " : "they are: ") + uncalled.text());
  }

  /// Functions that XLA is given as they are, and all that they reach; a call that is only marked for XLA gives it what
  /// the rewrite makes of its function.
  void find_compiled(const GraphDef& graph) {
    google::protobuf::RepeatedPtrField<NodeDef> callers;
    const auto gather = [&](const auto& nodes) {
      for (const NodeDef& node : nodes)
        if (node.op() == "XlaLaunch") *callers.Add() = node;
    };
    gather(graph.node());
    for (const FunctionDef* f : reached_from(library_, graph.node())) gather(f->node_def());
    for (const FunctionDef* f : reached_from(library_, callers)) compiled_.insert(f);
  }

  std::string why_left(const FunctionDef& f) const {
    if (compiled_.contains(&f)) return "XLA compiles it";
    if (has_flag(f.attr(), "_tf_data_function")) return "tf.data runs it";
    if (is_parametrised(f)) return "its types or attributes are only known at a call";
    return "";
  }

  /// Those that the graph still reaches, each with its own calls written out.
  std::vector<FunctionBody> bodies_of(const GraphDef& graph) {
    std::vector<FunctionBody> bodies;
    std::vector<const FunctionDef*> queue;
    std::unordered_set<const FunctionDef*> seen;
    const auto reach = [&](const auto& nodes) {
      for (const NodeDef& node : nodes)
        for (const std::string_view name : functions_of(library_, node))
          for (const std::string_view each : {name, library_.gradient_of(name)})
            if (const FunctionDef* f = library_.find(each); f && seen.insert(f).second) queue.push_back(f);
    };
    reach(graph.node());
    for (size_t q = 0; q < queue.size(); ++q) {
      const FunctionDef& f = *queue[q];
      if (const std::string why = why_left(f); !why.empty()) {
        notes_.push_back("function " + quoted(f) + " is left as it is: " + why);
        reach(f.node_def());
        continue;
      }
      FunctionBody body = body_of(library_, f, {}, held_.place);
      std::unordered_set<std::string> keep;
      for (const auto& [name, node] : body.control_results) keep.insert(node);
      InlinedNodes inner =
          with_inlined_functions(library_, std::move(body.nodes), std::move(body.texts), keep, held_.place);
      add_notes(std::move(inner.notes), "in function " + quoted(f) + ": ");
      body.nodes = std::move(inner.nodes);
      body.texts = std::move(inner.texts);
      roots_.push_back(std::move(inner.roots));
      reach(body.nodes);
      bodies.push_back(std::move(body));
    }
    return bodies;
  }

  /// Functions that were called and no longer are go, unless one that nothing called calls them.
  void drop_unreached(GraphDef& graph, const std::vector<const FunctionDef*>& before,
                      const std::vector<FunctionBody>& bodies) const {
    google::protobuf::RepeatedPtrField<NodeDef> roots = graph.node();
    for (const FunctionBody& body : bodies)
      for (const NodeDef& node : body.nodes) *roots.Add() = node;
    const std::unordered_set<const FunctionDef*> called(before.begin(), before.end());
    std::unordered_set<std::string> kept;
    for (const FunctionDef& f : held_.graph.library().function()) {
      if (called.contains(&f)) continue;
      kept.insert(f.signature().name());
      for (const NodeDef& node : f.node_def()) *roots.Add() = node;
    }
    for (const FunctionBody& body : bodies) kept.insert(body.function);
    // A body that was opened names fewer functions than the function in the library.
    std::unordered_set<const FunctionDef*> opened;
    for (const FunctionBody& body : bodies) opened.insert(library_.find(body.function));
    std::vector<const FunctionDef*> stack;
    const auto reach = [&](const google::protobuf::RepeatedPtrField<NodeDef>& nodes) {
      for (const NodeDef& node : nodes)
        for (const std::string_view name : functions_of(library_, node))
          for (const std::string_view each : {name, library_.gradient_of(name)})
            if (const FunctionDef* f = library_.find(each); f && !opened.contains(f) && kept.emplace(each).second)
              stack.push_back(f);
    };
    reach(roots);
    while (!stack.empty()) {
      const FunctionDef* f = stack.back();
      stack.pop_back();
      reach(f->node_def());
    }
    graph_def::FunctionDefLibrary library = graph.library();
    library.clear_function();
    library.clear_gradient();
    for (const FunctionDef& f : held_.graph.library().function())
      if (kept.contains(f.signature().name())) *library.add_function() = f;
    for (const graph_def::GradientDef& g : held_.graph.library().gradient())
      if (kept.contains(g.function_name())) *library.add_gradient() = g;
    *graph.mutable_library() = std::move(library);
  }

  static OpenBody add_body(GraphDef& graph, FunctionBody body) {
    OpenBody open;
    open.function = body.function;
    open.prefix = body.function + "/";
    const auto taken = [&] {
      return std::any_of(graph.node().begin(), graph.node().end(),
                         [&](const NodeDef& n) { return n.name().starts_with(open.prefix); });
    };
    while (taken()) open.prefix.insert(open.prefix.size() - 1, "_");
    open.control_results = std::move(body.control_results);
    open.texts = std::move(body.texts);
    for (NodeDef& node : body.nodes) {
      node.set_name(open.prefix + node.name());
      for (std::string& input : *node.mutable_input()) input = prefixed(open.prefix, input);
      *graph.add_node() = std::move(node);
    }
    return open;
  }

  const HeldGraph& held_;
  const FunctionLibrary library_;
  std::unordered_set<std::string> keep_;
  std::unordered_set<const FunctionDef*> compiled_;
  std::vector<std::string> notes_;
  std::vector<std::unordered_set<std::string>> roots_;  ///< per body
};

/// The nodes that roots need, and those with effects, with what these need.
GraphDef without_unneeded(const HeldGraph& held, const std::unordered_set<std::string>& roots) {
  const FunctionLibrary library(held.graph.library());
  std::vector<char> needed(static_cast<size_t>(held.graph.node_size()), 0);
  std::vector<int> stack;
  for (int n = 0; n < held.graph.node_size(); ++n) {
    const NodeDef& node = held.graph.node(n);
    if (roots.contains(node.name()) || (is_stateful(library, node.op()) && !may_be_lost(node.op()))) stack.push_back(n);
  }
  while (!stack.empty()) {
    const int n = stack.back();
    stack.pop_back();
    if (std::exchange(needed[static_cast<size_t>(n)], 1)) continue;
    for (const std::string& input : held.graph.node(n).input())
      stack.push_back(held.numbers.at(parse_input(input).node));
  }
  GraphDef graph = held.graph;
  graph.clear_node();
  for (int n = 0; n < held.graph.node_size(); ++n)
    if (needed[static_cast<size_t>(n)]) *graph.add_node() = held.graph.node(n);
  return graph;
}

}  // namespace

OpenedGraph opened(const HeldGraph& held, const std::vector<std::string>& fetches) {
  return Opener(held, fetches).open();
}

GraphDef closed(const HeldGraph& held, const OpenBodies& open) {
  const std::vector<OpenBody>& bodies = open.bodies;
  const FunctionLibrary library(held.graph.library());
  GraphDef graph = without_unneeded(held, open.roots);
  const auto nodes = graph.node();
  graph.clear_node();
  std::vector<FunctionBody> made(bodies.size());
  for (NodeDef node : nodes) {
    size_t b = bodies.size();  // of prefixes that fit the last: when it was chosen, no node's name began with it
    for (size_t i = 0; i < bodies.size(); ++i)
      if (node.name().starts_with(bodies[i].prefix)) b = i;
    if (b == bodies.size()) {
      *graph.add_node() = std::move(node);
      continue;
    }
    const size_t cut = bodies[b].prefix.size();
    node.set_name(node.name().substr(cut));
    for (std::string& input : *node.mutable_input())
      input = input.starts_with('^') ? "^" + input.substr(cut + 1) : input.substr(cut);
    made[b].nodes.push_back(std::move(node));
  }
  for (size_t b = 0; b < bodies.size(); ++b) {
    made[b].texts = bodies[b].texts;
    for (FunctionDef& f : *graph.mutable_library()->mutable_function())
      if (f.signature().name() == bodies[b].function) f = function_of(library, f, made[b], held.place);
  }
  return graph;
}

}  // namespace softamp::graph_def_detail
