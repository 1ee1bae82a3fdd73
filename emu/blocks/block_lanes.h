// Rounding a vector of fp32 numbers to nearest even to an element, and values of codes, as ElementPlan says.
#pragma once

#include "emu/blocks/block_kernels.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

/// a b + c, whose product is exact: fused or not is the same.
SOFTAMP_LANES F32 exact_product_plus(F32 a, F32 b, F32 c) {
#if defined(__AVX512F__)
  return (F32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (F32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(SOFTAMP_NEON)
  return (F32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}
/// The bits of `a` where `mask` has ones, else those of `b`.
SOFTAMP_LANES U32 by_bits(U32 mask, U32 a, U32 b) {
#if defined(__AVX512F__)
  return (U32)_mm512_ternarylogic_epi32((__m512i)mask, (__m512i)a, (__m512i)b, 0xCA);
#else
  return (a & mask) | (b & ~mask);
#endif
}
/// Of two numbers; of magnitudes bits compare as well, but where NaN may be the second is taken.
SOFTAMP_LANES F32 lesser(F32 a, F32 b) {
#if defined(__AVX512F__)
  return (F32)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (F32)_mm256_min_ps((__m256)a, (__m256)b);
#else
  return a < b ? a : b;
#endif
}
SOFTAMP_LANES F32 larger(F32 a, F32 b) {
#if defined(__AVX512F__)
  return (F32)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (F32)_mm256_max_ps((__m256)a, (__m256)b);
#else
  return a > b ? a : b;
#endif
}

/// Bytes to lanes and back, written out where g++ 12 would take lane by lane.
SOFTAMP_LANES U32 load_bytes(const void* p) {
#if defined(__AVX512F__)
  return (U32)_mm512_cvtepu8_epi32(load<__m128i>(p));
#elif defined(__AVX2__)
  return (U32)_mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
#elif defined(__SSE2__)
  const __m128i zero = _mm_setzero_si128(), four = _mm_cvtsi32_si128(load<int>(p));
  return (U32)_mm_unpacklo_epi16(_mm_unpacklo_epi8(four, zero), zero);
#else
  return __builtin_convertvector(load<U8of32>(p), U32);
#endif
}
SOFTAMP_LANES void store_bytes(void* p, U32 x) {
#if defined(__AVX512F__)
  store(p, _mm512_cvtepi32_epi8((__m512i)x));
#elif defined(__AVX2__)
  const __m256i low =
      _mm256_shuffle_epi8((__m256i)x, _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0,
                                                       4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  _mm_storel_epi64(static_cast<__m128i*>(p),
                   _mm_unpacklo_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
#elif defined(__SSE2__)
  const __m128i half = _mm_packs_epi32((__m128i)x, (__m128i)x);
  store(p, _mm_cvtsi128_si32(_mm_packus_epi16(half, half)));
#else
  store(p, __builtin_convertvector(x, U8of32));
#endif
}

constexpr uint32_t kSignBit = 0x80000000u, kExponentBits = 0x7F800000u;

/// Floats. kKeeps: zeros keep their signs.
// implements: N467
template <bool kKeeps>
class FloatElement {
 public:
  SOFTAMP_LANES explicit FloatElement(const ElementPlan& p)
      : greatest_(splat<F32>(p.greatest)),
        least_power_(splat<F32>(__builtin_bit_cast(float, p.least_power))),
        shifter_(splat<F32>(p.shifter)),
        mask_(splat<U32>(p.magnitude_mask)),
        exponent_shift_(p.exponent_shift),
        sign_shift_(p.sign_shift) {}

  /// The code of y, in the low bits of its lane; the others are zeros.
  SOFTAMP_LANES U32 code(F32 y) const {
    const F32 m = clamped(y), power = power_of(m);
    const U32 sum = (U32)exact_product_plus(power, shifter_, m);
    const U32 carried = sum + (sum >> exponent_shift_), u = (U32)y;
    if constexpr (kKeeps) return by_bits(mask_, carried, u >> sign_shift_);
    const U32 code = carried & mask_;
    return code | ((u & kSignBit & (U32)(code != 0)) >> sign_shift_);
  }
  /// Its value.
  SOFTAMP_LANES F32 value(F32 y) const {
    const F32 m = clamped(y), power = power_of(m);
    const F32 sum = exact_product_plus(power, shifter_, m), v = exact_product_plus(power, -shifter_, sum);
    const U32 sign = (U32)y & kSignBit;
    return (F32)((U32)v | (kKeeps ? sign : sign & (U32)(v != 0)));
  }

 private:
  SOFTAMP_LANES F32 clamped(F32 y) const { return lesser((F32)((U32)y & ~kSignBit), greatest_); }
  SOFTAMP_LANES F32 power_of(F32 m) const { return larger((F32)((U32)m & kExponentBits), least_power_); }

  F32 greatest_, least_power_, shifter_;
  U32 mask_;
  int exponent_shift_, sign_shift_;
};

/// Fixed point.
// implements: N467
class FixedElement {
 public:
  SOFTAMP_LANES explicit FixedElement(const ElementPlan& p)
      : least_(splat<F32>(p.least)),
        greatest_(splat<F32>(p.greatest)),
        shifter_(splat<F32>(p.shifter)),
        mask_(splat<U32>(p.magnitude_mask)) {}
  SOFTAMP_LANES U32 code(F32 y) const { return (U32)(clamped(y) + shifter_) & mask_; }
  SOFTAMP_LANES F32 value(F32 y) const { return (clamped(y) + shifter_) - shifter_; }

 private:
  SOFTAMP_LANES F32 clamped(F32 y) const { return larger(lesser(y, greatest_), least_); }

  F32 least_, greatest_, shifter_;
  U32 mask_;
};

/// Values of codes, whose bits above the format's are left out.
class FloatValues {
 public:
  SOFTAMP_LANES explicit FloatValues(const ElementPlan& p)
      : quantum_(splat<F32>(p.quantum)),
        mask_(splat<U32>(p.magnitude_mask)),
        rebase_(splat<U32>(p.rebase)),
        first_normal_(splat<U32>(p.first_normal)),
        greatest_(splat<U32>(p.greatest_code)),
        infinity_(splat<U32>(p.infinity_code)),
        exponent_shift_(p.exponent_shift),
        sign_shift_(p.sign_shift),
        sign_alone_is_nan_(p.sign_alone_is_nan) {}

  SOFTAMP_LANES F32 operator()(U32 code) const {
    const U32 m = code & mask_, normal = (m << exponent_shift_) + rebase_;
    const U32 tiny = (U32)(__builtin_convertvector((I32)m, F32) * quantum_);
    const U32 value = (I32)m < (I32)first_normal_ ? tiny : normal;
    return (F32)by_bits(splat<U32>(kSignBit), code << sign_shift_, value);
  }
  /// Codes that are no numbers.
  SOFTAMP_LANES U32 rare(U32 code) const {
    const U32 m = code & mask_;
    U32 rare = (U32)((I32)m > (I32)greatest_);
    if (sign_alone_is_nan_) rare |= (U32)(m == 0) & (U32)((I32)(code << sign_shift_) < 0);
    return rare;
  }
  SOFTAMP_LANES F32 rare_value(U32 code) const {
    const U32 sign = (code << sign_shift_) & kSignBit;
    return (F32)by_bits((U32)((code & mask_) == infinity_), sign | kExponentBits, splat<U32>(0x7FC00000u));
  }

 private:
  F32 quantum_;
  U32 mask_, rebase_, first_normal_, greatest_, infinity_;
  int exponent_shift_, sign_shift_;
  bool sign_alone_is_nan_;
};
class FixedValues {
 public:
  SOFTAMP_LANES explicit FixedValues(const ElementPlan& p) : shift_(p.sign_shift), quantum_(splat<F32>(p.quantum)) {}
  SOFTAMP_LANES F32 operator()(U32 code) const {
    return __builtin_convertvector((I32)(code << shift_) >> shift_, F32) * quantum_;
  }
  SOFTAMP_LANES U32 rare(U32) const { return U32{}; }
  SOFTAMP_LANES F32 rare_value(U32) const { return F32{}; }

 private:
  int shift_;
  F32 quantum_;
};

}  // namespace
}  // namespace softamp::emu
