// Scales of many blocks at once: the steps of numerics/block, each one operation of fp32 or on its codes, in lanes.
#pragma once

#include "emu/blocks/block_lanes.h"
#include "emu/blocks/magnitude_body.h"

namespace softamp::emu {
namespace {

/// What becomes of the blocks of a vector.
struct LaneScales {
  U32 kept;
  F32 factor, decode;
  U32 special;  ///< all ones where they mean nothing
};

SOFTAMP_LANES U32 where(U32 mask, U32 a, U32 b) { return by_bits(mask, a, b); }
SOFTAMP_LANES U32 below(U32 a, uint32_t b) { return (U32)((I32)a < (I32)splat<U32>(b)); }  ///< of magnitudes
SOFTAMP_LANES U32 infinite_or_nan(F32 x) { return ~below(magnitude((U32)x), kExponentBits); }

/// The code of 2^(byte - 127).
SOFTAMP_LANES F32 power_of_byte(U32 byte) { return (F32)where((U32)(byte == 0), splat<U32>(0x00400000u), byte << 23); }

SOFTAMP_LANES LaneScales mx_scales(const ScalePlan& p, U32 amax) {
  const U32 field = amax >> 23;
  U32 special = ~below(amax, kExponentBits);
  I32 byte = (I32)field - p.max_exponent;
  switch (p.mx_rule) {
    case block::ScaleRule::kCeil: byte -= (I32)((amax & 0x7FFFFFu) != 0); break;
    case block::ScaleRule::kEven: {
      const U32 rounded = amax + p.half;
      special |= ~below(rounded, kExponentBits);
      byte = (I32)(rounded >> 23) - p.max_exponent;
      break;
    }
    case block::ScaleRule::kRceil: {
      const U32 d = (U32)((F32)amax * p.reciprocal), f = d & 0x7FFFFFu;
      byte = (I32)(d >> 23) - (I32)((I32)f > (I32)((U32)(d < 0x800000u) & 0x400000u));
      break;
    }
    default: break;
  }
  special |= (U32)(byte >= 255);
  const U32 kept = (U32)byte & (U32)(byte > 0) & (U32)(amax != 0);
  return {kept, power_of_byte(254 - kept), power_of_byte(kept), special};
}

SOFTAMP_LANES LaneScales nvfp4_scales(const ScalePlan& p, U32 amax) {
  const F32 a = (F32)amax;
  const bool ours = p.nvfp4_rule == block::Nvfp4Rule::kTransformerEngine;
  F32 d = ours && !p.chooses ? a * p.encode_sixth : a / 6.0F;
  if (p.chooses) d = d * p.encode * p.expand;
  if (p.nvfp4_rule == block::Nvfp4Rule::kTorchao) d /= splat<F32>(p.decode);
  U32 special = infinite_or_nan(a) | ~below(magnitude((U32)d), kExponentBits + 1);
  d = lesser(d, splat<F32>(448.0F));
  if (!ours) d = larger(d, splat<F32>(0x1p-6F));
  // e4m3 as FloatElement has it: W = 20, and the bias that is taken off is (-6 + 20 + 127) mod 16 = 13.
  const F32 shifter = splat<F32>(__builtin_bit_cast(float, (147u << 23) + (3u << 3)));
  const F32 power = larger((F32)((U32)d & kExponentBits), splat<F32>(0x1p-6F));
  const F32 sum = exact_product_plus(power, shifter, d), value = exact_product_plus(power, -shifter, sum);
  const U32 kept = ((U32)sum + ((U32)sum >> 20)) & 0x7Fu;
  F32 factor, decode;
  if (ours) {
    factor = lesser(1.0F / (value * p.decode), splat<F32>(0x1.FFFFFEp127F));
    decode = (value * p.tensor_amax) * p.of_both;
  } else {
    factor = p.encode / value;
    decode = value * p.decode;
  }
  special |= infinite_or_nan(factor) | infinite_or_nan(decode);
  return {kept, factor, decode, special};
}

SOFTAMP_LANES LaneScales fp8_scales(const ScalePlan& p, U32 amax) {
  const U32 a = where(below(amax, p.least_amax), splat<U32>(p.least_amax), amax);
  if (p.fp8_rule == block::Fp8Rule::kTransformerEngine) {
    U32 factor = (U32)(p.most / (F32)a);
    factor = where((U32)(factor == kExponentBits), (U32)splat<F32>(p.largest_factor), factor);
    if (p.powers_of_two) factor &= kExponentBits;
    factor = where((U32)(a == 0), (U32)splat<F32>(1.0F), factor);
    const F32 decode = 1.0F / (F32)factor;
    return {(U32)decode, (F32)factor, decode,
            infinite_or_nan((F32)amax) | infinite_or_nan((F32)factor) | infinite_or_nan(decode)};
  }
  U32 s = (U32)((F32)a / p.most);
  if (p.powers_of_two) {
    const U32 up = ((s + 0x7FFFFFu) >> 23) << 23;  // s is normal: 1e-4 over the largest number at least
    s = where(below(up, kExponentBits), up, splat<U32>(0xFEu << 23));
  }
  const F32 factor = p.fp8_rule == block::Fp8Rule::kDeepGemm ? 1.0F / (F32)s : (F32)s;
  return {s, factor, (F32)s, infinite_or_nan((F32)amax) | infinite_or_nan(factor)};
}

SOFTAMP_LANES LaneScales lane_scales(const ScalePlan& p, U32 amax) {
  switch (p.family) {
    case block::BlockFamily::kMx: return mx_scales(p, amax);
    case block::BlockFamily::kNvfp4: return nvfp4_scales(p, amax);
    case block::BlockFamily::kFp8: return fp8_scales(p, amax);
    default: break;
  }
  return {U32{}, splat<F32>(1.0F), splat<F32>(1.0F), infinite_or_nan((F32)amax)};
}

bool scales_of_blocks(const ScalePlan& p, const uint32_t* amax, size_t n, void* kept, float* factor, float* decode) {
  U32 special = {};
  const bool wide = p.family == block::BlockFamily::kFp8;
  for (size_t i = 0; i < n; i += kLanes32) {
    const LaneScales s = lane_scales(p, load<U32>(amax + i));
    if (wide)
      store(static_cast<char*>(kept) + 4 * i, s.kept);
    else
      store_bytes(static_cast<char*>(kept) + i, s.kept);
    store(factor + i, where(s.special, splat<U32>(0x7FC00000u), (U32)s.factor));
    store(decode + i, s.decode);
    special |= s.special;
  }
  return any(special);
}

bool decode_of_blocks(const ScalePlan& p, const void* kept, size_t n, float* decode) {
  U32 special = {};
  for (size_t i = 0; i < n; i += kLanes32) {
    F32 d;
    U32 none = {};
    if (p.family == block::BlockFamily::kPlain) {
      d = splat<F32>(1.0F);
    } else if (p.family == block::BlockFamily::kFp8) {
      d = load<F32>(static_cast<const char*>(kept) + 4 * i);
      if (p.has_infinity) none = (U32)(magnitude((U32)d) == 0);  // 0 times infinity
    } else {
      const U32 byte = load_bytes(static_cast<const char*>(kept) + i);
      if (p.family == block::BlockFamily::kMx) {
        d = power_of_byte(byte);
        none = (U32)(byte == 255);
      } else {
        const U32 m = byte & 0x7Fu;
        const U32 tiny = (U32)(__builtin_convertvector((I32)m, F32) * 0x1p-9F);
        const F32 value = (F32)where((U32)(m < 8), tiny, (m << 20) + (120u << 23));
        const bool ours = p.nvfp4_rule == block::Nvfp4Rule::kTransformerEngine;
        d = ours ? (value * p.tensor_amax) * p.of_both : value * p.decode;
        none = (U32)(m == 0x7F);
      }
    }
    none |= infinite_or_nan(d);
    store(decode + i, where(none, splat<U32>(0x7FC00000u), (U32)d));
    special |= none;
  }
  return any(special);
}

}  // namespace
}  // namespace softamp::emu
