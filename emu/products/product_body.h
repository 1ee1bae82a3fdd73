// The inner loops of products, for any instruction set: chains of fp32 fused
// multiply-adds, and the exact multiply-add into halves by binary64 rounded to
// odd.
#pragma once

#include "emu/bulk/round_body.h"
#include "emu/first_lanes.h"
#include "emu/products/product_kernels.h"
#include "emu/products/product_odd_body.h"
#include "emu/products/product_words_body.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

#if defined(__AVX512F__)
constexpr size_t kTileRows = 12;
#elif defined(__AVX2__)
constexpr size_t kTileRows = 6;
#elif defined(SOFTAMP_NEON)
constexpr size_t kTileRows = 8;
#else
constexpr size_t kTileRows = 4;
#endif
constexpr size_t kLanesF32 = kVectorBytes / 4, kTileVectors = 2;

/// All lanes x, of either zero's sign too.
#if defined(__AVX512F__)
SOFTAMP_LANES F32 all(float x) { return (F32)_mm512_set1_ps(x); }
#elif defined(__AVX2__)
SOFTAMP_LANES F32 all(float x) { return (F32)_mm256_set1_ps(x); }
#else
SOFTAMP_LANES F32 all(float x) { return F32{x, x, x, x}; }
#endif

#if defined(__AVX512F__)
SOFTAMP_LANES F32 fused(F32 a, F32 b, F32 c) { return (F32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
#elif defined(__AVX2__)
SOFTAMP_LANES F32 fused(F32 a, F32 b, F32 c) { return (F32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
#elif defined(SOFTAMP_NEON)
SOFTAMP_LANES F32 fused(F32 a, F32 b, F32 c) { return (F32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
#else
SOFTAMP_LANES F32 fused(F32 a, F32 b, F32 c) {
  F32 r;
  for (int half = 0; half < 2; ++half) {
    const F64 x{a[2 * half], a[2 * half + 1]}, y{b[2 * half], b[2 * half + 1]}, z{c[2 * half], c[2 * half + 1]};
    const F32of64 narrow = narrowed(fused_to_odd(x, y, z));
    r[2 * half] = narrow[0];
    r[2 * half + 1] = narrow[1];
  }
  return r;
}
#endif

template <size_t kRows, size_t kVectors, bool kSeparate>
SOFTAMP_LANES void chain_of(const float* a, const float* b, size_t length, float* acc) {
  constexpr size_t kColumns = kVectors * kLanesF32;
  F32 c[kRows][kVectors];
#pragma GCC unroll 24
  for (size_t i = 0; i < kRows; ++i)
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) c[i][v] = load<F32>(acc + i * kColumns + v * kLanesF32);
  const float* const end = a + length;
  do {
    F32 y[kVectors];
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) y[v] = load<F32>(b + v * kLanesF32);
#pragma GCC unroll 24
    for (size_t i = 0; i < kRows; ++i) {
      const F32 x = all(a[i * kAStride]);
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) c[i][v] = kSeparate ? c[i][v] + x * y[v] : fused(x, y[v], c[i][v]);
    }
    ++a, b += kColumns;
  } while (a != end);
#pragma GCC unroll 24
  for (size_t i = 0; i < kRows; ++i)
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) store(acc + i * kColumns + v * kLanesF32, c[i][v]);
}

template <size_t kRows, size_t kVectors>
void product_chain(const float* a, const float* b, size_t length, bool exact, float* acc) {
#if !defined(__AVX2__) && !defined(SOFTAMP_NEON)
  if (exact) return chain_of<kRows, kVectors, true>(a, b, length, acc);  // the same where the product is exact
#endif
  (void)exact;
  chain_of<kRows, kVectors, false>(a, b, length, acc);
}

template <size_t kRows, size_t kVectors>
bool product_finite(const float* acc) {
  U32 special = {};
  for (size_t i = 0; i < padded_tile(kRows, kVectors * kLanesF32); i += kLanesF32)
    special |= (U32)((load<U32>(acc + i) & 0x7F800000u) == 0x7F800000u);
  return !any(special);
}

/// The values of halves.
SOFTAMP_LANES F32 values_of_halves(U32 codes) {
#if defined(__AVX512F__)
  return (F32)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)codes));
#else
  // The exponent, moved, is too small by 2^112; infinities and NaNs get all of
  // fp32's.
  const U32 magnitude = codes & 0x7FFF;
  const F32 scaled = (F32)(magnitude << 13) * 0x1p112f;
  return (F32)((U32)scaled | ((U32)(magnitude >= 0x7C00) & 0x7F800000u) | ((codes & 0x8000) << 16));
#endif
}

