// Results in fp32 vectors to halves, in AVX-512: shared by the fast conversions and the fast arithmetic.
//
// The conversions themselves, to nearest even and toward zero, are the hardware's. Lanes that need the plan (overflow,
// infinity, NaN) can be seen in the converted halves; a group of 64 with such lanes is corrected afterwards, by
// vectors.
#pragma once

#include "emu/bulk/mxcsr_body.h"
#include "emu/bulk/normal_groups.h"
#include "emu/bulk/philox_body.h"
#include "emu/bulk/plan.h"

namespace softamp::emu {
namespace {

constexpr int kNearestEven = _MM_FROUND_TO_NEAREST_INT;
constexpr int kTruncate = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
constexpr int kDownward = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
constexpr int kUpward = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;

SOFTAMP_LANES __m512 bits_and(__m512 x, uint32_t mask) {
  return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(static_cast<int>(mask))));
}
/// Toward zero, without changing MXCSR: an addend may have made an exact value inexact. (g++ 12 has no intrinsic that
/// suppresses exceptions here.)
SOFTAMP_LANES __m256i truncated_half(__m512 x) {
  __m256i h;
  asm("vcvtps2ph $3, %{sae%}, %1, %0" : "=v"(h) : "v"(x));
  return h;
}
SOFTAMP_LANES __m512i join(__m256i a, __m256i b) { return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1); }

/// 16 lanes: the result, exact or of fp32 precision, whose NaNs and infinities are the operation's; the same rounded to
/// a half's precision but not to its range; and that converted.
struct HalfLanes {
  __m512 result, rounded;
  __m256i half;
};

/// A kernel's rounding, and how to recognise its special results.
struct HalfRounding {
  uint16_t rare_above;     ///< converted magnitudes above need a look
  uint32_t overflow_from;  ///< `rounded` magnitudes from here on overflow (fp32 bits)
};

/// Nearest even: 65520 and more overflow. If the plan keeps infinities and no flag is sought, only NaNs are rare.
SOFTAMP_LANES HalfRounding nearest_rounding(const RoundPlan& p, uint8_t wanted) {
  const bool hardware_infinities = p.overflow[0] == 0x7C00 && p.overflow[1] == 0xFC00 && p.infinity[0] == 0x7C00 &&
                                   p.infinity[1] == 0xFC00 &&
                                   !(wanted & (p.on_overflow | p.on_infinity | kDivideByZero));
  return {static_cast<uint16_t>(hardware_infinities ? 0x7C00 : 0x7BFF), 0x477FF000u};
}
/// Truncation after the carry: 65504 may be 65536 truncated.
// implements: N401
SOFTAMP_LANES HalfRounding carry_rounding() { return {0x7BFE, 0x47800000u}; }

SOFTAMP_LANES __m512i magnitudes(__m512i halves) { return _mm512_and_si512(halves, _mm512_set1_epi16(0x7FFF)); }

/// 64 halves.
struct HalfGroup {
  __m512i low, high;

  SOFTAMP_LANES bool exceeds(uint16_t limit) const {
    const __m512i top = _mm512_max_epu16(magnitudes(low), magnitudes(high));
    return _mm512_cmpgt_epu16_mask(top, _mm512_set1_epi16(static_cast<short>(limit))) != 0;
  }
  /// Whether all magnitudes are in [2^-13, 2^15): this excludes two exponents at each end, which show in the field's
  /// upper bits after adding 2 to it.
  SOFTAMP_LANES bool normal() const {
    const __m512i two = _mm512_set1_epi16(0x0800), upper = _mm512_set1_epi16(0x7000);
    return (_mm512_testn_epi16_mask(_mm512_add_epi16(low, two), upper) |
            _mm512_testn_epi16_mask(_mm512_add_epi16(high, two), upper)) == 0;
  }
  /// Whether some are zero or subnormal.
  SOFTAMP_LANES bool has_tiny() const {
    const __m512i least = _mm512_min_epu16(magnitudes(low), magnitudes(high));
    return _mm512_cmplt_epu16_mask(least, _mm512_set1_epi16(0x0400)) != 0;
  }
};

