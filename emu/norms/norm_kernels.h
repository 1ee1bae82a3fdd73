// The inner loops of normalisations, by instruction set: the fp32 steps of kernel/norms.h up to the final rounding, bit
// for bit, except for the bits of NaNs. Functions that return bool tell whether some result is infinite or a NaN.
//
// Along rows (layer norm) the elements of a group are contiguous and share mean and i; they are read more than once,
// and have entered as fp32 (ReductionKernels::enter), with room for a vector behind the last. Along columns (batch
// norm, group norm) each of `width` channels has a mean and an i; rows of the tensor lie `stride` elements apart, those
// of results next to each other. Parameters have numbers behind their last ones up to whole vectors; results may be
// written as far.
#pragma once

#include "emu/bulk/instruction_set.h"
#include "emu/reductions/reduction_kernels.h"

namespace softamp::emu {

/// A gradient's operands along a row, and down columns.
struct GradientLanes {
  const float *dy, *x;
};
struct GradientColumns {
  Load load;
  const void *dy, *x;
  size_t stride;
};

/// Sums down the columns of a block in the making. An order of 32 lanes by elements is one of `lanes` lanes by rows,
/// where a row has 32 / lanes elements of a sum. sums[(s * lanes + lane) * pitch(width) + c].
struct ColumnLanes {
  size_t row;    ///< place in its block of the first row that comes
  size_t lanes;  ///< a power of two
  float* sums;

  static constexpr size_t pitch(size_t width) { return (width + 15) / 16 * 16; }
};

struct NormKernels {
  /// Of a block (n <= 1024): sums[0], sums[1] = sum of x, of x x; mean not null: sums[0] = sum of (x - mean)^2.
  void (*row_sums)(const float* x, size_t n, const float* mean, float* sums);
  /// The same down columns; mean: by column.
  void (*column_sums)(Load load, const void* x, size_t stride, size_t rows, size_t width, const float* mean,
                      const ColumnLanes& to);
  /// out[s * stride + c] = the join of the lanes (of the first `row` of them, if there are fewer rows) for s < sums.
  void (*column_join)(const ColumnLanes& of, size_t sums, size_t width, size_t stride, float* out);
  bool (*row_apply)(const float* x, size_t n, float mean, float inverse, const float* gamma, const float* beta,
                    float* out);
  bool (*column_apply)(Load load, const void* x, size_t stride, size_t rows, size_t width, const float* mean,
                       const float* inverse, const float* gamma, const float* beta, float* out);
  /// Of a block: sums[0], sums[1] = sum of g, of g h, with g = RN(dy gamma).
  void (*row_gradient_sums)(const GradientLanes& in, size_t n, float mean, float inverse, const float* gamma,
                            float* sums);
  bool (*row_gradient)(const GradientLanes& in, size_t n, float mean, float inverse, const float* gamma, float a,
                       float b, float* out);
  /// The sums of g and g h down columns; gamma null: g = dy. by_row: mean and i belong to rows, and gamma is null.
  void (*column_gradient_sums)(const GradientColumns& in, size_t rows, size_t width, bool by_row, const float* mean,
                               const float* inverse, const float* gamma, const ColumnLanes& to);
  /// factor t, with g for dy where gamma is not null; a null: factor dy.
  bool (*column_gradient)(const GradientColumns& in, size_t rows, size_t width, const float* mean, const float* inverse,
                          const float* factor, const float* gamma, const float* a, const float* b, float* out);
};

SOFTAMP_TABLES(NormKernels, Norms, norms_of)

}  // namespace softamp::emu
