#include "src/graph/node_check.h"

#include <algorithm>

#include "softamp/machine/float_environment.h"
#include "src/text/joined.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"

namespace softamp::graph_detail {
namespace {

std::string place(const Node& node) { return node.op + " '" + node.name + "': "; }

AttributeKind kind_of(const Attribute& value) {
  static constexpr AttributeKind kKinds[] = {AttributeKind::kBool,   AttributeKind::kInt,   AttributeKind::kFloat,
                                             AttributeKind::kString, AttributeKind::kType,  AttributeKind::kShape,
                                             AttributeKind::kInts,   AttributeKind::kTensor};
  return kKinds[value.index()];
}

bool has_variadic_input(const Operation& op) { return !op.inputs.empty() && op.inputs.back().variadic; }

bool allowed(const AttributeSpec& spec, DType t) {
  return spec.types.empty() || std::find(spec.types.begin(), spec.types.end(), t) != spec.types.end();
}

const AttributeSpec* find_spec(const Operation& op, std::string_view name) {
  for (const AttributeSpec& spec : op.attributes)
    if (spec.name == name) return &spec;
  return nullptr;
}

/// The number of inputs, and "N" where the operation takes a list.
void check_count(const Operation& op, Node& node) {
  const size_t given = node.inputs.size(), ports = op.inputs.size();
  const bool variadic = has_variadic_input(op);
  size_t least = 0;
  for (const PortSpec& port : op.inputs) least += !port.optional;
  if (given < least || (given > ports && !variadic)) {
    const std::string number = variadic || least < ports ? "at least " + std::to_string(least) : std::to_string(least);
    throw GraphError(place(node) + std::to_string(given) + (given == 1 ? " input" : " inputs") + "; expected " +
                     number + " (" + joined(op.inputs, ", ", &PortSpec::name) + ")");
  }
  if (!variadic) return;
  const int64_t count = static_cast<int64_t>(given - ports + 1);
  const auto n = node.attributes.find("N");
  if (n != node.attributes.end() && !equal(n->second, Attribute(count)))
    throw GraphError(place(node) + "attribute 'N' is " + text_of(n->second) + ", but '" + op.inputs.back().name +
                     "' has " + std::to_string(count) + " inputs");
  if (n == node.attributes.end()) node.attributes["N"] = count;
}

/// Checks the given attributes: known, of their kind, with an allowed value.
void check_given(const Operation& op, Node& node) {
  // A whole number serves as a float; the empty list of integers and the scalar's shape are told apart by the table.
  for (const AttributeSpec& spec : op.attributes) {
    if (spec.kind != AttributeKind::kFloat) continue;
    const auto given = node.attributes.find(spec.name);
    if (given != node.attributes.end() && kind_of(given->second) == AttributeKind::kInt)
      node.attributes[spec.name] = static_cast<double>(std::get<int64_t>(given->second));
  }
  for (const auto& [name, value] : node.attributes) {
    if (name == "N" && has_variadic_input(op)) continue;
    if (is_placement(name)) {
      if (kind_of(value) != AttributeKind::kString)
        throw GraphError(place(node) + "attribute '" + name + "' is " + text_of(value) + ", of kind " +
                         name_of(kind_of(value)) + "; expected kind string");
      continue;
    }
    const AttributeSpec* spec = find_spec(op, name);
    if (!spec) {
      throw GraphError(place(node) + "unknown attribute '" + files::excerpt(name) + "'" +
                       nearest_of(name, op.attributes, &AttributeSpec::name));
    }
    if (kind_of(value) != spec->kind)
      throw GraphError(place(node) + "attribute '" + name + "' is " + text_of(value) + ", of kind " +
                       name_of(kind_of(value)) + "; expected kind " + name_of(spec->kind));
    if (const auto* word = std::get_if<std::string>(&value))
      if (!spec->choices.empty() && std::find(spec->choices.begin(), spec->choices.end(), *word) == spec->choices.end())
        throw GraphError(place(node) + "attribute '" + name + "' is '" + files::excerpt(*word) + "'; expected " +
                         named_choices(*spec));
    if (const auto* type = std::get_if<DType>(&value))
      if (!allowed(*spec, *type))
        throw GraphError(
            place(node) + "attribute '" + name + "' is " + name_of(*type) +
            ", not in the list of allowed values: " + joined(spec->types, ", ", [](DType t) { return name_of(t); }));
    if (const auto* tensor = std::get_if<std::shared_ptr<const Tensor>>(&value))
      if (!*tensor) throw GraphError(place(node) + "attribute '" + name + "' is a null tensor");
  }
}

/// T, as far as it is known.
DType type_of_node(const Node& node) {
  const auto at = node.attributes.find("T");
  return at == node.attributes.end() ? DType::kFloat32 : std::get<DType>(at->second);
}

/// Checks the inputs' dtypes against fixed dtypes and against one another; sets the type attributes that the ports
/// name.
// implements: N90
void check_dtypes(const Operation& op, Node& node, std::span<const TensorType> inputs) {
  const auto argument = [&](size_t i) {
    const PortSpec& port = op.inputs[std::min(i, op.inputs.size() - 1)];
    return port.variadic ? port.name + "[" + std::to_string(i + 1 - op.inputs.size()) + "]" : port.name;
  };
  // The inputs that fixed a type attribute; an operation has few.
  std::vector<std::pair<const std::string*, size_t>> fixed_by;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PortSpec& port = op.inputs[std::min(i, op.inputs.size() - 1)];
    const DType type = inputs[i].dtype;
    const AttributeSpec* spec = find_spec(op, port.type);
    if (!spec) {
      const DType expected = *fixed_type(port, type_of_node(node));
      if (type != expected) throw DtypeMismatchError(op.name, argument(i), type, "", expected, node.name);
      continue;
    }
    const auto known = node.attributes.find(port.type);
    const auto by =
        std::find_if(fixed_by.begin(), fixed_by.end(), [&](const auto& fixed) { return *fixed.first == port.type; });
    if (known == node.attributes.end() || (type == std::get<DType>(known->second) && by == fixed_by.end())) {
      if (!allowed(*spec, type))
        throw GraphError(
            place(node) + "Value passed to parameter '" + argument(i) + "' has DataType " + name_of(type) +
            " not in list of allowed values: " + joined(spec->types, ", ", [](DType t) { return name_of(t); }));
      if (known == node.attributes.end()) node.attributes[port.type] = type;
      if (by == fixed_by.end()) fixed_by.emplace_back(&port.type, i);
      continue;
    }
    const DType expected = std::get<DType>(known->second);
    if (type != expected)
      throw DtypeMismatchError(op.name, argument(i), type, by == fixed_by.end() ? "" : argument(by->second), expected,
                               node.name);
  }
}

void fill_in(const Operation& op, Node& node) {
  for (const AttributeSpec& spec : op.attributes) {
    if (node.attributes.contains(spec.name)) continue;
    const auto value = node.attributes.find("value");
    const auto* tensor =
        value == node.attributes.end() ? nullptr : std::get_if<std::shared_ptr<const Tensor>>(&value->second);
    if (spec.default_value)
      node.attributes[spec.name] = *spec.default_value;
    else if (spec.kind == AttributeKind::kType && spec.name == "dtype" && tensor)
      node.attributes["dtype"] = (*tensor)->dtype();
    else
      throw GraphError(place(node) + "attribute '" + spec.name + "' is missing; expected kind " + name_of(spec.kind) +
                       (spec.choices.empty() ? "" : ": " + named_choices(spec)));
  }
}

void check_characters(const std::string& what, std::string_view name, std::string_view first_extra) {
  const auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  bool good = !name.empty();
  for (size_t i = 0; i < name.size(); ++i)
    good = good && (letter(name[i]) ||
                    (i == 0 ? first_extra : std::string_view("._-/")).find(name[i]) != std::string_view::npos);
  if (!good)
    throw GraphError("'" + files::excerpt(name) + "' is not a valid " + what +
                     ": expected letters, digits and '.', then these and '_', '-', '/'");
}

}  // namespace

