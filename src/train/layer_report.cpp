#include "src/train/layer_report.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace softamp {
namespace {

bool is_low(ElementType t) { return t == ElementType::kHalf || t == ElementType::kBFloat16; }
bool is_reduced(ElementType t) { return is_low(t) || t == ElementType::kFloat; }

class LayerReport {
 public:
  LayerReport(const Graph& graph, const Model& model) : model_(model), after_(op_graph(graph)) {
    number_.assign(after_.nodes.size(), -1);
    int next = 0;
    for (int n = 0; n < after_.size(); ++n)
      if (!is_cast(n)) number_[at(n)] = next++;
  }

  PrecisionReport report() {
    PrecisionReport r;
    r.before = before();
    r.colours = Colouring::nothing(r.before, model_.mechanism, low());
    r.plan.low = r.colours.low;
    for (int n = 0; n < after_.size(); ++n)
      if (number_[at(n)] >= 0) colour(n, r);
    gather_casts(r);
    return r;
  }

 private:
  static size_t at(int n) { return static_cast<size_t>(n); }

  /// The network in float32 has no Cast between floating dtypes.
  bool is_cast(int n) const {
    const OpNode& node = after_.nodes[at(n)];
    return node.op == "Cast" && is_reduced(node.output_types[0]) && is_reduced(after_.type(node.inputs[0]));
  }

  DType low() const {
    for (const OpNode& node : after_.nodes)
      for (const ElementType t : node.output_types)
        if (is_low(t)) return t == ElementType::kHalf ? DType::kFloat16 : DType::kBFloat16;
    return DType::kFloat16;
  }

  /// The origin before all casts, with its number in `before`.
  OpEdge source(OpEdge e) const {
    while (is_cast(e.node)) e = after_.nodes[at(e.node)].inputs[0];
    return {number_[at(e.node)], e.port};
  }

  OpGraph before() const {
    OpGraph picture;
    for (int n = 0; n < after_.size(); ++n) {
      if (number_[at(n)] < 0) continue;
      OpNode node = after_.nodes[at(n)];
      for (OpEdge& e : node.inputs) e = source(e);
      for (TypeUnit& unit : node.units)
        if (is_low(unit.type)) unit.type = ElementType::kFloat;
      for (ElementType& t : node.output_types)
        if (is_low(t)) t = ElementType::kFloat;
      picture.nodes.push_back(std::move(node));
    }
    picture.number_units();
    return picture;
  }

  /// The innermost layer that a node, or the node whose gradient it computes, belongs to.
  const RuledLayer* layer_of(std::string_view name) const {
    constexpr std::string_view kGradients = "gradients/";
    if (name.starts_with(kGradients)) name.remove_prefix(kGradients.size());
    const RuledLayer* found = nullptr;
    for (const RuledLayer& layer : model_.layers)
      if (name.size() > layer.path.size() && name[layer.path.size()] == '/' && name.starts_with(layer.path) &&
          (!found || layer.path.size() > found->path.size()))
        found = &layer;
    return found;
  }

  void colour(int n, PrecisionReport& r) const {
    const OpNode& node = after_.nodes[at(n)];
    const RuledLayer* layer = layer_of(node.name);
    for (int u = 0; u < static_cast<int>(node.units.size()); ++u) {
      const bool became_low = is_low(node.units[at(u)].type);
      const auto unit = at(r.before.unit(number_[at(n)], u));
      r.colours.low_units[unit] = became_low;
      r.colours.lists[unit] = layer ? layer->kind : "no layer";
      r.colours.reasons[unit] = layer && !layer->precision.reason.empty() ? layer->precision.reason
                                : layer                                   ? "rule of " + layer->path
                                : became_low                              ? "follows its inputs"
                                                                          : "outside of all layers";
      if (became_low) r.plan.retyped.emplace_back(number_[at(n)], u);
    }
  }

  void gather_casts(PrecisionReport& r) const {
    const OpReaders all = readers(after_);
    for (int n = 0; n < after_.size(); ++n) {
      if (!is_cast(n)) continue;
      const OpNode& node = after_.nodes[at(n)];
      PlannedCast cast;
      cast.name = node.name;
      cast.from = source(node.inputs[0]);
      cast.to = *dtype_of(node.output_types[0]);
      cast.device = node.device;
      cast.of_constant = is_constant_or_variable(r.before, cast.from.node);
      for (const OpReaders::Read& read : all.of(n))
        if (number_[at(read.node)] >= 0) cast.readers.emplace_back(number_[at(read.node)], read.input);
      r.plan.casts.push_back(std::move(cast));
    }
    std::stable_sort(r.plan.casts.begin(), r.plan.casts.end(), [](const PlannedCast& a, const PlannedCast& b) {
      return std::pair(a.from.node, a.from.port) < std::pair(b.from.node, b.from.port);
    });
  }

  const Model& model_;
  OpGraph after_;
  std::vector<int> number_;  // of each node in `before`; -1: a cast
};

}  // namespace

PrecisionReport report_of_layers(const Graph& graph, const Model& model) { return LayerReport(graph, model).report(); }

}  // namespace softamp
