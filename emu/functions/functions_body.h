// The loops of the elementary functions: whole vectors, then the rest in a padded one.
#pragma once

#include "emu/functions/functions.h"
#include "emu/math_lanes.h"

namespace softamp::emu {
namespace {

/// out[i] = body(in[i]) with In and Out of four bytes each.
template <class In, class V, class Body>
SOFTAMP_LANES void for_vectors(const In* in, float* out, size_t n, const Body& body) {
  constexpr size_t kLanes = FloatLanes::kLanes;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, body(load<V>(in + i)));
  if (i == n) return;
  In rest[kLanes] = {};
  float results[kLanes];
  __builtin_memcpy(rest, in + i, (n - i) * sizeof(In));
  store(results, body(load<V>(rest)));
  __builtin_memcpy(out + i, results, (n - i) * sizeof(float));
}

template <kernel::Function f>
void function_array(const float* in, float* out, size_t n) {
  for_vectors<float, F32>(
      in, out, n, [](F32 x) __attribute__((always_inline)) { return kernel::function_of<f>(FloatLanes(x)).v; });
}

/// Whether all x > 0 and all are finite.
SOFTAMP_LANES bool all_plain(F32 x, F32 y) {
#if defined(__AVX512DQ__)
  constexpr int kNanOrInfinity = 0x99, kZeroOrNegative = 0x46;
  return _kortestz_mask16_u8(_mm512_fpclass_ps_mask((__m512)x, kNanOrInfinity | kZeroOrNegative),
                             _mm512_fpclass_ps_mask((__m512)y, kNanOrInfinity));
#else
  const I32 code = (I32)x;
  return !emu::any((U32)(code < 1) | (U32)(code >= 0x7F800000) | (U32)((I32)((U32)y & 0x7FFFFFFFu) >= 0x7F800000));
#endif
}

constexpr size_t kPowStrip = 64;

SOFTAMP_LANES DoubleLanes doubles_at(const float* x) { return DoubleLanes(widened(load<F32of64>(x))); }

/// A strip of plain operands: the part of math::pow for them, all logarithms first. So the processor has twice as many
/// of the long chains of dependent operations before it.
void pow_plain(const float* x, const float* y, float* out) {
  alignas(64) double logs[kPowStrip];
  for (size_t i = 0; i < kPowStrip; i += DoubleLanes::kLanes)
    store(logs + i, math::detail::log2_of(doubles_at(x + i)).v);
  for (size_t i = 0; i < kPowStrip; i += DoubleLanes::kLanes)
    store(out + i, narrowed(math::detail::pow_from(doubles_at(y + i), DoubleLanes(load<F64>(logs + i))).v));
}
void pow_any(const float* x, const float* y, float* out) {
  for (size_t i = 0; i < kPowStrip; i += DoubleLanes::kLanes)
    store(out + i, narrowed(math::pow(doubles_at(x + i), doubles_at(y + i)).v));
}

bool pow_array(const float* x, const float* y, float* out, size_t n) {
  constexpr size_t kStrip = kPowStrip, kLanes = FloatLanes::kLanes;
  bool plain = true;
  for (size_t i = 0; i < n; i += kStrip) {
    const bool whole = n - i >= kStrip;
    alignas(64) float rest[2][kStrip];
    const float *a = x + i, *b = y + i;
    if (!whole) {
      for (size_t k = 0; k < kStrip; ++k) rest[0][k] = rest[1][k] = 1;
      __builtin_memcpy(rest[0], a, (n - i) * sizeof(float));
      __builtin_memcpy(rest[1], b, (n - i) * sizeof(float));
      a = rest[0], b = rest[1];
    }
    bool plain_strip = true;
    for (size_t k = 0; k < kStrip; k += kLanes) plain_strip &= all_plain(load<F32>(a + k), load<F32>(b + k));
    float* const z = whole ? out + i : rest[0];
    (plain_strip ? pow_plain : pow_any)(a, b, z);
    if (!whole) __builtin_memcpy(out + i, z, (n - i) * sizeof(float));
    plain &= plain_strip;
  }
  return plain;
}

void uniform_array(const uint32_t* words, float* out, size_t n) {
  for_vectors<uint32_t, U32>(
      words, out, n, [](U32 u) __attribute__((always_inline)) { return math::uniform_from_bits<FloatLanes>(u).v; });
}
void normal_array(const uint32_t* words, float* out, size_t n) {
  for_vectors<uint32_t, U32>(
      words, out, n, [](U32 u) __attribute__((always_inline)) { return math::normal_from_bits<FloatLanes>(u).v; });
}
void truncated_normal_array(const uint32_t* words, float* out, size_t n) {
  for_vectors<uint32_t, U32>(
      words, out, n,
      [](U32 u) __attribute__((always_inline)) { return math::truncated_normal_from_bits<FloatLanes>(u).v; });
}

#if defined(__AVX512BW__)
SOFTAMP_LANES __m512i looked_up(const uint16_t* table, __m512i codes) {
  const __m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(codes));
  const __m512i high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(codes, 1));
  const __m512i a = _mm512_i32gather_epi32(low, table, 2), b = _mm512_i32gather_epi32(high, table, 2);
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(a)), _mm512_cvtepi32_epi16(b), 1);
}
template <bool kStream>
uint64_t look_up_groups(const uint16_t* table, const QuietCodes& quiet, const uint16_t* in, uint16_t* out, size_t n) {
  __m512i first[2], more[2];
  for (int k = 0; k < 2; ++k) {
    first[k] = _mm512_set1_epi16(static_cast<int16_t>(quiet.first[k]));
    more[k] = _mm512_set1_epi16(static_cast<int16_t>(quiet.more[k]));
  }
  uint64_t groups = 0;
  for (size_t g = 0; g < n; g += 64) {
    __mmask32 loud = 0;
    if constexpr (kStream) __builtin_prefetch(in + g + 1024), __builtin_prefetch(in + g + 1056);
    for (size_t i = g; i < g + 64; i += 32) {
      const __m512i codes = load<__m512i>(in + i), results = looked_up(table, codes);
      loud |= _mm512_mask_cmpgt_epu16_mask(_mm512_cmpgt_epu16_mask(_mm512_sub_epi16(codes, first[0]), more[0]),
                                           _mm512_sub_epi16(codes, first[1]), more[1]);
      if constexpr (kStream)
        _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), results);
      else
        store(out + i, results);
    }
    if (loud) groups |= uint64_t{1} << (g / 64);
  }
  return groups;
}
uint64_t look_up(const uint16_t* table, const QuietCodes& quiet, const uint16_t* in, uint16_t* out, size_t n,
                 bool stream) {
  return stream ? look_up_groups<true>(table, quiet, in, out, n) : look_up_groups<false>(table, quiet, in, out, n);
}
#else
uint64_t look_up(const uint16_t* table, const QuietCodes& quiet, const uint16_t* in, uint16_t* out, size_t n, bool) {
  uint64_t groups = 0;
  for (size_t g = 0; g < n; g += 64) {
    for (size_t i = g; i < g + 64; i += 4) {
      uint64_t four;
      __builtin_memcpy(&four, in + i, sizeof four);
      for (size_t k = 0; k < 4; ++k) out[i + k] = table[four >> (16 * k) & 0xFFFF];
    }
    unsigned loud = 0;
    for (size_t i = g; i < g + 64; ++i)
      loud |= static_cast<unsigned>(static_cast<uint16_t>(in[i] - quiet.first[0]) > quiet.more[0]) &
              static_cast<unsigned>(static_cast<uint16_t>(in[i] - quiet.first[1]) > quiet.more[1]);
    if (loud) groups |= uint64_t{1} << (g / 64);
  }
  return groups;
}
#endif

/// The table of this translation unit.
constexpr FunctionTable kFunctions = {{
#define SOFTAMP_ROW(name, body) function_array<kernel::Function::name>,
                                          SOFTAMP_FUNCTIONS(SOFTAMP_ROW)
#undef SOFTAMP_ROW
                                      },
                                      pow_array,
                                      uniform_array,
                                      normal_array,
                                      truncated_normal_array,
                                      look_up};

}  // namespace
}  // namespace softamp::emu
