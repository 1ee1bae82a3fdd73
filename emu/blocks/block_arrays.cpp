// Arrays to blocks of small elements and back.
#include <algorithm>
#include <atomic>
#include <bit>

#include "emu/blocks/block_work.h"
#include "emu/parallel.h"

namespace softamp::bulk {
namespace {

using emu::BlockCall;

constexpr size_t kGrain = 1 << 14;  // elements that are worth a thread

}  // namespace

uint32_t greatest_magnitude(std::span<const float> in, bool nan_counts, int threads) {
  const emu::BlockKernels& kernels = emu::block_kernels(InstructionSet::kAuto);
  std::atomic<uint32_t> all{0};
  auto body = [&](size_t begin, size_t end, size_t) {
    const float* const x = in.data() + begin;
    const size_t n = end - begin;
    uint32_t greatest = 0;
    kernels.magnitudes(x, n, n, &greatest);
    if (greatest > 0x7F800000u && !nan_counts) {
      greatest = 0;
      for (size_t i = 0; i < n; ++i) {
        const uint32_t m = std::bit_cast<uint32_t>(x[i]) & 0x7FFFFFFFu;
        if (m <= 0x7F800000u) greatest = std::max(greatest, m);
      }
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
  emu::BlockWork(call, {in.data(), codes.data(), scales.data(), nullptr}).run();
  return greatest;
}

void dequantize(std::span<const uint8_t> codes, std::span<const uint8_t> scales, const BlockLayout& layout,
                const BlockFormat& format, uint32_t amax, std::span<float> out, const BulkOptions& options) {
  BlockCall call("dequantize", layout, format, codes.size(), out.size(), scales.size(), options);
  call.set_tensor(amax);
  // Nothing is written to codes and scales.
  emu::BlockWork(call, {nullptr, const_cast<uint8_t*>(codes.data()), const_cast<uint8_t*>(scales.data()), out.data()})
      .run();
}

void fake_quantize(std::span<const float> in, const BlockLayout& layout, const BlockFormat& format,
                   std::span<float> out, const BulkOptions& options) {
  BlockCall call("fake_quantize", layout, format, in.size(), out.size(),
                 scale_count(layout, format) * static_cast<uint64_t>(format.scale_bytes()), options);
  if (format.family == BlockFamily::kNvfp4) call.set_tensor(greatest_magnitude(in, call.nan_counts, options.threads));
  emu::BlockWork(call, {in.data(), nullptr, nullptr, out.data()}).run();
}

}  // namespace softamp::bulk
