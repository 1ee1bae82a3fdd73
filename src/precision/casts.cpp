// Where a finished graph is cast: from colours to a plan. apply_plan.cpp and graph_def_apply.cpp add the plan's nodes.
//
// Casts are also added where nothing is coloured: while a network and its step are built (src/train/cast_node.h), by
// gradients (src/graph/gradient_context.h: cast), because a formula asks for one dtype, and around the kernels that
// MindSpore's choice takes (src/precision/kernel_select.cpp), one node at a time.
#include "softamp/precision/casts.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <tuple>
#include <unordered_set>

#include "src/precision/counted_casts.h"
#include "src/precision/layers/layer_kind.h"
#include "src/precision/tensorflow/device_name.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

/// How casts are named: TensorFlow's way.
const char* cast_word(DType to) {
  switch (to) {
    case DType::kFloat16: return "CastToFp16";
    case DType::kBFloat16: return "CastToBf16";
    case DType::kFloat64: return "CastToFp64";
    default: return "CastToFp32";
  }
}

class Planner {
 public:
  /// whole: casts with all that makes them, not only what is counted.
  Planner(const OpGraph& graph, const Colouring& colours, bool whole)
      : graph_(graph), colours_(colours), whole_(whole) {
    if (colours.low != DType::kFloat16 && colours.low != DType::kBFloat16 && colours.low != DType::kFloat64)
      throw std::logic_error(std::string("plan_casts: low precision is ") + name_of(colours.low) +
                             "; expected float16 or bfloat16, or a policy's float64");
    if (colours.low_units.size() != static_cast<size_t>(graph.units()))
      throw std::logic_error("plan_casts: " + std::to_string(colours.low_units.size()) + " colours for " +
                             std::to_string(graph.units()) + " units");
    plan_.low = colours.low;
  }

