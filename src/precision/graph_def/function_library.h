// The functions of a GraphDef's library, who calls them, and what a call gives to a function's attributes.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/precision/graph_def/graph_def_impl.h"

namespace softamp::graph_def_detail {

using GraphDefAttributes = google::protobuf::Map<std::string, graph_def::AttrValue>;

/// The functions of a library by name; it must outlive this.
class FunctionLibrary {
 public:
  explicit FunctionLibrary(const graph_def::FunctionDefLibrary& library);

  const graph_def::FunctionDef* find(std::string_view name) const {
    const auto it = functions_.find(name);
    return it == functions_.end() ? nullptr : it->second;
  }
  /// The function that the library names as the gradient of another; "": none.
  std::string_view gradient_of(std::string_view function) const {
    const auto it = gradients_.find(function);
    return it == gradients_.end() ? std::string_view() : it->second;
  }
  bool empty() const { return functions_.empty(); }
  /// Of the library as the file has it.
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_;
  std::unordered_map<std::string_view, const graph_def::FunctionDef*> functions_;
  std::unordered_map<std::string_view, std::string_view> gradients_;
};

/// A call that can be written out: of a function by its name, by PartitionedCall or its stateful form, or of the
/// gradient that the library names (SymbolicGradient).
struct FunctionCall {
  const graph_def::FunctionDef* function = nullptr;  ///< nullptr: the node is no such call
  const GraphDefAttributes* attributes = nullptr;    ///< what it gives to the attributes of the function
  bool partitioned = false;                          ///< by PartitionedCall or StatefulPartitionedCall
};
FunctionCall call_of(const FunctionLibrary& library, const graph_def::NodeDef& node);
/// Whether TensorFlow takes the node for a call, whether or not the library has its function.
bool is_call(const FunctionLibrary& library, const graph_def::NodeDef& node);

/// Names of all functions that a node refers to: its operation, and those in its attributes.
std::vector<std::string_view> functions_of(const FunctionLibrary& library, const graph_def::NodeDef& node);
/// The functions that these nodes reach, and those that these reach in turn, in the order in which they are met.
std::vector<const graph_def::FunctionDef*> reached_from(
    const FunctionLibrary& library, const google::protobuf::RepeatedPtrField<graph_def::NodeDef>& nodes);

/// An attribute that is there and is the bool true.
bool has_flag(const GraphDefAttributes& attributes, std::string_view name);

}  // namespace softamp::graph_def_detail
