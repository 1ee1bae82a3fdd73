#include "softamp/precision/casts.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_set>

namespace softamp {
namespace {

/// How casts are named: TensorFlow's way.
const char* cast_word(DType to) {
  return to == DType::kFloat16 ? "CastToFp16" : to == DType::kBFloat16 ? "CastToBf16" : "CastToFp32";
}

class Planner {
 public:
  Planner(const OpGraph& graph, const Colouring& colours) : graph_(graph), colours_(colours) {
    if (colours.low != DType::kFloat16 && colours.low != DType::kBFloat16)
      throw std::logic_error(std::string("plan_casts: low precision is ") + name_of(colours.low) +
                             "; expected float16 or bfloat16");
    if (colours.low_units.size() != static_cast<size_t>(graph.units()))
      throw std::logic_error("plan_casts: " + std::to_string(colours.low_units.size()) + " colours for " +
                             std::to_string(graph.units()) + " units");
    plan_.low = colours.low;
  }

  CastPlan plan() {
    gather_retyped();
    const OpReaders all = readers(graph_);
    for (int n = 0; n < graph_.size(); ++n) plan_node(n, all.of(n));
    name_casts();
    return std::move(plan_);
  }

 private:
  using Reads = std::span<const OpReaders::Read>;

  void gather_retyped() {
    for (int n = 0; n < graph_.size(); ++n) {
      const OpNode& node = graph_.nodes[static_cast<size_t>(n)];
      for (int u = 0; u < static_cast<int>(node.units.size()); ++u) {
        if (!colours_.is_low(graph_.unit(n, u))) continue;
        if (!may_become_low(graph_, n, u, plan_.low))
          throw std::logic_error("plan_casts: '" + node.units[static_cast<size_t>(u)].attribute + "' of " + node.op +
                                 " '" + node.name + "' is coloured, but cannot become " + name_of(plan_.low));
        plan_.retyped.emplace_back(n, u);
      }
    }
  }

  /// What the ports of one producer need: at most one cast each, for a port has one dtype and there are two.
  void plan_node(int n, Reads reads) {
    std::map<int, std::vector<std::pair<int, int>>> others;  // port -> readers of the other dtype
    for (const OpReaders::Read& r : reads) {
      const bool from_low = colours_.is_low(graph_.producer_unit({n, r.port}));
      const bool to_low = colours_.is_low(graph_.reader_unit(r.node, r.input));
      if (from_low != to_low) others[r.port].emplace_back(r.node, r.input);
    }
    for (auto& [port, who] : others) {
      const DType to = colours_.is_low(graph_.producer_unit({n, port})) ? DType::kFloat32 : plan_.low;
      std::sort(who.begin(), who.end());
      if (const OpEdge there = existing_cast(n, port, to, reads); there.node >= 0) {
        for (const auto& reader : who) plan_.redirected.push_back({reader.first, reader.second, there});
        continue;
      }
      plan_.casts.push_back({{},
                             {n, port},
                             to,
                             graph_.nodes[static_cast<size_t>(n)].device,
                             std::move(who),
                             is_constant_or_variable(graph_, n)});
    }
  }

  /// A Cast of this port to this dtype that is there and stays what it is; of several the first by name, so that the
  /// order of nodes does not matter.
  OpEdge existing_cast(int n, int port, DType to, Reads reads) const {
    int best = -1;
    for (const OpReaders::Read& r : reads) {
      const OpNode& cast = graph_.nodes[static_cast<size_t>(r.node)];
      if (r.port != port || cast.op != "Cast" || cast.output_types.size() != 1 ||
          cast.output_types[0] != element_type(to) || colours_.is_low(graph_.producer_unit({r.node, 0})) ||
          colours_.is_low(graph_.reader_unit(r.node, r.input)) != colours_.is_low(graph_.producer_unit({n, port})))
        continue;
      if (best < 0 || cast.name < graph_.nodes[static_cast<size_t>(best)].name) best = r.node;
    }
    return {best, 0};
  }

  void name_casts() {
    if (plan_.casts.empty()) return;
    std::unordered_set<std::string_view> taken;  // of the names that a new cast could have
    for (const OpNode& node : graph_.nodes)
      if (node.name.find("-CastTo") != std::string::npos) taken.insert(node.name);
    std::unordered_set<std::string> given;
    for (PlannedCast& cast : plan_.casts) {
      const std::string base = graph_.nodes[static_cast<size_t>(cast.from.node)].name + "-" +
                               std::to_string(cast.from.port) + "-" + cast_word(cast.to) + colours_.cast_suffix;
      cast.name = base;
      for (int i = 1; taken.contains(cast.name) || given.contains(cast.name); ++i)
        cast.name = base + "_" + std::to_string(i);
      given.insert(cast.name);
    }
  }

  const OpGraph& graph_;
  const Colouring& colours_;
  CastPlan plan_;
};

int64_t count(const std::vector<PlannedCast>& casts, bool to_low, bool with_constants) {
  return std::count_if(casts.begin(), casts.end(), [&](const PlannedCast& c) {
    return (c.to != DType::kFloat32) == to_low && (with_constants || !c.of_constant);
  });
}

}  // namespace

Colouring Colouring::nothing(const OpGraph& graph, std::string mechanism, DType low) {
  Colouring c;
  c.mechanism = std::move(mechanism);
  c.low = low;
  const auto units = static_cast<size_t>(graph.units());
  c.low_units.assign(units, 0);
  c.lists.assign(units, "");
  c.reasons.assign(units, "");
  return c;
}

int64_t CastPlan::casts_to_low() const { return count(casts, true, true); }
int64_t CastPlan::casts_to_low_counted() const { return count(casts, true, false); }
int64_t CastPlan::casts_to_float32() const { return count(casts, false, true); }

int64_t CastPlan::converted_nodes() const {
  int64_t nodes = 0;
  for (size_t i = 0; i < retyped.size(); ++i) nodes += i == 0 || retyped[i].first != retyped[i - 1].first;
  return nodes;
}

bool may_become_low(const OpGraph& graph, int node, int unit_of_node, DType low) {
  const OpNode& n = graph.nodes[static_cast<size_t>(node)];
  const TypeUnit& unit = n.units[static_cast<size_t>(unit_of_node)];
  return unit.type == ElementType::kFloat && unit.can_be(low) && !n.preserved && !is_constant(n.op) &&
         (!n.stateful || n.random);
}

CastPlan plan_casts(const OpGraph& graph, const Colouring& colours) { return Planner(graph, colours).plan(); }

}  // namespace softamp
