// Arrays to blocks of small elements and back. A piece is a number of rows of blocks; what nearest rounding makes of
// whole rows goes by the kernels of bulk::round, the rest by the functions for one element.
#include "softamp/tensor/block_bulk.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "softamp/numerics/random.h"

#include "emu/parallel.h"

namespace softamp::bulk {
namespace {

using emu::parallel_ranges;

constexpr size_t kGrain = 1 << 14;  // elements that are worth a thread
constexpr size_t kStrip = 1 << 12;  // elements that are scaled before they are rounded

[[noreturn]] void refuse_blocks(const char* function, const std::string& what) {
  throw std::invalid_argument(std::string("bulk::") + function + ": " + what);
}
uint64_t quotient_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

void check_blocks(const char* function, const BlockLayout& l, const BlockFormat& f, size_t elements, size_t others,
                  size_t scales, const BulkOptions& o) {
  if (f.family == BlockFamily::kFp8 || f.family == BlockFamily::kPlain)
    refuse_blocks(function, "formats with scales of fp32, or none, are not built yet");
  if (f.size < 1 || f.rows < 1)
    refuse_blocks(function,
                  "a block has at least one element, not " + std::to_string(f.rows) + " x " + std::to_string(f.size));
  if (f.rows > 1 && l.inner != 1)
    refuse_blocks(function, "tiles of " + std::to_string(f.rows) + " rows lie along the last axis; " +
                                std::to_string(l.inner) + " elements lie behind this one");
  if (l.elements() != elements || others != elements)
    refuse_blocks(function, "the layout has " + std::to_string(l.elements()) + " elements, the arrays " +
                                std::to_string(elements) + " and " + std::to_string(others));
  if (scales != scale_count(l, f))
    refuse_blocks(function, "expected " + std::to_string(scale_count(l, f)) + " scales, not " + std::to_string(scales));
  if (o.threads < 0 || o.threads > 1024)
    refuse_blocks(function, "threads is 0 (all) or 1..1024, not " + std::to_string(o.threads));
  const RoundingPolicy& p = f.rounding();
  if (!p.stochastic()) return;
  if (p.random_bits < 1 || p.random_bits > 32)
    refuse_blocks(function, "random_bits is 1..32, not " + std::to_string(p.random_bits));
  if (o.random.words || o.random.slice)
    refuse_blocks(function, "random words come from the generator here, not from an array or a slice");
  if (o.random.engine != RandomEngine::kPhilox && o.random.engine != RandomEngine::kPhilox7)
    refuse_blocks(function, "the random engine must be kPhilox or kPhilox7");
}

uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
float float_of(uint32_t code) { return __builtin_bit_cast(float, code); }

/// One call's constants, and what becomes of one block.
class BlockWork {
 public:
  BlockWork(const BlockLayout& l, const BlockFormat& f, uint32_t amax, const BulkOptions& o)
      : l_(l),
        f_(f),
        o_(o),
        tensor_(block::nvfp4_tensor(amax, f.nvfp4)),
        random_{o.random.seed, o.random.engine == RandomEngine::kPhilox7 ? 7 : 10, 0},
        blocks_(quotient_up(l.length, static_cast<uint64_t>(f.size))),
        nvfp4_(f.family == BlockFamily::kNvfp4),
        nan_counts_(f.nan_poisons_block()) {}

  uint64_t blocks() const { return blocks_; }

  uint32_t scale(uint32_t amax) const {
    return nvfp4_ ? block::nvfp4_scale(tensor_, amax, f_.nvfp4) : block::mx_scale(f_.element, amax, f_.mx);
  }

  /// Rows of one block each in height, all elements by the scalar functions.
  void by_elements(const float* in, uint64_t row, uint64_t block, uint64_t inner, uint8_t* codes, uint8_t* scales,
                   FpStatus* status) const {
    const uint64_t first = block * size(), last = std::min(l_.length, first + size());
    const uint64_t bottom = std::min(l_.outer, (row + 1) * rows());
    uint32_t amax = 0;
    for_each(row, bottom, first, last, inner, [&](uint64_t i) {
      const uint32_t magnitude = bits_of(in[i]) & 0x7FFFFFFFu;
      if (magnitude > amax && (nan_counts_ || magnitude <= 0x7F800000u)) amax = magnitude;
    });
    const uint32_t s = scale(amax);
    scales[(row * blocks_ + block) * l_.inner + inner] = static_cast<uint8_t>(s);
    const uint32_t factor = nvfp4_ ? block::nvfp4_factor(tensor_, s, f_.nvfp4) : 0;
    const RoundingPolicy& p = f_.rounding();
    for_each(row, bottom, first, last, inner, [&](uint64_t i) {
      const RandomSource& r = o_.random;
      const uint32_t word = p.stochastic() ? random_.bits(r.step, r.operation, r.first_index + i, p.random_bits) : 0;
      const Rounded code = nvfp4_ ? block::nvfp4_code(factor, bits_of(in[i]), f_.nvfp4, word)
                                  : block::mx_code(f_.element, s, bits_of(in[i]), f_.mx, word);
      codes[i] = static_cast<uint8_t>(code.code);
      if (status && code.flags) status->raise(code.flags, i);
    });
  }

