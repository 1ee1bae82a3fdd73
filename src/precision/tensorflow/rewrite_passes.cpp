#include "src/precision/tensorflow/rewrite_passes.h"

#include <algorithm>
#include <stdexcept>

#include "src/precision/name_order.h"

namespace softamp::precision_detail {
namespace {

/// Operations that take references but return none, and are not stateful.
bool takes_reference(std::string_view op) {
  return op == "IsVariableInitialized" || op == "CountUpTo" || op == "DestroyTemporaryVariable";
}

/// UNSAFE_FORCE_ALL leaves out Const, SoftmaxCrossEntropyWithLogits, stateful operations, those with references, and
/// what it does not know.
bool can_be_forced(const OpNode& node) {
  const auto is_reference = [](ElementType t) { return static_cast<int>(t) > 100; };
  return node.known && !is_constant(node.op) && node.op != "SoftmaxCrossEntropyWithLogits" && !node.stateful &&
         !takes_reference(node.op) && std::none_of(node.output_types.begin(), node.output_types.end(), is_reference);
}

}  // namespace

RewritePasses::RewritePasses(const OpGraph& graph, DType low, std::vector<OpClass> classes,
                             std::vector<uint8_t> processable, const char* device_kind, bool force_all)
    : graph_(graph),
      low_(low),
      device_kind_(device_kind),
      force_all_(force_all),
      classes_(std::move(classes)),
      processable_(std::move(processable)),
      view_(graph),
      lists_(find_tensor_lists(graph, processable_, low, view_)) {
  view_.finish();
  allow_.assign(static_cast<size_t>(view_.types()), 0);
  deny_ = allow_;
  paint_.resize(allow_.size());
  units_.reserve(static_cast<size_t>(graph.units()));
  for (const OpNode& node : graph.nodes)
    for (const TypeUnit& unit : node.units)
      units_.push_back(!unit.can_be(low)                  ? Unit::kNoLowType
                       : unit.type == ElementType::kFloat ? Unit::kConvertible
                                                          : Unit::kOtherType);
  for (const TensorListCluster& list : lists_) {
    if (list.safe) continue;
    for (const int unit : list.units) {
      if (!this->processable(unit)) continue;
      deny_[static_cast<size_t>(unit)] = 1;
      paint(unit, Why::kUnsafeList, list.culprit);
    }
  }
}

template <class Is>
std::vector<int> RewritePasses::roots(const Is& is) const {
  std::vector<int> found;
  for (int v = 0; v < view_.types(); ++v)
    if (is(v)) found.push_back(v);
  // Vertices of one node keep their order: units are in the order of the operation's attributes.
  std::vector<std::string_view> names;
  names.reserve(found.size());
  for (const int v : found) names.push_back(node_of(v).name);
  sort_by_names(found, names);
  return found;
}

bool RewritePasses::allow_listed() {
  bool any = false;
  for (int v = 0; v < view_.types(); ++v) {
    if (!processable(v)) continue;
    const bool listed = class_of(v) == OpClass::kAllow;
    if (!listed && !(force_all_ && can_be_forced(node_of(v)))) continue;
    allow_[static_cast<size_t>(v)] = 1;
    paint(v, listed ? Why::kAllowList : Why::kForced);
    any = true;
  }
  return any;
}

void RewritePasses::deny_forward() {
  if (force_all_) return;
  // Operations that are denied or inferred, and those that lead to them through clear ones only.
  std::vector<uint8_t> leads(static_cast<size_t>(view_.size()));
  for (int v = 0; v < view_.types(); ++v)
    if (class_of(v) == OpClass::kDeny || class_of(v) == OpClass::kInfer)
      walk(
          view_, v, Follow::kInputs, leads, [&](int w) { return class_of(w) == OpClass::kClear; }, [](int) {});

  std::vector<uint8_t> seen(static_cast<size_t>(view_.size()));
  for (const int root : roots([&](int v) { return class_of(v) == OpClass::kDeny && !deny_[static_cast<size_t>(v)]; })) {
    if (seen[static_cast<size_t>(root)]) continue;
    walk(
        view_, root, Follow::kOutputs, seen,
        [&](int v) { return leads[static_cast<size_t>(v)] && !deny_[static_cast<size_t>(v)]; },
        [&](int v) {
          deny_[static_cast<size_t>(v)] = 1;
          if (class_of(v) == OpClass::kDeny)
            paint(v, Why::kDenyList);
          else
            paint(v, Why::kDownstream, view_.node(root));
        });
  }
}

void RewritePasses::match_tensor_lists() {
  for (const TensorListCluster& list : lists_) {
    // The first by name of those with a colour that the others take.
    int denied = -1, allowed = -1;
    for (const int unit : list.units) {
      int* first = deny_[static_cast<size_t>(unit)] ? &denied : allow_[static_cast<size_t>(unit)] ? &allowed : nullptr;
      if (first && (*first < 0 || node_of(unit).name < node_of(*first).name)) *first = unit;
    }
    if (denied < 0 && allowed < 0) continue;
    for (const int unit : list.units) {
      const auto u = static_cast<size_t>(unit);
      if (denied >= 0) {
        allow_[u] = 0;
        if (!deny_[u])
          paint(unit, list.safe ? Why::kListDenied : Why::kUnsafeList, list.safe ? view_.node(denied) : list.culprit);
        deny_[u] = 1;
      } else {
        if (!allow_[u]) paint(unit, Why::kListAllowed, view_.node(allowed));
        allow_[u] = 1;
      }
    }
  }
}

void RewritePasses::allow_between() {
  const std::vector<int> listed = roots([&](int v) { return processable(v) && class_of(v) == OpClass::kAllow; });
  std::vector<int> upstream(static_cast<size_t>(view_.types()), -1);  // root that reaches a vertex; -1: none
  std::vector<uint8_t> seen(static_cast<size_t>(view_.size()));
  for (const int root : listed) {
    walk(
        view_, root, Follow::kOutputs, seen,
        [&](int v) {
          return convertible(v) && processable(v) && !deny_[static_cast<size_t>(v)] &&
                 (class_of(v) == OpClass::kClear || class_of(v) == OpClass::kInfer);
        },
        [&](int v) { upstream[static_cast<size_t>(v)] = view_.node(root); });
  }
  seen.assign(seen.size(), 0);
  for (const int root : listed) {
    if (seen[static_cast<size_t>(root)]) continue;
    walk(
        view_, root, Follow::kInputs, seen, [&](int v) { return upstream[static_cast<size_t>(v)] >= 0; },
        [&](int v) {
          if (allow_[static_cast<size_t>(v)]) return;
          allow_[static_cast<size_t>(v)] = 1;
          paint(v, Why::kBetween, upstream[static_cast<size_t>(v)], view_.node(root));
        });
  }
}

bool RewritePasses::reads_plain_variable(int node) {
  plain_variable_.resize(graph_.nodes.size());
  // Enters may follow one another; a ring of them reads nothing. The result holds for all nodes on the way.
  std::vector<int> way;
  Known found = Known::kNo;
  for (int n = node;;) {
    Known& known = plain_variable_[static_cast<size_t>(n)];
    if (known != Known::kUnknown) {
      found = known;
      break;
    }
    known = Known::kNo;
    way.push_back(n);
    const OpNode& reader = graph_.nodes[static_cast<size_t>(n)];
    if ((reader.op != "Identity" && reader.op != "Enter") || reader.inputs.empty()) break;
    n = reader.inputs[0].node;
    if (reader.op == "Enter") continue;
    const std::string& input = graph_.nodes[static_cast<size_t>(n)].op;
    if (input == "Variable" || input == "VariableV2") found = Known::kYes;
    break;
  }
  for (const int n : way) plain_variable_[static_cast<size_t>(n)] = found;
  return found == Known::kYes;
}

void RewritePasses::allow_through_clear() {
  std::vector<uint8_t> seen(static_cast<size_t>(view_.size()));
  const auto open = [&](int v) {
    return !allow_[static_cast<size_t>(v)] && !deny_[static_cast<size_t>(v)] && processable(v) && convertible(v) &&
           class_of(v) == OpClass::kClear && !reads_plain_variable(view_.node(v));
  };
  // Most roots lead nowhere, and fewer vertices are open with every step: only those that lead on now need an order.
  const auto leads_on = [&](int v) {
    const auto any = [&](std::span<const int> next) {
      return std::any_of(next.begin(), next.end(), [&](int w) { return w >= view_.types() || open(w); });
    };
    return any(view_.inputs(v)) || any(view_.outputs(v));
  };
  for (const int root : roots([&](int v) { return processable(v) && allow_[static_cast<size_t>(v)] && leads_on(v); })) {
    if (seen[static_cast<size_t>(root)]) continue;
    walk(view_, root, Follow::kBoth, seen, open, [&](int v) {
      if (v == root) return;
      allow_[static_cast<size_t>(v)] = 1;
      paint(v, Why::kThroughClear, view_.node(root));
    });
  }
}

void RewritePasses::remove_without_kernel() {
  for (int v = 0; v < view_.types(); ++v) {
    if (!allow_[static_cast<size_t>(v)] || has_low_type(v) || (class_of(v) != OpClass::kAllow && !force_all_)) continue;
    allow_[static_cast<size_t>(v)] = 0;
    paint(v, Why::kNoKernel);
  }
}

}  // namespace softamp::precision_detail
