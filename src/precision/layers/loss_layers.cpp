#include "src/precision/layers/loss_layers.h"

#include "src/precision/layers/layer_kind.h"

namespace softamp {
namespace {

bool is_whole_number(ElementType t) {
  return t == ElementType::kInt32 || t == ElementType::kInt64 || t == ElementType::kUint8;
}
bool asks_for_shape(std::string_view op) { return op == "Shape" || op == "ShapeN" || op == "Size" || op == "Rank"; }
bool reduces(std::string_view op) { return op == "Mean" || op == "Sum" || op == "L2Loss"; }
/// What tells a comparison from a weighted sum, such as the pooling of what a mask leaves.
bool bends(std::string_view op) {
  for (const std::string_view known : {"SquaredDifference", "Square", "Abs", "Log", "Log1p", "LogSoftmax", "Softplus",
                                       "Relu", "Maximum", "Minimum", "Exp", "Pow", "L2Loss", "Sqrt"})
    if (op == known) return true;
  return false;
}

class LossLayers {
 public:
  LossLayers(const OpGraph& graph, std::span<const int> layer_of, std::span<const LayerFacts> layers)
      : graph_(graph), layer_of_(layer_of), layers_(layers), readers_(readers(graph)), parts_(layers.size()) {}

  std::vector<bool> find() {
    learned_ = reached_from([&](int n) { return is_variable(node(n).op) || is_product(node(n).op); }, is_number);
    of_shapes_ = reached_from([&](int n) { return asks_for_shape(node(n).op); }, is_whole_number);
    for (int n = 0; n < graph_.size(); ++n)
      if (layer_of(n) >= 0) look_at_inputs(n);
    find_what_leads_on();
    // In each layer what its learned inputs reach, what is bent on the way, and the sums of that.
    compared_ = reached_from([&](int n) { return layer_of(n) >= 0 && has_learned_input(n); }, is_number, true);
    bent_ = reached_from([&](int n) { return is_compared(n) && bends(node(n).op); }, is_number, true);
    const auto sums = reached_from([&](int n) { return is_bent(n) && reduces(node(n).op); }, is_number, true);
    for (int n = 0; n < graph_.size(); ++n)
      if (sums[static_cast<size_t>(n)]) look_at_readers(n);
    std::vector<bool> losses(layers_.size());
    for (size_t l = 0; l < layers_.size(); ++l)
      losses[l] = layers_[l].is_loss ||
                  (may_be_loss(l) && parts_[l].has_label && parts_[l].has_reduction && !parts_[l].is_read);
    spread(losses);
    return losses;
  }

 private:
  struct Parts {
    bool keeps_state = false, has_label = false, has_learned = false;
    bool has_reduction = false, is_read = false;  ///< of a bent learned input; by a layer of the network
    std::vector<int> learned_from;                ///< layers, -1 for a node without one
  };

