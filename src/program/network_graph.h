// Files of networks (docs/NETWORKS.md) as graphs that `softamp run` computes.
#pragma once

#include "softamp/graph/graph.h"
#include "softamp/tensor/tensor.h"

#include <map>
#include <string>

namespace softamp::program {

/// Whether it is a regular file that describes a network, and no graph.
bool is_network(const std::string& file);

/// What the trained network computes for a batch, as an evaluation does: without dropout, with moving averages where
/// there are some.
struct NetworkGraph {
  Graph graph;
  std::string output;                       ///< the tensor of the last layer
  std::map<std::string, Tensor> variables;  ///< the first weights: initialisers and seed, as of `softamp train`
};
/// precision: a word of the training settings' `precision`. feeds: the file of each, by name; the extent of axis 0 of
/// the one that feeds the input is the batch's size; `batch` without it. Throws UsageError, std::invalid_argument,
/// GraphError, npy::Error.
NetworkGraph load_network_graph(const std::string& file, const std::string& precision,
                                const std::map<std::string, std::string>& feeds, uint64_t seed, int64_t batch = 1);

}  // namespace softamp::program
