// What the parts of the import of a GraphDef share (graph_def_import.h): values, frames of nodes, and what the
// translation of one operation works with. A node becomes nodes of ours, or is settled at once where all it reads is
// known.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "softamp/graph/graph.h"
#include "softamp/precision/graph_def_import.h"
#include "src/precision/graph_def/function_library.h"
#include "src/precision/graph_def/loop_frames.h"

namespace softamp::graph_def_detail {

/// A tensor that is known while the graph is made; it becomes a Const where a node of ours reads it.
struct KnownTensor {
  Tensor tensor;
  std::string name;  ///< of the Const
  Port port;         ///< node -1: not yet there
};

/// What an output of a node is.
struct ImportedValue {
  enum class Kind : uint8_t {
    kNone,      ///< no such output
    kPort,      ///< a tensor of the graph
    kKnown,     ///< a tensor that is known
    kVariable,  ///< a variable: a reference, or its resource
    kOpaque,    ///< what is no tensor here: texts
    kDead,      ///< on a branch that is not taken
    kFailed,    ///< of an operation that is not ours, or has a fault: reported at the end
  };
  Kind kind = Kind::kNone;
  Port port;
  std::shared_ptr<KnownTensor> known;
  int variable = -1;

  static ImportedValue of(Port p) { return {Kind::kPort, p, nullptr, -1}; }
  static ImportedValue of(Kind kind) { return {kind, {}, nullptr, -1}; }
};

struct ImportedVariable {
  std::string name;  ///< of the GraphDef's node
  std::string ref;   ///< of the node of ours
  DType dtype = DType::kFloat32;
  bool narrowed = false;
  std::optional<Shape> shape;
  Port now;  ///< its value so far in the step; node -1: the variable has no node yet
  bool changed = false;
};

using GraphDefNodes = google::protobuf::RepeatedPtrField<graph_def::NodeDef>;

/// An input of a node, resolved in its frame.
struct FrameEdge {
  int node = -1;  ///< -1: an argument of the function
  int port = 0;
  bool control = false;
  std::string_view argument;
};

/// The nodes of the graph, or of one call of a function.
struct ImportFrame {
  const GraphDefNodes* nodes = nullptr;
  const graph_def::FunctionDef* function = nullptr;  ///< nullptr: the graph itself
  const GraphDefAttributes* attributes = nullptr;    ///< of the call
  std::unordered_map<std::string_view, int> numbers;
  std::unordered_map<std::string_view, ImportedValue> arguments;
  std::string prefix;  ///< of the names of its nodes
  struct Done {
    std::vector<ImportedValue> outputs;
    bool reached = false, dead = false, failed = false;
  };
  std::vector<Done> done;
  std::vector<std::vector<FrameEdge>> edges;       ///< of nodes that are needed: their inputs
  LoopMembership loops;                            ///< of nodes that are needed
  std::string round;                               ///< within loops, after the names of nodes: "/0", "/0/2"
  std::unordered_map<int, ImportedValue> carried;  ///< by NextIteration: from the round before
};

class NodeImport;

/// How an operation is translated. `writes`: it changes a variable, so what reads one goes first where both may.
struct Translation {
  void (*translate)(NodeImport& node) = nullptr;
  bool writes = false;
  bool takes_dead = false;  ///< Merge: it looks for the input that is alive
};
using Translations = std::unordered_map<std::string_view, Translation>;

// A family of operations each.
void add_plain_translations(Translations& all);
void add_source_translations(Translations& all);
void add_structure_translations(Translations& all);
void add_neural_translations(Translations& all);
void add_variable_translations(Translations& all);
void add_optimizer_translations(Translations& all);
void add_control_translations(Translations& all);
const Translations& translations();

class Importer {
 public:
  Importer(const HeldGraph& held, const GraphDefImportOptions& options)
      : held_(held), library_(held.graph.library()), options_(options) {}

  ImportedGraph run();

