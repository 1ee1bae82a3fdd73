// The inner loops of products, by instruction set, and the tile that they work
// on. Every entry gives the bits of kernel/products.h wherever plan_product's
// choice sends a tile to it.
#pragma once

#include "emu/bulk/kernels.h"
#include "emu/products/product.h"

namespace softamp::emu {

/// A block, or the part of it that lies in a chunk of k.
struct Segment {
  uint32_t length;
  uint32_t number;
  bool rounds;  ///< the block ends here, and ends in a rounding
};

/// mr x nr outputs and the operands of a chunk of k. Rows and columns that the
/// problem does not have hold zeros.
struct ProductTile {
  const float* a;           ///< [mr][kAStride]: row by row, k along a row
  const float* b;           ///< [k][nr]
  const uint32_t* a_pairs;  ///< the same as halves, each twice; null unless the
                            ///< way is kNative
  const uint16_t* b_halves;
  const Segment* segments;
  size_t segment_count;
  const uint64_t* output;  ///< places of (row, first column), mr of them
  size_t rows, columns;    ///< of the problem within the tile
};

/// Continues the chains of `acc` (fp32, [mr][nr], 64-byte aligned) by the
/// tile's products. Returns false, and leaves `acc` unchanged but for outputs that the problem does not have, if it met
/// a case that it does not support: overflow, infinity, NaN.
using TileKernel = bool (*)(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);
/// Rounds the results of the tile's rows, [rows][nr], to the codes of halves, stochastically (carry), with at most 16
/// random bits drawn at site 1. Returns false if it met overflow, infinity or NaN.
using ResultKernel = bool (*)(const ProductPlan&, const kernel::Environment&, const ProductTile&, const float* results,
                              uint16_t* codes);

/// Elements from one row of a panel of A to the next: a little more than the longest chunk, so that rows do not compete
/// for the same cache lines.
constexpr size_t kMostChunk = 256, kAStride = kMostChunk + 16;

struct ProductKernels {
  size_t mr, nr;
  const KernelTable* table;  ///< for roundings of whole tiles
  /// A tile of fewer columns, for problems that have few; null: none.
  const ProductKernels* slender = nullptr;
  /// The fp32 chain of `length` products; `exact`: each is exact in fp32.
  void (*chain)(const float* a, const float* b, size_t length, bool exact, float* acc);
  /// One product and its rounding to half, any policy; `words`: R of each
  /// output; flags as a RoundKernel's.
  uint8_t (*each)(const ProductPlan&, const float* a, const float* b, const uint32_t* words, float* acc);
  /// Whether all of a tile's buffer is finite.
  bool (*finite)(const float* acc);
  /// to[c * to_stride + r] = from[r * from_stride + c].
  void (*transpose)(const float* from, size_t rows, size_t columns, size_t from_stride, float* to, size_t to_stride);
  /// Exact; NaNs may come out quiet. Returns whether there was one.
  bool (*widen_fp16)(const uint16_t* codes, size_t count, float* to);
  bool (*any_subnormal)(const float* numbers, size_t count);
  /// Copies rows, with subnormals as zeros: of their sign (kept: 2^31) or +0 (0).
  void (*flush_fp32)(const float* from, size_t rows, size_t columns, size_t from_stride, uint32_t kept, float* to,
                     size_t to_stride);
  /// Halves from their values, for `native`; pairs: each twice. Counts are
  /// multiples of 16. Null where that is.
  void (*narrow)(const float* values, size_t count, uint16_t* halves) = nullptr;
  void (*narrow_pairs)(const float* values, size_t count, uint32_t* pairs) = nullptr;
  /// As tile_words below, by the vector.
  void (*words)(const ProductPlan&, const kernel::Environment&, uint32_t site, uint64_t block, const ProductTile&,
                size_t nr, uint32_t* words);
  /// Writes the results of the tile's rows, [rows][nr], as codes of fp32: element output[row] + column.
  void (*store_wide)(const ProductPlan&, const ProductTile&, size_t nr, const float* results, uint32_t* out);
  // Null where the set has none.
  TileKernel native = nullptr, nearest_each = nullptr, carry_each = nullptr, nearest = nullptr, carry = nullptr;
  ResultKernel result = nullptr;
  bool exact_products_only = false;  ///< nearest_each is for products that are exact in fp32
};

/// Outputs of a tile's buffer: mr x nr and what fills it up to whole groups.
constexpr size_t kMostTile = 384, kMostRows = 24;
constexpr size_t padded_tile(size_t rows, size_t columns) { return (rows * columns + kGroup - 1) / kGroup * kGroup; }
constexpr size_t padded_tile(const ProductKernels& k) { return padded_tile(k.mr, k.nr); }

extern const ProductKernels kPortableProducts;
#if defined(SOFTAMP_HAS_AVX2)
extern const ProductKernels kAvx2Products;
#endif
#if defined(SOFTAMP_HAS_AVX512)
extern const ProductKernels kAvx512Products;
#endif
#if defined(SOFTAMP_HAS_AVX512FP16)
extern const ProductKernels kAvx512Fp16Products;
#endif
#if defined(SOFTAMP_HAS_NEON)
extern const ProductKernels kNeonProducts;
#endif

/// The words of a tile's roundings at `site`, accumulation block `block`: those
/// of (row, column) at words[row * nr + column], masked to the policy's random
/// bits; others are left alone.
void tile_words(const ProductPlan& plan, const kernel::Environment& environment, uint32_t site, uint64_t block,
                const ProductTile& tile, size_t nr, uint32_t* words);

}  // namespace softamp::emu
