// Attributes of a GraphDef's nodes: the types among them, and the counts of ports.
#include <algorithm>
#include <limits>

#include "src/precision/graph_def/graph_def_impl.h"
#include "src/text/printable.h"

namespace softamp::graph_def_detail {

using graph_def::AttrValue;
using graph_def::NodeDef;

const AttrValue* find_attribute(const NodeDef& node, std::string_view name) {
  const auto it = node.attr().find(std::string(name));
  return it == node.attr().end() ? nullptr : &it->second;
}

const char* kind_of(const AttrValue& value) {
  switch (value.value_case()) {
    case AttrValue::kList: return "a list";
    case AttrValue::kS: return "a string";
    case AttrValue::kI: return "an int";
    case AttrValue::kF: return "a float";
    case AttrValue::kB: return "a bool";
    case AttrValue::kType: return "a type";
    case AttrValue::kShape: return "a shape";
    case AttrValue::kTensor: return "a tensor";
    case AttrValue::kPlaceholder: return "a placeholder";
    case AttrValue::kFunc: return "a function";
    case AttrValue::VALUE_NOT_SET: break;
  }
  return "nothing";
}

namespace {

constexpr size_t kMostUnits = std::numeric_limits<int16_t>::max();

ElementType checked_type(int code, const NodeDef& node, std::string_view attribute, std::string_view place) {
  if (code < 1 || code > std::numeric_limits<uint8_t>::max())
    fail_node(place, node,
              "attribute '" + std::string(attribute) + "' is type " + std::to_string(code) +
                  "; expected a type of TensorFlow's, 1 to 255");
  return static_cast<ElementType>(code);
}

void add_list(const NodeDef& node, const SignatureAttribute& a, const AttrValue& value, std::string_view place,
              ShortList<TypeUnit, 1>& units) {
  const auto& types = value.list().type();
  if (units.size() + static_cast<size_t>(types.size()) > kMostUnits)
    fail_node(place, node,
              "attribute '" + std::string(a.name) + "' has " + std::to_string(types.size()) +
                  " types; expected at most " + std::to_string(kMostUnits) + " in a node");
  for (int i = 0; i < types.size(); ++i) {
    const std::string name = std::string(a.name) + "[" + std::to_string(i) + "]";
    units.push_back({name, checked_type(types.Get(i), node, name, place), a.float16, a.bfloat16});
  }
}

NodeUnits known_units(const NodeDef& node, const OpSignature& signature, std::string_view place) {
  NodeUnits found;
  for (const SignatureAttribute& a : signature.attributes) {
    found.first.push_back(static_cast<int>(found.units.size()));
    const AttrValue* value = find_attribute(node, a.name);
    if (!value && !a.optional)
      fail_node(
          place, node,
          "attribute '" + std::string(a.name) + "' is missing; expected a " + (a.list ? "list of types" : "type"));
    if (value && value->value_case() != (a.list ? AttrValue::kList : AttrValue::kType))
      fail_node(place, node,
                "attribute '" + std::string(a.name) + "' is " + kind_of(*value) + "; expected a " +
                    (a.list ? "list of types" : "type"));
    if (a.list) {
      if (value) add_list(node, a, *value, place, found.units);
      continue;
    }
    const ElementType type = value ? checked_type(value->type(), node, a.name, place) : a.fallback;
    found.units.push_back({std::string(a.name), type, a.float16, a.bfloat16});
  }
  return found;
}

/// For an operation that is not in the table. A list that names it for conversion implies that it has kernels; this is
/// used only if the meaning of its type attribute is clear.
NodeUnits guessed_units(const NodeDef& node, std::string_view place) {
  NodeUnits found;
  for (const auto& [name, value] : node.attr())
    if (value.value_case() == AttrValue::kType)
      found.units.push_back({name, checked_type(value.type(), node, files::excerpt(name), place)});
  if (found.units.size() > kMostUnits)
    fail_node(
        place, node,
        std::to_string(found.units.size()) + " attributes are types; expected at most " + std::to_string(kMostUnits));
  std::sort(found.units.begin(), found.units.end(),
            [](const TypeUnit& a, const TypeUnit& b) { return a.attribute < b.attribute; });
  return found;
}

}  // namespace

NodeUnits units_of(const NodeDef& node, const OpSignature* signature, std::string_view place) {
  return signature ? known_units(node, *signature, place) : guessed_units(node, place);
}

}  // namespace softamp::graph_def_detail
