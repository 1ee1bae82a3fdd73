#include "emu/blocks/block_reference.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace softamp::emu {
namespace {

using Family = BlockCall::Family;

/// The scale of a block: as it is kept, and what becomes of an element and of a code under it.
class ScaledBlock {
 public:
  ScaledBlock(const BlockCall& c, uint32_t amax) : c_(c) {
    const bulk::BlockFormat& f = c.format;
    switch (c.family) {
      case Family::kMx: stored_ = block::mx_scale(c.element, amax, f.mx); break;
      case Family::kNvfp4: stored_ = block::nvfp4_scale(c.tensor, amax, f.nvfp4); break;
      case Family::kFp8:
        fp8_ = block::fp8_scale(c.element.format, amax, f.fp8);
        stored_ = fp8_.decode;
        break;
      case Family::kPlain: break;
    }
    if (c.family == Family::kNvfp4) factor_ = block::nvfp4_factor(c.tensor, stored_, f.nvfp4);
    prepare_values();
  }
  /// With the scale that is kept at `scales`.
  ScaledBlock(const BlockCall& c, const uint8_t* scales, uint64_t index) : c_(c) {
    const size_t bytes = c.format.scale_bytes();
    if (bytes == 4)
      std::memcpy(&stored_, scales + 4 * index, 4);
    else if (bytes == 1)
      stored_ = scales[index];
    prepare_values();
  }

  void keep(uint8_t* scales, uint64_t index) const {
    const size_t bytes = c_.format.scale_bytes();
    if (bytes == 4)
      std::memcpy(scales + 4 * index, &stored_, 4);
    else if (bytes == 1)
      scales[index] = static_cast<uint8_t>(stored_);
  }

  Rounded code(uint32_t x, uint32_t word) const {
    const bulk::BlockFormat& f = c_.format;
    switch (c_.family) {
      case Family::kMx: return block::mx_code(c_.element, stored_, x, f.mx, word);
      case Family::kNvfp4: return block::nvfp4_code(factor_, x, f.nvfp4, word);
      case Family::kFp8: return block::fp8_code(c_.element.format, fp8_, x, f.fp8, word);
      default: return block::round_fp32(c_.element, x, 0, false, c_.rounding, word);
    }
  }

  float value(uint64_t code) const {
    uint32_t v = 0;
    switch (c_.family) {
      case Family::kMx: v = block::mx_value(c_.element, stored_, code); break;
      case Family::kNvfp4: v = block::nvfp4_value(decode_, code); break;
      case Family::kFp8: v = block::fp8_value(c_.element.format, stored_, code); break;
      default: v = block::mx_value(c_.element, e8m0::kOne, code);
    }
    return std::bit_cast<float>(v);
  }

 private:
  void prepare_values() {
    if (c_.family == Family::kNvfp4) decode_ = block::nvfp4_decode_factor(c_.tensor, stored_, c_.format.nvfp4);
  }

  const BlockCall& c_;
  uint32_t stored_ = 0, factor_ = 0, decode_ = 0;
  block::Fp8Scale fp8_{};
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
uint64_t index_of(const BlockCall& c, BlockPlace p) { return (p.band * c.blocks + p.block) * c.inner + p.column; }

}  // namespace

void quantize_block(const BlockCall& c, const float* in, BlockPlace place, uint8_t* codes, uint8_t* scales,
                    FpStatus* status, const uint32_t* amax) {
  const ScaledBlock scaled(c, amax ? *amax : magnitude_of(c, in, place));
  scaled.keep(scales, index_of(c, place));
  for_each_element(c, place, [&](uint64_t i) {
    const Rounded r = scaled.code(std::bit_cast<uint32_t>(in[i]), c.word(i));
    codes[i] = static_cast<uint8_t>(r.code);
    if (status && r.flags) status->raise(r.flags, i);
  });
}

void dequantize_block(const BlockCall& c, const uint8_t* codes, const uint8_t* scales, BlockPlace place, float* out) {
  const ScaledBlock scaled(c, scales, index_of(c, place));
  for_each_element(c, place, [&](uint64_t i) { out[i] = scaled.value(codes[i]); });
}

void fake_quantize_block(const BlockCall& c, const float* in, BlockPlace place, float* out, FpStatus* status,
                         const uint32_t* amax) {
  const ScaledBlock scaled(c, amax ? *amax : magnitude_of(c, in, place));
  for_each_element(c, place, [&](uint64_t i) {
    const Rounded r = scaled.code(std::bit_cast<uint32_t>(in[i]), c.word(i));
    out[i] = scaled.value(r.code);
    if (status && r.flags) status->raise(r.flags, i);
  });
}

}  // namespace softamp::emu
