// The bodies of functions as parts of a graph that no edge joins to the rest, so that a pass over the graph sees them,
// too; and back into the library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/precision/graph_def/function_body.h"

namespace softamp::graph_def_detail {

/// A function whose nodes stand in the graph: the names of all of them begin with `prefix`.
struct OpenBody {
  std::string function, prefix;
  std::map<std::string, std::string> control_results;  ///< as FunctionBody's, without the prefix
  OutputTexts texts;
};

struct OpenBodies {
  std::vector<OpenBody> bodies;
  std::unordered_set<std::string> roots;  ///< as InlinedNodes', of the graph and of all bodies
};

struct OpenedGraph {
  graph_def::GraphDef graph;
  std::shared_ptr<const OpenBodies> open;  ///< nullptr: the graph is as it was
  std::vector<std::string> notes;
};

/// Calls written out in the graph and in the functions that it still reaches, whose bodies become parts of it. Bodies
/// that are only known at a call, and those that XLA or tf.data compile, stay in the library, with a note. Functions
/// that nothing reached before stay as they are.
OpenedGraph opened(const HeldGraph& held, const std::vector<std::string>& fetches);
/// The bodies back in the library, without nodes that were added and that nothing needs.
graph_def::GraphDef closed(const HeldGraph& held, const OpenBodies& open);

}  // namespace softamp::graph_def_detail
