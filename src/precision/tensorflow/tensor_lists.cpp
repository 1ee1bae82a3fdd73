#include "src/precision/tensorflow/tensor_lists.h"

#include <algorithm>
#include <array>
#include <map>

#include "softamp/precision/casts.h"

namespace softamp::precision_detail {
namespace {

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view op) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

bool is_reader(std::string_view op) {
  static constexpr std::array<std::string_view, 6> kOps = {"TensorListConcat",  "TensorListConcatV2",
                                                           "TensorListGather",  "TensorListGetItem",
                                                           "TensorListPopBack", "TensorListStack"};
  return is_one_of(kOps, op);
}

bool is_writer(std::string_view op) {
  static constexpr std::array<std::string_view, 8> kOps = {
      "TensorListFromTensor", "TensorListPushBack", "TensorListPushBackBatch",           "TensorListScatter",
      "TensorListScatterV2",  "TensorListSetItem",  "TensorListScatterIntoExistingList", "TensorListSplit"};
  return is_one_of(kOps, op);
}

bool is_source_or_sink(const OpNode& node) {
  static constexpr std::array<std::string_view, 14> kOps = {"_Arg",
                                                            "_Retval",
                                                            "OptionalFromValue",
                                                            "OptionalGetValue",
                                                            "PartitionedCall",
                                                            "StatefulPartitionedCall",
                                                            "Placeholder",
                                                            "If",
                                                            "StatelessIf",
                                                            "Case",
                                                            "StatelessCase",
                                                            "While",
                                                            "StatelessWhile",
                                                            "SymbolicGradient"};
  return !node.known || is_one_of(kOps, node.op);
}

/// Number, in the node, of the unit that is the type of a list's elements, if that is float32; -1: no such list.
int element_unit(const OpNode& node) {
  if (node.op.find("TensorList") == std::string::npos) return -1;
  for (size_t u = 0; u < node.units.size(); ++u)
    if (node.units[u].type == ElementType::kFloat) return static_cast<int>(u);
  return -1;
}

/// Handles: keys are variant units, and behind all units one key for each node's ports of fixed type.
class Handles {
 public:
  Handles(const OpGraph& graph, const std::vector<uint8_t>& processable, DType low)
      : graph_(graph), processable_(processable), low_(low) {
    for (int n = 0; n < graph.size(); ++n) {
      const OpNode& node = graph.nodes[static_cast<size_t>(n)];
      if (element_unit(node) >= 0) lists_.push_back(n);
    }
    if (lists_.empty()) return;
    parent_.resize(static_cast<size_t>(graph.units() + graph.size()));
    for (size_t k = 0; k < parent_.size(); ++k) parent_[k] = static_cast<int>(k);
    gather_edges();
    for (const auto& [from, to] : edges_) unite(from.key, to.key);
  }

  std::vector<TensorListCluster> clusters() {
    std::map<int, TensorListCluster> by_root;
    std::map<int, bool> any_processable;
    for (const int n : lists_) {
      const int root = find(fixed_key(n)), unit = element_unit(graph_.nodes[static_cast<size_t>(n)]);
      by_root[root].units.push_back(graph_.unit(n, unit));
      if (processable_[static_cast<size_t>(n)]) any_processable[root] = true;
      if (!processable_[static_cast<size_t>(n)] || !may_become_low(graph_, n, unit, low_)) blame(by_root[root], n);
    }
    for (const auto& [from, to] : edges_)
      for (const int n : {from.node, to.node}) {
        const OpNode& node = graph_.nodes[static_cast<size_t>(n)];
        if (element_unit(node) >= 0 || !is_source_or_sink(node)) continue;
        if (const auto it = by_root.find(find(from.key)); it != by_root.end()) blame(it->second, n);
      }
    std::vector<TensorListCluster> found;
    for (auto& [root, cluster] : by_root)
      if (any_processable.contains(root)) found.push_back(std::move(cluster));
    return found;
  }

