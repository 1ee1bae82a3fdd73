// A tile of 6 x 16 outputs in AVX2: 12 vectors, two to a row; and stochastic rounding (carry) of fp32 numbers to values
// of halves by integers, four vectors at a time.
#pragma once

#include "emu/bulk/mxcsr_body.h"
#include "emu/products/product_carry_body.h"
#include "emu/products/product_random_body.h"

namespace softamp::emu {
namespace {

constexpr size_t kRows = 6, kColumns = 16, kVectors = 12, kVectorsAtOnce = 4, kTile = kRows * kColumns;
using Numbers = TileNumbers<kRows, kColumns>;

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

/// Rounds `sum(f)`, f of the four vectors of rows `row` and row + 1, into `out`, the tile. False, and nothing done,
/// where integers do not settle all; kPrecise: sums are truncated, and R's lower bits or what is lost may decide.
template <bool kPrecise, int kRelation, class Sum>
SOFTAMP_LANES bool round_rows(const CarryIntoNormal<kRelation>& carry, const Numbers& numbers, size_t row,
                              const Sum& sum, float* out) {
  Settled settled;
  __m256 rounded[kVectorsAtOnce];
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectorsAtOnce; ++v) {
    const size_t f = 2 * row + v;
    const __m256i added = carry.added(sum(f), numbers.of_vector(f));
    if constexpr (kPrecise)
      settled.see_precise(added);
    else
      settled.see(added);
    rounded[v] = cut(added);
  }
  if (!settled.all()) [[unlikely]]
    return false;
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectorsAtOnce; ++v) _mm256_store_ps(out + 16 * row + 8 * v, rounded[v]);
  return true;
}

/// carry(relation, numbers) for a tile's random numbers; `relation`, a constant: of their bits to 13.
template <class Carry>
bool with_numbers(const ProductPlan& plan, const kernel::Environment& environment, const ProductTile& tile, float* acc,
                  const Carry& carry) {
  const int bits = plan.half.random_bits;
  Numbers numbers(bits, environment, 0, tile);
  occupy_padding(tile, kRows, kColumns, acc);
  if (bits == kDroppedBits) return carry(std::integral_constant<int, 0>(), numbers);
  if (bits < kDroppedBits) return carry(std::integral_constant<int, -1>(), numbers);
  return carry(std::integral_constant<int, 1>(), numbers);
}

/// Copies a tile if all of it are finite: 0 times each is a zero then, else NaN.
SOFTAMP_LANES bool copy_finite(const float* tile, float* to) {
  const __m256 zero = _mm256_setzero_ps();
  __m256 sum[2] = {zero, zero};
  for (size_t f = 0; f < kVectors; ++f) sum[f % 2] = _mm256_fmadd_ps(_mm256_load_ps(tile + 8 * f), zero, sum[f % 2]);
  if (_mm256_movemask_ps(_mm256_cmp_ps(sum[0], sum[1], _CMP_UNORD_Q))) return false;
  for (size_t f = 0; f < kVectors; ++f) _mm256_store_ps(to + 8 * f, _mm256_load_ps(tile + 8 * f));
  return true;
}

}  // namespace
}  // namespace softamp::emu
