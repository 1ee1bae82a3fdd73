// What the tests of arrays in blocks share: their data, and the comparison with the functions for one block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "softamp/tensor/block_bulk.h"
#include "tests/emu/bulk_check.h"

namespace softamp::test {

using block::BlockFamily;
using block::BlockFormat;
using bulk::BlockLayout;

inline const block::Element kBlockElements[] = {block::Element(kE4m3), block::Element(kE5m2), block::Element(kE3m2),
                                                block::Element(kE2m3), block::Element(kE2m1), block::Element::int8()};

/// Numbers of a block's own size with all that is special, subnormals, and blocks of zeros; every other number has a
/// short significand, for ties.
inline std::vector<float> block_values(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(n);
  int exponent = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i % 37 == 0) exponent = static_cast<int>(random() % 300) - 160;
    const uint64_t kind = random() % 512, digits = random();
    const float fraction = digits % 2 ? static_cast<float>(digits % 65536) / 16384 - 2
                                      : static_cast<float>(digits % (1 << 25)) / (1 << 23) - 2;
    values[i] = std::ldexp(fraction, exponent - static_cast<int>(random() % 6));
    if (kind == 0) values[i] = NAN;
    if (kind == 1) values[i] = i % 2 ? INFINITY : -INFINITY;
    if (kind == 2 || i / 100 % 9 == 0) values[i] = i % 2 ? -0.0F : 0;
    if (kind == 3) values[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (kind == 4) values[i] = std::bit_cast<float>(static_cast<uint32_t>(random() % 1000));
  }
  return values;
}

/// Codes, scales and values of an array.
struct BlocksExpected {
  std::vector<uint8_t> codes, scales;
  std::vector<float> values;
  uint32_t amax = 0;
  uint8_t flags = 0;
};

/// One block of `rows` rows, gathered to `x` with its random words `r`: its codes and flags; values[i] = the value of
/// code i; returns the scale.
inline uint32_t expected_block(const BlockFormat& f, const block::Nvfp4Tensor& tensor, const std::vector<uint32_t>& x,
                               const std::vector<uint32_t>& r, int rows, std::vector<uint8_t>& codes,
                               std::vector<uint32_t>& values, uint8_t& flags) {
  const int n = static_cast<int>(x.size());
  uint32_t scale = 0;
  switch (f.family) {
    case BlockFamily::kNvfp4: {
      const auto q = block::nvfp4_quantize(tensor, x.data(), n, codes.data(), f.nvfp4, r.data(), rows);
      scale = q.scale, flags = q.flags;
      const uint32_t factor = block::nvfp4_decode_factor(tensor, scale, f.nvfp4);
      for (size_t i = 0; i < x.size(); ++i) values[i] = block::nvfp4_value(factor, codes[i]);
      return scale;
    }
    case BlockFamily::kFp8: {
      const auto q = block::fp8_quantize(f.element.format, x.data(), n, codes.data(), f.fp8, r.data());
      scale = q.scale.decode, flags = q.flags;
      for (size_t i = 0; i < x.size(); ++i) values[i] = block::fp8_value(f.element.format, scale, codes[i]);
      return scale;
    }
    case BlockFamily::kMx: {
      const auto q = block::mx_quantize(f.element, x.data(), n, codes.data(), f.mx, r.data());
      scale = q.scale, flags = q.flags;
      for (size_t i = 0; i < x.size(); ++i) values[i] = block::mx_value(f.element, scale, codes[i]);
      return scale;
    }
    default: {
      RoundingPolicy p = f.plain;
      p.overflow = Overflow::kSaturate;
      p.infinity = InfinityResult::kSaturate;
      flags = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const Rounded q = block::round_fp32(f.element, x[i], 0, false, p, r[i]);
        codes[i] = static_cast<uint8_t>(q.code);
        flags |= q.flags;
        values[i] = block::mx_value(f.element, e8m0::kOne, codes[i]);
      }
      return 0;
    }
  }
}

