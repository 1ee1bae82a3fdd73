// Vectors as the lanes of the elementary functions: softamp/numerics/math_lane.h says what each operation means. Every
// one is the same IEEE 754 operation on each lane, so a function has its scalar form's bits.
#pragma once

#include "emu/simd.h"
#include "softamp/numerics/math_lane.h"

namespace softamp::emu {
namespace {

#if defined(__AVX512F__)
/// One bit per lane, in the registers made for it.
template <class Word>
struct LaneMask {
  Word word;
  friend SOFTAMP_LANES LaneMask operator&(LaneMask a, LaneMask b) { return {static_cast<Word>(a.word & b.word)}; }
  friend SOFTAMP_LANES LaneMask operator|(LaneMask a, LaneMask b) { return {static_cast<Word>(a.word | b.word)}; }
  friend SOFTAMP_LANES LaneMask operator!(LaneMask a) { return {static_cast<Word>(~a.word)}; }
  SOFTAMP_LANES bool marked(int lane) const { return word >> lane & 1; }
};
using Mask32 = LaneMask<__mmask16>;
using Mask64 = LaneMask<__mmask8>;
#else
/// All ones or all zeros per lane.
template <class Word>
struct LaneMask {
  Word word;
  friend SOFTAMP_LANES LaneMask operator&(LaneMask a, LaneMask b) { return {a.word & b.word}; }
  friend SOFTAMP_LANES LaneMask operator|(LaneMask a, LaneMask b) { return {a.word | b.word}; }
  friend SOFTAMP_LANES LaneMask operator!(LaneMask a) { return {~a.word}; }
  SOFTAMP_LANES bool marked(int lane) const { return word[lane] != 0; }
};
using Mask32 = LaneMask<I32>;
using Mask64 = LaneMask<I64>;
#endif

#if !defined(__FMA__) && !defined(SOFTAMP_NEON)
/// a b + c rounded once, like math_lane.h's `fused`: first to binary64, rounded to odd.
SOFTAMP_LANES F64 fused_to_odd(F64 a, F64 b, F64 c) {
  const F64 product = a * b, sum = product + c;
  const F64 c_seen = sum - product, product_seen = sum - c_seen;
  const F64 error = (product - product_seen) + (c - c_seen);
  const I64 below = error < 0.0, inexact = below | (error > 0.0), toward_zero = inexact & (below ^ (sum < 0.0));
  return (F64)(((I64)sum + toward_zero) | (inexact & 1));
}
SOFTAMP_LANES F32 fused(F32 a, F32 b, F32 c) {
#if defined(__SSE2__)
  const auto low = [](F32 x) __attribute__((always_inline)) { return (F64)_mm_cvtps_pd((__m128)x); };
  const auto high = [](F32 x) __attribute__((always_inline)) {
    return (F64)_mm_cvtps_pd(_mm_movehl_ps((__m128)x, (__m128)x));
  };
  return (F32)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)fused_to_odd(low(a), low(b), low(c))),
                            _mm_cvtpd_ps((__m128d)fused_to_odd(high(a), high(b), high(c))));
#else
  F32of64 parts[3][2], out[2];
  __builtin_memcpy(parts[0], &a, sizeof a);
  __builtin_memcpy(parts[1], &b, sizeof b);
  __builtin_memcpy(parts[2], &c, sizeof c);
  for (int i = 0; i < 2; ++i)
    out[i] = narrowed(fused_to_odd(widened(parts[0][i]), widened(parts[1][i]), widened(parts[2][i])));
  F32 result;
  __builtin_memcpy(&result, out, sizeof result);
  return result;
#endif
}
#endif

/// A vector of fp32 numbers.
struct FloatLanes {
  using Bits = U32;
  using Mask = Mask32;
  static constexpr int kLanes = kVectorBytes / 4;

  F32 v;

  FloatLanes() = default;
  SOFTAMP_LANES FloatLanes(F32 x) : v(x) {}
#if defined(__AVX512F__)
  SOFTAMP_LANES FloatLanes(float x) : v((F32)_mm512_set1_ps(x)) {}
#elif defined(__AVX2__)
  SOFTAMP_LANES FloatLanes(float x) : v((F32)_mm256_set1_ps(x)) {}
#else
  SOFTAMP_LANES FloatLanes(float x) : v(F32{x, x, x, x}) {}
#endif

