// Biases that enter a product at its beginning: a pass over a finished graph.
#pragma once

#include <string>

#include "softamp/graph/graph.h"
#include "softamp/tensor/list_view.h"

namespace softamp {

/// BiasAdd of a MatMul, BatchMatMulV2 or ScaledMatMul that nothing else reads becomes that product with the bias as its
/// input `c` (N480): the sums begin with it, and what was rounded twice is rounded once. The product takes the name of
/// the BiasAdd. Left as they are: products in float64, of independent partials (batch_sum), with a `c` of their own,
/// and those that `fetches` name.
Graph start_with_bias(const Graph& graph, ListView<std::string> fetches = {});

}  // namespace softamp
