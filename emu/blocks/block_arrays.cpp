// Arrays to blocks of small elements and back.
#include <algorithm>
#include <atomic>
#include <bit>
#include <string>

#include "emu/blocks/block_reference.h"
#include "emu/parallel.h"

namespace softamp::bulk {
namespace {

using emu::BlockCall;
using emu::BlockPlace;

constexpr size_t kGrain = 1 << 14;  // elements that are worth a thread

/// Calls body(place, piece's status) for every block.
template <class Body>
void for_each_block(const BlockCall& c, FpStatus* status, const Body& body) {
  const size_t grain = std::max<size_t>(1, kGrain / std::max<uint64_t>(1, c.size * c.rows));
  emu::parallel_status(c.block_count(), grain, 1, c.options.threads, status,
                       [&](size_t begin, size_t end, FpStatus* piece) {
                         for (size_t i = begin; i < end; ++i) body(BlockPlace::of(c, i), piece);
                       });
}

}  // namespace

uint32_t greatest_magnitude(std::span<const float> in, bool nan_counts, int threads) {
  std::atomic<uint32_t> all{0};
  auto body = [&](size_t begin, size_t end, size_t) {
    uint32_t greatest = 0;
    for (size_t i = begin; i < end; ++i) {
      const uint32_t m = std::bit_cast<uint32_t>(in[i]) & 0x7FFFFFFFu;
      const uint32_t counted = nan_counts || m <= 0x7F800000u ? m : 0;
      greatest = counted > greatest ? counted : greatest;
    }
    for (uint32_t seen = all; seen < greatest && !all.compare_exchange_weak(seen, greatest);) {
    }
  };
  emu::parallel_ranges(in.size(), kGrain, 1, threads, body);
  return all;
}

uint32_t quantize(std::span<const float> in, const BlockLayout& layout, const BlockFormat& format,
                  std::span<uint8_t> codes, std::span<uint8_t> scales, const BulkOptions& options,
                  const uint32_t* amax) {
  BlockCall call("quantize", layout, format, in.size(), codes.size(), scales.size(), options);
  uint32_t greatest = 0;
  if (format.family == BlockFamily::kNvfp4)
    greatest = amax ? *amax : greatest_magnitude(in, call.nan_counts, options.threads);
  call.set_tensor(greatest);
  for_each_block(call, options.status, [&](BlockPlace place, FpStatus* status) {
    emu::quantize_block(call, in.data(), place, codes.data(), scales.data(), status);
  });
  return greatest;
}

void dequantize(std::span<const uint8_t> codes, std::span<const uint8_t> scales, const BlockLayout& layout,
                const BlockFormat& format, uint32_t amax, std::span<float> out, const BulkOptions& options) {
  BlockCall call("dequantize", layout, format, codes.size(), out.size(), scales.size(), options);
  call.set_tensor(amax);
  for_each_block(call, nullptr, [&](BlockPlace place, FpStatus*) {
    emu::dequantize_block(call, codes.data(), scales.data(), place, out.data());
  });
}

void fake_quantize(std::span<const float> in, const BlockLayout& layout, const BlockFormat& format,
                   std::span<float> out, const BulkOptions& options) {
  BlockCall call("fake_quantize", layout, format, in.size(), out.size(),
                 scale_count(layout, format) * format.scale_bytes(), options);
  if (format.family == BlockFamily::kNvfp4) call.set_tensor(greatest_magnitude(in, call.nan_counts, options.threads));
  for_each_block(call, options.status, [&](BlockPlace place, FpStatus* status) {
    emu::fake_quantize_block(call, in.data(), place, out.data(), status);
  });
}

}  // namespace softamp::bulk
