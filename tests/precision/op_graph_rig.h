// Pictures of graphs made by hand, of operations that softamp itself may not have: nodes by name, in any order, loops
// too.
#pragma once

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "softamp/precision/casts.h"

namespace softamp::test {

/// Ports of an operation: names of its units; a port names its unit, or is "=type" where its type is fixed.
struct RigSignature {
  std::vector<std::string> units, inputs, outputs;  ///< the last input serves all beyond
};

inline const RigSignature& rig_signature(const std::string& op) {
  static const RigSignature kUnary{{"T"}, {"T"}, {"T"}}, kSource{{"dtype"}, {"dtype"}, {"dtype"}};
  static const std::map<std::string, RigSignature> kOthers = {
      {"Const", kSource},
      {"Placeholder", kSource},
      {"Variable", kSource},
      {"VariableV2", kSource},
      {"VarHandleOp", {{"dtype"}, {}, {"=resource"}}},
      {"ReadVariableOp", {{"dtype"}, {"=resource"}, {"dtype"}}},
      {"Cast", {{"SrcT", "DstT"}, {"SrcT"}, {"DstT"}}},
      {"SparseMatMul", {{"Ta", "Tb"}, {"Ta", "Tb"}, {"=float32"}}},
      {"ResizeBilinear", {{"T"}, {"T"}, {"=float32"}}},
      {"ShapeN", {{"T", "out_type"}, {"T"}, {"out_type"}}},
      {"Merge", {{"T"}, {"T"}, {"T", "=int32"}}},
      {"Switch", {{"T"}, {"T", "=bool"}, {"T", "T"}}},
      {"FusedBatchNormV2", {{"T", "U"}, {"T", "U", "U", "U", "U"}, {"T", "U", "U", "U", "U"}}},
      {"FusedBatchNormGradV2", {{"T", "U"}, {"T", "T", "=float32", "U", "U"}, {"T", "U", "U", "U", "U"}}},
      {"EmptyTensorList", {{"element_dtype"}, {"=int32", "=int32"}, {"=variant"}}},
      {"TensorListReserve", {{"element_dtype"}, {"=int32", "=int32"}, {"=variant"}}},
      {"TensorListResize", {{}, {"=variant", "=int32"}, {"=variant"}}},
      {"TensorListSetItem", {{"element_dtype"}, {"=variant", "=int32", "element_dtype"}, {"=variant"}}},
      {"TensorListGetItem", {{"element_dtype"}, {"=variant", "=int32", "=int32"}, {"element_dtype"}}},
      {"TensorListPushBack", {{"element_dtype"}, {"=variant", "element_dtype"}, {"=variant"}}},
      {"TensorListPopBack", {{"element_dtype"}, {"=variant", "=int32"}, {"=variant", "element_dtype"}}},
      {"TensorListFromTensor", {{"element_dtype"}, {"element_dtype", "=int32"}, {"=variant"}}},
      {"TensorListStack", {{"element_dtype"}, {"=variant", "=int32"}, {"element_dtype"}}},
      {"StatefulPartitionedCall", {{}, {"=variant"}, {"=variant"}}},
  };
  const auto it = kOthers.find(op);
  return it == kOthers.end() ? kUnary : it->second;
}

class PictureRig {
 public:
  /// A node; inputs are "name" or "name:port". The types of its units are float32 where not said otherwise
  /// ({{"T", ElementType::kInt32}}).
  OpNode& add(const std::string& name, const std::string& op, std::vector<std::string> inputs = {},
              const std::map<std::string, ElementType>& types = {}) {
    const RigSignature& signature = rig_signature(op);
    OpNode node;
    node.name = name;
    node.op = op;
    const auto unit_of = [&](const std::string& port) {
      for (size_t u = 0; u < signature.units.size(); ++u)
        if (signature.units[u] == port) return static_cast<int16_t>(u);
      return OpNode::kNoUnit;
    };
    for (const std::string& attribute : signature.units) {
      const auto type = types.find(attribute);
      const bool low = attribute != "U" && attribute != "out_type";
      node.units.push_back({attribute,
                            type != types.end()       ? type->second
                            : attribute == "out_type" ? ElementType::kInt32
                                                      : ElementType::kFloat,
                            low, low});
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      node.input_units.push_back(
          unit_of(signature.inputs.empty() ? "" : signature.inputs[std::min(i, signature.inputs.size() - 1)]));
    for (const std::string& port : signature.outputs) {
      node.output_units.push_back(unit_of(port));
      node.output_types.push_back(node.output_units.back() == OpNode::kNoUnit
                                      ? fixed_type(port)
                                      : node.units[static_cast<size_t>(node.output_units.back())].type);
    }
    node.preserved = op == "Placeholder";
    node.stateful = is_variable(op);
    graph_.nodes.push_back(std::move(node));
    inputs_.push_back(std::move(inputs));
    return graph_.nodes.back();
  }

  /// The picture; these nodes are fetched.
  OpGraph build(const std::set<std::string>& fetches = {}) {
    std::map<std::string, int> numbers;
    for (int n = 0; n < graph_.size(); ++n) numbers[graph_.nodes[static_cast<size_t>(n)].name] = n;
    for (int n = 0; n < graph_.size(); ++n) {
      OpNode& node = graph_.nodes[static_cast<size_t>(n)];
      node.inputs.clear();
      for (const std::string& input : inputs_[static_cast<size_t>(n)]) {
        const size_t colon = input.find(':');
        node.inputs.push_back(
            {numbers.at(input.substr(0, colon)), colon == std::string::npos ? 0 : std::stoi(input.substr(colon + 1))});
      }
      node.preserved = node.preserved || fetches.contains(node.name);
    }
    graph_.number_units();
    return graph_;
  }

 private:
  static ElementType fixed_type(const std::string& port) {
    if (port == "=float32") return ElementType::kFloat;
    if (port == "=int32") return ElementType::kInt32;
    if (port == "=bool") return ElementType::kBool;
    if (port == "=resource") return ElementType::kResource;
    if (port == "=variant") return ElementType::kVariant;
    throw std::logic_error("picture rig: port " + port);
  }

  OpGraph graph_;
  std::vector<std::vector<std::string>> inputs_;
};

/// "name" of each node whose first unit is low, "name.U" for other units.
inline std::set<std::string> low_names(const OpGraph& graph, const Colouring& colours) {
  std::set<std::string> names;
  for (int n = 0; n < graph.size(); ++n) {
    const OpNode& node = graph.nodes[static_cast<size_t>(n)];
    for (int u = 0; u < static_cast<int>(node.units.size()); ++u)
      if (colours.is_low(graph.unit(n, u)))
        names.insert(u == 0 ? node.name : node.name + "." + node.units[static_cast<size_t>(u)].attribute);
  }
  return names;
}

inline std::string reason_of(const OpGraph& graph, const Colouring& colours, const std::string& name, int unit = 0) {
  for (int n = 0; n < graph.size(); ++n)
    if (graph.nodes[static_cast<size_t>(n)].name == name)
      return colours.reasons[static_cast<size_t>(graph.unit(n, unit))];
  return "no node " + name;
}

}  // namespace softamp::test
