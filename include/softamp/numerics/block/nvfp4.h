// NVFP4: e2m1 elements, an e4m3 scale for each block (1x16, or 16x16 for weights), and an fp32 scale for the tensor
// (N453 to N456, N469). Every step is one rounding of fp32, in the order that the systems have; values are fp32 codes.
#pragma once

#include "softamp/numerics/block/element.h"

namespace softamp::block {

/// Whose arithmetic makes the scales.
// implements: N455
enum class Nvfp4Rule : uint8_t {
  kTransformerEngine,  ///< S = 2688 / A of the tensor; block scale A_b (S/6); 00 is a scale, and what it scales is
                       ///< lost.
  kTorchao,            ///< p = A / 2688; block scale (A_b / 6) / p, at least 2^-6.
  kOneLevel,           ///< torchao without a tensor's scale: A_b / 6, at least 2^-6.
};

/// How the better of two scales is found, one that takes a block's greatest magnitude to 6, one that takes it to 4.
// implements: N469
enum class FourOverSix : uint8_t {
  kNone,  ///< no choice: to 6
  kMae,   ///< the lesser sum of absolute errors; 6 where they are equal
  kMse,   ///< of their squares
};

/// four_over_six        [=none] of kTransformerEngine, where elements are not rounded stochastically
/// e4m3_max             (0, 256, 448) [=0: 256 with four_over_six, else 448] what the greatest block's scale is to be
///                      near, of kTransformerEngine; 256 leaves room for a scale that is half as large again
/// rounding             of elements; all saturate
/// nan_poisons_block    [=true] a NaN in a block makes its scale NaN, one in the tensor every scale; false: it counts
///                      as absent, and becomes the largest number, 6
// implements: N456
struct Nvfp4Rules {
  Nvfp4Rule rule = Nvfp4Rule::kTransformerEngine;
  FourOverSix four_over_six = FourOverSix::kNone;
  int e4m3_max = 0;
  RoundingPolicy rounding = RoundingPolicy::saturating();
  bool nan_poisons_block = true;

