// The inner loops of ScaledMatMul by blocks, by instruction set: sums of a block's products that are exact in the lanes
// (N487), each brought into the fp32 sum; and the partial sums of other accumulations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/bulk/instruction_set.h"
#include "softamp/numerics/block/dot.h"

namespace softamp::emu {

/// Rows and columns of a tile.
constexpr size_t kScaledRows = 4, kScaledColumns = 16;

/// Products begin .. end - 1 belong to one block of both operands.
struct ScaledPiece {
  uint32_t begin, end;
};

struct ScaledTile {
  const float* a[kScaledRows];  ///< unscaled values along k
  const float* b;               ///< [k][kScaledColumns]
  const ScaledPiece* pieces;
  size_t count;
  const float* scale_a;  ///< [piece][kScaledRows]
  const float* scale_b;  ///< [piece][kScaledColumns]
  bool fp32_scales;      ///< the product of two scales is rounded to fp32
  float* sums;           ///< [kScaledRows][kScaledColumns]: what they begin with, replaced
};

/// Partial sums of kColumns columns, as fp32 codes, that enter sums y (block::Promotion).
struct ScaledPromotion {
  static constexpr size_t kColumns = 32;
  const uint32_t* partial;
  float scale_a;
  const float* scale_b;
  block::Promotion promotion;
  float* y;
};

struct ScaledBlockKernels {
  /// Sums of products that are exact in fp32; in binary64.
  void (*narrow)(const ScaledTile&);
  void (*wide)(const ScaledTile&);
  void (*promote)(const ScaledPromotion&);
};

SOFTAMP_TABLES(ScaledBlockKernels, ScaledBlocks, scaled_blocks_of)

}  // namespace softamp::emu
