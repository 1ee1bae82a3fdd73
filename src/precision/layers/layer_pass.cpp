// Colours of a finished graph under a rule for layers.
//
// Linear in nodes and edges: numbers the layers, finds the first input of each, walks twice inside layers, and once
// over the nodes between them, counting missing inputs. The order of nodes decides only which of several edges from
// outside is a layer's first input. Casts between floating dtypes are looked through, wherever they are, so that a
// second run sees the same layers as the first.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <unordered_map>

#include "softamp/precision/layer_rule.h"
#include "src/precision/joined_units.h"
#include "src/precision/layers/layer_kind.h"
#include "src/precision/layers/loss_layers.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

constexpr uint8_t kFromInput = 1, kFromVariable = 2;

struct Layer {
  std::string_view path;
  LayerKind kind = LayerKind::kOther;
  OpEdge first;                                                  ///< node -1: nothing comes from outside
  std::array<std::optional<LayerPrecision>, kLayerKinds> rules;  ///< as they were asked for
};

class LayerPass {
 public:
  LayerPass(const OpGraph& graph, const LayerRule& rule, DType low, std::string mechanism)
      : graph_(graph),
        rule_(rule),
        low_type_(element_type(low)),
        colours_(Colouring::nothing(graph, std::move(mechanism), low)),
        readers_(readers(graph)) {}

  Colouring run() {
    number_layers();
    if (layers_.empty())
      colours_.messages.push_back(
          "WARNING " + colours_.mechanism +
          ": no node belongs to a layer, so that nothing is converted; expected names with scopes (dense/MatMul), or "
          "the attribute \"layer\"");
    find_origins();
    find_losses();
    find_first_inputs();
    walk(kFromInput);
    walk(kFromVariable);
    for (int n = 0; n < graph_.size(); ++n)
      if (layer_of(n) >= 0) colour_in_layer(n);
    follow_inputs();
    precision_detail::settle_joined_units(graph_, colours_);
    remark_on_scopes();
    return std::move(colours_);
  }

