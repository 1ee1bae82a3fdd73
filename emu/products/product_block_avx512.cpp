// Products whose partials are rounded to halves at the end of a block: to
// nearest by the hardware's conversions, stochastically (carry) by CarryPairs.
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

template <size_t kPerRow, bool kShifted>
[[gnu::noinline]] bool carry_blocks(const ProductPlan& plan, const ProductTile& tile, Numbers<kPerRow>& numbers,
                                    float* out) {
  Accumulators<kPerRow> acc;
  acc.load(out);
  CarryPairs<kShifted> carry(plan.half.random_bits);
  blocks(tile, acc, [&](uint32_t number) {
    numbers.draw(number);
    numbers.turn();
    SOFTAMP_FOR_PAIRS carry.round(acc.c[f], numbers.of_vector(f), acc.c[f + 1], numbers.of_vector(f + 1));
  });
  if (!carry.good() || !acc.finite()) return false;
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
