// Dot products of quantised vectors: known results of MMA-Sim, TransformerEngine's references and DeepGEMM's order.
#include "softamp/numerics/block/dot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "softamp/numerics/block/layout.h"

namespace softamp::block {
namespace {

uint32_t code_of(double x) { return __builtin_bit_cast(uint32_t, static_cast<float>(x)); }

std::vector<uint8_t> bytes_of(const std::string& hex) {
  std::vector<uint8_t> all;
  for (size_t i = 0; i < hex.size(); i += 2)
    all.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return all;
}
std::vector<uint8_t> nibbles_of(const std::string& hex) {
  const std::vector<uint8_t> packed = bytes_of(hex);
  std::vector<uint8_t> codes(2 * packed.size());
  unpack_nibbles(packed.data(), codes.size(), codes.data());
  return codes;
}

/// The two vectors of e4m3 codes that the lines for FP8 share; NaNs replaced by the numbers before them.
std::vector<uint8_t> fp8_codes(size_t n, bool second) {
  std::vector<uint8_t> codes;
  uint64_t x = 1;
  for (uint64_t i = 0; i < n; ++i, x = (5 * x + 17) % 256) {
    const uint64_t code = second ? (i * i * i + 7) % 251 : x;
    codes.push_back(static_cast<uint8_t>((code & 0x7F) == 0x7F ? code - 1 : code));
  }
  return codes;
}

DotOperand mx(const Element& e, int size = 32) {
  DotOperand o{BlockFormat::of_mx(e)};
  o.format.size = size;
  return o;
}
DotOperand mx(const FloatFormat& f, int size = 32) { return mx(Element(f), size); }

DotRules rules_of(DotMode mode, int promote_every = 128) {
  DotRules rules;
  rules.mode = mode;
  rules.promote_every = promote_every;
  return rules;
}
constexpr DotMode kModes[] = {DotMode::kExact, DotMode::kFp32Chain, DotMode::kBlock, DotMode::kHopper,
                              DotMode::kBlackwell};

uint32_t dot_of(const DotRules& rules, const DotVector& a, const DotVector& b, size_t n, uint32_t c = 0) {
  EXPECT_EQ(refusal_of(rules, a.form, b.form), nullptr);
  return static_cast<uint32_t>(dot(rules, a, b, n, Semantics::ieee(), c).code);
}

TEST(BlockDot, V46MxFp4IsTheSameInEveryMode) {
  const std::vector<uint8_t> a = nibbles_of("10871c264d09c2208b7a8719b8fc3d13"),
                             b = nibbles_of("f4d30b035577e320c52cdc5c26c0b479");
  const uint8_t scales[] = {0x7B, 0x80};
  const DotOperand form = mx(kE2m1);
  for (const DotMode mode : kModes)
    EXPECT_EQ(dot_of(rules_of(mode), {form, a.data(), scales}, {form, b.data(), scales + 1}, 32), 0x40100000u);
}

/// N491: 36 - 36 at 2^40 leaves nothing, and yet a 1 beside it is cut away: the scales' exponents count.
// tests: N491
TEST(BlockDot, Fp4ProductsThatCancelRaiseTheExponent) {
  std::vector<uint8_t> a(64, 0), b(64, 0);
  a[0] = b[0] = a[1] = 7;
  b[1] = 15;
  a[32] = b[32] = 2;
  const uint8_t ones[] = {127, 127}, large[] = {167, 127};
  const DotOperand form = mx(kE2m1);
  const DotRules rules = rules_of(DotMode::kBlackwell);
  EXPECT_EQ(dot_of(rules, {form, a.data(), ones}, {form, b.data(), ones}, 64), code_of(1));
  EXPECT_EQ(dot_of(rules, {form, a.data(), large}, {form, b.data(), ones}, 64), code_of(0));
  a[1] = a[0] = 0;  // products that are zero raise none
  EXPECT_EQ(dot_of(rules, {form, a.data(), large}, {form, b.data(), ones}, 64), code_of(1));
}

TEST(BlockDot, V47MxFp8) {
  const std::vector<uint8_t> a = fp8_codes(32, false), b = fp8_codes(32, true);
  const uint8_t scales[] = {0x79, 0x82};
  const DotVector x{mx(kE4m3), a.data(), scales}, y{mx(kE4m3), b.data(), scales + 1};
  EXPECT_EQ(dot_of(rules_of(DotMode::kExact), x, y, 32), 0xC5A29E85u);
  EXPECT_EQ(dot_of(rules_of(DotMode::kBlock), x, y, 32), 0xC5A29E85u);
  EXPECT_EQ(dot_of(rules_of(DotMode::kFp32Chain), x, y, 32), 0xC5A29E86u);
  EXPECT_EQ(dot_of(rules_of(DotMode::kBlackwell), x, y, 32), 0xC5A29E84u);
  EXPECT_EQ(dot_of(rules_of(DotMode::kBlackwell), x, y, 32, code_of(1. / 3)), 0xC5A29BDAu);
}

// tests: N489
TEST(BlockDot, V48PartialsOfHopper) {
  const std::vector<uint8_t> a = fp8_codes(256, false), b = fp8_codes(256, true);
  const std::vector<uint8_t> ones(8, 0x7F);
  const DotVector x{mx(kE4m3, 256), a.data(), ones.data()}, y{mx(kE4m3, 256), b.data(), ones.data()};
  EXPECT_EQ(dot_of(rules_of(DotMode::kExact), x, y, 256), 0xC824878Au);
  EXPECT_EQ(dot_of(rules_of(DotMode::kFp32Chain), x, y, 256), 0xC8248788u);
  EXPECT_EQ(dot_of(rules_of(DotMode::kBlackwell), x, y, 256), 0xC8248788u);
  EXPECT_EQ(dot_of(rules_of(DotMode::kHopper, 0), x, y, 256), 0xC8249000u);
  EXPECT_EQ(dot_of(rules_of(DotMode::kHopper), x, y, 128), 0xC640C000u);
  const DotVector later{x.form, a.data() + 128, ones.data()}, other{y.form, b.data() + 128, ones.data()};
  EXPECT_EQ(dot_of(rules_of(DotMode::kHopper), later, other, 128), 0xC8188400u);
  EXPECT_EQ(dot_of(rules_of(DotMode::kHopper), x, y, 256), 0xC8249000u);
}

TEST(BlockDot, V49ThreeOrdersOfPromotion) {
  const std::vector<uint8_t> a = fp8_codes(256, false), b = fp8_codes(256, true);
  const uint32_t scales_a[] = {0x3D60D473, 0x3DBFDD2E}, scales_b[] = {0x3DC46DA6, 0x3CD96FE2};
  const DotOperand form = DotOperand{BlockFormat::of_fp8(kE4m3, 1, 128)};
  const DotVector x{form, a.data(), nullptr, scales_a}, y{form, b.data(), nullptr, scales_b};
  DotRules rules = rules_of(DotMode::kHopper);
  EXPECT_EQ(dot_of(rules, x, y, 256), 0xC3E2A57Au);
  rules.promotion = Promotion::kPartnerLast;
  EXPECT_EQ(dot_of(rules, x, y, 256), 0xC3E2A57Bu);
  rules.promotion = Promotion::kUnfused;
  EXPECT_EQ(dot_of(rules, x, y, 256), 0xC3E2A57Cu);
}

TEST(BlockDot, V50OneLargeProductAndManySmall) {
  std::vector<uint8_t> a(32, 0x01), b(32, 0x38);
  a[0] = b[0] = 0x7E;
  const uint8_t one = 0x7F;
  const DotVector x{mx(kE4m3), a.data(), &one}, y{mx(kE4m3), b.data(), &one};
  EXPECT_EQ(dot_of(rules_of(DotMode::kExact), x, y, 32), 0x48440004u);
  EXPECT_EQ(dot_of(rules_of(DotMode::kBlackwell), x, y, 32), 0x48440003u);
  EXPECT_EQ(dot_of(rules_of(DotMode::kFp32Chain), x, y, 32), 0x48440000u);
  EXPECT_EQ(dot_of(rules_of(DotMode::kHopper), x, y, 32), 0x48440000u);
}

// tests: N487
TEST(BlockDot, V51NvFp4) {
  const std::vector<uint8_t> a = nibbles_of("20ff1f094357bbd857ae46b87a06e287"),
                             b = nibbles_of("953033f806e41c1566890441d73ded6e");
  const uint8_t scales_a[] = {0x7E, 0x31}, scales_b[] = {0x45, 0x6A};
  DotVector x{DotOperand{BlockFormat::of_nvfp4()}, a.data(), scales_a},
      y{DotOperand{BlockFormat::of_nvfp4()}, b.data(), scales_b};
  x.form.amax = code_of(3);
  y.form.amax = code_of(.7);
  EXPECT_EQ(last_scale(x.form, 0, y.form, 0), 0x349C09C0u);
  // The exact sums of both blocks, then the sum without the tensors' factor, and with it.
  DotOperand plain = mx(kE2m1, 16);
  const uint8_t one = 0x7F;
  EXPECT_EQ(dot_of(rules_of(DotMode::kBlock), {plain, a.data(), &one}, {plain, b.data(), &one}, 16), code_of(-11));
  EXPECT_EQ(dot_of(rules_of(DotMode::kBlock), {plain, a.data() + 16, &one}, {plain, b.data() + 16, &one}, 16),
            code_of(-4));
  const auto sum = [&](DotMode mode, size_t n, uint32_t c) {
    Dot d(rules_of(mode), x.form, y.form, Semantics::ieee(), c);
    for (size_t k = 0; k < n; ++k) {
      if (k % 16 == 0) d.begin(x.scale_of(k), y.scale_of(k));
      d.step(a[k], b[k]);
    }
    return static_cast<uint32_t>(d.sum().code);
  };
  EXPECT_EQ(sum(DotMode::kBlock, 16, 0), 0xC67A4000u);
  EXPECT_EQ(sum(DotMode::kBlock, 32, 0), 0xC67D1000u);
  EXPECT_EQ(dot_of(rules_of(DotMode::kBlock), x, y, 32), 0xBB9A3F63u);
  EXPECT_EQ(sum(DotMode::kBlackwell, 32, code_of(.1)), 0xC67D0F99u);
}

TEST(BlockDot, SpecialValues) {
  const uint8_t zeros[32] = {}, nan = 0xFF, one = 0x7F;
  for (const DotMode mode : kModes) {
    const DotVector x{mx(kE4m3), zeros, &nan}, y{mx(kE4m3), zeros, &one};
    const Rounded r = dot(rules_of(mode), x, y, 32);
    EXPECT_TRUE(kFp32.is_nan(r.code)) << static_cast<int>(mode);
    EXPECT_EQ(r.flags, 0);
    // Infinities have codes in e5m2: one is kept, times zero is invalid.
    uint8_t a[2] = {0x7C, 0x3C}, b[2] = {0xBC, 0x3C};
    const DotVector p{mx(kE5m2), a, &one}, q{mx(kE5m2), b, &one};
    EXPECT_EQ(dot(rules_of(mode), p, q, 2).code, 0xFF800000u);
    b[0] = 0;
    EXPECT_TRUE(kFp32.is_nan(dot(rules_of(mode), p, q, 2).code));
    EXPECT_EQ(dot(rules_of(mode), p, q, 2).flags, kInvalid) << static_cast<int>(mode);
    // Nothing summed is the number that the sum starts from.
    EXPECT_EQ(dot(rules_of(mode), p, q, 0, Semantics::ieee(), 0x40490FDB).code, 0x40490FDBu);
  }
  // The largest numbers with the largest scales: only the sum of all is too large, and says so.
  const uint8_t most[2] = {0x7E, 0x7E}, scale = 0xFE;
  const DotVector x{mx(kE4m3), most, &scale};
  for (const DotMode mode : kModes) {
    const Rounded r = dot(rules_of(mode), x, x, 2);
    EXPECT_EQ(r.code, 0x7F800000u) << static_cast<int>(mode);
    // Dequantised values are infinite before anything is summed.
    EXPECT_EQ(r.flags, mode == DotMode::kFp32Chain ? 0 : kOverflow) << static_cast<int>(mode);
  }
}

TEST(BlockDot, Refusals) {
  const auto why = [](DotMode mode, const DotOperand& a, const DotOperand& b, int every = 128) {
    const char* text = refusal_of(rules_of(mode, every), a, b);
    return std::string(text ? text : "");
  };
  const DotOperand integer = mx(Element::int8()), e4 = mx(kE4m3), nv{BlockFormat::of_nvfp4()};
  EXPECT_EQ(why(DotMode::kBlock, integer, integer), "");
  EXPECT_EQ(why(DotMode::kHopper, e4, integer), "tensor cores take elements of e4m3, e5m2, e2m3, e3m2 and e2m1");
  EXPECT_EQ(why(DotMode::kHopper, e4, nv), "");
  EXPECT_EQ(why(DotMode::kHopper, e4, e4, 48), "partial sums are a multiple of 32 long");
  EXPECT_EQ(why(DotMode::kBlackwell, e4, {BlockFormat::of_fp8(kE4m3, 1, 128)}),
            "its instructions take no fp32 scales of blocks");
  EXPECT_EQ(why(DotMode::kBlackwell, e4, {BlockFormat::of_fp8(kE4m3)}), "");
  EXPECT_EQ(why(DotMode::kBlackwell, e4, {BlockFormat::of_plain(Element(kE5m2))}), "");
  EXPECT_EQ(why(DotMode::kBlackwell, e4, nv), "it multiplies NVFP4 only with elements of e2m1");
  EXPECT_EQ(why(DotMode::kBlackwell, e4, mx(kE5m2, 16)), "its blocks are a multiple of 32 long");
  EXPECT_EQ(why(DotMode::kBlackwell, nv, mx(kE2m1, 8)), "its blocks of e2m1 are a multiple of 16 long");
  EXPECT_EQ(why(DotMode::kBlackwell, nv, mx(kE2m1)), "");
  EXPECT_EQ(why(DotMode::kExact, e4, mx(kFp16)), "elements have at most 8 bits");
  EXPECT_EQ(why(DotMode::kExact, e4, mx(kE4m3, -1)), "a block has 1 or more elements, or (0) all");
}

// The whole definition is a constant expression.
constexpr uint32_t constant_dot() {
  const uint8_t codes[] = {0x38, 0x40, 0xB8}, scale = 0x80;
  DotVector v{DotOperand{}, codes, &scale};
  return static_cast<uint32_t>(dot(DotRules{}, v, v, 3).code);
}
static_assert(constant_dot() == 0x41C00000);  // (1 + 4 + 1) 4

}  // namespace
}  // namespace softamp::block
