// Short ways to make nodes of a GraphDef.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/precision/graph_def/graph_def_impl.h"

namespace softamp::graph_def_detail {

inline graph_def::NodeDef made_node(std::string name, const char* op, std::vector<std::string> inputs,
                                    const std::string& device) {
  graph_def::NodeDef node;
  node.set_name(std::move(name));
  node.set_op(op);
  for (std::string& input : inputs) node.add_input(std::move(input));
  node.set_device(device);
  return node;
}
inline void set_type(graph_def::NodeDef& node, const char* attribute, graph_def::DataType type) {
  (*node.mutable_attr())[attribute].set_type(type);
}
inline void set_int(graph_def::NodeDef& node, const char* attribute, int64_t value) {
  (*node.mutable_attr())[attribute].set_i(value);
}
inline void set_types(graph_def::NodeDef& node, const char* attribute, const std::vector<graph_def::DataType>& types) {
  auto& list = *(*node.mutable_attr())[attribute].mutable_list();
  for (const graph_def::DataType type : types) list.add_type(type);
}
inline graph_def::NodeDef made_identity(std::string name, const std::string& input, graph_def::DataType type,
                                        const std::string& device) {
  graph_def::NodeDef node = made_node(std::move(name), "Identity", {input}, device);
  set_type(node, "T", type);
  return node;
}
/// The types of a list attribute; empty if it is not there.
inline std::vector<graph_def::DataType> types_of_list(const graph_def::NodeDef& node, std::string_view attribute) {
  std::vector<graph_def::DataType> types;
  if (const graph_def::AttrValue* value = find_attribute(node, attribute))
    for (const int t : value->list().type()) types.push_back(static_cast<graph_def::DataType>(t));
  return types;
}
/// Inputs that are data, and those that are control, as written.
struct SplitInputs {
  std::vector<std::string> data, control;
};
inline SplitInputs split_inputs(const graph_def::NodeDef& node) {
  SplitInputs inputs;
  for (const std::string& text : node.input()) (text.starts_with('^') ? inputs.control : inputs.data).push_back(text);
  return inputs;
}

}  // namespace softamp::graph_def_detail
