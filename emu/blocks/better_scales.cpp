#include "emu/blocks/better_scales.h"

#include <bit>
#include <cmath>

namespace softamp::emu {
namespace {

constexpr size_t kMostBlocks = kBlockStrip / kChoosingBlock + kBlockGroup, kMostElements = kBlockStrip + kBlockGroup;

/// The sums of the errors that elements have under these scales.
void block_errors(const BlockKernels& kernels, const BlockPlan& plan, const float* x, size_t n, const uint8_t* kept,
                  const float* factor, float* errors) {
  const ScalePlan& p = plan.scale;
  alignas(64) float values[kMostBlocks], y[kMostElements];
  const size_t blocks = (n + kChoosingBlock - 1) / kChoosingBlock;
  for (size_t b = 0; b < kMostBlocks; ++b) {
    const uint32_t m = b < blocks ? kept[b] & 0x7Fu : 0;
    values[b] = m < 8 ? static_cast<float>(m) * 0x1p-9F : std::bit_cast<float>((m << 20) + (120u << 23));
  }
  kernels.fake(plan.element, x, {factor, kChoosingBlock}, values, n, y, {});
  if (p.squares)
    for (size_t i = 0; i < n; ++i) y[i] = (y[i] * p.tensor_amax / p.largest_product - x[i]), y[i] *= y[i];
  else
    for (size_t i = 0; i < n; ++i) y[i] = std::fabs(y[i] * p.tensor_amax / p.largest_product - x[i]);
  for (size_t b = 0; b < blocks; ++b) {
    float sum = 0;
    for (size_t i = b * kChoosingBlock; i < std::min(n, (b + 1) * kChoosingBlock); ++i) sum += y[i];
    errors[b] = sum;
  }
}

}  // namespace

bool better_scales(const BlockKernels& kernels, const BlockPlan& plan, const float* x, size_t n, const uint32_t* amax,
                   size_t whole, const ScaledBlocks& out) {
  alignas(64) uint32_t kept[kMostBlocks];
  alignas(64) float factor[kMostBlocks], decode[kMostBlocks];
  float to_six[kMostBlocks], to_four[kMostBlocks];
  bool special = kernels.scales(plan.scale, amax, whole, out.kept, out.factor, out.decode);
  special |= kernels.scales(plan.wider, amax, whole, kept, factor, decode);
  auto* const bytes = reinterpret_cast<uint8_t*>(out.kept);
  const auto* const wider = reinterpret_cast<const uint8_t*>(kept);
  block_errors(kernels, plan, x, n, bytes, out.factor, to_six);
  block_errors(kernels, plan, x, n, wider, factor, to_four);
  for (size_t b = 0; b * kChoosingBlock < n; ++b) {
    // A factor that is NaN marks a special block, under either scale.
    if (!(to_four[b] < to_six[b]) && factor[b] == factor[b]) continue;
    bytes[b] = wider[b];
    out.factor[b] = out.factor[b] == out.factor[b] ? factor[b] : out.factor[b];
    out.decode[b] = decode[b];
  }
  return special;
}

}  // namespace softamp::emu
