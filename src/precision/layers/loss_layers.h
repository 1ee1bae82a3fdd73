// Which layers of a finished graph are losses, where no cross-entropy operation says so.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "softamp/precision/op_graph.h"

namespace softamp {

/// A layer of a graph, as find_loss_layers needs it.
struct LayerFacts {
  std::string_view path;
  bool is_plain = true;  ///< it has no product and no norm, and is no cross-entropy
  bool is_loss = false;  ///< a cross-entropy
};

/// For each layer whether it is a loss. layer_of: of each node its layer, or -1.
///
/// A loss is plain, keeps no state, and takes a mean or a sum of what comes from the network's products and variables,
/// bent by a square, a logarithm or the like, together with something that does not come from there: the labels. No
/// product and no norm of the network follows. A plain layer that takes all that comes from the network from losses is
/// one, too: weights of a loss, sums of several.
std::vector<bool> find_loss_layers(const OpGraph& graph, std::span<const int> layer_of,
                                   std::span<const LayerFacts> layers);

}  // namespace softamp
