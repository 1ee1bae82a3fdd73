// Products whose tensor core is fed 8 bits, has an fp16 accumulator, or takes pairs of groups (N476 to N479): the chain
// of kernel/products.h against groups on exact numbers, and the engine's own way against that chain.
#include "tests/emu/tensor_core_check.h"

namespace softamp::test::quarters {
namespace {

namespace exact = oracle::exact;

/// What a family does, written down once more: F and group of 16 bits, of tf32, of 8 bits; -1: pairs.
struct Family {
  Accumulator accumulator;
  int f16, g16, g32, f8, g8;
};
constexpr Family kFamilies[] = {
    {Accumulator::kTensorCoreVolta, 23, 4, 0, 0, 0},        {Accumulator::kTensorCoreTuring, 24, 8, 0, 0, 0},
    {Accumulator::kTensorCoreAmpere, 24, 8, 4, 0, 0},       {Accumulator::kTensorCoreAda, 24, 8, 4, 13, 16},
    {Accumulator::kTensorCoreHopper, 25, 16, 8, 13, 32},    {Accumulator::kTensorCoreBlackwell, 25, 16, 8, 25, 32},
    {Accumulator::kTensorCoreHopperMma, 25, 16, 8, 25, -1}, {Accumulator::kTensorCoreBlackwellMma, 25, 16, 8, 25, -1},
};
constexpr FloatFormat kFed[] = {kFp16, kBf16, kE4m3, kE5m2};
constexpr TensorCoreOperands kOperands[] = {TensorCoreOperands::kAsFp16, TensorCoreOperands::kAsBf16,
                                            TensorCoreOperands::kAsE4m3, TensorCoreOperands::kAsE5m2};

/// Rules of a tensor core that exists; `fed`: the index of kFed, 4 for the operands' own.
ProductCase random_case(Mixer& mix, uint64_t number) {
  ProductCase c = draw_tensor_core_shape(mix, number, 34, 100);
  const FloatFormat formats[] = {kFp16, kFp16, kBf16, kFp32};
  do {
    c.rules.accumulator = kFamilies[mix() % 8].accumulator;
    c.rules.a = c.rules.b = formats[mix() % 4];
    c.rules.output = formats[mix() % 4];
    const uint64_t fed = mix() % 8;
    c.rules.operands = fed < 6 ? kOperands[fed < 2 ? fed : 2 + fed % 2] : TensorCoreOperands::kOwn;
    c.rules.half_accumulator = mix() % 2;
  } while (!kernel::core_of(c.rules).exists() ||
           (c.rules.operands == TensorCoreOperands::kOwn && !c.rules.half_accumulator));
  return c;
}

std::string text_of(const ProductCase& c) {
  return std::string(name_of(c.rules.accumulator)) + " fed " + name_of(c.rules.operands) +
         (c.rules.half_accumulator ? " to fp16, " : " to fp32, ") + describe(c);
}

TEST(ProductQuarters, ChainByExactGroups) {
  Mixer mix(641);
  const RoundingPolicy saturating = RoundingPolicy::saturating();
  for (uint64_t number = 0; number < 80; ++number) {
    ProductCase c = random_case(mix, number);
    c.m = 1 + mix() % 3, c.n = 1 + mix() % 3, c.transpose_a = c.transpose_b = false;
    if (c.data >= ProductData::kSpecial) c.data = ProductData::kOrdinary;
    c.semantics = Semantics::ieee();
    c.semantics.wide.nan = c.semantics.narrow.nan = NanPattern::kAllOnes;
    if (c.batch_sum) c.k = 1000 + mix() % 2000;
    const ProductExpectation e(c);
    const Family* family = kFamilies;
    while (family->accumulator != c.rules.accumulator) ++family;
    FloatFormat fed = c.rules.a;
    for (int i = 0; i < 4; ++i)
      if (c.rules.operands == kOperands[i]) fed = kFed[i];
    const bool f8 = fed == kE4m3 || fed == kE5m2, tf32 = fed == kFp32, half = c.rules.half_accumulator;
    const bool pairs = f8 && family->g8 < 0;
    const auto step = static_cast<size_t>(pairs ? 32 : f8 ? family->g8 : tf32 ? family->g32 : family->g16);
    const int fraction_bits = f8 ? family->f8 : family->f16;
    const oracle::GroupResult to = half                        ? oracle::GroupResult::kFp16
                                   : f8 && fraction_bits == 13 ? oracle::GroupResult::kE8m13
                                                               : oracle::GroupResult::kFp32;
    const auto fed_code = [&](uint32_t code) {
      return fed == c.rules.a
                 ? code
                 : static_cast<uint32_t>(exact::convert(c.rules.a, fed, code, Semantics::ieee(saturating), 0).code);
    };
    const auto group = [&](std::vector<uint32_t> a, std::vector<uint32_t> b, uint32_t sum) {
      for (auto* operands : {&a, &b})
        for (uint32_t& code : *operands) code = fed_code(code);
      return pairs ? oracle::fused_pairs(fed, half, a, b, sum)
                   : oracle::fused_group(tf32 ? kTf32 : fed, tf32, fraction_bits,
                                         oracle::group_floor(c.rules.accumulator, half), to, a, b, sum);
    };
    const auto single = [&](uint32_t sum) {
      return half ? static_cast<uint32_t>(exact::convert(kFp16, kFp32, sum, c.semantics, 0).code) : sum;
    };
    ASSERT_TRUE(check_exact_chain(c, e, step, group, single, text_of(c)));
  }
}

TEST(ProductQuarters, EngineAgreesWithTheChain) {
  Mixer mix(651);
  for (uint64_t number = 0; number < 160; ++number) {
    const ProductCase c = random_case(mix, number);
    ASSERT_TRUE(engine_agrees(c, number)) << text_of(c);
  }
}

/// The rules of this family, with fp32 results; no shape and no operands yet.
ProductCase summed_as(const Family& family, TensorCoreOperands operands, bool half) {
  ProductCase c;
  c.rules.accumulator = family.accumulator;
  c.rules.operands = operands;
  c.rules.half_accumulator = half;
  c.rules.output = kFp32;
  return c;
}

/// Sums at the edges of a vector's lane, of fp16, and between its normal and subnormal numbers; ties of the fp16
/// accumulator and of the last addition of pairs.
TEST(ProductQuarters, SumsAtTheEdges) {
  for (const Family& family : kFamilies)
    for (const TensorCoreOperands operands : {TensorCoreOperands::kOwn, TensorCoreOperands::kAsE5m2})
      for (const bool half : {false, true})
        for (const double each :
             {448.0, 256.0, 60.0, 1.75, 1.0, 0x1p-7, 0x1.8p-11, 0x1p-12, 0x1.8p-13, 0x1.8p-14, 0x1p-16, 0x1p-24, 0.0})
          for (const int sign : {1, -1}) {
            ProductCase c = summed_as(family, operands, half);
            if (!kernel::core_of(c.rules).exists()) continue;
            c.m = 4, c.n = 37, c.k = 70;
            ProductExpectation e(c);
            for (size_t i = 0; i < c.m * c.k; ++i) {
              const size_t row = i / c.k, k = i % c.k;
              const bool nothing = (row == 1 && k > 0 && k < 32) || (row == 2 && k > 0);
              const double first = row == 3 && k == 0 ? 2048 : each;
              e.a.set(i, static_cast<uint32_t>(fp::from_double(kFp16, nothing ? 0 : sign * first)));
            }
            for (size_t i = 0; i < c.k * c.n; ++i)
              e.b.set(i, static_cast<uint32_t>(fp::from_double(kFp16, i % 37 == 5 && i / 37 % 2 ? -each : each)));
            e.compute(c);
            for (const InstructionSet isa : usable_sets())
              ASSERT_TRUE(check_product(c, e, isa, 1)) << text_of(c) << " each " << sign * each;
          }
}

/// C that is zero, the least number, or as small as fp16's, beside products that are zeros or as small.
// tests: N480
TEST(ProductQuarters, LeastNumbersOfC) {
  const uint32_t starts[] = {0, 1, 0x007FFFFF, 0x00800000, 0x33000000, 0x33800000, 0x387FC000};
  for (const Family& family : kFamilies)
    for (const TensorCoreOperands operands : {TensorCoreOperands::kOwn, TensorCoreOperands::kAsE5m2})
      for (const bool half : {false, true}) {
        ProductCase c = summed_as(family, operands, half);
        if (!kernel::core_of(c.rules).exists()) continue;
        c.m = 4, c.n = 37, c.k = 70, c.seed = 2;  // a C for each output
        ProductExpectation e(c);
        const double rows[] = {0.0, -0.0, 0x1p-16, -0x1p-16};
        for (size_t i = 0; i < c.m * c.k; ++i) e.a.set(i, static_cast<uint32_t>(fp::from_double(kFp16, rows[i / c.k])));
        for (size_t i = 0; i < c.k * c.n; ++i)
          e.b.set(i, static_cast<uint32_t>(fp::from_double(kFp16, i % c.n % 3 == 0 ? 0.0 : 0x1p-16)));
        for (size_t i = 0; i < e.start.size(); ++i) e.start[i] = starts[i % 7] | (i % 2 ? 0x80000000u : 0u);
        e.compute(c);
        for (const InstructionSet isa : usable_sets()) ASSERT_TRUE(check_product(c, e, isa, 1)) << text_of(c);
      }
}

/// C in the place of +0 (N480): as the first step's accumulator, after the last group of pairs, of an fp16 accumulator
/// rounded first.
// tests: N480
TEST(ProductQuarters, ChainsThatBeginWithC) {
  const auto of = [](Accumulator accumulator, TensorCoreOperands operands, bool half, double first, double c) {
    ProductCase p;
    p.rules.accumulator = accumulator;
    p.rules.operands = operands;
    p.rules.half_accumulator = half;
    p.rules.output = kFp32;
    kernel::Environment environment;
    environment.semantics = Semantics::ieee();
    kernel::ProductChain chain(p.rules, environment, 0);
    chain.start(std::bit_cast<uint32_t>(static_cast<float>(c)));
    chain.step(std::bit_cast<uint32_t>(static_cast<float>(first)), 0x3F800000, 0);
    chain.end_block(0);
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(chain.finish().code)));
  };
  const auto own = TensorCoreOperands::kOwn, e4m3 = TensorCoreOperands::kAsE4m3;
  EXPECT_EQ(of(Accumulator::kTensorCoreVolta, own, false, 1, 0x1.8p-23), 1 + 0x1p-23) << "cut";
  EXPECT_EQ(of(Accumulator::kTensorCoreHopperMma, e4m3, false, 1, 0x1.8p-23), 1 + 0x1p-22) << "to nearest";
  EXPECT_EQ(of(Accumulator::kTensorCoreAda, e4m3, false, 1, 0x1.8p-13), 1 + 0x1p-13) << "13 bits";
  EXPECT_EQ(of(Accumulator::kTensorCoreAmpere, own, true, 0, 1 + 0x1.8p-10), 1 + 0x1p-9) << "C to fp16, to even";
  EXPECT_EQ(of(Accumulator::kTensorCoreAmpere, own, true, 1, 0x1.8p-10), 1 + 0x1p-9);
  EXPECT_EQ(of(Accumulator::kFp32Chain, own, false, 1, 0x1.8p-23), 1 + 0x1p-22) << "any accumulator's";
}

}  // namespace
}  // namespace softamp::test::quarters
