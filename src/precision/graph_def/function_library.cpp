#include "src/precision/graph_def/function_library.h"

#include <algorithm>

namespace softamp::graph_def_detail {

using graph_def::AttrValue;
using graph_def::FunctionDef;
using graph_def::NodeDef;

FunctionLibrary::FunctionLibrary(const graph_def::FunctionDefLibrary& library) : bytes_(library.ByteSizeLong()) {
  for (const FunctionDef& f : library.function()) functions_.emplace(f.signature().name(), &f);
  for (const graph_def::GradientDef& g : library.gradient()) gradients_.emplace(g.function_name(), g.gradient_func());
}

bool has_flag(const GraphDefAttributes& attributes, std::string_view name) {
  const auto it = attributes.find(std::string(name));
  return it != attributes.end() && it->second.value_case() == AttrValue::kB && it->second.b();
}

FunctionCall call_of(const FunctionLibrary& library, const NodeDef& node) {
  if (const FunctionDef* own = library.find(node.op())) return {own, &node.attr(), false};
  const bool partitioned = node.op() == "PartitionedCall" || node.op() == "StatefulPartitionedCall";
  if (!partitioned && node.op() != "SymbolicGradient") return {};
  const AttrValue* f = find_attribute(node, "f");
  if (!f || f->value_case() != AttrValue::kFunc) return {};
  const std::string_view name = partitioned ? f->func().name() : library.gradient_of(f->func().name());
  return {library.find(name), &f->func().attr(), partitioned};
}

bool is_call(const FunctionLibrary& library, const NodeDef& node) {
  return library.find(node.op()) || node.op() == "PartitionedCall" || node.op() == "StatefulPartitionedCall" ||
         node.op() == "SymbolicGradient";
}

namespace {

void add_functions(const FunctionLibrary& library, const AttrValue& value, std::vector<std::string_view>& names) {
  const auto add = [&](const graph_def::NameAttrList& f) {
    if (library.find(f.name())) names.push_back(f.name());
    for (const auto& [key, inner] : f.attr()) add_functions(library, inner, names);
  };
  if (value.value_case() == AttrValue::kFunc) add(value.func());
  if (value.value_case() == AttrValue::kList)
    for (const graph_def::NameAttrList& f : value.list().func()) add(f);
}

}  // namespace

std::vector<std::string_view> functions_of(const FunctionLibrary& library, const NodeDef& node) {
  std::vector<std::string_view> names;
  if (library.find(node.op())) names.push_back(node.op());
  std::vector<std::string_view> keys;  // a map's order is not fixed
  for (const auto& [key, value] : node.attr()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  for (const std::string_view key : keys) add_functions(library, *find_attribute(node, key), names);
  return names;
}

std::vector<const FunctionDef*> reached_from(const FunctionLibrary& library,
                                             const google::protobuf::RepeatedPtrField<NodeDef>& nodes) {
  std::vector<const FunctionDef*> found;
  std::unordered_set<std::string_view> seen;
  const auto add = [&](const auto& of) {
    for (const NodeDef& node : of)
      for (const std::string_view name : functions_of(library, node))
        if (seen.insert(name).second) found.push_back(library.find(name));
  };
  add(nodes);
  for (size_t f = 0; f < found.size(); ++f) {
    add(found[f]->node_def());
    const std::string_view gradient = library.gradient_of(found[f]->signature().name());
    if (library.find(gradient) && seen.insert(gradient).second) found.push_back(library.find(gradient));
  }
  return found;
}

}  // namespace softamp::graph_def_detail
