// Sums of blocks in lanes of `Sum`, in which products and sums are exact, so that neither their order nor a fused step
// matters; then, for each block, the roundings of N487: RN32(sum), RN32(that times both scales), RN32(y + that).
#pragma once

#include "emu/products/scaled/scaled_block_kernels.h"

namespace softamp::emu {
namespace {

template <class Sum>
[[gnu::noinline]] void scaled_tile(const ScaledTile& t) {
  constexpr size_t kR = kScaledRows, kC = kScaledColumns;
  float y[kR][kC];
  for (size_t r = 0; r < kR; ++r)
    for (size_t c = 0; c < kC; ++c) y[r][c] = t.sums[r * kC + c];
  for (size_t p = 0; p < t.count; ++p) {
    Sum sum[kR][kC] = {};
    for (size_t k = t.pieces[p].begin; k < t.pieces[p].end; ++k) {
      const float* const b = t.b + k * kC;
      for (size_t r = 0; r < kR; ++r) {
        const Sum a = t.a[r][k];
        for (size_t c = 0; c < kC; ++c) sum[r][c] += a * static_cast<Sum>(b[c]);
      }
    }
    const float* const sb = t.scale_b + p * kC;
    for (size_t r = 0; r < kR; ++r) {
      const float sa = t.scale_a[p * kR + r];
      if (t.fp32_scales) {
        for (size_t c = 0; c < kC; ++c) y[r][c] += static_cast<float>(sum[r][c]) * (sa * sb[c]);
      } else {
        // 24 bits times a scale of at most 8, exact in binary64: one rounding.
        for (size_t c = 0; c < kC; ++c)
          y[r][c] += static_cast<float>(static_cast<double>(static_cast<float>(sum[r][c])) *
                                        (static_cast<double>(sa) * static_cast<double>(sb[c])));
      }
    }
  }
  for (size_t r = 0; r < kR; ++r)
    for (size_t c = 0; c < kC; ++c) t.sums[r * kC + c] = y[r][c];
}

void promote_partials(const ScaledPromotion& p) {
  constexpr size_t kC = ScaledPromotion::kColumns;
  const auto each = [&](const auto& next) {
    for (size_t c = 0; c < kC; ++c) p.y[c] = next(__builtin_bit_cast(float, p.partial[c]), p.scale_b[c], p.y[c]);
  };
  const float a = p.scale_a;
  switch (p.promotion) {
    case block::Promotion::kScalesFirst:
      return each([a](float x, float b, float y) { return __builtin_fmaf(a * b, x, y); });
    case block::Promotion::kPartnerLast:
      return each([a](float x, float b, float y) { return __builtin_fmaf(x * a, b, y); });
    case block::Promotion::kUnfused: return each([a](float x, float b, float y) { return y + (x * a) * b; });
  }
}

void scaled_tile_narrow(const ScaledTile& t) { scaled_tile<float>(t); }
void scaled_tile_wide(const ScaledTile& t) { scaled_tile<double>(t); }

}  // namespace
}  // namespace softamp::emu
