// The table of operation types: the families joined and sorted, looked up, and printed.
#include <algorithm>
#include <unordered_map>

#include "softamp/graph/operation.h"
#include "softamp/numbers/number_text.h"
#include "src/text/joined.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

/// Checks what the rest of this folder assumes about an entry; a failure is an error in the library itself.
void check_entry(const Operation& op) {
  const auto fail = [&](const std::string& what) {
    throw std::logic_error("softamp: operation " + op.name + ": " + what);
  };
  const auto known_type = [&](const PortSpec& port) {
    for (const AttributeSpec& a : op.attributes)
      if (a.name == port.type) return a.kind == AttributeKind::kType;
    return fixed_type(port, DType::kFloat32).has_value();
  };
  for (const PortSpec& port : op.inputs)
    if (!known_type(port)) fail("input " + port.name + " has no type " + port.type);
  for (const PortSpec& port : op.outputs)
    if (!known_type(port)) fail("output " + port.name + " has no type " + port.type);
  if (!op.infer) fail("no inference");
  if (op.sites < 1) fail("no rounding site");
}

std::vector<Operation> all() {
  std::vector<Operation> table;
  for (const auto family :
       {operations_of::sources, operations_of::elementwise, operations_of::functions, operations_of::casts,
        operations_of::random, operations_of::products, operations_of::convolutions, operations_of::pooling,
        operations_of::reductions, operations_of::softmax, operations_of::norms, operations_of::structure,
        operations_of::optimizers, operations_of::quantization})
    for (Operation& op : family()) {
      check_entry(op);
      table.push_back(std::move(op));
    }
  std::sort(table.begin(), table.end(), [](const Operation& a, const Operation& b) { return a.name < b.name; });
  for (size_t i = 1; i < table.size(); ++i)
    if (table[i].name == table[i - 1].name)
      throw std::logic_error("softamp: operation " + table[i].name + " stands twice");
  return table;
}

const std::vector<Operation>& table() {
  static const std::vector<Operation> kTable = all();
  return kTable;
}

template <class T>
const T& get(const Attributes& attributes, std::string_view name, const std::string& op) {
  const auto it = attributes.find(name);
  const T* value = it == attributes.end() ? nullptr : std::get_if<T>(&it->second);
  if (!value)
    throw std::logic_error("softamp: the inference of " + op +
                           " asks for an attribute that it does not list: " + std::string(name));
  return *value;
}

}  // namespace

std::optional<DType> fixed_type(const PortSpec& port, DType t) {
  if (port.type == "wide") return t == DType::kFloat64 ? t : DType::kFloat32;
  return parse_dtype(port.type);
}

std::span<const Operation> operations() { return table(); }

const Operation* find_operation(std::string_view name) {
  static const std::unordered_map<std::string_view, const Operation*> kByName = [] {
    std::unordered_map<std::string_view, const Operation*> by_name;
    for (const Operation& op : table()) by_name.emplace(op.name, &op);
    return by_name;
  }();
  const auto it = kByName.find(name);
  return it == kByName.end() ? nullptr : it->second;
}

const Operation& operation(std::string_view name) {
  if (const Operation* found = find_operation(name)) return *found;
  throw GraphError("unknown operation '" + files::excerpt(name) + "'" +
                   graph_detail::nearest_of(name, table(), &Operation::name));
}

bool InferenceContext::get_bool(std::string_view name) const { return get<bool>(attributes_, name, op_); }
int64_t InferenceContext::get_int(std::string_view name) const { return get<int64_t>(attributes_, name, op_); }
double InferenceContext::get_float(std::string_view name) const { return get<double>(attributes_, name, op_); }
const std::string& InferenceContext::get_string(std::string_view name) const {
  return get<std::string>(attributes_, name, op_);
}
const std::vector<int64_t>& InferenceContext::get_ints(std::string_view name) const {
  return get<std::vector<int64_t>>(attributes_, name, op_);
}
const Shape& InferenceContext::get_shape(std::string_view name) const { return get<Shape>(attributes_, name, op_); }
DType InferenceContext::get_type(std::string_view name) const { return get<DType>(attributes_, name, op_); }
const Tensor& InferenceContext::get_tensor(std::string_view name) const {
  return *get<std::shared_ptr<const Tensor>>(attributes_, name, op_);
}
void InferenceContext::fail(const std::string& message) const {
  throw GraphError(op_ + " '" + name_ + "': " + message);
}

const char* name_of(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kBool: return "bool";
    case AttributeKind::kInt: return "int";
    case AttributeKind::kFloat: return "float";
    case AttributeKind::kString: return "string";
    case AttributeKind::kType: return "type";
    case AttributeKind::kShape: return "shape";
    case AttributeKind::kInts: return "ints";
    case AttributeKind::kTensor: return "tensor";
  }
  return "invalid";
}

std::string text_of(const Attribute& value) {
  struct Text {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const { return shortest_decimal(d); }
    std::string operator()(const std::string& s) const { return "'" + files::excerpt(s) + "'"; }
    std::string operator()(DType t) const { return name_of(t); }
    std::string operator()(const Shape& s) const { return s.text(); }
    std::string operator()(const std::vector<int64_t>& numbers) const { return list_text(numbers); }
    std::string operator()(const std::shared_ptr<const Tensor>& t) const {
      if (!t) return "no tensor";
      std::string text = t->type().text();
      if (t->elements() != 1) return text;
      const DType d = t->dtype();
      return text + " " +
             (is_floating(d) ? shortest_decimal(format_of(d), t->code(0))
                             : std::to_string(static_cast<int64_t>(t->value(0))));
    }
  };
  return std::visit(Text{}, value);
}

}  // namespace softamp