template <size_t kRows, size_t kVectors, Random kRandom>
uint8_t product_each_of(const ProductPlan& plan, const float* a, const float* b, const uint32_t* words, float* acc) {
  constexpr size_t kLanesF64 = kVectorBytes / 8, kColumns = kVectors * kLanesF32;
  constexpr size_t kPaddedTile = padded_tile(kRows, kColumns);
  static_assert(kRows <= kMostRows && kPaddedTile <= kMostTile);
  alignas(64) double sums[kPaddedTile] = {};
  for (size_t i = 0; i < kRows; ++i) {
    F64 x;
    for (size_t l = 0; l < kLanesF64; ++l) x[l] = static_cast<double>(a[i * kAStride]);
    for (size_t j = 0; j < kColumns; j += kLanesF64)
      store(sums + i * kColumns + j,
            fused_to_odd(x, widened(load<F32of64>(b + j)), widened(load<F32of64>(acc + i * kColumns + j))));
  }
  Rounder<Lanes64, kRandom> rounder(plan.half, kInvalid | kOverflow);
  for (size_t g = 0; g < kPaddedTile; g += kGroup) {
    alignas(64) uint32_t codes[kGroup];
    rounder.group(sums + g, words + g, codes);
    for (size_t j = 0; j < kGroup; j += kLanesF32) store(acc + g + j, values_of_halves(load<U32>(codes + j)));
  }
  return rounder.flags();
}

template <size_t kRows, size_t kVectors>
uint8_t product_each(const ProductPlan& plan, const float* a, const float* b, const uint32_t* words, float* acc) {
  return plan.half.stochastic ? product_each_of<kRows, kVectors, Random::k32>(plan, a, b, words, acc)
                              : product_each_of<kRows, kVectors, Random::kNone>(plan, a, b, words, acc);
}

#if defined(__AVX512F__) || defined(__AVX2__)
#if defined(__AVX512F__)
SOFTAMP_LANES F32 low_singles(F32 a, F32 b) { return (F32)_mm512_unpacklo_ps((__m512)a, (__m512)b); }
SOFTAMP_LANES F32 high_singles(F32 a, F32 b) { return (F32)_mm512_unpackhi_ps((__m512)a, (__m512)b); }
SOFTAMP_LANES F32 low_pairs(F32 a, F32 b) { return (F32)_mm512_shuffle_ps((__m512)a, (__m512)b, 0x44); }
SOFTAMP_LANES F32 high_pairs(F32 a, F32 b) { return (F32)_mm512_shuffle_ps((__m512)a, (__m512)b, 0xEE); }
#else
SOFTAMP_LANES F32 low_singles(F32 a, F32 b) { return (F32)_mm256_unpacklo_ps((__m256)a, (__m256)b); }
SOFTAMP_LANES F32 high_singles(F32 a, F32 b) { return (F32)_mm256_unpackhi_ps((__m256)a, (__m256)b); }
SOFTAMP_LANES F32 low_pairs(F32 a, F32 b) { return (F32)_mm256_shuffle_ps((__m256)a, (__m256)b, 0x44); }
SOFTAMP_LANES F32 high_pairs(F32 a, F32 b) { return (F32)_mm256_shuffle_ps((__m256)a, (__m256)b, 0xEE); }
#endif
/// Transposes the 4 x 4 blocks that the 128-bit lanes of four vectors are.
SOFTAMP_LANES void transpose_blocks(const F32* x, F32* y) {
  const F32 t0 = low_singles(x[0], x[1]), t1 = high_singles(x[0], x[1]);
  const F32 t2 = low_singles(x[2], x[3]), t3 = high_singles(x[2], x[3]);
  y[0] = low_pairs(t0, t2);
  y[1] = high_pairs(t0, t2);
  y[2] = low_pairs(t1, t3);
  y[3] = high_pairs(t1, t3);
}
#endif

