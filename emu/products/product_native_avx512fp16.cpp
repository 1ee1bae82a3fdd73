// Products of halves with a rounding to nearest after every multiply-add, by
// the hardware's own arithmetic on halves, which rounds the exact a b + c once
// and keeps subnormals.
#include "emu/products/product_kernels.h"
#include "emu/products/product_ways.h"
#include "emu/simd.h"

namespace softamp::emu {

bool product_native_avx512fp16(const ProductPlan&, const kernel::Environment&, const ProductTile& tile, float* acc) {
  constexpr size_t kRows = 12, kColumns = 32;
  __m512h c[kRows];
#pragma GCC unroll 12
  for (size_t i = 0; i < kRows; ++i) {
    const __m256i low = _mm512_cvtps_ph(_mm512_load_ps(acc + i * kColumns), 0);
    const __m256i high = _mm512_cvtps_ph(_mm512_load_ps(acc + i * kColumns + 16), 0);
    c[i] = _mm512_castsi512_ph(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
  }
  size_t length = 0;
  for (size_t s = 0; s < tile.segment_count; ++s) length += tile.segments[s].length;
  const uint32_t* a = tile.a_pairs;
  const uint32_t* const end = a + length;
  const uint16_t* b = tile.b_halves;
  do {
    const __m512h y = _mm512_castsi512_ph(_mm512_loadu_si512(b));
#pragma GCC unroll 12
    for (size_t i = 0; i < kRows; ++i)
      c[i] = _mm512_fmadd_ph(_mm512_castsi512_ph(_mm512_set1_epi32(static_cast<int>(a[i * kAStride]))), y, c[i]);
    ++a, b += kColumns;
  } while (a != end);
  // An overflow has become an infinity, and nothing that begins with one ends
  // finite.
  __m512i infinite = _mm512_setzero_si512();
  const __m512i exponent = _mm512_set1_epi16(0x7C00);
  __mmask32 special = 0;
#pragma GCC unroll 12
  for (size_t i = 0; i < kRows; ++i) {
    infinite = _mm512_and_si512(_mm512_castph_si512(c[i]), exponent);
    special |= _mm512_cmpeq_epi16_mask(infinite, exponent);
  }
  if (special) return false;
#pragma GCC unroll 12
  for (size_t i = 0; i < kRows; ++i) {
    const __m512i bits = _mm512_castph_si512(c[i]);
    _mm512_store_ps(acc + i * kColumns, _mm512_cvtph_ps(_mm512_castsi512_si256(bits)));
    _mm512_store_ps(acc + i * kColumns + 16, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1)));
  }
  return true;
}

}  // namespace softamp::emu