  /// The outputs of a call, all of whose nodes get names that begin with `prefix`.
  std::vector<ImportedValue> call(const NodeImport& caller, const std::string& function,
                                  const GraphDefAttributes& attributes, std::vector<ImportedValue> arguments,
                                  const std::string& prefix);

  const HeldGraph& held() const { return held_; }
  const GraphDefImportOptions& options() const { return options_; }
  GraphBuilder& builder() { return builder_; }
  Port materialise(ImportedValue& value);
  const TensorType& type(Port p) const { return builder_.type(p); }

  // Variables: import_variables.cpp.
  int variable_of(const std::string& key, const std::string& name, DType dtype, bool narrowed,
                  const std::optional<Shape>& shape);
  /// The value so far; makes the node. Throws GraphError where its shape is not known.
  Port read(int variable);
  void write(int variable, Port value);
  ImportedVariable& variable(int v) { return variables_[static_cast<size_t>(v)]; }

  void note_input(const std::string& name, const std::string& node, bool narrowed) {
    result_.inputs.emplace(name, node);
    if (narrowed) result_.narrowed.push_back(node);
  }
  /// Bytes of constants above those of the file. Throws GraphError above 2^28.
  void count_expanded(int64_t bytes);
  /// A name that graphs of ours may have, free of those of the GraphDef's nodes.
  std::string helper_name(const std::string& name) const;
  static std::string allowed_name(std::string_view name);

 private:
  friend class NodeImport;
  void process(ImportFrame& frame, const std::vector<int>& roots);
  std::vector<int> needed(ImportFrame& frame, const std::vector<int>& roots) const;
  /// What is directly in a loop (-1: in none), in an order that can run: nodes, and for each loop l there ~l.
  std::vector<int> order(const ImportFrame& frame, const std::vector<int>& nodes, int loop) const;
  void run_loop(ImportFrame& frame, const std::vector<int>& nodes, int loop);
  void run_nodes(ImportFrame& frame, const std::vector<int>& nodes, int loop);
  ImportedValue input_of(const ImportFrame& frame, int reader, const FrameEdge& edge) const;
  FrameEdge edge(const ImportFrame& frame, const graph_def::NodeDef& node, std::string_view text) const;
  void translate(ImportFrame& frame, int number);
  ImportedValue value_of(const ImportFrame& frame, const FrameEdge& edge) const;
  void unknown(const graph_def::NodeDef& node, const std::string& name);
  void note_fault(const graph_def::NodeDef& node, const std::string& what);
  void complain() const;
  void check_given() const;
  const Shape* given(const std::string& variable) const;
  std::vector<std::string> unread() const;
  void assign_variables();
  void find_initial_values();

  const HeldGraph& held_;
  const FunctionLibrary library_;
  const GraphDefImportOptions& options_;
  GraphBuilder builder_;
  ImportFrame top_;
  ImportedGraph result_;
  std::vector<ImportedVariable> variables_;
  std::unordered_map<std::string, int> variable_numbers_;
  std::unordered_set<std::string> names_;  ///< of the GraphDef's nodes
  struct Unknown {
    std::string node;
    int count = 0;
  };
  std::map<std::string, Unknown> unknown_;
  std::string fault_;  ///< the first
  int depth_ = 0;      ///< of calls
  int64_t called_ = 0, called_names_ = 0, expanded_ = 0;
  bool tolerant_ = false;  ///< faults leave their fetches out
};

/// A node that is being translated.
class NodeImport {
 public:
  NodeImport(Importer& of, const ImportFrame& in, const graph_def::NodeDef& translated, std::string full_name,
             std::vector<ImportedValue> data, std::vector<ImportedValue>& results)
      : importer(of),
        frame(in),
        node(translated),
        name(std::move(full_name)),
        inputs(std::move(data)),
        outputs(results) {}

