// Arrays in blocks equal the functions for one block: elements, rules, modes, axes, tiles, threads, instruction sets.
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "softamp/tensor/block_bulk.h"
#include "tests/emu/bulk_check.h"

namespace softamp::test {
namespace {

using bulk::BlockFormat;
using bulk::BlockLayout;

/// Numbers of a block's own size with all that is special, subnormals, and blocks of zeros.
std::vector<float> block_values(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(n);
  int exponent = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i % 37 == 0) exponent = static_cast<int>(random() % 300) - 160;
    const uint64_t kind = random() % 512;
    const float fraction = static_cast<float>(random() % 65536) / 16384 - 2;
    values[i] = std::ldexp(fraction, exponent - static_cast<int>(random() % 6));
    if (kind == 0) values[i] = NAN;
    if (kind == 1) values[i] = kind % 2 ? INFINITY : -INFINITY;
    if (kind == 2 || i / 100 % 9 == 0) values[i] = i % 2 ? -0.0F : 0;
    if (kind == 3) values[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (kind == 4) values[i] = std::bit_cast<float>(static_cast<uint32_t>(random() % 1000));
  }
  return values;
}

/// The same by gathering each block and asking the functions for one.
void check_blocks(const std::vector<float>& in, const BlockLayout& l, const BlockFormat& f, BulkOptions o,
                  const std::string& what) {
  const auto size = static_cast<uint64_t>(f.size), rows = static_cast<uint64_t>(f.rows);
  const uint64_t blocks = (l.length + size - 1) / size, tall = (l.outer + rows - 1) / rows;
  std::vector<uint8_t> codes(in.size()), scales(blocks * tall * l.inner), got(in.size(), 0xAA), got_scales(scales);
  std::vector<float> values(in.size()), got_values(in.size());
  const bool counts = f.nan_poisons_block();
  const auto* words = reinterpret_cast<const uint32_t*>(in.data());
  std::vector<uint32_t> all(in.size());
  std::memcpy(all.data(), words, 4 * in.size());
  const uint32_t amax = f.family == bulk::BlockFamily::kNvfp4
                            ? block::greatest_magnitude(all.data(), static_cast<int>(all.size()), counts)
                            : 0;
  const block::Nvfp4Tensor tensor = block::nvfp4_tensor(amax, f.nvfp4);
  const RandomBits random{o.random.seed, 10, 0};
  const RoundingPolicy& p = f.rounding();
  FpStatus status, got_status;
  for (uint64_t t = 0; t < tall; ++t)
    for (uint64_t b = 0; b < blocks; ++b)
      for (uint64_t k = 0; k < l.inner; ++k) {
        std::vector<size_t> at;
        std::vector<uint32_t> x, r;
        for (uint64_t row = t * rows; row < std::min(l.outer, (t + 1) * rows); ++row)
          for (uint64_t i = b * size; i < std::min(l.length, (b + 1) * size); ++i) {
            at.push_back((row * l.length + i) * l.inner + k);
            x.push_back(all[at.back()]);
            r.push_back(p.stochastic() ? random.bits(o.random.step, o.random.operation,
                                                     o.random.first_index + at.back(), p.random_bits)
                                       : 0);
          }
        std::vector<uint8_t> c(x.size());
        const int n = static_cast<int>(x.size());
        uint32_t scale;
        uint8_t flags;
        if (f.family == bulk::BlockFamily::kNvfp4) {
          const auto q = block::nvfp4_quantize(tensor, x.data(), n, c.data(), f.nvfp4, r.data());
          scale = q.scale, flags = q.flags;
        } else {
          const auto q = block::mx_quantize(f.element, x.data(), n, c.data(), f.mx, r.data());
          scale = q.scale, flags = q.flags;
        }
        status.flags |= flags;
        scales[(t * blocks + b) * l.inner + k] = static_cast<uint8_t>(scale);
        for (size_t i = 0; i < at.size(); ++i) {
          codes[at[i]] = c[i];
          const uint32_t v = f.family == bulk::BlockFamily::kNvfp4
                                 ? block::nvfp4_value(block::nvfp4_decode_factor(tensor, scale, f.nvfp4), c[i])
                                 : block::mx_value(f.element, scale, c[i]);
          values[at[i]] = std::bit_cast<float>(v);
        }
      }
  for (const bool with_status : {false, true})
    for (const int threads : {1, 3}) {
      o.threads = threads;
      o.status = with_status ? &got_status : nullptr;
      EXPECT_EQ(bulk::quantize(in, l, f, got, got_scales, o), amax) << what;
      ASSERT_EQ(got_scales, scales) << what;
      for (size_t i = 0; i < in.size(); ++i)
        ASSERT_EQ(int{got[i]}, int{codes[i]}) << what << " element " << i << " " << in[i] << " status " << with_status;
    }
  EXPECT_EQ(int{got_status.flags}, int{status.flags}) << what;
  o.status = nullptr;
  bulk::dequantize(codes, scales, l, f, amax, got_values, o);
  EXPECT_EQ(std::memcmp(got_values.data(), values.data(), 4 * in.size()), 0) << what;
  got_values = in;
  bulk::fake_quantize(got_values, l, f, got_values, o);
  EXPECT_EQ(std::memcmp(got_values.data(), values.data(), 4 * in.size()), 0) << what;
}

const block::Element kElements[] = {block::Element(kE4m3), block::Element(kE5m2), block::Element(kE3m2),
                                    block::Element(kE2m3), block::Element(kE2m1), block::Element::int8()};

TEST(BulkBlocks, Mx) {
  const auto in = block_values(5 * 203, 1);
  for (const InstructionSet set : usable_sets())
    for (const block::Element& e : kElements)
      for (int rule = 0; rule < 5; ++rule)
        for (int mode = 0; mode < 7; ++mode) {
          BlockFormat f = BlockFormat::of_mx(e);
          f.mx.scale = static_cast<block::ScaleRule>(rule);
          f.mx.rounding.mode = static_cast<RoundingMode>(mode);
          f.mx.rounding.random_bits = 5 + 4 * rule;
          f.mx.nan_poisons_block = mode % 2 == 0;
          f.mx.infinity_saturates = rule % 2 == 1;
          f.mx.three_quarters = mode == 5 && rule == 0;
          f.mx.rounding.signed_zeros = rule != 4;
          BulkOptions o;
          o.isa = set;
          o.random.seed = 77;
          o.random.first_index = 1000;
          check_blocks(in, {5, 203, 1}, f, o,
                       "element " + std::to_string(e.storage_bits()) + " rule " + std::to_string(rule) + " mode " +
                           std::to_string(mode));
        }
}

TEST(BulkBlocks, OtherAxesAndSizes) {
  const int64_t shape[] = {4, 70, 9};
  const auto in = block_values(4 * 70 * 9, 2);
  for (int axis = -3; axis < 3; ++axis)
    for (const int size : {1, 7, 32, 1000}) {
      BlockFormat f = BlockFormat::of_mx(kElements[4]);
      f.size = size;
      check_blocks(in, BlockLayout::of(shape, axis), f, {}, "axis " + std::to_string(axis));
    }
}

TEST(BulkBlocks, Nvfp4) {
  std::vector<float> in = block_values(37 * 50, 3), tame = in;
  for (float& x : tame) x = std::isfinite(x) ? std::fmod(x, 100.0F) : 1;
  for (const auto& values : {in, tame})
    for (const int rows : {1, 16})
      for (int rule = 0; rule < 3; ++rule)
        for (int mode = 0; mode < 7; ++mode)
          for (const bool poisons : {true, false}) {
            BlockFormat f = BlockFormat::of_nvfp4(rows);
            f.nvfp4.rule = static_cast<block::Nvfp4Rule>(rule);
            f.nvfp4.rounding.mode = static_cast<RoundingMode>(mode);
            f.nvfp4.nan_poisons_block = poisons;
            check_blocks(values, {37, 50, 1}, f, {},
                         "nvfp4 rule " + std::to_string(rule) + " mode " + std::to_string(mode) + " rows " +
                             std::to_string(rows) + (poisons ? " poisons" : ""));
          }
}

TEST(BulkBlocks, LongArrays) {
  const auto in = block_values(300001, 4);
  check_blocks(in, {1, in.size(), 1}, BlockFormat::of_mx(kElements[0]), {}, "long");
  check_blocks(in, {1, in.size(), 1}, BlockFormat::of_nvfp4(), {}, "long nvfp4");
}

std::string refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "not refused";
}

