// The nodes that scale the loss, and unscale the gradients.
#include "softamp/train/optimizer.h"

namespace softamp {

Port get_scaled_loss(GraphBuilder& b, Port loss, Port scale) {
  const DType dtype = b.type(loss).dtype;
  if (b.type(scale).dtype != dtype) scale = b.add("Cast", {scale}, {{"DstT", dtype}}, "loss_scale_cast");
  return b.add("Mul", {loss, scale}, {}, "scaled_loss");
}

std::vector<std::optional<Port>> get_unscaled_gradients(GraphBuilder& b, std::span<const std::optional<Port>> gradients,
                                                        Port scale, bool reciprocal) {
  if (reciprocal) scale = b.add("Reciprocal", {scale}, {}, "reciprocal");
  std::vector<std::optional<Port>> unscaled;
  for (const std::optional<Port>& gradient : gradients) {
    unscaled.emplace_back();
    if (!gradient) continue;
    Port g = *gradient;
    if (b.type(g).dtype != DType::kFloat32) g = b.add("Cast", {g}, {{"DstT", DType::kFloat32}}, "to_float32");
    unscaled.back() = b.add(reciprocal ? "Mul" : "RealDiv", {g, scale}, {}, "unscaled");
  }
  return unscaled;
}

}  // namespace softamp
