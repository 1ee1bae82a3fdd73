// The pass of a recipe of block formats: quantisations in front of products.
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "softamp/graph/operation.h"
#include "softamp/machine/float_environment.h"
#include "softamp/names/block_format_names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/precision/fp8_recipe.h"

namespace softamp {
namespace {

using block::BlockFormat;

enum class Operand : uint8_t { kInput, kWeight, kGradient };
constexpr const char* kOperandNames[] = {"input", "weight", "gradient"};
const char* name_of(Operand o) { return kOperandNames[static_cast<size_t>(o)]; }

/// One of the three products of a linear layer.
struct LinearProduct {
  int forward;          ///< the node of fprop
  const char* product;  ///< "fprop", "dgrad", "wgrad"
  Operand operands[2];  ///< of the node's inputs
  const std::string* formats[2];
};

bool is_convolution(const std::string& op) { return op.starts_with("Conv2D"); }

class Fp8Pass {
 public:
  Fp8Pass(const Graph& graph, const Fp8Recipe& recipe, ListView<std::string> fetches)
      : graph_(graph), recipe_(recipe), number_(static_cast<size_t>(graph.size()), -1) {
    report_.before = op_graph(graph, fetches);
    report_.colours = Colouring::nothing(report_.before, "fp8 " + recipe.name, DType::kBFloat16);
    find_layers();
    find_gradients();
  }

  GraphRewrite run() {
    b_.set_preset(graph_.preset().value_or(Preset::kIeee));
    for (int n = 0; n < graph_.size(); ++n) {
      std::vector<Port> inputs;
      for (const Port& p : graph_.node(n).inputs) inputs.push_back({number_[static_cast<size_t>(p.node)], p.port});
      const auto product = products_.find(n);
      if (product != products_.end() && scales(n, product->second)) {
        number_[static_cast<size_t>(n)] = scaled(n, product->second, inputs).node;
        continue;
      }
      if (product != products_.end())
        for (size_t i = 0; i < 2; ++i) inputs[i] = quantized(n, product->second, i, inputs[i]);
      number_[static_cast<size_t>(n)] = b_.add_copy(graph_, n, std::move(inputs)).node;
    }
    explain();
    report_.plan = plan_casts(report_.before, report_.colours);
    Graph rewritten = b_.build();
    verify(rewritten);
    return {std::move(rewritten), std::move(report_), std::move(state_)};
  }

 private:
  const Node& node(int n) const { return graph_.node(n); }

  /// What lies behind operations that move elements or change nothing.
  Port origin(Port p, bool only_reshapes) const {
    for (;;) {
      const std::string& op = node(p.node).op;
      const bool passes =
          op == "Reshape" || (!only_reshapes && (op == "Identity" || op == "Cast" || op == "Transpose"));
      if (!passes) return p;
      p = node(p.node).inputs[0];
    }
  }
  /// A variable, or a constant: the weight of a graph that was frozen.
  bool is_weight(Port p) const {
    const std::string& op = node(origin(p, false).node).op;
    return is_variable(op) || op == "Const";
  }
  bool is_float32(int n) const { return node(n).outputs[0].dtype == DType::kFloat32; }

  // implements: N503
  void find_layers() {
    std::vector<std::pair<int, int>> layers;  // node, which input is the weight
    for (int n = 0; n < graph_.size(); ++n) {
      const Node& node = graph_.node(n);
      if (node.op != "MatMul" && node.op != "BatchMatMulV2" && node.op != "Conv2D") continue;
      if (node.name.starts_with("gradients/") || !is_float32(n)) continue;
      const bool first = is_weight(node.inputs[0]), second = is_weight(node.inputs[1]);
      if (first != second) layers.emplace_back(n, first ? 0 : 1);
    }
    const auto count = static_cast<int64_t>(layers.size());
    for (int64_t i = 0; i < count; ++i) {
      const auto [n, weight] = layers[static_cast<size_t>(i)];
      const bool kept = i < recipe_.keep_first || count - i <= recipe_.keep_last;
      if (kept) {
        kept_[n] = i < recipe_.keep_first ? "one of the first linear layers" : "one of the last linear layers";
        continue;
      }
      const bool w = weight == 1;
      weights_[n] = weight;
      products_[n] = {
          n,
          "fprop",
          {w ? Operand::kInput : Operand::kWeight, w ? Operand::kWeight : Operand::kInput},
          {w ? &recipe_.fprop.first : &recipe_.fprop.second, w ? &recipe_.fprop.second : &recipe_.fprop.first}};
    }
    if (products_.empty())
      report_.colours.messages.push_back("WARNING fp8 " + recipe_.name + ": no linear layer is left of " +
                                         std::to_string(count) + " to be quantised");
  }

