// Which calls TensorFlow writes out, and where it puts the nodes of a function.
#pragma once

#include <string>
#include <string_view>

#include "src/precision/graph_def/function_body.h"

namespace softamp::graph_def_detail {

struct InlineSituation {
  bool of_branch = false;  ///< the call is a branch's, or a loop's, that was lowered
  /// Its nodes may be on any device, and it says itself which of them must run: PartitionedCall, and branches.
  bool several_devices = false;
  bool awaited = false;  ///< something waits for the call by a control edge
};

/// Whether a function has results on a branch that may not be taken; looked at once for each function.
class DeadResults {
 public:
  DeadResults(const FunctionLibrary& library, std::string_view place) : library_(library), place_(place) {}
  /// The name of a node that says so, or "".
  const std::string& source(const graph_def::FunctionDef& function, const FunctionBody& body);

 private:
  std::string find(const FunctionBody& body);

  const FunctionLibrary& library_;
  std::string_view place_;
  std::unordered_map<const graph_def::FunctionDef*, std::string> sources_;
};

/// Why a call is not written out, or "". Types of the call's ends are compared with those of the body.
std::string inline_obstacle(const FunctionLibrary& library, const graph_def::NodeDef& call,
                            const graph_def::FunctionDef& function, const FunctionBody& body,
                            const InlineSituation& situation, DeadResults& dead);
/// Whether a call is marked for XLA, which compiles it as a whole.
bool is_for_xla(const graph_def::NodeDef& node);

/// The device of a node of a function: that of the call, where several devices may be used only as far as the node
/// itself does not say: "/device:CPU:0" called from "/job:a/replica:0/task:0/device:GPU:0" is on CPU 0 of that task.
std::string inlined_device(const std::string& of_node, const std::string& of_call, bool several_devices);

}  // namespace softamp::graph_def_detail
