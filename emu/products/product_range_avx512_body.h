// Stochastic rounding (carry) of fp32 numbers to values of halves by integers,
// and the range in which that is right.
#pragma once

#include "emu/bulk/half_avx512_body.h"
#include "emu/products/product_carry_body.h"

namespace softamp::emu {
namespace {

/// The value of x rounded to a half, where that is normal or zero: R, aligned
/// to the dropped bits, makes the carry by itself, and bits of R below them
/// cannot (N401). kShifted: the policy has not just as many random bits.
// implements: N401
template <bool kShifted>
class CarryIntoNormal {
 public:
  SOFTAMP_LANES explicit CarryIntoNormal(int random_bits)
      : up_(_mm_cvtsi32_si128(random_bits < kDroppedBits ? kDroppedBits - random_bits : 0)),
        down_(_mm_cvtsi32_si128(random_bits > kDroppedBits ? random_bits - kDroppedBits : 0)) {}

  /// `numbers`: 16 numbers of 16 bits.
  SOFTAMP_LANES __m512 operator()(__m512 x, const char* numbers) const { return cut(added(x, numbers)); }

  /// The same in two steps: with R added, and cut to a half's precision.
  SOFTAMP_LANES __m512i added(__m512 x, const char* numbers) const {
    __m512i n = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers)));
    if constexpr (kShifted) n = _mm512_sll_epi32(_mm512_srl_epi32(n, down_), up_);
    return _mm512_add_epi32(_mm512_castps_si512(x), n);
  }
  static SOFTAMP_LANES __m512 cut(__m512i x) { return bits_and(_mm512_castsi512_ps(x), 0xFFFFE000u); }

 private:
  __m128i up_, down_;
};

/// Whether some of 32 numbers so rounded may be wrong: below 65536 all must be,
/// and above 2^-14 (what is 2^-14 may have been less before the carry, with
/// other weights of R). Zeros count as wrong, NaNs need not.
SOFTAMP_LANES bool outside_normal(__m512 x, __m512 y) {
  constexpr int kLessMagnitudePositive = 0b1010, kGreaterMagnitudePositive = 0b1011;
  const __m512 least = _mm512_range_ps(x, y, kLessMagnitudePositive);
  const __m512 greatest = _mm512_range_ps(x, y, kGreaterMagnitudePositive);
  const __mmask16 low = _mm512_cmp_ps_mask(least, _mm512_set1_ps(0x1p-14f), _CMP_LE_OQ);
  const __mmask16 high = _mm512_cmp_ps_mask(greatest, _mm512_set1_ps(65536.0f), _CMP_GE_OQ);
  return !_kortestz_mask16_u8(low, high);
}

SOFTAMP_LANES __m512 greatest_magnitude(__m512 x, __m512 y) {
  constexpr int kGreaterMagnitudePositive = 0b1011;
  return _mm512_range_ps(x, y, kGreaterMagnitudePositive);
}
/// Truncation to a half hides an overflow, but the number before it does not
/// (N407).
// implements: N407
SOFTAMP_LANES bool all_below_overflow(__m512 greatest) {
  return _mm512_cmp_ps_mask(greatest, _mm512_set1_ps(65536.0f), _CMP_NLT_UQ) == 0;
}

/// Rounds pairs of vectors of exact sums: by integers where all results are normal, else by a truncating fma.
template <bool kShifted>
class CarryPairs {
 public:
  SOFTAMP_LANES explicit CarryPairs(int random_bits) : normal_(random_bits), finite_(random_bits) {}

  SOFTAMP_LANES void round(__m512& x, const char* of_x, __m512& y, const char* of_y) {
    const __m512 first = normal_(x, of_x), second = normal_(y, of_y);
    if (outside_normal(first, second)) [[unlikely]] {
      const HalfLanes one = finite_.round(x, of_x), other = finite_.round(y, of_y);
      good_ &= all_below_overflow(greatest_magnitude(one.rounded, other.rounded));
      x = _mm512_cvtph_ps(one.half), y = _mm512_cvtph_ps(other.half);
    } else {
      x = first, y = second;
    }
  }
  /// No sum overflowed. Of infinities and NaNs nothing is said: they stay.
  bool good() const { return good_; }

 private:
  CarryIntoNormal<kShifted> normal_;
  Carry<false> finite_;
  bool good_ = true;
};

}  // namespace
}  // namespace softamp::emu
