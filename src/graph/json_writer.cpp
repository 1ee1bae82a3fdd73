// Graph JSON out.
#include "softamp/graph/operation.h"
#include "softamp/machine/float_environment.h"
#include "src/graph/json_tensor.h"

namespace softamp {
namespace {

using graph_detail::WrittenJson;

WrittenJson attribute_json(const Attribute& value) {
  struct Write {
    WrittenJson operator()(bool b) const { return b; }
    WrittenJson operator()(int64_t i) const { return i; }
    WrittenJson operator()(double d) const { return graph_detail::write_float(d); }
    WrittenJson operator()(const std::string& s) const { return s; }
    WrittenJson operator()(DType t) const { return name_of(t); }
    WrittenJson operator()(const Shape& s) const {
      WrittenJson list = WrittenJson::array();
      for (const int64_t extent : s) list.push_back(extent);
      return list;
    }
    WrittenJson operator()(const std::vector<int64_t>& numbers) const {
      WrittenJson list = WrittenJson::array();
      for (const int64_t number : numbers) list.push_back(number);
      return list;
    }
    WrittenJson operator()(const std::shared_ptr<const Tensor>& t) const { return graph_detail::write_tensor(*t); }
  };
  return std::visit(Write{}, value);
}

std::string line(const WrittenJson& json) { return json.dump(-1, ' ', false, WrittenJson::error_handler_t::replace); }

}  // namespace

std::string graph_json(const Graph& graph, const std::vector<std::string>& outputs) {
  const engine::DefaultEnvironment guard;
  std::string text = "{\"softamp_graph\": 1,\n ";
  if (graph.preset()) text += "\"preset\": \"" + name_of(*graph.preset()) + "\",\n ";
  text += "\"nodes\": [";
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    WrittenJson json{{"name", node.name}, {"op", node.op}};
    if (!node.inputs.empty()) json["inputs"] = WrittenJson::array();
    for (const Port p : node.inputs) json["inputs"].push_back(graph.port_name(p));
    for (const auto& [name, value] : node.attributes) json["attributes"][name] = attribute_json(value);
    text += (i ? ",\n  " : "\n  ") + line(json);
  }
  text += graph.size() > 0 ? "\n ]" : "]";
  if (!outputs.empty()) text += ",\n \"outputs\": " + line(WrittenJson(outputs));
  return text + "}\n";
}

}  // namespace softamp
