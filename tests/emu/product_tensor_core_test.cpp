// Products whose accumulator is a tensor core: the chain of kernel/products.h against groups on exact numbers, and the
// engine's own way against that chain.
#include <limits>

#include "tests/emu/tensor_core_check.h"

namespace softamp::test {
namespace {

/// Families with their F and group for fp16, bf16, tf32 (N326), written down once more.
struct Family {
  Accumulator accumulator;
  int fraction_bits, halves, wide;  ///< products of a group of 16-bit operands, of tf32
};
constexpr Family kFamilies[] = {
    {Accumulator::kTensorCoreVolta, 23, 4, 0},   {Accumulator::kTensorCoreTuring, 24, 8, 0},
    {Accumulator::kTensorCoreAmpere, 24, 8, 4},  {Accumulator::kTensorCoreAda, 24, 8, 4},
    {Accumulator::kTensorCoreHopper, 25, 16, 8}, {Accumulator::kTensorCoreBlackwell, 25, 16, 8},
};

ProductCase random_tensor_core_product(Mixer& mix, uint64_t number) {
  ProductCase c = draw_tensor_core_shape(mix, number, 40, 70);
  const size_t blocks[] = {16, 1, 4, 0};
  c.block = blocks[mix() % 4];
  const Family& family = kFamilies[mix() % 6];
  const FloatFormat formats[] = {kFp16, kFp16, kBf16, kFp32}, outputs[] = {kFp16, kFp32, kBf16};
  c.rules.accumulator = family.accumulator;
  c.rules.a = c.rules.b = family.wide == 0 ? kFp16 : formats[mix() % 4];
  c.rules.output = outputs[mix() % 3];
  return c;
}

std::string text_of(const ProductCase& c) { return std::string(name_of(c.rules.accumulator)) + " " + describe(c); }

/// The chain's groups begin anew with each independent partial, whatever the blocks, and the sum of partials and the
/// result are those of any float partials.
TEST(ProductTensorCore, ChainByExactGroups) {
  Mixer mix(64);
  for (uint64_t number = 0; number < 250; ++number) {
    ProductCase c = random_tensor_core_product(mix, number);
    c.m = 1 + mix() % 3, c.n = 1 + mix() % 3, c.transpose_a = c.transpose_b = false;
    c.semantics = Semantics::ieee(number % 2 ? RoundingPolicy::stochastic_carry() : RoundingPolicy{});
    c.semantics.wide = RoundingPolicy{};
    c.semantics.wide.nan = NanPattern::kAllOnes;
    if (c.batch_sum) c.k = 1000 + mix() % 2000;
    const ProductExpectation e(c);
    const Family* family = kFamilies;
    while (family->accumulator != c.rules.accumulator) ++family;
    const size_t length = static_cast<size_t>(c.rules.a == kFp32 ? family->wide : family->halves);
    const auto group = [&](const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t sum) {
      return oracle::fused_group(c.rules.a == kFp32 ? kTf32 : c.rules.a, c.rules.a == kFp32, family->fraction_bits,
                                 oracle::group_floor(family->accumulator, false), oracle::GroupResult::kFp32, a, b,
                                 sum);
    };
    ASSERT_TRUE(check_exact_chain(
        c, e, length, group, [](uint32_t sum) { return sum; }, text_of(c)));
  }
}

TEST(ProductTensorCore, EngineAgreesWithTheChain) {
  Mixer mix(65);
  for (uint64_t number = 0; number < 120; ++number) {
    const ProductCase c = random_tensor_core_product(mix, number);
    ASSERT_TRUE(engine_agrees(c, number)) << text_of(c);
  }
}

/// Sixteen products of nearly 4 do not fit a vector's lane together; sums near fp32's greatest number, and results
/// below its least normal one.
TEST(ProductTensorCore, SumsAtTheEdgesOfALane) {
  for (const FloatFormat& format : {kFp16, kBf16, kFp32})
    for (const int sign : {1, -1})
      for (const double each :
           {1.9990234375, 0x1.fcp0, 0x1.fep63, 0x1.fep60, 0x1.81p-64, 0x1.81p-70, 0x1p-75, 0x1.81p-80, 0.0}) {
        if (format == kFp16 && (each > 2 || (each < 1 && each != 0))) continue;
        ProductCase c;
        c.rules.accumulator = Accumulator::kTensorCoreHopper;
        c.rules.a = c.rules.b = format;
        c.rules.output = kFp32;
        c.m = 3, c.n = 37, c.k = 37;
        ProductExpectation e(c);
        // Row 1 has an accumulator of about 2 before a group of large products; row 2 has one product.
        for (size_t i = 0; i < c.m * c.k; ++i) {
          const size_t row = i / c.k, k = i % c.k;
          const bool nothing = k > 0 && ((row == 1 && k < 16) || row == 2);
          const double first = row == 1 && k == 0 && each > 1 && each < 2 ? 1 : each;
          e.a.set(i, static_cast<uint32_t>(fp::from_double(format, nothing ? 0 : sign * first)));
        }
        for (size_t i = 0; i < c.k * c.n; ++i)  // column 5 alternates, column 6 has a special value
          e.b.set(i, i == 6 ? static_cast<uint32_t>(format.infinity_code())
                            : static_cast<uint32_t>(fp::from_double(format, i % 37 == 5 && i / 37 % 2 ? -each : each)));
        for (const bool special : {true, false}) {
          if (!special) e.b.set(6, 0);
          e.compute(c);
          for (const InstructionSet isa : usable_sets())
            ASSERT_TRUE(check_product(c, e, isa, 1)) << text_of(c) << " each " << sign * each << " special " << special;
        }
      }
}

/// A tensor core keeps subnormals, also where the preset flushes operands and results.
TEST(ProductTensorCore, KeepsSubnormalsThatThePresetFlushes) {
  ProductCase c;
  c.rules.accumulator = Accumulator::kTensorCoreHopper;
  c.rules.a = c.rules.b = c.rules.output = kFp32;
  for (const bool flushed : {false, true}) {
    c.semantics = Semantics::ieee();
    c.semantics.wide_operands_flushed = flushed;
    if (flushed) c.semantics.wide.subnormals = Subnormals::kFlush;
    ProductExpectation e(c);
    e.a.set(0, 0x00400000);  // 2^-127
    e.b.set(0, 0x7E800000);  // 2^126
    e.codes[0] = 0x3F000000u;
    e.status = {};
    EXPECT_TRUE(check_product(c, e, InstructionSet::kAuto, 1));
    EXPECT_TRUE(check_product(c, e, InstructionSet::kAuto, 1, true, true));
  }
}

/// No products: +0, in every format.
TEST(ProductTensorCore, EmptySums) {
  ProductCase c;
  c.k = 0, c.m = 2, c.n = 3;
  c.rules.accumulator = Accumulator::kTensorCoreAmpere;
  EXPECT_TRUE(check_everywhere(c));
}

}  // namespace
}  // namespace softamp::test
