// Products with a rounding to half after every multiply-add, exact: to nearest
// through fp32 rounded to odd (N403), stochastically (carry) through fp32
// truncated (N402).
#include "emu/bulk/round_body.h"
#include "emu/products/product_avx512_body.h"
#include "emu/products/product_odd_body.h"
#include "emu/products/product_random_avx512_body.h"
#include "emu/products/product_range_avx512_body.h"
#include "emu/products/product_ways.h"

namespace softamp::emu {
namespace {

template <size_t kPerRow>
using Numbers = TileNumbers<kVectorsOfTile / kPerRow, 16 * kPerRow>;

/// Exact sums a b + c of pairs of vectors, rounded: by truncation to fp32 where
/// that reads no random bit wrongly, else by binary64 rounded to odd. Each
/// returns false where one may overflow.
template <size_t kPerRow>
struct PairRounder {
  const ProductPlan& plan;
  const Numbers<kPerRow>& numbers;

  bool truncated(float a, const float* b, const char* r, float* acc) const {
    const Carry<false> carry(plan.half.random_bits);
    const __m512 sum = _mm512_fmadd_round_ps(_mm512_set1_ps(a), _mm512_loadu_ps(b), _mm512_load_ps(acc), kTruncate);
    const HalfLanes lanes = carry.round(sum, r);
    _mm512_store_ps(acc, _mm512_cvtph_ps(lanes.half));
    return all_below_overflow(greatest_magnitude(lanes.rounded, lanes.rounded));
  }
  bool exact(float a, const float* b, const char* r, float* acc) const {
    alignas(64) double sums[kGroup] = {};
    alignas(64) uint16_t lanes[kGroup] = {};
    alignas(64) uint32_t codes[kGroup];
    const F64 x = (F64)_mm512_set1_pd(static_cast<double>(a));
    __m512d greatest = _mm512_setzero_pd();
    for (size_t j = 0; j < 16; j += 8) {
      const F64 sum = fused_to_odd(x, widened(load<F32of64>(b + j)), widened(load<F32of64>(acc + j)));
      greatest = _mm512_max_pd(greatest, _mm512_abs_pd((__m512d)sum));
      store(sums + j, sum);
    }
    __builtin_memcpy(lanes, r, 32);
    Rounder<Lanes64, Random::k16> rounder(plan.half, 0);
    rounder.group(sums, lanes, codes);
    _mm512_store_ps(acc, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_load_si512(codes))));
    // 65504 may go up to 65536; a NaN shows in the end.
    return _mm512_cmp_pd_mask(greatest, _mm512_set1_pd(65504.0), _CMP_GE_OQ) == 0;
  }
  [[gnu::noinline]] bool pairs(unsigned which, const float* a, const float* b, float* acc) const {
    bool good = true;
    for (; which; which &= which - 1) {
      const size_t first = 2 * static_cast<size_t>(__builtin_ctz(which));
      for (size_t f = first; f < first + 2; ++f) {
        const float x = a[f / kPerRow * kAStride];
        const float* const y = b + f % kPerRow * 16;
        good &= plan.half.random_bits <= kDroppedBits ? truncated(x, y, numbers.of_vector(f), acc + 16 * f)
                                                      : exact(x, y, numbers.of_vector(f), acc + 16 * f);
      }
    }
    return good;
  }
};

/// Whether some of 32 sums, truncated to fp32 and with R's upper bits added,
/// end in thirteen ones: then bits that truncation lost and R's lower bits
/// decide about the carry.
SOFTAMP_LANES bool undecided(__m512i first, __m512i second) {
  const __m512i one = _mm512_set1_epi32(1), dropped = _mm512_set1_epi32(0x1FFF);
  return !_kortestz_mask16_u8(_mm512_testn_epi32_mask(_mm512_add_epi32(first, one), dropped),
                              _mm512_testn_epi32_mask(_mm512_add_epi32(second, one), dropped));
}

/// Pair by pair: by integers where the pair's results are all normal and
/// settled by 13 random bits, else by PairRounder.
template <size_t kPerRow, int kRelation>  ///< of the number of random bits to 13
[[gnu::noinline]] bool carry_products(const ProductPlan& plan, const ProductTile& tile, Numbers<kPerRow>& numbers,
                                      float* out) {
  Accumulators<kPerRow> acc;
  acc.load(out);
  const CarryIntoNormal<kRelation != 0> carry(plan.half.random_bits);
  const PairRounder<kPerRow> slow{plan, numbers};
  bool good = true;
  const float* a = tile.a;
  const float* b = tile.b;
  for (size_t s = 0; s < tile.segment_count; ++s)
    for (uint32_t k = 0; k < tile.segments[s].length; ++k, ++a, b += acc.kColumns) {
      numbers.fill(tile.segments[s].number);
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
      if (left) [[unlikely]] {
        alignas(64) float values[kVectorsOfTile * 16];
        acc.store(values);
        good &= slow.pairs(left, a, b, values);
        acc.load(values);
      }
    }
  if (!good || !acc.finite()) return false;
  acc.store(out);
  return true;
}

template <size_t kPerRow>
bool carry_each(const ProductPlan& plan, const kernel::Environment& environment, const ProductTile& tile, float* out) {
  Numbers<kPerRow> numbers(plan, environment, tile);
  const int r = plan.half.random_bits;
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
