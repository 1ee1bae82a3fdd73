// Arrays in blocks by every way that a call can be cut: sizes of blocks that are vectors, groups, or neither; columns,
// few and many; tiles at edges; blocks for all threads; arrays past the caches; arrays off their alignment.
#include "tests/emu/block_check.h"

namespace softamp::test {
namespace {

/// Without infinities and NaN, which would send blocks to the functions for one: a few thousand binades apart at most.
std::vector<float> tame_values(size_t n, uint64_t seed) {
  Mixer mix(seed);
  std::vector<float> values(n);
  for (float& v : values) {
    const uint64_t r = mix();
    const float fraction = r % 3 == 0 ? static_cast<float>(r >> 40 & 0xFF) / 64 - 2
                                      : static_cast<float>(static_cast<int32_t>(r >> 32)) / 0x1p31F;
    v = std::ldexp(fraction, static_cast<int>(r % 14) - 9);
  }
  return values;
}

std::vector<BlockFormat> some_formats() {
  std::vector<BlockFormat> all = {BlockFormat::of_mx(kBlockElements[0]), BlockFormat::of_mx(kBlockElements[4]),
                                  BlockFormat::of_mx(kBlockElements[5]), BlockFormat::of_nvfp4(),
                                  BlockFormat::of_fp8(kE5m2, 1, 128),    BlockFormat::of_nvfp4()};
  all[1].mx.scale = block::ScaleRule::kMicroxcaling;
  all[4].fp8.rule = block::Fp8Rule::kDeepSeek;
  all[5].nvfp4.four_over_six = block::FourOverSix::kMae;
  return all;
}

const RoundingMode kModes[] = {RoundingMode::kNearestEven, RoundingMode::kStochastic, RoundingMode::kNearestAway,
                               RoundingMode::kUp};

std::string place(const BlockLayout& l, const BlockFormat& f) {
  return "format " + std::to_string(static_cast<int>(f.family)) + " mode " +
         std::to_string(static_cast<int>(f.rounding().mode)) + ", " + std::to_string(l.outer) + " x " +
         std::to_string(l.length) + " x " + std::to_string(l.inner) + " in blocks of " + std::to_string(f.rows) +
         " x " + std::to_string(f.size);
}

void check_all(const BlockLayout& l, int rows, int size, uint64_t seed, bool all_modes = true) {
  const auto in = tame_values(l.elements(), seed);
  for (BlockFormat f : some_formats())
    for (const RoundingMode mode : kModes) {
      if (!all_modes && mode != RoundingMode::kNearestEven) continue;
      // Other blocks choose their scales one by one, which takes long.
      if (f.chooses_scale() && (rows != 1 || size != 16 || l.inner != 1 || mode == RoundingMode::kStochastic)) continue;
      f.rows = rows, f.size = size;
      f.rounding().mode = mode;
      f.rounding().random_bits = 13;
      BulkOptions o;
      o.random.seed = 9;
      o.random.first_index = seed;  // also no multiple of 8
      check_blocks(in, l, f, o, place(l, f));
    }
}

// tests: N447, N462
TEST(BulkBlocksPaths, SizesOfBlocks) {
  for (const int size : {1, 3, 8, 16, 24, 32, 48, 64, 100, 128, 192, 2048, 3000}) check_all({3, 3100, 1}, 1, size, 11);
  check_all({2, 2048, 1}, 1, 16, 12);  // rows of whole blocks
}

// tests: N462
TEST(BulkBlocksPaths, Columns) {
  for (const uint64_t inner : {2, 15, 63, 64, 100, 257, 2100})
    check_all({2, 40, inner}, 1, 32, 13 + inner, inner < 300);
  check_all({1, 3000, 3}, 1, 2500, 14);
  check_all({1, 3000, 70}, 1, 0, 15, false);
}

// tests: N462
TEST(BulkBlocksPaths, Tiles) {
  for (const auto& [rows, size] : {std::pair{16, 16}, {128, 128}, {3, 20}, {2, 0}})
    check_all({37, 300, 1}, rows, size, 16);
}

TEST(BulkBlocksPaths, VariantsOfStochasticRounding) {
  const auto in = tame_values(7 * 131, 17);
  for (BlockFormat f : some_formats())
    for (int variant = f.chooses_scale() ? 5 : 0; variant < 5; ++variant)
      for (const int bits : {1, 7, 13, 17, 24, 32})
        for (const RandomEngine engine : {RandomEngine::kPhilox, RandomEngine::kPhilox7}) {
          f.rounding() = RoundingPolicy::stochastic_carry(bits);
          f.rounding().variant = static_cast<StochasticVariant>(variant);
          if (variant == 1) f.rounding().alignment = RandomAlignment::kAsIfNormal;
          BulkOptions o;
          o.random = {engine, 5, 3, 2, 1001};
          o.random.replica = bits % 2 ? 200 : 0;
          check_blocks(in, {7, 131, 1}, f, o,
                       place({7, 131, 1}, f) + " variant " + std::to_string(variant) + " bits " + std::to_string(bits));
        }
}

// tests: N449
TEST(BulkBlocksPaths, OtherPolicies) {
  const auto in = tame_values(7 * 131, 18);
  for (BlockFormat f : some_formats())
    for (int subnormals = 0; subnormals < 3; ++subnormals)
      for (const bool signed_zeros : {false, true})
        for (int mode = 0; mode < 7; ++mode) {
          f.rounding().mode = static_cast<RoundingMode>(mode);
          if (f.chooses_scale() && f.rounding().stochastic()) continue;
          f.rounding().subnormals = static_cast<Subnormals>(subnormals);
          f.rounding().signed_zeros = signed_zeros;
          check_blocks(in, {7, 131, 1}, f, {}, place({7, 131, 1}, f));
        }
}

// tests: N466
TEST(BulkBlocksPaths, OneBlockForAllThreads) {
  auto in = tame_values(80001, 19);
  for (const float special : {1.0F, INFINITY}) {
    in[75000] = special;
    for (int rule = 0; rule < 3; ++rule) {
      BlockFormat f = BlockFormat::of_fp8(kE4m3);
      f.fp8.rule = static_cast<block::Fp8Rule>(rule);
      check_blocks(in, {1, in.size(), 1}, f, {}, "one block");
      f.rounding().mode = RoundingMode::kStochastic;
      check_blocks(in, {3, 26667, 1}, f, {}, "one block, stochastic");
    }
  }
}

/// Stores go around the caches from 16 MiB on, where the output starts a cache line, and else do not.
TEST(BulkBlocksPaths, PastTheCaches) {
  constexpr size_t kRows = 1000, kColumns = 3600, kSize = kRows * kColumns;
  const auto values = block_values(kSize, 20);
  const BlockFormat f = BlockFormat::of_mx(kBlockElements[0]);
  for (const BlockLayout& l : {BlockLayout{kRows, kColumns, 1}, BlockLayout{1, kRows, kColumns}}) {
    const BlocksExpected e = expected_blocks(values, l, f, {});
    for (const InstructionSet set : usable_sets())
      for (const size_t off : {0, 5}) {
        std::vector<float> in(kSize + 32), out(kSize + 32);
        std::vector<uint8_t> codes(kSize + 128), scales(e.scales.size());
        const auto line = [&](auto& v) {
          const size_t step = sizeof(v[0]), over = reinterpret_cast<uintptr_t>(v.data()) % 64;
          return std::span(v).subspan((64 - over) % 64 / step + off, kSize);
        };
        std::copy(values.begin(), values.end(), line(in).begin());
        BulkOptions o;
        o.isa = set;
        o.threads = 2;
        bulk::quantize(line(in), l, f, line(codes), scales, o);
        EXPECT_EQ(scales, e.scales);
        EXPECT_EQ(std::memcmp(line(codes).data(), e.codes.data(), kSize), 0) << bulk::name(set) << off;
        bulk::dequantize(line(codes), scales, l, f, 0, line(out), o);
        EXPECT_EQ(std::memcmp(line(out).data(), e.values.data(), 4 * kSize), 0) << bulk::name(set) << off;
        std::fill(out.begin(), out.end(), 0.0F);
        bulk::fake_quantize(line(in), l, f, line(out), o);
        EXPECT_EQ(std::memcmp(line(out).data(), e.values.data(), 4 * kSize), 0) << bulk::name(set) << off;
      }
  }
}

}  // namespace
}  // namespace softamp::test
