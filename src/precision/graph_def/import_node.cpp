// What the translation of one node works with: its attributes, its inputs, the nodes that it becomes.
#include <algorithm>
#include <cmath>

#include "src/precision/graph_def/import.h"
#include "src/text/printable.h"

namespace softamp::graph_def_detail {
namespace {

using files::excerpt;
using graph_def::AttrValue;
using Kind = ImportedValue::Kind;

}  // namespace

void NodeImport::fail(const std::string& what) const { fail_node(importer.held().place, node, what); }

const AttrValue* NodeImport::find(std::string_view attribute) const {
  const AttrValue* value = find_attribute(node, attribute);
  if (!value || value->value_case() != AttrValue::kPlaceholder) return value;
  // Within a function: the caller's attribute.
  if (!frame.attributes) return nullptr;
  const auto it = frame.attributes->find(value->placeholder());
  return it == frame.attributes->end() ? nullptr : &it->second;
}

namespace {

const AttrValue* of_kind(const NodeImport& n, std::string_view attribute, AttrValue::ValueCase kind,
                         const char* expected) {
  const AttrValue* value = n.find(attribute);
  if (value && value->value_case() != kind)
    n.fail("attribute '" + std::string(attribute) + "' is " + kind_of(*value) + "; expected " + expected);
  return value;
}

}  // namespace

bool NodeImport::flag(std::string_view attribute, bool fallback) const {
  const AttrValue* value = of_kind(*this, attribute, AttrValue::kB, "a bool");
  return value ? value->b() : fallback;
}
int64_t NodeImport::integer(std::string_view attribute, int64_t fallback) const {
  const AttrValue* value = of_kind(*this, attribute, AttrValue::kI, "an int");
  return value ? value->i() : fallback;
}
double NodeImport::real(std::string_view attribute, double fallback) const {
  const AttrValue* value = of_kind(*this, attribute, AttrValue::kF, "a float");
  return value ? static_cast<double>(value->f()) : fallback;
}
std::string NodeImport::text(std::string_view attribute, std::string_view fallback) const {
  const AttrValue* value = of_kind(*this, attribute, AttrValue::kS, "a string");
  return value ? value->s() : std::string(fallback);
}
std::vector<int64_t> NodeImport::list(std::string_view attribute, std::vector<int64_t> fallback) const {
  const AttrValue* value = of_kind(*this, attribute, AttrValue::kList, "a list of ints");
  if (!value) return fallback;
  return {value->list().i().begin(), value->list().i().end()};
}

ElementType NodeImport::element(std::string_view attribute, bool required) const {
  const AttrValue* value = of_kind(*this, attribute, AttrValue::kType, "a type");
  if (!value && required) fail("attribute '" + std::string(attribute) + "' is missing; expected a type");
  const int code = value ? static_cast<int>(value->type()) : 0;
  return code < 0 || code > 255 ? ElementType::kUnknown : static_cast<ElementType>(code > 100 ? code - 100 : code);
}

DType NodeImport::dtype(std::string_view attribute) const {
  const ElementType type = element(attribute);
  const std::optional<DType> t = run_dtype(type);
  if (!t)
    fail("attribute '" + std::string(attribute) + "' is " + softamp::name_of(type) +
         ", of which nothing is computed here");
  return *t;
}

void NodeImport::expect_inputs(size_t count) const {
  if (inputs.size() != count)
    fail(std::to_string(inputs.size()) + (inputs.size() == 1 ? " input" : " inputs") + "; expected " +
         std::to_string(count));
}

Port NodeImport::port(size_t input) {
  if (input >= inputs.size()) expect_inputs(input + 1);
  try {
    return importer.materialise(inputs[input]);
  } catch (const std::invalid_argument& e) {
    fail("input " + std::to_string(input) + ": " + e.what());
  }
}

std::vector<Port> NodeImport::ports(size_t first, size_t count) {
  std::vector<Port> all;
  for (size_t i = first; i < first + count; ++i) all.push_back(port(i));
  return all;
}

TensorType NodeImport::type(size_t input) {
  if (input >= inputs.size()) expect_inputs(input + 1);
  if (is_known(input)) {
    const TensorType& t = known(input).type();
    return {t.dtype == DType::kInt64 || t.dtype == DType::kUint8 ? DType::kInt32 : t.dtype, t.shape};
  }
  return importer.type(port(input));
}

bool NodeImport::is_known_integer(size_t input) const {
  return input < inputs.size() && is_known(input) && !is_floating(known(input).dtype()) &&
         known(input).elements() <= kMostKnown;
}

std::vector<int64_t> NodeImport::ints(size_t input, const char* what) const {
  if (input >= inputs.size()) expect_inputs(input + 1);
  if (!is_known_integer(input))
    fail("input " + std::to_string(input) + ", " + what +
         ", is needed before the graph runs; expected a constant, or arithmetic of known shapes");
  return integers_of(known(input));
}

int64_t NodeImport::one_int(size_t input, const char* what) const {
  const std::vector<int64_t> all = ints(input, what);
  if (all.size() != 1)
    fail("input " + std::to_string(input) + ", " + what + ", has " + std::to_string(all.size()) +
         " numbers; expected one");
  return all[0];
}

double NodeImport::number(size_t input, const char* what) const {
  if (input >= inputs.size()) expect_inputs(input + 1);
  if (!is_known(input) || known(input).elements() != 1)
    fail("input " + std::to_string(input) + ", " + what +
         ", is needed before the graph runs; expected a constant number");
  const Tensor& t = known(input);
  return is_floating(t.dtype()) ? t.value(0) : static_cast<double>(integers_of(t)[0]);
}

Shape NodeImport::shape_from(size_t input, const char* what) const {
  try {
    return Shape(ints(input, what));
  } catch (const GraphDefError&) {
    throw;
  } catch (const std::invalid_argument& e) {
    fail(std::string(what) + ": " + e.what());
  }
}

Port NodeImport::add(std::string_view op, std::vector<Port> from, Attributes attributes) {
  const Port p = importer.builder().add(op, std::move(from), std::move(attributes), Importer::allowed_name(name));
  set(0, p);
  return p;
}

Port NodeImport::helper(std::string_view suffix, std::string_view op, std::vector<Port> from, Attributes attributes) {
  return importer.builder().add(op, std::move(from), std::move(attributes),
                                importer.helper_name(Importer::allowed_name(name) + "/" + std::string(suffix)));
}

Port NodeImport::constant(std::string_view suffix, Tensor value) {
  return helper(suffix, "Const", {}, {{"value", std::make_shared<const Tensor>(std::move(value))}});
}

Port NodeImport::scalar(std::string_view suffix, DType dtype, double value) {
  return constant(suffix, Tensor::full(dtype, Shape{}, value));
}

Port NodeImport::cast(std::string_view suffix, Port from, DType to) {
  return importer.type(from).dtype == to ? from : helper(suffix, "Cast", {from}, {{"DstT", to}});
}

void NodeImport::set(size_t output, ImportedValue value) {
  if (output >= outputs.size()) outputs.resize(output + 1);
  outputs[output] = std::move(value);
}

void NodeImport::set_known(size_t output, Tensor tensor) {
  ImportedValue value = ImportedValue::of(Kind::kKnown);
  std::string own = Importer::allowed_name(name);
  if (output > 0) own = importer.helper_name(own + "/output" + std::to_string(output));
  value.known = std::make_shared<KnownTensor>(KnownTensor{std::move(tensor), std::move(own), {}});
  set(output, std::move(value));
}

void NodeImport::set_all(Port p) {
  const size_t count = importer.builder().graph().node(p.node).outputs.size();
  for (size_t i = 0; i < count; ++i) set(i, Port{p.node, static_cast<int>(i)});
}

std::optional<DType> run_dtype(ElementType type) {
  switch (static_cast<int>(type)) {
    case graph_def::DT_FLOAT: return DType::kFloat32;
    case graph_def::DT_HALF: return DType::kFloat16;
    case graph_def::DT_BFLOAT16: return DType::kBFloat16;
    case graph_def::DT_DOUBLE: return DType::kFloat64;
    case graph_def::DT_BOOL: return DType::kBool;
    case graph_def::DT_INT32:
    case graph_def::DT_INT64:
    case graph_def::DT_UINT8:
    case graph_def::DT_INT8:
    case graph_def::DT_INT16:
    case graph_def::DT_UINT16:
    case graph_def::DT_UINT32: return DType::kInt32;
    default: return std::nullopt;
  }
}

bool is_narrowed(ElementType type) {
  return run_dtype(type) == DType::kInt32 && static_cast<int>(type) != graph_def::DT_INT32;
}

std::vector<int64_t> integers_of(const Tensor& tensor) {
  std::vector<int64_t> all(static_cast<size_t>(tensor.elements()));
  switch (tensor.dtype()) {
    case DType::kInt32: std::copy_n(tensor.as<int32_t>().begin(), all.size(), all.begin()); break;
    case DType::kInt64: std::copy_n(tensor.as<int64_t>().begin(), all.size(), all.begin()); break;
    case DType::kUint8:
    case DType::kBool: std::copy_n(tensor.as<uint8_t>().begin(), all.size(), all.begin()); break;
    default:
      throw std::invalid_argument(std::string("a tensor of ") + softamp::name_of(tensor.dtype()) +
                                  "; expected integers");
  }
  return all;
}

Tensor tensor_of(DType dtype, const Shape& shape, std::span<const int64_t> values) {
  Tensor tensor(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t v = values[i];
    switch (dtype) {
      case DType::kInt32:
        if (v < INT32_MIN || v > INT32_MAX)
          throw std::invalid_argument("the integer " + std::to_string(v) + "; expected 32 bits");
        tensor.as<int32_t>()[i] = static_cast<int32_t>(v);
        break;
      case DType::kInt64: tensor.as<int64_t>()[i] = v; break;
      case DType::kBool: tensor.as<uint8_t>()[i] = v != 0; break;
      default: throw std::invalid_argument("integers of another dtype");
    }
  }
  return tensor;
}

}  // namespace softamp::graph_def_detail
