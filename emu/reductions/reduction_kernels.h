// The inner loops of reductions, by instruction set. Every entry gives the bits of kernel/reductions.h, except for the
// bits of NaNs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softamp/names/dtype.h"
#include "softamp/numerics/semantics.h"
#include "softamp/tensor/bulk.h"

#include "emu/bulk/instruction_set.h"

namespace softamp::emu {

/// How elements are read as fp32. The bodies of kernel/ compute other dtypes and presets.
enum class Load : uint8_t {
  kF32,
  kF32Flushed,  ///< subnormals are zeros of their sign
  kF16,
  kBf16,
  kNone,  ///< not by these kernels
};

/// The operation on elements and on pairs of results.
enum class Fold : uint8_t {
  kSum,
  kSquares,  ///< RN(x x), then sums
  kMax,      ///< integer keys of kernel::order_key, as bits of floats
  kMin,
  kChain,  ///< an ascending chain from +0; columns only
};

struct ReductionKernels {
  /// `count` elements as fp32: in `to`, where up to a whole vector is written behind the last, or where they are, if
  /// they are what is to be and are whole vectors.
  const float* (*enter)(Load load, const void* data, size_t count, float* to);
  /// out[r] = the fold, in the order of a block, of elements r * stride .. + count (<= 1024; of kMax and kMin any
  /// number) for r < rows.
  void (*rows)(Load load, Fold fold, const void* data, size_t stride, size_t rows, size_t count, float* out);
  /// out[c] = the fold of elements offset[r] + c over r < rows (<= 1024), for c < width.
  void (*columns)(Load load, Fold fold, const void* data, const int64_t* offset, size_t rows, size_t width, float* out);
  /// blocks[c], c < width, = the fold of blocks[b * width + c] over b < count: pairwise over b; kChain: ascending.
  void (*tree)(Fold fold, float* blocks, size_t count, size_t width);
  /// Results in fp32 as a tensor of float32 holds them: NaNs become `nan`, subnormals zeros where `flushed`. Stores
  /// bypass the caches if `stream`; `out` is then at the start of a cache line.
  void (*store)(const float* values, size_t count, uint32_t nan, bool flushed, bool stream, float* out);
};

SOFTAMP_TABLES(ReductionKernels, Reductions, reductions_of)

/// How elements of `type` are read under `s`; kNone if its rules need the body.
Load load_of(DType type, const Semantics& s);

}  // namespace softamp::emu
