// Products whose partials are rounded to halves, to nearest, at the end of a
// block: by F16C.
#include "emu/products/product_kernels.h"
#include "emu/products/product_ways.h"
#include "emu/simd.h"

namespace softamp::emu {

bool product_nearest_avx2(const ProductPlan&, const kernel::Environment&, const ProductTile& tile, float* acc) {
  constexpr size_t kRows = 6, kColumns = 16;
  __m256 c[kRows][2];
#pragma GCC unroll 6
  for (size_t i = 0; i < kRows; ++i) {
    c[i][0] = _mm256_load_ps(acc + i * kColumns);
    c[i][1] = _mm256_load_ps(acc + i * kColumns + 8);
  }
  const float* a = tile.a;
  const float* b = tile.b;
  for (size_t s = 0; s < tile.segment_count; ++s) {
    const float* const end = a + tile.segments[s].length;
    do {
      const __m256 b0 = _mm256_loadu_ps(b), b1 = _mm256_loadu_ps(b + 8);
#pragma GCC unroll 6
      for (size_t i = 0; i < kRows; ++i) {
        const __m256 x = _mm256_broadcast_ss(a + i * kAStride);
        c[i][0] = _mm256_fmadd_ps(x, b0, c[i][0]);
        c[i][1] = _mm256_fmadd_ps(x, b1, c[i][1]);
      }
      ++a, b += kColumns;
    } while (a != end);
    if (!tile.segments[s].rounds) continue;
#pragma GCC unroll 6
    for (size_t i = 0; i < kRows; ++i) {
      c[i][0] = _mm256_cvtph_ps(_mm256_cvtps_ph(c[i][0], 0));
      c[i][1] = _mm256_cvtph_ps(_mm256_cvtps_ph(c[i][1], 0));
    }
  }
  // An overflow has become an infinity, and nothing that begins with one ends
  // finite: 0 times it is a NaN.
  const __m256 zero = _mm256_setzero_ps();
  __m256 sum = zero;
#pragma GCC unroll 6
  for (size_t i = 0; i < kRows; ++i) sum = _mm256_fmadd_ps(c[i][0], zero, _mm256_fmadd_ps(c[i][1], zero, sum));
  if (_mm256_movemask_ps(_mm256_cmp_ps(sum, sum, _CMP_UNORD_Q))) return false;
#pragma GCC unroll 6
  for (size_t i = 0; i < kRows; ++i) {
    _mm256_store_ps(acc + i * kColumns, c[i][0]);
    _mm256_store_ps(acc + i * kColumns + 8, c[i][1]);
  }
  return true;
}

}  // namespace softamp::emu
