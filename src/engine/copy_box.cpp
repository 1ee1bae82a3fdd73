#include "softamp/engine/copy_box.h"

#include <algorithm>

namespace softamp::engine {
namespace {

/// Adds an outermost axis, or widens the outermost one.
void add(std::vector<CopyAxis>& axes, CopyAxis axis) {
  if (axis.extent == 1) return;
  if (!axes.empty()) {
    CopyAxis& inner = axes.back();
    if (axis.in == inner.in * inner.extent && axis.out == inner.out * inner.extent) {
      inner.extent *= axis.extent;
      return;
    }
  }
  axes.push_back(axis);
}

}  // namespace

CopyGeometry copy_geometry(const kernel::StructureMap& map) {
  CopyGeometry box;
  int64_t out_stride = 1;
  for (int a = map.rank; a-- > 0;) {
    const kernel::AxisMap& m = map.axis[a];
    if (m.periodic) {  // extent is a multiple of the bound
      box.elements *= m.extent;
      if (m.extent > 0) {
        add(box.axes, {m.bound, m.stride, out_stride});
        add(box.axes, {m.extent / m.bound, 0, out_stride * m.bound});
      }
    } else {
      // The places c with 0 <= start + step c < bound.
      int64_t first = 0, last = m.extent - 1;
      const auto inside = [&](int64_t c) { return m.start + m.step * c >= 0 && m.start + m.step * c < m.bound; };
      if (m.step == 1) {
        first = std::max<int64_t>(first, -m.start);
        last = std::min(last, m.bound - 1 - m.start);
      } else if (last >= 0 && !(inside(first) && inside(last))) {
        last = -1;  // a slice lies inside, or is empty
      }
      const int64_t count = std::max<int64_t>(last - first + 1, 0);
      box.elements *= count;
      box.in_base += (m.start + m.step * first) * m.stride;
      box.out_base += first * out_stride;
      add(box.axes, {count, m.step * m.stride, out_stride});
    }
    out_stride *= m.extent;
  }
  std::reverse(box.axes.begin(), box.axes.end());
  return box;
}

}  // namespace softamp::engine