TEST(BulkBlocks, Refused) {
  std::vector<float> in(64);
  std::vector<uint8_t> codes(64), scales(2);
  const BlockFormat mx = BlockFormat::of_mx(kElements[0]);
  EXPECT_EQ(refused([&] {
              bulk::quantize(in, {1, 63, 1}, mx, codes, scales);
            }),
            "bulk::quantize: the layout has 63 elements, the arrays 64 and 64");
  EXPECT_EQ(refused([&] {
              bulk::quantize(in, {2, 32, 1}, mx, codes, std::span(scales).first(1));
            }),
            "bulk::quantize: expected 2 scales, not 1");
  EXPECT_EQ(refused([&] {
              bulk::quantize(in, {2, 16, 2}, BlockFormat::of_nvfp4(16), codes, scales);
            }),
            "bulk::quantize: tiles of 16 rows lie along the last axis; 2 elements lie behind this one");
  const int64_t shape[] = {8, 8};
  EXPECT_EQ(refused([&] { BlockLayout::of(shape, 2); }), "bulk::BlockLayout: axis is -2..1, not 2");
  BlockFormat none = mx;
  none.size = 0;
  EXPECT_EQ(refused([&] {
              bulk::quantize(in, {2, 32, 1}, none, codes, scales);
            }),
            "bulk::quantize: a block has at least one element, not 1 x 0");
}

}  // namespace
}  // namespace softamp::test
