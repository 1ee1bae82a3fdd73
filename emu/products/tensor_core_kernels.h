// The inner loop of products whose accumulator is a tensor core, by instruction set: vector lanes are different
// outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softamp/numerics/products/tensor_core.h"

#include "emu/bulk/instruction_set.h"

namespace softamp::emu {

/// Columns of a call.
constexpr size_t kTensorCoreColumns = 32;

/// One row of A times columns of B: finite operands, of which each product has kTensorCoreColumns on the right. The
/// length is filled up to a multiple of the group with zeros, as a group is.
struct TensorCoreLanes {
  TensorCoreResult result;
  const TensorCoreTerm* a;
  const int32_t *significands, *exponents;  ///< of B: those of a product lie together
  size_t length;
  int group, fraction_bits;
  int floor;       ///< TensorCore::floor
  int up;          ///< fraction_bits less the mantissa bits of both operands
  uint32_t* sums;  ///< finite fp32 codes, replaced; of kHalf those of fp16 numbers
};

struct TensorCoreKernels {
  /// fused_sum, group by group; false if a sum may be too large on the way, and the sums
  /// have no meaning then. Null: none in this set.
  bool (*add)(const TensorCoreLanes&);
};

SOFTAMP_TABLES(TensorCoreKernels, TensorCores, tensor_cores_of)

}  // namespace softamp::emu