  const OpNode& node(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  int layer_of(int n) const { return layer_of_[static_cast<size_t>(n)]; }
  Parts& parts(int n) { return parts_[static_cast<size_t>(layer_of(n))]; }
  static bool is_product(std::string_view op) {
    const LayerKind kind = kind_of(op);
    return kind == LayerKind::kDense || kind == LayerKind::kConv2d;
  }
  bool is_compared(int n) const { return compared_[static_cast<size_t>(n)] != 0; }
  bool is_bent(int n) const { return bent_[static_cast<size_t>(n)] != 0; }
  bool is_of_gradients(size_t l) const { return layers_[l].path.starts_with("gradient"); }
  bool may_be_loss(size_t l) const { return layers_[l].is_plain && !is_of_gradients(l) && !parts_[l].keeps_state; }
  bool is_learned(const OpEdge& e) const {
    return learned_[static_cast<size_t>(e.node)] && is_number(graph_.type(e)) &&
           !is_constant_or_variable(graph_, e.node);
  }

  /// The nodes that satisfy `begins`, and all that they reach along edges of these types.
  template <class Begins>
  std::vector<char> reached_from(const Begins& begins, bool (*carries)(ElementType), bool within_layers = false) const {
    std::vector<char> reached(graph_.nodes.size());
    std::vector<int> queue;
    for (int n = 0; n < graph_.size(); ++n)
      if (begins(n)) reached[static_cast<size_t>(n)] = 1, queue.push_back(n);
    for (size_t i = 0; i < queue.size(); ++i)
      for (const OpReaders::Read& r : readers_.of(queue[i])) {
        char& there = reached[static_cast<size_t>(r.node)];
        if (there || (within_layers && layer_of(r.node) != layer_of(queue[i]))) continue;
        // A reference or a resource carries the variable's numbers.
        const ElementType t = graph_.type({queue[i], r.port});
        if (!carries(t) && !(is_variable(node(queue[i]).op) && carries(ElementType::kFloat))) continue;
        there = 1;
        queue.push_back(r.node);
      }
    return reached;
  }

  bool has_learned_input(int n) const {
    for (const OpEdge& e : node(n).inputs)
      if (layer_of(e.node) != layer_of(n) && is_learned(e)) return true;
    return false;
  }

  void look_at_inputs(int n) {
    Parts& of = parts(n);
    of.keeps_state = of.keeps_state || is_variable(node(n).op) || (node(n).stateful && !node(n).random);
    for (const OpEdge& e : node(n).inputs) {
      if (layer_of(e.node) == layer_of(n)) continue;
      if (is_learned(e)) {
        of.has_learned = true;
        of.learned_from.push_back(layer_of(e.node));
        continue;
      }
      const ElementType t = graph_.type(e);
      const bool is_value = is_number(t) || (is_whole_number(t) && !of_shapes_[static_cast<size_t>(e.node)]);
      of.has_label = of.has_label ||
                     (is_value && !is_constant_or_variable(graph_, e.node) && !learned_[static_cast<size_t>(e.node)]);
    }
  }

  /// Nodes that come before a product or a norm of the network, and these.
  void find_what_leads_on() {
    leads_on_.assign(graph_.nodes.size(), 0);
    std::vector<int> queue;
    for (int n = 0; n < graph_.size(); ++n)
      if (layer_of(n) >= 0 && !is_of_gradients(static_cast<size_t>(layer_of(n))) &&
          kind_of(node(n).op) > LayerKind::kLoss)
        leads_on_[static_cast<size_t>(n)] = 1, queue.push_back(n);
    for (size_t i = 0; i < queue.size(); ++i)
      for (const OpEdge& e : node(queue[i]).inputs)
        if (char& there = leads_on_[static_cast<size_t>(e.node)]; !there) there = 1, queue.push_back(e.node);
  }

  void look_at_readers(int n) {
    Parts& of = parts(n);
    of.has_reduction = true;
    of.is_read = of.is_read || leads_on_[static_cast<size_t>(n)];
  }

  /// To layers that take from losses all that comes from the network.
  void spread(std::vector<bool>& losses) const {
    for (bool more = true; more;) {
      more = false;
      for (size_t l = 0; l < layers_.size(); ++l) {
        if (losses[l] || !may_be_loss(l) || !parts_[l].has_learned) continue;
        bool all = true;
        for (const int from : parts_[l].learned_from) all = all && from >= 0 && losses[static_cast<size_t>(from)];
        if (all) losses[l] = more = true;
      }
    }
  }

  const OpGraph& graph_;
  const std::span<const int> layer_of_;
  const std::span<const LayerFacts> layers_;
  const OpReaders readers_;
  std::vector<Parts> parts_;
  std::vector<char> learned_, of_shapes_, compared_, bent_, leads_on_;
};

}  // namespace

std::vector<bool> find_loss_layers(const OpGraph& graph, std::span<const int> layer_of,
                                   std::span<const LayerFacts> layers) {
  return LossLayers(graph, layer_of, layers).find();
}

}  // namespace softamp
