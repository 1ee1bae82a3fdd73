// NVFP4, FP8 by blocks and their layouts: known lines of TransformerEngine, torchao, DeepSeek and DeepGEMM.
#include <gtest/gtest.h>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_real_distribution.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "softamp/numerics/block/fp8.h"
#include "softamp/numerics/block/layout.h"
#include "softamp/numerics/block/nvfp4.h"

namespace softamp::block {
namespace {

using Bytes = std::vector<int>;

uint32_t single(double x) { return __builtin_bit_cast(uint32_t, static_cast<float>(x)); }
std::vector<uint32_t> singles(const std::vector<double>& values) {
  std::vector<uint32_t> all;
  for (const double x : values) all.push_back(single(x));
  return all;
}

struct Fp4Block {
  uint32_t scale, factor;
  std::vector<uint8_t> codes;
  Bytes packed() const {
    std::vector<uint8_t> bytes(packed_bytes(codes.size())), back(codes.size());
    pack_nibbles(codes.data(), codes.size(), bytes.data());
    unpack_nibbles(bytes.data(), codes.size(), back.data());
    EXPECT_EQ(back, codes);
    return {bytes.begin(), bytes.end()};
  }
};
Fp4Block quantised(uint32_t amax, const std::vector<uint32_t>& x, const Nvfp4Rules& rules = {},
                   const uint32_t* random = nullptr) {
  const Nvfp4Tensor tensor = nvfp4_tensor(amax, rules);
  Fp4Block b{0, 0, std::vector<uint8_t>(x.size())};
  b.scale = nvfp4_quantize(tensor, x.data(), static_cast<int>(x.size()), b.codes.data(), rules, random).scale;
  b.factor = nvfp4_factor(tensor, b.scale, rules);
  return b;
}

const std::vector<uint32_t> kThousandths = {0x3A83126F, 0xBB03126F, 0x3B449BA6, 0x3B83126F, 0xBBA3D70A, 0x3BC49BA6,
                                            0x3BE56042, 0xBC03126F, 0x3C1374BC, 0x3C23D70A, 0xBC343958, 0x3C449BA6,
                                            0x3C54FDF4, 0xBC656042, 0x3C75C28F, 0x3CA3D70A};

TEST(Nvfp4, TwoBlocksOfATensor) {
  const Nvfp4Tensor tensor = nvfp4_tensor(single(3), {});
  EXPECT_EQ(tensor.encode, 0x44600000u);
  EXPECT_EQ(tensor.decode, 0x3A924925u);
  const Fp4Block a =
      quantised(single(3), singles({.1, -.2, .3, .4, -.5, .6, .7, -.8, .9, 1, -1.1, 1.2, 1.3, -1.4, 1.5, 3}));
  EXPECT_EQ(a.scale, 0x7Eu);
  EXPECT_EQ(a.factor, 0x40000000u);
  EXPECT_EQ(a.packed(), (Bytes{0x90, 0x21, 0x2A, 0xB3, 0x44, 0x4C, 0xD5, 0x75}));
  const Fp4Block b = quantised(single(3), kThousandths);
  EXPECT_EQ(b.scale, 0x44u);
  EXPECT_EQ(b.factor, 0x43955555u);
  EXPECT_EQ(b.packed(), (Bytes{0x91, 0x22, 0x4B, 0xC4, 0x55, 0x6D, 0xE6, 0x76}));
  const uint32_t decode = nvfp4_decode_factor(tensor, b.scale, {});
  EXPECT_EQ(nvfp4_value(decode, b.codes[13]), 0xBC5B6DB7u);
  EXPECT_EQ(nvfp4_value(decode, b.codes[14]), 0x3C5B6DB7u);
  EXPECT_EQ(nvfp4_value(decode, b.codes[15]), 0x3CA49249u);
}

TEST(Nvfp4, OtherModes) {
  Nvfp4Rules rules;
  rules.rounding = RoundingPolicy::stochastic_carry(8);
  std::vector<uint32_t> random(16);
  for (uint32_t i = 0; i < 16; ++i) random[i] = (37 * i + 11) % 256;
  const std::vector<uint8_t> carried = {0, 9, 2, 2, 0xB, 4, 5, 0xC, 4, 5, 0xD, 6, 6, 0xF, 6, 7};
  EXPECT_EQ(quantised(single(3), kThousandths, rules, random.data()).codes, carried);
  rules.rounding = RoundingPolicy::ieee(RoundingMode::kTowardZero);
  const std::vector<uint8_t> truncated = {0, 9, 1, 2, 0xA, 3, 4, 0xC, 4, 4, 0xD, 5, 5, 0xE, 6, 6};
  EXPECT_EQ(quantised(single(3), kThousandths, rules).codes, truncated);
}

// tests: N453, N456
TEST(Nvfp4, EndsOfTheRange) {
  const double infinity = INFINITY;
  const auto block = [](uint32_t amax, const std::vector<uint32_t>& x) { return quantised(amax, x); };
  EXPECT_EQ(nvfp4_tensor(single(1000), {}).encode, 0x402C0831u);
  const Fp4Block lost = block(single(1000), singles({1e-6, -1e-7, 0, 0}));
  EXPECT_EQ(lost.scale, 0u);
  EXPECT_EQ(lost.codes, (std::vector<uint8_t>{7, 0xF, 0, 0}));
  EXPECT_EQ(nvfp4_tensor(0, {}).encode, 0x3F800000u);
  EXPECT_EQ(block(0, singles({0, -0.})).codes, (std::vector<uint8_t>{0, 8}));
  EXPECT_EQ(nvfp4_tensor(single(infinity), {}).encode, 0x3F800000u);
  const Fp4Block infinite = block(single(infinity), singles({infinity, 1}));
  EXPECT_EQ(infinite.scale, 0x7Eu);
  EXPECT_EQ(infinite.codes[0], 7);
  const Fp4Block largest = block(0x7F7FFFFF, {0x7F7FFFFF});
  EXPECT_EQ(nvfp4_tensor(0x7F7FFFFF, {}).encode, 0x05280001u);
  EXPECT_EQ(largest.scale, 0x7Eu);
  EXPECT_EQ(largest.factor, 0x00C00001u);
  EXPECT_EQ(largest.codes[0], 7);
  const Fp4Block least = block(0x00800000, std::vector<uint32_t>(16, 0x00800000));
  EXPECT_EQ(nvfp4_tensor(0x00800000, {}).encode, 0x7F7FFFFFu);
  EXPECT_EQ(least.scale, 0x33u);
  EXPECT_EQ(least.factor, 0x7F7FFFFFu);
  EXPECT_EQ(least.codes[0], 6);
  const Fp4Block none = block(1, std::vector<uint32_t>(16, 1));
  EXPECT_EQ(none.scale, 0u);
  EXPECT_EQ(none.codes[0], 0);
  EXPECT_EQ(block(0x3F91D2AE, {0x3D0232F7}).scale, 0x55u);  // two roundings would give 54
  // A NaN: in its block, in the tensor, and left out.
  const Fp4Block nan = block(single(3), singles({NAN, 1}));
  EXPECT_EQ(nan.scale, 0x7Fu);
  EXPECT_EQ(nan.codes, (std::vector<uint8_t>{0, 0}));
  EXPECT_EQ(block(0x7FC00000, singles({1, 2})).scale, 0x7Fu);
  Nvfp4Rules rules;
  rules.nan_poisons_block = false;
  const Fp4Block dropped = quantised(single(3), singles({NAN, 3}), rules);
  EXPECT_EQ(dropped.scale, 0x7Eu);
  EXPECT_EQ(dropped.codes, (std::vector<uint8_t>{7, 7}));
}

// tests: N455
TEST(Nvfp4, TorchaoHasALeastScale) {
  Nvfp4Rules rules;
  rules.rule = Nvfp4Rule::kTorchao;
  const Fp4Block b = quantised(single(1000), singles({1e-6, -1e-7, 0}), rules);
  EXPECT_EQ(b.scale, 8u);
  EXPECT_EQ(b.codes, (std::vector<uint8_t>{0, 8, 0}));
  rules.rule = Nvfp4Rule::kOneLevel;
  EXPECT_EQ(quantised(0, singles({6, 3, -.25}), rules).scale, 0x38u);
  EXPECT_EQ(quantised(0, singles({6, 3, -.25}), rules).codes, (std::vector<uint8_t>{7, 5, 8}));
  EXPECT_EQ(quantised(0, singles({0, 0}), rules).scale, 8u);
}

TEST(Nvfp4, SquareTiles) {
  const auto weight = [](int i, int j) { return single(((7 * i + 3 * j * j) % 31 - 15) / 8. * (j < 16 ? 1 : 1 / 8.)); };
  std::vector<uint32_t> tiles[2];
  std::string row0, row0_of_transpose;
  Fp4Block blocks[2];
  for (int t = 0; t < 2; ++t) {
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) tiles[t].push_back(weight(i, 16 * t + j));
    blocks[t] = quantised(0x3FF00000, tiles[t]);
    const Bytes bytes = blocks[t].packed();
    char text[3];
    for (size_t k = 0; k < 8; ++k) row0 += (snprintf(text, sizeof text, "%02x", bytes[k]), text);
  }
  EXPECT_EQ(nvfp4_tensor(0x3FF00000, {}).encode, 0x44B33333u);
  EXPECT_EQ(blocks[0].scale, 0x7Eu);
  EXPECT_EQ(blocks[1].scale, 0x66u);
  EXPECT_EQ(row0, "ef6aa2506e54b767767b45e6052aa6fe");
  std::vector<uint8_t> column;
  for (size_t i = 0; i < 16; ++i) column.push_back(blocks[0].codes[16 * i]);
  const Fp4Block transposed{0, 0, column};
  EXPECT_EQ(transposed.packed(), (Bytes{0xDF, 0x49, 0xE7, 0x2B, 0xF6, 0x0D, 0x75, 0xAE}));
}

TEST(Nvfp4, FourOverSixTakesTheLesserError) {
  const auto a = singles({3.9, 1, .5, -2, .25, 3, -1.5, .7, 2.2, -.1, 3.4, .9, -2.8, 1.9, 0, -3.6});
  std::vector<double> halves(16, .5);
  halves[0] = 8;
  const auto b = singles(halves);
  Nvfp4Rules rules;
  const auto check = [&](uint32_t scale_a, const Bytes& bytes_a, uint32_t scale_b) {
    const Fp4Block first = quantised(single(8), a, rules), second = quantised(single(8), b, rules);
    EXPECT_EQ(first.scale, scale_a);
    EXPECT_EQ(first.packed(), bytes_a);
    EXPECT_EQ(second.scale, scale_b);
    EXPECT_EQ(second.packed(), (Bytes{0x17, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}));
  };
  check(0x76, {0x37, 0xD2, 0x61, 0x2C, 0x85, 0x37, 0x5E, 0xF0}, 0x7E);
  rules.four_over_six = FourOverSix::kMae;
  check(0x74, {0x26, 0xC1, 0x50, 0x1B, 0x84, 0x25, 0x4D, 0xE0}, 0x78);
  rules.e4m3_max = 448;
  check(0x7A, {0x26, 0xC1, 0x51, 0x1B, 0x84, 0x26, 0x4D, 0xE0}, 0x7E);
}

// tests: N469
TEST(Nvfp4, FourOverSixDividesByTheSixFirst) {
  Nvfp4Rules rules;
  rules.four_over_six = FourOverSix::kMae;
  // The number below 31/32, in fp32: RN(RN(x / 6) 192) is 31, a tie that goes to 32; RN(x RN(192 / 6)) is below 31.
  EXPECT_EQ(quantised(single(8), singles({0x1.EFFFFEp-1}), rules).scale, 0x60u);
}

// tests: N469
TEST(Nvfp4, FourOverSixKeepsSixWhereErrorsAreEqual) {
  Nvfp4Rules rules;
  rules.four_over_six = FourOverSix::kMse;
  // Exact under both scales, 256 and 384.
  EXPECT_EQ(quantised(single(6), singles({6, 6}), rules).scale, 0x78u);
  EXPECT_EQ(quantised(single(6), singles({0, 0}), rules).scale, 0u);
  // 5 6 / 6 is 4.875 under the scale 208; it is exact as 4 320 / 256.
  EXPECT_EQ(quantised(single(6), singles({5, 5}), rules).scale, 0x7Au);
  EXPECT_EQ(quantised(single(6), {0x7FC00000u, single(1)}, rules).scale, 0x7Fu);
  EXPECT_EQ(quantised(single(__builtin_inf()), singles({__builtin_inf(), 1}), rules).scale, 0x7Eu);
}

/// The error of a tile under a scale, by the processor's fp32; the rows as a tree, or one after the other.
float tile_error(const std::vector<uint32_t>& x, float amax, uint32_t scale, const Nvfp4Tensor& tensor,
                 const Nvfp4Rules& rules, bool tree) {
  const float value = __builtin_bit_cast(float, detail32::widened(kE4m3, scale));
  const float table[] = {0, .5F, 1, 1.5F, 2, 3, 4, 6};
  float rows[16] = {}, all = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const uint64_t code = nvfp4_code(nvfp4_factor(tensor, scale, rules), x[i], rules).code;
    const float q = code & 8 ? -table[code & 7] : table[code & 7];
    const float e = std::fabs(q * value * amax / 1536 - __builtin_bit_cast(float, x[i]));
    rows[i / 16] += e;
  }
  for (int half = 8; tree && half > 0; half /= 2)
    for (int r = 0; r < half; ++r) rows[r] += rows[r + half];
  if (tree) return rows[0];
  for (const float row : rows) all += row;
  return all;
}

