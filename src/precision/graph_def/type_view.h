// A picture as TensorFlow's pass walks through it: vertices are type attributes, not nodes, so a path keeps to one type
// attribute of each node.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "softamp/precision/op_graph.h"

namespace softamp::precision_detail {

/// Vertices in this order: the units of the picture; one for each node that has float32 ports of a fixed type (such a
/// port passes denial on, but cannot change); passages, which have no type (tensor_lists.h).
class TypeView {
 public:
  explicit TypeView(const OpGraph& graph);

  /// A new passage: open to every walk.
  int add_passage() { return size_++; }
  /// Walks along outputs go from `from` to `to`; walks along inputs do not come back this way.
  void add_output(int from, int to) { output_edges_.emplace_back(from, to); }
  void add_input(int from, int to) { input_edges_.emplace_back(from, to); }
  /// Call once, after the last add_passage.
  void finish();

  int size() const { return size_; }
  int types() const { return static_cast<int>(node_.size()); }  ///< vertices that are no passages
  int node(int vertex) const { return node_[static_cast<size_t>(vertex)]; }
  std::span<const int> outputs(int vertex) const { return of(output_begin_, output_ends_, vertex); }
  std::span<const int> inputs(int vertex) const { return of(input_begin_, input_ends_, vertex); }

 private:
  using Edges = std::vector<std::pair<int, int>>;
  static std::span<const int> of(const std::vector<int>& begin, const std::vector<int>& ends, int v) {
    const auto i = static_cast<size_t>(v);
    return {ends.data() + begin[i], static_cast<size_t>(begin[i + 1] - begin[i])};
  }
  int fixed_float(int node);
  void gather(Edges& edges, std::vector<int>& begin, std::vector<int>& ends) const;

  const OpGraph& graph_;
  std::vector<int> node_, fixed_float_;
  Edges output_edges_, input_edges_;
  std::vector<int> output_begin_, output_ends_, input_begin_, input_ends_;
  int size_ = 0;
};

enum class Follow : uint8_t { kInputs, kOutputs, kBoth };

/// Visits `root`, and from there on every vertex that `enter` admits, each once. `seen` (per vertex) is shared by the
/// walks of one pass: later walks skip what earlier ones visited, so all walks of a pass together take linear time.
template <class Enter, class Visit>
void walk(const TypeView& view, int root, Follow follow, std::vector<uint8_t>& seen, const Enter& enter,
          const Visit& visit) {
  std::vector<int> stack{root};
  seen[static_cast<size_t>(root)] = 1;
  const auto push = [&](std::span<const int> next) {
    for (const int v : next) {
      if (seen[static_cast<size_t>(v)] || (v < view.types() && !enter(v))) continue;
      seen[static_cast<size_t>(v)] = 1;
      stack.push_back(v);
    }
  };
  while (!stack.empty()) {
    const int v = stack.back();
    stack.pop_back();
    if (v < view.types()) visit(v);
    if (follow != Follow::kOutputs) push(view.inputs(v));
    if (follow != Follow::kInputs) push(view.outputs(v));
  }
}

}  // namespace softamp::precision_detail