  friend SOFTAMP_LANES FloatLanes operator+(FloatLanes a, FloatLanes b) { return a.v + b.v; }
  friend SOFTAMP_LANES FloatLanes operator-(FloatLanes a, FloatLanes b) { return a.v - b.v; }
  friend SOFTAMP_LANES FloatLanes operator*(FloatLanes a, FloatLanes b) { return a.v * b.v; }
  friend SOFTAMP_LANES FloatLanes operator/(FloatLanes a, FloatLanes b) { return a.v / b.v; }
  friend SOFTAMP_LANES FloatLanes operator-(FloatLanes a) { return (F32)((U32)a.v ^ 0x80000000u); }
  friend SOFTAMP_LANES U32 bits(FloatLanes a) { return (U32)a.v; }
  static SOFTAMP_LANES FloatLanes from_bits(U32 u) { return (F32)u; }
  static SOFTAMP_LANES U32 shifted(U32 u, int n) { return (U32)((I32)u >> n); }

#if defined(__AVX512F__)
  friend SOFTAMP_LANES FloatLanes fma(FloatLanes a, FloatLanes b, FloatLanes c) {
    return (F32)_mm512_fmadd_ps((__m512)a.v, (__m512)b.v, (__m512)c.v);
  }
  friend SOFTAMP_LANES FloatLanes sqrt(FloatLanes a) { return (F32)_mm512_sqrt_ps((__m512)a.v); }
  friend SOFTAMP_LANES Mask operator<(FloatLanes a, FloatLanes b) {
    return {_mm512_cmp_ps_mask((__m512)a.v, (__m512)b.v, _CMP_LT_OQ)};
  }
  friend SOFTAMP_LANES Mask operator<=(FloatLanes a, FloatLanes b) {
    return {_mm512_cmp_ps_mask((__m512)a.v, (__m512)b.v, _CMP_LE_OQ)};
  }
  friend SOFTAMP_LANES Mask operator==(FloatLanes a, FloatLanes b) {
    return {_mm512_cmp_ps_mask((__m512)a.v, (__m512)b.v, _CMP_EQ_OQ)};
  }
  friend SOFTAMP_LANES FloatLanes select(Mask m, FloatLanes a, FloatLanes b) {
    return (F32)_mm512_mask_blend_ps(m.word, (__m512)b.v, (__m512)a.v);
  }
  friend SOFTAMP_LANES FloatLanes at_most(FloatLanes a, FloatLanes c) {
    return (F32)_mm512_min_ps((__m512)c.v, (__m512)a.v);  // the second where one is a NaN or they are equal
  }
  friend SOFTAMP_LANES FloatLanes at_least(FloatLanes a, FloatLanes c) {
    return (F32)_mm512_max_ps((__m512)c.v, (__m512)a.v);
  }
  static SOFTAMP_LANES FloatLanes from_signed(U32 u) { return (F32)_mm512_cvtepi32_ps((__m512i)u); }
  static SOFTAMP_LANES FloatLanes from_unsigned(U32 u) { return (F32)_mm512_cvtepu32_ps((__m512i)u); }
  friend SOFTAMP_LANES FloatLanes scaled(FloatLanes p, FloatLanes n) {
    return (F32)_mm512_scalef_ps((__m512)p.v, (__m512)n.v);
  }
  friend SOFTAMP_LANES FloatLanes scaled_in_range(FloatLanes p, FloatLanes n) { return scaled(p, n); }
  friend SOFTAMP_LANES bool any(FloatLanes, Mask m) { return m.word != 0; }
#else
#if defined(__FMA__)
  friend SOFTAMP_LANES FloatLanes fma(FloatLanes a, FloatLanes b, FloatLanes c) {
    return (F32)_mm256_fmadd_ps((__m256)a.v, (__m256)b.v, (__m256)c.v);
  }
  friend SOFTAMP_LANES FloatLanes sqrt(FloatLanes a) { return (F32)_mm256_sqrt_ps((__m256)a.v); }
  friend SOFTAMP_LANES FloatLanes at_most(FloatLanes a, FloatLanes c) {
    return (F32)_mm256_min_ps((__m256)c.v, (__m256)a.v);
  }
  friend SOFTAMP_LANES FloatLanes at_least(FloatLanes a, FloatLanes c) {
    return (F32)_mm256_max_ps((__m256)c.v, (__m256)a.v);
  }
#elif defined(SOFTAMP_NEON)
  friend SOFTAMP_LANES FloatLanes fma(FloatLanes a, FloatLanes b, FloatLanes c) {
    return (F32)vfmaq_f32((float32x4_t)c.v, (float32x4_t)a.v, (float32x4_t)b.v);
  }
  friend SOFTAMP_LANES FloatLanes sqrt(FloatLanes a) { return (F32)vsqrtq_f32((float32x4_t)a.v); }
  friend SOFTAMP_LANES FloatLanes at_most(FloatLanes a, FloatLanes c) { return select(c < a, c, a); }
  friend SOFTAMP_LANES FloatLanes at_least(FloatLanes a, FloatLanes c) { return select(a < c, c, a); }
#else
  friend SOFTAMP_LANES FloatLanes fma(FloatLanes a, FloatLanes b, FloatLanes c) { return fused(a.v, b.v, c.v); }
  friend SOFTAMP_LANES FloatLanes sqrt(FloatLanes a) {
#if defined(__SSE2__)
    return (F32)_mm_sqrt_ps((__m128)a.v);
#endif
    for (int i = 0; i < kLanes; ++i) a.v[i] = __builtin_sqrtf(a.v[i]);
    return a;
  }
  friend SOFTAMP_LANES FloatLanes at_most(FloatLanes a, FloatLanes c) { return select(c < a, c, a); }
  friend SOFTAMP_LANES FloatLanes at_least(FloatLanes a, FloatLanes c) { return select(a < c, c, a); }
#endif
  friend SOFTAMP_LANES Mask operator<(FloatLanes a, FloatLanes b) { return {(I32)(a.v < b.v)}; }
  friend SOFTAMP_LANES Mask operator<=(FloatLanes a, FloatLanes b) { return {(I32)(a.v <= b.v)}; }
  friend SOFTAMP_LANES Mask operator==(FloatLanes a, FloatLanes b) { return {(I32)(a.v == b.v)}; }
  friend SOFTAMP_LANES FloatLanes select(Mask m, FloatLanes a, FloatLanes b) {
#if defined(__AVX2__)
    return (F32)_mm256_blendv_ps((__m256)b.v, (__m256)a.v, (__m256)m.word);
#elif defined(SOFTAMP_NEON)
    return (F32)vbslq_f32((uint32x4_t)m.word, (float32x4_t)a.v, (float32x4_t)b.v);
#else
    return (F32)(((U32)m.word & (U32)a.v) | (~(U32)m.word & (U32)b.v));
#endif
  }
  static SOFTAMP_LANES FloatLanes from_signed(U32 u) { return __builtin_convertvector((I32)u, F32); }
  /// The halves convert exactly; their sum is the one rounding.
  static SOFTAMP_LANES FloatLanes from_unsigned(U32 u) {
    return __builtin_convertvector((I32)(u >> 16), F32) * 65536.0f + __builtin_convertvector((I32)(u & 0xFFFFu), F32);
  }
  friend SOFTAMP_LANES FloatLanes scaled(FloatLanes p, FloatLanes n) { return math::scaled_by_multiplying(p, n); }
  friend SOFTAMP_LANES FloatLanes scaled_in_range(FloatLanes p, FloatLanes n) {
    return math::scaled_in_range_by_multiplying(p, n);
  }
  friend SOFTAMP_LANES bool any(FloatLanes, Mask m) { return emu::any(m.word); }
#endif
  template <class Body>
  static SOFTAMP_LANES void for_lanes(Mask m, const Body& body) {
    for (int i = 0; i < kLanes; ++i)
      if (m.marked(i)) body(i);
  }
  SOFTAMP_LANES float lane(int i) const { return v[i]; }
  SOFTAMP_LANES void set_lane(int i, float x) { v[i] = x; }
};

