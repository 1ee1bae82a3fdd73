#include "src/precision/graph_def/type_view.h"

namespace softamp::precision_detail {

TypeView::TypeView(const OpGraph& graph) : graph_(graph), fixed_float_(graph.nodes.size(), -1) {
  node_.reserve(static_cast<size_t>(graph.units()));
  for (int n = 0; n < graph.size(); ++n) node_.insert(node_.end(), graph.nodes[static_cast<size_t>(n)].units.size(), n);
  size_t edges = 0;
  for (const OpNode& node : graph.nodes) edges += node.inputs.size();
  output_edges_.reserve(edges);
  input_edges_.reserve(edges);
  for (int n = 0; n < graph.size(); ++n) {
    const OpNode& reader = graph.nodes[static_cast<size_t>(n)];
    for (int i = 0; i < static_cast<int>(reader.inputs.size()); ++i) {
      const OpEdge& edge = reader.inputs[static_cast<size_t>(i)];
      int from = graph.producer_unit(edge), to = graph.reader_unit(n, i);
      if (from < 0 || to < 0) {
        if (graph.type(edge) != ElementType::kFloat) continue;
        if (from < 0) from = fixed_float(edge.node);
        if (to < 0) to = fixed_float(n);
      }
      add_output(from, to);
      add_input(to, from);
    }
  }
  size_ = types();
}

int TypeView::fixed_float(int node) {
  int& vertex = fixed_float_[static_cast<size_t>(node)];
  if (vertex < 0) {
    vertex = types();
    node_.push_back(node);
  }
  return vertex;
}

void TypeView::finish() {
  gather(output_edges_, output_begin_, output_ends_);
  gather(input_edges_, input_begin_, input_ends_);
}

void TypeView::gather(Edges& edges, std::vector<int>& begin, std::vector<int>& ends) const {
  begin.assign(static_cast<size_t>(size_) + 1, 0);
  for (const auto& edge : edges) ++begin[static_cast<size_t>(edge.first) + 1];
  for (size_t v = 1; v < begin.size(); ++v) begin[v] += begin[v - 1];
  ends.resize(edges.size());
  std::vector<int> next(begin.begin(), begin.end() - 1);
  for (const auto& [from, to] : edges) ends[static_cast<size_t>(next[static_cast<size_t>(from)]++)] = to;
  edges = {};
}

}  // namespace softamp::precision_detail
