// The model of a tensor core's fused group against its transcription on exact numbers, its parameters, and the small
// sums that tell generations apart.
#include "softamp/numerics/products/tensor_core.h"

#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "softamp/numerics/convert.h"
#include "tests/oracle/fused_group.h"

namespace softamp {
namespace {

using oracle::GroupResult;

constexpr Accumulator kFamilies[] = {Accumulator::kTensorCoreVolta,  Accumulator::kTensorCoreTuring,
                                     Accumulator::kTensorCoreAmpere, Accumulator::kTensorCoreAda,
                                     Accumulator::kTensorCoreHopper, Accumulator::kTensorCoreBlackwell};

uint32_t fp32(double x) { return std::bit_cast<uint32_t>(static_cast<float>(x)); }
double value(uint32_t code) { return static_cast<double>(std::bit_cast<float>(code)); }

/// The fp32 code of a code of `f`; NaNs stay NaNs.
uint32_t widened(const FloatFormat& f, uint32_t code) {
  return static_cast<uint32_t>(fp::convert(f, kFp32, code, Semantics::ieee()).code);
}

struct Sum {
  uint32_t code;
  uint8_t flags;
};
Sum group(const TensorCore& t, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t c) {
  FusedGroup g;
  for (size_t i = 0; i < a.size(); ++i) g.add(t, a[i], b[i]);
  const Rounded r = g.round(t, c, Semantics::ieee());
  return {static_cast<uint32_t>(r.code), r.flags};
}

/// A chain of groups over fp16 numbers, from `c` on.
double chain(Accumulator family, const std::vector<double>& a, const std::vector<double>& b, double c) {
  const TensorCore t = tensor_core(family, kFp16);
  uint32_t sum = fp32(c);
  for (size_t k = 0; k < a.size(); k += static_cast<size_t>(t.group)) {
    FusedGroup g;
    for (size_t i = k; i < a.size() && i < k + static_cast<size_t>(t.group); ++i) g.add(t, fp32(a[i]), fp32(b[i]));
    sum = static_cast<uint32_t>(g.round(t, sum, Semantics::ieee()).code);
  }
  return value(sum);
}

// N326, row by row.
// tests: N326
TEST(TensorCore, Parameters) {
  struct Row {
    Accumulator family;
    FloatFormat operand;
    int fraction_bits, group;
  };
  const Accumulator volta = kFamilies[0], turing = kFamilies[1], ampere = kFamilies[2], ada = kFamilies[3],
                    hopper = kFamilies[4], blackwell = kFamilies[5];
  for (const Row& r : {Row{volta, kFp16, 23, 4},      Row{turing, kFp16, 24, 8},     Row{ampere, kFp16, 24, 8},
                       Row{ampere, kBf16, 24, 8},     Row{ampere, kTf32, 24, 4},     Row{ada, kFp16, 24, 8},
                       Row{ada, kBf16, 24, 8},        Row{ada, kTf32, 24, 4},        Row{ada, kE4m3, 13, 16},
                       Row{ada, kE5m2, 13, 16},       Row{hopper, kFp16, 25, 16},    Row{hopper, kBf16, 25, 16},
                       Row{hopper, kTf32, 25, 8},     Row{hopper, kE4m3, 13, 32},    Row{hopper, kE5m2, 13, 32},
                       Row{blackwell, kFp16, 25, 16}, Row{blackwell, kBf16, 25, 16}, Row{blackwell, kTf32, 25, 8},
                       Row{blackwell, kE4m3, 25, 32}, Row{blackwell, kE5m2, 25, 32}}) {
    const TensorCore t = tensor_core(r.family, r.operand);
    EXPECT_EQ(t.fraction_bits, r.fraction_bits) << name_of(r.family);
    EXPECT_EQ(t.group, r.group) << name_of(r.family);
    EXPECT_EQ(t.operand, r.operand);
    const TensorCoreResult to = r.fraction_bits == 13 ? TensorCoreResult::kE8m13 : TensorCoreResult::kSingle;
    EXPECT_EQ(t.result, to) << name_of(r.family);
  }
  for (const Accumulator family : {volta, turing})
    for (const FloatFormat& f : {kBf16, kTf32, kFp32, kE4m3, kE5m2}) EXPECT_FALSE(tensor_core(family, f).exists());
  EXPECT_FALSE(tensor_core(ampere, kE4m3).exists());
  EXPECT_EQ(tensor_core(hopper, kFp32), tensor_core(hopper, kTf32));
  for (const Accumulator family : kFamilies) {
    EXPECT_TRUE(is_tensor_core(family));
    EXPECT_EQ(tensor_core(family, kFp16, true).result, TensorCoreResult::kHalf);
    EXPECT_FALSE(tensor_core(family, kBf16, true).exists());
    EXPECT_FALSE(tensor_core(family, kF143).exists());
  }
  for (const Accumulator a : {Accumulator::kIpuModelA, Accumulator::kFp32Chain}) {
    EXPECT_FALSE(is_tensor_core(a));
    EXPECT_FALSE(tensor_core(a, kFp16).exists());
  }
  EXPECT_STREQ(name_of(Accumulator::kIpuModelA), "ipu_model_a");
  EXPECT_STREQ(name_of(Accumulator::kFp32Chain), "fp32_chain");
  EXPECT_STREQ(name_of(volta), "tensorcore_volta");
  EXPECT_STREQ(name_of(blackwell), "tensorcore_blackwell");
}

/// Groups of every instruction, of codes that come near each other, cancel, overflow and are special.
TEST(TensorCore, TranscriptionAgrees) {
  std::mt19937_64 random(20264);
  const auto below = [&](uint64_t n) { return random() % n; };
  uint64_t overflows = 0, invalids = 0, zeros = 0, subnormals = 0;
  for (int round = 0; round < 24000; ++round) {
    const FloatFormat formats[] = {kFp16, kBf16, kTf32, kE4m3, kE5m2};
    const FloatFormat format = formats[below(5)];
    const bool halves = format == kFp16 && below(3) == 0, tf32 = format == kTf32;
    const Accumulator family = kFamilies[below(6)];
    const TensorCore t = tensor_core(family, format, halves);
    if (!t.exists()) continue;
    const FloatFormat stored = tf32 ? kFp32 : format, of_c = halves ? kFp16 : kFp32;
    // Exponent fields from a window: narrow ones make cancellation, low ones subnormals, high ones overflow.
    const uint64_t fields = uint64_t{1} << stored.exponent_bits, width = below(3) == 0 ? 2 : 1 + below(fields);
    const uint64_t first = below(fields - std::min(fields - 1, width));
    const bool any = below(8) == 0;
    const auto code_of = [&](const FloatFormat& f, uint64_t least, uint64_t span) {
      uint64_t code = random() & f.code_mask();
      if (any && below(4) == 0) return static_cast<uint32_t>(code);
      if (below(12) == 0) return static_cast<uint32_t>(code & f.sign_mask());
      code = (code & ~(f.magnitude_mask() ^ f.mantissa_mask())) | (least + below(span)) << f.mantissa_bits();
      if (below(3) == 0) code &= ~(f.mantissa_mask() >> 2);
      return static_cast<uint32_t>(f.is_finite(code) ? code : code & f.sign_mask());
    };
    std::vector<uint32_t> a, b, x, y;
    const size_t count = below(4) == 0 ? 1 + below(static_cast<uint64_t>(t.group)) : static_cast<size_t>(t.group);
    for (size_t i = 0; i < count; ++i) {
      a.push_back(code_of(stored, first, width)), b.push_back(code_of(stored, first, width));
      if (i > 0 && below(4) == 0) a[i] = a[i - 1] ^ static_cast<uint32_t>(stored.sign_mask()), b[i] = b[i - 1];
      x.push_back(tf32 ? a[i] : widened(stored, a[i])), y.push_back(tf32 ? b[i] : widened(stored, b[i]));
    }
    // The accumulator near the products: its field from theirs.
    const int products = 2 * (static_cast<int>(first) - stored.bias) + of_c.bias + static_cast<int>(below(30)) - 15;
    const int top = static_cast<int>(of_c.exponent_field_max());
    uint32_t c = code_of(of_c, static_cast<uint64_t>(std::clamp(products, 0, top - 1)), 1);
    if (below(6) == 0) c = 0;
    const GroupResult to = halves                                 ? GroupResult::kFp16
                           : t.result == TensorCoreResult::kE8m13 ? GroupResult::kE8m13
                                                                  : GroupResult::kFp32;
    const Sum ours = group(t, x, y, c);
    const uint32_t theirs =
        oracle::fused_group(format, tf32, t.fraction_bits, oracle::group_floor(family, halves), to, a, b, c);
    ASSERT_EQ(ours.code, theirs) << "round " << round << ", F " << t.fraction_bits << ", group " << t.group << ", c "
                                 << std::hex << c << ", e" << format.exponent_bits << "p" << format.precision;
    overflows += (ours.flags & kOverflow) != 0, invalids += of_c.is_nan(ours.code), zeros += ours.code == 0;
    subnormals += of_c.is_subnormal(ours.code);
  }
  EXPECT_GT(overflows, 20u);
  EXPECT_GT(invalids, 100u);
  EXPECT_GT(zeros, 100u);
  EXPECT_GT(subnormals, 100u);
}

TEST(TensorCore, SpecialValuesAndFlags) {
  const uint32_t infinity = 0x7F800000, minus = 0xFF800000, one = fp32(1), quiet = 0x7FC00000, loud = 0x7F800001;
  for (const Accumulator family : kFamilies) {
    const TensorCore t = tensor_core(family, kFp16);
    const auto of = [&](uint32_t a, uint32_t b, uint32_t c, bool quiet_too = false) {
      FusedGroup g;
      g.add(t, one, one);
      g.add(t, a, b);
      Semantics s = Semantics::ieee();
      s.quiet_nan_is_invalid = quiet_too;
      const Rounded r = g.round(t, c, s);
      return std::pair{static_cast<uint32_t>(r.code), static_cast<int>(r.flags)};
    };
    EXPECT_EQ(of(infinity, one, 0), (std::pair{infinity, 0}));
    EXPECT_EQ(of(infinity, fp32(-1), 0), (std::pair{minus, 0}));
    EXPECT_EQ(of(one, one, minus), (std::pair{minus, 0}));
    EXPECT_EQ(of(infinity, one, minus), (std::pair{0x7FFFFFFFu, int{kInvalid}}));
    EXPECT_EQ(of(infinity, 0, 0), (std::pair{0x7FFFFFFFu, int{kInvalid}}));
    EXPECT_EQ(of(0x80000000, minus, one), (std::pair{0x7FFFFFFFu, int{kInvalid}}));
    EXPECT_EQ(of(quiet, one, 0), (std::pair{0x7FFFFFFFu, 0}));
    EXPECT_EQ(of(quiet, one, 0, true), (std::pair{0x7FFFFFFFu, int{kInvalid}}));
    EXPECT_EQ(of(one, loud, infinity), (std::pair{0x7FFFFFFFu, int{kInvalid}}));
    EXPECT_EQ(of(one, one, 0x7FFFFFFF), (std::pair{0x7FFFFFFFu, 0}));
    EXPECT_EQ(of(fp32(65504), fp32(65504), 0x7F7FFFFF), (std::pair{0x7F7FFFFFu, 0})) << "toward zero, not up";
    EXPECT_EQ(of(fp32(-1), one, 0), (std::pair{0u, 0})) << "+0 of cancellation";
    EXPECT_EQ(of(fp32(-1), one, 0x80000000), (std::pair{0u, 0}));
    const TensorCore h = tensor_core(family, kFp16, true);
    FusedGroup g;
    g.add(h, fp32(65504), one);
    const Rounded over = g.round(h, 0x4C00 /* 16 */, Semantics::ieee());
    EXPECT_EQ(over.code, 0x7C00u) << "65520: to nearest, infinity";
    EXPECT_EQ(over.flags, kOverflow);
    EXPECT_EQ(g.round(h, 0x4B80 /* 15 */, Semantics::ieee()).code, 0x7BFFu);
    EXPECT_EQ(g.round(h, 0x7E00, Semantics::ieee()).code, 0x7FFFu);
    EXPECT_EQ(g.round(h, 0x7D00, Semantics::ieee()).flags, kInvalid);
  }
  const TensorCore t = tensor_core(Accumulator::kTensorCoreHopper, kBf16);
  EXPECT_EQ(group(t, {fp32(0x1p127)}, {fp32(2)}, 0).code, infinity);
  EXPECT_EQ(group(t, {fp32(0x1p127)}, {fp32(2)}, 0).flags, kOverflow);
  // tf32 reads ten fraction bits: what is lost may be all there is, beside an infinity too.
  const TensorCore tf32 = tensor_core(Accumulator::kTensorCoreAmpere, kFp32);
  EXPECT_EQ(group(tf32, {0x3F801FFF}, {one}, 0).code, one);
  EXPECT_EQ(group(tf32, {0x3F802000}, {one}, 0).code, 0x3F802000u);
  EXPECT_EQ(group(tf32, {0x00001FFF}, {infinity}, 0).code, 0x7FFFFFFFu);
  EXPECT_EQ(group(tf32, {0x7F800001}, {one}, 0).code, 0x7FFFFFFFu) << "a NaN's payload is not cut away";
}

/// Where all terms are tiny, the floor decides what is cut.
TEST(TensorCore, ExponentsHaveAFloor) {
  for (const Accumulator family : kFamilies)
    for (const bool halves : {false, true})
      EXPECT_EQ(tensor_core(family, kFp16, halves).floor, oracle::group_floor(family, halves));
  // 16 products of 7 2^-153: Hopper keeps them whole, since 2^(-133 - 25) is less; 2^(-126 - 25) would leave four of
  // seven. On Ampere the second group meets a sum that is not zero, whose exponent is -126.
  const auto sixteen = [&](Accumulator family) {
    const TensorCore t = tensor_core(family, kBf16);
    const std::vector<uint32_t> a(static_cast<size_t>(t.group), fp32(0x1.cp-75)), b(a.size(), fp32(0x1p-76));
    uint32_t sum = 0;
    for (int k = 0; k < 16; k += t.group) sum = group(t, a, b, sum).code;
    return sum;
  };
  EXPECT_EQ(sixteen(Accumulator::kTensorCoreHopper), 7u);
  EXPECT_EQ(sixteen(Accumulator::kTensorCoreBlackwell), 7u);
  EXPECT_EQ(sixteen(Accumulator::kTensorCoreAmpere), 3u);
  const auto two = [&](Accumulator family, const FloatFormat& f, bool halves, double x, double y) {
    const TensorCore t = tensor_core(family, f, halves);
    const std::vector<uint32_t> a = {fp32(std::ldexp(1.0, std::ilogb(x) / 2)),
                                     fp32(std::ldexp(1.0, std::ilogb(y) / 2))};
    const std::vector<uint32_t> b = {fp32(x / value(a[0])), fp32(y / value(a[1]))};
    return group(t, a, b, 0).code;
  };
  // 2^-25 is a tie of fp16: any more goes up, 2^-47 on Hopper is below 2^(-21 - 25).
  EXPECT_EQ(two(Accumulator::kTensorCoreHopper, kFp16, true, 0x1p-25, 0x1p-47), 0u);
  EXPECT_EQ(two(Accumulator::kTensorCoreHopper, kFp16, true, 0x1p-25, 0x1p-46), 1u);
  EXPECT_EQ(two(Accumulator::kTensorCoreBlackwell, kFp16, true, 0x1p-25, 0x1p-47), 0u);
  EXPECT_EQ(two(Accumulator::kTensorCoreAmpere, kFp16, true, 0x1p-25, 0x1p-45), 0u);
  EXPECT_EQ(two(Accumulator::kTensorCoreAmpere, kFp16, true, 0x1p-25, 0x1p-44), 1u);
  EXPECT_EQ(two(Accumulator::kTensorCoreVolta, kFp16, true, 0x1p-25, 0x1p-43), 0u);
  EXPECT_EQ(two(Accumulator::kTensorCoreVolta, kFp16, true, 0x1p-25, 0x1p-42), 1u);
}

/// How many bits are kept: c = 1 and products of 2^-n in one group, that vanish one by one or add up.
// tests: N327, N328
TEST(TensorCore, BitsTellGenerationsApart) {
  const auto sum = [](Accumulator family, int n) {
    // 2^-12 2^(12 - n): normal numbers in fp16.
    const std::vector<double> a(4, 0x1p-12), b(4, std::ldexp(1.0, 12 - n));
    return chain(family, a, b, 1.0);
  };
  for (const Accumulator family : kFamilies) {
    const int f = tensor_core(family, kFp16).fraction_bits;
    for (const int n : {23, 24, 25, 26}) {
      // Four products survive where 2^-n >= 2^-F; the sum is truncated to 2^-23.
      const double exact = 1 + (n <= f ? std::ldexp(4.0, -n) : 0.0);
      EXPECT_EQ(sum(family, n), std::floor(exact * 0x1p23) / 0x1p23) << name_of(family) << " 2^-" << n;
    }
  }
  EXPECT_EQ(sum(kFamilies[0], 24), 1) << "Volta";
  EXPECT_EQ(sum(kFamilies[1], 24), 1 + 0x1p-22) << "Turing";
  EXPECT_EQ(sum(kFamilies[2], 25), 1) << "Ampere";
  EXPECT_EQ(sum(kFamilies[4], 25), 1 + 0x1p-23) << "Hopper";
}

/// How long a group is: M, 4 t, -M at distance d. What stands in one group with M has to lie above M 2^-F.
TEST(TensorCore, GroupsTellGenerationsApart) {
  const auto left = [](Accumulator family, size_t place) {
    std::vector<double> a(32, 0.0), b(32, 1.0);
    a[0] = 1024, b[0] = 1024;  // 2^20
    a[1] = -1024, b[1] = 1024;
    a[place] = 0x1p-8;  // 2^-28 of it
    return chain(family, a, b, 0.0);
  };
  for (const Accumulator family : kFamilies) {
    const auto length = static_cast<size_t>(tensor_core(family, kFp16).group);
    for (size_t place = 2; place < 32; ++place)
      EXPECT_EQ(left(family, place), place < length ? 0 : 0x1p-8) << name_of(family) << " at " << place;
  }
}

/// A sum may fall as a summand grows: the sums are not normalised, and what E gains is lost below.
// tests: N327
TEST(TensorCore, SumsAreNotMonotonic) {
  for (const Accumulator family : kFamilies) {
    const TensorCore t = tensor_core(family, kFp16);
    const int f = t.fraction_bits;
    // n products of 2^(-1-F) beside c = 1 - 2^-24, whose exponent is -1: each is kept. Beside c = 1 none is.
    const std::vector<double> a(static_cast<size_t>(t.group), 0x1p-12);
    const std::vector<double> b(static_cast<size_t>(t.group), std::ldexp(1.0, 12 - 1 - f));
    const double smaller = chain(family, a, b, 1 - 0x1p-24), larger = chain(family, a, b, 1.0);
    EXPECT_EQ(larger, 1) << name_of(family);
    EXPECT_EQ(smaller, 1 + 0x1p-23) << name_of(family);
    EXPECT_GT(smaller, larger);
  }
}

/// The pattern of an iterative refinement: a residual of which only tiny products are left, scaled up again. Figures of
/// a published run (FTTN, arXiv 2403.00232): 0 on V100 and A100, 191.875 on H100. The inputs are ours.
TEST(TensorCore, Refinement) {
  const auto refined = [](Accumulator family) {
    std::vector<double> a(16, 0.0), b(16, 0.0);
    a[0] = 256, b[0] = 128, a[15] = -256, b[15] = 128;  // +-2^15
    for (const size_t i : std::initializer_list<size_t>{4, 5, 6})
      a[i] = 0x1p-15, b[i] = 40;  // 1.25 2^-10, subnormal times normal
    a[7] = 0x1p-15, b[7] = 8;     // 0.25 2^-10
    const double residual = chain(family, a, b, 0.0);
    const TensorCore t = tensor_core(family, kFp16, true);
    FusedGroup g;
    g.add(t, fp32(residual), fp32(65504));
    const uint32_t half = static_cast<uint32_t>(g.round(t, 0, Semantics::ieee()).code);
    return value(widened(kFp16, half));
  };
  const double published[] = {0, 0, 0, 0, 191.875, 191.875};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(refined(kFamilies[i]), published[i]) << name_of(kFamilies[i]);
}

/// Constant expressions, for literals.
static_assert([] {
  FusedGroup g;
  const TensorCore t = tensor_core(Accumulator::kTensorCoreVolta, kFp16);
  g.add(t, 0x3F800000, 0x40000000);
  return g.round(t, 0x3F800000, Semantics::ieee()).code == 0x40400000;
}());

}  // namespace
}  // namespace softamp
