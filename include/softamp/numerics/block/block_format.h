// A block format as data, and the functions of one block whatever its family (N447 to N459, N495): its scale, the codes
// of its elements, and their values. Values are fp32 codes.
#pragma once

#include "softamp/numerics/block/fp8.h"
#include "softamp/numerics/block/mx.h"
#include "softamp/numerics/block/nvfp4.h"

namespace softamp::block {

/// How the scale of a block is kept, and so which rules hold.
enum class BlockFamily : uint8_t {
  kMx,     ///< a byte of E8M0 (numerics/block/mx.h)
  kNvfp4,  ///< a byte of e4m3, and one fp32 scale for the tensor (numerics/block/nvfp4.h)
  kFp8,    ///< an fp32 number, the decode scale (numerics/block/fp8.h)
  kPlain,  ///< none: each element is rounded by itself, saturating, infinities too
};

/// A block format for arrays. Names and texts of formats: names/block_format_names.h.
// implements: N495
struct BlockFormat {
  BlockFamily family = BlockFamily::kMx;
  Element element{FloatFormat::e4m3()};  ///< NVFP4 has e2m1
  int size = 32;                         ///< elements of a block along the axis [=32; 16 in NVFP4]; 0: all
  int rows = 1;  ///< 1, or more where the axis is the last [=1]; 0: all, of a block that has the whole array (size 0)
  MxRules mx = {};
  Nvfp4Rules nvfp4 = {};
  Fp8Rules fp8 = {};
  RoundingPolicy plain = RoundingPolicy::saturating();  ///< of kPlain

  static SOFTAMP_INLINE BlockFormat of_mx(const Element& element) {
    BlockFormat f;
    f.element = element;
    return f;
  }
  /// rows (1, 16)   1x16, or tiles of 16x16, as weights have them
  static SOFTAMP_INLINE BlockFormat of_nvfp4(int rows = 1) {
    BlockFormat f;
    f.family = BlockFamily::kNvfp4;
    f.element = Element(FloatFormat::e2m1());
    f.size = 16;
    f.rows = rows;
    return f;
  }
  /// A scale for rows x size elements: 0 x 0 for the array, 1 x 0 for each row, 1 x 128, 128 x 128.
  static SOFTAMP_INLINE BlockFormat of_fp8(const FloatFormat& element, int rows = 0, int size = 0) {
    BlockFormat f;
    f.family = BlockFamily::kFp8;
    f.element = Element(element);
    f.size = size;
    f.rows = rows;
    return f;
  }
  static SOFTAMP_INLINE BlockFormat of_plain(const Element& element) {
    BlockFormat f;
    f.family = BlockFamily::kPlain;
    f.element = element;
    f.size = 0;
    f.rows = 0;
    return f;
  }

