#include "src/precision/in_float64.h"

#include <algorithm>

#include "softamp/graph/operation.h"

namespace softamp {
namespace {

bool is_narrow_type(const Attribute& value) {
  const DType* t = std::get_if<DType>(&value);
  return t && is_floating(*t) && *t != DType::kFloat64;
}

/// The attributes of a node in float64: types that its inputs name follow from them.
Attributes widened(const Node& node) {
  Attributes all = node.attributes;
  for (const AttributeSpec& spec : operation(node.op).attributes) {
    if (spec.kind != AttributeKind::kType || !all.contains(spec.name)) continue;
    const auto named = [&](const PortSpec& p) { return p.type == spec.name; };
    const auto& inputs = operation(node.op).inputs;
    if (std::any_of(inputs.begin(), inputs.end(), named))
      all.erase(spec.name);
    else if (is_narrow_type(all.at(spec.name)))
      all[spec.name] = DType::kFloat64;
  }
  if (node.op == "Const") {
    const Tensor& value = *attribute<std::shared_ptr<const Tensor>>(node, "value");
    all.erase("dtype");
    if (is_floating(value.dtype()))
      all["value"] =
          std::make_shared<const Tensor>(Tensor::from_values(DType::kFloat64, value.shape(), value.values()));
  }
  return all;
}

class Widening {
 public:
  explicit Widening(const Graph& graph) : graph_(graph) { result_.ports.resize(static_cast<size_t>(graph.size())); }

  InFloat64 run() {
    builder_.set_preset(graph_.preset());
    for (int n = 0; n < graph_.size(); ++n) add(n);
    result_.graph = builder_.build();
    return std::move(result_);
  }

 private:
  Port input(const Port& p) const { return result_.ports[static_cast<size_t>(p.node)][static_cast<size_t>(p.port)]; }

  void add(int number) {
    const Node& node = graph_.node(number);
    std::vector<Port> inputs;
    for (const Port& p : node.inputs) inputs.push_back(input(p));
    auto& ports = result_.ports[static_cast<size_t>(number)];
    const Attributes attributes = widened(node);
    const bool same = node.op == "Cast" && builder_.type(inputs[0]).dtype == attribute_or(attributes, "DstT");
    try {
      const Port first = same ? builder_.add_named(node.name, "Identity", inputs, {})
                              : builder_.add_named(node.name, node.op, inputs, attributes);
      for (size_t p = 0; p < node.outputs.size(); ++p) ports.push_back({first.node, static_cast<int>(p)});
      return;
    } catch (const GraphError&) {  // no float64 of it
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = cast(inputs[i], graph_.type(node.inputs[i]).dtype, node.name);
    const Port first = builder_.add_named(node.name, node.op, inputs, node.attributes);
    for (size_t p = 0; p < node.outputs.size(); ++p) {
      const Port out{first.node, static_cast<int>(p)};
      ports.push_back(is_floating(node.outputs[p].dtype) ? cast(out, DType::kFloat64, node.name) : out);
    }
  }

  static DType attribute_or(const Attributes& all, const char* name) {
    const auto it = all.find(name);
    return it == all.end() ? DType::kString : std::get<DType>(it->second);
  }

  Port cast(Port p, DType t, const std::string& name) {
    return builder_.type(p).dtype == t ? p : builder_.add("Cast", {p}, {{"DstT", t}}, name + "/in_float64_");
  }

  const Graph& graph_;
  GraphBuilder builder_;
  InFloat64 result_;
};

}  // namespace

InFloat64 in_float64(const Graph& graph) { return Widening(graph).run(); }

}  // namespace softamp
