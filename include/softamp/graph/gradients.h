// Reverse-mode derivatives: a graph of gradients, made of the same operations as the graph that it differentiates.
//
// Every node of the result is an ordinary operation with its own rounding sites; nothing else is rounded. The gradient
// of a Cast is a Cast back, so a float32 variable behind a cast has a float32 gradient (TUTORIAL G15).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "softamp/graph/graph.h"

namespace softamp {

/// Gradients of a node's inputs, given those of its outputs (empty where no gradient arrives). Adds its nodes to the
/// builder, whose scope is then "gradients/<node>_grad". Empty for an input that has no gradient.
using GradientFunction = std::function<std::vector<std::optional<Port>>(
    GraphBuilder& builder, const Node& node, int number, std::span<const std::optional<Port>> output_gradients)>;

struct GradientOptions {
  std::string scope = "gradients";  ///< the scope of the new nodes
  std::optional<Port> seed;         ///< gradient that arrives at the loss, of its type [=ones]
  std::vector<Port> stop;           ///< no gradient flows to or through these
  /// Gradients of the user's own, by name of node; they replace the table's. Each result is checked: as many as inputs,
  /// of the dtype and shape of the input (MIXED_PRECISION M14).
  std::map<std::string, GradientFunction> custom;
};

/// Adds to `builder` the gradients of `loss` (if it is no scalar: of the sum of its elements) with respect to
/// `variables`; result i belongs to variables[i], and is empty where the loss does not depend on it by a differentiable
/// path. If several nodes read a tensor, their contributions are summed by one AddN, in the order of the readers in the
/// graph, rounded once. Nodes are added in reverse order of the graph, so that equal graphs have equal gradients.
///
/// Throws GraphError: a loss or variable that is no floating tensor; an operation without a gradient on the way, by
/// name; a seed of another type. DtypeMismatchError: a user's gradient of another dtype, with node and input.
std::vector<std::optional<Port>> gradients(GraphBuilder& builder, Port loss, ListView<Port> variables,
                                           const GradientOptions& options = {});

struct GradientGraph {
  Graph graph;
  std::vector<std::optional<Port>> gradients;
};
/// The same on a finished graph, which stays as it is: its nodes keep their numbers and operation ids in the result.
GradientGraph gradients(const Graph& graph, Port loss, ListView<Port> variables, const GradientOptions& options = {});

/// Whether the table has a gradient for this operation type, and the types that have none because their results are
/// constant almost everywhere or integers (comparisons, ArgMax, ...): gradients end there without an error.
enum class Differentiability { kDifferentiable, kConstant, kNone };
Differentiability differentiability(std::string_view op);

}  // namespace softamp
