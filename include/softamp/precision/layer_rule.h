// The dtypes in which a layer computes, for mechanisms that act layer by layer: Keras policies and MindSpore levels.
// The same rule builds networks (train/layers.h) and colours finished graphs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "softamp/precision/precision_report.h"

namespace softamp {

struct LayerPrecision {
  DType compute = DType::kFloat32;    ///< first input and variables are cast to it
  DType variables = DType::kFloat32;  ///< what variables are kept in
  std::optional<DType> output{};      ///< the result is cast to it [=it stays as computed]
  bool cast_input = true;             ///< false: the first input keeps its dtype
  std::string reason{};               ///< "policy mixed_float16", "level O2: BatchNorm stays float32"
  bool operator==(const LayerPrecision&) const = default;
};

/// kind: "conv2d", "dense", "batch_norm", "group_norm", "max_pool", ... as the functions of train/layers.h are called;
/// in a finished graph from the operation (Conv2D, DepthwiseConv2dNative: conv2d; MatMul, BatchMatMulV2: dense;
/// FusedBatchNorm*: batch_norm; LayerNorm: layer_norm; GroupNorm: group_norm; cross-entropies, and a layer without
/// variables whose mean or sum of squared differences no other layer reads: loss; else ""). Norms and losses get a call
/// of their own, even in a scope with products. path: "block1/conv2d".
using LayerRule = std::function<LayerPrecision(std::string_view kind, std::string_view path)>;

/// Colours a finished graph. A node's layer is OpNode::layer; nodes that are reached, within their layer, from its
/// first input (the first edge from outside in node order, all readers of that port) or from its variables are computed
/// in the rule's dtype. Nodes without a layer follow their inputs: low where every floating input is low. Nodes that
/// read only other inputs stay float32, and so do fetched and stateful nodes, operations without a low kernel and
/// unknown ones. Casts between floating dtypes are looked through. Constants and variables from outside do not count as
/// first input. If the rule has an `output`, it decides whether a layer's result counts as low for nodes without a
/// layer. Throws std::invalid_argument if the rule computes in a dtype other than float32 or `low`. low = float32
/// colours nothing.
Colouring colour_layers(const OpGraph& graph, const LayerRule& rule, DType low, std::string mechanism);

}  // namespace softamp
