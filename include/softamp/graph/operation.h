// The operation types, their inputs, outputs and attributes. One table for builder, verifier, JSON reader, executors
// and documentation.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "softamp/graph/graph.h"

namespace softamp {

/// An input or output port. `type` is the name of a type attribute ("T": whatever dtype the node has there; equal names
/// mean equal dtypes), a fixed dtype ("float32", "int32", "bool"), or "wide": float64 where T is that, else float32.
struct PortSpec {
  std::string name;
  std::string type;
  bool variadic = false;  ///< the last input: one or more of them (attribute "N" is their number, filled in); the last
                          ///< output: as many as inference sets
  bool optional = false;  ///< the last inputs: may be left out
};

/// The dtype of a port of a fixed or wide type, T being `t`; empty for one that a type attribute names.
std::optional<DType> fixed_type(const PortSpec& port, DType t);

enum class AttributeKind : uint8_t { kBool, kInt, kFloat, kString, kType, kShape, kInts, kTensor };

struct AttributeSpec {
  std::string name;
  AttributeKind kind;
  /// Without a value it must be given. (A type that an input port names follows from the input; a type "dtype" beside a
  /// tensor "value" follows from the tensor.)
  std::optional<Attribute> default_value;
  std::string summary;               ///< "name (values) [=default]" is written from these
  std::vector<std::string> choices;  ///< of a string: the values allowed; empty: any
  std::vector<DType> types;          ///< of a type: the dtypes allowed; empty: any
};

/// What shape inference sees of a node. Attributes are complete and of the right kind, dtypes are checked.
class InferenceContext {
 public:
  InferenceContext(const std::string& node_name, const std::string& op, std::span<const TensorType> inputs,
                   const Attributes& attributes, std::vector<TensorType>& outputs)
      : name_(node_name), op_(op), inputs_(inputs), attributes_(attributes), outputs_(outputs) {}

  size_t inputs() const { return inputs_.size(); }
  const Shape& shape(size_t input) const { return inputs_[input].shape; }
  DType dtype(size_t input) const { return inputs_[input].dtype; }
  bool get_bool(std::string_view name) const;
  int64_t get_int(std::string_view name) const;
  double get_float(std::string_view name) const;
  const std::string& get_string(std::string_view name) const;
  const std::vector<int64_t>& get_ints(std::string_view name) const;
  const Shape& get_shape(std::string_view name) const;
  DType get_type(std::string_view name) const;
  const Tensor& get_tensor(std::string_view name) const;

  /// Sets the shape of an output; its dtype is set from the port's spec.
  void output(size_t port, const Shape& shape) {
    if (port >= outputs_.size()) outputs_.resize(port + 1);
    outputs_[port].shape = shape;
  }
  /// Throws GraphError: "MatMul 'layer/y': " + message.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  const std::string& name_;
  const std::string& op_;
  std::span<const TensorType> inputs_;
  const Attributes& attributes_;
  std::vector<TensorType>& outputs_;
};

// What an engine computes for each element: kernel/elementwise.h, kernel/functions.h.
namespace kernel {
enum class Elementwise : uint8_t;
enum class Function : uint8_t;
}  // namespace kernel
using ElementBody = std::variant<std::monostate, kernel::Elementwise, kernel::Function>;

namespace graph_detail {
class GradientContext;  // src/graph/gradient_context.h
}
/// Adds the nodes that compute the gradients of a node's inputs.
using GradientRule = void (*)(graph_detail::GradientContext& c);

/// A row of the table: all that is said about an operation type, in one place.
struct Operation {
  std::string name;     ///< TensorFlow's name: "Conv2D"
  std::string summary;  ///< one sentence: the formula
  std::vector<PortSpec> inputs, outputs;
  std::vector<AttributeSpec> attributes;
  /// Rounding sites: how many operation ids a node owns (at least 1).
  int sites = 1;
  std::function<void(InferenceContext&)> infer;
  /// Runs for its effect, even if nothing reads it (PrintTensor, OutfeedEnqueue).
  bool effect = false;
  /// For an operation of one element at a time that needs no more of an engine than this: its body.
  ElementBody element = {};
  GradientRule gradient = nullptr;  ///< null: none
  /// Its result is an integer, a truth value, random, given, or piecewise constant: a gradient that arrives ends there.
  bool is_constant = false;

  Operation computes(ElementBody body) && {
    element = body;
    return std::move(*this);
  }
  Operation with(GradientRule rule) && {
    gradient = rule;
    return std::move(*this);
  }
  Operation constant() && {
    is_constant = true;
    return std::move(*this);
  }
};

/// The table, sorted by name.
std::span<const Operation> operations();
/// Throws GraphError, with the nearest name, for an unknown type.
const Operation& operation(std::string_view name);
/// Null for an unknown type.
const Operation* find_operation(std::string_view name);
/// "bool", "int", "float", "string", "type", "shape", "ints", "tensor".
const char* name_of(AttributeKind kind);
/// A value as text() of graph_text.h and the table below write it: true, 3, 0.5, 'SAME', float16, [1,2].
std::string text_of(const Attribute& value);
/// The table in Markdown, for the documentation: name, inputs, outputs, attributes with defaults, sites, summary.
std::string operation_table_markdown();

/// The attribute of a finished node; T is the alternative of Attribute (std::vector<int64_t> for lists). Throws
/// GraphError if the node has no such attribute of that kind.
template <class T>
const T& attribute(const Node& node, std::string_view name) {
  const auto it = node.attributes.find(name);
  const T* value = it == node.attributes.end() ? nullptr : std::get_if<T>(&it->second);
  if (!value) throw GraphError(node.op + " '" + node.name + "': no attribute " + std::string(name) + " of that kind");
  return *value;
}

// Each family of operations lists its own, in src/graph/ops/<family>.cpp; src/graph/operations.cpp joins them.
namespace operations_of {
std::vector<Operation> sources();       ///< Placeholder, Const, Identity, PrintTensor, OutfeedEnqueue, ...
std::vector<Operation> elementwise();   ///< arithmetic, selections, comparisons, Select, AddN, Fill
std::vector<Operation> functions();     ///< Exp, Tanh, Gelu, Pow, ...
std::vector<Operation> casts();         ///< Cast
std::vector<Operation> random();        ///< RandomUniform, RandomStandardNormal, TruncatedNormal
std::vector<Operation> products();      ///< MatMul, BatchMatMulV2, Einsum
std::vector<Operation> convolutions();  ///< Conv2D, its backprops, depthwise
std::vector<Operation> pooling();       ///< MaxPool, AvgPool and gradients
std::vector<Operation> reductions();    ///< Sum, Mean, Max, ArgMax, BiasAdd, BiasAddGrad
std::vector<Operation> softmax();       ///< Softmax, LogSoftmax, cross-entropies
std::vector<Operation> norms();         ///< batch, layer, group normalisation and gradients
std::vector<Operation> optimizers();    ///< ApplyGradientDescent, ApplyMomentum, ApplyAdam, ..., AllFinite
std::vector<Operation> structure();     ///< Reshape, Transpose, ConcatV2, Split, Pad, Slice, GatherV2, OneHot
std::vector<Operation> quantization();  ///< FakeQuantize, HadamardTransform, Fp8ScaleUpdate
}  // namespace operations_of

}  // namespace softamp
