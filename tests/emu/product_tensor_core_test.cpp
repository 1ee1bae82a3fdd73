// Products whose accumulator is a tensor core: the chain of kernel/products.h against groups on exact numbers, and the
// engine's own way against that chain.
#include <limits>

#include "tests/emu/product_check.h"
#include "tests/oracle/exact_operations.h"
#include "tests/oracle/fused_group.h"

namespace softamp::test {
namespace {

namespace exact = oracle::exact;

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
  ProductCase c;
  c.seed = number;
  if (mix() % 2) c.semantics = Semantics::ipu();
  if (mix() % 4 == 0) c.semantics.narrow = RoundingPolicy::stochastic_carry();
  c.m = 1 + mix() % 40, c.n = 1 + mix() % 70, c.k = 1 + mix() % 70;
  if (mix() % 6 == 0) c.m = 1 + mix() % 4, c.n = 1 + mix() % 4, c.k = 1 + mix() % 2600;
  const size_t blocks[] = {16, 1, 4, 0};
  c.block = blocks[mix() % 4];
  c.transpose_a = mix() & 1, c.transpose_b = mix() & 1;
  c.batch_sum = mix() % 4 == 0;
  c.first_output = mix() % 3 == 0 ? 0 : mix() % 1000;
  c.data = static_cast<ProductData>(mix() % kDataKinds);
  c.random.seed = mix();
  const Family& family = kFamilies[mix() % 6];
  const FloatFormat formats[] = {kFp16, kFp16, kBf16, kFp32}, outputs[] = {kFp16, kFp32, kBf16};
  c.rules.accumulator = family.accumulator;
  c.rules.a = c.rules.b = family.wide == 0 ? kFp16 : formats[mix() % 4];
  c.rules.output = outputs[mix() % 3];
  c.rules.independent = c.batch_sum;
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
    const size_t group = static_cast<size_t>(c.rules.a == kFp32 ? family->wide : family->halves);
    for (size_t i = 0; i < c.m; ++i)
      for (size_t j = 0; j < c.n; ++j) {
        uint32_t total = 0;
        const size_t partial = c.batch_sum ? 1024 : c.k;
        for (size_t first = 0; first < c.k; first += partial) {
          uint32_t sum = 0;
          const size_t end = std::min(c.k, first + partial);
          for (size_t k = first; k < end; k += group) {
            std::vector<uint32_t> a, b;
            for (size_t at = k; at < std::min(end, k + group); ++at)
              a.push_back(e.a.at(i * c.k + at)), b.push_back(e.b.at(at * c.n + j));
            sum = oracle::fused_group(c.rules.a == kFp32 ? kTf32 : c.rules.a, c.rules.a == kFp32, family->fraction_bits,
                                      oracle::GroupResult::kFp32, a, b, sum);
          }
          total = first == 0 ? sum : static_cast<uint32_t>(exact::add(kFp32, total, sum, c.semantics).code);
        }
        const uint64_t output = c.first_output + i * c.n + j;
        const uint32_t word = e.environment.draw(c.semantics.narrow, 1, output);
        const uint32_t expected =
            c.rules.output == kFp32
                ? total
                : static_cast<uint32_t>(exact::convert(kFp32, c.rules.output, total, c.semantics, word).code);
        ASSERT_EQ(hex(e.codes[i * c.n + j]), hex(expected)) << text_of(c) << " at " << i << "," << j;
      }
  }
}

TEST(ProductTensorCore, EngineAgreesWithTheChain) {
  Mixer mix(65);
  for (uint64_t number = 0; number < 120; ++number) {
    const ProductCase c = random_tensor_core_product(mix, number);
    const ProductExpectation e(c);
    ASSERT_EQ(emu::ProductPlan(c.rules, c.semantics).way, emu::ProductPlan::Way::kTensorCore);
    for (const InstructionSet isa : usable_sets())
      for (const int threads : {1, 3})
        if (!check_product(c, e, isa, threads, threads == 1)) {
          FAIL() << text_of(c);
        }
    if (number % 10 == 0 && !check_product(c, e, InstructionSet::kAuto, 1, true, true)) FAIL() << text_of(c);
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

/// Operands as the preset takes them: what it flushes is no term.
TEST(ProductTensorCore, OperandsAsThePresetSays) {
  ProductCase c;
  c.rules.accumulator = Accumulator::kTensorCoreHopper;
  c.rules.a = c.rules.b = c.rules.output = kFp32;
  for (const bool flushed : {false, true}) {
    c.semantics = Semantics::ieee();
    c.semantics.wide_operands_flushed = flushed;
    ProductExpectation e(c);
    e.a.set(0, 0x00400000);  // 2^-127
    e.b.set(0, 0x7E800000);  // 2^126
    e.codes[0] = flushed ? 0u : 0x3F000000u;
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
