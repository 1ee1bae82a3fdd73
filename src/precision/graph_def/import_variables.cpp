// What brings values in and keeps them: constants, placeholders, random numbers, variables by reference and by
// resource.
#include <algorithm>

#include "src/precision/graph_def/import.h"
#include "src/text/printable.h"

namespace softamp::graph_def_detail {
namespace {

using files::excerpt;
using graph_def::AttrValue;
using Kind = ImportedValue::Kind;

/// The attribute "shape" where it is known to the last extent.
std::optional<Shape> known_shape(const NodeImport& n) {
  const AttrValue* value = n.find("shape");
  if (!value || value->value_case() != AttrValue::kShape || value->shape().unknown_rank()) return std::nullopt;
  std::vector<int64_t> extents;
  for (const auto& dim : value->shape().dim()) {
    if (dim.size() < 0) return std::nullopt;
    extents.push_back(dim.size());
  }
  return Shape(extents);
}

/// "[?,64]"; "" of an unknown rank.
std::string shape_text(const NodeImport& n) {
  const AttrValue* value = n.find("shape");
  if (!value || value->value_case() != AttrValue::kShape || value->shape().unknown_rank()) return "";
  std::string text = "[";
  for (const auto& dim : value->shape().dim())
    text += (text.size() > 1 ? "," : "") + (dim.size() < 0 ? std::string("?") : std::to_string(dim.size()));
  return text + "]";
}

/// Whether a shape is what the attribute "shape" leaves open. No extents at all count as unknown, as in old files.
bool fits(const NodeImport& n, const Shape& given) {
  const AttrValue* value = n.find("shape");
  if (!value || value->value_case() != AttrValue::kShape || value->shape().unknown_rank()) return true;
  const auto& dims = value->shape().dim();
  if (dims.size() == 0 && n.node.op() == "Placeholder") return true;
  if (dims.size() != given.rank()) return false;
  for (int a = 0; a < given.rank(); ++a)
    if (dims.Get(a).size() >= 0 && dims.Get(a).size() != given[a]) return false;
  return true;
}

/// "DT_FLOAT"; the number of a type that there is not.
std::string type_text(graph_def::DataType type) {
  const std::string name = graph_def::DataType_Name(type);
  return name.empty() ? std::to_string(static_cast<int>(type)) : name;
}

void constant(NodeImport& n) {
  n.expect_inputs(0);
  const AttrValue* value = n.find("value");
  if (!value || value->value_case() != AttrValue::kTensor)
    n.fail(std::string("attribute 'value' is ") + (value ? kind_of(*value) : "missing") + "; expected a tensor");
  if (const AttrValue* dtype = n.find("dtype"); dtype && dtype->type() != value->tensor().dtype())
    n.fail("attribute 'dtype' is " + type_text(dtype->type()) + ", and its tensor is of " +
           type_text(value->tensor().dtype()) + "; expected one type");
  const ElementType type = static_cast<ElementType>(std::clamp<int>(value->tensor().dtype(), 0, 255));
  if (!run_dtype(type)) {
    n.set(0, ImportedValue::of(Kind::kOpaque));
    return;
  }
  ConstantValue c = constant_of(value->tensor(), n.importer);
  if (c.splat)
    n.add("Fill", {}, {{"dtype", c.dtype}, {"shape", c.shape}, {"value", c.value}});
  else
    n.set_known(0, std::move(c.tensor));
}

/// Whether axis 0 is the only extent that the attribute "shape" leaves open.
std::optional<Shape> with_batch(const NodeImport& n) {
  const AttrValue* value = n.find("shape");
  const auto& batch = n.importer.options().batch;
  if (!batch || !value || value->value_case() != AttrValue::kShape || value->shape().dim_size() == 0)
    return std::nullopt;
  std::vector<int64_t> extents;
  for (const auto& dim : value->shape().dim()) extents.push_back(dim.size());
  if (extents[0] >= 0) return std::nullopt;
  extents[0] = *batch;
  for (const int64_t extent : extents)
    if (extent < 0) return std::nullopt;
  return Shape(extents);
}

void placeholder(NodeImport& n) {
  if (n.frame.function) n.fail("a placeholder within a function cannot be fed");
  const DType t = n.dtype("dtype");
  const auto& conditions = n.importer.options().conditions;
  if (const auto known = conditions.find(n.node.name()); known != conditions.end() && t == DType::kBool) {
    const int64_t value[] = {known->second};
    n.set_known(0, tensor_of(t, Shape{}, value));
    return;
  }
  const auto& given = n.importer.options().shapes;
  const auto it = given.find(n.node.name());
  std::optional<Shape> shape = known_shape(n);
  if (it != given.end()) {
    if (!fits(n, it->second))
      n.fail("it is fed a tensor of shape " + it->second.text() + "; expected " + shape_text(n));
    shape = it->second;
  }
  if (!shape) shape = with_batch(n);
  if (!shape)
    n.fail("its shape is not known" + (shape_text(n).empty() ? "" : ", " + shape_text(n)) +
           "; expected a feed, from whose file it is taken: --feed " + excerpt(n.node.name()) + "=FILE.npy");
  const Port p = n.add("Placeholder", {}, {{"dtype", t}, {"shape", *shape}});
  n.importer.note_input(n.node.name(), n.importer.builder().graph().node(p.node).name, is_narrowed(n.element("dtype")));
}

void placeholder_with_default(NodeImport& n) {
  n.expect_inputs(1);
  if (!n.frame.function && n.importer.options().shapes.contains(n.node.name())) return placeholder(n);
  n.set(0, n.inputs[0]);
}

Attributes random_attributes(const NodeImport& n) {
  return {{"dtype", n.dtype("dtype")}, {"shape", n.shape_from(0, "the shape")}};
}
void random(NodeImport& n) { n.add(n.node.op(), {}, random_attributes(n)); }
void random_int(NodeImport& n) {
  n.expect_inputs(3);
  n.add("RandomUniformInt", {},
        {{"shape", n.shape_from(0, "the shape")},
         {"minval", n.one_int(1, "the least value")},
         {"maxval", n.one_int(2, "the bound")}});
}

void variable(NodeImport& n) {
  const std::string shared = n.text("shared_name", ""), container = n.text("container", "");
  const std::string key = n.frame.function ? n.name : container + "/" + (shared.empty() ? n.node.name() : shared);
  ImportedValue value = ImportedValue::of(Kind::kVariable);
  const ElementType type = n.element("dtype");
  const std::optional<DType> t = run_dtype(type);
  if (!t) {
    n.set(0, ImportedValue::of(Kind::kOpaque));
    return;
  }
  value.variable = n.importer.variable_of(key, n.name, *t, is_narrowed(type), known_shape(n));
  n.set(0, std::move(value));
}

int variable_input(const NodeImport& n, size_t input) {
  if (input >= n.inputs.size()) n.expect_inputs(input + 1);
  if (n.inputs[input].kind != Kind::kVariable) n.fail("input " + std::to_string(input) + " is no variable");
  return n.inputs[input].variable;
}

void read_variable(NodeImport& n) {
  n.expect_inputs(1);
  n.add("Identity", {n.importer.read(variable_input(n, 0))});
}

void is_initialized(NodeImport& n) {
  n.expect_inputs(1);
  variable_input(n, 0);
  const int64_t yes[] = {1};
  n.set_known(0, tensor_of(DType::kBool, Shape{}, yes));
}

/// The reference forms give the variable on; those of resources nothing.
void store(NodeImport& n, int variable, Port value) {
  n.importer.write(variable, value);
  n.outputs.clear();
  if (n.node.op().find("VariableOp") == std::string::npos) n.set(0, n.inputs[0]);
}

void assign(NodeImport& n) {
  n.expect_inputs(2);
  const int v = variable_input(n, 0);
  store(n, v, n.add("Identity", {n.port(1)}));
}

void assign_change(NodeImport& n) {
  n.expect_inputs(2);
  const int v = variable_input(n, 0);
  const bool adds = n.node.op().starts_with("AssignAdd");
  const Port now = n.importer.read(v);
  store(n, v, n.add(adds ? "AddV2" : "Sub", {now, n.port(1)}));
}

void no_operation(NodeImport&) {}

/// Texts: what is made of them cannot be fetched, nor computed with.
void opaque(NodeImport& n) { n.set(0, ImportedValue::of(Kind::kOpaque)); }

}  // namespace

const Shape* Importer::given(const std::string& variable) const {
  for (const auto* shapes : {&options_.shapes, &options_.variable_shapes})
    if (const auto it = shapes->find(variable); it != shapes->end()) return &it->second;
  return nullptr;
}

int Importer::variable_of(const std::string& key, const std::string& name, DType dtype, bool narrowed,
                          const std::optional<Shape>& shape) {
  const auto [it, fresh] = variable_numbers_.emplace(key, static_cast<int>(variables_.size()));
  if (fresh) {
    ImportedVariable v{name, allowed_name(name), dtype, narrowed, shape, {}, false};
    if (const Shape* of_value = given(name)) {
      if (shape && *shape != *of_value)
        throw GraphError("it is given a tensor of shape " + of_value->text() + "; expected " + shape->text());
      v.shape = *of_value;
    }
    variables_.push_back(std::move(v));
  }
  ImportedVariable& v = variable(it->second);
  if (v.dtype != dtype) throw GraphError("variable '" + excerpt(v.name) + "' has two dtypes");
  if (!v.shape) v.shape = shape;
  return it->second;
}

Port Importer::read(int number) {
  ImportedVariable& v = variable(number);
  if (v.now.node >= 0) return v.now;
  if (!v.shape)
    throw GraphError("the shape of variable '" + excerpt(v.name) +
                     "' is not known; expected its attribute 'shape', or a value for it");
  v.now = builder_.add("VariableV2", {}, {{"dtype", v.dtype}, {"shape", *v.shape}}, v.ref);
  v.ref = builder_.graph().node(v.now.node).name;
  note_input(v.name, v.ref, v.narrowed);
  return v.now;
}

void Importer::write(int number, Port value) {
  ImportedVariable& v = variable(number);
  const TensorType& type = builder_.type(value);
  if (!v.shape) v.shape = type.shape;
  if (type != TensorType{v.dtype, *v.shape})
    throw GraphError("variable '" + excerpt(v.name) + "' is " + TensorType{v.dtype, *v.shape}.text() +
                     ", but it is assigned " + type.text());
  read(number);
  v.now = value;
  v.changed = true;
}

void Importer::assign_variables() {
  for (const ImportedVariable& v : variables_)
    if (v.changed) builder_.add("Assign", {v.now}, {{"ref", v.ref}}, helper_name(v.ref + "/assign"));
}

void add_source_translations(Translations& all) {
  all["Const"] = {constant};
  all["Placeholder"] = all["PlaceholderV2"] = {placeholder};
  all["PlaceholderWithDefault"] = {placeholder_with_default};
  all["RandomUniform"] = all["RandomStandardNormal"] = all["TruncatedNormal"] = {random};
  all["RandomUniformInt"] = {random_int};
  for (const std::string_view op : words_of("NoOp ControlTrigger Assert Print PrintV2")) all[op] = {no_operation};
  for (const std::string_view op : words_of("ScalarSummary HistogramSummary MergeSummary StringJoin"))
    all[op] = {opaque};
}

void add_variable_translations(Translations& all) {
  all["Variable"] = all["VariableV2"] = all["VarHandleOp"] = {variable};
  all["ReadVariableOp"] = {read_variable};
  all["VarIsInitializedOp"] = all["IsVariableInitialized"] = {is_initialized};
  all["Assign"] = all["AssignVariableOp"] = {assign, true};
  for (const std::string_view op : words_of("AssignAdd AssignSub AssignAddVariableOp AssignSubVariableOp"))
    all[op] = {assign_change, true};
}

}  // namespace softamp::graph_def_detail