  /// Two passages for each key, one for either direction: a walk along outputs continues along outputs.
  void add_passages(TypeView& view) {
    std::map<int, std::pair<int, int>> passages;
    const auto passage = [&](int key) {
      const auto it = passages.find(key);
      if (it != passages.end()) return it->second;
      const int forward = view.add_passage();
      return passages.emplace(key, std::pair(forward, view.add_passage())).first->second;
    };
    for (const auto& [from, to] : edges_) {
      if (!processable_[static_cast<size_t>(from.node)] || !processable_[static_cast<size_t>(to.node)]) continue;
      const auto a = passage(from.key), b = passage(to.key);
      view.add_output(a.first, b.first);
      view.add_input(b.second, a.second);
    }
    for (const int n : lists_) {
      const OpNode& node = graph_.nodes[static_cast<size_t>(n)];
      const auto there = passages.find(fixed_key(n));
      if (there == passages.end()) continue;
      const int unit = graph_.unit(n, element_unit(node));
      if (is_writer(node.op)) {
        view.add_output(unit, there->second.first);
        view.add_input(there->second.second, unit);
      } else if (is_reader(node.op)) {
        view.add_output(there->second.first, unit);
        view.add_input(unit, there->second.second);
      }
    }
  }

  bool empty() const { return lists_.empty(); }

 private:
  struct End {
    int key, node;
  };

  int fixed_key(int node) const { return graph_.units() + node; }

  void gather_edges() {
    for (int n = 0; n < graph_.size(); ++n) {
      const OpNode& reader = graph_.nodes[static_cast<size_t>(n)];
      const bool list = element_unit(reader) >= 0;
      for (int i = 0; i < static_cast<int>(reader.inputs.size()); ++i) {
        const OpEdge& edge = reader.inputs[static_cast<size_t>(i)];
        const int from = graph_.producer_unit(edge), to = graph_.reader_unit(n, i);
        const ElementType type = graph_.type(edge);
        // What an opaque operation gives to a port of fixed type may be a handle, too.
        const bool guess =
            list && to < 0 && type == ElementType::kUnknown && !graph_.nodes[static_cast<size_t>(edge.node)].known;
        if (type != ElementType::kVariant && !guess) continue;
        edges_.push_back({{from < 0 ? fixed_key(edge.node) : from, edge.node}, {to < 0 ? fixed_key(n) : to, n}});
      }
    }
  }

  int find(int key) {
    while (parent_[static_cast<size_t>(key)] != key) {
      int& up = parent_[static_cast<size_t>(key)];
      up = parent_[static_cast<size_t>(up)];
      key = up;
    }
    return key;
  }
  void unite(int a, int b) {
    a = find(a), b = find(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

  void blame(TensorListCluster& cluster, int node) const {
    cluster.safe = false;
    if (cluster.culprit < 0 ||
        graph_.nodes[static_cast<size_t>(node)].name < graph_.nodes[static_cast<size_t>(cluster.culprit)].name)
      cluster.culprit = node;
  }

  const OpGraph& graph_;
  const std::vector<uint8_t>& processable_;
  DType low_;
  std::vector<int> lists_;  // nodes
  std::vector<int> parent_;
  std::vector<std::pair<End, End>> edges_;
};

}  // namespace

std::vector<TensorListCluster> find_tensor_lists(const OpGraph& graph, const std::vector<uint8_t>& processable,
                                                 DType low, TypeView& view) {
  Handles handles(graph, processable, low);
  if (handles.empty()) return {};
  handles.add_passages(view);
  return handles.clusters();
}

std::vector<TensorListCluster> find_tensor_lists(const OpGraph& graph, DType low) {
  const std::vector<uint8_t> all(graph.nodes.size(), 1);
  Handles handles(graph, all, low);
  if (handles.empty()) return {};
  return handles.clusters();
}

}  // namespace softamp::precision_detail
