// The inner loops of normalisations, by instruction set: the fp32 steps of kernel/norms.h up to the final rounding, bit
// for bit, except for the bits of NaNs. Functions that return bool tell whether some result is infinite or a NaN.
//
// Along rows (layer norm) the elements of a group are contiguous and share mean and i; along columns (batch norm)
// `rows` rows of `width` channels, `stride` elements apart, have a mean and an i per channel.
#pragma once

#include "emu/bulk/instruction_set.h"
#include "emu/reductions/reduction_kernels.h"

namespace softamp::emu {

/// A gradient's operands: dy and x in the tensor's dtype.
struct GradientLanes {
  Load load;
  const void *dy, *x;
};

struct NormKernels {
  /// sums[0], sums[1] = sum of x, of x x. stable: sums[1] = sum of (x - mean)^2 with mean = RN(sums[0] / count).
  void (*row_sums)(Load load, const void* x, size_t n, bool stable, float count, float* sums);
  /// The same of at most 1024 rows: sums[c], sums[width + c]; mean null: of x and x x; else of (x - mean)^2 alone.
  void (*column_sums)(Load load, const void* x, size_t rows, size_t stride, size_t width, const float* mean,
                      float* sums);
  bool (*row_apply)(Load load, const void* x, size_t n, float mean, float inverse, const float* gamma,
                    const float* beta, float* out);
  /// Rows stand one after another in `out`.
  bool (*column_apply)(Load load, const void* x, size_t rows, size_t stride, size_t width, const float* mean,
                       const float* inverse, const float* gamma, const float* beta, float* out);
  /// sums[0], sums[1] = sum of g, of g h, with g = RN(dy gamma).
  void (*row_gradient_sums)(const GradientLanes& in, size_t n, float mean, float inverse, const float* gamma,
                            float* sums);
  bool (*row_gradient)(const GradientLanes& in, size_t n, float mean, float inverse, const float* gamma, float a,
                       float b, float* out);
  /// sums[c], sums[width + c] = sum of dy, of dy h, of at most 1024 rows. by_row: mean and i belong to rows.
  void (*column_gradient_sums)(const GradientLanes& in, size_t rows, size_t stride, size_t width, bool by_row,
                               const float* mean, const float* inverse, float* sums);
  /// factor t; a null: factor dy.
  bool (*column_gradient)(const GradientLanes& in, size_t rows, size_t stride, size_t width, const float* mean,
                          const float* inverse, const float* factor, const float* a, const float* b, float* out);
};

SOFTAMP_TABLES(NormKernels, Norms, norms_of)

}  // namespace softamp::emu
