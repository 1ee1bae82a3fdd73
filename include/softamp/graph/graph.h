// A graph of named tensor operations, and its builder. Graphs are values: once built, nothing in them changes.
//
// All shapes and dtypes are known when a graph is built, as on the device that softamp emulates. Operation types have
// TensorFlow's names; `operation.h` says which there are and what they take.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "softamp/graph/attributes.h"
#include "softamp/names/names.h"
#include "softamp/tensor/list_view.h"
#include "softamp/tensor/tensor.h"

namespace softamp {

/// Output `port` of node number `node`.
struct Port {
  int node = -1;
  int port = 0;
  bool operator==(const Port&) const = default;
};

/// One operation. Names are unique in a graph; '/' separates scopes.
struct Node {
  std::string name;
  std::string op;            ///< operation type: "MatMul", "AddV2"
  std::vector<Port> inputs;  ///< in the order of the operation's input ports
  Attributes attributes;     ///< every attribute of the operation, defaults and inferred dtypes filled in
  std::vector<TensorType> outputs;
  uint32_t operation_id = 0;  ///< id of the node's first rounding site: the address of its random bits (N78)
};

/// What is wrong with a graph: names the node and what was expected.
class GraphError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Inputs of one operation have different dtypes; nothing is promoted. what() is TensorFlow's text, to the letter
/// (TUTORIAL G05): "Input 'y' of 'AddV2' Op has type float32 that does not match type float16 of argument 'x'."; if the
/// operation or an attribute fixes the dtype, not an earlier input: "... that does not match expected type of int32."
class DtypeMismatchError : public GraphError {
 public:
  /// argument ("": the operation itself), node: the node's name; prefix: what comes before TensorFlow's text [=""].
  DtypeMismatchError(std::string op, std::string input, DType type, std::string argument, DType expected,
                     std::string node, const std::string& prefix = {});
  const std::string op, input, argument;  ///< 'input' has `type`, which does not match `expected` of 'argument'
  const DType type, expected;
  const std::string node;
};

class Graph {
 public:
  /// In an order in which inputs come before the operations that read them.
  std::span<const Node> nodes() const { return nodes_; }
  const Node& node(int i) const { return nodes_[static_cast<size_t>(i)]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  /// The number of the node of this name; -1 where there is none.
  int find(std::string_view name) const;
  /// "name" or "name:port". Throws GraphError, with the nearest name, if there is no such output.
  Port port(std::string_view text) const;
  /// "name", or "name:port" for ports other than 0.
  std::string port_name(Port p) const;
  const TensorType& type(Port p) const {
    return nodes_[static_cast<size_t>(p.node)].outputs[static_cast<size_t>(p.port)];
  }
  /// The arithmetic of the system that the graph was written or converted for: an executor takes it where its options
  /// say nothing else (ExecutorOptions::preset) [=none].
  const std::optional<Preset>& preset() const { return preset_; }
  /// The same graph with this one.
  Graph with_preset(std::optional<Preset> preset) const;
  /// Equal nodes in equal order; constants and numbers by their bits. The preset does not count.
  bool operator==(const Graph& other) const;

 private:
  friend class GraphBuilder;
  /// Names, found by their hashes in an open table of at least twice as many places as there are nodes: a look-up reads
  /// one place and one node, and no name stands twice in memory.
  struct Place {
    uint32_t hash = 0;
    int32_t node = -1;  // -1: free
  };
  Place& place_of(std::string_view name, uint32_t hash);
  void reserve(size_t nodes);

  std::vector<Node> nodes_;
  std::vector<Place> places_;
  std::optional<Preset> preset_;
};

/// Attributes of equal kind and value; tensors and doubles by their bits.
bool equal(const Attribute& a, const Attribute& b);

/// Checks everything that a built graph promises, as passes do after their work: names well-formed and unique, inputs
/// before their readers, attributes complete and of the right kind, dtypes and shapes as inferred, operation ids as
/// given out in node order, references (attribute "ref") resolved. Throws GraphError that names the node.
void verify(const Graph& graph);

/// Makes a graph node by node; every node is checked and its outputs inferred as it is added.
class GraphBuilder {
 public:
  /// While alive, names of new nodes begin with "scope/".
  class Scope {
   public:
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class GraphBuilder;
    Scope(GraphBuilder& builder, size_t length) : builder_(builder), length_(length) {}
    GraphBuilder& builder_;
    size_t length_;
  };

  GraphBuilder() = default;
  /// Starts with the nodes of a finished graph, under the same numbers, and with its preset.
  explicit GraphBuilder(const Graph& graph) : graph_(graph) {}

  /// Graph::preset of what is built.
  void set_preset(std::optional<Preset> preset) { graph_.preset_ = preset; }

  /// Adds a node and returns its output 0.
  ///   op          an operation type (operation.h)
  ///   inputs outputs of nodes added before
  ///   attributes  those that differ from the defaults; dtypes that follow from the inputs may be left out
  ///   name        [=the operation type]; within the current scope, made unique by "_1", "_2", ...
  ///   A name begins with a letter, a digit or '.'; the rest may also have "_-/" (TensorFlow's rule). Throws GraphError
  ///   (DtypeMismatchError) that names node, attribute or input, and what was expected.
  Port add(std::string_view op, std::vector<Port> inputs, Attributes attributes = {}, std::string_view name = {});

  /// As `add`, under this full name exactly (no scope): throws GraphError where the name is taken or malformed.
  Port add_named(std::string name, std::string_view op, std::vector<Port> inputs, Attributes attributes);

  /// A node of a finished graph under its full name, with other inputs. Where these have the types that they had there,
  /// all that was checked there holds, and nothing is checked again but the name. Throws as `add_named`.
  Port add_copy(const Graph& from, int node, std::vector<Port> inputs);

  /// Makes room for so many nodes.
  void reserve(size_t nodes) { graph_.reserve(nodes); }

  Port placeholder(std::string_view name, DType dtype, const Shape& shape);
  Port constant(Tensor value, std::string_view name = "Const");

  [[nodiscard]] Scope scope(std::string_view name);

  const TensorType& type(Port p) const { return graph_.type(p); }
  const Graph& graph() const { return graph_; }

  /// The graph, with operation ids: consecutive from 1 in node order, one for each rounding site of each node. The
  /// builder is empty afterwards. Throws GraphError where the ids pass 2^24 - 1, and where an attribute "ref" names no
  /// VariableV2 of the node's dtype and shape.
  Graph build();

  /// A graph of this one node, under its name and with the operation id that it has in `graph`, so that it draws the
  /// same random bits; its inputs are placeholders "<name>/input0", "<name>/input1", ... `verify` refuses such a graph,
  /// for its ids are another graph's. Throws GraphError for a node that refers to another (attribute "ref").
  static Graph alone(const Graph& graph, int node);

  /// The same graph with placeholders in the place of these tensors, each the only output of its node, under its name;
  /// ids stay, so that the others draw the same random bits. `verify` refuses such a graph. Throws GraphError for a
  /// node with more outputs, or an effect.
  static Graph with_placeholders(const Graph& graph, ListView<std::string> tensors);

 private:
  std::string unique_name(std::string name);
  std::vector<TensorType> types_of(const Node& node) const;
  Port append(Node node);

  Graph graph_;
  std::string scope_;
  std::unordered_map<std::string, int> last_suffix_;
};

}  // namespace softamp
