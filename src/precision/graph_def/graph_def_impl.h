// The data of a GraphDefFile, and small helpers that its parts share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "softamp/precision/graph_def.h"
#include "src/precision/graph_def/graph_def.pb.h"
#include "src/precision/tensorflow/op_signatures.h"

namespace softamp {

namespace graph_def_detail {

/// A checked graph: names are unique, inputs exist, cycles go from NextIteration to Merge.
struct HeldGraph {
  /// Throws GraphDefError, which begins with the place.
  HeldGraph(graph_def::GraphDef&& graph, std::string_view place);
  HeldGraph(const HeldGraph&) = delete;
  HeldGraph& operator=(const HeldGraph&) = delete;

  /// The table's signature of a node's operation; nullptr for others and for functions, which hide operations of the
  /// same name.
  const OpSignature* signature(const graph_def::NodeDef& node) const {
    return functions.contains(node.op()) ? nullptr : op_signature(node.op());
  }

  graph_def::GraphDef graph;
  std::string place;                                  ///< file, or the caller's name for it
  std::unordered_map<std::string_view, int> numbers;  ///< of nodes by name; the names are the graph's own
  std::unordered_set<std::string_view> functions;     ///< names in the graph's library
};

/// An input as written: "name", "name:port" or "^name".
struct InputName {
  std::string_view node;
  int port = 0;
  bool control = false;
};
InputName parse_input(std::string_view text);
/// The text of output `port` of a node: "name", or "name:1" for those after the first.
std::string output_name(std::string_view node, int port);

/// "place: node 'x' (MatMul): " before what is wrong.
[[noreturn]] void fail_node(std::string_view place, const graph_def::NodeDef& node, const std::string& what);

/// The attribute of this name, or nullptr.
const graph_def::AttrValue* find_attribute(const graph_def::NodeDef& node, std::string_view name);
/// "a list", "a string", ...: the kind of an attribute's value.
const char* kind_of(const graph_def::AttrValue& value);

/// The units of a node: for an operation of the table its type attributes in the table's order, one unit ("T[0]",
/// "T[1]", ...) for each element of a list; else its attributes of kind type by name. Throws GraphDefError for
/// attributes that are missing or of another kind.
struct NodeUnits {
  ShortList<TypeUnit, 1> units;
  std::vector<int> first;  ///< per attribute of the signature: its first unit
};
NodeUnits units_of(const graph_def::NodeDef& node, const OpSignature* signature, std::string_view place);

}  // namespace graph_def_detail

namespace graph_def_detail {
struct OpenBodies;
}

struct GraphDefFile::Impl : graph_def_detail::HeldGraph {
  using Open = std::shared_ptr<const graph_def_detail::OpenBodies>;
  Impl(graph_def::GraphDef&& from, std::string_view where, Open with = nullptr)
      : HeldGraph(std::move(from), where), open(std::move(with)) {}

  Open open;  ///< the functions whose nodes stand in the graph; nullptr: none does
};

}  // namespace softamp