/// A vector of binary64 numbers.
struct DoubleLanes {
  using Bits = U64;
  using Mask = Mask64;
  static constexpr int kLanes = kVectorBytes / 8;

  F64 v;

  DoubleLanes() = default;
  SOFTAMP_LANES DoubleLanes(F64 x) : v(x) {}
#if defined(__AVX512F__)
  SOFTAMP_LANES DoubleLanes(double x) : v((F64)_mm512_set1_pd(x)) {}
#elif defined(__AVX2__)
  SOFTAMP_LANES DoubleLanes(double x) : v((F64)_mm256_set1_pd(x)) {}
#else
  SOFTAMP_LANES DoubleLanes(double x) : v(F64{x, x}) {}
#endif

  friend SOFTAMP_LANES DoubleLanes operator+(DoubleLanes a, DoubleLanes b) { return a.v + b.v; }
  friend SOFTAMP_LANES DoubleLanes operator-(DoubleLanes a, DoubleLanes b) { return a.v - b.v; }
  friend SOFTAMP_LANES DoubleLanes operator*(DoubleLanes a, DoubleLanes b) { return a.v * b.v; }
  friend SOFTAMP_LANES DoubleLanes operator/(DoubleLanes a, DoubleLanes b) { return a.v / b.v; }
  friend SOFTAMP_LANES U64 bits(DoubleLanes a) { return (U64)a.v; }
  static SOFTAMP_LANES DoubleLanes from_bits(U64 u) { return (F64)u; }

#if defined(__AVX512F__)
  friend SOFTAMP_LANES Mask operator<(DoubleLanes a, DoubleLanes b) {
    return {_mm512_cmp_pd_mask((__m512d)a.v, (__m512d)b.v, _CMP_LT_OQ)};
  }
  friend SOFTAMP_LANES Mask operator<=(DoubleLanes a, DoubleLanes b) {
    return {_mm512_cmp_pd_mask((__m512d)a.v, (__m512d)b.v, _CMP_LE_OQ)};
  }
  friend SOFTAMP_LANES Mask operator==(DoubleLanes a, DoubleLanes b) {
    return {_mm512_cmp_pd_mask((__m512d)a.v, (__m512d)b.v, _CMP_EQ_OQ)};
  }
  friend SOFTAMP_LANES DoubleLanes select(Mask m, DoubleLanes a, DoubleLanes b) {
    return (F64)_mm512_mask_blend_pd(m.word, (__m512d)b.v, (__m512d)a.v);
  }
  friend SOFTAMP_LANES DoubleLanes at_most(DoubleLanes a, DoubleLanes c) {
    return (F64)_mm512_min_pd((__m512d)c.v, (__m512d)a.v);
  }
  friend SOFTAMP_LANES DoubleLanes at_least(DoubleLanes a, DoubleLanes c) {
    return (F64)_mm512_max_pd((__m512d)c.v, (__m512d)a.v);
  }
  friend SOFTAMP_LANES bool any(DoubleLanes, Mask m) { return m.word != 0; }
#else
  friend SOFTAMP_LANES Mask operator<(DoubleLanes a, DoubleLanes b) { return {(I64)(a.v < b.v)}; }
  friend SOFTAMP_LANES Mask operator<=(DoubleLanes a, DoubleLanes b) { return {(I64)(a.v <= b.v)}; }
  friend SOFTAMP_LANES Mask operator==(DoubleLanes a, DoubleLanes b) { return {(I64)(a.v == b.v)}; }
  friend SOFTAMP_LANES DoubleLanes select(Mask m, DoubleLanes a, DoubleLanes b) {
    return (F64)(((U64)m.word & (U64)a.v) | (~(U64)m.word & (U64)b.v));
  }
#if defined(__AVX2__)
  friend SOFTAMP_LANES DoubleLanes at_most(DoubleLanes a, DoubleLanes c) {
    return (F64)_mm256_min_pd((__m256d)c.v, (__m256d)a.v);
  }
  friend SOFTAMP_LANES DoubleLanes at_least(DoubleLanes a, DoubleLanes c) {
    return (F64)_mm256_max_pd((__m256d)c.v, (__m256d)a.v);
  }
#else
  friend SOFTAMP_LANES DoubleLanes at_most(DoubleLanes a, DoubleLanes c) { return select(c < a, c, a); }
  friend SOFTAMP_LANES DoubleLanes at_least(DoubleLanes a, DoubleLanes c) { return select(a < c, c, a); }
#endif
  friend SOFTAMP_LANES bool any(DoubleLanes, Mask m) { return emu::any(m.word); }
#endif
};

}  // namespace
}  // namespace softamp::emu