  /// M: the bound of scales that holds.
  SOFTAMP_INLINE int largest_scale() const {
    return e4m3_max != 0 ? e4m3_max : four_over_six == FourOverSix::kNone ? 448 : 256;
  }
  /// 6 M as an fp32 code: what a tensor's greatest magnitude becomes.
  SOFTAMP_INLINE uint32_t largest_product() const { return largest_scale() == 448 ? 0x45280000u : 0x44C00000u; }
};

/// What a tensor's blocks share, fp32 codes.
struct Nvfp4Tensor {
  uint32_t amax;    ///< the greatest magnitude
  uint32_t encode;  ///< S: 6 M / amax; torchao's 1 / p
  uint32_t decode;  ///< 1 / S; torchao's p
};

namespace detail_nvfp4 {
constexpr uint32_t kScaleOfBoth = 0x45280000u;                                                  // 2688 = 448 6
constexpr uint32_t kSix = 0x40C00000u, kLargestScale = 0x43E00000u, kLeastScale = 0x3C800000u;  // 6, 448, 2^-6
}  // namespace detail_nvfp4

/// The scales of a tensor whose greatest magnitude is `amax`.
// implements: N453
SOFTAMP_GENERAL Nvfp4Tensor nvfp4_tensor(uint32_t amax, const Nvfp4Rules& rules) {
  using namespace detail32;
  using namespace detail_nvfp4;
  if (rules.rule == Nvfp4Rule::kOneLevel) return {amax, kOne, kOne};
  if (rules.rule == Nvfp4Rule::kTorchao) {
    if (amax == 0) return {amax, kOne, kOne};  // as TransformerEngine has it: 0 / 0 would be the scale
    const uint32_t p = div(amax, kScaleOfBoth);
    return {amax, div(kOne, p), p};
  }
  uint32_t encode = at_most(div(rules.largest_product(), amax), kLargest);
  if (amax == 0 || encode == 0) encode = kOne;
  return {amax, encode, div(kOne, encode)};
}

/// The e4m3 code of a block's scale, from its greatest magnitude. NaN: 7F.
// implements: N453
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
// implements: N454
SOFTAMP_GENERAL uint32_t nvfp4_factor(const Nvfp4Tensor& tensor, uint32_t scale, const Nvfp4Rules& rules) {
  using namespace detail32;
  const uint32_t value = widened(kE4m3, scale & 0x7F);
  if (rules.rule == Nvfp4Rule::kTransformerEngine) return at_most(div(kOne, mul(value, tensor.decode)), kLargest);
  return div(tensor.encode, value);
}

/// One element: RN32(x factor), rounded.
// implements: N454
SOFTAMP_GENERAL Rounded nvfp4_code(uint32_t factor, uint32_t x, const Nvfp4Rules& rules, uint32_t random = 0) {
  if (factor > detail32::kInfinity) return {0, 0};  // a scale that is NaN says it all
  RoundingPolicy p = rules.rounding;
  p.overflow = Overflow::kSaturate;
  p.infinity = InfinityResult::kSaturate;
  const uint32_t y = (x & 0x7FFFFFFFu) > detail32::kInfinity ? x : detail32::mul(x, factor);
  return round_fp32(Element(kE2m1), y, 0, false, p, random);
}

/// What a block's codes are multiplied by: RN32(RN32(v(scale) A) RN32(1/(6 M))); torchao RN32(v(scale) p).
// implements: N454
SOFTAMP_GENERAL uint32_t nvfp4_decode_factor(const Nvfp4Tensor& tensor, uint32_t scale, const Nvfp4Rules& rules) {
  using namespace detail32;
  const uint32_t value = widened(kE4m3, scale & 0x7F);
  if (rules.rule != Nvfp4Rule::kTransformerEngine) return mul(value, tensor.decode);
  return mul(mul(value, tensor.amax), div(kOne, rules.largest_product()));
}
/// The value of a code as an fp32 code.
// implements: N454
SOFTAMP_INLINE uint32_t nvfp4_value(uint32_t decode_factor, uint64_t code) {
  return detail32::mul(detail32::widened(kE2m1, code & 0xF), decode_factor);
}

/// The e4m3 code of a block's scale under rules.four_over_six (N469), from its rows x n fp32 codes x(row, i) and their
/// greatest magnitude. With d = RN32(RN32(A_b / 6) S): the scales of d and of RN32(1.5 d); the error of an element is
/// RN32(y - x), y = RN32(RN32(v(q) v(scale) A) / (6 M)); a row's errors are added in fp32 from its first element on,
/// the rows' sums as a tree over 16 of them: r and r + 8, then r + 4, r + 2, r + 1.
// implements: N469
template <class At>
SOFTAMP_GENERAL uint32_t nvfp4_better_scale(const Nvfp4Tensor& tensor, uint32_t amax, const Nvfp4Rules& rules,
                                            uint64_t rows, uint64_t n, const At& x) {
  using namespace detail32;
  using namespace detail_nvfp4;
  const uint32_t base = mul(div(amax, kSix), tensor.encode);
  uint32_t scales[2], errors[2];
  for (int i = 0; i < 2; ++i) {
    const uint32_t d = at_most(i == 0 ? base : mul(base, 0x3FC00000u), kLargestScale);
    const uint32_t scale = scales[i] = static_cast<uint32_t>(fp::convert(kFp32, kE4m3, d, Semantics::ieee()).code);
    const uint32_t value = widened(kE4m3, scale), factor = nvfp4_factor(tensor, scale, rules);
    uint32_t sums[16] = {};
    for (uint64_t r = 0; r < rows; ++r)
      for (uint64_t k = 0; k < n; ++k) {
        const uint64_t q = nvfp4_code(factor, x(r, k), rules).code;
        const uint32_t y = div(mul(mul(widened(kE2m1, q), value), tensor.amax), rules.largest_product());
        const uint32_t difference = sub(y, x(r, k));
        sums[r % 16] = add(sums[r % 16], rules.four_over_six == FourOverSix::kMse ? mul(difference, difference)
                                                                                  : difference & 0x7FFFFFFFu);
      }
    for (int half = 8; half > 0; half /= 2)
      for (int r = 0; r < half; ++r) sums[r] = add(sums[r], sums[r + half]);
    errors[i] = sums[0];
  }
  return scales[errors[1] < errors[0] && errors[0] <= kInfinity];
}

/// A block's scale: of nvfp4_scale, or the better of two.
template <class At>
SOFTAMP_INLINE uint32_t nvfp4_scale_of(const Nvfp4Tensor& tensor, uint32_t amax, const Nvfp4Rules& rules, uint64_t rows,
                                       uint64_t n, const At& x) {
  if (rules.four_over_six == FourOverSix::kNone) return nvfp4_scale(tensor, amax, rules);
  return nvfp4_better_scale(tensor, amax, rules, rows, n, x);
}

struct Nvfp4Block {
  uint32_t scale;
  uint8_t flags;
};

/// Quantises the n fp32 codes at `x`, in `rows` rows: 16, or the 256 of a square tile, or fewer at an edge.
SOFTAMP_INLINE Nvfp4Block nvfp4_quantize(const Nvfp4Tensor& tensor, const uint32_t* x, int n, uint8_t* codes,
                                         const Nvfp4Rules& rules, const uint32_t* words = nullptr, int rows = 1) {
  const uint64_t length = static_cast<uint64_t>(n / rows);
  const auto at = [&](uint64_t row, uint64_t i) { return x[row * length + i]; };
  const uint32_t amax = greatest_magnitude(x, n, rules.nan_poisons_block);
  Nvfp4Block block{nvfp4_scale_of(tensor, amax, rules, static_cast<uint64_t>(rows), length, at), 0};
  const uint32_t factor = nvfp4_factor(tensor, block.scale, rules);
  for (int i = 0; i < n; ++i) {
    const Rounded r = nvfp4_code(factor, x[i], rules, words ? words[i] : 0);
    codes[i] = static_cast<uint8_t>(r.code);
    block.flags |= r.flags;
  }
  return block;
}

}  // namespace softamp::block
