#include "softamp/findings/tensor_difference.h"

#include <map>

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/ulp.h"

namespace softamp {
namespace {

constexpr size_t kDistances = 8;  // that are listed

std::string element_text(const Tensor& t, int64_t i) {
  if (!is_floating(t.dtype())) return std::to_string(static_cast<int64_t>(t.value(i)));
  const FloatFormat format = format_of(t.dtype());
  return code_text(format, t.code(i)) + " (" + shortest_decimal(format, t.code(i)) + ")";
}

/// "[1,0]"
std::string place_text(const Shape& shape, int64_t i) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = (axis ? "," : "") + std::to_string(i % shape[axis]) + text;
    i /= shape[axis];
  }
  return "[" + text + "]";
}

}  // namespace

std::string difference_text(const Tensor& found, const Tensor& expected, std::optional<uint64_t> ulps) {
  if (found.type() != expected.type()) return found.type().text() + ", expected " + expected.type().text();
  const bool floating = is_floating(found.dtype());
  const FloatFormat format = format_of(found.dtype());
  int64_t count = 0, first = -1;
  std::map<uint64_t, int64_t> distances;
  for (int64_t i = 0; i < found.elements(); ++i) {
    const uint64_t a = found.code(i), b = expected.code(i);
    if (a == b) continue;
    if (floating && ulps && ((format.is_nan(a) && format.is_nan(b)) || ulp_distance(format, a, b) <= *ulps)) continue;
    if (count++ == 0) first = i;
    if (floating) ++distances[ulp_distance(format, a, b)];
  }
  if (count == 0) return {};
  std::string text = std::to_string(count) + " of " + std::to_string(found.elements()) +
                     " elements differ, the first at " + place_text(found.shape(), first) + ": " +
                     element_text(found, first) + ", expected " + element_text(expected, first);
  size_t shown = 0;
  for (const auto& [distance, times] : distances) {
    text += shown == 0 ? "; ulps: " : ", ";
    if (shown++ == kDistances) return text + "...";
    text += (distance == kNoUlpDistance ? "NaN" : std::to_string(distance)) + " x " + std::to_string(times);
  }
  return text;
}

}  // namespace softamp
