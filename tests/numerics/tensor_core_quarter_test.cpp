// Tensor cores on operands of 8 bits: every instruction against its transcription on exact numbers, its parameters, and
// the sums that tell `mma.sync` on Hopper and Blackwell from `wgmma` and `tcgen05`.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "softamp/numerics/convert.h"
#include "softamp/numerics/products/tensor_core.h"
#include "tests/oracle/fused_group.h"

namespace softamp::quarters {
namespace {

constexpr Accumulator kAda = Accumulator::kTensorCoreAda, kHopper = Accumulator::kTensorCoreHopper,
                      kBlackwell = Accumulator::kTensorCoreBlackwell, kHopperMma = Accumulator::kTensorCoreHopperMma,
                      kBlackwellMma = Accumulator::kTensorCoreBlackwellMma;

uint32_t fp32(double x) { return std::bit_cast<uint32_t>(static_cast<float>(x)); }
uint32_t widened(const FloatFormat& f, uint32_t code) {
  return static_cast<uint32_t>(fp::convert(f, kFp32, code, Semantics::ieee()).code);
}

Rounded step(const TensorCore& t, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t c) {
  FusedGroup g;
  for (size_t i = 0; i < a.size(); ++i) g.add(t, a[i], b[i]);
  return g.round(t, c, Semantics::ieee());
}
uint32_t step(const TensorCore& t, const std::vector<double>& a, double c) {
  std::vector<uint32_t> x, y(a.size(), fp32(1));
  for (const double value : a) x.push_back(fp32(value));
  return static_cast<uint32_t>(step(t, x, y, fp32(c)).code);
}

// N326, N476, N477: F, group, what the sum becomes, order.
// tests: N326, N476, N477, N478
TEST(TensorCoreQuarters, Parameters) {
  for (const FloatFormat& f : {kE4m3, kE5m2})
    for (const bool halves : {false, true}) {
      const TensorCoreResult half = TensorCoreResult::kHalf;
      const TensorCoreResult cut = halves ? half : TensorCoreResult::kE8m13;
      const TensorCoreResult whole = halves ? half : TensorCoreResult::kSingle;
      constexpr TensorCoreOrder kChain = TensorCoreOrder::kChain, kPairs = TensorCoreOrder::kPairs;
      const int ada = halves ? -20 : -132, later = halves ? -21 : -133;
      EXPECT_EQ(tensor_core(kAda, f, halves), (TensorCore{f, 13, 16, cut, kChain, ada}));
      EXPECT_EQ(tensor_core(kHopper, f, halves), (TensorCore{f, 13, 32, cut, kChain, later}));
      EXPECT_EQ(tensor_core(kBlackwell, f, halves), (TensorCore{f, 25, 32, whole, kChain, later}));
      for (const Accumulator mma : {kHopperMma, kBlackwellMma}) {
        EXPECT_EQ(tensor_core(mma, f, halves), (TensorCore{f, 25, 16, whole, kPairs, later}));
        EXPECT_EQ(tensor_core(mma, f, halves).step(), 32);
      }
      EXPECT_EQ(tensor_core(kHopper, f, halves).step(), 32);
      EXPECT_EQ(tensor_core(kAda, f, halves).step(), 16);
      for (const Accumulator none :
           {Accumulator::kTensorCoreVolta, Accumulator::kTensorCoreTuring, Accumulator::kTensorCoreAmpere})
        EXPECT_FALSE(tensor_core(none, f, halves).exists());
    }
  for (const bool halves : {false, true})
    for (const FloatFormat& f : {kFp16, kBf16, kTf32, kFp32}) {
      EXPECT_EQ(tensor_core(kHopperMma, f, halves), tensor_core(kHopper, f, halves));
      EXPECT_EQ(tensor_core(kBlackwellMma, f, halves), tensor_core(kBlackwell, f, halves));
    }
  EXPECT_STREQ(name_of(kHopperMma), "tensorcore_hopper_mma");
  EXPECT_STREQ(name_of(kBlackwellMma), "tensorcore_blackwell_mma");
}

/// Steps of every instruction, of codes that come near each other, cancel, overflow and are special.
TEST(TensorCoreQuarters, TranscriptionAgrees) {
  std::mt19937_64 random(20265);
  const auto below = [&](uint64_t n) { return random() % n; };
  uint64_t overflows = 0, nans = 0, zeros = 0, subnormals = 0;
  for (int round = 0; round < 12000; ++round) {
    const FloatFormat format = below(2) ? kE4m3 : kE5m2;
    const bool halves = below(2) == 0;
    const Accumulator families[] = {kAda, kHopper, kBlackwell, kHopperMma, kBlackwellMma};
    const Accumulator family = families[below(5)];
    const TensorCore t = tensor_core(family, format, halves);
    const FloatFormat of_c = halves ? kFp16 : kFp32;
    const uint64_t fields = uint64_t{1} << format.exponent_bits, width = 1 + below(fields);
    const uint64_t first = below(fields - std::min(fields - 1, width));
    const bool any = below(8) == 0, opposite = below(8) == 0;
    const auto code_of = [&](const FloatFormat& f, uint64_t least, uint64_t span) {
      uint64_t code = random() & f.code_mask();
      if (any && below(6) == 0) return static_cast<uint32_t>(code);
      if (below(12) == 0) return static_cast<uint32_t>(code & f.sign_mask());
      code = (code & ~(f.magnitude_mask() ^ f.mantissa_mask())) | (least + below(span)) << f.mantissa_bits();
      return static_cast<uint32_t>(f.is_finite(code) ? code : code & f.sign_mask());
    };
    std::vector<uint32_t> a, b, x, y;
    const size_t most = static_cast<size_t>(t.step()), count = below(4) == 0 ? 1 + below(most) : most;
    for (size_t i = 0; i < count; ++i) {
      a.push_back(code_of(format, first, width)), b.push_back(code_of(format, first, width));
      if (i > 1 && (opposite ? i % 2 != 0 : below(3) == 0)) {  // cancels, in the same group or in another
        const size_t other = opposite ? i - 1 : i - 1 - below(2);
        a[i] = a[other] ^ static_cast<uint32_t>(format.sign_mask()), b[i] = b[other];
      }
      x.push_back(widened(format, a[i])), y.push_back(widened(format, b[i]));
    }
    // The accumulator near the products: its field from theirs.
    const int products = 2 * (static_cast<int>(first) - format.bias) + of_c.bias + static_cast<int>(below(40)) - 20;
    const int top = static_cast<int>(of_c.exponent_field_max());
    uint32_t c = code_of(of_c, static_cast<uint64_t>(std::clamp(products, 0, top - 1)), 1);
    if (below(6) == 0) c = 0;
    const oracle::GroupResult to = halves                                 ? oracle::GroupResult::kFp16
                                   : t.result == TensorCoreResult::kE8m13 ? oracle::GroupResult::kE8m13
                                                                          : oracle::GroupResult::kFp32;
    const bool pairs = t.order == TensorCoreOrder::kPairs;
    const Rounded ours = step(t, x, y, c);
    const uint32_t theirs =
        pairs ? oracle::fused_pairs(format, halves, a, b, c)
              : oracle::fused_group(format, false, t.fraction_bits, oracle::group_floor(family, halves), to, a, b, c);
    ASSERT_EQ(ours.code, theirs) << "round " << round << (pairs ? ", pairs" : "") << ", F " << t.fraction_bits
                                 << ", group " << t.group << ", c " << std::hex << c << ", e" << format.exponent_bits;
    overflows += (ours.flags & kOverflow) != 0, nans += of_c.is_nan(ours.code), zeros += ours.code == 0;
    subnormals += of_c.is_subnormal(ours.code);
  }
  EXPECT_GT(overflows, 20u);
  EXPECT_GT(nans, 100u);
  EXPECT_GT(zeros, 100u);
  EXPECT_GT(subnormals, 20u);
}

/// Which products are a group, that the first group's sum is rounded, and that C comes last, to nearest.
TEST(TensorCoreQuarters, PairsTellMmaApart) {
  const TensorCore pairs = tensor_core(kHopperMma, kE4m3), whole = tensor_core(kBlackwell, kE4m3);
  const auto with = [](std::vector<std::pair<size_t, double>> terms) {
    std::vector<double> a(32, 0.0);
    for (const auto& [k, value] : terms) a[k] = value;
    return a;
  };
  // 256 - 256 cancel before 2^-9 comes, if that is in the second group; with F = 25 all is kept, so F = 13 tells.
  EXPECT_EQ(step(tensor_core(kHopper, kE4m3), with({{0, 256}, {1, -256}, {2, 0x1p-9}}), 0), 0u);
  EXPECT_EQ(step(pairs, with({{0, 256}, {1, -256}, {2, 0x1p-9}}), 0), fp32(0x1p-9));
  // C as a term of the group is cut off at 2^-25 of the greatest, C after it is rounded to nearest.
  for (const double c : {0x1.8p-17, -0x1.8p-17}) {
    EXPECT_EQ(step(pairs, with({{0, 64}}), c), fp32(64 + c));
    EXPECT_EQ(step(pairs, with({{0, 128}}), c), fp32(c > 0 ? 128 + 0x1p-16 : 128 - 0x1p-16))
        << "1.5 quanta of 2^-17, to nearest even in each binade";
  }
  EXPECT_EQ(step(whole, with({{0, 128}}), 0x1.8p-17), fp32(128)) << "toward zero";
  // With the fp16 accumulator the first group's sum is a half already: 256 + 1/16 + 1/16 in one group, or in two.
  const TensorCore halves = tensor_core(kHopperMma, kE4m3, true);
  EXPECT_EQ(step(halves, with({{0, 256}, {1, 0.125}, {4, 0.0625}}), 0), 0x5C01u) << "256.1875 in one group: 256.25";
  EXPECT_EQ(step(halves, with({{0, 256}, {1, 0.0625}, {2, 0.0625}}), 0), 0x5C00u) << "256.0625, then 256.0625";
  EXPECT_EQ(step(halves, with({{0, 256}, {1, 0.0625}, {4, 0.0625}, {5, 0.0625}}), 0), 0x5C01u);
}

/// Infinite and undefined sums of pairs: C meets a sum that has overflowed.
TEST(TensorCoreQuarters, PairsOverflowBeforeC) {
  const TensorCore t = tensor_core(kHopperMma, kE5m2, true);
  const uint32_t most = fp32(57344), one = fp32(1);
  const Rounded over = step(t, {most}, {most}, 0xFC00);
  EXPECT_EQ(over.code, 0x7FFFu) << "an infinite sum and C of the other sign";
  EXPECT_EQ(over.flags, kOverflow | kInvalid);
  EXPECT_EQ(step(t, {most}, {most}, 0x7C00).code, 0x7C00u);
  EXPECT_EQ(step(t, {most}, {most}, 0x3C00).code, 0x7C00u);
  EXPECT_EQ(step(t, {most}, {most}, 0x3C00).flags, kOverflow);
  EXPECT_EQ(step(t, {one}, {one}, 0xFC00).code, 0xFC00u);
  EXPECT_EQ(step(t, {one}, {one}, 0xFC00).flags, 0);
  // The first group overflows, the second would bring it back.
  EXPECT_EQ(step(t, {most, 0, most}, {fp32(2), 0, fp32(-2)}, 0).code, 0x7C00u);
  EXPECT_EQ(step(t, {fp32(INFINITY), 0, most}, {one, 0, one}, 0xFC00).code, 0x7FFFu);
  // ... and an infinite product of it meets the first one's overflow.
  EXPECT_EQ(step(t, {most, 0, fp32(INFINITY)}, {most, 0, fp32(-1)}, 0).code, 0x7FFFu);
  EXPECT_EQ(step(t, {most, 0, fp32(INFINITY)}, {most, 0, one}, 0).code, 0x7C00u);
}

/// tensor_core_operand is the one rounding to nearest even with saturation, of every code that matters.
// tests: N479
TEST(TensorCoreQuarters, OperandsAreRoundedOnce) {
  std::mt19937_64 random(7);
  RoundingPolicy saturating = RoundingPolicy::saturating();
  for (const FloatFormat& f : {kE4m3, kE5m2, kFp16, kBf16}) {
    const auto check = [&](uint32_t code) {
      const uint64_t to = fp::convert(kFp32, f, code, Semantics::ieee(saturating)).code;
      ASSERT_EQ(tensor_core_operand(f, code), widened(f, static_cast<uint32_t>(to))) << std::hex << code;
    };
    for (uint64_t exact = 0; exact <= f.max_finite_code(); exact += f.storage_bits() > 8 ? 61 : 1) {
      const uint32_t code = widened(f, static_cast<uint32_t>(exact));
      const uint32_t next = widened(f, static_cast<uint32_t>(std::min(exact + 1, f.max_finite_code())));
      const float middle =
          static_cast<float>((double{std::bit_cast<float>(code)} + double{std::bit_cast<float>(next)}) / 2);
      const uint32_t tie = std::bit_cast<uint32_t>(middle);
      for (const uint32_t near : {code, tie - 1, tie, tie + 1, code | 0x80000000u, tie | 0x80000000u})
        if ((near & 0x7FFFFFFF) < 0x7F800000) check(near);
    }
    for (int i = 0; i < 40000; ++i) {
      const auto code = static_cast<uint32_t>(random());
      if (kFp32.is_finite(code)) check(code);
    }
    for (const uint32_t special : {0x7F800000u, 0xFF800000u, 0x7FC00000u, 0x7F800001u, 0xFFFFFFFFu})
      EXPECT_EQ(tensor_core_operand(f, special), special) << "as it is";
  }
  EXPECT_EQ(tensor_core_operand(kTf32, 0x3F801FFF), 0x3F801FFFu) << "cut later";
  EXPECT_EQ(tensor_core_operand(kFp32, 0x3F801FFF), 0x3F801FFFu);
}

/// C of an fp16 accumulator, and back: all halves, and floats beside them.
TEST(TensorCoreQuarters, HalvesAndSingles) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const uint32_t single = tensor_core_single(half);
    if (kFp16.is_nan(half)) {
      EXPECT_EQ(single, 0x7FFFFFFFu);
    } else {
      ASSERT_EQ(single, widened(kFp16, half));
      ASSERT_EQ(tensor_core_half(single), half);
    }
  }
  std::mt19937_64 random(8);
  for (int i = 0; i < 200000; ++i) {
    uint32_t code = static_cast<uint32_t>(random());
    if (i % 2) code = (code & 0x800FFFFF) | (100u + static_cast<uint32_t>(random() % 46)) << 23;
    if (i % 8 == 1) code &= 0xFFFFF000;
    if (kFp32.is_nan(code)) continue;
    ASSERT_EQ(tensor_core_half(code), fp::convert(kFp32, kFp16, code, Semantics::ieee()).code) << std::hex << code;
  }
  EXPECT_EQ(tensor_core_half(0x7FC00000), 0x7FFFu);
}

static_assert([] {
  FusedGroup g;
  const TensorCore t = tensor_core(Accumulator::kTensorCoreHopperMma, kE4m3, true);
  g.add(t, 0x3F800000, 0x40000000);
  return g.round(t, 0x3C00, Semantics::ieee()).code == 0x4200;
}());

}  // namespace
}  // namespace softamp::quarters
