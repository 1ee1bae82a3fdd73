// Selects, conversions and sums: the forms of LaneMove.
#pragma once

#include "emu/elementwise/elementwise_lanes.h"
#include "emu/math_lanes.h"

namespace softamp::emu {
namespace {

/// Truth bytes of as many lanes as a U32 has, as masks.
SOFTAMP_LANES U32 masks_of(const void* bytes) {
  return (U32)((I32)(U32{} - __builtin_convertvector(load<U8of32>(bytes), U32)));
}

template <size_t kBytes>
uint64_t select_elements(const LaneCall& call) {
  const char* const condition = static_cast<const char*>(call.in[0]);
  const char* const a = static_cast<const char*>(call.in[1]);
  const char* const b = static_cast<const char*>(call.in[2]);
  char* const out = static_cast<char*>(call.out);
  constexpr size_t kLanes = sizeof(U32) / 4;
  if constexpr (kBytes == 4) {
    for (size_t i = 0; i < call.count; i += kLanes) {
      const U32 m = masks_of(condition + i);
      const U32 r = (load<U32>(a + 4 * i) & m) | (load<U32>(b + 4 * i) & ~m);
      if (call.stream)
        put_vector<true>(out + 4 * i, r);
      else
        store(out + 4 * i, r);
    }
  } else if constexpr (kBytes == 2) {
    for (size_t i = 0; i < call.count; i += 2 * kLanes) {
      // Masks of 32 bits keep their low halves in packing.
      const U16 m = pack16(masks_of(condition + i) & 0xFFFFu, masks_of(condition + i + kLanes) & 0xFFFFu);
      const U16 r = (load<U16>(a + 2 * i) & m) | (load<U16>(b + 2 * i) & ~m);
      if (call.stream)
        put_vector<true>(out + 2 * i, r);
      else
        store(out + 2 * i, r);
    }
  } else {
    for (size_t i = 0; i < call.count; ++i)
      __builtin_memcpy(out + kBytes * i, (condition[i] ? a : b) + kBytes * i, kBytes);
  }
  return 0;
}

enum class Source : uint8_t { kFp16, kBf16, kFp32 };
template <Source kFrom>
constexpr size_t kSourceBytes = kFrom == Source::kFp32 ? 4 : 2;
template <Source kFrom>
SOFTAMP_LANES F32 source_lanes(const char* p, const LaneParameters& c) {
  if constexpr (kFrom == Source::kFp16) return widen_fp16(p);
  if constexpr (kFrom == Source::kBf16) return widen_bf16(p);
  if constexpr (kFrom == Source::kFp32) return (F32)flushed(load<U32>(p), c.flush_below, c.flush_sign);
}

template <Source kFrom, bool kAdd>
uint64_t to_fp32(const LaneCall& call) {
  const LaneParameters c = *call.parameters;
  const char* const in = static_cast<const char*>(call.in[0]);
  float* const out = static_cast<float*>(call.out);
  for (size_t i = 0; i < call.count; i += sizeof(U32) / 4) {
    F32 x = source_lanes<kFrom>(in + kSourceBytes<kFrom> * i, c);
    if constexpr (kAdd) x = load<F32>(out + i) + x;
    store(out + i, x);
  }
  return 0;
}

/// 16-bit codes to fp32 results: infinities and NaNs are rare, results flushed.
template <Source kFrom, bool kStream>
uint64_t widen_groups(const LaneCall& call) {
  const LaneParameters c = *call.parameters;
  const char* const in = static_cast<const char*>(call.in[0]);
  char* const out = static_cast<char*>(call.out);
  uint64_t groups = 0;
  for (size_t g = 0; g < call.count; g += kGroup) {
    if constexpr (kStream) fetch_ahead(in + 2 * g, 2 * kGroup);
    U32 rare = {};
    SOFTAMP_UNROLLED for (size_t i = g; i < g + kGroup; i += sizeof(U32) / 4) {
      const U32 x = (U32)source_lanes<kFrom>(in + 2 * i, c);
      rare |= (U32)((I32)(x & 0x7FFFFFFFu) >= 0x7F800000);
      put_vector<kStream>(out + 4 * i, flushed(x, c.result_flush_below, c.result_flush_sign));
    }
    if (any(rare)) groups |= uint64_t{1} << (g / kGroup);
  }
  return groups;
}
template <Source kFrom>
uint64_t widen_codes(const LaneCall& call) {
  return call.stream ? widen_groups<kFrom, true>(call) : widen_groups<kFrom, false>(call);
}

/// `rare(x)` marks 32-bit lanes, `convert(x)` gives what is stored.
template <class In, class Rare, class Convert>
SOFTAMP_LANES uint64_t convert_groups(const LaneCall& call, const Rare& rare, const Convert& convert) {
  const char* const in = static_cast<const char*>(call.in[0]);
  char* const out = static_cast<char*>(call.out);
  constexpr size_t kLanes = sizeof(U32) / 4;
  uint64_t groups = 0;
  for (size_t g = 0; g < call.count; g += kGroup) {
    U32 seen = {};
    for (size_t i = g; i < g + kGroup; i += kLanes) {
      const In x = load<In>(in + 4 * i);
      seen |= rare(x);
      if (call.stream)
        put_vector<true>(out + 4 * i, convert(x));
      else
        store(out + 4 * i, convert(x));
    }
    if (any(seen)) groups |= uint64_t{1} << (g / kGroup);
  }
  return groups;
}

/// fp32 values in place or to an array, or to bf16, flushed; the greatest ones in detail.
template <bool kToBf16, bool kStream>
uint64_t finish_groups(const LaneCall& call) {
  const LaneParameters c = *call.parameters;
  const char* const in = static_cast<const char*>(call.in[0]);
  char* const out = static_cast<char*>(call.out);
  constexpr size_t kLanes = sizeof(U32) / 4;
  constexpr int32_t kRareFrom = kToBf16 ? kRareBf16 : 0x7F7FFFFF;
  const auto value = [&](size_t i) SOFTAMP_ALWAYS {
    return flushed(load<U32>(in + 4 * i), c.result_flush_below, c.result_flush_sign);
  };
  uint64_t groups = 0;
  for (size_t g = 0; g < call.count; g += kGroup) {
    if constexpr (kStream) fetch_ahead(in + 4 * g, 4 * kGroup);
    U32 rare = {};
    const auto seen_value = [&](size_t i) SOFTAMP_ALWAYS {
      const U32 v = value(i);
      rare |= (U32)((I32)(v & 0x7FFFFFFFu) >= kRareFrom);
      return v;
    };
    // Values that are finished in place are read again if some are rare: then the old values are stored.
    SOFTAMP_UNROLLED for (size_t i = g; i < g + kGroup; i += 2 * kLanes) {
      const U32 v = seen_value(i), w = seen_value(i + kLanes);
      if constexpr (kToBf16) {
        put_vector<kStream>(out + 2 * i, pack16(nearest_bf16(v), nearest_bf16(w)));
      } else {
        put_vector<kStream>(out + 4 * i, v);
        put_vector<kStream>(out + 4 * (i + kLanes), w);
      }
    }
    if (!any(rare)) [[likely]]
      continue;
    bool by_body = true;
    if (call.suspects) {
      SeenLanes seen;
      for (size_t i = g; i < g + kGroup; i += 2 * kLanes) {
        const U32 v = value(i), w = value(i + kLanes);
        if constexpr (kToBf16) {
          store(out + 2 * i, pack16(detailed_bf16(v, c, seen), detailed_bf16(w, c, seen)));
        } else {
          store(out + 4 * i, detailed(v, U32{}, c, seen));
          store(out + 4 * (i + kLanes), detailed(w, U32{}, c, seen));
        }
      }
      by_body = seen.settle(call, g);
    }
    if (by_body) groups |= uint64_t{1} << (g / kGroup);
  }
  return groups;
}
template <bool kToBf16>
uint64_t finish_fp32(const LaneCall& call) {
  return call.stream ? finish_groups<kToBf16, true>(call) : finish_groups<kToBf16, false>(call);
}

uint64_t affine_fp32(const LaneCall& call) {
  const FloatLanes factor(call.parameters->alpha), addend(call.parameters->shift);
  return convert_groups<F32>(
      call, [](F32) { return U32{}; }, [&](F32 x) { return fma(FloatLanes(x), factor, addend).v; });
}

uint64_t fp32_to_int32(const LaneCall& call) {
  // Magnitudes of 2^31 and more, including NaNs.
  return convert_groups<U32>(
      call, [](U32 x) { return (U32)((I32)(x & 0x7FFFFFFFu) >= 0x4F000000); },
      [](U32 x) {
        const U32 small = (U32)((I32)(x & 0x7FFFFFFFu) < 0x4F000000);
        return (U32) __builtin_convertvector((F32)(x & small), I32);
      });
}

uint64_t int32_to_fp32(const LaneCall& call) {
  return convert_groups<I32>(
      call, [](I32) { return U32{}; }, [](I32 x) { return __builtin_convertvector(x, F32); });
}

uint64_t int32_to_fp64(const LaneCall& call) {
  const int32_t* const in = static_cast<const int32_t*>(call.in[0]);
  double* const out = static_cast<double*>(call.out);
  typedef int32_t I32of64 __attribute__((vector_size(kVectorBytes / 2)));
  for (size_t i = 0; i < call.count; i += sizeof(F64) / 8)
    store(out + i, __builtin_convertvector(load<I32of64>(in + i), F64));
  return 0;
}

uint64_t fp64_to_int32(const LaneCall& call) {
  const double* const in = static_cast<const double*>(call.in[0]);
  int32_t* const out = static_cast<int32_t*>(call.out);
  uint64_t rare = 0;
  for (size_t i = 0; i < call.count; ++i) {
    const double x = in[i];
    const bool fits = x > -2147483648.0 && x < 2147483647.0;
    if (!fits) rare |= uint64_t{1} << (i / kGroup);
    out[i] = fits ? static_cast<int32_t>(x) : 0;
  }
  return rare;
}

uint64_t bool_to_int32(const LaneCall& call) {
  const uint8_t* const in = static_cast<const uint8_t*>(call.in[0]);
  uint32_t* const out = static_cast<uint32_t*>(call.out);
  for (size_t i = 0; i < call.count; i += sizeof(U32) / 4)
    store(out + i, __builtin_convertvector(load<U8of32>(in + i), U32));
  return 0;
}

uint64_t int32_to_bool(const LaneCall& call) {
  const char* const in = static_cast<const char*>(call.in[0]);
  char* const out = static_cast<char*>(call.out);
  constexpr size_t kLanes = sizeof(U32) / 4;
  const auto truth = [&](size_t i) { return (U32)(load<U32>(in + 4 * i) != 0) & 1u; };
  for (size_t i = 0; i < call.count; i += 4 * kLanes)
    store_u8(out + i, truth(i), truth(i + kLanes), truth(i + 2 * kLanes), truth(i + 3 * kLanes));
  return 0;
}

LaneKernel lane_move(LaneMove move) {
  switch (move) {
    case LaneMove::kSelect8: return select_elements<1>;
    case LaneMove::kSelect16: return select_elements<2>;
    case LaneMove::kSelect32: return select_elements<4>;
    case LaneMove::kSelect64: return select_elements<8>;
    case LaneMove::kFp16ToFp32: return to_fp32<Source::kFp16, false>;
    case LaneMove::kBf16ToFp32: return to_fp32<Source::kBf16, false>;
    case LaneMove::kFp32ToFp32: return to_fp32<Source::kFp32, false>;
    case LaneMove::kWidenFp16: return widen_codes<Source::kFp16>;
    case LaneMove::kWidenBf16: return widen_codes<Source::kBf16>;
    case LaneMove::kAddFp16: return to_fp32<Source::kFp16, true>;
    case LaneMove::kAddBf16: return to_fp32<Source::kBf16, true>;
    case LaneMove::kAddFp32: return to_fp32<Source::kFp32, true>;
    case LaneMove::kFinishFp32: return finish_fp32<false>;
    case LaneMove::kFp32ToBf16: return finish_fp32<true>;
    case LaneMove::kAffineFp32: return affine_fp32;
    case LaneMove::kFp32ToInt32: return fp32_to_int32;
    case LaneMove::kInt32ToFp32: return int32_to_fp32;
    case LaneMove::kInt32ToFp64: return int32_to_fp64;
    case LaneMove::kFp64ToInt32: return fp64_to_int32;
    case LaneMove::kBoolToInt32: return bool_to_int32;
    case LaneMove::kInt32ToBool: return int32_to_bool;
  }
  return nullptr;
}

}  // namespace
}  // namespace softamp::emu
