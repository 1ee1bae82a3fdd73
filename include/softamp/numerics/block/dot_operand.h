// A quantised vector as a dot product reads it: its elements, the scales of its blocks, and what is left for the end.
#pragma once

#include "softamp/numerics/block/block_format.h"

namespace softamp::block {

/// format     [=MX of e4m3] its elements have at most 8 bits; how it rounds and its rows do not matter here
/// amax       [=+0, an fp32 code] of NVFP4: the greatest magnitude that the tensor's scale refers to
struct DotOperand {
  BlockFormat format{};
  uint32_t amax = 0;

  /// Whether the element is one of e2m1.
  SOFTAMP_INLINE bool fp4() const { return !format.element.integer && format.element.format == FloatFormat::e2m1(); }
  /// Whether one fp32 scale holds for all of the sum; it is taken at its end.
  SOFTAMP_INLINE bool scaled_last() const { return format.family == BlockFamily::kFp8 && format.size == 0; }
  SOFTAMP_INLINE bool transformer_engine() const {
    return format.family == BlockFamily::kNvfp4 && format.nvfp4.rule == Nvfp4Rule::kTransformerEngine;
  }
  SOFTAMP_INLINE bool three_quarters() const { return format.family == BlockFamily::kMx && format.mx.three_quarters; }
};

/// A code as the number that it stands for, without a scale.
SOFTAMP_INLINE detail::Operand element_operand(const Element& e, uint64_t code) {
  code &= e.code_mask();
  const bool negative = !e.integer && (code & e.format.sign_mask()) != 0;
  if (e.is_nan(code)) return {detail::Kind::kNan, negative, 0, 0};
  if (!e.integer && e.format.is_infinity(code)) return {detail::Kind::kInfinity, negative, 0, 0};
  const Exact x = exact(e, code);
  return {detail::Kind::kFinite, x.negative, x.exponent, x.significand};
}

/// An fp32 code as its number, a subnormal one as well.
SOFTAMP_INLINE detail::Operand fp32_operand(uint32_t code) {
  return detail::unpack(FloatFormat::fp32(), code, Semantics::ieee());
}

/// The scale that enters while a block is summed, exactly, as an fp32 code: 2^(b - 127) of MX, v(b) of NVFP4, the fp32
/// number of FP8; 1 where there is none, or it comes last.
SOFTAMP_INLINE uint32_t inner_scale(const DotOperand& o, uint32_t scale) {
  switch (o.format.family) {
    case BlockFamily::kMx: return e8m0::fp32_code(scale & 0xFF);
    case BlockFamily::kNvfp4: return detail32::widened(FloatFormat::e4m3(), scale & 0x7F);
    case BlockFamily::kFp8: return o.scaled_last() ? detail32::kOne : scale;
    case BlockFamily::kPlain: break;
  }
  return detail32::kOne;
}

/// What codes are multiplied by in all, an fp32 code: of NVFP4 the tensor's scale is in it (N454).
SOFTAMP_GENERAL uint32_t whole_scale(const DotOperand& o, uint32_t scale) {
  if (o.format.family == BlockFamily::kFp8) return scale;
  if (o.format.family != BlockFamily::kNvfp4) return inner_scale(o, scale);
  return nvfp4_decode_factor(nvfp4_tensor(o.amax, o.format.nvfp4), scale, o.format.nvfp4);
}

/// The product of two numbers, exactly.
SOFTAMP_INLINE detail::Operand product_of(const detail::Operand& x, const detail::Operand& y) {
  if (x.nan() || y.nan()) return {detail::Kind::kNan, false, 0, 0};
  const bool negative = x.negative != y.negative;
  if (x.infinite() || y.infinite()) {
    const bool lost = x.zero() || y.zero();
    return {lost ? detail::Kind::kNan : detail::Kind::kInfinity, negative, 0, 0};
  }
  return {detail::Kind::kFinite, negative, x.exponent + y.exponent, x.significand * y.significand};
}

/// The value of a code as fp32: RN32(v(code) X), X from whole_scale. It is what dequantising gives.
// implements: N486
SOFTAMP_GENERAL uint32_t dequantised(const DotOperand& o, uint32_t whole, uint64_t code) {
  const detail::Operand x = product_of(element_operand(o.format.element, code), fp32_operand(whole));
  if (x.nan()) return static_cast<uint32_t>(nan_code(FloatFormat::fp32(), NanPattern::kQuiet));
  if (x.infinite()) return (x.negative ? 0x80000000u : 0u) | detail32::kInfinity;
  return static_cast<uint32_t>(round_and_pack(FloatFormat::fp32(), x.exact(), RoundingPolicy{}).code);
}

/// Whether a sum into which only inner scales went lacks a factor.
// implements: N488
SOFTAMP_INLINE bool has_last_scale(const DotOperand& a, const DotOperand& b) {
  const bool tensors = a.format.family == BlockFamily::kNvfp4 || b.format.family == BlockFamily::kNvfp4;
  return tensors || a.scaled_last() || b.scaled_last();
}

/// That factor: RN32(RN32(A_a A_b) / (36 M_a M_b)) for two tensors of NVFP4 as TransformerEngine scales them, 7225344
/// where both M are 448; else RN32(t_a t_b), t being RN32(A / (6 M)) for such a tensor, torchao's p, FP8's scale, or 1.
// implements: N488
SOFTAMP_GENERAL uint32_t last_scale(const DotOperand& a, uint32_t scale_a, const DotOperand& b, uint32_t scale_b) {
  using namespace detail32;
  if (a.transformer_engine() && b.transformer_engine())
    return div(mul(a.amax, b.amax), mul(a.format.nvfp4.largest_product(), b.format.nvfp4.largest_product()));
  const auto of = [](const DotOperand& o, uint32_t scale) {
    if (o.scaled_last()) return scale;
    if (o.format.family != BlockFamily::kNvfp4) return kOne;
    if (o.transformer_engine()) return div(o.amax, o.format.nvfp4.largest_product());
    return nvfp4_tensor(o.amax, o.format.nvfp4).decode;
  };
  return mul(of(a, scale_a), of(b, scale_b));
}

}  // namespace softamp::block
