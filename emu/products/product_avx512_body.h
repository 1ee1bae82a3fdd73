// A tile's accumulators in AVX-512 registers: 24 vectors, two to a row of 32
// columns, or one to a row of 16.
#pragma once

#include "emu/bulk/half_avx512_body.h"
#include "emu/products/product_kernels.h"

namespace softamp::emu {
namespace {

constexpr size_t kVectorsOfTile = 24;

#define SOFTAMP_FOR_VECTORS _Pragma("GCC unroll 24") for (size_t f = 0; f < kVectorsOfTile; ++f)
#define SOFTAMP_FOR_PAIRS _Pragma("GCC unroll 12") for (size_t f = 0; f < kVectorsOfTile; f += 2)

/// kPerRow: vectors to a row. Vector f holds columns 16 (f % kPerRow) on of row
/// f / kPerRow, as the tile's buffer does.
template <size_t kPerRow>
struct Accumulators {
  static constexpr size_t kRows = kVectorsOfTile / kPerRow, kColumns = 16 * kPerRow;
  __m512 c[kVectorsOfTile];

  SOFTAMP_LANES void load(const float* acc) { SOFTAMP_FOR_VECTORS c[f] = _mm512_load_ps(acc + 16 * f); }
  SOFTAMP_LANES void store(float* acc) const { SOFTAMP_FOR_VECTORS _mm512_store_ps(acc + 16 * f, c[f]); }

  /// Whether all are finite: 0 times each is a zero then, else NaN.
  SOFTAMP_LANES bool finite() const {
    const __m512 zero = _mm512_setzero_ps();
    __m512 sum = zero, other = zero;
    SOFTAMP_FOR_PAIRS {
      sum = _mm512_fmadd_ps(c[f], zero, sum);
      other = _mm512_fmadd_ps(c[f + 1], zero, other);
    }
    return _mm512_cmp_ps_mask(sum, other, _CMP_UNORD_Q) == 0;
  }
  /// redo(values) on the tile in memory, where it has to be: what it says, else true.
  template <class Redo>
  SOFTAMP_LANES bool unless_settled(unsigned left, const Redo& redo) {
    if (!left) [[likely]]
      return true;
    alignas(64) float values[kVectorsOfTile * 16];
    store(values);
    const bool good = redo(values);
    load(values);
    return good;
  }
  /// acc = fma(a, b, acc) for `length` products (>= 1).
  SOFTAMP_LANES void chain(const float*& a, const float*& b, size_t length) {
    const float* const end = a + length;
    do {
      __m512 y[kPerRow];
#pragma GCC unroll 2
      for (size_t v = 0; v < kPerRow; ++v) y[v] = _mm512_loadu_ps(b + 16 * v);
      SOFTAMP_FOR_VECTORS c[f] = _mm512_fmadd_ps(_mm512_set1_ps(a[f / kPerRow * kAStride]), y[f % kPerRow], c[f]);
      ++a, b += kColumns;
    } while (a != end);
  }
};

}  // namespace
}  // namespace softamp::emu