void product_transpose(const float* from, size_t rows, size_t columns, size_t from_stride, float* to,
                       size_t to_stride) {
  size_t c = 0;
#if defined(__AVX512F__) || defined(__AVX2__)
  // As many columns as a vector has lanes, of up to as many rows, at a time: 4 x 4 blocks within 128-bit lanes, then
  // lanes.
  constexpr size_t kSide = kLanesF32;
  for (; c + kSide <= columns; c += kSide)
    for (size_t r = 0; r < rows; r += kSide) {
      const size_t count = rows - r < kSide ? rows - r : kSide;
      F32 x[kSide], y[kSide];
#pragma GCC unroll 16
      for (size_t i = 0; i < kSide; ++i) x[i] = i < count ? load<F32>(from + (r + i) * from_stride + c) : F32{};
#pragma GCC unroll 4
      for (size_t i = 0; i < kSide; i += 4) transpose_blocks(x + i, y + i);
#if defined(__AVX512F__)
      // y[4 g + q], lane l: column 4 l + q of rows 4 g .. 4 g + 3.
      const __mmask16 kept = static_cast<__mmask16>((1u << count) - 1);
#pragma GCC unroll 4
      for (size_t q = 0; q < 4; ++q) {
        const __m512 low01 = _mm512_shuffle_f32x4((__m512)y[q], (__m512)y[4 + q], 0x44),
                     high01 = _mm512_shuffle_f32x4((__m512)y[q], (__m512)y[4 + q], 0xEE);
        const __m512 low23 = _mm512_shuffle_f32x4((__m512)y[8 + q], (__m512)y[12 + q], 0x44);
        const __m512 high23 = _mm512_shuffle_f32x4((__m512)y[8 + q], (__m512)y[12 + q], 0xEE);
        float* const out = to + (c + q) * to_stride + r;
        _mm512_mask_storeu_ps(out, kept, _mm512_shuffle_f32x4(low01, low23, 0x88));
        _mm512_mask_storeu_ps(out + 4 * to_stride, kept, _mm512_shuffle_f32x4(low01, low23, 0xDD));
        _mm512_mask_storeu_ps(out + 8 * to_stride, kept, _mm512_shuffle_f32x4(high01, high23, 0x88));
        _mm512_mask_storeu_ps(out + 12 * to_stride, kept, _mm512_shuffle_f32x4(high01, high23, 0xDD));
      }
#else
#pragma GCC unroll 4
      for (size_t q = 0; q < 4; ++q) {
        const __m256 column[2] = {_mm256_permute2f128_ps((__m256)y[q], (__m256)y[4 + q], 0x20),
                                  _mm256_permute2f128_ps((__m256)y[q], (__m256)y[4 + q], 0x31)};
        for (size_t half = 0; half < 2; ++half) {
          float* const out = to + (c + q + 4 * half) * to_stride + r;
          if (count == 8)
            _mm256_storeu_ps(out, column[half]);
          else
            store_first(out, count, (U32)column[half]);
        }
      }
#endif
    }
#endif
  for (; c < columns; ++c)
    for (size_t r = 0; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
}

bool product_widen_fp16(const uint16_t* codes, size_t count, float* to) {
  U32 nan = {};
  size_t i = 0;
  const auto widen = [&](U32 u) {
    nan |= (U32)((u & 0x7FFF) > 0x7C00);
    return values_of_halves(u);
  };
  for (; i + kLanesF32 <= count; i += kLanesF32)
    store(to + i, widen(__builtin_convertvector(load<U16of32>(codes + i), U32)));
  if (i < count) {
    uint16_t rest[kLanesF32] = {};
    float values[kLanesF32];
    __builtin_memcpy(rest, codes + i, 2 * (count - i));
    store(values, widen(__builtin_convertvector(load<U16of32>(rest), U32)));
    __builtin_memcpy(to + i, values, 4 * (count - i));
  }
  return any(nan);
}

bool product_any_subnormal(const float* numbers, size_t count) {
  U32 subnormal = {};
  const auto look = [&](U32 u) { subnormal |= (U32)((u & 0x7FFFFFFFu) - 1 < 0x007FFFFFu); };
  size_t i = 0;
  for (; i + kLanesF32 <= count; i += kLanesF32) look(load<U32>(numbers + i));
  if (i < count) look(load_first(numbers + i, count - i));
  return any(subnormal);
}

void product_flush_fp32(const float* from, size_t rows, size_t columns, size_t from_stride, uint32_t kept, float* to,
                        size_t to_stride) {
  const auto flushed = [&](U32 u) { return (u & 0x7FFFFFFFu) - 1 < 0x007FFFFFu ? u & kept : u; };
  for (; rows > 0; --rows, from += from_stride, to += to_stride) {
    size_t i = 0;
    for (; i + kLanesF32 <= columns; i += kLanesF32) store(to + i, flushed(load<U32>(from + i)));
    if (i < columns) store_first(to + i, columns - i, flushed(load_first(from + i, columns - i)));
  }
}

/// NaNs as the policy's pattern, subnormals as it keeps them.
void product_store_wide(const ProductPlan& plan, const ProductTile& tile, size_t nr, const float* results,
                        uint32_t* out) {
  const RoundingPolicy& p = plan.semantics.wide;
  const U32 nan = splat<U32>(static_cast<uint32_t>(nan_code(kFp32, p.nan)));
  const U32 least = splat<U32>(p.subnormals == Subnormals::kKeep ? 0 : 0x00800000u);
  const U32 kept = splat<U32>(p.subnormals == Subnormals::kFlush ? 0x80000000u : 0u);
  for (size_t i = 0; i < tile.rows; ++i)
    for (size_t j = 0; j < tile.columns; j += kLanesF32) {
      U32 u = load<U32>(results + i * nr + j);
      const U32 magnitude = u & 0x7FFFFFFFu;
      u = ((magnitude < least) & (magnitude != 0)) ? u & kept : u;
      u = magnitude > 0x7F800000u ? nan : u;
      uint32_t* const to = out + tile.output[i] + j;
      if (j + kLanesF32 <= tile.columns)
        store(to, u);
      else
        store_first(to, tile.columns - j, u);
    }
}

/// What every set has, for a tile of kRows x kVectors vectors.
template <size_t kRows, size_t kVectors>
constexpr ProductKernels general_products(const KernelTable& table) {
  return {.mr = kRows,
          .nr = kVectors * kLanesF32,
          .table = &table,
          .chain = product_chain<kRows, kVectors>,
          .each = product_each<kRows, kVectors>,
          .finite = product_finite<kRows, kVectors>,
          .transpose = product_transpose,
          .widen_fp16 = product_widen_fp16,
          .any_subnormal = product_any_subnormal,
          .flush_fp32 = product_flush_fp32,
          .words = product_words,
          .store_wide = product_store_wide};
}

}  // namespace
}  // namespace softamp::emu