inline BlocksExpected expected_blocks(const std::vector<float>& in, const BlockLayout& l, const BlockFormat& f,
                                      const BulkOptions& o) {
  const uint64_t size = f.size == 0 ? l.length : static_cast<uint64_t>(f.size);
  const uint64_t rows = f.rows == 0 ? l.outer : static_cast<uint64_t>(f.rows);
  const uint64_t columns = f.rows == 0 ? 1 : l.inner, wide = f.rows == 0 ? l.inner : 1;
  BlocksExpected e;
  if (in.empty()) return e;
  const uint64_t blocks = (l.length + size - 1) / size, tall = (l.outer + rows - 1) / rows;
  e.codes.resize(in.size());
  e.values.resize(in.size());
  std::vector<uint32_t> all(in.size());
  std::memcpy(all.data(), in.data(), 4 * in.size());
  if (f.family == BlockFamily::kNvfp4)
    e.amax = block::greatest_magnitude(all.data(), static_cast<int>(all.size()), f.nan_poisons_block());
  const block::Nvfp4Tensor tensor = block::nvfp4_tensor(e.amax, f.nvfp4);
  const RandomBits random{o.random.seed, o.random.engine == RandomEngine::kPhilox7 ? 7 : 10, o.random.replica};
  const RoundingPolicy& p = f.rounding();
  for (uint64_t t = 0; t < tall; ++t)
    for (uint64_t b = 0; b < blocks; ++b)
      for (uint64_t k = 0; k < columns; ++k) {
        std::vector<size_t> at;
        std::vector<uint32_t> x, r;
        for (uint64_t row = t * rows; row < std::min(l.outer, (t + 1) * rows); ++row)
          for (uint64_t i = b * size; i < std::min(l.length, (b + 1) * size); ++i)
            for (uint64_t w = 0; w < wide; ++w) {
              const uint64_t at_i = (row * l.length + i) * l.inner + k + w;
              at.push_back(at_i);
              x.push_back(all[at_i]);
              r.push_back(p.stochastic() ? random.bits(o.random.step, o.random.operation, o.random.first_index + at_i,
                                                       p.random_bits)
                                         : 0);
            }
        std::vector<uint8_t> codes(x.size());
        std::vector<uint32_t> values(x.size());
        uint8_t flags = 0;
        const int height = f.rows == 0 ? 1 : static_cast<int>(std::min(l.outer, (t + 1) * rows) - t * rows);
        const uint32_t scale = expected_block(f, tensor, x, r, height, codes, values, flags);
        e.flags = static_cast<uint8_t>(e.flags | flags);
        for (int byte = 0; byte < f.scale_bytes(); ++byte) e.scales.push_back(static_cast<uint8_t>(scale >> 8 * byte));
        for (size_t i = 0; i < at.size(); ++i) {
          e.codes[at[i]] = codes[i];
          e.values[at[i]] = std::bit_cast<float>(values[i]);
        }
      }
  return e;
}

template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    if (std::memcmp(&got[i], &expected[i], sizeof(T)) != 0) {
      FAIL() << what << " " << i << ": got " << +got[i] << ", expected " << +expected[i];
      return;
    }
}

/// All three functions on every instruction set, with and without flags.
inline void check_blocks(const std::vector<float>& in, const BlockLayout& l, const BlockFormat& f, BulkOptions o,
                         const std::string& what) {
  const BlocksExpected e = expected_blocks(in, l, f, o);
  for (const InstructionSet set : usable_sets()) {
    o.isa = set;
    const std::string where = what + " " + bulk::name(set);
    std::vector<uint8_t> codes(in.size()), scales(e.scales.size());
    std::vector<float> values(in.size());
    for (const bool with_status : {false, true}) {
      FpStatus status;
      o.threads = with_status ? 1 : 3;
      o.status = with_status ? &status : nullptr;
      codes.assign(codes.size(), 0xAA), scales.assign(scales.size(), 0xAA);
      EXPECT_EQ(bulk::quantize(in, l, f, codes, scales, o), e.amax) << where;
      expect_same(scales, e.scales, where + (with_status ? " with status" : "") + " scale");
      expect_same(codes, e.codes, where + (with_status ? " with status" : "") + " code");
      EXPECT_EQ(int{status.flags}, with_status ? int{e.flags} : 0) << where;
      values = in;
      bulk::fake_quantize(values, l, f, values, o);
      expect_same(values, e.values, where + " fake");
    }
    o.status = nullptr;
    bulk::fake_quantize(in, l, f, values, o);
    expect_same(values, e.values, where + " fake, not in place");
    values.assign(in.size(), -1);
    bulk::dequantize(e.codes, e.scales, l, f, e.amax, values, o);
    expect_same(values, e.values, where + " value");
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace softamp::test
