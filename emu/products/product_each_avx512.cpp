// Products with a rounding to half after every multiply-add, exact: to nearest
// through fp32 rounded to odd (N403), stochastically (carry) through fp32
// truncated (N402).
#include "emu/products/product_avx512_body.h"
#include "emu/products/product_random_body.h"
#include "emu/products/product_range_avx512_body.h"
#include "emu/products/product_ways.h"

namespace softamp::emu {
namespace {

template <size_t kPerRow>
using Numbers = TileNumbers<kVectorsOfTile / kPerRow, 16 * kPerRow>;

/// Sums a b + c of the pairs of vectors of `values` whose bits are set, rounded. False for an overflow.
template <size_t kPerRow>
[[gnu::noinline]] bool exact_sums(int random_bits, const Numbers<kPerRow>& numbers, unsigned pairs, const float* a,
                                  const float* b, float* values) {
  ExactCarry exact(random_bits);
  for (; pairs; pairs &= pairs - 1) {
    const size_t first = 2 * static_cast<size_t>(__builtin_ctz(pairs));
    for (size_t f = first; f < first + 2; ++f)
      exact.add(a[f / kPerRow * kAStride], b + f % kPerRow * 16, numbers.of_vector(f), values + 16 * f);
  }
  return !exact.beyond();
}

/// Whether some of 32 sums, truncated to fp32 and with R's upper bits added,
/// end in thirteen ones: then bits that truncation lost and R's lower bits
/// decide about the carry.
SOFTAMP_LANES bool undecided(__m512i first, __m512i second) {
  const __m512i one = _mm512_set1_epi32(1), dropped = _mm512_set1_epi32(0x1FFF);
  return !_kortestz_mask16_u8(_mm512_testn_epi32_mask(_mm512_add_epi32(first, one), dropped),
                              _mm512_testn_epi32_mask(_mm512_add_epi32(second, one), dropped));
}

/// Pair by pair: by integers where the pair's results are all normal and settled by 13 random bits, else by exact_sums.
template <size_t kPerRow, int kRelation>  ///< of the number of random bits to 13
[[gnu::noinline]] bool carry_products(const ProductPlan& plan, const ProductTile& tile, Numbers<kPerRow>& numbers,
                                      float* out) {
  Accumulators<kPerRow> acc;
  acc.load(out);
  const CarryIntoNormal<kRelation != 0> carry(plan.half.random_bits);
  bool good = true;
  const float* a = tile.a;
  const float* b = tile.b;
  for (Steps steps(tile.segments, tile.segment_count); !steps.done(); steps.next(), ++a, b += acc.kColumns) {
    numbers.draw(steps.number());
    numbers.turn();
    __m512 y[kPerRow];
#pragma GCC unroll 2
    for (size_t v = 0; v < kPerRow; ++v) y[v] = _mm512_loadu_ps(b + 16 * v);
    const auto added = [&](size_t f) {
      const __m512 x = _mm512_set1_ps(a[f / kPerRow * kAStride]);
      return carry.added(_mm512_fmadd_round_ps(x, y[f % kPerRow], acc.c[f], kTruncate), numbers.of_vector(f));
    };
    unsigned left = 0;
    SOFTAMP_FOR_PAIRS {
      const __m512i first = added(f), second = added(f + 1);
      const __m512 first_cut = carry.cut(first), second_cut = carry.cut(second);
      if (outside_normal(first_cut, second_cut) || (kRelation > 0 && undecided(first, second))) [[unlikely]] {
        left |= 1u << f / 2;
      } else {
        acc.c[f] = first_cut;
        acc.c[f + 1] = second_cut;
      }
    }
    good &= acc.unless_settled(
        left, [&](float* values) { return exact_sums<kPerRow>(plan.half.random_bits, numbers, left, a, b, values); });
  }
  if (!good || !acc.finite()) return false;
  acc.store(out);
  return true;
}

template <size_t kPerRow>
bool carry_each(const ProductPlan& plan, const kernel::Environment& environment, const ProductTile& tile, float* out) {
  Numbers<kPerRow> numbers(plan.half.random_bits, environment, 0, tile);
  const int r = plan.half.random_bits;
  occupy_padding(tile, Accumulators<kPerRow>::kRows, Accumulators<kPerRow>::kColumns, out);
  return (r == kDroppedBits  ? carry_products<kPerRow, 0>
          : r < kDroppedBits ? carry_products<kPerRow, -1>
                             : carry_products<kPerRow, 1>)(plan, tile, numbers, out);
}

template <size_t kPerRow>
bool nearest_each(const ProductTile& tile, float* out) {
  Accumulators<kPerRow> acc;
  acc.load(out);
  const __m512i one = _mm512_set1_epi32(1);
  const float* a = tile.a;
  const float* b = tile.b;
  size_t length = 0;
  for (size_t s = 0; s < tile.segment_count; ++s) length += tile.segments[s].length;
  for (; length; --length, ++a, b += acc.kColumns) {
    __m512 y[kPerRow];
#pragma GCC unroll 2
    for (size_t v = 0; v < kPerRow; ++v) y[v] = _mm512_loadu_ps(b + 16 * v);
    SOFTAMP_FOR_VECTORS {
      // Of the two neighbours of the exact value, the odd one; equal ones are
      // the value.
      const __m512 x = _mm512_set1_ps(a[f / kPerRow * kAStride]);
      const __m512 down = _mm512_fmadd_round_ps(x, y[f % kPerRow], acc.c[f], kDownward);
      const __m512 up = _mm512_fmadd_round_ps(x, y[f % kPerRow], acc.c[f], kUpward);
      const __mmask16 odd = _mm512_test_epi32_mask(_mm512_castps_si512(down), one);
      acc.c[f] = _mm512_cvtph_ps(_mm512_cvtps_ph(_mm512_mask_mov_ps(up, odd, down), kNearestEven));
    }
  }
  if (!acc.finite()) return false;
  acc.store(out);
  return true;
}

}  // namespace

bool product_nearest_each_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile& tile, float* acc) {
  return nearest_each<2>(tile, acc);
}
bool product_nearest_each_slender_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile& tile,
                                         float* acc) {
  return nearest_each<1>(tile, acc);
}
bool product_carry_each_avx512(const ProductPlan& plan, const kernel::Environment& environment, const ProductTile& tile,
                               float* acc) {
  return carry_each<2>(plan, environment, tile, acc);
}
bool product_carry_each_slender_avx512(const ProductPlan& plan, const kernel::Environment& environment,
                                       const ProductTile& tile, float* acc) {
  return carry_each<1>(plan, environment, tile, acc);
}

}  // namespace softamp::emu