bool is_placement(std::string_view name) { return name == "device" || name == "layer"; }

std::string named_choices(const AttributeSpec& spec) {
  std::vector<std::string> words = spec.choices;
  std::erase(words, "");
  return joined(words);
}

void check_name(const std::string& name) { check_characters("node name", name, "."); }
void check_scope(std::string_view scope) { check_characters("scope name", scope, "._-"); }

namespace {

/// A node that was completed before: attributes and outputs are functions of the rest, as long as no name is part of a
/// message. Layers repeat their nodes, so most are found here, and those share their attributes.
struct Completed {
  std::string op;
  Attributes given;
  std::vector<TensorType> inputs;
  Attributes attributes;
  std::vector<TensorType> outputs;
};
constexpr size_t kCompleted = 256;  // a thread's; more than the kinds of nodes in most networks

size_t mixed(size_t hash, uint64_t x) { return (hash ^ x) * 0x9E3779B97F4A7C15u; }

size_t place_of(const Node& node, std::span<const TensorType> inputs) {
  size_t hash = mixed(node.attributes.size(), std::hash<std::string_view>{}(node.op));
  for (const TensorType& type : inputs) {
    hash = mixed(hash, static_cast<uint64_t>(type.dtype));
    for (const int64_t extent : type.shape) hash = mixed(hash, static_cast<uint64_t>(extent));
  }
  for (const auto& [name, value] : node.attributes) {
    if (const DType* type = std::get_if<DType>(&value)) hash = mixed(hash, static_cast<uint64_t>(*type));
    if (const Shape* shape = std::get_if<Shape>(&value)) hash = mixed(hash, static_cast<uint64_t>(shape->elements()));
  }
  return hash >> 32;
}

/// Whether a node like this may come again, and keeping it holds on to little.
bool can_return(const Node& node, std::span<const TensorType> inputs) {
  constexpr size_t kMost = 64;  // inputs, numbers in a list, characters
  for (const auto& [name, value] : node.attributes) {
    if (std::holds_alternative<std::shared_ptr<const Tensor>>(value) || name == "ref") return false;
    if (const auto* text = std::get_if<std::string>(&value); text && text->size() > kMost) return false;
    if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value); numbers && numbers->size() > kMost)
      return false;
  }
  return inputs.size() <= kMost;
}

