// Which layer an operation of a finished graph belongs to, and which dtype attributes no rule can change.
#pragma once

#include <string>
#include <string_view>

#include "softamp/precision/op_graph.h"

namespace softamp {

/// If a scope has several, the greatest names it.
enum class LayerKind : uint8_t { kOther, kLoss, kLayerNorm, kGroupNorm, kBatchNorm, kDense, kConv2d };
inline constexpr size_t kLayerKinds = 7;

inline LayerKind kind_of(std::string_view op) {
  if (op == "Conv2D" || op == "DepthwiseConv2dNative") return LayerKind::kConv2d;
  if (op == "MatMul" || op == "BatchMatMulV2" || op == "BatchMatMul") return LayerKind::kDense;
  if (op.starts_with("FusedBatchNorm")) return LayerKind::kBatchNorm;
  if (op == "LayerNorm" || op == "LayerNormGrad") return LayerKind::kLayerNorm;
  if (op == "GroupNorm" || op == "GroupNormGrad") return LayerKind::kGroupNorm;
  if (op == "SoftmaxCrossEntropyWithLogits" || op == "SparseSoftmaxCrossEntropyWithLogits") return LayerKind::kLoss;
  return LayerKind::kOther;
}

/// As functions of train/layers.h are called.
inline std::string_view word_of(LayerKind kind) {
  constexpr std::string_view kWords[] = {"", "loss", "layer_norm", "group_norm", "batch_norm", "dense", "conv2d"};
  return kWords[static_cast<size_t>(kind)];
}

/// Whether the rule is asked for it separately, even if its scope also has products.
inline bool stands_alone(LayerKind kind) { return kind >= LayerKind::kLoss && kind <= LayerKind::kBatchNorm; }

/// A dtype that mechanisms consider.
inline bool is_number(ElementType t) {
  return t == ElementType::kFloat || t == ElementType::kHalf || t == ElementType::kBFloat16 ||
         t == ElementType::kDouble;
}

/// Whether the operation has a kernel for it. Policies may ask for float64, too: what has halves has it, but norms
/// whose statistics stay float32, and random numbers.
inline bool has_kernel(const OpNode& node, const TypeUnit& unit, DType low) {
  if (low != DType::kFloat64) return unit.can_be(low);
  return unit.float16 && !node.random && !node.op.starts_with("FusedBatchNorm");
}

/// Why a unit cannot become low under any list or rule; empty if it can.
inline std::string why_fixed(const OpNode& node, const TypeUnit& unit, DType low) {
  if (unit.type != ElementType::kFloat) return "is " + name_of(unit.type);
  if (node.preserved) return "fed or fetched";
  if (node.stateful) return "holds state or draws random numbers";
  if (node.op == "Cast") return "a cast stays as it is";
  if (is_constant(node.op)) return "a constant stays as it is";
  if (!node.known) return "nothing is known of the operation " + node.op;
  if (!has_kernel(node, unit, low)) return node.op + " has no kernel in " + name_of(low);
  return {};
}

}  // namespace softamp
