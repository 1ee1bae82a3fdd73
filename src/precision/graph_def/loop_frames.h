// Which loop of Enter, Merge, Switch, NextIteration and Exit each node of a graph is in.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/precision/graph_def/graph_def_impl.h"

namespace softamp::graph_def_detail {

struct LoopFrame {
  std::string name;  ///< the attribute frame_name of its Enters
  int outer = -1;    ///< the loop around it; -1: none
};

/// Loops, and for each node the innermost one that it is in, or -1. An Exit is in the loop that it leaves.
struct LoopMembership {
  std::vector<LoopFrame> loops;
  std::vector<int> of;
};
/// inputs: of each node, data and control, as numbers of nodes; -1 is passed over. Edges from a NextIteration to a
/// Merge close a loop; nodes on any other cycle are in none.
LoopMembership loops_of(const std::vector<const graph_def::NodeDef*>& nodes,
                        const std::vector<std::vector<int>>& inputs);

/// Whether an edge goes from the end of a round to the begin of the next.
bool closes_loop(std::string_view from_op, std::string_view to_op);
bool is_enter(std::string_view op);
bool is_exit(std::string_view op);

/// For calls in loops: what they can wait for, so that what has no inputs within them is in the loop as well.
class LoopFrames {
 public:
  explicit LoopFrames(const std::vector<graph_def::NodeDef>& nodes);
  /// A Merge of the node's loop, or an Enter of a constant; "": it is in no loop.
  std::string control_of(const std::string& node) const {
    const auto it = controls_.find(node);
    return it == controls_.end() ? "" : it->second;
  }

 private:
  std::unordered_map<std::string, std::string> controls_;
};

}  // namespace softamp::graph_def_detail
