// Arrays to blocks of small elements and back (numerics/block): the codes and scales of the functions for one block,
// for any number of threads, instruction set and size.
//
// A stochastic rounding of element i of the array, row-major, uses the random word of (seed, step, operation,
// first_index + i), whatever the axis. Scales draw nothing. FP8 by tensors, rows and blocks has scales of fp32.
//
// Errors: std::invalid_argument, naming the sizes, for arrays that do not fit the layout, block sizes below 1, tiles
// along an axis that is not the last, random_bits outside 1..32; random.words and random.slice are refused.
#pragma once

#include <cstdint>
#include <span>

#include "softamp/numerics/block/block_format.h"
#include "softamp/tensor/bulk.h"

namespace softamp::bulk {

/// An array of any rank as its blocks see it: `length` elements along the axis, `outer` before it, `inner` behind it.
// implements: N462
struct BlockLayout {
  uint64_t outer = 1;
  uint64_t length = 0;
  uint64_t inner = 1;

  /// axis (-rank .. rank - 1) counts from the end where negative. Throws std::invalid_argument for another.
  static BlockLayout of(std::span<const int64_t> shape, int axis = -1);
  uint64_t elements() const { return outer * length * inner; }
};

using block::BlockFamily;
using block::BlockFormat;

/// Scales of an array: ceil(length / size) in the place of the axis, and ceil(outer / rows) of tiles. The last block of
/// a row may be shorter than the others. 1 where one block has the whole array, 0 of kPlain.
uint64_t scale_count(const BlockLayout& layout, const BlockFormat& format);

/// The greatest magnitude as an fp32 code; a NaN is greater than all, unless nan_counts is off.
uint32_t greatest_magnitude(std::span<const float> in, bool nan_counts = true, int threads = 0);

/// codes[i] = the code of in[i], a byte each, and the scales of all blocks in row-major order, scale_count times
/// scale_bytes bytes. Returns the greatest magnitude that NVFP4's scales refer to; 0 with the others. `amax`: that of
/// NVFP4's tensor, where it is not this array's own [=nullptr].
// implements: N462
uint32_t quantize(std::span<const float> in, const BlockLayout& layout, const BlockFormat& format,
                  std::span<uint8_t> codes, std::span<uint8_t> scales, const BulkOptions& options = {},
                  const uint32_t* amax = nullptr);

/// out[i] = the value of codes[i]. amax: what quantize returned.
// implements: N462
void dequantize(std::span<const uint8_t> codes, std::span<const uint8_t> scales, const BlockLayout& layout,
                const BlockFormat& format, uint32_t amax, std::span<float> out, const BulkOptions& options = {});

/// Both: out[i] = the value that in[i] has after it. `out` may be `in`.
// implements: N462
void fake_quantize(std::span<const float> in, const BlockLayout& layout, const BlockFormat& format,
                   std::span<float> out, const BulkOptions& options = {});

}  // namespace softamp::bulk
