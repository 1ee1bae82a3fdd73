// Losses: functions that add nodes to a graph, from the labels and the outputs of a network to one number for each
// sample, or one number. `build_model` (models.h) takes the mean of what they give.
//
// A loss of one's own is a function like any other:
//
//   const LossFunction log_cosh = [](GraphBuilder& b, Port labels, Port outputs) {
//     const Port error = b.add("Sub", {outputs, labels});
//     return b.add("Sub", {b.add("Softplus", {b.add("AddV2", {error, error})}), error});
//   };
//
// Formulas: Keras 3 (keras.losses), whose names these have. The mean over the last axis and that over the samples are
// roundings of their own.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "softamp/graph/graph.h"

namespace softamp {

/// labels, outputs: [batch, ...] -> [batch, ...] or a scalar, of a floating dtype.
using LossFunction = std::function<Port(GraphBuilder& builder, Port labels, Port outputs)>;

/// y: labels, cast to the dtype of the outputs; p: outputs, clipped into [1e-7, 1 - 1e-7] where they are
/// probabilities; x: logits; the mean is over the last axis.
///
///   mean_squared_error, mse       mean (p - y)^2
///   mean_absolute_error, mae      mean |p - y|
///   huber                         mean of e^2 / 2 where |e| <= 1, else |e| - 1 / 2; e = p - y
///   log_cosh                      mean of e + softplus(-2 e) - ln 2
///   kl_divergence                 sum y (ln y - ln p), y clipped into [1e-7, 1]
///   binary_crossentropy           mean of -(y ln p + (1 - y) ln(1 - p));
///                                 from logits: mean of max(x, 0) - x y + ln(1 + e^-|x|)
///   categorical_crossentropy      -sum y ln(p / sum p), clipped after the division; from logits:
///                                 SoftmaxCrossEntropyWithLogits
///   sparse_categorical_crossentropy  the same for labels that are numbers of classes, [batch] or [batch, 1], integers
///                                 or floating numbers; from logits: SparseSoftmaxCrossEntropyWithLogits
///
/// The last three take probabilities, or logits as "..._from_logits" (Keras: from_logits=True). Where the outputs come
/// straight from a Softmax or Sigmoid, its logits are used, as Keras does on TensorFlow. Throws std::invalid_argument
/// for an unknown name, with all names and the nearest; the function throws GraphError for labels whose shape does not
/// fit, with both.
LossFunction find_loss(std::string_view name);
std::vector<std::string> loss_names();

/// A loss by its name, or a function.
using AnyLoss = std::variant<std::string, LossFunction>;
/// Throws as find_loss, and std::invalid_argument for an empty function.
LossFunction loss_function(const AnyLoss& loss);

}  // namespace softamp
