// A graph as the mechanisms of mixed precision see it: operations, the type attributes that a pass may change, and
// edges. Passes colour this picture. It is made from a Graph or a TensorFlow GraphDef and holds only what both have: no
// shapes, constants or other attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/graph/graph.h"
#include "softamp/precision/short_list.h"

namespace softamp {

/// The type of a tensor's elements, under TensorFlow's codes (DataType of types.proto); a reference is code + 100.
/// Codes without a name here pass through.
enum class ElementType : uint8_t {
  kUnknown = 0,  ///< of an operation that softamp does not know
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kString = 7,
  kInt64 = 9,
  kBool = 10,
  kBFloat16 = 14,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kFloatRef = 101,
};
constexpr ElementType element_type(DType t) {
  constexpr ElementType kTypes[] = {ElementType::kHalf,   ElementType::kBFloat16, ElementType::kFloat,
                                    ElementType::kDouble, ElementType::kInt32,    ElementType::kBool,
                                    ElementType::kInt64,  ElementType::kUint8,    ElementType::kString};
  return kTypes[static_cast<int>(t)];
}
/// Empty for a type that softamp has no tensors of.
std::optional<DType> dtype_of(ElementType t);
/// "float32", "float16", "int64", "variant", "float32_ref"; a code without a name: "type 42".
std::string name_of(ElementType t);

/// What a pass can colour: a type attribute of a node, and with it every port whose type it is.
struct TypeUnit {
  std::string attribute;  ///< "T"
  ElementType type = ElementType::kUnknown;
  bool float16 = false, bfloat16 = false;  ///< whether the operation has a kernel for it

  bool can_be(DType low) const { return low == DType::kFloat16 ? float16 : low == DType::kBFloat16 && bfloat16; }
};

/// Output `port` of node number `node`.
struct OpEdge {
  int node = -1;
  int port = 0;
  bool operator==(const OpEdge&) const = default;
};

struct OpNode {
  static constexpr int16_t kNoUnit = -1;  ///< a port of a fixed or unknown type

  std::string name, op;
  std::string device;           ///< as written: "/cpu:0", "/job:worker/device:GPU:1"; "": not placed, counts as /gpu:0
  std::string layer;            ///< attribute "layer", else the name's scope: "block1/conv2d" of "block1/conv2d/Conv2D"
  ShortList<OpEdge, 3> inputs;  ///< data; control inputs are not seen
  ShortList<TypeUnit, 1> units;
  ShortList<int16_t, 4> input_units, output_units;  ///< number in `units` of each port's attribute, or kNoUnit
  ShortList<ElementType, 8> output_types;           ///< of each output port
  bool preserved = false;                           ///< fetched, fed or otherwise kept as it is: its types never change
  /// Holds or changes state, or acts outside: variables, Assign, Apply..., PrintTensor, random numbers.
  bool stateful = false;
  bool random = false;     ///< stateful only because it draws random numbers: its dtype may change
  bool known = true;       ///< false: opaque, its ports' types are guessed (graph_def.h)
  bool waits = false;      ///< has control inputs: its readers run after nodes that the edges here do not show
  bool truncates = false;  ///< a Cast that cuts bits off instead of rounding: TensorFlow's attribute Truncate
};

/// Nodes in any order; edges may form cycles (loops of a GraphDef).
struct OpGraph {
  std::vector<OpNode> nodes;
  /// Units are numbered over all nodes: unit u of node n is first_unit[n] + u. It has one entry more than nodes;
  /// number_units() fills it.
  std::vector<int> first_unit;

  void number_units();
  int size() const { return static_cast<int>(nodes.size()); }
  int units() const { return first_unit.empty() ? 0 : first_unit.back(); }
  int unit(int node, int local) const { return first_unit[static_cast<size_t>(node)] + local; }
  /// The unit that decides an edge's type at its producer, and the unit that takes input i of a node; -1 if there is
  /// none.
  int producer_unit(const OpEdge& e) const {
    const auto& units_of = nodes[static_cast<size_t>(e.node)].output_units;
    const auto port = static_cast<size_t>(e.port);
    if (e.port < 0 || port >= units_of.size() || units_of[port] == OpNode::kNoUnit) return -1;
    return unit(e.node, units_of[port]);
  }
  int reader_unit(int node, int input) const {
    const int16_t local = nodes[static_cast<size_t>(node)].input_units[static_cast<size_t>(input)];
    return local == OpNode::kNoUnit ? -1 : unit(node, local);
  }
  ElementType type(const OpEdge& e) const;  ///< kUnknown for a port beyond those known
};

/// The readers of each output: those of node n are entries begin[n] .. begin[n + 1] of `reads`.
struct OpReaders {
  struct Read {
    int node, input, port;  ///< reader, its input, and the port of the producer that it reads
  };
  std::vector<int> begin;
  std::vector<Read> reads;
  std::span<const Read> of(int node) const {
    const auto n = static_cast<size_t>(node);
    return {reads.data() + begin[n], static_cast<size_t>(begin[n + 1] - begin[n])};
  }
};
OpReaders readers(const OpGraph& graph);

/// "block1/conv2d" of "block1/conv2d/Conv2D"; "" of a name without '/'.
std::string scope_of(std::string_view name);

/// The picture of a graph. `fetches` ("name" or "name:port") are preserved, and so are Placeholders. Attributes
/// "device" and "layer" of nodes are read. Throws GraphError for an unknown fetch.
OpGraph op_graph(const Graph& graph, ListView<std::string> fetches = {});

/// Sources of a graph whose value is stored: Const, the kinds of variables, and the operations that read them.
/// TensorFlow's message does not count casts of these.
bool is_constant(std::string_view op);
bool is_variable(std::string_view op);  ///< Variable, VariableV2, AutoReloadVariable, VarHandleOp, ReadVariableOp
/// Const, a variable, or an Identity that reads a variable.
bool is_constant_or_variable(const OpGraph& graph, int node);

}  // namespace softamp
