// Conversions: between formats, to and from integers, and the host's own float and double; and their policies by name.
#pragma once

#include "softamp/numerics/operand.h"

namespace softamp {

// Conversions to small formats as specifications and libraries name them (N444): what a number too large, an infinity
// and a NaN become. All round to nearest even, and judge overflow after rounding.

/// The name, which options take, is in the comment. e4m3, e5m2: the codes of -NaN, -infinity and a number below the
/// range.
// implements: N444
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
// implements: N444
SOFTAMP_INLINE bool has_cast(CastProfile cast, const FloatFormat& to) {
  if (to == FloatFormat::e4m3() || to == FloatFormat::e5m2()) return true;
  const bool onnx = cast == CastProfile::kOnnx || cast == CastProfile::kOnnxSaturate;
  if (to == FloatFormat::f143() || to == FloatFormat::f152()) return onnx || cast == CastProfile::kMlDtypes;
  return to == FloatFormat::bf16() && cast == CastProfile::kMlDtypes;
}

/// The policy of a conversion; only where has_cast.
// implements: N444
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

namespace softamp::fp {

namespace detail {
using namespace softamp::detail;

/// The low 32 bits of the integer +-magnitude 2^exponent, magnitude of at most 53 bits: for wrapping only.
SOFTAMP_INLINE uint32_t low_word(Exact x) {
  const uint32_t magnitude = x.exponent >= 32 ? 0 : static_cast<uint32_t>(x.significand << x.exponent);
  return x.negative ? 0u - magnitude : magnitude;
}

// implements: N443
SOFTAMP_RARE Rounded convert_special(const FloatFormat& from, const FloatFormat& to, uint64_t code, const Semantics& s,
                                     uint32_t random) {
  const RoundingPolicy& p = s.rounding(to);
  const Operand x = unpack(from, code, s);
  if (x.nan()) {
    const uint8_t lost = to.has_nan() ? 0 : kInvalid;
    const uint8_t flags = static_cast<uint8_t>((nan_flags(from, code, s) | lost) & p.flags);
    return {nan_from(to, from, code, p.nan), flags};
  }
  if (x.infinite()) return pack_infinity(to, x.negative, p);
  return round_and_pack(to, x.exact(), p, random);
}

}  // namespace detail

/// The value of `code` in format `from`, rounded once to format `to`. Either may be binary64.
/// NaN: the policy's pattern; in a format without NaNs the largest number, and invalid. Flags as docs/NUMERICS.md lists
/// them.
// implements: N6, N54
SOFTAMP_GENERAL Rounded convert(const FloatFormat& from, const FloatFormat& to, uint64_t code, const Semantics& s,
                                uint32_t random = 0) {
  if (!detail::plain(from, code, s)) return detail::convert_special(from, to, code, s, random);
  return round_and_pack(to, detail::unpack_finite(from, code), s.rounding(to), random);
}

/// The value of `code` as an int32, whose bit pattern is the result's code (0 .. 2^32 - 1).
/// Rounds by the wide policy's mode, since the IPU rounds only fp16 results stochastically. exact (true, false)
/// [=false] raise inexact where the value is not an integer Flags: invalid for a NaN and out of range, whose value is
/// `integer_range`.
// implements: N36, N44, N55, N415
SOFTAMP_GENERAL Rounded to_int32(const FloatFormat& f, uint64_t code, const Semantics& s, bool exact = false,
                                 uint32_t random = 0) {
  constexpr uint32_t kIndefinite = 0x80000000u;
  const detail::Operand x = detail::unpack(f, code, s);
  const bool clamp = s.integer_range == IntegerRange::kClamp;
  if (x.nan()) return {kIndefinite, kInvalid};
  if (x.infinite()) return {clamp && !x.negative ? kIndefinite - 1 : kIndefinite, kInvalid};
  const detail::Integral n = detail::round_to_integer(x.exact(), 0, s.wide, random);
  const uint64_t limit = x.negative ? kIndefinite : kIndefinite - 1;
  if (n.huge || n.magnitude > limit) {
    if (clamp) return {limit, kInvalid};
    if (s.integer_range == IntegerRange::kIndefinite) return {kIndefinite, kInvalid};
    const Exact wrapped = n.huge ? x.exact() : Exact{x.negative, 0, n.magnitude};
    return {detail::low_word(wrapped), kInvalid};
  }
  const uint32_t magnitude = static_cast<uint32_t>(n.magnitude);
  return {x.negative ? 0u - magnitude : magnitude,
          static_cast<uint8_t>(exact && n.inexact ? kInexact & s.wide.flags : 0)};
}

/// The int32 `value` rounded once to format `f`.
SOFTAMP_GENERAL Rounded from_int32(int32_t value, const FloatFormat& f, const Semantics& s, uint32_t random = 0) {
  const int64_t wide = value;
  const uint64_t magnitude = static_cast<uint64_t>(wide < 0 ? -wide : wide);
  return round_and_pack(f, {wide < 0, 0, magnitude}, s.rounding(f), random);
}

/// `a` rounded to an integer of the same format, by the wide policy's mode (see to_int32); a zero keeps its sign.
/// exact (true, false) [=false]   raise inexact where `a` is not an integer
// implements: N36, N44
SOFTAMP_GENERAL Rounded round_to_integral(const FloatFormat& f, uint64_t a, const Semantics& s, bool exact = false,
                                          uint32_t random = 0) {
  const detail::Operand x = detail::unpack(f, a, s);
  if (x.nan()) return detail::nan_result(f, a, detail::nan_flags(f, a, s), s);
  if (x.infinite()) return pack_infinity(f, x.negative, s.rounding(f));
  if (x.exponent >= 0) return round_and_pack(f, x.exact(), s.rounding(f), RoundingPolicy::kStill);
  const detail::Integral n = detail::round_to_integer(x.exact(), 0, s.wide, random);
  const Rounded r = round_and_pack(f, {x.negative, 0, n.magnitude}, s.rounding(f), RoundingPolicy::kStill);
  return {r.code, static_cast<uint8_t>(r.flags | (exact && n.inexact ? kInexact & s.wide.flags : 0))};
}

/// The value as the host's double: exact for every format; a NaN becomes the quiet one.
// implements: N6
SOFTAMP_INLINE double to_double(const FloatFormat& f, uint64_t code) {
  return __builtin_bit_cast(double, convert(f, FloatFormat::binary64(), code, Semantics::ieee()).code);
}
/// The value as the host's float: exact for every format except binary64, which is rounded to nearest even.
SOFTAMP_INLINE float to_float(const FloatFormat& f, uint64_t code) {
  return __builtin_bit_cast(float,
                            static_cast<uint32_t>(convert(f, FloatFormat::fp32(), code, Semantics::ieee()).code));
}
/// `value` rounded to nearest even in format `f`.
// implements: N6
SOFTAMP_INLINE uint64_t from_double(const FloatFormat& f, double value) {
  return convert(FloatFormat::binary64(), f, __builtin_bit_cast(uint64_t, value), Semantics::ieee()).code;
}
/// `value` rounded to nearest even in format `f`.
SOFTAMP_INLINE uint64_t from_float(const FloatFormat& f, float value) {
  return convert(FloatFormat::fp32(), f, __builtin_bit_cast(uint32_t, value), Semantics::ieee()).code;
}

}  // namespace softamp::fp