  SOFTAMP_INLINE const RoundingPolicy& rounding() const {
    switch (family) {
      case BlockFamily::kNvfp4: return nvfp4.rounding;
      case BlockFamily::kFp8: return fp8.rounding;
      case BlockFamily::kPlain: return plain;
      default: return mx.rounding;
    }
  }
  SOFTAMP_INLINE RoundingPolicy& rounding() {
    switch (family) {
      case BlockFamily::kNvfp4: return nvfp4.rounding;
      case BlockFamily::kFp8: return fp8.rounding;
      case BlockFamily::kPlain: return plain;
      default: return mx.rounding;
    }
  }
  /// Whether a NaN counts in the greatest magnitude of its block.
  SOFTAMP_INLINE bool nan_poisons_block() const {
    return family == BlockFamily::kNvfp4 ? nvfp4.nan_poisons_block
           : family == BlockFamily::kFp8 ? fp8.nan_poisons_block
                                         : mx.nan_poisons_block;
  }
  /// Whether a block's scale depends on more than its greatest magnitude.
  SOFTAMP_INLINE bool chooses_scale() const {
    return family == BlockFamily::kNvfp4 && nvfp4.rule == Nvfp4Rule::kTransformerEngine &&
           nvfp4.four_over_six != FourOverSix::kNone;
  }
  /// Bytes of one scale: 1, of kFp8 4 (fp32, in the machine's order), of kPlain 0.
  SOFTAMP_INLINE int scale_bytes() const {
    return family == BlockFamily::kFp8 ? 4 : family == BlockFamily::kPlain ? 0 : 1;
  }
};

/// What the elements of one block are made and read with.
struct BlockScale {
  uint32_t bits;    ///< what is kept: a byte, or an fp32 code of kFp8; 0 of kPlain
  uint32_t factor;  ///< what NVFP4 and FP8 multiply (DeepSeek: divide) by, an fp32 code
  uint32_t decode;  ///< what they multiply a code's value by
};

/// What NVFP4 makes of a scale that is chosen.
SOFTAMP_INLINE BlockScale nvfp4_block_scale(const Nvfp4Tensor& tensor, uint32_t bits, const Nvfp4Rules& rules) {
  return {bits, nvfp4_factor(tensor, bits, rules), nvfp4_decode_factor(tensor, bits, rules)};
}

/// The scale of a block of greatest magnitude `amax`; `tensor`: nvfp4_tensor of the array, of kNvfp4 alone. Where the
/// format chooses, the scale without a choice.
// implements: N495
SOFTAMP_GENERAL BlockScale block_scale(const BlockFormat& f, const Nvfp4Tensor& tensor, uint32_t amax) {
  switch (f.family) {
    case BlockFamily::kMx: return {mx_scale(f.element, amax, f.mx), 0, 0};
    case BlockFamily::kNvfp4: return nvfp4_block_scale(tensor, nvfp4_scale(tensor, amax, f.nvfp4), f.nvfp4);
    case BlockFamily::kFp8: {
      const Fp8Scale scale = fp8_scale(f.element.format, amax, f.fp8);
      return {scale.decode, scale.factor, scale.decode};
    }
    default: return {0, 0, 0};
  }
}

/// The scale of a block of rows x n fp32 codes x(row, i), whose greatest magnitude is `amax`.
template <class At>
SOFTAMP_INLINE BlockScale block_scale(const BlockFormat& f, const Nvfp4Tensor& tensor, uint32_t amax, uint64_t rows,
                                      uint64_t n, const At& x) {
  if (!f.chooses_scale()) return block_scale(f, tensor, amax);
  return nvfp4_block_scale(tensor, nvfp4_better_scale(tensor, amax, f.nvfp4, rows, n, x), f.nvfp4);
}

/// x as an element of a block with that scale.
// implements: N495
SOFTAMP_GENERAL Rounded block_code(const BlockFormat& f, const BlockScale& scale, uint32_t x, uint32_t random = 0) {
  switch (f.family) {
    case BlockFamily::kMx: return mx_code(f.element, scale.bits, x, f.mx, random);
    case BlockFamily::kNvfp4: return nvfp4_code(scale.factor, x, f.nvfp4, random);
    case BlockFamily::kFp8: return fp8_code(f.element.format, {scale.decode, scale.factor}, x, f.fp8, random);
    default: {
      RoundingPolicy p = f.plain;
      p.overflow = Overflow::kSaturate;
      p.infinity = InfinityResult::kSaturate;
      return round_fp32(f.element, x, 0, false, p, random);
    }
  }
}

/// The value of a code in a block with that scale.
// implements: N495
SOFTAMP_GENERAL uint32_t block_value(const BlockFormat& f, const BlockScale& scale, uint64_t code) {
  switch (f.family) {
    case BlockFamily::kMx: return mx_value(f.element, scale.bits, code);
    case BlockFamily::kNvfp4: return nvfp4_value(scale.decode, code);
    case BlockFamily::kFp8: return fp8_value(f.element.format, scale.decode, code);
    default: return mx_value(f.element, e8m0::kOne, code);
  }
}

}  // namespace softamp::block
