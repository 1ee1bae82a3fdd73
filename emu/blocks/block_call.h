// One call of bulk::quantize, dequantize or fake_quantize: checked, and with all that its blocks have in common.
#pragma once

#include <string>

#include "softamp/numerics/random.h"
#include "softamp/tensor/block_bulk.h"

namespace softamp::emu {

/// The array as `bands` bands of `rows` rows (the last may have fewer), each cut along the axis into `blocks` blocks of
/// `size` elements (again), for every one of `inner` columns.
struct BlockCall {
  using Family = block::BlockFamily;

  /// Throws std::invalid_argument, naming bulk::`function`.
  BlockCall(const char* function, const bulk::BlockLayout& layout, const block::BlockFormat& f, size_t in, size_t out,
            size_t scale_bytes, const bulk::BulkOptions& o);

  /// Both NVFP4's scales and its values refer to it.
  void set_tensor(uint32_t amax) { tensor = block::nvfp4_tensor(amax, format.nvfp4); }

  uint64_t block_count() const { return bands * blocks * inner; }
  uint64_t elements() const { return outer * length * inner; }
  uint32_t word(uint64_t i) const {
    const bulk::RandomSource& r = options.random;
    if (!rounding.stochastic()) return 0;
    return random.bits(r.step, r.operation, r.first_index + i, rounding.random_bits);
  }

  const block::BlockFormat& format;
  const bulk::BulkOptions& options;
  Family family;
  block::Element element;
  uint64_t outer, length, inner, size, rows, blocks, bands;
  RoundingPolicy rounding;  ///< of elements: saturating
  bool nan_counts;
  block::Nvfp4Tensor tensor{};
  RandomBits random;
};

[[noreturn]] void refuse_blocks(const char* function, const std::string& what);

}  // namespace softamp::emu
