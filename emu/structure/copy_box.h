// Copies of boxes: any number of axes, each with a stride of its own in source and destination. Transpose, Slice,
// ConcatV2 and similar operations consist of such copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "softamp/engine/copy_box.h"

namespace softamp::emu {

/// One box. Strides and bases in elements; the destination's innermost stride is 1 where the box has rows.
class CopyBox {
 public:
  /// The elements of the map's output that have a source; `element` is their size in bytes (1, 2, 4, 8).
  CopyBox(const kernel::StructureMap& map, size_t element);

  /// Copies all of it. `threads` as in EngineSettings. `stream`: lines that are written whole bypass the caches.
  void run(const void* in, void* out, int threads, bool stream) const;
  /// The same, and writes `code` to all other elements of the output, which has `outputs` of them. Only where rows() is
  /// true and axes have the same order on both sides.
  void run_filling(const void* in, void* out, int threads, bool stream, uint64_t code, int64_t outputs) const;
  /// Whether the elements are copied in rows that are contiguous on both sides.
  bool rows() const { return elements_ > 0 && row_.in == 1 && row_.out == 1; }
  /// Elements copied.
  int64_t elements() const { return elements_; }

 private:
  using Axis = engine::CopyAxis;
  struct Places;  // of units, in order
  void choose_units();
  int64_t units() const;
  size_t grain() const;
  void copy_rectangle(const std::byte* in, std::byte* out, int64_t along, int64_t across, bool stream) const;

  size_t element_;
  int64_t in_base_ = 0, out_base_ = 0, elements_ = 1;
  std::vector<Axis> outer_;  // innermost last
  // A unit is a rectangle of the two inner axes: `row_` (the destination's contiguous one) cut into pieces of
  // row_piece_, and, where the source is contiguous along another axis, that axis `column_` cut into pieces. Units
  // follow one another along `row_`.
  Axis row_{1, 1, 1}, column_{1, 0, 0};
  int64_t row_piece_ = 1, column_piece_ = 1;
};

}  // namespace softamp::emu
