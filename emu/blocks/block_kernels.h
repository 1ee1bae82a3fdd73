// The loops over blocks of each instruction set: greatest magnitudes, scales, elements. `n` elements lie side by side.
// What they give equals the functions of numerics/block bit for bit, but where a block is special.
#pragma once

#include "emu/blocks/block_plan.h"
#include "emu/bulk/instruction_set.h"

namespace softamp::emu {

/// Elements that the loops take at once, with one factor for runs of 16, 32, or any multiple of 64 of them.
constexpr size_t kBlockGroup = 64;
/// The length of the caller's strips: the next one is fetched while one is computed.
constexpr size_t kBlockStrip = 2048;

/// What elements are multiplied by: element i by of[i / run], or by of[i] where run is 1. Read up to a whole group.
struct Factors {
  const float* of;
  size_t run;
};

/// How arrays pass by.
struct Passing {
  bool stream;  ///< `out` starts a cache line, and is not read again soon
  bool ahead;   ///< the next strip follows this one
};

struct BlockKernels {
  /// amax[b] = the greatest magnitude, an fp32 code, of block b of `size` elements; NaN counts.
  void (*magnitudes)(const float* x, size_t n, size_t size, uint32_t* amax);
  /// amax[i] = the greater of itself and the magnitudes of x[i] in `rows` rows, `stride` elements apart.
  void (*column_magnitudes)(const float* x, size_t stride, size_t rows, size_t n, uint32_t* amax);
  /// Scales of n blocks, as they are kept (bytes, or fp32), and what their elements and codes are multiplied by. A NaN
  /// in `factor` marks a special block, whose scale means nothing: infinite or NaN amax, no finite factor. Returns
  /// whether there is one. All arrays are read and written up to a whole group.
  bool (*scales)(const ScalePlan&, const uint32_t* amax, size_t n, void* kept, float* factor, float* decode);
  /// What codes are multiplied by, from the scales that were kept; special: what is not finite.
  bool (*decode)(const ScalePlan&, const void* kept, size_t n, float* decode);
  /// y[i] = x[i] times its factor, or over it where `divides`, rounded to fp32; under ElementPlan::sticky never zero
  /// but where x[i] is.
  void (*scaled)(const ElementPlan&, const float* x, Factors, size_t n, bool divides, float* y);
  /// The codes of x times factors.
  void (*codes)(const ElementPlan&, const float* x, Factors, size_t n, uint8_t* out, Passing);
  /// The values of these codes, times those of `decode`, which has the same runs.
  void (*fake)(const ElementPlan&, const float* x, Factors, const float* decode, size_t n, float* out, Passing);
  /// The codes of x times factors, or, where `out` is not null, their values times `decode`, rounded by an addition of
  /// the random numbers of elements `index` on, which has `bits` (0: of a constant).
  void (*added)(const ElementPlan&, const RandomPlan&, int bits, uint64_t index, const float* x, Factors,
                const float* decode, size_t n, uint8_t* codes, float* out);
  /// The values of codes, times factors.
  void (*values)(const ElementPlan&, const uint8_t* codes, Factors decode, size_t n, float* out, Passing);
};

SOFTAMP_TABLES(BlockKernels, Blocks, block_kernels)

}  // namespace softamp::emu
