// The nodes that scale the loss, and unscale the gradients.
#include <map>

#include "softamp/train/optimizer.h"
#include "src/train/cast_node.h"

namespace softamp {

Port get_scaled_loss(GraphBuilder& b, Port loss, Port scale) {
  scale = cast_to(b, scale, b.type(loss).dtype, "loss_scale_cast");
  return b.add("Mul", {loss, scale}, {}, "scaled_loss");
}

// implements: N260
std::vector<std::optional<Port>> get_unscaled_gradients(GraphBuilder& b, std::span<const std::optional<Port>> gradients,
                                                        Port scale, bool reciprocal) {
  // The scale of each dtype that gradients are unscaled in, or its reciprocal.
  std::map<DType, Port> by_dtype;
  std::vector<std::optional<Port>> unscaled;
  for (const std::optional<Port>& gradient : gradients) {
    unscaled.emplace_back();
    if (!gradient) continue;
    const DType wide = wide_dtype(b.type(*gradient).dtype);
    if (!by_dtype.contains(wide)) {
      const Port own = cast_to(b, scale, wide, "loss_scale_cast");
      by_dtype[wide] = reciprocal ? b.add("Reciprocal", {own}, {}, "reciprocal") : own;
    }
    const Port g = cast_to(b, *gradient, wide, "to_float32");
    unscaled.back() = b.add(reciprocal ? "Mul" : "RealDiv", {g, by_dtype[wide]}, {}, "unscaled");
  }
  return unscaled;
}

std::vector<GradientAndVariable> get_unscaled_gradients(GraphBuilder& b, ListView<GradientAndVariable> gradients,
                                                        Port scale, bool reciprocal) {
  std::vector<std::optional<Port>> values;
  for (const GradientAndVariable& pair : gradients) {
    if (pair.slices) check_slices(b, *pair.slices, "variable '" + pair.variable.name + "'");
    values.push_back(pair.slices ? pair.slices->values : pair.gradient);
  }
  values = get_unscaled_gradients(b, values, scale, reciprocal);
  std::vector<GradientAndVariable> unscaled(gradients.begin(), gradients.end());
  for (size_t i = 0; i < unscaled.size(); ++i) {
    if (unscaled[i].slices)
      unscaled[i].slices->values = *values[i];
    else
      unscaled[i].gradient = values[i];
  }
  return unscaled;
}

}  // namespace softamp
