// Arrays in blocks equal the functions for one block: elements, rules, modes, axes, tiles, threads, instruction sets.
#include <functional>

#include "tests/emu/block_check.h"

namespace softamp::test {
namespace {

// tests: N447, N448, N449, N468
TEST(BulkBlocks, Mx) {
  const auto in = block_values(5 * 203, 1);
  for (const block::Element& e : kBlockElements)
    for (int rule = 0; rule < 5; ++rule)
      for (int mode = 0; mode < 7; ++mode) {
        BlockFormat f = BlockFormat::of_mx(e);
        f.mx.scale = static_cast<block::ScaleRule>(rule);
        f.mx.rounding.mode = static_cast<RoundingMode>(mode);
        f.mx.rounding.random_bits = 5 + 4 * rule;
        f.mx.nan_poisons_block = (mode + rule) % 2 == 0;
        f.mx.infinity_saturates = rule % 2 == 1;
        f.mx.three_quarters = mode == 5 && rule == 0;
        f.mx.rounding.signed_zeros = rule != 4;
        BulkOptions o;
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
      BlockFormat f = BlockFormat::of_mx(kBlockElements[4]);
      f.size = size;
      check_blocks(in, BlockLayout::of(shape, axis), f, {}, "axis " + std::to_string(axis));
    }
}

// tests: N453, N454, N456
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

TEST(BulkBlocks, Nvfp4ThatChoosesScales) {
  std::vector<float> in = block_values(37 * 50, 6), tame = in;
  for (float& x : tame) x = std::isfinite(x) ? std::fmod(x, 100.0F) : 1;
  for (const auto& values : {in, tame})
    for (const auto& [rows, size] : {std::pair{1, 16}, {16, 16}, {1, 5}, {3, 16}})
      for (const auto& [errors, bound] : {std::pair{block::FourOverSix::kMae, 0}, {block::FourOverSix::kMse, 448}})
        for (const auto mode : {RoundingMode::kNearestEven, RoundingMode::kTowardZero})
          for (const bool poisons : {true, false}) {
            BlockFormat f = BlockFormat::of_nvfp4(rows);
            f.size = size;
            f.nvfp4.four_over_six = errors;
            f.nvfp4.e4m3_max = bound;
            f.nvfp4.rounding.mode = mode;
            f.nvfp4.nan_poisons_block = poisons;
            for (const BlockLayout& l : {BlockLayout{37, 50, 1}, BlockLayout{1, 1850, 1}, BlockLayout{5, 37, 10}})
              if (rows == 1 || l.inner == 1)
                check_blocks(values, l, f, {},
                             "4over6 " + std::to_string(static_cast<int>(errors)) + " bound " + std::to_string(bound) +
                                 " blocks " + std::to_string(rows) + " x " + std::to_string(size) +
                                 (poisons ? " poisons" : ""));
          }
}

/// Greatest magnitudes at which one more or one less rounding gives another scale.
// tests: N453, N469
TEST(BulkBlocks, Nvfp4ScalesNearTheirTies) {
  for (const int bound : {256, 448}) {
    std::vector<float> in(16, 0.5F);
    in[0] = 8;  // the tensor's: S is 6 bound / 8
    for (uint64_t code = 0; code < 0x7E; ++code) {
      const double tie = (fp::to_double(kE4m3, code) + fp::to_double(kE4m3, code + 1)) / 2;
      float x = static_cast<float>(tie * 8 / bound);
      for (int i = 0; i < 4; ++i) x = std::nextafter(x, 0.0F);
      for (int i = 0; i < 9 && x <= 8; ++i, x = std::nextafter(x, 9.0F)) {
        in.push_back(x);
        for (int k = 1; k < 16; ++k) in.push_back(x * static_cast<float>(k) / -16);
      }
    }
    for (int rule = 0; rule < 3; ++rule)
      for (const block::FourOverSix errors : {block::FourOverSix::kNone, block::FourOverSix::kMae}) {
        if (errors != block::FourOverSix::kNone && rule != 0) continue;
        BlockFormat f = BlockFormat::of_nvfp4();
        f.nvfp4.rule = static_cast<block::Nvfp4Rule>(rule);
        f.nvfp4.four_over_six = errors;
        if (rule == 0) f.nvfp4.e4m3_max = bound;
        check_blocks(in, {1, in.size(), 1}, f, {},
                     "ties, rule " + std::to_string(rule) + " to " + std::to_string(bound));
      }
  }
}

TEST(BulkBlocks, Fp8) {
  const auto in = block_values(29 * 300, 5);
  std::vector<float> tame = in;
  for (float& x : tame) x = std::isfinite(x) ? std::fmod(x, 100.0F) : 1;
  const std::pair<int, int> shapes[] = {{0, 0}, {1, 0}, {1, 128}, {128, 128}, {5, 7}};
  for (const auto& values : {in, tame})
    for (const FloatFormat& e : {kE4m3, kE5m2})
      for (int rule = 0; rule < 3; ++rule)
        for (int mode = 0; mode < 7; ++mode) {
          const auto [rows, size] = shapes[static_cast<size_t>(mode + rule) % 5];
          BlockFormat f = BlockFormat::of_fp8(e, rows, size);
          f.fp8.rule = static_cast<block::Fp8Rule>(rule);
          f.fp8.powers_of_two = mode % 3 == 1;
          f.fp8.least_amax = mode % 4 == 3 ? 0x3F800000u : 0;
          f.fp8.nan_poisons_block = mode % 2 == 0;
          f.fp8.rounding.mode = static_cast<RoundingMode>(mode);
          check_blocks(values, {29, 300, 1}, f, {},
                       "fp8 rule " + std::to_string(rule) + " mode " + std::to_string(mode) + " blocks of " +
                           std::to_string(rows) + " x " + std::to_string(size));
        }
  for (const auto& [rows, size] : {std::pair{1, 0}, {1, 128}, {0, 0}})
    check_blocks(tame, {2, 290, 15}, BlockFormat::of_fp8(kE4m3, rows, size), {}, "fp8 along the middle axis");
}

TEST(BulkBlocks, WithoutScales) {
  const auto in = block_values(9001, 6);
  for (const block::Element& e : kBlockElements)
    for (int mode = 0; mode < 7; ++mode) {
      BlockFormat f = BlockFormat::of_plain(e);
      f.plain.mode = static_cast<RoundingMode>(mode);
      BulkOptions o;
      o.random.first_index = 3;
      check_blocks(in, {1, in.size(), 1}, f, o,
                   "plain " + std::to_string(e.storage_bits()) + " mode " + std::to_string(mode));
    }
}

TEST(BulkBlocks, Empty) {
  for (const BlockFormat& f :
       {BlockFormat::of_mx(kBlockElements[0]), BlockFormat::of_nvfp4(), BlockFormat::of_fp8(kE4m3),
        BlockFormat::of_fp8(kE4m3, 1, 0), BlockFormat::of_plain(kBlockElements[0])})
    for (const BlockLayout& l : {BlockLayout{0, 32, 1}, BlockLayout{4, 0, 1}, BlockLayout{4, 32, 0}})
      check_blocks({}, l, f, {}, "empty");
}

TEST(BulkBlocks, LongArrays) {
  const auto in = block_values(300001, 4);
  check_blocks(in, {1, in.size(), 1}, BlockFormat::of_mx(kBlockElements[0]), {}, "long");
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
  const BlockFormat mx = BlockFormat::of_mx(kBlockElements[0]);
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
  const auto refused_format = [&](const BlockFormat& f) {
    return refused([&] { bulk::quantize(in, {2, 32, 1}, f, codes, scales); });
  };
  BlockFormat f = mx;
  f.size = -1;
  EXPECT_EQ(refused_format(f), "bulk::quantize: a block has at least one element, not 1 x -1");
  f = mx;
  f.rows = 0;
  EXPECT_EQ(refused_format(f),
            "bulk::quantize: all rows (0) are those of a block that has the whole array, 0 x 0, not 0 x 32");
  EXPECT_EQ(refused_format(BlockFormat::of_fp8(kE4m3)), "bulk::quantize: expected 1 scales of 4 bytes, not 2 bytes");
  EXPECT_EQ(refused_format(BlockFormat::of_mx(block::Element(kFp16))),
            "bulk::quantize: a code has at most 8 bits; the element's has 16");
  f = BlockFormat::of_fp8(kE4m3);
  f.element = block::Element::int8();
  EXPECT_EQ(refused_format(f), "bulk::quantize: elements with scales of fp32 are small floats, not integers");
}

}  // namespace
}  // namespace softamp::test
