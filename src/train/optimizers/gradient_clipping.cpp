// Clipping of gradients as nodes: by value, by each norm, by the norm of all together.
#include <stdexcept>

#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"
#include "softamp/train/optimizer.h"

namespace softamp {
namespace {

Port number(GraphBuilder& b, double value, const char* name, DType dtype) {
  return b.constant(Tensor::full(dtype, {}, value), name);
}

Port sum_of_squares(GraphBuilder& b, Port gradient) { return b.add("Sum", {b.add("Square", {gradient})}); }

/// bound / max(norm, bound): 1 up to the bound; NaN if the norm is not finite, because norm - norm is NaN.
// implements: N261
Port scale_to(GraphBuilder& b, Port norm, Port bound) {
  const Port scale = b.add("RealDiv", {bound, b.add("Maximum", {norm, bound})});
  return b.add("AddV2", {scale, b.add("Sub", {norm, norm})}, {}, "scale");
}

}  // namespace

void GradientClipping::validate() const {
  const engine::DefaultEnvironment guard;
  const auto check = [](const std::optional<double>& bound, const char* field) {
    // The least bound avoids float32 subnormals, which the preset `ipu` flushes.
    if (bound && !(*bound >= 0x1p-126 && *bound <= 0x1.fffffep127))
      throw std::invalid_argument(std::string("gradient clipping: ") + field + " is " + shortest_decimal(*bound) +
                                  "; expected a positive number in the range of float32, from 1.1754944e-38");
  };
  check(value, "value");
  check(norm, "norm");
  check(global_norm, "global_norm");
}

// implements: N261
std::vector<Port> clip_gradients(GraphBuilder& b, ListView<Port> gradients, const GradientClipping& clipping) {
  clipping.validate();
  std::vector<Port> clipped(gradients.begin(), gradients.end());
  if (clipped.empty()) return clipped;
  const DType dtype = wide_dtype(b.type(clipped[0]).dtype);
  for (const Port g : clipped)
    if (b.type(g).dtype != dtype)
      throw GraphError("clipping of " + b.graph().port_name(g) + ": dtype is " + name_of(b.type(g).dtype) +
                       "; expected " + name_of(dtype) +
                       (dtype == DType::kFloat64 ? ", as of " + b.graph().port_name(clipped[0]) : std::string()));

  const auto scope = b.scope("clip");
  if (clipping.value) {
    const Port most = number(b, *clipping.value, "value", dtype),
               least = number(b, -*clipping.value, "minus_value", dtype);
    for (Port& g : clipped) g = b.add("Minimum", {b.add("Maximum", {g, least}), most}, {}, "by_value");
  }
  if (clipping.norm) {
    const Port bound = number(b, *clipping.norm, "norm", dtype);
    for (Port& g : clipped)
      g = b.add("Mul", {g, scale_to(b, b.add("Sqrt", {sum_of_squares(b, g)}), bound)}, {}, "by_norm");
  }
  if (clipping.global_norm) {
    const Port bound = number(b, *clipping.global_norm, "global_norm", dtype);
    std::vector<Port> squares;
    for (const Port g : clipped) squares.push_back(sum_of_squares(b, g));
    const Port scale = scale_to(b, b.add("Sqrt", {b.add("AddN", squares)}), bound);
    for (Port& g : clipped) g = b.add("Mul", {g, scale}, {}, "by_global_norm");
  }
  return clipped;
}

}  // namespace softamp
