#include "softamp/precision/op_graph.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "softamp/graph/operation.h"

namespace softamp {
namespace {

/// Shared by all nodes of one operation.
struct Signature {
  const Operation* operation = nullptr;
  ShortList<TypeUnit, 1> units;  // types are each node's own
  std::vector<int16_t> inputs, outputs;
  std::vector<ElementType> fixed_outputs;  // of outputs without a unit
  bool stateful = false, random = false;
};

bool allows(const AttributeSpec& spec, DType t) {
  return spec.types.empty() || std::find(spec.types.begin(), spec.types.end(), t) != spec.types.end();
}

Signature make_signature(std::string_view name) {
  Signature s;
  s.operation = &operation(name);
  for (const AttributeSpec& spec : s.operation->attributes) {
    if (spec.kind != AttributeKind::kType) continue;
    // Statistics, scale and offset of the fused normalisation have kernels only in float32 (TensorFlow's
    // registrations); softamp's own float16 ones are for networks entirely in half.
    const bool statistics = name.starts_with("FusedBatchNorm") && spec.name == "U";
    s.units.push_back({spec.name, ElementType::kUnknown, !statistics && allows(spec, DType::kFloat16),
                       !statistics && allows(spec, DType::kBFloat16)});
  }
  const auto unit_of = [&](const PortSpec& port) {
    for (size_t u = 0; u < s.units.size(); ++u)
      if (s.units[u].attribute == port.type) return static_cast<int16_t>(u);
    return OpNode::kNoUnit;
  };
  for (const PortSpec& port : s.operation->inputs) s.inputs.push_back(unit_of(port));
  for (const PortSpec& port : s.operation->outputs) {
    s.outputs.push_back(unit_of(port));
    const auto dtype = fixed_type(port, DType::kFloat32);
    s.fixed_outputs.push_back(s.outputs.back() == OpNode::kNoUnit && dtype ? element_type(*dtype)
                                                                           : ElementType::kUnknown);
  }
  s.random = name.starts_with("Random") || name == "TruncatedNormal";
  s.stateful = s.random || s.operation->effect || is_variable(name) || name.starts_with("Apply");
  return s;
}

size_t scope_length(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? 0 : slash;
}

void fill(OpNode& n, const Node& node, const Signature& signature) {
  n.name = node.name;
  n.op = node.op;
  n.units = signature.units;
  // One way through the attributes: they lie wherever the heap put them.
  size_t typed = 0;
  for (const auto& [name, value] : node.attributes) {
    if (const DType* type = std::get_if<DType>(&value)) {
      for (TypeUnit& unit : n.units)
        if (unit.attribute == name) {
          unit.type = element_type(*type);
          ++typed;
        }
    } else if (const std::string* word = std::get_if<std::string>(&value)) {
      if (name == "device") n.device = *word;
      if (name == "layer") n.layer = *word;
    }
  }
  if (typed != n.units.size())
    for (TypeUnit& unit : n.units) unit.type = element_type(attribute<DType>(node, unit.attribute));  // says which
  if (n.layer.empty()) n.layer.assign(node.name, 0, scope_length(node.name));
  n.inputs.reserve(node.inputs.size());
  n.input_units.reserve(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    n.inputs.push_back({node.inputs[i].node, node.inputs[i].port});
    n.input_units.push_back(signature.inputs[std::min(i, signature.inputs.size() - 1)]);
  }
  n.output_units.reserve(node.outputs.size());
  n.output_types.reserve(node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    n.output_units.push_back(signature.outputs[std::min(i, signature.outputs.size() - 1)]);
    n.output_types.push_back(element_type(node.outputs[i].dtype));
  }
  n.stateful = signature.stateful;
  n.random = signature.random;
  n.preserved = node.op == "Placeholder";
}

}  // namespace

std::optional<DType> dtype_of(ElementType t) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kInt32,
                            DType::kBool, DType::kInt64, DType::kUint8, DType::kString})
    if (element_type(dtype) == t) return dtype;
  return {};
}

std::string name_of(ElementType t) {
  // TensorFlow's DataType, in order of its codes.
  static constexpr std::array<const char*, 24> kNames = {
      "unknown",   "float32", "float64",    "int32",   "uint8",    "int16",   "int8",     "string",
      "complex64", "int64",   "bool",       "qint8",   "quint8",   "qint32",  "bfloat16", "qint16",
      "quint16",   "uint16",  "complex128", "float16", "resource", "variant", "uint32",   "uint64"};
  constexpr int kReference = 100;
  const int code = static_cast<int>(t);
  const int plain = code > kReference ? code - kReference : code;
  if (plain >= static_cast<int>(kNames.size())) return "type " + std::to_string(code);
  return std::string(kNames[static_cast<size_t>(plain)]) + (code > kReference ? "_ref" : "");
}

std::string scope_of(std::string_view name) { return std::string(name.substr(0, scope_length(name))); }

void OpGraph::number_units() {
  first_unit.assign(1, 0);
  first_unit.reserve(nodes.size() + 1);
  for (const OpNode& node : nodes) first_unit.push_back(first_unit.back() + static_cast<int>(node.units.size()));
}

ElementType OpGraph::type(const OpEdge& e) const {
  const auto& types = nodes[static_cast<size_t>(e.node)].output_types;
  return e.port >= 0 && static_cast<size_t>(e.port) < types.size() ? types[static_cast<size_t>(e.port)]
                                                                   : ElementType::kUnknown;
}

OpReaders readers(const OpGraph& graph) {
  OpReaders r;
  r.begin.assign(graph.nodes.size() + 1, 0);
  for (const OpNode& node : graph.nodes)
    for (const OpEdge& e : node.inputs) ++r.begin[static_cast<size_t>(e.node) + 1];
  for (size_t n = 1; n < r.begin.size(); ++n) r.begin[n] += r.begin[n - 1];
  r.reads.resize(static_cast<size_t>(r.begin.back()));
  std::vector<int> next(r.begin.begin(), r.begin.end() - 1);
  for (int n = 0; n < graph.size(); ++n) {
    const OpNode& node = graph.nodes[static_cast<size_t>(n)];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const OpEdge& e = node.inputs[i];
      r.reads[static_cast<size_t>(next[static_cast<size_t>(e.node)]++)] = {n, static_cast<int>(i), e.port};
    }
  }
  return r;
}

OpGraph op_graph(const Graph& graph, ListView<std::string> fetches) {
  OpGraph picture;
  picture.nodes.reserve(static_cast<size_t>(graph.size()));
  std::unordered_map<std::string_view, Signature> signatures;
  for (const Node& node : graph.nodes()) {
    auto known = signatures.find(node.op);
    if (known == signatures.end()) known = signatures.emplace(node.op, make_signature(node.op)).first;
    fill(picture.nodes.emplace_back(), node, known->second);
  }
  for (const std::string& fetch : fetches) picture.nodes[static_cast<size_t>(graph.port(fetch).node)].preserved = true;
  picture.number_units();
  return picture;
}

bool is_constant(std::string_view op) { return op == "Const"; }

bool is_variable(std::string_view op) {
  return op == "Variable" || op == "VariableV2" || op == "AutoReloadVariable" || op == "VarHandleOp" ||
         op == "ReadVariableOp";
}

bool is_constant_or_variable(const OpGraph& graph, int node) {
  const OpNode& n = graph.nodes[static_cast<size_t>(node)];
  if (is_constant(n.op) || is_variable(n.op)) return true;
  return n.op == "Identity" && n.inputs.size() == 1 &&
         is_variable(graph.nodes[static_cast<size_t>(n.inputs[0].node)].op);
}

}  // namespace softamp
