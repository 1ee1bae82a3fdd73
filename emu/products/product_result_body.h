// The results of a tile rounded to halves stochastically (carry): by integers where all are normal, else by ExactCarry.
#pragma once

#include "emu/bulk/mxcsr_body.h"
#include "emu/products/product_carry_body.h"
#include "emu/products/product_random_body.h"

namespace softamp::emu {
namespace {

SOFTAMP_LANES void store_truncated(F32 x, uint16_t* codes) {
#if defined(__AVX512F__)
  store(codes, _mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
#else
  store(codes, _mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_ZERO));
#endif
}

template <class Numbers>
[[gnu::noinline]] bool exact_results(int random_bits, const Numbers& numbers, size_t count, float* values,
                                     uint16_t* codes) {
  constexpr size_t kLanes = sizeof(F32) / 4;
  ExactCarry exact(random_bits);
  for (size_t f = 0; f < count / kLanes; ++f) {
    exact.round(numbers.of_vector(f), values + f * kLanes);
    store_truncated(load<F32>(values + f * kLanes), codes + f * kLanes);
  }
  return !exact.beyond();
}

/// ProductKernels::result, of tiles of kColumns columns and at most kRows rows.
template <size_t kRows, size_t kColumns>
bool product_result(const ProductPlan& plan, const kernel::Environment& environment, const ProductTile& tile,
                    const float* results, uint16_t* codes) {
  constexpr size_t kLanes = sizeof(F32) / 4;
  constexpr uint32_t kLeast = 0x38802000u, kOverflow = 0x47800000u;  // of normal results after R has been added
  const int bits = plan.result.random_bits, up = bits < kDroppedBits ? kDroppedBits - bits : 0,
            down = bits > kDroppedBits ? bits - kDroppedBits : 0;
  TileNumbers<kRows, kColumns> numbers(bits, environment, 1, tile);
  numbers.draw(0);
  numbers.turn();
  const size_t count = tile.rows * kColumns;
  alignas(64) float values[kRows * kColumns];
  for (size_t i = 0; i < count; i += kLanes) store(values + i, load<F32>(results + i));
  occupy_padding(tile, tile.rows, kColumns, values);
  U32 outside = {};
  for (size_t f = 0; f < count / kLanes; ++f) {
    const U32 number = __builtin_convertvector(load<U16of32>(numbers.of_vector(f)), U32);
    const U32 added = load<U32>(values + f * kLanes) + (number >> down << up);
    outside |= (U32)(added + added - 2 * kLeast >= 2 * (kOverflow - kLeast));
    store_truncated((F32)added, codes + f * kLanes);
  }
  if (!any(outside)) [[likely]]
    return true;
#if !defined(__AVX512F__)
  const TowardZero mode;
#endif
  return exact_results(bits, numbers, count, values, codes);
}

}  // namespace
}  // namespace softamp::emu
