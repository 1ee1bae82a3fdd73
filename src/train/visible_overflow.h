// Whether a loss scale can see the overflows that it looks for (N263): gradients that saturate are never infinite.
#pragma once

#include <optional>

#include "softamp/graph/graph.h"
#include "softamp/precision/loss_scale.h"

namespace softamp {

/// The preset of a training whose options say nothing: that of its graph; else ieee where the loss scale looks for
/// gradients that are not finite, as all systems with such a scale do.
std::optional<Preset> preset_of_training(const Graph& gradient, const LossScaleOptions& scale);

/// Throws std::invalid_argument for a loss scale that looks for gradients that are not finite in a graph with tensors
/// of 16 bits that saturate.
void check_overflow_is_visible(const Graph& gradient, const LossScaleOptions& scale, const Semantics& semantics);

}  // namespace softamp
