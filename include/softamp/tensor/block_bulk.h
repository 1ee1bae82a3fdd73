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
#include <utility>

#include "softamp/numerics/block/fp8.h"
#include "softamp/numerics/block/mx.h"
#include "softamp/numerics/block/nvfp4.h"
#include "softamp/tensor/bulk.h"

namespace softamp::bulk {

/// An array of any rank as its blocks see it: `length` elements along the axis, `outer` before it, `inner` behind it.
struct BlockLayout {
  uint64_t outer = 1;
  uint64_t length = 0;
  uint64_t inner = 1;

  /// axis (-rank .. rank - 1) counts from the end where negative. Throws std::invalid_argument for another.
  static BlockLayout of(std::span<const int64_t> shape, int axis = -1);
  uint64_t elements() const { return outer * length * inner; }
};

/// How the scale of a block is kept, and so which rules hold.
enum class BlockFamily : uint8_t {
  kMx,     ///< a byte of E8M0 (numerics/block/mx.h)
  kNvfp4,  ///< a byte of e4m3, and one fp32 scale for the tensor (numerics/block/nvfp4.h)
  kFp8,    ///< an fp32 number, the decode scale (numerics/block/fp8.h)
  kPlain,  ///< none: each element is rounded by itself, saturating, infinities too
};

/// A block format for arrays. Names and texts of formats: report/block_format_names.h.
struct BlockFormat {
  BlockFamily family = BlockFamily::kMx;
  block::Element element{FloatFormat::e4m3()};  ///< NVFP4 has e2m1
  int size = 32;                                ///< elements of a block along the axis [=32; 16 in NVFP4]; 0: all
  int rows = 1;  ///< 1, or more where the axis is the last [=1]; 0: all, of a block that has the whole array (size 0)
  block::MxRules mx = {};
  block::Nvfp4Rules nvfp4 = {};
  block::Fp8Rules fp8 = {};
  RoundingPolicy plain = RoundingPolicy::saturating();  ///< of kPlain

  static BlockFormat of_mx(const block::Element& element) {
    BlockFormat f;
    f.element = element;
    return f;
  }
  /// rows (1, 16)   1x16, or tiles of 16x16, as weights have them
  static BlockFormat of_nvfp4(int rows = 1) {
    BlockFormat f;
    f.family = BlockFamily::kNvfp4;
    f.element = block::Element(FloatFormat::e2m1());
    f.size = 16;
    f.rows = rows;
    return f;
  }
  /// A scale for rows x size elements: 0 x 0 for the array, 1 x 0 for each row, 1 x 128, 128 x 128.
  static BlockFormat of_fp8(const FloatFormat& element, int rows = 0, int size = 0) {
    BlockFormat f;
    f.family = BlockFamily::kFp8;
    f.element = block::Element(element);
    f.size = size;
    f.rows = rows;
    return f;
  }
  static BlockFormat of_plain(const block::Element& element) {
    BlockFormat f;
    f.family = BlockFamily::kPlain;
    f.element = element;
    f.size = 0;
    f.rows = 0;
    return f;
  }

  const RoundingPolicy& rounding() const {
    switch (family) {
      case BlockFamily::kNvfp4: return nvfp4.rounding;
      case BlockFamily::kFp8: return fp8.rounding;
      case BlockFamily::kPlain: return plain;
      default: return mx.rounding;
    }
  }
  RoundingPolicy& rounding() { return const_cast<RoundingPolicy&>(std::as_const(*this).rounding()); }
  /// Whether a NaN counts in the greatest magnitude of its block.
  bool nan_poisons_block() const {
    return family == BlockFamily::kNvfp4 ? nvfp4.nan_poisons_block
           : family == BlockFamily::kFp8 ? fp8.nan_poisons_block
                                         : mx.nan_poisons_block;
  }
  /// Bytes of one scale: 1, of kFp8 4 (fp32, in the machine's order), of kPlain 0.
  size_t scale_bytes() const { return family == BlockFamily::kFp8 ? 4 : family == BlockFamily::kPlain ? 0 : 1; }
};

/// Scales of an array: ceil(length / size) in the place of the axis, and ceil(outer / rows) of tiles. The last block of
/// a row may be shorter than the others. 1 where one block has the whole array, 0 of kPlain.
uint64_t scale_count(const BlockLayout& layout, const BlockFormat& format);

/// The greatest magnitude as an fp32 code; a NaN is greater than all, unless nan_counts is off.
uint32_t greatest_magnitude(std::span<const float> in, bool nan_counts = true, int threads = 0);

/// codes[i] = the code of in[i], a byte each, and the scales of all blocks in row-major order, scale_count times
/// scale_bytes bytes. Returns the greatest magnitude that NVFP4's scales refer to; 0 with the others. `amax`: that of
/// NVFP4's tensor, where it is not this array's own [=nullptr].
uint32_t quantize(std::span<const float> in, const BlockLayout& layout, const BlockFormat& format,
                  std::span<uint8_t> codes, std::span<uint8_t> scales, const BulkOptions& options = {},
                  const uint32_t* amax = nullptr);

/// out[i] = the value of codes[i]. amax: what quantize returned.
void dequantize(std::span<const uint8_t> codes, std::span<const uint8_t> scales, const BlockLayout& layout,
                const BlockFormat& format, uint32_t amax, std::span<float> out, const BulkOptions& options = {});

/// Both: out[i] = the value that in[i] has after it. `out` may be `in`.
void fake_quantize(std::span<const float> in, const BlockLayout& layout, const BlockFormat& format,
                   std::span<float> out, const BulkOptions& options = {});

}  // namespace softamp::bulk
