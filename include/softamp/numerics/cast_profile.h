// Conversions to small formats as specifications and libraries name them (N444): what a number too large, an infinity
// and a NaN become. All round to nearest even, and judge overflow after rounding.
#pragma once

#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"

namespace softamp {

/// The name, which options take, is in the comment. e4m3, e5m2: the codes of -NaN, -infinity and a number below the
/// range.
enum class CastProfile : uint8_t {
  kOcp,              ///< ocp: OCP OFP8, not saturating. 7F 7F 7F; 7E FC FC
  kOcpSaturate,      ///< ocp_saturate: OCP OFP8, saturating. 7F FE FE; 7E FB FB
  kOnnx,             ///< onnx: Cast with saturate = 0. FF FF FF; FE FC FC
  kOnnxSaturate,     ///< onnx_saturate: Cast with saturate = 1, opset 24 on. FF FE FE; FE FB FB
  kMlDtypes,         ///< ml_dtypes: as onnx; bfloat16, too
  kNvidiaSatfinite,  ///< nvidia_satfinite: CUDA's __NV_SATFINITE. 7F FE FE; 7F FB FB
  kAmd,              ///< amd: CDNA4 with FP16_OVFL = 0, as onnx
  kAmdSaturate,      ///< amd_saturate: CDNA4 with FP16_OVFL = 1, as onnx_saturate
};
inline constexpr int kCastProfiles = 8;

/// The name that options take.
constexpr const char* name_of(CastProfile cast) {
  switch (cast) {
    case CastProfile::kOcp: return "ocp";
    case CastProfile::kOcpSaturate: return "ocp_saturate";
    case CastProfile::kOnnx: return "onnx";
    case CastProfile::kOnnxSaturate: return "onnx_saturate";
    case CastProfile::kMlDtypes: return "ml_dtypes";
    case CastProfile::kNvidiaSatfinite: return "nvidia_satfinite";
    case CastProfile::kAmd: return "amd";
    case CastProfile::kAmdSaturate: break;
  }
  return "amd_saturate";
}

/// Whether the specification has such a conversion.
SOFTAMP_INLINE bool has_cast(CastProfile cast, const FloatFormat& to) {
  if (to == FloatFormat::e4m3() || to == FloatFormat::e5m2()) return true;
  const bool onnx = cast == CastProfile::kOnnx || cast == CastProfile::kOnnxSaturate;
  if (to == FloatFormat::f143() || to == FloatFormat::f152()) return onnx || cast == CastProfile::kMlDtypes;
  return to == FloatFormat::bf16() && cast == CastProfile::kMlDtypes;
}

/// The policy of a conversion; only where has_cast.
SOFTAMP_INLINE RoundingPolicy cast_policy(CastProfile cast) {
  const bool saturates = cast == CastProfile::kOcpSaturate || cast == CastProfile::kOnnxSaturate ||
                         cast == CastProfile::kNvidiaSatfinite || cast == CastProfile::kAmdSaturate;
  RoundingPolicy p = saturates ? RoundingPolicy::saturating() : RoundingPolicy{};
  if (cast == CastProfile::kNvidiaSatfinite)
    p.nan = NanPattern::kAllOnes;
  else if (cast != CastProfile::kOcp && cast != CastProfile::kOcpSaturate)
    p.nan = NanPattern::kSigned;
  return p;
}

}  // namespace softamp
