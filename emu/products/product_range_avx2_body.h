// Stochastic rounding (carry) of fp32 numbers to values of halves by integers, in AVX2, and the range in which that is
// right.
#pragma once

#include "emu/products/product_carry_body.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

/// R, aligned to the 13 bits that a half drops of a float, makes the carry by itself where the result is normal; bits
/// of R below them cannot (N401). kRelation: of the number of random bits to 13.
template <int kRelation>
class CarryIntoNormal {
 public:
  explicit CarryIntoNormal(int random_bits)
      : shift_(_mm_cvtsi32_si128(kRelation < 0 ? kDroppedBits - random_bits : random_bits - kDroppedBits)) {}

  SOFTAMP_LANES __m256i added(__m256 x, const char* numbers) const {
    __m256i n = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers)));
    if constexpr (kRelation < 0) n = _mm256_sll_epi32(n, shift_);
    if constexpr (kRelation > 0) n = _mm256_srl_epi32(n, shift_);
    return _mm256_add_epi32(_mm256_castps_si256(x), n);
  }

 private:
  __m128i shift_;
};

/// Sums with R added, before they are cut to a half's precision: whether all give normal results.
class Settled {
 public:
  SOFTAMP_LANES void see(__m256i added) {
    // Without the sign, and with what is too small wrapped to what is too large.
    greatest_ = _mm256_max_epu32(
        greatest_, _mm256_sub_epi32(_mm256_add_epi32(added, added), _mm256_set1_epi32(static_cast<int>(2 * kLeast))));
  }
  /// The same where bits that truncation has lost, or R's lower bits, may carry: below thirteen ones.
  SOFTAMP_LANES void see_precise(__m256i added) {
    see(added);
    fullest_ = _mm256_max_epu32(fullest_, _mm256_slli_epi32(added, 32 - kDroppedBits));
  }
  SOFTAMP_LANES bool all() const {
    const __m256i limit = _mm256_set1_epi32(static_cast<int>(2 * (kOverflow - kLeast) - 1));
    const __m256i good = _mm256_cmpeq_epi32(_mm256_max_epu32(greatest_, limit), limit);
    const __m256i ones = _mm256_set1_epi32(static_cast<int>(0xFFF80000u));
    return _mm256_testc_si256(_mm256_andnot_si256(_mm256_cmpeq_epi32(fullest_, ones), good), _mm256_set1_epi32(-1));
  }

 private:
  // 2^-14 may have been less before the carry, with other weights of R; 65536 overflows.
  static constexpr uint32_t kLeast = 0x38802000u, kOverflow = 0x47800000u;
  __m256i greatest_ = _mm256_setzero_si256(), fullest_ = _mm256_setzero_si256();
};

SOFTAMP_LANES __m256 cut(__m256i added) {
  return _mm256_castsi256_ps(_mm256_and_si256(added, _mm256_set1_epi32(static_cast<int>(0xFFFFE000u))));
}

/// Rounds `sum(f)`, f of kCount vectors from `first` on, into `out`, the tile. False, and nothing done, where a result
/// is not normal; kPrecise: sums are truncated, and R's lower bits or what is lost may decide.
template <size_t kCount, bool kPrecise, int kRelation, class Numbers, class Sum>
SOFTAMP_LANES bool round_normal(const CarryIntoNormal<kRelation>& carry, const Numbers& numbers, size_t first,
                                const Sum& sum, float* out) {
  Settled settled;
  __m256 rounded[kCount];
#pragma GCC unroll 4
  for (size_t v = 0; v < kCount; ++v) {
    const __m256i added = carry.added(sum(first + v), numbers.of_vector(first + v));
    if constexpr (kPrecise)
      settled.see_precise(added);
    else
      settled.see(added);
    rounded[v] = cut(added);
  }
  if (!settled.all()) [[unlikely]]
    return false;
#pragma GCC unroll 4
  for (size_t v = 0; v < kCount; ++v) _mm256_store_ps(out + 8 * (first + v), rounded[v]);
  return true;
}

/// Below 2^-13 a half's quantum is 2^-24: |x| 2^(24+r), cut to an integer, takes R as it is, since what is cut lies
/// below R's last bit (N400). For at most 16 random bits.
// implements: N400
class CarryIntoSubnormal {
 public:
  explicit CarryIntoSubnormal(int random_bits)
      : bits_(_mm_cvtsi32_si128(random_bits)),
        scale_(_mm256_castsi256_ps(_mm256_set1_epi32((127 + 24 + random_bits) << 23))) {}

  SOFTAMP_LANES __m256 operator()(__m256 x, const char* numbers) const {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m256i n = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers)));
    const __m256i scaled = _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_andnot_ps(sign, x), scale_));
    const __m256i quanta = _mm256_srl_epi32(_mm256_add_epi32(scaled, n), bits_);
    return _mm256_or_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(quanta), _mm256_set1_ps(0x1p-24f)), _mm256_and_ps(x, sign));
  }

 private:
  __m128i bits_;
  __m256 scale_;
};

/// Rounds kCount vectors of `values`, exact sums, from vector `first` on, each lane in the way of its size. False for
/// an overflow, an infinity or a NaN.
template <size_t kCount, int kRelation, class Numbers>
[[gnu::noinline]] bool round_finite(int random_bits, const CarryIntoNormal<kRelation>& carry, const Numbers& numbers,
                                    size_t first, float* values) {
  const CarryIntoSubnormal small(random_bits);
  const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF), least = _mm256_set1_epi32(0x38800000),  // 2^-14
      most = _mm256_set1_epi32(0x477FFFFF);                                                        // below 65536
  __m256i beyond = _mm256_setzero_si256();
  for (size_t f = first; f < first + kCount; ++f) {
    const __m256 x = _mm256_load_ps(values + 8 * f);
    const __m256i added = carry.added(x, numbers.of_vector(f));
    beyond = _mm256_or_si256(beyond, _mm256_cmpgt_epi32(_mm256_and_si256(added, magnitude), most));
    const __m256i is_small = _mm256_cmpgt_epi32(least, _mm256_and_si256(_mm256_castps_si256(x), magnitude));
    _mm256_store_ps(values + 8 * f,
                    _mm256_blendv_ps(cut(added), small(x, numbers.of_vector(f)), _mm256_castsi256_ps(is_small)));
  }
  return _mm256_testz_si256(beyond, beyond);
}

}  // namespace
}  // namespace softamp::emu
