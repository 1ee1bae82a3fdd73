// Function calls, branches and loops of a GraphDef written out as nodes, as TensorFlow's optimizer does before it looks
// for what can be in low precision: which calls, with which Identity and NoOp nodes around them, on which devices.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "src/precision/graph_def/function_body.h"

namespace softamp::graph_def_detail {

struct InlinedNodes {
  std::vector<graph_def::NodeDef> nodes;
  OutputTexts texts;               ///< those given, and of the bodies that were written out
  std::vector<std::string> notes;  ///< calls that were not written out, and why
  /// Names of the nodes that were there before, and of those that are kept: what none of them needs has no use.
  std::unordered_set<std::string> roots;
};

/// keep: nodes that are fetched, or run by name: they stay as Identity or NoOp nodes.
/// A function that calls itself is written out once. Throws GraphDefError for a fault of a function that is called, and
/// where more than 2^18 nodes would be there.
InlinedNodes with_inlined_functions(const FunctionLibrary& library, std::vector<graph_def::NodeDef> nodes,
                                    OutputTexts texts, const std::unordered_set<std::string>& keep,
                                    std::string_view place);

/// Nodes that a lowered branch or loop becomes; and what its readers read instead.
struct LoweredNode {
  std::vector<graph_def::NodeDef> nodes;
  std::vector<std::string> outputs;  ///< by port
  std::string control;               ///< node that what waits for it waits for
};

/// What lowering asks of the graph around a node.
struct LoweringContext {
  virtual ~LoweringContext() = default;
  virtual std::string free_name(const std::string& name) = 0;  ///< not given out twice
  virtual std::string device_of(std::string_view node) const = 0;
};

/// Why a node of the functional kinds is not lowered: its fault, or "" if it can be.
std::string lowering_obstacle(const FunctionLibrary& library, const graph_def::NodeDef& node);
/// If and Case, by Switch and Merge. kept: a node of the same name gives the same outputs.
LoweredNode lower_branches(const graph_def::NodeDef& node, bool kept, LoweringContext& context);
/// While, by Enter, Merge, Switch, NextIteration and Exit.
LoweredNode lower_loop(const graph_def::NodeDef& node, bool kept, LoweringContext& context);
/// Adds the last node of either: one that has the name of `node`, waits for `control`, and gives the outputs if `kept`.
void add_namesake(const graph_def::NodeDef& node, bool kept, const std::vector<graph_def::DataType>& types,
                  LoweredNode& lowered);
bool is_branch(std::string_view op);  ///< If, Case and their stateless forms
bool is_loop(std::string_view op);    ///< While and its stateless form

}  // namespace softamp::graph_def_detail