  // Attributes, with their defaults. Fail where one is of another kind.
  const graph_def::AttrValue* find(std::string_view attribute) const;
  bool flag(std::string_view attribute, bool fallback) const;
  int64_t integer(std::string_view attribute, int64_t fallback) const;
  double real(std::string_view attribute, double fallback) const;
  std::string text(std::string_view attribute, std::string_view fallback) const;
  std::vector<int64_t> list(std::string_view attribute, std::vector<int64_t> fallback = {}) const;
  /// Of the GraphDef; kUnknown where it is missing and may be.
  ElementType element(std::string_view attribute, bool required = true) const;
  /// The dtype that such elements have here. Fails for texts and other types without tensors.
  DType dtype(std::string_view attribute) const;

  // Inputs.
  void expect_inputs(size_t count) const;
  Port port(size_t input);
  std::vector<Port> ports(size_t first, size_t count);
  /// Of what it will be as a node of ours: integers are int32.
  TensorType type(size_t input);
  bool is_known(size_t input) const {
    if (input >= inputs.size()) expect_inputs(input + 1);
    return inputs[input].kind == ImportedValue::Kind::kKnown;
  }
  /// Of integers or bools, few enough to compute with while the graph is made.
  bool is_known_integer(size_t input) const;
  const Tensor& known(size_t input) const {
    if (input >= inputs.size()) expect_inputs(input + 1);  // a file may leave any out
    return inputs[input].known->tensor;
  }
  /// The numbers of a known input of integers; `what` it is, in errors.
  std::vector<int64_t> ints(size_t input, const char* what) const;
  int64_t one_int(size_t input, const char* what) const;
  double number(size_t input, const char* what) const;
  Shape shape_from(size_t input, const char* what) const;

  // Results.
  /// The node of this name; sets output 0.
  Port add(std::string_view op, std::vector<Port> from, Attributes attributes = {});
  /// A node beside it: "<name>/<suffix>".
  Port helper(std::string_view suffix, std::string_view op, std::vector<Port> from, Attributes attributes = {});
  Port constant(std::string_view suffix, Tensor value);
  Port scalar(std::string_view suffix, DType dtype, double value);
  Port cast(std::string_view suffix, Port from, DType to);
  void set(size_t output, ImportedValue value);
  void set(size_t output, Port p) { set(output, ImportedValue::of(p)); }
  void set_known(size_t output, Tensor tensor);
  /// Outputs that are those of one node of ours.
  void set_all(Port node);
  [[noreturn]] void fail(const std::string& what) const;

  Importer& importer;
  const ImportFrame& frame;
  const graph_def::NodeDef& node;
  const std::string name;
  std::vector<ImportedValue> inputs;  ///< data
  std::vector<ImportedValue>& outputs;
};

/// float16 of DT_HALF, ...; int32 of integers of any width; empty for what has no tensors here.
std::optional<DType> run_dtype(ElementType type);
/// Whether the GraphDef's integers have another width than int32.
bool is_narrowed(ElementType type);

/// A constant of the file: a tensor, or one value everywhere, too large to be written out.
struct ConstantValue {
  Tensor tensor;
  bool splat = false;
  DType dtype = DType::kFloat32;
  Shape shape;
  double value = 0;
};
/// int64 and uint8 as they are, other integers as int32. Throws std::invalid_argument: what is wrong with it.
ConstantValue constant_of(const graph_def::TensorProto& proto, Importer& importer);

/// Integers and bools as int64; a tensor of them again. Throw std::invalid_argument: another dtype, a number out of
/// range.
std::vector<int64_t> integers_of(const Tensor& tensor);
Tensor tensor_of(DType dtype, const Shape& shape, std::span<const int64_t> values);
constexpr int64_t kMostKnown = 65536;  ///< elements of a tensor that is computed with while the graph is made

/// Settles the node if all that it reads is known integers, and says whether it did (import_fold.cpp).
bool fold(NodeImport& node);

/// The words of a list, separated by blanks.
std::vector<std::string_view> words_of(std::string_view text);

}  // namespace softamp::graph_def_detail