void complete_new_node(Node& node, std::span<const TensorType> inputs);

}  // namespace

void complete_node(Node& node, std::span<const TensorType> inputs) {
  if (!can_return(node, inputs)) return complete_new_node(node, inputs);
  thread_local std::vector<Completed> known(kCompleted);
  Completed& there = known[place_of(node, inputs) % kCompleted];
  if (there.op == node.op && there.given == node.attributes && std::ranges::equal(there.inputs, inputs)) {
    node.attributes = there.attributes;
    node.outputs = there.outputs;
    return;
  }
  Attributes given = node.attributes;
  complete_new_node(node, inputs);
  constexpr size_t kMostOutputs = 64;
  if (node.outputs.size() > kMostOutputs) return;
  there = {node.op, std::move(given), {inputs.begin(), inputs.end()}, node.attributes, node.outputs};
}

namespace {

void complete_new_node(Node& node, std::span<const TensorType> inputs) {
  const engine::DefaultEnvironment guard;
  const Operation& op = operation(node.op);
  check_count(op, node);
  check_given(op, node);
  check_dtypes(op, node, inputs);
  fill_in(op, node);

  const bool variadic = !op.outputs.empty() && op.outputs.back().variadic;
  node.outputs.assign(op.outputs.size() - variadic, TensorType{DType::kFloat32, {}});
  InferenceContext context(node.name, node.op, inputs, node.attributes, node.outputs);
  try {
    op.infer(context);
  } catch (const GraphError&) {
    throw;
  } catch (const std::invalid_argument& e) {  // impossible shapes
    context.fail(e.what());
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const PortSpec& port = op.outputs[std::min(i, op.outputs.size() - 1)];
    const std::string& type = port.type;
    node.outputs[i].dtype = find_spec(op, type) ? std::get<DType>(node.attributes.find(type)->second)
                                                : *fixed_type(port, type_of_node(node));
  }
}

}  // namespace

void check_reference(const Graph& graph, int i) {
  const Node& node = graph.node(i);
  const auto it = node.attributes.find("ref");
  if (it == node.attributes.end()) return;
  const std::string& name = std::get<std::string>(it->second);
  const int v = graph.find(name);
  if (v < 0 || graph.node(v).op != "VariableV2") {
    Nearest nearest(name);
    for (const Node& other : graph.nodes())
      if (other.op == "VariableV2") nearest.offer(other.name);
    throw GraphError(place(node) + "attribute 'ref' is '" + files::excerpt(name) +
                     "'; expected the name of a VariableV2" + nearest.text());
  }
  const TensorType &variable = graph.node(v).outputs[0], &value = graph.type(node.inputs[0]);
  if (variable != value)
    throw GraphError(place(node) + "the value is " + value.text() + ", but the variable '" + name + "' is " +
                     variable.text());
}

}  // namespace softamp::graph_detail
