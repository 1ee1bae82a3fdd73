// A map of kernel/structure.h as a box: the elements that have a source, as axes, each with a stride in source and
// destination. Transpose, Slice, ConcatV2 and similar operations copy such boxes.
#pragma once

#include <cstdint>
#include <vector>

#include "softamp/kernel/structure.h"

namespace softamp::engine {

struct CopyAxis {
  int64_t extent, in, out;  ///< strides in elements
};

struct CopyGeometry {
  int64_t in_base = 0, out_base = 0;  ///< places of the box's first element
  int64_t elements = 1;
  /// Innermost last; extents of 1 are left out and neighbours with one common stride are one axis. At most kMaxAxes.
  /// Meaningless where elements = 0.
  std::vector<CopyAxis> axes;
  static constexpr int kMaxAxes = 2 * kernel::StructureMap::kMaxRank;  ///< a periodic axis is two
};

CopyGeometry copy_geometry(const kernel::StructureMap& map);

}  // namespace softamp::engine
