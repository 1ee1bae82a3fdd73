// Stochastic rounding (carry) of exact sums to values of halves, for all finite numbers and at most 16 random bits:
// binary64, toward zero (N402, N406). Slow; for what integers on fp32 do not settle.
#pragma once

#include "emu/products/product_kernels.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

constexpr int kDroppedBits = 13;  ///< of a float's mantissa that a half does not have

// Without AVX-512 under TowardZero (mxcsr_body.h).
#if defined(__AVX512F__)
SOFTAMP_LANES F64 each_lane(double x) { return (F64)_mm512_set1_pd(x); }  // of either zero's sign, as splat is not
// implements: N402
SOFTAMP_LANES F64 fused_toward_zero(F64 a, F64 b, F64 c) {
  return (F64)_mm512_fmadd_round_pd((__m512d)a, (__m512d)b, (__m512d)c, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
SOFTAMP_LANES F32of64 half_values_toward_zero(F64 x) {
  const __m256 f = _mm512_cvt_roundpd_ps((__m512d)x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  return (F32of64)_mm256_cvtph_ps(_mm256_cvtps_ph(f, _MM_FROUND_TO_ZERO));
}
#else
SOFTAMP_LANES F64 each_lane(double x) { return (F64)_mm256_set1_pd(x); }
SOFTAMP_LANES F64 fused_toward_zero(F64 a, F64 b, F64 c) {
  return (F64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
SOFTAMP_LANES F32of64 half_values_toward_zero(F64 x) {
  return (F32of64)_mm_cvtph_ps(_mm_cvtps_ph(_mm256_cvtpd_ps((__m256d)x), _MM_FROUND_TO_ZERO));
}
#endif

// implements: N406
class ExactCarry {
  static constexpr size_t kLanes = sizeof(F64) / 8;
  static constexpr uint64_t kSignBit = uint64_t{1} << 63;

 public:
  explicit ExactCarry(int random_bits)
      : magic_(static_cast<uint64_t>(1023 + 52 - 10 - random_bits) << 52), beyond_(splat<I64>(0)) {}

  /// acc = a b + acc, rounded, for a vector of fp32 lanes; `numbers`: theirs, 16 bits each.
  void add(float a, const float* b, const char* numbers, float* acc) {
    const F64 x = each_lane(static_cast<double>(a));
    for (size_t j = 0; j < 2 * kLanes; j += kLanes)
      store(acc + j, rounded(fused_toward_zero(x, widened(load<F32of64>(b + j)), widened(load<F32of64>(acc + j))),
                             numbers + 2 * j));
  }
  /// acc, rounded.
  void round(const char* numbers, float* acc) {
    for (size_t j = 0; j < 2 * kLanes; j += kLanes)
      store(acc + j, rounded(widened(load<F32of64>(acc + j)), numbers + 2 * j));
  }
  /// Whether some sum overflowed, or was infinite or NaN.
  bool beyond() const { return any(beyond_); }

 private:
  F32of64 rounded(F64 sum, const char* numbers) {
    const F64 magnitude = (F64)((U64)sum & ~kSignBit), least = splat<F64>(0x1p-14);
    const F64 power = (F64)((U64)sum & (uint64_t{0x7FF} << 52));
    const F64 binade = power > least ? power : least;  // 2^10 quanta of the result
    // R 2^-(10+r): R OR-ed below an exponent that gives its bits that weight.
    const F64 scaled = (F64)(load_u16_as_u64(numbers) | magic_) - (F64)splat<U64>(magic_);
    const F64 total = fused_toward_zero(scaled, binade, magnitude);
    beyond_ |= ~(I64)(total < 65536.0);  // conversion toward zero hides it (N407)
    const U32of64 sign = narrowed((U64)sum >> 32) & 0x80000000u;
    return (F32of64)((U32of64)half_values_toward_zero(total) | sign);
  }

  uint64_t magic_;
  I64 beyond_;
};

/// Gives outputs that the problem does not have, whose operands are zeros, a value that stays normal.
SOFTAMP_LANES void occupy_padding(const ProductTile& tile, size_t rows, size_t columns, float* acc) {
  if (tile.rows == rows && tile.columns == columns) return;
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = i < tile.rows ? tile.columns : 0; j < columns; ++j) acc[i * columns + j] = 1.0f;
}

}  // namespace
}  // namespace softamp::emu
