// Products whose partials are rounded to halves at the end of a block: to
// nearest by the hardware's conversions, stochastically (carry) by integers
// where all results are normal, else by a truncating fma (half_avx512_body.h).
#include "emu/products/product_avx512_body.h"
#include "emu/products/product_random_body.h"
#include "emu/products/product_range_avx512_body.h"
#include "emu/products/product_result_body.h"
#include "emu/products/product_ways.h"

namespace softamp::emu {
namespace {

template <size_t kPerRow>
using Numbers = TileNumbers<kVectorsOfTile / kPerRow, 16 * kPerRow>;

/// The chain with `round(number)` at the end of every block.
template <size_t kPerRow, class Round>
SOFTAMP_LANES void blocks(const ProductTile& tile, Accumulators<kPerRow>& acc, const Round& round) {
  const float* a = tile.a;
  const float* b = tile.b;
  for (size_t s = 0; s < tile.segment_count; ++s) {
    const Segment segment = tile.segments[s];
    acc.chain(a, b, segment.length);
    if (segment.rounds) round(segment.number);
  }
}

/// Rounds the pairs of vectors of `values` whose bits are set in `pairs`, for all finite numbers. Returns false for an
/// overflow.
template <size_t kPerRow>
[[gnu::noinline]] bool round_pairs(int random_bits, const Numbers<kPerRow>& numbers, unsigned pairs, float* values) {
  const Carry<false> carry(random_bits);
  __m512 greatest = _mm512_setzero_ps();
  for (; pairs; pairs &= pairs - 1) {
    const size_t first = 2 * static_cast<size_t>(__builtin_ctz(pairs));
    for (size_t f = first; f < first + 2; ++f) {
      const HalfLanes lanes = carry.round(_mm512_load_ps(values + 16 * f), numbers.of_vector(f));
      greatest = greatest_magnitude(greatest, lanes.rounded);
      _mm512_store_ps(values + 16 * f, _mm512_cvtph_ps(lanes.half));
    }
  }
  return all_below_overflow(greatest);
}

/// Pair by pair: by integers where the pair's results are all normal, else by
/// round_pairs.
template <size_t kPerRow, bool kShifted>
[[gnu::noinline]] bool carry_blocks(const ProductPlan& plan, const ProductTile& tile, Numbers<kPerRow>& numbers,
                                    float* out) {
  Accumulators<kPerRow> acc;
  acc.load(out);
  const CarryIntoNormal<kShifted> carry(plan.half.random_bits);
  bool good = true;
  blocks(tile, acc, [&](uint32_t number) {
    numbers.draw(number);
    numbers.turn();
    unsigned left = 0;
    SOFTAMP_FOR_PAIRS {
      const __m512 first = carry(acc.c[f], numbers.of_vector(f));
      const __m512 second = carry(acc.c[f + 1], numbers.of_vector(f + 1));
      if (outside_normal(first, second)) [[unlikely]] {
        left |= 1u << f / 2;
      } else {
        acc.c[f] = first;
        acc.c[f + 1] = second;
      }
    }
    good &= acc.unless_settled(
        left, [&](float* values) { return round_pairs<kPerRow>(plan.half.random_bits, numbers, left, values); });
  });
  if (!good || !acc.finite()) return false;
  acc.store(out);
  return true;
}

template <size_t kPerRow>
bool nearest_blocks(const ProductTile& tile, float* out) {
  Accumulators<kPerRow> acc;
  acc.load(out);
  blocks(tile, acc,
         [&](uint32_t) { SOFTAMP_FOR_VECTORS acc.c[f] = _mm512_cvtph_ps(_mm512_cvtps_ph(acc.c[f], kNearestEven)); });
  // An overflow has become an infinity, and nothing that begins with one ends
  // finite.
  if (!acc.finite()) return false;
  acc.store(out);
  return true;
}

template <size_t kPerRow>
bool carry(const ProductPlan& plan, const kernel::Environment& environment, const ProductTile& tile, float* out) {
  Numbers<kPerRow> numbers(plan.half.random_bits, environment, 0, tile);
  occupy_padding(tile, Accumulators<kPerRow>::kRows, Accumulators<kPerRow>::kColumns, out);
  const bool shifted = plan.half.random_bits != kDroppedBits;
  return (shifted ? carry_blocks<kPerRow, true> : carry_blocks<kPerRow, false>)(plan, tile, numbers, out);
}

}  // namespace

bool product_nearest_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile& tile, float* acc) {
  return nearest_blocks<2>(tile, acc);
}
bool product_nearest_slender_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile& tile,
                                    float* acc) {
  return nearest_blocks<1>(tile, acc);
}
bool product_carry_avx512(const ProductPlan& plan, const kernel::Environment& environment, const ProductTile& tile,
                          float* acc) {
  return carry<2>(plan, environment, tile, acc);
}
bool product_carry_slender_avx512(const ProductPlan& plan, const kernel::Environment& environment,
                                  const ProductTile& tile, float* acc) {
  return carry<1>(plan, environment, tile, acc);
}
bool product_result_avx512(const ProductPlan& plan, const kernel::Environment& environment, const ProductTile& tile,
                           const float* results, uint16_t* codes) {
  return product_result<12, 32>(plan, environment, tile, results, codes);
}
bool product_result_slender_avx512(const ProductPlan& plan, const kernel::Environment& environment,
                                   const ProductTile& tile, const float* results, uint16_t* codes) {
  return product_result<24, 16>(plan, environment, tile, results, codes);
}

}  // namespace softamp::emu