TEST(Nvfp4, RowsOfTilesAreAddedAsATree) {
  Nvfp4Rules rules;
  rules.four_over_six = FourOverSix::kMae;
  const Nvfp4Tensor tensor = nvfp4_tensor(single(8), rules);
  boost::random::mt19937 random(1);
  boost::random::uniform_real_distribution<double> within(-4, 4);
  int wider = 0, orders = 0;
  for (int tile = 0; tile < 300; ++tile) {
    std::vector<uint32_t> x(256);
    for (uint32_t& v : x) v = single(within(random));
    const uint32_t amax = greatest_magnitude(x.data(), 256);
    const float base = __builtin_bit_cast(float, amax) / 6 * 192;  // S = 1536 / 8
    const auto scale = [](float d) {
      return static_cast<uint32_t>(fp::convert(kFp32, kE4m3, single(d), Semantics::ieee()).code);
    };
    const uint32_t six = scale(base), four = scale(base * 1.5F);
    const float of_six = tile_error(x, 8, six, tensor, rules, true),
                of_four = tile_error(x, 8, four, tensor, rules, true);
    orders += of_six != tile_error(x, 8, six, tensor, rules, false);
    wider += of_four < of_six;
    const auto at = [&](uint64_t r, uint64_t i) { return x[r * 16 + i]; };
    ASSERT_EQ(nvfp4_scale_of(tensor, amax, rules, 16, 16, at), of_four < of_six ? four : six) << tile;
  }
  EXPECT_GT(wider, 0);
  EXPECT_LT(wider, 300);
  EXPECT_GT(orders, 0);  // the order is seen in the sums
}

