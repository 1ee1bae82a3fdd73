#include "src/train/visible_overflow.h"

#include <algorithm>
#include <stdexcept>

namespace softamp {
namespace {

bool looks_at_gradients(const LossScaleOptions& scale) {
  return (scale.dynamic || scale.skip_overflowed) && !scale.histogram &&
         scale.overflow_from == OverflowFrom::kGradients;
}

bool has_16_bits(const TensorType& type) { return is_floating(type.dtype) && size_of(type.dtype) == 2; }

}  // namespace

// implements: N263
std::optional<Preset> preset_of_training(const Graph& gradient, const LossScaleOptions& scale) {
  if (gradient.preset()) return gradient.preset();
  return looks_at_gradients(scale) ? std::optional(Preset::kIeee) : std::nullopt;
}

// implements: N263
void check_overflow_is_visible(const Graph& gradient, const LossScaleOptions& scale, const Semantics& semantics) {
  if (!looks_at_gradients(scale) || semantics.narrow.overflow != Overflow::kSaturate) return;
  for (const Node& node : gradient.nodes())
    if (std::any_of(node.outputs.begin(), node.outputs.end(), has_16_bits))
      throw std::invalid_argument("training: the loss scale '" + scale.name +
                                  "' looks for gradients that are not finite, but values of 16 bits, such as '" +
                                  node.name +
                                  "', saturate (preset ipu, nanoo off), so that it would see no overflow; expected the "
                                  "preset ieee, nanoo on, or a loss scale that looks at the status or does not move");
}

}  // namespace softamp