/// Writes what the plan says into the lanes that overflow, or are infinite or NaN. Returns the flags of the overflows.
SOFTAMP_LANES uint8_t put_right(const RoundPlan& p, const HalfRounding& how, HalfLanes& l, __mmask16& special) {
  const __m512i result = _mm512_castps_si512(l.result), infinity = _mm512_set1_epi32(0x7F800000);
  const __m512i magnitude = _mm512_and_si512(result, _mm512_set1_epi32(0x7FFFFFFF));
  const __m512i rounded = _mm512_and_si512(_mm512_castps_si512(l.rounded), _mm512_set1_epi32(0x7FFFFFFF));
  const __mmask16 negative = _mm512_movepi32_mask(result);
  const __mmask16 infinite = _mm512_cmpeq_epi32_mask(magnitude, infinity),
                  nan = _mm512_cmpgt_epu32_mask(magnitude, infinity);
  special = infinite | nan;
  const __mmask16 overflow = static_cast<__mmask16>(~special) &
                             _mm512_cmpge_epu32_mask(rounded, _mm512_set1_epi32(static_cast<int>(how.overflow_from)));
  const auto set = [](__m512i code, __mmask16 lanes, uint32_t value) {
    return _mm512_mask_mov_epi32(code, lanes, _mm512_set1_epi32(static_cast<int>(value)));
  };
  __m512i code = _mm512_cvtepu16_epi32(l.half);
  code = set(set(code, overflow, p.overflow[0]), overflow & negative, p.overflow[1]);
  code = set(set(code, infinite, p.infinity[0]), infinite & negative, p.infinity[1]);
  code = set(code, nan, p.nan);
  l.half = _mm512_cvtepi32_epi16(code);
  return overflow ? p.on_overflow : 0;
}

/// Streaming stores bypass the caches; then the operands are prefetched, too.
template <bool kStream>
SOFTAMP_LANES void put(void* out, __m512i v) {
  if constexpr (kStream)
    _mm512_stream_si512(static_cast<__m512i*>(out), v);
  else
    _mm512_storeu_si512(out, v);
}
template <bool kStream>
SOFTAMP_LANES void prefetch_operand(const void* group, size_t bytes) {
  constexpr size_t kAhead = 2048;
  if constexpr (kStream)
    for (size_t b = 0; b < bytes; b += 64) _mm_prefetch(static_cast<const char*>(group) + kAhead + b, _MM_HINT_T0);
}
/// Plain stores: prefetches the lines that they will fill, from the second-level cache.
template <bool kStream>
SOFTAMP_LANES void prefetch_result(const void* group, size_t bytes) {
  constexpr size_t kAhead = 512;
  if constexpr (!kStream)
    for (size_t b = 0; b < bytes; b += 64) _mm_prefetch(static_cast<const char*>(group) + kAhead + b, _MM_HINT_T0);
}

/// Stores a group of halves, or (kValues) of their fp32 values.
template <bool kStream, bool kValues>
SOFTAMP_LANES void put_group(const HalfGroup& g, void* out) {
  if constexpr (kValues) {
    float* const values = static_cast<float*>(out);
    const auto value = [](__m256i halves) { return _mm512_castps_si512(_mm512_cvtph_ps(halves)); };
    put<kStream>(values, value(_mm512_castsi512_si256(g.low)));
    put<kStream>(values + 16, value(_mm512_extracti64x4_epi64(g.low, 1)));
    put<kStream>(values + 32, value(_mm512_castsi512_si256(g.high)));
    put<kStream>(values + 48, value(_mm512_extracti64x4_epi64(g.high, 1)));
  } else {
    uint16_t* const halves = static_cast<uint16_t*>(out);
    put<kStream>(halves, g.low);
    put<kStream>(halves + 32, g.high);
  }
}

