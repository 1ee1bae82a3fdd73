// NVFP4: e2m1 elements, an e4m3 scale for each block (1x16, or 16x16 for weights), and an fp32 scale for the tensor
// (N453 to N456). Every step is one rounding of fp32, in the order that the systems have; values are fp32 codes.
#pragma once

#include "softamp/numerics/block/element.h"

namespace softamp::block {

/// Whose arithmetic makes the scales.
enum class Nvfp4Rule : uint8_t {
  kTransformerEngine,  ///< S = 2688 / A of the tensor; block scale A_b (S/6); 00 is a scale, and what it scales is
                       ///< lost.
  kTorchao,            ///< p = A / 2688; block scale (A_b / 6) / p, at least 2^-6.
  kOneLevel,           ///< torchao without a tensor's scale: A_b / 6, at least 2^-6.
};

/// rounding             of elements; all saturate
/// nan_poisons_block    [=true] a NaN in a block makes its scale NaN, one in the tensor every scale; false: it counts
/// as
///                      absent, and becomes the largest number, 6
struct Nvfp4Rules {
  Nvfp4Rule rule = Nvfp4Rule::kTransformerEngine;
  RoundingPolicy rounding = RoundingPolicy::saturating();
  bool nan_poisons_block = true;
};

/// What a tensor's blocks share, fp32 codes.
struct Nvfp4Tensor {
  uint32_t amax;    ///< the greatest magnitude
  uint32_t encode;  ///< S: 2688 / amax; torchao's 1 / p
  uint32_t decode;  ///< 1 / S; torchao's p
};

namespace detail_nvfp4 {
constexpr uint32_t kScaleOfBoth = 0x45280000u;                                                  // 2688 = 448 6
constexpr uint32_t kSix = 0x40C00000u, kLargestScale = 0x43E00000u, kLeastScale = 0x3C800000u;  // 6, 448, 2^-6
}  // namespace detail_nvfp4

/// The scales of a tensor whose greatest magnitude is `amax`.
SOFTAMP_GENERAL Nvfp4Tensor nvfp4_tensor(uint32_t amax, const Nvfp4Rules& rules) {
  using namespace detail32;
  using namespace detail_nvfp4;
  if (rules.rule == Nvfp4Rule::kOneLevel) return {amax, kOne, kOne};
  if (rules.rule == Nvfp4Rule::kTorchao) {
    if (amax == 0) return {amax, kOne, kOne};  // as TransformerEngine has it: 0 / 0 would be the scale
    const uint32_t p = div(amax, kScaleOfBoth);
    return {amax, div(kOne, p), p};
  }
  uint32_t encode = at_most(div(kScaleOfBoth, amax), kLargest);
  if (amax == 0 || encode == 0) encode = kOne;
  return {amax, encode, div(kOne, encode)};
}

/// The e4m3 code of a block's scale, from its greatest magnitude. NaN: 7F.
SOFTAMP_GENERAL uint32_t nvfp4_scale(const Nvfp4Tensor& tensor, uint32_t amax, const Nvfp4Rules& rules) {
  using namespace detail32;
  using namespace detail_nvfp4;
  uint32_t d = 0;
  switch (rules.rule) {
    case Nvfp4Rule::kTransformerEngine: d = mul(amax, mul(tensor.encode, 0x3E2AAAABu)); break;
    case Nvfp4Rule::kTorchao: d = div(div(amax, kSix), tensor.decode); break;
    case Nvfp4Rule::kOneLevel: d = div(amax, kSix); break;
  }
  d = at_most(d, kLargestScale);
  if (rules.rule != Nvfp4Rule::kTransformerEngine && d < kLeastScale) d = kLeastScale;
  return static_cast<uint32_t>(fp::convert(kFp32, kE4m3, d, Semantics::ieee()).code);
}

/// What elements are multiplied by, from the scale of their block.
SOFTAMP_GENERAL uint32_t nvfp4_factor(const Nvfp4Tensor& tensor, uint32_t scale, const Nvfp4Rules& rules) {
  using namespace detail32;
  const uint32_t value = widened(kE4m3, scale & 0x7F);
  if (rules.rule == Nvfp4Rule::kTransformerEngine) return at_most(div(kOne, mul(value, tensor.decode)), kLargest);
  return div(tensor.encode, value);
}

/// One element: RN32(x factor), rounded.
SOFTAMP_GENERAL Rounded nvfp4_code(uint32_t factor, uint32_t x, const Nvfp4Rules& rules, uint32_t random = 0) {
  if (factor > detail32::kInfinity) return {0, 0};  // a scale that is NaN says it all
  RoundingPolicy p = rules.rounding;
  p.overflow = Overflow::kSaturate;
  p.infinity = InfinityResult::kSaturate;
  const uint32_t y = (x & 0x7FFFFFFFu) > detail32::kInfinity ? x : detail32::mul(x, factor);
  return round_fp32(Element(kE2m1), y, 0, false, p, random);
}

/// What a block's codes are multiplied by: RN32(RN32(v(scale) A) RN32(1/2688)); torchao RN32(v(scale) p).
SOFTAMP_GENERAL uint32_t nvfp4_decode_factor(const Nvfp4Tensor& tensor, uint32_t scale, const Nvfp4Rules& rules) {
  using namespace detail32;
  const uint32_t value = widened(kE4m3, scale & 0x7F);
  if (rules.rule != Nvfp4Rule::kTransformerEngine) return mul(value, tensor.decode);
  return mul(mul(value, tensor.amax), div(kOne, detail_nvfp4::kScaleOfBoth));
}
/// The value of a code as an fp32 code.
SOFTAMP_INLINE uint32_t nvfp4_value(uint32_t decode_factor, uint64_t code) {
  return detail32::mul(detail32::widened(kE2m1, code & 0xF), decode_factor);
}

struct Nvfp4Block {
  uint32_t scale;
  uint8_t flags;
};

/// Quantises the n fp32 codes at `x`: 16, or the 256 of a square tile, or fewer at an edge.
SOFTAMP_INLINE Nvfp4Block nvfp4_quantize(const Nvfp4Tensor& tensor, const uint32_t* x, int n, uint8_t* codes,
                                         const Nvfp4Rules& rules, const uint32_t* words = nullptr) {
  Nvfp4Block block{nvfp4_scale(tensor, greatest_magnitude(x, n, rules.nan_poisons_block), rules), 0};
  const uint32_t factor = nvfp4_factor(tensor, block.scale, rules);
  for (int i = 0; i < n; ++i) {
    const Rounded r = nvfp4_code(factor, x[i], rules, words ? words[i] : 0);
    codes[i] = static_cast<uint8_t>(r.code);
    block.flags |= r.flags;
  }
  return block;
}

}  // namespace softamp::block
