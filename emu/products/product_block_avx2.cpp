// Products whose partials are rounded to halves at the end of a block, in AVX2: to nearest by F16C, stochastically
// (carry) by integers. And results rounded so.
#include "emu/products/product_avx2_body.h"
#include "emu/products/product_result_body.h"
#include "emu/products/product_ways.h"

namespace softamp::emu {
namespace {

/// A tile's accumulators in registers.
struct Accumulators {
  __m256 c[kVectors];

  SOFTAMP_LANES void load(const float* acc) {
#pragma GCC unroll 12
    for (size_t f = 0; f < kVectors; ++f) c[f] = _mm256_load_ps(acc + 8 * f);
  }
  SOFTAMP_LANES void store(float* acc) const {
#pragma GCC unroll 12
    for (size_t f = 0; f < kVectors; ++f) _mm256_store_ps(acc + 8 * f, c[f]);
  }
  /// acc = fma(a, b, acc) for `length` products (>= 1).
  SOFTAMP_LANES void chain(const float*& a, const float*& b, size_t length) {
    const float* const end = a + length;
    do {
      const __m256 y[2] = {_mm256_loadu_ps(b), _mm256_loadu_ps(b + 8)};
#pragma GCC unroll 12
      for (size_t f = 0; f < kVectors; ++f)
        c[f] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + f / 2 * kAStride), y[f % 2], c[f]);
      ++a, b += kColumns;
    } while (a != end);
  }
};

template <int kRelation>
[[gnu::noinline]] bool carry_blocks(const ProductPlan& plan, const ProductTile& tile, Numbers& numbers, float* out) {
  alignas(32) float values[kTile];
  Accumulators acc;
  acc.load(out);
  acc.store(values);
  const CarryIntoNormal<kRelation> carry(plan.half.random_bits);
  bool good = true;
  const float* a = tile.a;
  const float* b = tile.b;
  for (size_t s = 0; s < tile.segment_count; ++s) {
    const Segment segment = tile.segments[s];
    // The numbers first: the chain runs while they are made.
    if (segment.rounds) numbers.draw(segment.number);
    acc.load(values);
    acc.chain(a, b, segment.length);
    acc.store(values);
    if (!segment.rounds) continue;
    numbers.turn();
#pragma GCC unroll 3
    for (size_t row = 0; row < kRows; row += 2) {
      const auto value = [&](size_t f) { return _mm256_load_ps(values + 8 * f); };
      if (row < tile.rows && !round_normal<kVectorsAtOnce, false>(carry, numbers, 2 * row, value, values)) [[unlikely]]
        good &= round_finite<kVectorsAtOnce>(plan.half.random_bits, carry, numbers, 2 * row, values);
    }
  }
  return good && copy_finite(values, out);
}

}  // namespace

bool product_nearest_avx2(const ProductPlan&, const kernel::Environment&, const ProductTile& tile, float* out) {
  Accumulators acc;
  acc.load(out);
  const float* a = tile.a;
  const float* b = tile.b;
  for (size_t s = 0; s < tile.segment_count; ++s) {
    acc.chain(a, b, tile.segments[s].length);
    if (!tile.segments[s].rounds) continue;
#pragma GCC unroll 12
    for (__m256& c : acc.c) c = _mm256_cvtph_ps(_mm256_cvtps_ph(c, _MM_FROUND_TO_NEAREST_INT));
  }
  // An overflow has become an infinity, and nothing that begins with one ends finite.
  alignas(32) float values[kTile];
  acc.store(values);
  return copy_finite(values, out);
}

bool product_carry_avx2(const ProductPlan& plan, const kernel::Environment& environment, const ProductTile& tile,
                        float* acc) {
  return with_numbers(plan, environment, tile, acc, [&](auto relation, Numbers& numbers) {
    return carry_blocks<relation()>(plan, tile, numbers, acc);
  });
}

bool product_result_avx2(const ProductPlan& plan, const kernel::Environment& environment, const ProductTile& tile,
                         const float* results, uint16_t* codes) {
  return product_result<kRows, kColumns>(plan, environment, tile, results, codes);
}

}  // namespace softamp::emu
