// Lanes of the element-wise forms: loading, flushing, packing, roots, and binary64 results rounded to odd.
#pragma once

#include "emu/bulk/arithmetic_body.h"
#include "emu/elementwise/elementwise.h"

namespace softamp::emu {
namespace {

#define SOFTAMP_ALWAYS __attribute__((always_inline))
#if defined(__clang__)
#define SOFTAMP_UNROLLED _Pragma("unroll")
#else
#define SOFTAMP_UNROLLED _Pragma("GCC unroll 4")
#endif

typedef uint16_t U16 __attribute__((vector_size(kVectorBytes)));
typedef int16_t I16 __attribute__((vector_size(kVectorBytes)));

/// An fp32 vector for the formulas of kernel/elementwise.h: with `select`.
struct Lane32 {
  F32 v;
  friend SOFTAMP_LANES Lane32 operator+(Lane32 a, Lane32 b) { return {a.v + b.v}; }
  friend SOFTAMP_LANES Lane32 operator*(Lane32 a, Lane32 b) { return {a.v * b.v}; }
  friend SOFTAMP_LANES Lane32 operator*(Lane32 a, float b) { return {a.v * b}; }
  friend SOFTAMP_LANES Lane32 operator*(float a, Lane32 b) { return {a * b.v}; }
  friend SOFTAMP_LANES Lane32 operator/(Lane32 a, Lane32 b) { return {a.v / b.v}; }
  friend SOFTAMP_LANES Lane32 operator-(Lane32 a, Lane32 b) { return {a.v - b.v}; }
  friend SOFTAMP_LANES Lane32 operator-(float a, Lane32 b) { return {a - b.v}; }
  friend SOFTAMP_LANES Lane32 operator-(Lane32 a) { return {(F32)((U32)a.v ^ 0x80000000u)}; }
  friend SOFTAMP_LANES U32 operator<(float a, Lane32 b) { return (U32)(a < b.v); }
  friend SOFTAMP_LANES U32 operator==(Lane32 a, Lane32 b) { return (U32)(a.v == b.v); }
  friend SOFTAMP_LANES Lane32 select(U32 m, Lane32 a, Lane32 b) { return {(F32)((m & (U32)a.v) | (~m & (U32)b.v))}; }
};

/// Streaming stores bypass the caches.
template <bool kStream, class V>
SOFTAMP_LANES void put_vector(void* out, V v) {
#if defined(__AVX512F__)
  if constexpr (kStream) return _mm512_stream_si512(static_cast<__m512i*>(out), (__m512i)v);
#elif defined(__AVX2__)
  if constexpr (kStream) return _mm256_stream_si256(static_cast<__m256i*>(out), (__m256i)v);
#elif defined(__SSE2__)
  if constexpr (kStream) return _mm_stream_si128(static_cast<__m128i*>(out), (__m128i)v);
#endif
  store(out, v);
}
SOFTAMP_LANES void fetch_ahead(const char* p, size_t bytes) {
  constexpr size_t kAhead = 2048;
  for (size_t b = 0; b < bytes; b += 64) __builtin_prefetch(p + kAhead + b);
}

SOFTAMP_LANES F32 widen_bf16(const void* p) {
#if defined(__AVX512F__)
  return (F32)_mm512_slli_epi32(_mm512_cvtepu16_epi32(load<__m256i>(p)), 16);
#elif defined(__AVX2__)
  return (F32)_mm256_slli_epi32(_mm256_cvtepu16_epi32(load<__m128i>(p)), 16);
#else
  return (F32)(__builtin_convertvector(load<U16of32>(p), U32) << 16);
#endif
}

/// Codes of two vectors of lanes, in order, to one of 16-bit lanes.
SOFTAMP_LANES U16 pack16(U32 a, U32 b) {
#if defined(__AVX512F__)
  return (U16)_mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16((__m512i)a)),
                                 _mm512_cvtepi32_epi16((__m512i)b), 1);
#elif defined(__AVX2__)
  return (U16)_mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)a, (__m256i)b), 0xD8);
#elif defined(__SSE2__)
  const auto number = [](U32 x) { return (__m128i)((I32)(x << 16) >> 16); };  // SSE2 packs signed numbers only
  return (U16)_mm_packs_epi32(number(a), number(b));
#elif defined(SOFTAMP_NEON)
  return (U16)vuzp1q_u16((uint16x8_t)a, (uint16x8_t)b);
