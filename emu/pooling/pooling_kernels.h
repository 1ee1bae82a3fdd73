// The inner loops of pooling, by instruction set: one window, or one element's windows, over all channels at once.
//
// Each returns false if it met a case that it does not support (NaN, infinity, overflow): kernel/pooling.h then
// computes its output. Otherwise its results equal kernel/pooling.h's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softamp/engine/pooling_plan.h"

#include "emu/bulk/instruction_set.h"

namespace softamp::emu {

using engine::PoolingPlan;

/// A window cut to the input: its elements are `rows` x `columns` runs of channels, strides in elements.
struct PoolingWindow {
  const void* first;
  size_t rows, columns, row_stride, column_stride;
};

struct PoolingKernels {
  /// out[c] = the maximum.
  bool (*maximum)(const PoolingPlan&, const PoolingWindow&, size_t channels, void* out);
  /// sums[i] += gradient[c] for the window's maximum i; `sums` laid out as the input, at the window's first element.
  bool (*maximum_gradient)(const PoolingPlan&, const PoolingWindow&, size_t channels, const void* gradient,
                           float* sums);
  /// out[c] = the average.
  bool (*average)(const PoolingPlan&, const PoolingWindow&, size_t channels, float* out);
  /// out[c] += gradient[c] / count, for one window.
  bool (*average_gradient)(const PoolingPlan&, size_t channels, const void* gradient, float count, float* out);
};

SOFTAMP_TABLES(PoolingKernels, Pooling, pooling_of)

}  // namespace softamp::emu
