// The vector of this translation unit: as wide as the instruction set it is compiled for allows.
//
// Everything here and in the *_body.h files sits in an anonymous namespace: each unit has its own copy, and nothing that
// holds instructions of one set can be linked into another (DESIGN rule 7; tests/house/isa_symbols.sh).
// Vectors are those of the GNU C++ extension, so +, <, ?: and the like are written as for scalars.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 takes the deliberately undefined operands inside its own intrinsics for mistakes of the caller.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
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

// Shifts by a count of each lane's own; a count of the lane's width or more, or "negative", gives 0.
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

/// The 64-bit products of the low halves of 64-bit lanes.
SOFTAMP_LANES U64 multiply_low_halves(U64 a, U64 b) {
#if defined(__AVX512F__)
  return (U64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (U64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (U64)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}

/// Whether any bit of any lane is set.
template <class V>
SOFTAMP_LANES bool any(V v) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)v, (__m512i)v) != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256((__m256i)v, (__m256i)v);
#else
  const U64 w = (U64)v;
  return (w[0] | w[1]) != 0;
#endif
}

}  // namespace
}  // namespace softamp::emu
