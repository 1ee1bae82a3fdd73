// Fewer 32-bit words than a vector has lanes (0 < count < lanes), for any instruction set.
#pragma once

#include "emu/simd.h"

namespace softamp::emu {
namespace {

/// Zeros behind them.
SOFTAMP_LANES U32 load_first(const void* from, size_t count) {
#if defined(__AVX512F__)
  return (U32)_mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << count) - 1), from);
#elif defined(__AVX2__)
  const __m256i wanted =
      _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  return (U32)_mm256_maskload_epi32(static_cast<const int*>(from), wanted);
#else
  U32 x = {};
  for (size_t i = 0; i < count; ++i) x[i] = static_cast<const uint32_t*>(from)[i];
  return x;
#endif
}

SOFTAMP_LANES void store_first(void* to, size_t count, U32 x) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_epi32(to, static_cast<__mmask16>((1u << count) - 1), (__m512i)x);
#elif defined(__AVX2__)
  // By parts: a store by mask takes some machines twenty cycles.
  char* at = static_cast<char*>(to);
  __m128i part = _mm256_castsi256_si128((__m256i)x);
  if (count & 4) {
    _mm_storeu_si128((__m128i*)(void*)at, part);
    at += 16;
    part = _mm256_extracti128_si256((__m256i)x, 1);
  }
  if (count & 2) {
    _mm_storel_epi64((__m128i*)(void*)at, part);
    at += 8;
    part = _mm_unpackhi_epi64(part, part);
  }
  const int last = _mm_cvtsi128_si32(part);
  if (count & 1) __builtin_memcpy(at, &last, 4);
#else
  for (size_t i = 0; i < count; ++i) static_cast<uint32_t*>(to)[i] = x[i];
#endif
}

}  // namespace
}  // namespace softamp::emu
