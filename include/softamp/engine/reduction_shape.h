// Which elements make which output, from a node's shapes and axes, with neighbouring axes of one kind merged.
#pragma once

#include <cstdint>
#include <span>

#include "softamp/kernel/reductions.h"
#include "softamp/tensor/shape.h"

namespace softamp::engine {

/// `reduced[a]`: axis a of `shape` is summed over.
inline kernel::ReduceShape reduce_shape(const Shape& shape, const bool (&reduced)[Shape::kMaxRank]) {
  int64_t extent[Shape::kMaxRank], stride[Shape::kMaxRank], next = shape.elements();
  bool goes[Shape::kMaxRank];
  int rank = 0;
  for (int a = 0; a < shape.rank(); ++a) {
    next = shape[a] ? next / shape[a] : 0;
    if (shape[a] == 1) continue;
    if (rank > 0 && goes[rank - 1] == reduced[a]) {
      extent[rank - 1] *= shape[a];
      stride[rank - 1] = next;
      continue;
    }
    extent[rank] = shape[a];
    stride[rank] = next;
    goes[rank++] = reduced[a];
  }
  kernel::ReduceShape s;
  for (int a = 0; a < rank; ++a)
    if (goes[a]) {
      s.reduced_extent[s.reduced_rank] = extent[a];
      s.reduced_stride[s.reduced_rank++] = stride[a];
      s.count *= static_cast<uint64_t>(extent[a]);
    } else {
      s.kept_extent[s.kept_rank] = extent[a];
      s.kept_stride[s.kept_rank++] = stride[a];
      s.outputs *= static_cast<uint64_t>(extent[a]);
    }
  return s;
}

}  // namespace softamp::engine
