// The bodies of the operations of block formats: FakeQuantize, HadamardTransform, Fp8ScaleUpdate (N495 to N498).
//
//   FakeQuantize       y = the value that x has after it was quantised in blocks (numerics/block/block_format.h);
//                      with a factor: y = RN32(v(code of RN32(x factor)) RN32(1 / factor)), elements by themselves
//   HadamardTransform  y = x H along an axis, tile by tile; H[i, j] = s[i] (-1)^popcount(i and j) / sqrt(size)
//   Fp8ScaleUpdate     delayed scaling: the factor of the next step from the greatest magnitudes of those before
//
// None raises a flag: what leaves a format's range saturates by the format's own rule, and a NaN is passed on as its
// block's scale or element says.
#pragma once

#include "softamp/kernel/environment.h"
#include "softamp/numerics/block/block_format.h"
#include "softamp/numerics/operations.h"

namespace softamp::kernel {

/// An array as its blocks see it: `length` elements along the axis, `outer` before it, `inner` behind it; blocks of
/// rows x size elements, all at least 1. A block that has the whole array sees it as one row.
struct BlockGrid {
  uint64_t outer, length, inner, rows, size;

  static SOFTAMP_INLINE BlockGrid of(const block::BlockFormat& f, uint64_t outer, uint64_t length, uint64_t inner) {
    if (f.rows == 0) return {1, outer * length * inner, 1, 1, outer * length * inner};
    const uint64_t size = f.size == 0 ? length : static_cast<uint64_t>(f.size);
    return {outer, length, inner, static_cast<uint64_t>(f.rows), size == 0 ? 1 : size};
  }
  SOFTAMP_INLINE uint64_t along() const { return (length + size - 1) / size; }
  SOFTAMP_INLINE uint64_t blocks() const { return (outer + rows - 1) / rows * along() * inner; }
  /// What a block of row-major number `b` has: elements k of rows first_row .. last_row - 1, at first + step k each.
  struct Extent {
    uint64_t first_row, last_row, first, count;
  };
  SOFTAMP_INLINE Extent extent(uint64_t b) const {
    const uint64_t k = b % inner, at = b / inner % along(), row = b / inner / along() * rows;
    const uint64_t from = at * size, to = from + size < length ? from + size : length;
    return {row, row + rows < outer ? row + rows : outer, from * inner + k, to - from};
  }
  SOFTAMP_INLINE uint64_t element(const Extent& e, uint64_t row, uint64_t k) const {
    return row * length * inner + e.first + k * inner;
  }
};

/// The greatest magnitude of a block, an fp32 code, of elements number first, first + step, ...
template <class X>
SOFTAMP_INLINE uint32_t block_magnitude(const BlockGrid& g, const BlockGrid::Extent& e, const X& x, bool nan_counts,
                                        uint64_t first = 0, uint64_t step = 1) {
  uint32_t greatest = 0;
  for (uint64_t i = first; i < (e.last_row - e.first_row) * e.count; i += step) {
    const uint32_t m = x[g.element(e, e.first_row + i / e.count, i % e.count)] & 0x7FFFFFFFu;
    if (m > greatest && (nan_counts || m <= 0x7F800000u)) greatest = m;
  }
  return greatest;
}

/// The scale of a block of greatest magnitude `amax`; x: the array's fp32 codes.
template <class X>
SOFTAMP_INLINE block::BlockScale scale_of_block(const block::BlockFormat& f, const BlockGrid& g,
                                                const BlockGrid::Extent& e, const X& x,
                                                const block::Nvfp4Tensor& tensor, uint32_t amax) {
  return block::block_scale(f, tensor, amax, e.last_row - e.first_row, e.count,
                            [&](uint64_t r, uint64_t k) { return x[g.element(e, e.first_row + r, k)]; });
}

/// The value (an fp32 code) of x, element `index` of the array, in a block with that scale.
// implements: N496
SOFTAMP_INLINE uint32_t fake_quantized(const block::BlockFormat& f, const block::BlockScale& scale, uint32_t x,
                                       const Environment& e, uint64_t index) {
  return block::block_value(f, scale, block::block_code(f, scale, x, e.draw(f.rounding(), 0, index)).code);
}

/// The same of an element by itself, multiplied by a factor before and divided by it after.
// implements: N496
SOFTAMP_INLINE uint32_t fake_quantized_by(const block::BlockFormat& f, uint32_t factor, uint32_t x,
                                          const Environment& e, uint64_t index) {
  using namespace block::detail32;
  const uint32_t y = fake_quantized(f, {}, mul(x, factor), e, index);
  return mul(y, div(kOne, factor));
}

/// Whether H[i, j] is negative.
SOFTAMP_INLINE bool hadamard_minus(uint64_t signs, uint64_t i, uint64_t j) {
  uint64_t both = i & j;
  bool minus = (signs >> (i % 64) & 1) != 0;
  for (; both; both &= both - 1) minus = !minus;
  return minus;
}
SOFTAMP_INLINE double hadamard_factor(uint64_t size) {
  double factor = 1;
  for (; size >= 4; size /= 4) factor /= 2;
  return size == 2 ? factor * 0.70710678118654752440 : factor;
}
SOFTAMP_INLINE float hadamard_result(double sum, double factor) {
  const float y = static_cast<float>(sum * factor);
  return y != y ? __builtin_bit_cast(float, 0x7FC00000u) : y;
}

/// Element j of a tile's transform: the sum of s[i] (-1)^popcount(i and j) x[i], i ascending, in binary64, times
/// 2^(-log2(size) / 2) (rounded to binary64 where that is no power of two), rounded once to fp32.
///
/// signs: bit i of it is set where s[i] is -1.
// implements: N497
template <class X>
SOFTAMP_INLINE float hadamard(const X& x, uint64_t size, uint64_t signs, uint64_t j) {
  double sum = 0;
  for (uint64_t i = 0; i < size; ++i) {
    const double term = static_cast<double>(x[i]);
    sum = hadamard_minus(signs, i, j) ? sum - term : sum + term;
  }
  return hadamard_result(sum, hadamard_factor(size));
}

/// What delayed scaling does with the amax of a step: TransformerEngine's two algorithms, and its two ways with zero.
struct Fp8ScaleRule {
  uint32_t most = 0x43E00000u;     ///< the format's largest number times 2^-margin, an fp32 code
  bool most_recent = false;        ///< the last amax alone; false: the greatest of the history
  bool zero_keeps_history = true;  ///< a step whose amax is 0 moves nothing (the fused kernel); false: it counts
};

/// history[0 .. length - 1]: the last amaxes, the newest first; factor; all fp32 codes. A NaN counts as absent.
// implements: N498
SOFTAMP_INLINE void fp8_scale_update(const Fp8ScaleRule& rule, uint32_t amax, uint64_t length, const uint32_t* history,
                                     uint32_t factor, uint32_t* next_history, uint32_t* next_factor) {
  using namespace block::detail32;
  const bool rolls = amax != 0 || !rule.zero_keeps_history;
  uint32_t greatest = 0;
  for (uint64_t i = length; i-- > 0;) {
    next_history[i] = !rolls ? history[i] : i == 0 ? amax : history[i - 1];
    const bool counts = next_history[i] <= kInfinity && (i == 0 || !rule.most_recent);
    if (counts && next_history[i] > greatest) greatest = next_history[i];
  }
  *next_factor = factor;
  if (!rolls || greatest == 0 || greatest >= kInfinity) return;
  *next_factor = at_most(div(rule.most, greatest), kLargest);
}

}  // namespace softamp::kernel
