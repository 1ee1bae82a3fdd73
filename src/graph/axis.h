// Axis attributes: negative ones count from the end, as in TensorFlow.
#pragma once

#include "softamp/graph/operation.h"

namespace softamp::graph_detail {

/// The axis, counted from 0. Throws GraphError: "MatMul 'y': axis 3 is not in [-2, 2)".
inline int normal_axis(const InferenceContext& c, int64_t axis, int rank, const char* what = "axis") {
  if (axis < -rank || axis >= rank)
    c.fail(std::string(what) + " " + std::to_string(axis) + " is not in [" + std::to_string(-rank) + ", " +
           std::to_string(rank) + ")");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

inline Shape with_extent(const Shape& shape, int axis, int64_t extent) {
  std::vector<int64_t> extents(shape.begin(), shape.end());
  extents[static_cast<size_t>(axis)] = extent;
  return Shape(std::span<const int64_t>(extents));
}

inline Shape shape_of(const std::vector<int64_t>& extents) { return Shape(std::span<const int64_t>(extents)); }

}  // namespace softamp::graph_detail