 private:
  const OpNode& node(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  int layer_of(int n) const { return layer_of_[static_cast<size_t>(n)]; }
  uint8_t& reached(int n) { return reached_[static_cast<size_t>(n)]; }

  void number_layers() {
    std::unordered_map<std::string_view, int> numbers;
    layer_of_.reserve(graph_.nodes.size());
    for (const OpNode& n : graph_.nodes) {
      if (n.layer.empty()) {
        layer_of_.push_back(-1);
        continue;
      }
      const auto [known, added] = numbers.emplace(n.layer, static_cast<int>(layers_.size()));
      if (added) layers_.emplace_back().path = n.layer;
      layer_of_.push_back(known->second);
      LayerKind& kind = layers_[static_cast<size_t>(known->second)].kind;
      kind = std::max(kind, kind_of(n.op));
    }
    reached_.assign(graph_.nodes.size(), 0);
  }

  /// Losses that are no cross-entropy operations.
  void find_losses() {
    std::vector<LayerFacts> facts;
    for (const Layer& layer : layers_)
      facts.push_back({layer.path, layer.kind == LayerKind::kOther, layer.kind == LayerKind::kLoss});
    const std::vector<bool> losses = find_loss_layers(graph_, layer_of_, facts);
    for (size_t l = 0; l < layers_.size(); ++l)
      if (losses[l]) layers_[l].kind = LayerKind::kLoss;
  }

  /// Products in no layer that stay float32 are said: most of a network may be there.
  void remark_on_scopes() {
    if (layers_.empty()) return;
    int64_t all = 0, outside = 0;
    std::string first;
    for (int n = 0; n < graph_.size(); ++n) {
      const LayerKind kind = kind_of(node(n).op);
      if (kind != LayerKind::kDense && kind != LayerKind::kConv2d) continue;
      ++all;
      bool low = false, could = false;
      for (int u = 0; u < static_cast<int>(node(n).units.size()); ++u) {
        low = low || colours_.is_low(graph_.unit(n, u));
        could = could || why_fixed(node(n), node(n).units[static_cast<size_t>(u)], colours_.low).empty();
      }
      if (layer_of(n) >= 0 || low || !could) continue;
      if (outside++ == 0) first = node(n).name;
    }
    if (outside > 0)
      colours_.messages.push_back("WARNING " + colours_.mechanism + ": " + std::to_string(outside) + " of " +
                                  std::to_string(all) + (all == 1 ? " product belongs" : " products belong") +
                                  " to no layer and " + (outside == 1 ? "stays" : "stay") + " float32, the first '" +
                                  files::excerpt(first) +
                                  "': a node without a layer follows its inputs; expected names with scopes "
                                  "(dense/MatMul), or the attribute \"layer\"");
  }

  /// For every input its origin before casts; and for every producer its readers behind casts.
  void find_origins() {
    origins_begin_.assign(1, 0);
    reads_begin_.assign(graph_.nodes.size() + 1, 0);
    for (const OpNode& n : graph_.nodes) {
      for (OpEdge e : n.inputs) {
        e = origin_of(e);
        origins_.push_back(e);
        ++reads_begin_[static_cast<size_t>(e.node) + 1];
      }
      origins_begin_.push_back(origins_.size());
    }
    for (size_t n = 1; n < reads_begin_.size(); ++n) reads_begin_[n] += reads_begin_[n - 1];
    reads_.resize(origins_.size());
    std::vector<size_t> next(reads_begin_.begin(), reads_begin_.end() - 1);
    for (int n = 0; n < graph_.size(); ++n)
      for (const OpEdge& e : origins(n)) reads_[next[static_cast<size_t>(e.node)]++] = {n, e.port};
  }
  OpEdge origin_of(OpEdge e) const {
    constexpr int kMostCasts = 8;  // in a row; a loop of casts ends here too
    for (int i = 0; i < kMostCasts && is_float_cast(node(e.node)); ++i) e = node(e.node).inputs[0];
    return e;
  }
  bool is_float_cast(const OpNode& n) const {
    return n.op == "Cast" && n.inputs.size() == 1 && !n.output_types.empty() && is_number(n.output_types[0]) &&
           is_number(graph_.type(n.inputs[0]));
  }
  /// A constant, a variable, or an Identity that reads a variable: no input of a layer.
  bool is_parameter(const OpNode& n) const {
    if (is_constant(n.op) || is_variable(n.op)) return true;
    return n.op == "Identity" && n.inputs.size() == 1 && is_variable(node(origin_of(n.inputs[0]).node).op);
  }
  std::span<const OpEdge> origins(int n) const {
    const size_t begin = origins_begin_[static_cast<size_t>(n)], end = origins_begin_[static_cast<size_t>(n) + 1];
    return std::span(origins_).subspan(begin, end - begin);
  }

  void find_first_inputs() {
    for (int n = 0; n < graph_.size(); ++n) {
      const int number = layer_of(n);
      if (number < 0 || is_float_cast(node(n))) continue;
      Layer& layer = layers_[static_cast<size_t>(number)];
      for (const OpEdge& e : origins(n))
        if (layer.first.node < 0 && layer_of(e.node) != number && !is_parameter(node(e.node))) layer.first = e;
    }
  }

  /// The rule's answer for a node of a layer. A norm or a loss that shares its scope with products keeps its kind.
  const LayerPrecision& precision(int number, LayerKind of_node) {
    Layer& layer = layers_[static_cast<size_t>(number)];
    const LayerKind kind = stands_alone(of_node) ? of_node : layer.kind;
    std::optional<LayerPrecision>& asked = layer.rules[static_cast<size_t>(kind)];
    if (!asked) asked = checked(rule_(word_of(kind), layer.path), layer.path);
    return *asked;
  }
  LayerPrecision checked(LayerPrecision p, std::string_view path) const {
    if (p.compute != DType::kFloat32 && p.compute != colours_.low)
      throw std::invalid_argument(colours_.mechanism + ": layer '" + std::string(path) + "' is to compute in " +
                                  name_of(p.compute) + "; expected float32 or " + name_of(colours_.low) +
                                  ", the pass's low precision");
    return p;
  }

  /// Whether an edge carries values: a shape or condition computed from x does not count as x.
  bool carries_numbers(const OpEdge& e) const {
    const ElementType t = graph_.type(e);
    return is_number(t) || t == ElementType::kResource || t == ElementType::kFloatRef || t == ElementType::kUnknown;
  }

  void walk(uint8_t from) {
    std::vector<int> queue;
    const auto reach = [&](int n) {
      if (reached(n) & from) return;
      reached(n) |= from;
      queue.push_back(n);
    };
    for (int n = 0; n < graph_.size(); ++n) {
      const int number = layer_of(n);
      if (number < 0) continue;
      const Layer& layer = layers_[static_cast<size_t>(number)];
      for (const OpEdge& e : origins(n)) {
        const bool starts = from == kFromInput ? e == layer.first && precision(number, kind_of(node(n).op)).cast_input
                                               : layer_of(e.node) == number && is_variable(node(e.node).op);
        if (starts && carries_numbers(e)) reach(n);
      }
    }
    for (size_t i = 0; i < queue.size(); ++i) {
      const auto n = static_cast<size_t>(queue[i]);
      for (size_t r = reads_begin_[n]; r < reads_begin_[n + 1]; ++r)
        if (layer_of(reads_[r].node) == layer_of(queue[i]) && carries_numbers({queue[i], reads_[r].port}))
          reach(reads_[r].node);
    }
  }

  void decide(int n, size_t local, const std::string& list, bool low, const std::string& reason) {
    const OpNode& of = node(n);
    const auto u = static_cast<size_t>(graph_.unit(n, static_cast<int>(local)));
    const std::string why_not = why_fixed(of, of.units[local], colours_.low);
    colours_.low_units[u] = low && why_not.empty();
    colours_.lists[u] = list;
    colours_.reasons[u] = why_not.empty() ? reason : why_not;
  }

  const std::string& reason_of(const LayerPrecision& p) const {
    return p.reason.empty() ? colours_.mechanism : p.reason;
  }

  void colour_in_layer(int n) {
    const OpNode& of = node(n);
    if (of.units.empty()) return;
    const int number = layer_of(n);
    const Layer& layer = layers_[static_cast<size_t>(number)];
    const LayerPrecision& p = precision(number, kind_of(of.op));
    const bool is_low = p.compute == colours_.low;
    const std::string place = "layer '" + std::string(layer.path) + "'";
    std::string reason = reason_of(p);
    if (!is_low)
      reason += ", " + place;
    else if (reached(n) & kFromInput)
      reason += ", " + place + ", from its first input '" + node(layer.first.node).name + "'";
    else if (reached(n) & kFromVariable)
      reason += ", " + place + ", from its variables";
    else
      reason = "in " + place + ", but neither from its first input nor from its variables";
    const std::string_view word = word_of(stands_alone(kind_of(of.op)) ? kind_of(of.op) : layer.kind);
    for (size_t u = 0; u < of.units.size(); ++u)
      decide(n, u, word.empty() ? "layer" : std::string(word), is_low && reached(n), reason);
  }

  /// Whether the tensor of an edge counts as low for nodes that follow their inputs.
  bool hands_on_low(const OpEdge& e) {
    if (graph_.type(e) == low_type_) return true;
    const bool low = colours_.is_low(graph_.producer_unit(e));
    const int number = layer_of(e.node);
    if (number < 0 || graph_.type(e) != ElementType::kFloat || node(e.node).op == "Cast") return low;
    const std::optional<DType>& output = precision(number, kind_of(node(e.node).op)).output;
    return output ? *output == colours_.low : low;
  }

  /// Nodes outside of all layers: low when all their floating inputs are. This is the least fixed point and does not
  /// depend on the order of nodes; the nodes of a loop stay as they are.
  void follow_inputs() {
    std::vector<int> waits_for(graph_.nodes.size(), 0), queue;
    for (int n = 0; n < graph_.size(); ++n) {
      if (layer_of(n) >= 0) continue;
      int numbers = 0;
      for (const OpEdge& e : node(n).inputs) {
        if (!is_number(graph_.type(e))) continue;
        ++numbers;
        // A neighbour without a layer is decided later, in its turn.
        if (graph_.type(e) == low_type_ || (layer_of(e.node) >= 0 && hands_on_low(e))) continue;
        ++waits_for[static_cast<size_t>(n)];
      }
      if (numbers > 0 && waits_for[static_cast<size_t>(n)] == 0) queue.push_back(n);
      for (size_t u = 0; u < node(n).units.size(); ++u)
        decide(n, u, "no layer", false, numbers > 0 ? "not all of its inputs are low" : "no floating inputs");
    }
    for (size_t i = 0; i < queue.size(); ++i) {
      const int n = queue[i];
      const OpNode& of = node(n);
      if (const LayerKind kind = kind_of(of.op); stands_alone(kind)) {
        const LayerPrecision p = checked(rule_(word_of(kind), of.name), of.name);
        if (p.compute != colours_.low) {
          for (size_t u = 0; u < of.units.size(); ++u) decide(n, u, std::string(word_of(kind)), false, reason_of(p));
          continue;
        }
      }
      for (size_t u = 0; u < of.units.size(); ++u) decide(n, u, "no layer", true, "all of its inputs are low");
      for (const OpReaders::Read& r : readers_.of(n)) {
        if (layer_of(r.node) >= 0) continue;
        const OpEdge e{n, r.port};
        if (graph_.type(e) == low_type_ || !colours_.is_low(graph_.producer_unit(e))) continue;
        if (--waits_for[static_cast<size_t>(r.node)] == 0) queue.push_back(r.node);
      }
    }
  }

  const OpGraph& graph_;
  const LayerRule& rule_;
  ElementType low_type_;
  Colouring colours_;
  OpReaders readers_;
  std::vector<Layer> layers_;
  std::vector<int> layer_of_;
  std::vector<OpEdge> origins_, reads_;  ///< of every input, by reader; and readers (node, port read), by producer
  std::vector<size_t> origins_begin_, reads_begin_;
  std::vector<uint8_t> reached_;
};

}  // namespace

Colouring colour_layers(const OpGraph& graph, const LayerRule& rule, DType low, std::string mechanism) {
  // A policy or level of float32 throughout.
  if (low == DType::kFloat32) return Colouring::nothing(graph, std::move(mechanism), DType::kFloat16);
  if (low != DType::kFloat16 && low != DType::kBFloat16 && low != DType::kFloat64)
    throw std::invalid_argument(mechanism + ": low precision is " + name_of(low) +
                                "; expected float16, bfloat16 or float64");
  return LayerPass(graph, rule, low, std::move(mechanism)).run();
}

}  // namespace softamp
