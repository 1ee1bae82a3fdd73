#include "src/precision/joined_units.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "src/precision/tensorflow/tensor_lists.h"

namespace softamp::precision_detail {
namespace {

class JoinedUnits {
 public:
  JoinedUnits(const OpGraph& graph, Colouring& colours) : graph_(graph), colours_(colours) {}

  void settle() {
    for (const TensorListCluster& list : find_tensor_lists(graph_, colours_.low))
      keep_together(list.units, list.safe ? "" : list.culprit < 0 ? "" : name(list.culprit), "list of tensors shared");
    for (auto& [root, units] : loops()) keep_together(units, "", "in a loop");
  }

 private:
  const std::string& name(int node) const { return graph_.nodes[static_cast<size_t>(node)].name; }
  int node_of(int unit) const {
    const auto& first = graph_.first_unit;
    return static_cast<int>(std::upper_bound(first.begin(), first.end(), unit) - first.begin()) - 1;
  }

  /// culprit: why none of them may be low, whatever their colours; "": none.
  void keep_together(const std::vector<int>& units, std::string culprit, const char* how) {
    const auto is_float = [&](int u) { return !colours_.is_low(u); };
    const bool any = !std::all_of(units.begin(), units.end(), is_float);
    const auto other = std::find_if(units.begin(), units.end(), is_float);
    if (!any || (other == units.end() && culprit.empty())) return;
    if (culprit.empty()) culprit = name(node_of(*other));
    for (const int u : units) {
      if (is_float(u)) continue;
      colours_.low_units[static_cast<size_t>(u)] = 0;
      colours_.reasons[static_cast<size_t>(u)] = std::string(how) + " with '" + culprit + "', which stays float32";
    }
  }

  /// Units of a NextIteration and of the Merges that it leads back to, by the first of them.
  std::map<int, std::vector<int>> loops() const {
    std::map<int, std::vector<int>> groups;
    std::vector<int> parent(static_cast<size_t>(graph_.units()));
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](int u) {
      while (parent[static_cast<size_t>(u)] != u) u = parent[static_cast<size_t>(u)];
      return u;
    };
    std::vector<int> joined;
    for (int n = 0; n < graph_.size(); ++n) {
      const OpNode& merge = graph_.nodes[static_cast<size_t>(n)];
      if (merge.op != "Merge" && merge.op != "RefMerge") continue;
      for (int i = 0; i < static_cast<int>(merge.inputs.size()); ++i) {
        const OpEdge& e = merge.inputs[static_cast<size_t>(i)];
        const std::string& from = graph_.nodes[static_cast<size_t>(e.node)].op;
        const int a = graph_.producer_unit(e), b = graph_.reader_unit(n, i);
        if ((from != "NextIteration" && from != "RefNextIteration") || a < 0 || b < 0) continue;
        parent[static_cast<size_t>(std::max(root(a), root(b)))] = std::min(root(a), root(b));
        joined.push_back(a);
        joined.push_back(b);
      }
    }
    std::sort(joined.begin(), joined.end());
    joined.erase(std::unique(joined.begin(), joined.end()), joined.end());
    for (const int u : joined) groups[root(u)].push_back(u);
    return groups;
  }

  const OpGraph& graph_;
  Colouring& colours_;
};

}  // namespace

void settle_joined_units(const OpGraph& graph, Colouring& colours) { JoinedUnits(graph, colours).settle(); }

}  // namespace softamp::precision_detail
