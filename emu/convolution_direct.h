// Products of convolutions without packing: tiles whose operands are read where they lie, for AVX-512.
//
// By channels (ByChannels), what neighbouring places read is consecutive for every k; in NHWC, the channels of a place
// are. So a tile's column k of A is `rows` consecutive floats at an offset that depends on k alone, from one place or
// two.
#pragma once

#include <vector>

#include "emu/convolution_operands.h"
#include "emu/product_kernels.h"

namespace softamp::emu {

/// A tile of `parts` times `rows` rows and nr columns; `kernels` has its mr = parts rows and nr, for the rounding of
/// results.
struct DirectTile {
  size_t rows, parts;
  ProductKernels kernels;
  /// Continues acc ([mr][nr]) by the products of the segments: row p rows + i of column k of A is a[p][a_offsets[k] +
  /// i], column j of row k of B is b[b_offsets[k] + j]. All rows and columns are read, whatever the problem has. Rounds
  /// to nearest where segments do. Returns false, and leaves acc as it was, where a rounding overflowed or met what is
  /// not finite.
  bool (*multiply)(const float* const* a, const int64_t* a_offsets, const float* b, const int64_t* b_offsets,
                   const Segment* segments, size_t count, float* acc);
};

#if defined(SOFTAMP_HAS_AVX512)
/// Tiles of 16 (narrow) or 32 columns, for plans with the kernels `of`, an AVX-512 set.
std::span<const DirectTile> direct_tiles(const ProductKernels& of, bool narrow);
#endif

/// The tile for rows that come in runs of `width` (of which tiles with two parts take two whole ones), `columns` wide;
/// null where none serves, or none is used well.
const DirectTile* direct_tile(const ProductPlan& plan, size_t width, size_t columns);
/// The same for rows without end, in which a tile's parts follow each other.
const DirectTile* direct_tile_of_rows(const ProductPlan& plan, size_t rows, size_t columns);

/// As run_product, on the caller's thread, for whole runs of a class's places. Tiles that overflow are the engine's.
void run_direct(const DirectTile& tile, const ProductPlan& plan, const ProductProblem& problem,
                const WindowOperands::Part& operands, const kernel::Environment& environment, FpStatus* status);

/// Several filter gradients, of taps or parts of their rows, over the same tensors: chunk by chunk side by side, so
/// that what they read is read once.
struct TapProblem {
  const TapOperands* operands;
  ProductProblem problem;
};
void run_direct(const DirectTile& tile, const ProductPlan& plan, std::span<const TapProblem> problems,
                const kernel::Environment& environment, FpStatus* status);

}  // namespace softamp::emu