  CastPlan plan() {
    gather_retyped();
    const OpReaders all = readers(graph_);
    for (int n = 0; n < graph_.size(); ++n) plan_node(n, all.of(n));
    if (whole_) name_casts();
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

  /// Plans the casts for one producer: at most one for each port, since a port has one of two dtypes.
  void plan_node(int n, Reads reads) {
    needs_.clear();
    for (const OpReaders::Read& r : reads) {
      const bool from_low = colours_.is_low(graph_.producer_unit({n, r.port}));
      const bool to_low = colours_.is_low(graph_.reader_unit(r.node, r.input));
      if (from_low != to_low) needs_.push_back(r);
    }
    if (needs_.empty()) return;
    std::sort(needs_.begin(), needs_.end(), [](const OpReaders::Read& a, const OpReaders::Read& b) {
      return std::tie(a.port, a.node, a.input) < std::tie(b.port, b.node, b.input);
    });
    there_.clear();  // existing Casts that can be shared; of a port the first is taken
    for (const OpReaders::Read& r : reads)
      if (is_cast_to(other(n, r.port), n, r)) there_.push_back(r);
    std::stable_sort(there_.begin(), there_.end(), [&](const OpReaders::Read& a, const OpReaders::Read& b) {
      return a.port != b.port ? a.port < b.port : node(a.node).name < node(b.node).name;
    });
    auto there = there_.begin();
    for (auto first = needs_.begin(), end = first; first != needs_.end(); first = end) {
      const int port = first->port;
      while (end != needs_.end() && end->port == port) ++end;
      if (node(n).op == "NextIteration" || node(n).op == "RefNextIteration") refuse_broken_loop(n, {first, end});
      while (there != there_.end() && there->port < port) ++there;
      if (there != there_.end() && there->port == port) {
        for (auto r = first; r != end; ++r) plan_.redirected.push_back({r->node, r->input, {there->node, 0}});
        continue;
      }
      PlannedCast& cast = plan_.casts.emplace_back();
      cast.from = {n, port};
      cast.to = other(n, port);
      cast.of_constant = is_constant_or_variable(graph_, n);
      if (!whole_) continue;
      cast.device = node(n).device;
      cast.readers.reserve(static_cast<size_t>(end - first));
      for (auto r = first; r != end; ++r) cast.readers.emplace_back(r->node, r->input);
    }
  }

  /// Nothing may stand between the end of a loop and its beginning. `reads`: of one port.
  void refuse_broken_loop(int next, std::span<const OpReaders::Read> reads) const {
    const bool from_low = colours_.is_low(graph_.producer_unit({next, reads[0].port}));
    const auto says = [&](bool low) {
      return std::string(low ? "becomes " : "stays ") + name_of(low ? plan_.low : DType::kFloat32);
    };
    for (const OpReaders::Read& r : reads) {
      const OpNode& merge = node(r.node);
      if (merge.op != "Merge" && merge.op != "RefMerge") continue;
      throw std::invalid_argument(colours_.mechanism + ": " + node(next).op + " '" + files::excerpt(node(next).name) +
                                  "' " + says(from_low) + ", but " + merge.op + " '" + files::excerpt(merge.name) +
                                  "', to which it leads back, " + says(!from_low) +
                                  ": no cast may stand between them; expected a mechanism that converts both or "
                                  "neither");
    }
  }

  const OpNode& node(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  /// The dtype, of the two, that a port does not have.
  DType other(int n, int port) const {
    return colours_.is_low(graph_.producer_unit({n, port})) ? DType::kFloat32 : plan_.low;
  }

  /// Whether this reader is a Cast of the port to `to` that can be shared. Of several, the first by name is taken, so
  /// that the order of nodes does not matter. A Cast with control inputs is not shared: a node that it waits for may
  /// itself need the node that would read it, and that would be a cycle. Nor is one that truncates, or that stands on
  /// another device than a new cast would: its readers would get other values, or get them from elsewhere.
  bool is_cast_to(DType to, int n, const OpReaders::Read& r) const {
    const OpNode& cast = node(r.node);
    return cast.op == "Cast" && !cast.waits && !cast.truncates &&
           precision_detail::same_device(cast.device, node(n).device) && cast.output_types.size() == 1 &&
           cast.output_types[0] == element_type(to) && !colours_.is_low(graph_.producer_unit({r.node, 0})) &&
           colours_.is_low(graph_.reader_unit(r.node, r.input)) == colours_.is_low(graph_.producer_unit({n, r.port}));
  }

  void name_casts() {
    if (plan_.casts.empty()) return;
    std::unordered_set<std::string_view> taken;  // names that a new cast could have, but are taken
    for (const OpNode& node : graph_.nodes)
      if (node.name.find("-CastTo") != std::string::npos) taken.insert(node.name);
    // Names of casts differ among themselves: each tells its node, its port and, behind the last '-' but the suffix's,
    // its dtype. Only one with a number, which stands beside a name that is taken, could be the name of another.
    std::unordered_set<std::string_view> given;
    for (PlannedCast& cast : plan_.casts) {
      const std::string& producer = graph_.nodes[static_cast<size_t>(cast.from.node)].name;
      const std::string port = std::to_string(cast.from.port);
      const char* const word = cast_word(cast.to);
      std::string base;
      base.reserve(producer.size() + port.size() + colours_.cast_suffix.size() + 16);
      base.append(producer).append("-").append(port).append("-").append(word).append(colours_.cast_suffix);
      cast.name = base;
      if (taken.empty()) continue;
      for (int i = 1; taken.contains(cast.name) || given.contains(cast.name); ++i)
        cast.name = base + "_" + std::to_string(i);
      given.insert(cast.name);
    }
  }

  const OpGraph& graph_;
  const Colouring& colours_;
  const bool whole_;
  CastPlan plan_;
  std::vector<OpReaders::Read> needs_, there_;  // of the node at hand
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
  return unit.type == ElementType::kFloat && has_kernel(n, unit, low) && !n.preserved && !is_constant(n.op) &&
         (!n.stateful || n.random);
}

// implements: N290, N291
CastPlan plan_casts(const OpGraph& graph, const Colouring& colours) { return Planner(graph, colours, true).plan(); }

CastPlan precision_detail::counted_casts(const OpGraph& graph, const Colouring& colours) {
  return Planner(graph, colours, false).plan();
}

}  // namespace softamp
