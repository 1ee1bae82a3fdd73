// Lists of tensors of TensorFlow: what is written to a list is read from it elsewhere; only a handle connects the two
// nodes.
#pragma once

#include <string>
#include <vector>

#include "src/precision/graph_def/type_view.h"

namespace softamp::precision_detail {

/// Operations on lists of float32 tensors that one handle joins: they have one colour.
struct TensorListCluster {
  std::vector<int> units;  ///< their element types, by node
  bool safe = true;        ///< all may change, and the handle stays inside the graph
  int culprit = -1;        ///< the node that makes it unsafe, the first by name
};

/// Finds the clusters, and adds to the view a passage from each writer to the readers downstream of it along the handle
/// (TensorFlow's implicit float32 edges, each once). `processable`: per node. A cluster without a processable node is
/// left out. Linear in the size of the picture.
///
/// Unsafe by TensorFlow's rule: an unprocessable node, one of the sources and sinks (_Arg, _Retval, Placeholder,
/// PartitionedCall, StatefulPartitionedCall, OptionalFromValue, OptionalGetValue), a function of the library. [ours]
/// Every opaque operation counts as such a function, and so do If, Case and While, which hand the list to their
/// functions; a node without a kernel in `low` counts as unprocessable.
std::vector<TensorListCluster> find_tensor_lists(const OpGraph& graph, const std::vector<uint8_t>& processable,
                                                 DType low, TypeView& view);

/// The clusters alone, of a mechanism that any node may follow.
std::vector<TensorListCluster> find_tensor_lists(const OpGraph& graph, DType low);

}  // namespace softamp::precision_detail
