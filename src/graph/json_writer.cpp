// Graph JSON out.
#include "softamp/graph/operation.h"
#include "src/graph/json_tensor.h"

namespace softamp {
namespace {

using Json = graph_detail::WrittenJson;

Json attribute_json(const Attribute& value) {
  struct Write {
    Json operator()(bool b) const { return b; }
    Json operator()(int64_t i) const { return i; }
    Json operator()(double d) const { return graph_detail::write_float(d); }
    Json operator()(const std::string& s) const { return s; }
    Json operator()(DType t) const { return name_of(t); }
    Json operator()(const Shape& s) const {
      Json list = Json::array();
      for (const int64_t extent : s) list.push_back(extent);
      return list;
    }
    Json operator()(const std::vector<int64_t>& numbers) const {
      Json list = Json::array();
      for (const int64_t number : numbers) list.push_back(number);
      return list;
    }
    Json operator()(const std::shared_ptr<const Tensor>& t) const { return graph_detail::write_tensor(*t); }
  };
  return std::visit(Write{}, value);
}

std::string line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string graph_json(const Graph& graph, const std::vector<std::string>& outputs) {
  std::string text = "{\"softamp_graph\": 1,\n \"nodes\": [";
  for (int i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    Json json{{"name", node.name}, {"op", node.op}};
    if (!node.inputs.empty()) json["inputs"] = Json::array();
    for (const Port p : node.inputs) json["inputs"].push_back(graph.port_name(p));
    for (const auto& [name, value] : node.attributes) json["attributes"][name] = attribute_json(value);
    text += (i ? ",\n  " : "\n  ") + line(json);
  }
  text += graph.size() > 0 ? "\n ]" : "]";
  if (!outputs.empty()) text += ",\n \"outputs\": " + line(Json(outputs));
  return text + "}\n";
}

}  // namespace softamp