std::vector<int> fp8_codes(const FloatFormat& f, uint32_t amax, const std::vector<uint32_t>& x, const Fp8Rules& rules) {
  std::vector<int> codes;
  for (const uint32_t v : x) codes.push_back(static_cast<int>(fp8_code(f, fp8_scale(f, amax, rules), v, rules).code));
  return codes;
}

TEST(Fp8Scaling, OfATensorByItsGreatest) {
  Fp8Rules rules;
  const std::vector<uint32_t> x = singles({3, -1.7, .1, .011, 2.9, -.7});
  EXPECT_EQ(fp8_scale(kE4m3, 0x40400000, rules).factor, 0x43155555u);
  EXPECT_EQ(fp8_scale(kE4m3, 0x40400000, rules).decode, 0x3BDB6DB7u);
  EXPECT_EQ(fp8_codes(kE4m3, 0x40400000, x, rules), (Bytes{0x7E, 0xF8, 0x57, 0x3D, 0x7E, 0xED}));
  EXPECT_EQ(fp8_scale(kE4m3, 0x006CE3EE, rules).factor, 0x7F7FFFFFu);
  EXPECT_EQ(fp8_scale(kE4m3, 0x006CE3EE, rules).decode, 0x00200000u);
  EXPECT_EQ(fp8_scale(kE5m2, 0x3C54FDF4, rules).factor, 0x4A869D8Au);
  for (const uint32_t none : {0u, 0x7F800000u, 0x7FC00000u}) {
    EXPECT_EQ(fp8_scale(kE4m3, none, rules).factor, 0x3F800000u);
    EXPECT_EQ(fp8_scale(kE4m3, none, rules).decode, 0x3F800000u);
  }
  EXPECT_EQ(fp8_codes(kE4m3, 0x7F7FFFFF, {0x7F7FFFFF}, rules), (Bytes{0x7E}));
  EXPECT_EQ(fp8_scale(kE4m3, 0x7F7FFFFF, rules).decode, 0x7B124924u);
  EXPECT_EQ(fp8_scale(kE5m2, 0x7F7FFFFF, rules).decode, 0x77924924u);
  rules.powers_of_two = true;
  EXPECT_EQ(fp8_scale(kE4m3, 0x40400000, rules).factor, 0x43000000u);
  EXPECT_EQ(fp8_scale(kE4m3, 0x40400000, rules).decode, 0x3C000000u);
  EXPECT_EQ(fp8_codes(kE4m3, 0x40400000, x, rules), (Bytes{0x7C, 0xF6, 0x55, 0x3B, 0x7C, 0xEB}));
  EXPECT_EQ(fp8_scale(kE4m3, 0x7F7FFFFF, rules).decode, 0x7B800000u);
  EXPECT_EQ(fp8_codes(kE4m3, 0x7F7FFFFF, {0x7F7FFFFF}, rules), (Bytes{0x78}));
  EXPECT_EQ(fp8_scale(kE5m2, 0x7F7FFFFF, rules).decode, 0x78000000u);
  EXPECT_EQ(fp8_codes(kE5m2, 0x7F7FFFFF, {0x7F7FFFFF}, rules), (Bytes{0x78}));
  rules.least_amax = single(2);
  EXPECT_EQ(fp8_scale(kE4m3, single(1), rules).factor, fp8_scale(kE4m3, single(2), rules).factor);
}

