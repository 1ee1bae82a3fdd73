// A tile of 6 x 16 outputs in AVX2: 12 vectors, two to a row, rounded four at a time.
#pragma once

#include "emu/bulk/mxcsr_body.h"
#include "emu/products/product_carry_body.h"
#include "emu/products/product_random_body.h"
#include "emu/products/product_range_avx2_body.h"

namespace softamp::emu {
namespace {

constexpr size_t kRows = 6, kColumns = 16, kVectors = 12, kVectorsAtOnce = 4, kTile = kRows * kColumns;
using Numbers = TileNumbers<kRows, kColumns>;

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
