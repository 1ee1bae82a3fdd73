#include "emu/blocks/block_reference.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace softamp::emu {
namespace {

using Family = BlockCall::Family;

/// The scale of a block, and what becomes of an element and of a code under it.
// implements: N466
class ScaledBlock {
 public:
  ScaledBlock(const BlockCall& c, const block::BlockScale& scale) : c_(c), scale_(scale) {}
  /// With the scale that is kept at `scales`.
  ScaledBlock(const BlockCall& c, const uint8_t* scales, uint64_t index) : c_(c) {
    if (wide())
      std::memcpy(&scale_.bits, scales + 4 * index, 4);
    else if (c.family != Family::kPlain)
      scale_.bits = scales[index];
    scale_.decode =
        c.family == Family::kNvfp4 ? block::nvfp4_decode_factor(c.tensor, scale_.bits, c.format.nvfp4) : scale_.bits;
  }

  void keep(uint8_t* scales, uint64_t index) const {
    if (wide())
      std::memcpy(scales + 4 * index, &scale_.bits, 4);
    else if (c_.family != Family::kPlain)
      scales[index] = static_cast<uint8_t>(scale_.bits);
  }
  Rounded code(uint32_t x, uint32_t word) const { return block::block_code(c_.format, scale_, x, word); }
  float value(uint64_t code) const { return std::bit_cast<float>(block::block_value(c_.format, scale_, code)); }

 private:
  bool wide() const { return c_.family == Family::kFp8; }

  const BlockCall& c_;
  block::BlockScale scale_{};
};

/// Calls body(i) for the elements of a block, in ascending order.
template <class Body>
void for_each_element(const BlockCall& c, BlockPlace p, const Body& body) {
  const uint64_t first = p.block * c.size, last = std::min(c.length, first + c.size);
  const uint64_t bottom = std::min(c.outer, (p.band + 1) * c.rows);
  for (uint64_t r = p.band * c.rows; r < bottom; ++r)
    for (uint64_t k = first; k < last; ++k) body((r * c.length + k) * c.inner + p.column);
}

uint32_t magnitude_of(const BlockCall& c, const float* in, BlockPlace place) {
  uint32_t amax = 0;
  if (c.family == Family::kPlain) return 0;
  for_each_element(c, place, [&](uint64_t i) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(in[i]) & 0x7FFFFFFFu;
    if (magnitude > amax && (c.nan_counts || magnitude <= 0x7F800000u)) amax = magnitude;
  });
  return amax;
}
/// The scale of a block of what is at `in`.
block::BlockScale scale_of(const BlockCall& c, const float* in, BlockPlace p) {
  const uint64_t first = p.block * c.size, top = p.band * c.rows;
  return block::block_scale(c.format, c.tensor, magnitude_of(c, in, p), std::min(c.rows, c.outer - top),
                            std::min(c.size, c.length - first), [&](uint64_t row, uint64_t k) {
                              const uint64_t i = ((top + row) * c.length + first + k) * c.inner + p.column;
                              return std::bit_cast<uint32_t>(in[i]);
                            });
}
uint64_t index_of(const BlockCall& c, BlockPlace p) { return (p.band * c.blocks + p.block) * c.inner + p.column; }

}  // namespace

void reference_block(const BlockCall& c, const BlockArrays& a, BlockPlace place, FpStatus* status) {
  if (!a.in) {
    const ScaledBlock scaled(c, a.scales, index_of(c, place));
    for_each_element(c, place, [&](uint64_t i) { a.values[i] = scaled.value(a.codes[i]); });
    return;
  }
  const ScaledBlock scaled(c, scale_of(c, a.in, place));
  if (a.scales) scaled.keep(a.scales, index_of(c, place));
  for_each_element(c, place, [&](uint64_t i) {
    const Rounded r = scaled.code(std::bit_cast<uint32_t>(a.in[i]), c.word(i));
    if (a.codes) a.codes[i] = static_cast<uint8_t>(r.code);
    if (a.values) a.values[i] = scaled.value(r.code);
    if (status && r.flags) status->raise(r.flags, i);
  });
}

}  // namespace softamp::emu