  /// Whether `by_strips` gives the same: x times a power of two is exact, or so small that to nearest it is a zero.
  /// NVFP4's product is rounded to fp32 by its definition.
  bool strips_serve() const {
    const RoundingPolicy& p = f_.rounding();
    const bool nearest = p.mode == RoundingMode::kNearestEven || p.mode == RoundingMode::kNearestAway;
    if (l_.inner != 1 || f_.rows != 1 || o_.status || f_.element.integer) return false;
    return nvfp4_ ? true : nearest && !f_.mx.three_quarters;
  }

  /// Whole blocks begin .. end - 1 of one row: scaled in fp32, then rounded by bulk::round.
  void by_strips(const float* in, uint64_t row, uint64_t begin, uint64_t end, uint8_t* codes, uint8_t* scales,
                 float* strip, const Semantics& s) const {
    const uint64_t start = row * l_.length;
    const uint64_t per_strip = std::max<uint64_t>(1, kStrip / size());
    for (uint64_t b = begin; b < end; b += per_strip) {
      const uint64_t stop = std::min(end, b + per_strip), first = b * size(), last = std::min(l_.length, stop * size());
      for (uint64_t block = b; block < stop; ++block) {
        const uint64_t from = block * size(), n = std::min(l_.length, from + size()) - from;
        const float* const x = in + start + from;
        float* const y = strip + (from - first);
        const uint32_t byte = scale(magnitude(x, n));
        scales[row * blocks_ + block] = static_cast<uint8_t>(byte);
        const bool none = nvfp4_ ? byte == 0x7F : byte == e8m0::kNan;
        const float factor = none     ? 0
                             : nvfp4_ ? float_of(block::nvfp4_factor(tensor_, byte, f_.nvfp4))
                                      : float_of(e8m0::fp32_code(e8m0::reciprocal(byte)));
        if (none) {
          std::fill(y, y + n, nvfp4_ ? 0.0F : float_of(0x7FC00000u));
        } else {
          for (uint64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
        }
      }
      BulkOptions o = o_;
      o.threads = 1;
      o.random.first_index += start + first;
      bulk::round(std::span<const float>(strip, last - first), f_.element.format,
                  std::span<uint8_t>(codes + start + first, last - first), s, o);
    }
  }

  void values(const uint8_t* codes, const float* table, uint64_t row, uint64_t block, uint64_t inner,
              const uint8_t* scales, float* out) const {
    const uint64_t first = block * size(), last = std::min(l_.length, first + size());
    const uint32_t byte = scales[(row * blocks_ + block) * l_.inner + inner];
    const uint32_t nan = 0x7FC00000u;
    const uint32_t factor = nvfp4_ ? block::nvfp4_decode_factor(tensor_, byte, f_.nvfp4) : e8m0::fp32_code(byte);
    const bool none = factor > 0x7F800000u;
    const uint64_t mask = f_.element.code_mask(), bottom = std::min(l_.outer, (row + 1) * rows());
    if (factor == 0x7F800000u) {  // 0 times it is a NaN, whose sign the processor chooses
      for_each(row, bottom, first, last, inner,
               [&](uint64_t i) { out[i] = float_of(block::nvfp4_value(factor, codes[i])); });
      return;
    }
    for_each(row, bottom, first, last, inner,
             [&](uint64_t i) { out[i] = none ? float_of(nan) : table[codes[i] & mask] * float_of(factor); });
  }

 private:
  uint64_t size() const { return static_cast<uint64_t>(f_.size); }
  uint64_t rows() const { return static_cast<uint64_t>(f_.rows); }

  template <class Body>
  void for_each(uint64_t row, uint64_t bottom, uint64_t first, uint64_t last, uint64_t inner, const Body& body) const {
    for (uint64_t r = row * rows(); r < bottom; ++r)
      for (uint64_t k = first; k < last; ++k) body((r * l_.length + k) * l_.inner + inner);
  }

  uint32_t magnitude(const float* x, uint64_t n) const {
    uint32_t greatest = 0;
    for (uint64_t i = 0; i < n; ++i) {
      const uint32_t m = bits_of(x[i]) & 0x7FFFFFFFu;
      greatest = m > greatest ? m : greatest;
    }
    if (nan_counts_ || greatest <= 0x7F800000u) return greatest;
    greatest = 0;
    for (uint64_t i = 0; i < n; ++i) {
      const uint32_t m = bits_of(x[i]) & 0x7FFFFFFFu;
      if (m > greatest && m <= 0x7F800000u) greatest = m;
    }
    return greatest;
  }

  const BlockLayout& l_;
  const BlockFormat& f_;
  const BulkOptions& o_;
  block::Nvfp4Tensor tensor_;
  RandomBits random_;
  uint64_t blocks_;
  bool nvfp4_;
  bool nan_counts_;
};

}  // namespace

BlockLayout BlockLayout::of(std::span<const int64_t> shape, int axis) {
  const int rank = static_cast<int>(shape.size());
  if (axis < -rank || axis >= rank)
    refuse_blocks("BlockLayout", "axis is " + std::to_string(-rank) + ".." + std::to_string(rank - 1) + ", not " +
                                     std::to_string(axis));
  BlockLayout l;
  for (int i = 0; i < rank; ++i) {
    const uint64_t extent = static_cast<uint64_t>(shape[static_cast<size_t>(i)]);
    const int at = axis < 0 ? axis + rank : axis;
    (i < at ? l.outer : i > at ? l.inner : l.length) = (i == at ? 1 : i < at ? l.outer : l.inner) * extent;
  }
  return l;
}

uint64_t scale_count(const BlockLayout& l, const BlockFormat& f) {
  return quotient_up(l.outer, static_cast<uint64_t>(f.rows)) * quotient_up(l.length, static_cast<uint64_t>(f.size)) *
         l.inner;
}

uint32_t greatest_magnitude(std::span<const float> in, bool nan_counts, int threads) {
  std::atomic<uint32_t> all{0};
  auto body = [&](size_t begin, size_t end, size_t) {
    uint32_t greatest = 0;
    for (size_t i = begin; i < end; ++i) {
      const uint32_t m = bits_of(in[i]) & 0x7FFFFFFFu;
      const uint32_t counted = nan_counts || m <= 0x7F800000u ? m : 0;
      greatest = counted > greatest ? counted : greatest;
    }
    for (uint32_t seen = all; seen < greatest && !all.compare_exchange_weak(seen, greatest);) {
    }
  };
  parallel_ranges(in.size(), kGrain, 1, threads, body);
  return all;
}

uint32_t quantize(std::span<const float> in, const BlockLayout& layout, const BlockFormat& format,
                  std::span<uint8_t> codes, std::span<uint8_t> scales, const BulkOptions& options,
                  const uint32_t* amax) {
  check_blocks("quantize", layout, format, in.size(), codes.size(), scales.size(), options);
  uint32_t greatest = 0;
  if (format.family == BlockFamily::kNvfp4)
    greatest = amax ? *amax : greatest_magnitude(in, format.nan_poisons_block(), options.threads);
  const BlockWork work(layout, format, greatest, options);
  RoundingPolicy p = format.rounding();
  p.overflow = Overflow::kSaturate;
  p.infinity = InfinityResult::kSaturate;
  const Semantics s = Semantics::ieee(p);
  const bool strips = work.strips_serve();
  const uint64_t blocks = work.blocks(), inner = layout.inner;
  const size_t count = scales.size();
  const size_t grain = std::max<size_t>(1, kGrain / static_cast<size_t>(format.size * format.rows));
  emu::parallel_status(
      count, grain, 1, options.threads, options.status, [&](size_t begin, size_t end, FpStatus* status) {
        std::vector<float> strip(strips ? std::max<size_t>(kStrip, static_cast<size_t>(format.size)) : 0);
        for (size_t i = begin; i < end;) {
          const uint64_t row = i / inner / blocks, block = i / inner % blocks;
          if (!strips) {
            work.by_elements(in.data(), row, block, i % inner, codes.data(), scales.data(), status);
            ++i;
            continue;
          }
          const uint64_t stop = std::min<uint64_t>(blocks, block + (end - i));
          work.by_strips(in.data(), row, block, stop, codes.data(), scales.data(), strip.data(), s);
          i += stop - block;
        }
      });
  return greatest;
}

void dequantize(std::span<const uint8_t> codes, std::span<const uint8_t> scales, const BlockLayout& layout,
                const BlockFormat& format, uint32_t amax, std::span<float> out, const BulkOptions& options) {
  check_blocks("dequantize", layout, format, out.size(), codes.size(), scales.size(), options);
  const BlockWork work(layout, format, amax, options);
  float table[256];
  for (uint32_t c = 0; c < 256; ++c) table[c] = float_of(block::mx_value(format.element, e8m0::kOne, c));
  const uint64_t blocks = work.blocks(), inner = layout.inner;
  const size_t grain = std::max<size_t>(1, kGrain / static_cast<size_t>(format.size * format.rows));
  auto body = [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i)
      work.values(codes.data(), table, i / inner / blocks, i / inner % blocks, i % inner, scales.data(), out.data());
  };
  parallel_ranges(scales.size(), grain, 1, options.threads, body);
}

void fake_quantize(std::span<const float> in, const BlockLayout& layout, const BlockFormat& format,
                   std::span<float> out, const BulkOptions& options) {
  if (out.size() != in.size())
    refuse_blocks("fake_quantize", "the input has " + std::to_string(in.size()) + " elements and the output " +
                                       std::to_string(out.size()));
  std::vector<uint8_t> codes(in.size()), scales(format.size < 1 || format.rows < 1 ? 0 : scale_count(layout, format));
  const uint32_t amax = quantize(in, layout, format, codes, scales, options);
  dequantize(codes, scales, layout, format, amax, out, options);
}

}  // namespace softamp::bulk