/// The 64 halves that `lanes(v)`, v = 0..3, computes.
template <class Lanes>
SOFTAMP_LANES HalfGroup group_of(const Lanes& lanes) {
  const __m256i h0 = lanes(0).half, h1 = lanes(1).half, h2 = lanes(2).half, h3 = lanes(3).half;
  return {join(h0, h1), join(h2, h3)};
}

/// The same, corrected; computed again, so that the usual case keeps only the halves. `see(v, lanes, special)` is told
/// of vectors with infinite or NaN results.
template <class Lanes, class See>
SOFTAMP_LANES HalfGroup rare_group_of(const RoundPlan& p, const HalfRounding& how, const Lanes& lanes, uint8_t& flags,
                                      const See& see) {
  return group_of([&](size_t v) {
    HalfLanes l = lanes(v);
    __mmask16 special;
    flags = static_cast<uint8_t>(flags | put_right(p, how, l, special));
    if (special) see(v, l, special);
    return l;
  });
}

/// Stochastic rounding, variant carry, at most 23 random bits, of 16 fp32 values (N406): y = x + R u 2^-r
/// truncated to fp32, u the quantum of the result; truncating y to a half then gives the rounded value. No bit that is
/// lost on the way matters, since truncation never passes a multiple of u.
// implements: N406
template <bool kWide>
class Carry {
 public:
  static constexpr int kDropped = 13;  ///< bits of a float's mantissa that a half does not have

  SOFTAMP_LANES explicit Carry(int r)
      : bits_(r),
        shift_(_mm_cvtsi32_si128(r > kDropped ? r - kDropped : kDropped - r)),
        magic_(_mm512_set1_epi32((127 + 13 - r) << 23)) {}

  /// R 2^-(10+r) of the 16 lanes at `numbers`: R is OR-ed below an exponent that gives its bits that weight.
  SOFTAMP_LANES __m512 scaled(const void* numbers) const {
    const __m512i placed = _mm512_or_si512(at(numbers), magic_);
    return _mm512_sub_ps(_mm512_castsi512_ps(placed), _mm512_castsi512_ps(magic_));
  }
  /// 2^max(e, -14) where 2^e <= |x| < 2^(e+1), the sign of x: 2^10 quanta of the result.
  static SOFTAMP_LANES __m512 binade(__m512 x) {
    constexpr int kGreaterMagnitudeSignOfFirst = 0b0011;
    return _mm512_range_ps(bits_and(x, 0xFF800000u), _mm512_set1_ps(0x1p-14f), kGreaterMagnitudeSignOfFirst);
  }
  /// Rounds where the result is normal and does not come near overflow: the 13 bits that a half drops of a float, and R
  /// aligned to them, make the carry by themselves (bits of R below them cannot, N401). `result(v)`, v = 0..3.
  template <class Result>
  SOFTAMP_LANES HalfGroup normal_group(const Result& result, const void* numbers) const {
    __m256i half[4];
    for (size_t v = 0; v < 4; ++v) {
      __m512i n = at(static_cast<const char*>(numbers) + v * (kWide ? 64 : 32));
      if (bits_ > kDropped) n = _mm512_srl_epi32(n, shift_);
      if (bits_ < kDropped) n = _mm512_sll_epi32(n, shift_);
      half[v] = _mm512_cvtps_ph(_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(result(v)), n)), kTruncate);
    }
    return {join(half[0], half[1]), join(half[2], half[3])};
  }
  /// `result` is exact, or truncated to fp32 where r <= 13 (N402).
  SOFTAMP_LANES HalfLanes round(__m512 result, const void* numbers) const {
    const __m512 y = _mm512_fmadd_round_ps(scaled(numbers), binade(result), result, kTruncate);
    return {result, y, truncated_half(y)};
  }

 private:
  static SOFTAMP_LANES __m512i at(const void* numbers) {
    if constexpr (kWide) return _mm512_loadu_si512(numbers);
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(numbers)));
  }

  int bits_;
  __m128i shift_;
  __m512i magic_;
};

}  // namespace
}  // namespace softamp::emu