  /// The gradient's nodes of a layer lie in the scope that `gradients` gives them.
  void find_gradients() {
    std::map<std::string, int, std::less<>> scopes;
    for (const auto& [n, weight] : weights_) scopes["gradients/" + node(n).name + "_grad"] = n;
    for (int n = 0; n < graph_.size(); ++n) {
      const Node& g = node(n);
      if (g.op != "MatMul" && g.op != "BatchMatMulV2" && g.op != "Conv2DBackpropInput" &&
          g.op != "Conv2DBackpropFilter")
        continue;
      const auto scope = scopes.find(scope_of(g.name));
      if (scope == scopes.end() || !is_float32(n)) continue;
      const Node& forward = node(scope->second);
      const auto weight = static_cast<size_t>(weights_.at(scope->second));
      const Port w = origin(forward.inputs[weight], true), x = origin(forward.inputs[1 - weight], true);
      LinearProduct p{scope->second, "dgrad", {Operand::kGradient, Operand::kGradient}, {}};
      for (size_t i = 0; i < 2; ++i) {
        const Port from = origin(g.inputs[i], true);
        if (from == w) p.operands[i] = Operand::kWeight;
        if (from == x) p.operands[i] = Operand::kInput, p.product = "wgrad";
      }
      const Fp8Recipe::Operands& formats = *p.product == 'd' ? recipe_.dgrad : recipe_.wgrad;
      if ((p.operands[0] == Operand::kGradient) == (p.operands[1] == Operand::kGradient)) continue;
      for (size_t i = 0; i < 2; ++i)
        p.formats[i] = p.operands[i] == Operand::kGradient ? &formats.first : &formats.second;
      products_[n] = p;
    }
  }

  /// The axis of operand i that the product sums. A convolution sums channels, and in its filter's gradient the batch.
  // implements: N499
  int64_t summed_axis(int n, size_t i) const {
    const Node& p = node(n);
    if (p.op == "Conv2DBackpropFilter") return 0;
    if (is_convolution(p.op)) return p.op == "Conv2D" && i == 1 ? 2 : 3;
    const int64_t rank = graph_.type(p.inputs[i]).shape.rank();
    const bool batches = p.op == "BatchMatMulV2";
    const bool turned =
        attribute<bool>(p, batches ? (i == 0 ? "adj_x" : "adj_y") : (i == 0 ? "transpose_a" : "transpose_b"));
    return (i == 0) != turned ? rank - 1 : rank - 2;
  }

  /// Whether product n becomes a ScaledMatMul.
  bool scales(int n, const LinearProduct& p) const {
    return !recipe_.accumulation.empty() && !is_convolution(node(n).op) && !p.formats[0]->empty() &&
           !p.formats[1]->empty();
  }
  Port scaled(int n, const LinearProduct& p, std::vector<Port> inputs) {
    const Node& product = node(n);
    const bool batches = product.op == "BatchMatMulV2";
    for (size_t i = 0; i < 2; ++i)
      if (recipe_.hadamard && *p.product == 'w')
        inputs[i] = transformed(inputs[i], summed_axis(n, i), product.name + "/" + name_of(p.operands[i]));
    return b_.add_named(product.name, "ScaledMatMul", std::move(inputs),
                        {{"transpose_a", attribute<bool>(product, batches ? "adj_x" : "transpose_a")},
                         {"transpose_b", attribute<bool>(product, batches ? "adj_y" : "transpose_b")},
                         {"a_format", *p.formats[0]},
                         {"b_format", *p.formats[1]},
                         {"accumulation", recipe_.accumulation},
                         {"promotion", recipe_.promotion},
                         {"promote_every", recipe_.promote_every}});
  }
  Port transformed(Port x, int64_t axis, const std::string& name) {
    return b_.add("HadamardTransform", {x}, {{"size", recipe_.hadamard}, {"signs", signs()}, {"axis", axis}},
                  name + "/hadamard");
  }

  /// Operand i of product n, in the new graph, as it goes into the product.
  Port quantized(int n, const LinearProduct& p, size_t i, Port x) {
    const std::string& text = *p.formats[i];
    if (text.empty()) return x;
    const Operand operand = p.operands[i];
    const BlockFormat format = parse_block_format(text);
    if (recipe_.scaling == Fp8Scaling::kDelayed) return delayed(p, operand, text, x);
    if (recipe_.scaling == Fp8Scaling::kUnit) return unit(p, operand, text, x);
    int64_t axis = summed_axis(n, i);
    // A tile is the same whichever of its axes is summed; a whole array has none.
    const bool has_axis = format.rows == 1;
    const int64_t turn = recipe_.hadamard && *p.product == 'w' ? axis : -1;
    if (!has_axis) axis = -1;
    const std::string name = node(n).name + "/" + name_of(operand);
    const auto made = std::tuple(node(n).inputs[i].node, node(n).inputs[i].port, text, axis, turn);
    if (const auto it = made_.find(made); it != made_.end()) return it->second;
    if (turn >= 0) x = transformed(x, turn, name);
    const Port y = b_.add("FakeQuantize", {x}, {{"format", text}, {"axis", axis}}, name + "/quantized");
    if (!format.rounding().stochastic()) made_[made] = y;
    return y;
  }
  int64_t signs() const {
    uint64_t mask = 0;
    for (size_t i = 0; i < recipe_.hadamard_signs.size(); ++i) mask |= uint64_t{recipe_.hadamard_signs[i] == '-'} << i;
    return static_cast<int64_t>(mask);
  }

