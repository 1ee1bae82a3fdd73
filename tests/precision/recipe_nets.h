// Small graphs by hand, and a recipe, for tests of Gaudi's pass.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "softamp/precision/recipe.h"
#include "tests/precision/op_graph_rig.h"

namespace softamp::test {

/// A picture made line by line.
class NetSketch {
 public:
  using Change = std::function<void(OpNode&)>;
  /// All types of the node are `type`; `change` may make it unlike others of its operation.
  NetSketch& add(const std::string& name, const std::string& op, const std::vector<std::string>& inputs = {},
                 ElementType type = ElementType::kFloat, const Change& change = {}) {
    OpNode& node = rig_.add(name, op, inputs, {{"T", type}, {"dtype", type}});
    if (change) change(node);
    return *this;
  }
  OpGraph graph() { return rig_.build(); }

 private:
  PictureRig rig_;
};

/// Two dense layers, softmax and mean squared error, 14 nodes.
inline OpGraph dense_net_picture() {
  return NetSketch()
      .add("x", "Placeholder")
      .add("y", "Placeholder")
      .add("W0", "ReadVariableOp")
      .add("b0", "ReadVariableOp")
      .add("W1", "ReadVariableOp")
      .add("b1", "ReadVariableOp")
      .add("MatMul0", "MatMul", {"x", "W0"})
      .add("BiasAdd0", "BiasAdd", {"MatMul0", "b0"})
      .add("Relu", "Relu", {"BiasAdd0"})
      .add("MatMul1", "MatMul", {"Relu", "W1"})
      .add("BiasAdd1", "BiasAdd", {"MatMul1", "b1"})
      .add("Softmax", "Softmax", {"BiasAdd1"})
      .add("SquaredDifference", "SquaredDifference", {"Softmax", "y"})
      .add("Mean", "Mean", {"SquaredDifference"})
      .graph();
}

/// Names of a group's nodes, or of all converted ones, in the order of the graph: "MatMul0 BiasAdd0".
inline std::string converted(const OpGraph& graph, const Colouring& colours) {
  std::string names;
  for (int n = 0; n < graph.size(); ++n) {
    bool low = false;
    for (size_t u = 0; u < graph.nodes[static_cast<size_t>(n)].units.size(); ++u)
      low = low || colours.is_low(graph.unit(n, static_cast<int>(u)));
    if (low) names += (names.empty() ? "" : " ") + graph.nodes[static_cast<size_t>(n)].name;
  }
  return names;
}

/// "{MatMul0 BiasAdd0} {MatMul1}"
inline std::string groups(const OpGraph& graph, const Colouring& colours) {
  std::map<int, std::string> of;
  for (int n = 0; n < graph.size(); ++n)
    if (const int g = colours.groups[static_cast<size_t>(n)]; g >= 0)
      of[g] += (of[g].empty() ? "" : " ") + graph.nodes[static_cast<size_t>(n)].name;
  std::string text;
  for (const auto& [number, names] : of) text += (text.empty() ? "{" : " {") + names + "}";
  return text;
}

/// "x:0 W0:0 -> bfloat16; MatMul1:0 -> float32", in the order of producers.
inline std::string casts(const OpGraph& graph, const CastPlan& plan) {
  std::string low, high;
  for (const PlannedCast& c : plan.casts) {
    std::string& text = c.to == DType::kFloat32 ? high : low;
    text += (text.empty() ? "" : " ") + graph.nodes[static_cast<size_t>(c.from.node)].name;
  }
  return low + " -> " + name_of(plan.low) + "; " + high + " -> float32";
}

/// Lists and exceptions of Gaudi's recipe for BERT, release 1.7.1.
inline const char* bert_json() {
  return R"({
  "allowlist": ["_ScopedAllocatorSplit", "_ScopedAllocatorConcat", "_ScopedAllocator", "BatchMatMul", "BatchMatMulV2",
    "BiasAdd", "BiasAddGrad", "EuclideanNorm", "Exp", "HabanaDropout", "HabanaDropoutGrad", "HabanaDropoutStateful",
    "HabanaGelu", "HabanaGeluGrad", "HabanaLayerNorm", "HabanaLayerNormV2", "HabanaLayerNormGrad",
    "HabanaLayerNormGradV2", "HabanaMaskedSoftmax", "HabanaSoftmaxGrad", "HabanaLogSoftmaxGrad", "HorovodAllreduce",
    "L2Loss", "Log", "LogSoftmax", "MatMul", "Softmax", "Sum", "Tanh", "TanhGrad"],
  "conditional_list": ["Add", "AddV2", "AddN", "ExpandDims", "Identity", "Reshape", "Slice", "Split",
    "StridedSliceGrad", "Transpose"],
  "strict_conditional_list": [],
  "non_convertible_exceptions": [[".*KEEP_FP32_PRECISION.*", ""]],
  "convertible_exceptions": [
    ["bert/encoder/layer_[0-9]+/attention/self/add", "AddV2"],
    ["bert/encoder/layer_[0-9]+/attention/self/Mul", "Mul"],
    ["clip_by_global_norm/mul", "Mul"],
    ["global_norm/mul", "Mul"],
    ["global_norm/global_norm", "Sqrt"]]
})";
}

}  // namespace softamp::test
