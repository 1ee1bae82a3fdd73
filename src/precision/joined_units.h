// Type attributes that no cast can stand between, whatever a mechanism wants of them: the end of a loop and its
// beginning, and the operations that share a list of tensors.
#pragma once

#include "softamp/precision/casts.h"

namespace softamp::precision_detail {

/// Gives joined units one colour: low precision where all of them have it and the list stays within the graph, else
/// float32, with the reason. TensorFlow's pass has rules of its own for both.
void settle_joined_units(const OpGraph& graph, Colouring& colours);

}  // namespace softamp::precision_detail
