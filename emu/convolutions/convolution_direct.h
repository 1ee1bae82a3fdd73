// Products of convolutions without packing: tiles that read their operands in place, for AVX2 and
// AVX-512.
//
// In a layout by channels (ByChannels), the elements read by neighbouring places are consecutive for every k; in NHWC,
// the channels of one place are. So column k of a tile's A is `rows` consecutive floats at an offset that depends only
// on k, from one or two places.
#pragma once

#include <vector>

#include "emu/convolutions/convolution_operands.h"
#include "emu/products/product_kernels.h"

namespace softamp::emu {

/// The operands of a tile: row p rows + i of column k of A is a[p][a_offsets[k] + i], column j of row k of B is
/// b[b_offsets[k] + j]. All rows and columns of a tile are read, even beyond the problem's.
struct DirectOperands {
  const float* a[2];
  const int64_t* a_offsets;
  const float* b;
  const int64_t* b_offsets;
};

/// A tile of `parts` times `rows` rows and nr columns; `kernels` has its mr = parts rows and nr, for the rounding of
/// results.
struct DirectTile {
  size_t rows, parts;
  ProductKernels kernels;
  /// Continues acc ([mr][nr]) by the products of the segments. Rounds to nearest where segments do. Returns false, and
  /// leaves acc unchanged, if a rounding overflowed or met a value that is not finite.
  bool (*multiply)(const DirectOperands&, const Segment* segments, size_t count, float* acc);
  /// The same with the segments of the tile, rounded stochastically (carry), by words at its outputs' addresses. acc
  /// may change where the problem has no outputs.
  bool (*carry)(const ProductPlan&, const kernel::Environment&, const DirectOperands&, const ProductTile&, float* acc);
  /// One product for each of the rows whose bits are set in `rows`: row i of A is a[i].
  void (*step)(const float* a, uint32_t rows, const float* b, float* acc);
};

#if defined(SOFTAMP_HAS_AVX512)
/// Tiles of 16 or 32 columns, as suits `columns`, for plans with the AVX-512 kernels `of`. few_rows: also one of 4
/// rows, whose chains wait for each other, which does not matter beside random numbers.
std::span<const DirectTile> direct_tiles_avx512(const ProductKernels& of, size_t columns, bool few_rows);
#endif
#if defined(SOFTAMP_HAS_AVX2)
/// Tiles of 8 or 16 columns.
std::span<const DirectTile> direct_tiles_avx2(size_t columns);
#endif

/// Whether direct tiles serve these addresses of random words.
bool direct_tiles_serve(const ProductPlan& plan, const kernel::Environment& environment);

/// The tile, `columns` wide, for rows in runs of `width` (tiles with two parts take two whole runs); null if none is
/// suitable or efficient.
const DirectTile* direct_tile(const ProductPlan& plan, size_t width, size_t columns);
/// The same for one long run of rows, in which a tile's parts follow each other.
const DirectTile* direct_tile_of_rows(const ProductPlan& plan, size_t rows, size_t columns);

/// The plan with the size of the tile.
ProductPlan with_tile(ProductPlan plan, const DirectTile& tile);

/// As run_product, but on the caller's thread, for whole runs of a class's places. The engine computes tiles that
/// overflow.
void run_direct(const DirectTile& tile, const ProductPlan& plan, const ProductProblem& problem,
                const WindowOperands::Part& operands, const kernel::Environment& environment,
                const ProductSettings& settings);

/// Several filter gradients, of taps or parts of their rows, over the same tensors: chunk by chunk together, so that
/// the tensors are read once.
struct TapProblem {
  const TapOperands* operands;
  ProductProblem problem;
};
void run_direct(const DirectTile& tile, const ProductPlan& plan, std::span<const TapProblem> problems,
                const kernel::Environment& environment, const ProductSettings& settings);

}  // namespace softamp::emu