// tests: N457, N458
TEST(Fp8Scaling, ThreeOrdersOfADivision) {
  const struct {
    uint32_t amax, x;
    int deepseek, deepgemm, transformer_engine;
  } lines[] = {{0x3FF4F351, 0x3E7DB2DE, 0x66, 0x66, 0x67},
               {0x3FF4AADA, 0x3E148C4E, 0x60, 0x61, 0x61},
               {0x3F719C99, 0x3B85BFD4, 0x3F, 0x40, 0x3F}};
  for (const auto& l : lines) {
    Fp8Rules rules;
    EXPECT_EQ(fp8_codes(kE4m3, l.amax, {l.x}, rules), Bytes{l.transformer_engine});
    rules.rule = Fp8Rule::kDeepSeek;
    EXPECT_EQ(fp8_codes(kE4m3, l.amax, {l.x}, rules), Bytes{l.deepseek});
    rules.rule = Fp8Rule::kDeepGemm;
    EXPECT_EQ(fp8_codes(kE4m3, l.amax, {l.x}, rules), Bytes{l.deepgemm});
    EXPECT_EQ(fp8_scale(kE4m3, 0, rules).decode, 0x346FACADu);
    rules.powers_of_two = true;
    EXPECT_EQ(fp8_scale(kE4m3, 0, rules).decode, 0x34800000u);
  }
}

// tests: N461
TEST(BlockLayout, TiledScales) {
  const struct {
    uint64_t row, column, place;
  } lines[] = {{0, 0, 0},     {1, 0, 16},  {32, 0, 4},     {33, 1, 21},
               {127, 3, 511}, {0, 4, 512}, {128, 0, 1024}, {31, 7, 1011}};
  for (const auto& l : lines) EXPECT_EQ(tiled_scale_place(l.row, l.column, 8), l.place);
  EXPECT_EQ(tiled_scale_bytes(129, 5), 2 * 2 * 512u);
}

// tests: N460
TEST(BlockLayout, NibblesFromTheLowOne) {
  const uint8_t codes[] = {0, 1, 6, 8, 8, 2, 0xF, 5, 3};
  uint8_t bytes[5];
  pack_nibbles(codes, 9, bytes);
  EXPECT_EQ(Bytes(bytes, bytes + 5), (Bytes{0x10, 0x86, 0x28, 0x5F, 0x03}));
}

}  // namespace
}  // namespace softamp::block