  /// One factor for a tensor of a layer, whichever of its products reads it.
  // implements: N500
  Port delayed(const LinearProduct& p, Operand operand, const std::string& text, Port x) {
    const auto key = std::pair(p.forward, operand);
    if (const auto it = of_layer_.find(key); it != of_layer_.end()) return it->second;
    const std::string name = "fp8/" + node(p.forward).name + "/" + name_of(operand);
    const auto variable = [&](const char* last, const Shape& shape, double initial, bool is_maximum) {
      PassVariable v{name + "/" + last, {DType::kFloat32, shape}, initial, is_maximum};
      state_.push_back(v);
      return b_.add_named(v.name, "VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", shape}});
    };
    const Port history = variable("amax_history", Shape{recipe_.amax_history_len}, 0, false);
    const Port scale = variable("scale", Shape{}, 1, false), amax = variable("amax", Shape{}, 0, true);
    const Port next = b_.add("Fp8ScaleUpdate", {history, scale, amax},
                             {{"format", text},
                              {"margin", recipe_.margin},
                              {"amax_compute_algo", recipe_.amax_compute_algo},
                              {"zero_keeps_history", recipe_.zero_keeps_history}},
                             name + "/update");
    const Port factor{next.node, 1};
    const auto assign = [&](Port value, const char* last) {
      b_.add("Assign", {value}, {{"ref", name + "/" + last}}, name + "/assign_" + last);
    };
    assign(next, "amax_history");
    assign(factor, "scale");
    assign(b_.add("Max", {b_.add("Abs", {x}, {}, name + "/abs")}, {}, name + "/max"), "amax");
    return of_layer_[key] = b_.add("FakeQuantize", {x, factor}, {{"format", text}}, name + "/quantized");
  }

  /// Factors that the shapes give: sqrt of the elements that fprop sums for weights, the rows of a batch for gradients.
  // implements: N502
  Port unit(const LinearProduct& p, Operand operand, const std::string& text, Port x) {
    const auto key = std::pair(p.forward, operand);
    if (const auto it = of_layer_.find(key); it != of_layer_.end()) return it->second;
    const Node& forward = node(p.forward);
    const auto weight = static_cast<size_t>(weights_.at(p.forward));
    const Shape& w = graph_.type(forward.inputs[weight]).shape;
    const bool convolution = is_convolution(forward.op);
    const int64_t summed = convolution ? w[0] * w[1] * w[2] : w[static_cast<int>(summed_axis(p.forward, weight))];
    const int64_t outputs = convolution ? w[3] : w.elements() / summed;
    const double of_weight = std::sqrt(static_cast<double>(summed));
    const double of_gradient = static_cast<double>(forward.outputs[0].shape.elements() / outputs);
    const double factor = operand == Operand::kWeight ? of_weight : operand == Operand::kGradient ? of_gradient : 1;
    const std::string name = "fp8/" + forward.name + "/" + name_of(operand);
    const Port f = b_.constant(Tensor::full(DType::kFloat32, {}, factor), name + "/factor");
    return of_layer_[key] = b_.add("FakeQuantize", {x, f}, {{"format", text}}, name + "/quantized");
  }

  void explain() {
    for (int n = 0; n < graph_.size(); ++n) {
      const auto product = products_.find(n);
      const auto kept = kept_.find(n);
      std::string list = "unlisted", reason = "no product of a linear layer";
      if (kept != kept_.end()) list = "kept", reason = kept->second;
      if (product != products_.end()) {
        list = product->second.product;
        reason.clear();
        for (size_t i = 0; i < 2; ++i) {
          const std::string& format = *product->second.formats[i];
          reason += (i ? ", " : "") + std::string(name_of(product->second.operands[i])) + " " +
                    (format.empty() ? "float32" : format);
        }
      }
      for (int u = report_.before.first_unit[static_cast<size_t>(n)];
           u < report_.before.first_unit[static_cast<size_t>(n) + 1]; ++u) {
        report_.colours.lists[static_cast<size_t>(u)] = list;
        report_.colours.reasons[static_cast<size_t>(u)] = reason;
      }
    }
    report_.colours.messages.push_back(
        "INFO fp8 " + recipe_.name + ": quantised the operands of " + std::to_string(products_.size()) +
        " products of " + std::to_string(weights_.size()) + " linear layers; kept " + std::to_string(kept_.size()));
  }

  const Graph& graph_;
  const Fp8Recipe& recipe_;
  PrecisionReport report_;
  GraphBuilder b_;
  std::vector<int> number_;                ///< of each node in the new graph
  std::map<int, int> weights_;             ///< of a layer's fprop: which input is the weight
  std::map<int, LinearProduct> products_;  ///< by node
  std::map<int, std::string> kept_;
  std::map<std::tuple<int, int, std::string, int64_t, int64_t>, Port> made_;
  std::map<std::pair<int, Operand>, Port> of_layer_;
  std::vector<PassVariable> state_;
};

}  // namespace

GraphRewrite quantize_products(const Graph& graph, const Fp8Recipe& recipe, ListView<std::string> fetches) {
  const engine::DefaultEnvironment guard;
  return Fp8Pass(graph, recipe, fetches).run();
}

}  // namespace softamp
