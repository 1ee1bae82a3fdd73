// What of a graph uses settings of random bits and of products.
#pragma once

#include <vector>

#include "softamp/graph/executor.h"
#include "src/graph/idle_products.h"

namespace softamp::graph_detail {

struct GraphUse {
  bool narrow = false;  ///< results have at most 16 bits
  bool rounds = false;  ///< results are rounded stochastically, by the semantics of the options or by an attribute
  bool draws = false;   ///< the same, or an operation draws numbers
  std::vector<ProductUse> products;  ///< of at most 32 bits: in float64 there are no such settings (N441)
};

/// Throws as semantics_of and product_options.
GraphUse use_of(const Graph& graph, const ExecutorOptions& options);

}  // namespace softamp::graph_detail
