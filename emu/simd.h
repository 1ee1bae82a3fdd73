// The vector of this translation unit: as wide as the instruction set it is compiled for allows.
//
// Everything here and in the *_body.h files sits in an anonymous namespace: each unit has its own copy, and no code
// with instructions of one set can be linked into another (N387; tests/house/isa_symbols.sh). Vectors are those of the
// GNU C++ extension, so +, <, ?: and the like are written as for scalars. SOFTAMP_NEON is defined for the files
// *_neon.cpp: 64-bit Arm has no baseline without NEON, and its portable files leave the choice of instructions to the
// compiler.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 warns about the deliberately undefined operands inside its own intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#elif defined(SOFTAMP_NEON)
#include <arm_neon.h>
#endif

namespace softamp::emu {
namespace {

#define SOFTAMP_LANES __attribute__((always_inline)) inline

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

typedef uint32_t U32 __attribute__((vector_size(kVectorBytes)));
typedef int32_t I32 __attribute__((vector_size(kVectorBytes)));
typedef float F32 __attribute__((vector_size(kVectorBytes)));
typedef uint64_t U64 __attribute__((vector_size(kVectorBytes)));
typedef int64_t I64 __attribute__((vector_size(kVectorBytes)));
typedef double F64 __attribute__((vector_size(kVectorBytes)));
// As many lanes as a U32 or a U64 has, narrower.
typedef uint16_t U16of32 __attribute__((vector_size(kVectorBytes / 2)));
typedef uint8_t U8of32 __attribute__((vector_size(kVectorBytes / 4)));
typedef uint32_t U32of64 __attribute__((vector_size(kVectorBytes / 2)));
typedef float F32of64 __attribute__((vector_size(kVectorBytes / 2)));
typedef uint16_t U16of64 __attribute__((vector_size(kVectorBytes / 4)));

template <class V>
SOFTAMP_LANES V load(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
SOFTAMP_LANES void store(void* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}
template <class V>
SOFTAMP_LANES V splat(decltype(V{}[0] + 0) x) {
  using Lane = decltype(V{}[0] + 0);
  return V{} + static_cast<Lane>(x);
}

// Shifts by a separate count for each lane; a count of the lane's width or more, or "negative", gives 0.
#if defined(__AVX512F__)
SOFTAMP_LANES U32 shl(U32 x, U32 n) { return (U32)_mm512_sllv_epi32((__m512i)x, (__m512i)n); }
SOFTAMP_LANES U32 shr(U32 x, U32 n) { return (U32)_mm512_srlv_epi32((__m512i)x, (__m512i)n); }
SOFTAMP_LANES U64 shl(U64 x, U64 n) { return (U64)_mm512_sllv_epi64((__m512i)x, (__m512i)n); }
SOFTAMP_LANES U64 shr(U64 x, U64 n) { return (U64)_mm512_srlv_epi64((__m512i)x, (__m512i)n); }
#elif defined(__AVX2__)
SOFTAMP_LANES U32 shl(U32 x, U32 n) { return (U32)_mm256_sllv_epi32((__m256i)x, (__m256i)n); }
SOFTAMP_LANES U32 shr(U32 x, U32 n) { return (U32)_mm256_srlv_epi32((__m256i)x, (__m256i)n); }
SOFTAMP_LANES U64 shl(U64 x, U64 n) { return (U64)_mm256_sllv_epi64((__m256i)x, (__m256i)n); }
SOFTAMP_LANES U64 shr(U64 x, U64 n) { return (U64)_mm256_srlv_epi64((__m256i)x, (__m256i)n); }
#elif defined(SOFTAMP_NEON)
// USHL shifts by the low byte of a lane, to the right where that is negative.
SOFTAMP_LANES U32 shl(U32 x, U32 n) {
  return (U32)vshlq_u32((uint32x4_t)x, vreinterpretq_s32_u32(vminq_u32((uint32x4_t)n, vdupq_n_u32(32))));
}
SOFTAMP_LANES U32 shr(U32 x, U32 n) {
  return (U32)vshlq_u32((uint32x4_t)x, vnegq_s32(vreinterpretq_s32_u32(vminq_u32((uint32x4_t)n, vdupq_n_u32(32)))));
}
SOFTAMP_LANES U64 shl(U64 x, U64 n) { return (U64)vshlq_u64((uint64x2_t)x, (int64x2_t)n) & (U64)(n < 64); }
SOFTAMP_LANES U64 shr(U64 x, U64 n) { return (U64)vshlq_u64((uint64x2_t)x, vnegq_s64((int64x2_t)n)) & (U64)(n < 64); }
#else
SOFTAMP_LANES U32 shl(U32 x, U32 n) {
  for (int i = 0; i < 4; ++i) x[i] = n[i] < 32 ? x[i] << n[i] : 0;
  return x;
}
SOFTAMP_LANES U32 shr(U32 x, U32 n) {
  for (int i = 0; i < 4; ++i) x[i] = n[i] < 32 ? x[i] >> n[i] : 0;
  return x;
}
SOFTAMP_LANES U64 shl(U64 x, U64 n) {
  for (int i = 0; i < 2; ++i) x[i] = n[i] < 64 ? x[i] << n[i] : 0;
  return x;
}
SOFTAMP_LANES U64 shr(U64 x, U64 n) {
  for (int i = 0; i < 2; ++i) x[i] = n[i] < 64 ? x[i] >> n[i] : 0;
  return x;
}
#endif

// Widening and narrowing of lanes, written out where g++ 12 would use half vectors or single lanes.
SOFTAMP_LANES U64 widened(U32of64 x) {
#if defined(__AVX512F__)
  return (U64)_mm512_cvtepu32_epi64((__m256i)x);
#elif defined(__AVX2__)
  return (U64)_mm256_cvtepu32_epi64((__m128i)x);
#elif defined(SOFTAMP_NEON)
  return (U64)vmovl_u32((uint32x2_t)x);
#else
  return __builtin_convertvector(x, U64);
#endif
}
SOFTAMP_LANES F64 widened(F32of64 x) {
#if defined(__AVX512F__)
  return (F64)_mm512_cvtps_pd((__m256)x);
#elif defined(__AVX2__)
  return (F64)_mm256_cvtps_pd((__m128)x);
#elif defined(SOFTAMP_NEON)
  return (F64)vcvt_f64_f32((float32x2_t)x);
#else
  return __builtin_convertvector(x, F64);
#endif
}
SOFTAMP_LANES U32of64 narrowed(U64 x) {
#if defined(__AVX512F__)
  return (U32of64)_mm512_cvtepi64_epi32((__m512i)x);
#elif defined(__AVX2__)
  return (U32of64)_mm256_castsi256_si128(
      _mm256_permutevar8x32_epi32((__m256i)x, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)));
#elif defined(SOFTAMP_NEON)
  return (U32of64)vmovn_u64((uint64x2_t)x);
#else
  return __builtin_convertvector(x, U32of64);
#endif
}
SOFTAMP_LANES F32of64 narrowed(F64 x) {
#if defined(__AVX512F__)
  return (F32of64)_mm512_cvtpd_ps((__m512d)x);
#elif defined(__AVX2__)
  return (F32of64)_mm256_cvtpd_ps((__m256d)x);
#elif defined(SOFTAMP_NEON)
  return (F32of64)vcvt_f32_f64((float64x2_t)x);
#else
  return __builtin_convertvector(x, F32of64);
#endif
}
SOFTAMP_LANES U64 load_u16_as_u64(const void* p) { return widened(__builtin_convertvector(load<U16of64>(p), U32of64)); }

/// Stores four vectors of numbers below 2^16 as 16-bit numbers.
SOFTAMP_LANES void store_u16(void* p, U32 a, U32 b, U32 c, U32 d) {
  char* const out = static_cast<char*>(p);
#if defined(__AVX512F__)
  const U32 all[4] = {a, b, c, d};
  for (int v = 0; v < 4; ++v) store(out + v * kVectorBytes / 2, _mm512_cvtepi32_epi16((__m512i)all[v]));
#elif defined(__AVX2__)
  const auto pair = [](U32 x, U32 y) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)x, (__m256i)y), 0xD8);
  };
  store(out, pair(a, b));
  store(out + kVectorBytes, pair(c, d));