#else
  U16 r = {};
  for (int i = 0; i < 4; ++i) r[i] = static_cast<uint16_t>(a[i]), r[i + 4] = static_cast<uint16_t>(b[i]);
  return r;
#endif
}

/// Magnitudes below `below`, except zero, become zero and keep only the sign bits in `sign`.
SOFTAMP_LANES U32 flushed(U32 x, uint32_t below, uint32_t sign) {
  const uint32_t limit = below ? below - 1 : 0, clears = 0x7FFFFFFFu | ~sign;
  return x & ~((U32)((x & 0x7FFFFFFFu) - 1 < splat<U32>(limit)) & clears);
}

SOFTAMP_LANES F32 root(F32 x) {
#if defined(__AVX512F__)
  return (F32)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
  return (F32)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
  return (F32)_mm_sqrt_ps((__m128)x);
#elif defined(SOFTAMP_NEON)
  return (F32)vsqrtq_f32((float32x4_t)x);
#else
  for (int i = 0; i < 4; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}
SOFTAMP_LANES F64 root(F64 x) {
#if defined(__AVX512F__)
  return (F64)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX2__)
  return (F64)_mm256_sqrt_pd((__m256d)x);
#elif defined(__SSE2__)
  return (F64)_mm_sqrt_pd((__m128d)x);
#elif defined(SOFTAMP_NEON)
  return (F64)vsqrtq_f64((float64x2_t)x);
#else
  for (int i = 0; i < 2; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
#endif
}

/// The lanes of a result that are infinite or NaN.
SOFTAMP_LANES U64 not_finite(F64 x) { return (U64)((I64)((U64)x & 0x7FFFFFFFFFFFFFFFu) >= 0x7FF0000000000000); }

/// 1 / sqrt(x) of fp32 lanes to nearest even. Root and quotient in binary64 err by less than 2 units of 2^-53; lanes
/// within 4 of them of a tie are marked in `rare`. An exact tie is impossible: y with 25 bits and y y x = 1 is a power
/// of two.
SOFTAMP_LANES U32 reciprocal_root(F32 x, U32& rare) {
  F32of64 half[2], result[2];
  __builtin_memcpy(half, &x, sizeof x);
  U32of64 close[2];
  for (int h = 0; h < 2; ++h) {
    const F64 y = 1.0 / root(widened(half[h]));
    const U64 near_tie = (U64)(((U64)y & 0x1FFFFFFFu) - 0x0FFFFFFCu <= 8);
    close[h] = narrowed(near_tie & 0xFFFFFFFFu);
    result[h] = narrowed(y);
  }
  U32 marks, codes;
  __builtin_memcpy(&marks, close, sizeof marks);
  __builtin_memcpy(&codes, result, sizeof codes);
  rare |= marks;
  return codes;
}

/// sqrt(x) of an fp32 number, rounded to odd. x - q q is exact; without fma, q in two halves of 26 bits (Veltkamp).
SOFTAMP_LANES F64 odd_root(F64 x, F64 q) {
#if defined(SOFTAMP_FUSES)
  const F64 remainder = less_product(x, q, q);
#else
  const F64 c = q * 134217729.0, high = c - (c - q), low = q - high;
  const F64 remainder = ((x - high * high) - 2.0 * high * low) - low * low;
#endif
  return to_odd(q, remainder);
}

/// What a group of fp32 results holds.
struct SeenLanes {
  U32 rare = {}, nan = {}, infinite = {};

  /// Records the groups of suspects; returns whether the body must compute the group.
  SOFTAMP_LANES bool settle(const LaneCall& call, size_t first) const {
    const uint64_t group = uint64_t{1} << (first / kGroup);
    if (any(nan)) call.suspects->nan |= group;
    if (any(infinite)) call.suspects->infinite |= group;
    return any(rare);
  }
};

/// A result of at least the greatest finite magnitude in detail. `from_infinity` marks lanes with infinite operands.
SOFTAMP_LANES U32 detailed(U32 value, U32 from_infinity, const LaneParameters& c, SeenLanes& seen) {
  const I32 magnitude = (I32)(value & 0x7FFFFFFFu);
  const U32 nan = (U32)(magnitude > 0x7F800000), infinite = (U32)(magnitude == 0x7F800000);
  const U32 greatest = (U32)(magnitude == 0x7F7FFFFF);
  seen.nan |= nan;
  if (c.infinity_stays)
    seen.infinite |= infinite & ~from_infinity;
  else
    seen.rare |= infinite | greatest;
  return (value & ~nan) | (nan & c.nan);
}
SOFTAMP_LANES U32 infinite_lanes(F32 x) { return (U32)((I32)((U32)x & 0x7FFFFFFFu) == 0x7F800000); }

/// fp32 codes to the nearest bf16's, ties to even; in the low halves.
SOFTAMP_LANES U32 nearest_bf16(U32 value) { return (value + 0x7FFFu + ((value >> 16) & 1u)) >> 16; }
constexpr int32_t kRareBf16 = 0x7F7F0000;  ///< the greatest finite bf16, as fp32

/// The same of a result of at least that magnitude, in detail.
SOFTAMP_LANES U32 detailed_bf16(U32 value, const LaneParameters& c, SeenLanes& seen) {
  const I32 magnitude = (I32)(value & 0x7FFFFFFFu);
  const U32 nan = (U32)(magnitude > 0x7F800000);
  seen.nan |= nan;
  seen.rare |= ~nan & (U32)(magnitude >= kRareBf16);
  return (nearest_bf16(value) & ~nan) | (nan & c.nan);
}

/// The exact result of an operation on fp32 numbers rounded to odd in binary64. NaNs and infinities are marked.
template <kernel::Elementwise kOp>
SOFTAMP_LANES F64 odd_value(F64 x, F64 y, U64& rare) {
  using kernel::Elementwise;
  F64 nearest = x, odd = x;
  if constexpr (kOp == Elementwise::kAdd || kOp == Elementwise::kSub) {
    if (kOp == Elementwise::kSub) y = -y;
    nearest = x + y;
    odd = sum_to_odd(x, y);
  }
  if constexpr (kOp == Elementwise::kMul) nearest = odd = x * y;
  if constexpr (kOp == Elementwise::kSquare) nearest = odd = x * x;
  if constexpr (kOp == Elementwise::kDiv) nearest = x / y, odd = quotient_to_odd(x, y, nearest);
  if constexpr (kOp == Elementwise::kReciprocal) {
    const F64 one = splat<F64>(1.0);
    nearest = one / x, odd = quotient_to_odd(one, x, nearest);
  }
  if constexpr (kOp == Elementwise::kSqrt) nearest = root(x), odd = odd_root(x, nearest);
  rare |= not_finite(nearest);
  // A quotient by an infinity is finite, its remainder is not.
  if constexpr (kOp == Elementwise::kDiv || kOp == Elementwise::kReciprocal) rare |= not_finite(x) | not_finite(y);
  return odd;
}

/// Codes as integers of 16 or 32 bits, with the constants of a call.
struct Codes16 {
  using U = U16;
  using I = I16;
  using Word = uint16_t;
  static constexpr Word kSign = 0x8000;
  U infinity, rare_from, six, least_positive;

  SOFTAMP_LANES explicit Codes16(const LaneParameters& p)
      : infinity(all(p.infinity)), rare_from(all(p.rare_from)), six(all(p.six)), least_positive(all(1)) {}
  static SOFTAMP_LANES U all(uint32_t x) { return U{} + static_cast<Word>(x); }
  SOFTAMP_LANES U operand(U x) const { return x; }
  SOFTAMP_LANES U result(U x) const { return x; }
};
struct Codes32 {
  using U = U32;
  using I = I32;
  using Word = uint32_t;
  static constexpr Word kSign = 0x80000000u;
  U infinity, rare_from, six, least_positive;
  const LaneParameters& p;

  SOFTAMP_LANES explicit Codes32(const LaneParameters& parameters)
      : infinity(splat<U>(parameters.infinity)),
        rare_from(splat<U>(parameters.rare_from)),
        six(splat<U>(parameters.six)),
        least_positive(splat<U>(parameters.flush_below ? parameters.flush_below : 1)),
        p(parameters) {}
  SOFTAMP_LANES U operand(U x) const { return flushed(x, p.flush_below, p.flush_sign); }
  SOFTAMP_LANES U result(U x) const { return flushed(x, p.result_flush_below, p.result_flush_sign); }
};

/// Operands of comparisons as 32-bit codes.
struct Compared16 {
  static constexpr size_t kBytes = 2;
  static SOFTAMP_LANES U32 at(const char* p) { return (U32)widen_bf16(p); }
};
struct Compared32 {
  static constexpr size_t kBytes = 4;
  static SOFTAMP_LANES U32 at(const char* p) { return load<U32>(p); }
};

}  // namespace
}  // namespace softamp::emu
