// A graph in binary64, as a measure of what the dtypes of a graph cost.
#pragma once

#include "softamp/graph/graph.h"

#include <vector>

namespace softamp {

struct InFloat64 {
  Graph graph;
  /// Of each node of the original: the ports of its outputs.
  std::vector<std::vector<Port>> ports;
};

/// The same graph with float64 for float16, bfloat16 and float32. Constants keep their values. An operation that has no
/// float64 computes in the dtypes that it has, between casts.
InFloat64 in_float64(const Graph& graph);

}  // namespace softamp
