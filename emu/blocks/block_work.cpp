#include "emu/blocks/block_work.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "emu/blocks/better_scales.h"
#include "emu/bulk/dispatch.h"
#include "emu/parallel.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace softamp::emu {
namespace {

constexpr uint64_t kUnitGrain = 1 << 14;        // elements that are worth a thread
constexpr uint64_t kFewColumns = 64;            // fewer are taken as one run of elements with a period
constexpr uint64_t kColumnsTogether = 1 << 17;  // elements of a unit of columns, which the second-level cache holds
constexpr uint64_t kTileColumns = 256;          // of a unit of tiles
constexpr uint64_t kHugeBlock = 1 << 16;        // elements: such a block is for all threads
constexpr size_t kBlockStreamFrom = size_t{16} << 20;  // bytes that would not stay in a core's share of the caches
constexpr size_t kOneFactor = ~size_t{0} / kBlockGroup * kBlockGroup;

uint64_t parts_of(uint64_t n, uint64_t size) { return size == 0 ? 0 : (n + size - 1) / size; }
size_t whole_groups(size_t n) { return (n + kBlockGroup - 1) / kBlockGroup * kBlockGroup; }

void end_block_stream() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace

/// What a thread works with: as much as the first-level cache holds, and filled up to whole groups.
struct BlockWork::Strip {
  static constexpr size_t kSize = kBlockStrip + 2 * kBlockGroup;
  alignas(64) uint32_t amax[kSize];
  alignas(64) uint32_t more_amax[kSize];
  alignas(64) uint32_t kept[kSize];
  alignas(64) float factor[kSize];
  alignas(64) float decode[kSize];
  alignas(64) float each_factor[kSize];
  alignas(64) float each_decode[kSize];
  alignas(64) float y[kSize];
  alignas(64) float ones[kSize];  ///< of elements that are divided already
  alignas(64) uint8_t codes[kSize];
};

BlockWork::BlockWork(const BlockCall& call, const BlockArrays& arrays)
    : call_(call),
      a_(arrays),
      plan_(call, arrays.in != nullptr),
      kernels_(block_kernels(call.options.isa)),
      in_place_(arrays.in == arrays.values),
      divides_(call.family == BlockCall::Family::kFp8 && call.format.fp8.rule == block::Fp8Rule::kDeepSeek),
      length_(call.length),
      blocks_(call.blocks),
      bands_(call.bands) {
  const uint64_t bytes =
      call.elements() * ((a_.in || a_.values ? 4 : 0) + (a_.codes ? 1 : 0) + (a_.in && a_.values ? 4 : 0));
  stream_ = !in_place_ && bytes > kBlockStreamFrom;
  if (call.elements() == 0) return;
  if (plan_.round) round_ = choose(kernels_of(call.options.isa), *plan_.round, Element::kF32, Element::kU8);
  if (call.inner != 1) {
    const uint64_t together = quantizes() ? kColumnsTogether : ~uint64_t{0};
    per_unit_ = std::clamp<uint64_t>(together / call.size / kBlockGroup * kBlockGroup, kBlockGroup, kBlockStrip);
    return;
  }
  if (call.rows == 1 && call.length % call.size == 0) {
    length_ = call.outer * call.length;
    blocks_ = call.bands * call.blocks;
    bands_ = 1;
  }
  per_unit_ = std::max<uint64_t>(1, (call.rows == 1 ? kBlockStrip : kTileColumns) / call.size);
}

uint64_t BlockWork::units() const {
  if (call_.inner == 1) return bands_ * parts_of(blocks_, per_unit_);
  const uint64_t each = call_.inner < kFewColumns ? 1 : parts_of(call_.inner, per_unit_);
  return bands_ * blocks_ * each;
}

void BlockWork::run() const {
  if (call_.elements() == 0) return;
  if (plan_.way == BlockPlan::Way::kReference) return run_blocks();
  if (call_.inner == 1 && call_.rows == 1 && call_.size > kHugeBlock) {
    for (uint64_t i = 0; i < call_.block_count(); ++i) huge_block(i);
    return;
  }
  run_units();
}

void BlockWork::run_blocks() const {
  const uint64_t grain = std::max<uint64_t>(1, kUnitGrain / (call_.size * call_.rows));
  parallel_status(call_.block_count(), grain, 1, call_.options.threads, call_.options.status,
                  [&](size_t begin, size_t end, FpStatus* status) {
                    for (size_t i = begin; i < end; ++i) reference_block(call_, a_, BlockPlace::of(call_, i), status);
                  });
}

void BlockWork::run_units() const {
  const uint64_t count = units(), grain = std::max<uint64_t>(1, kUnitGrain * count / call_.elements());
  auto body = [&](size_t begin, size_t end, size_t) {
    Strip strip;
    if (divides_) std::fill_n(strip.ones, Strip::kSize, 1.0F);
    for (size_t u = begin; u < end; ++u) {
      if (call_.inner == 1)
        rows_unit(u, strip);
      else if (call_.inner < kFewColumns)
        few_columns_unit(u, strip);
      else
        columns_unit(u, strip);
    }
    if (stream_) end_block_stream();
  };
  parallel_ranges(count, grain, 1, call_.options.threads, body);
}

void BlockWork::rows_unit(uint64_t unit, Strip& strip) const {
  const uint64_t across = parts_of(blocks_, per_unit_), band = unit / across, first = unit % across * per_unit_;
  const uint64_t last = std::min(blocks_, first + per_unit_), start = first * call_.size;
  const size_t n = std::min(length_, last * call_.size) - start, count = last - first;
  const uint64_t top = band * call_.rows, bottom = bands_ == 1 ? top + std::min(call_.rows, call_.outer)
                                                               : std::min(call_.outer, top + call_.rows);
  const uint64_t index = band * blocks_ + first;
  if (quantizes())
    for (uint64_t row = top; row < bottom; ++row) {
      uint32_t* const amax = row == top ? strip.amax : strip.more_amax;
      kernels_.magnitudes(a_.in + row * length_ + start, n, call_.size, amax);
      if (row != top)
        for (size_t b = 0; b < count; ++b) strip.amax[b] = std::max(strip.amax[b], amax[b]);
    }
  const bool special = scale(strip, index, count, a_.in + top * length_ + start, n);
  if (!special || !in_place_)
    for (uint64_t row = top; row < bottom; ++row)
      elements(strip, row * length_ + start, n, count == 1 ? kOneFactor : call_.size);
  if (special) special_blocks(strip, index, count);
}

void BlockWork::columns_unit(uint64_t unit, Strip& strip) const {
  const uint64_t across = parts_of(call_.inner, per_unit_), deep = unit / across, column = unit % across * per_unit_;
  const size_t n = std::min(call_.inner - column, per_unit_);
  const uint64_t top = deep % blocks_ * call_.size, bottom = std::min(call_.length, top + call_.size);
  const uint64_t start = deep / blocks_ * call_.length * call_.inner + column;
  if (quantizes()) {
    std::fill_n(strip.amax, n, 0u);
    kernels_.column_magnitudes(a_.in + start + top * call_.inner, call_.inner, bottom - top, n, strip.amax);
  }
  const uint64_t index = deep * call_.inner + column;
  const bool special = scale(strip, index, n);
  if (!special || !in_place_)
    for (uint64_t row = top; row < bottom; ++row) elements(strip, start + row * call_.inner, n, 1);
  if (special) special_blocks(strip, index, n);
}

void BlockWork::few_columns_unit(uint64_t unit, Strip& strip) const {
  const uint64_t top = unit % blocks_ * call_.size, bottom = std::min(call_.length, top + call_.size);
  const uint64_t start = (unit / blocks_ * call_.length + top) * call_.inner, all = (bottom - top) * call_.inner;
  const size_t columns = call_.inner;
  const size_t period = std::min<uint64_t>(all, kBlockStrip / 4 / columns * columns);
  if (quantizes()) {
    std::fill_n(strip.amax, period, 0u);
    for (uint64_t i = 0; i < all; i += period)
      kernels_.column_magnitudes(a_.in + start + i, 0, 1, std::min<uint64_t>(period, all - i), strip.amax);
    for (size_t i = columns; i < period; ++i)
      strip.amax[i % columns] = std::max(strip.amax[i % columns], strip.amax[i]);
  }
  const uint64_t index = unit * columns;
  const bool special = scale(strip, index, columns);
  for (size_t i = 0, c = 0; i < whole_groups(period); ++i, c = c + 1 == columns ? 0 : c + 1)
    strip.each_factor[i] = strip.factor[c], strip.each_decode[i] = strip.decode[c];
  if (!special || !in_place_)
    for (uint64_t i = 0; i < all; i += period)
      elements_by(strip, start + i, std::min<uint64_t>(period, all - i), {strip.each_factor, 1},
                  {strip.each_decode, 1});
  if (special) special_blocks(strip, index, columns);
}

bool BlockWork::scale(Strip& strip, uint64_t index, size_t n, const float* x, size_t elements) const {
  const size_t bytes = static_cast<size_t>(call_.format.scale_bytes()), whole = whole_groups(n);
  if (!quantizes()) {
    // Filled up with what is not special: 1 as a byte and as fp32.
    auto* const kept = reinterpret_cast<uint8_t*>(strip.kept);
    std::fill_n(strip.kept, whole, bytes == 4 ? 0x3F800000u : 0x01010101u);
    if (bytes != 0) std::memcpy(kept, a_.scales + index * bytes, n * bytes);
    return kernels_.decode(plan_.scale, kept, whole, strip.decode);
  }
  std::fill(strip.amax + n, strip.amax + whole, 0u);
  bool special = false;
  if (plan_.scale.chooses) {
    special = better_scales(kernels_, plan_, x, elements, strip.amax, whole, {strip.kept, strip.factor, strip.decode});
  } else if (plan_.vector_scales) {
    special = kernels_.scales(plan_.scale, strip.amax, whole, strip.kept, strip.factor, strip.decode);
  } else {
    auto* const kept = reinterpret_cast<uint8_t*>(strip.kept);
    for (size_t b = 0; b < whole; ++b) {
      const uint32_t byte = block::mx_scale(call_.element, strip.amax[b], call_.format.mx);
      const bool none = byte == e8m0::kNan || strip.amax[b] >= block::detail32::kInfinity;
      kept[b] = static_cast<uint8_t>(byte);
      strip.factor[b] = std::bit_cast<float>(none ? 0x7FC00000u : e8m0::fp32_code(e8m0::reciprocal(byte)));
      strip.decode[b] = std::bit_cast<float>(e8m0::fp32_code(byte));
      special |= none;
    }
  }
  if (bytes != 0 && a_.scales) std::memcpy(a_.scales + index * bytes, strip.kept, n * bytes);
  return special;
}

void BlockWork::special_blocks(const Strip& strip, uint64_t index, size_t n) const {
  if (stream_) end_block_stream();
  const float* const marks = quantizes() ? strip.factor : strip.decode;
  for (size_t b = 0; b < n; ++b)
    if (in_place_ || marks[b] != marks[b]) reference_block(call_, a_, BlockPlace::of(call_, index + b), nullptr);
}

void BlockWork::elements(Strip& strip, uint64_t first, size_t n, size_t run) const {
  if (run != 1 && run != kOneFactor && run != 16 && run != 32 && run % kBlockGroup != 0) {
    for (size_t i = 0, b = 0; i < n; i += run, ++b) {
      std::fill_n(strip.each_factor + i, std::min(run, whole_groups(n) - i), strip.factor[b]);
      std::fill_n(strip.each_decode + i, std::min(run, whole_groups(n) - i), strip.decode[b]);
    }
    std::fill(strip.each_factor + n, strip.each_factor + whole_groups(n), 1.0F);
    std::fill(strip.each_decode + n, strip.each_decode + whole_groups(n), 1.0F);
    return elements_by(strip, first, n, {strip.each_factor, 1}, {strip.each_decode, 1});
  }
  for (size_t i = 0; i < n; i += kBlockStrip)
    elements_by(strip, first + i, std::min(n - i, kBlockStrip), {strip.factor, run}, {strip.decode, run});
}

void BlockWork::elements_by(Strip& strip, uint64_t first, size_t n, Factors factor, Factors decode) const {
  if (!quantizes())
    return kernels_.values(plan_.element, a_.codes + first, decode, n, a_.values + first, passing(a_.values + first));
  if (round_) return rounded(strip, first, n, factor, decode);
  const float* x = a_.in + first;
  if (divides_) {
    kernels_.scaled(plan_.element, x, factor, n, true, strip.y);
    x = strip.y;
    factor.of = strip.ones;
  }
  if (plan_.way == BlockPlan::Way::kAdded)
    kernels_.added(plan_.element, plan_.random, call_.rounding.stochastic() ? call_.rounding.random_bits : 0,
                   plan_.random.first_index + first, x, factor, decode.of, n, a_.codes ? a_.codes + first : nullptr,
                   a_.values ? a_.values + first : nullptr);
  else if (a_.codes)
    kernels_.codes(plan_.element, x, factor, n, a_.codes + first, passing(a_.codes + first));
  else
    kernels_.fake(plan_.element, x, factor, decode.of, n, a_.values + first, passing(a_.values + first));
}

void BlockWork::rounded(Strip& strip, uint64_t first, size_t n, Factors factor, Factors decode) const {
  // The generator's numbers come in groups of 8: what stands before the first element is zeros.
  const uint64_t at = plan_.random.first_index + first;
  const size_t lead = plan_.round->stochastic ? at % 8 : 0, whole = whole_groups(lead + n);
  std::fill_n(strip.y, lead, 0.0F);
  std::fill(strip.y + lead + n, strip.y + whole, 0.0F);
  kernels_.scaled(plan_.element, a_.in + first, factor, n, divides_, strip.y + lead);
  Slice slice{};
  slice.in[0] = strip.y;
  slice.out = strip.codes;
  slice.index = at - lead;
  slice.count = whole;
  round_(*plan_.round, plan_.random, Element::kF32, Element::kU8, slice, 0);
  if (a_.codes)
    std::memcpy(a_.codes + first, strip.codes + lead, n);
  else
    kernels_.values(plan_.element, strip.codes + lead, decode, n, a_.values + first, passing(a_.values + first));
}

void BlockWork::huge_block(uint64_t index) const {
  const BlockPlace place = BlockPlace::of(call_, index);
  const uint64_t start = place.band * call_.length + place.block * call_.size;
  const uint64_t n = std::min(call_.size, call_.length - place.block * call_.size);
  std::atomic<uint32_t> amax{0};
  auto magnitudes = [&](size_t begin, size_t end, size_t) {
    uint32_t most = 0;
    kernels_.magnitudes(a_.in + start + begin, end - begin, end - begin, &most);
    for (uint32_t seen = amax; seen < most && !amax.compare_exchange_weak(seen, most);) {
    }
  };
  if (quantizes()) parallel_ranges(n, kUnitGrain, kBlockGroup, call_.options.threads, magnitudes);
  Strip shared;
  shared.amax[0] = amax;
  if (scale(shared, index, 1)) return reference_block(call_, a_, place, nullptr);
  auto body = [&](size_t begin, size_t end, size_t) {
    Strip strip;
    if (divides_) std::fill_n(strip.ones, Strip::kSize, 1.0F);
    strip.factor[0] = shared.factor[0], strip.decode[0] = shared.decode[0];
    elements(strip, start + begin, end - begin, kOneFactor);
    if (stream_) end_block_stream();
  };
  parallel_ranges(n, kUnitGrain, kBlockGroup, call_.options.threads, body);
}

}  // namespace softamp::emu
