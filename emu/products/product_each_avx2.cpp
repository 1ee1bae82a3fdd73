// Products with a rounding to half after every multiply-add, exact, in AVX2, which has no rounding modes of its own:
// MXCSR says "toward zero" meanwhile. To nearest through fp32 rounded to odd (N403), stochastically (carry) through
// fp32 truncated (N402).
#include "emu/products/product_avx2_body.h"
#include "emu/products/product_ways.h"

namespace softamp::emu {
namespace {

/// For operands whose products p are exact in fp32. The sum s = p + c, truncated, is exact just where s - c, truncated,
/// is p. If s is short of the sum by an error of s's sign, s - c is p less that error. Truncated it could only be p if
/// the error had the sign that p has not, and were less than p's last place. But then |c| > |p|, so that c, p, s and
/// the error are multiples of p's last place.
// implements: N403
[[gnu::noinline]] bool nearest_products(const ProductTile& tile, float* out) {
  __m256 c[kVectors];
#pragma GCC unroll 12
  for (size_t f = 0; f < kVectors; ++f) c[f] = _mm256_load_ps(out + 8 * f);
  const __m256 last_bit = _mm256_castsi256_ps(_mm256_set1_epi32(1));
  const float* a = tile.a;
  const float* b = tile.b;
  size_t length = 0;
  for (size_t s = 0; s < tile.segment_count; ++s) length += tile.segments[s].length;
  for (; length; --length, ++a, b += kColumns) {
    const __m256 y[2] = {_mm256_loadu_ps(b), _mm256_loadu_ps(b + 8)};
#pragma GCC unroll 12
    for (size_t f = 0; f < kVectors; ++f) {
      const __m256 p = _mm256_mul_ps(_mm256_broadcast_ss(a + f / 2 * kAStride), y[f % 2]);
      const __m256 s = _mm256_add_ps(p, c[f]);
      const __m256 inexact = _mm256_cmp_ps(_mm256_sub_ps(s, c[f]), p, _CMP_NEQ_UQ);
      const __m256 odd = _mm256_or_ps(s, _mm256_and_ps(inexact, last_bit));
      c[f] = _mm256_cvtph_ps(_mm256_cvtps_ph(odd, _MM_FROUND_TO_NEAREST_INT));
    }
  }
  alignas(32) float sums[kTile];
#pragma GCC unroll 12
  for (size_t f = 0; f < kVectors; ++f) _mm256_store_ps(sums + 8 * f, c[f]);
  return copy_finite(sums, out);
}

/// Four vectors' sums, of rows `row` and row + 1. False for an overflow.
[[gnu::noinline]] bool exact_sums(int random_bits, const Numbers& numbers, const float* a, const float* b, size_t row,
                                  float* sums) {
  ExactCarry exact(random_bits);
  for (size_t f = 2 * row; f < 2 * row + kVectorsAtOnce; ++f)
    exact.add(a[f / 2 * kAStride], b + f % 2 * 8, numbers.of_vector(f), sums + 8 * f);
  return !exact.beyond();
}

template <int kRelation>  ///< of the number of random bits to 13
[[gnu::noinline]] bool carry_products(const ProductPlan& plan, const ProductTile& tile, Numbers& numbers, float* out) {
  alignas(32) float sums[kTile];
  for (size_t f = 0; f < kVectors; ++f) _mm256_store_ps(sums + 8 * f, _mm256_load_ps(out + 8 * f));
  const CarryIntoNormal<kRelation> carry(plan.half.random_bits);
  bool good = true;
  const float* a = tile.a;
  const float* b = tile.b;
  Steps steps(tile.segments, tile.segment_count);
  numbers.draw(steps.number());
  for (; !steps.done(); ++a, b += kColumns) {
    numbers.turn();
    steps.next();
    if (!steps.done()) numbers.draw(steps.number());
    const __m256 y[2] = {_mm256_loadu_ps(b), _mm256_loadu_ps(b + 8)};
#pragma GCC unroll 3
    for (size_t row = 0; row < kRows; row += 2) {
      if (row >= tile.rows) break;
      const auto sum = [&](size_t f) {
        return _mm256_fmadd_ps(_mm256_broadcast_ss(a + f / 2 * kAStride), y[f % 2], _mm256_load_ps(sums + 8 * f));
      };
      if (!round_normal<kVectorsAtOnce, (kRelation > 0)>(carry, numbers, 2 * row, sum, sums)) [[unlikely]]
        good &= exact_sums(plan.half.random_bits, numbers, a, b, row, sums);
    }
  }
  return good && copy_finite(sums, out);
}

}  // namespace

bool product_nearest_each_avx2(const ProductPlan&, const kernel::Environment&, const ProductTile& tile, float* acc) {
  const TowardZero mode;
  return nearest_products(tile, acc);
}

bool product_carry_each_avx2(const ProductPlan& plan, const kernel::Environment& environment, const ProductTile& tile,
                             float* acc) {
  return with_numbers(plan, environment, tile, acc, [&](auto relation, Numbers& numbers) {
    const TowardZero mode;
    return carry_products<relation()>(plan, tile, numbers, acc);
  });
}

}  // namespace softamp::emu
