// Operations that move elements and compute nothing: which input element each output element copies. Copies raise no
// flags and change no bit, of NaNs either. Also here: the one sum among them, the gradient of a gather.
#pragma once

#include "softamp/kernel/reductions.h"
#include "softamp/numerics/arithmetic.h"
#include "softamp/numerics/convert.h"

namespace softamp::kernel {

/// The elements begin, begin + stride, ... of one axis: `count` of them from `start` on.
struct SliceRange {
  int64_t start = 0, step = 1, count = 0;
};

/// Python's slice begin:end:stride of an axis of `extent` elements: negative indices count from the end, indices beyond
/// the axis are clamped; a masked index is the end of the axis in the direction of the stride. stride is not 0.
SOFTAMP_INLINE SliceRange strided_range(int64_t extent, int64_t begin, int64_t end, int64_t stride, bool begin_masked,
                                        bool end_masked) {
  const int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? extent : extent - 1;
  const auto place = [&](int64_t p) {
    if (p < 0) p = p < -extent ? -1 : p + extent;  // -1: before the axis, whatever the extent
    return p < low ? low : p > high ? high : p;
  };
  const int64_t first = begin_masked ? (stride > 0 ? low : high) : place(begin);
  const int64_t last = end_masked ? (stride > 0 ? high : low) : place(end);
  // Strides beyond the axis give one element at most; they are limited, so that the arithmetic cannot overflow.
  const int64_t step = stride > extent ? extent + 1 : stride < -extent ? -extent - 1 : stride;
  const int64_t span = step > 0 ? last - first : first - last, size = step > 0 ? step : -step;
  return {first, step, span > 0 ? (span + size - 1) / size : 0};
}

/// One axis of an output: index c holds the input's index start + step c, or nothing if that is outside [0, bound).
struct AxisMap {
  int64_t extent = 1;  ///< of the output
  int64_t start = 0, step = 1;
  int64_t bound = 1;      ///< extent of the input's axis
  int64_t stride = 0;     ///< of the input's axis, in elements
  bool periodic = false;  ///< indices are taken modulo bound
};

/// A whole output, axes outermost first, row-major.
// implements: N210
struct StructureMap {
  static constexpr int kMaxRank = 8;
  int rank = 0;
  AxisMap axis[kMaxRank];
};

/// The input element that output element `index` copies; -1 if it lies outside the input.
// implements: N210
SOFTAMP_INLINE int64_t source_of(const StructureMap& map, int64_t index) {
  int64_t source = 0;
  for (int a = map.rank; a-- > 0;) {
    const AxisMap& axis = map.axis[a];
    int64_t place = axis.start + axis.step * (index % axis.extent);
    index /= axis.extent;
    if (axis.periodic) place %= axis.bound;
    if (place < 0 || place >= axis.bound) return -1;
    source += place * axis.stride;
  }
  return source;
}

/// The semantics of sums inside an operation: fp32, nearest even, gradual underflow, under any preset.
// implements: N213
SOFTAMP_INLINE Semantics sum_semantics(const Semantics& s) {
  Semantics inner = s;
  inner.wide.mode = RoundingMode::kNearestEven;
  inner.wide.subnormals = Subnormals::kKeep;
  inner.wide_operands_flushed = false;
  return inner;
}

/// Element (segment, column) of UnsortedSegmentSum: an fp32 sum that begins as +0 and takes data[position][column] for
/// ascending positions whose id is `segment`, rounded once to format `f` (a binary64 sum of binary64 elements).
/// Overflow and invalid operations of the sum raise their flags; inexact and underflow are those of the one rounding.
///   code_at(position, column)  the code of the operand
///   ids[position]              its segment
// implements: N213, N441
template <class CodeAt, class Ids>
SOFTAMP_HD inline Rounded segment_sum(const FloatFormat& f, CodeAt code_at, const Ids& ids, int64_t positions,
                                      int32_t segment, int64_t column, uint64_t index, const Environment& environment) {
  const FloatFormat wide = FloatFormat::fp32();
  const Semantics& s = environment.semantics;
  if (f.storage_bits() == 64) {
    Steps steps;
    double total = 0;
    for (int64_t p = 0; p < positions; ++p)
      if (ids[p] == segment) total = steps.add(total, steps.enter_double_code(code_at(p, column), s));
    return finish(f, total, steps.flags, s, RoundingPolicy::kStill);
  }
  const Semantics inner = sum_semantics(s);
  uint64_t sum = 0;
  uint8_t flags = 0;
  for (int64_t p = 0; p < positions; ++p) {
    if (ids[p] != segment) continue;
    // Operands are read as the preset reads them (wide subnormals flushed, a half's infinity as its switch says).
    Semantics reading = inner;
    reading.wide_operands_flushed = s.wide_operands_flushed;
    const Rounded x = fp::convert(f, wide, code_at(p, column), reading);
    const Rounded next = fp::add(wide, sum, x.code, inner);
    sum = next.code;
    flags = static_cast<uint8_t>(flags | ((x.flags | next.flags) & (kInvalid | kOverflow)));
  }
  const uint32_t random = environment.draw(s.rounding(f), 0, index);
  // The sum is no operand of another operation: it is flushed only as a result.
  Semantics rounding = s;
  rounding.wide_operands_flushed = false;
  const Rounded r = fp::convert(wide, f, sum, rounding, random);
  return {r.code, static_cast<uint8_t>(r.flags | flags)};
}

}  // namespace softamp::kernel