#elif defined(__SSE2__)
  const auto number = [](U32 x) { return (__m128i)((I32)(x << 16) >> 16); };  // SSE2 packs signed numbers only
  store(out, _mm_packs_epi32(number(a), number(b)));
  store(out + kVectorBytes, _mm_packs_epi32(number(c), number(d)));
#elif defined(SOFTAMP_NEON)
  store(out, vuzp1q_u16((uint16x8_t)a, (uint16x8_t)b));
  store(out + kVectorBytes, vuzp1q_u16((uint16x8_t)c, (uint16x8_t)d));
#else
  const U32 all[4] = {a, b, c, d};
  for (int v = 0; v < 4; ++v) store(out + v * kVectorBytes / 2, __builtin_convertvector(all[v], U16of32));
#endif
}

/// Stores four vectors of numbers below 2^8 as bytes.
SOFTAMP_LANES void store_u8(void* p, U32 a, U32 b, U32 c, U32 d) {
  char* const out = static_cast<char*>(p);
#if defined(__AVX512F__)
  const U32 all[4] = {a, b, c, d};
  for (int v = 0; v < 4; ++v) store(out + v * kVectorBytes / 4, _mm512_cvtepi32_epi8((__m512i)all[v]));
#elif defined(__AVX2__)
  const __m256i packed =
      _mm256_packus_epi16(_mm256_packs_epi32((__m256i)a, (__m256i)b), _mm256_packs_epi32((__m256i)c, (__m256i)d));
  store(out, _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
#elif defined(__SSE2__)
  store(out, _mm_packus_epi16(_mm_packs_epi32((__m128i)a, (__m128i)b), _mm_packs_epi32((__m128i)c, (__m128i)d)));
#elif defined(SOFTAMP_NEON)
  const auto pair = [](U32 x, U32 y) { return vreinterpretq_u8_u16(vuzp1q_u16((uint16x8_t)x, (uint16x8_t)y)); };
  store(out, vuzp1q_u8(pair(a, b), pair(c, d)));
#else
  const U32 all[4] = {a, b, c, d};
  for (int v = 0; v < 4; ++v) store(out + v * kVectorBytes / 4, __builtin_convertvector(all[v], U8of32));
#endif
}

/// The 64-bit products of the low halves of 64-bit lanes.
SOFTAMP_LANES U64 multiply_low_halves(U64 a, U64 b) {
#if defined(__AVX512F__)
  return (U64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (U64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (U64)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif defined(SOFTAMP_NEON)
  return (U64)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
  return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}

#if defined(__F16C__) && !defined(__AVX512F__)
#define SOFTAMP_CONVERTS_HALVES 1
/// fp32 to halves, to nearest even, and back, where the set has instructions for it; two vectors of halves, in order.
SOFTAMP_LANES U16of32 nearest_halves(F32 x) { return (U16of32)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT); }
SOFTAMP_LANES F32 halves_values(U16of32 codes) { return (F32)_mm256_cvtph_ps((__m128i)codes); }
SOFTAMP_LANES U32 joined(U16of32 low, U16of32 high) { return (U32)_mm256_set_m128i((__m128i)high, (__m128i)low); }
#elif defined(SOFTAMP_NEON)
#define SOFTAMP_CONVERTS_HALVES 1
SOFTAMP_LANES U16of32 nearest_halves(F32 x) { return (U16of32)vcvt_f16_f32((float32x4_t)x); }
SOFTAMP_LANES F32 halves_values(U16of32 codes) { return (F32)vcvt_f32_f16((float16x4_t)codes); }
SOFTAMP_LANES U32 joined(U16of32 low, U16of32 high) { return (U32)vcombine_u32((uint32x2_t)low, (uint32x2_t)high); }
#endif

/// Halves to fp32, exactly, infinities and NaNs included.
SOFTAMP_LANES F32 widen_fp16(const void* p) {
#if defined(__AVX512F__)
  return (F32)_mm512_cvtph_ps(load<__m256i>(p));
#elif defined(SOFTAMP_CONVERTS_HALVES)
  return halves_values(load<U16of32>(p));
#else
  const U32 code = __builtin_convertvector(load<U16of32>(p), U32);
  const U32 magnitude = code & 0x7FFFu;
  // Under fp32's exponent: off by 2^(127 - 15).
  const U32 value = (U32)((F32)(magnitude << 13) * 0x1p112f) | ((U32)((I32)magnitude > 0x7BFF) & 0x7F800000u);
  return (F32)(value | ((code & 0x8000u) << 16));
#endif
}

#if defined(__FMA__) || defined(SOFTAMP_NEON)
#define SOFTAMP_FUSES 1
/// x - a b, rounded once.
SOFTAMP_LANES F64 less_product(F64 x, F64 a, F64 b) {
#if defined(__AVX512F__)
  return (F64)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)x);
#elif defined(__FMA__)
  return (F64)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)x);
#else
  return (F64)vfmsq_f64((float64x2_t)x, (float64x2_t)a, (float64x2_t)b);
#endif
}
#endif

/// Whether any bit of any lane is set.
template <class V>
SOFTAMP_LANES bool any(V v) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)v, (__m512i)v) != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256((__m256i)v, (__m256i)v);
#elif defined(SOFTAMP_NEON)
  return vmaxvq_u32((uint32x4_t)v) != 0;
#else
  const U64 w = (U64)v;
  return (w[0] | w[1]) != 0;
#endif
}

}  // namespace
}  // namespace softamp::emu
