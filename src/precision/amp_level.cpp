#include "softamp/precision/amp_level.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <unordered_map>

#include "src/precision/layers/layer_kind.h"
#include "src/text/joined.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

constexpr std::array<const char*, 5> kLevels = {"O0", "O1", "O2", "O3", "auto"};

/// MindSpore's operations, with the names of our graphs. Derivatives of white operations are white: MindSpore
/// differentiates a network that is in low precision already.
bool is_white(std::string_view op) {
  static constexpr std::string_view kWhite[] = {"BatchMatMul",
                                                "BatchMatMulV2",
                                                "Conv2D",
                                                "Conv2DBackpropFilter",
                                                "Conv2DBackpropInput",
                                                "Conv3D",
                                                "Conv3DBackpropFilterV2",
                                                "Conv3DBackpropInputV2",
                                                "DepthwiseConv2dNative",
                                                "DepthwiseConv2dNativeBackpropFilter",
                                                "DepthwiseConv2dNativeBackpropInput",
                                                "Ger",
                                                "MatMul",
                                                "PReLU",
                                                "Relu",
                                                "ReluGrad"};
  return std::binary_search(std::begin(kWhite), std::end(kWhite), op);
}

/// Operations that a cell Dense or Conv2d may hold besides its product, variables and constants. (Transpose: images
/// with the channels first.)
bool fits_white_cell(std::string_view op) {
  return op == "BiasAdd" || op == "Add" || op == "AddV2" || op == "Relu" || op == "Reshape" || op == "Transpose" ||
         op == "Identity" || op == "Cast" || is_constant(op) || is_variable(op);
}

/// Counts of the nodes of one scope.
struct Scope {
  int products = 0, norms = 0, others = 0, variables = 0;
  void add(std::string_view op) {
    const LayerKind kind = kind_of(op);
    if (kind == LayerKind::kConv2d || kind == LayerKind::kDense) {
      ++products;
    } else if (kind == LayerKind::kBatchNorm || kind == LayerKind::kLayerNorm) {
      ++norms;
    } else {
      variables += is_variable(op);
      others += !fits_white_cell(op);
    }
  }
  /// One product with its parameters: Dense, Conv2d.
  bool white_cell() const { return products == 1 && norms == 0 && others == 0 && variables > 0; }
  /// BatchNorm1d to 3d, LayerNorm. A scope that also has products is larger than a cell.
  bool black_cell() const { return norms > 0 && products == 0; }
};

}  // namespace

const char* name_of(AmpLevel level) { return kLevels[static_cast<size_t>(level)]; }

AmpLevel parse_amp_level(std::string_view text) {
  for (size_t i = 0; i < kLevels.size(); ++i)
    if (text == kLevels[i]) return static_cast<AmpLevel>(i);
  throw std::invalid_argument("unknown amp_level '" + files::excerpt(text) + "'; expected one of " + joined(kLevels) +
                              graph_detail::nearest_of(text, kLevels));
}

AmpSettings amp_settings(AmpLevel level, std::string_view device_target, DType low) {
  if (low != DType::kFloat16 && low != DType::kBFloat16)
    throw std::invalid_argument(std::string("amp_level ") + name_of(level) + ": low precision is " + name_of(low) +
                                "; expected float16 or bfloat16");
  if (level == AmpLevel::kAuto) {
    if (device_target == "GPU")
      level = AmpLevel::kO2;
    else if (device_target == "Ascend")
      level = AmpLevel::kO3;
    else
      throw std::invalid_argument("Level `auto` only support when `device_target` is GPU or Ascend.");
  }
  AmpSettings s;
  s.level = level;
  switch (level) {
    case AmpLevel::kO0: s.keep_batchnorm_fp32 = false; break;  // everything is float32
    case AmpLevel::kO1: s.cast_model_type = low; break;
    case AmpLevel::kO2:
      s.cast_model_type = low;
      s.loss_scale = LossScaleOptions::mindspore();
      break;
    default: s.cast_model_type = low; s.keep_batchnorm_fp32 = false;
  }
  return s;
}

LayerRule layer_rule(const AmpSettings& settings) {
  if (settings.level == AmpLevel::kO1 || settings.level == AmpLevel::kAuto)
    throw std::invalid_argument(std::string("level ") + name_of(settings.level) +
                                " is no rule for layers; expected O0, O2 or O3 (O1: colour_o1)");
  const std::string level = std::string("level ") + name_of(settings.level);
  const DType low = settings.cast_model_type;
  if (low == DType::kFloat32) {
    LayerPrecision unchanged;
    unchanged.cast_input = false;
    unchanged.reason = level;
    return [unchanged](std::string_view, std::string_view) { return unchanged; };
  }
  LayerPrecision inside, norm, loss;
  inside.compute = low;
  inside.reason = level;
  norm.output = low;
  norm.reason = level + ": BatchNorm stays float32";
  loss.reason = level + ": the loss stays float32";
  return [=, keep = settings.keep_batchnorm_fp32](std::string_view kind, std::string_view) {
    if (kind == "loss") return loss;
    return keep && kind == "batch_norm" ? norm : inside;
  };
}

Colouring colour_o1(const OpGraph& graph, DType low) {
  Colouring colours = Colouring::nothing(graph, "level O1", low);
  std::unordered_map<std::string_view, Scope> scopes;
  for (const OpNode& n : graph.nodes)
    if (!n.layer.empty()) scopes[n.layer].add(n.op);
  for (int number = 0; number < graph.size(); ++number) {
    const OpNode& n = graph.nodes[static_cast<size_t>(number)];
    const Scope scope = n.layer.empty() ? Scope() : scopes[n.layer];
    std::string list = "unlisted", reason = n.op + " is on no list";
    bool white = false;
    if (scope.black_cell()) {
      list = "black cell";
      reason = "in cell '" + n.layer + "', a norm, which stays float32";
    } else if (scope.white_cell()) {
      white = true;
      list = "white cell";
      reason = "in cell '" + n.layer + "', a product with its parameters";
    } else if (is_white(n.op)) {
      white = true;
      list = "white";
      reason = n.op + " is on the white list";
    }
    for (size_t local = 0; local < n.units.size(); ++local) {
      const TypeUnit& unit = n.units[local];
      const auto u = static_cast<size_t>(graph.unit(number, static_cast<int>(local)));
      const std::string why_not = why_fixed(n, unit, low);
      colours.low_units[u] = white && why_not.empty();
      colours.lists[u] = list;
      colours.reasons[u] = why_not.empty() ? reason : why_not;
    }
  }
  return colours;
}

// MindSpore 2.x.

std::span<const std::string> o1_white_operations() {
  static const std::vector<std::string> kNames = {
      "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "Conv2DBackpropInput", "MatMul", "BatchMatMul", "PReLU",
      "ReLU",   "Ger"};
  return kNames;
}

std::span<const std::string> o1_white_cells() {
  static const std::vector<std::string> kNames = {"Conv1d",          "Conv2d",          "Conv3d", "Conv1dTranspose",
                                                  "Conv2dTranspose", "Conv3dTranspose", "Dense",  "LSTMCell",
                                                  "RNNCell",         "GRUCell"};
  return kNames;
}

std::span<const std::string> o1_black_cells() {
  static const std::vector<std::string> kNames = {"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LayerNorm"};
  return kNames;
}

}  // namespace softamp
