#include "softamp/graph/graph_text.h"

#include <algorithm>

#include "softamp/graph/operation.h"
#include "src/graph/dot_text.h"
#include "src/graph/node_check.h"
#include "src/text/joined.h"

namespace softamp {
namespace {

using graph_detail::dot_quoted;

/// The attributes that the rest of the line does not show.
std::string attribute_text(const Node& node) {
  const Operation& op = operation(node.op);
  std::string list;
  for (const AttributeSpec& spec : op.attributes) {
    const Attribute& value = node.attributes.find(spec.name)->second;
    if (spec.default_value && equal(value, *spec.default_value)) continue;
    const auto names = [&](const PortSpec& port) { return port.type == spec.name; };
    if (std::any_of(op.inputs.begin(), op.inputs.end(), names) ||
        std::any_of(op.outputs.begin(), op.outputs.end(), names))
      continue;
    const Shape* shape = std::get_if<Shape>(&value);
    if (shape && !node.outputs.empty() && node.outputs[0].shape == *shape) continue;
    list += (list.empty() ? "" : ", ") + spec.name + "=" + text_of(value);
  }
  for (const auto& [name, value] : node.attributes)
    if (graph_detail::is_placement(name)) list += (list.empty() ? "" : ", ") + name + "=" + text_of(value);
  return list.empty() ? "" : "{" + list + "}";
}

void pad(std::string& text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
}

const char* colour_of(DType t) {
  switch (t) {
    case DType::kFloat16: return "#c8e6c9";
    case DType::kBFloat16: return "#b2dfdb";
    case DType::kFloat32: return "#bbdefb";
    case DType::kFloat64: return "#d1c4e9";
    case DType::kInt32: return "#ffe0b2";
    case DType::kInt64:
    case DType::kUint8: return "#fff3e0";
    case DType::kBool:
    case DType::kString: break;
  }
  return "#e0e0e0";
}

/// A scope and what is in it.
struct Cluster {
  std::map<std::string, Cluster> inner;
  std::vector<int> nodes;
};

void write_cluster(const Graph& graph, const Cluster& cluster, int& number, const std::string& indent,
                   std::string& out) {
  for (const int i : cluster.nodes) {
    const Node& node = graph.node(i);
    const std::string last = node.name.substr(node.name.rfind('/') + 1);
    const std::string attributes = attribute_text(node);
    out += indent + "n" + std::to_string(i) + " [label=" +
           dot_quoted(last + (last == node.op ? "" : "\n" + node.op) + (attributes.empty() ? "" : "\n" + attributes)) +
           ", fillcolor=\"" + (node.outputs.empty() ? "#ffffff" : colour_of(node.outputs[0].dtype)) + "\"];\n";
  }
  for (const auto& [name, inner] : cluster.inner) {
    out += indent + "subgraph cluster_" + std::to_string(number++) + " {\n" + indent + "  label=" + dot_quoted(name) +
           ";\n";
    write_cluster(graph, inner, number, indent + "  ", out);
    out += indent + "}\n";
  }
}

}  // namespace

std::string text(const Graph& graph) {
  // Very long names and calls may exceed their column, so that the others are not moved to the right.
  constexpr size_t kWidest = 60;
  std::vector<std::string> calls, types;
  size_t name_width = 0, call_width = 0, type_width = 0;
  for (const Node& node : graph.nodes()) {
    calls.push_back(node.op + "(" + joined(node.inputs, ", ", [&](Port p) { return graph.port_name(p); }) + ")");
    types.push_back(joined(node.outputs, ", ", &TensorType::text));
    name_width = std::max(name_width, std::min(node.name.size(), kWidest));
    call_width = std::max(call_width, std::min(calls.back().size(), kWidest));
    type_width = std::max(type_width, std::min(types.back().size(), kWidest));
  }
  std::string all;
  for (size_t i = 0; i < calls.size(); ++i) {
    const Node& node = graph.nodes()[i];
    std::string line = node.name;
    pad(line, name_width);
    line += " = ";
    std::string call = calls[i], type = types[i];
    pad(call, call_width);
    line += call + " : ";
    const std::string attributes = attribute_text(node);
    if (!attributes.empty()) pad(type, type_width);
    line += type + (attributes.empty() ? "" : "  " + attributes);
    all += line + "\n";
  }
  return all;
}

std::string dot(const Graph& graph) {
  Cluster root;
  for (int i = 0; i < graph.size(); ++i) {
    const std::string& name = graph.node(i).name;
    Cluster* at = &root;
    // Deep scopes are cut: they are useless in a drawing, and clusters are written recursively.
    size_t from = 0;
    for (int depth = 0; depth < 32; ++depth) {
      const size_t slash = name.find('/', from);
      if (slash == std::string::npos) break;
      at = &at->inner[name.substr(from, slash - from)];
      from = slash + 1;
    }
    at->nodes.push_back(i);
  }
  std::string out = "digraph softamp {\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n";
  int number = 0;
  write_cluster(graph, root, number, "  ", out);
  for (int i = 0; i < graph.size(); ++i)
    for (const Port p : graph.node(i).inputs)
      out += "  n" + std::to_string(p.node) + " -> n" + std::to_string(i) +
             " [label=" + dot_quoted((p.port ? ":" + std::to_string(p.port) + " " : "") + graph.type(p).text()) +
             "];\n";
  return out + "}\n";
}

}  // namespace softamp
