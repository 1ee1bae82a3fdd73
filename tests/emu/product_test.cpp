// The product engine equals the chain of kernel/products.h bit for bit: values, flags, lowest offending index; every
// instruction set, any number of threads.
#include <cmath>
#include <cstring>

#include "softamp/numerics/chips.h"
#include "tests/emu/product_check.h"
#include "tests/slice.h"

namespace softamp::test {
namespace {

using emu::kPartialLength;

ProductCase random_product(Mixer& mix, uint64_t number) {
  ProductCase c;
  c.seed = number;
  c.semantics = product_policy(static_cast<int>(mix() % kPolicies), 8);
  c.m = 1 + mix() % 70, c.n = 1 + mix() % 70, c.k = 1 + mix() % 70;
  if (mix() % 6 == 0) c.m = 1 + mix() % 14, c.n = 1 + mix() % 14, c.k = 1 + mix() % 2100;
  if (mix() % 12 == 0) c.m = 1 + mix() % 3, c.n = 1 + mix() % 300;
  c.block = kBlocks[mix() % 4];
  c.transpose_a = mix() & 1, c.transpose_b = mix() & 1;
  c.batch_sum = mix() % 5 == 0;
  c.first_output = mix() % 3 == 0 ? 0 : mix() % 1000000;
  if (mix() % 16 == 0) c.first_output = (uint64_t{1} << 34) + mix() % 1000;  // past 32 bits
  draw_data(c, mix);
  const FloatFormat formats[] = {kFp16, kFp16, kFp16, kBf16, kFp32};
  c.rules.a = c.rules.b = formats[mix() % 5];
  if (mix() % 8 == 0) c.rules.b = formats[mix() % 5];
  draw_partials(c, mix);
  if (number % 8 == 5) c.semantics = chip_semantics(Chip::kIntelXe, kFp16);
  return c;
}

TEST(Product, RandomShapes) {
  Mixer mix(2024);
  Slice slice(4);
  for (uint64_t number = 0; number < 300; ++number)
    if (const ProductCase c = random_product(mix, number); slice.takes() && !check_everywhere(c, number % 3 == 0))
      return;
}

// Every partials type, block, policy and kind of data, on a shape with odd ends everywhere.
TEST(Product, EveryPolicy) {
  uint64_t number = 10000;
  Slice slice(4);
  for (int which = 0; which < kPolicies; ++which)
    for (const size_t block : kBlocks)
      for (const FloatFormat& format : {kFp16, kFp32})
        for (int data = 0; data < kDataKinds; ++data) {
          ProductCase c;
          c.seed = ++number;
          c.semantics = product_policy(which, 8);
          c.m = 13, c.n = 37, c.k = 41, c.block = block;
          c.rules.a = c.rules.b = format;
          c.rules.partials = PartialsType::kHalf;
          c.rules.exact_each = block == 1;
          c.data = static_cast<ProductData>(data);
          c.random.seed = number;
          if (slice.takes() && !check_everywhere(c, false)) return;
        }
}

/// Whether the calling thread rounds to nearest, as far as one addition shows.
bool rounds_to_nearest() {
  volatile float one = 1.0f, more = 0x1.8p-24f;
  return one + more == 1.0f + 0x1p-23f;
}

// The fast ways, long enough that what their integers do not settle happens, too: zeros and subnormals, bits that
// truncation loses, overflows; tiles with outputs that are not there, draw blocks cut anywhere.
// tests: N401, N402, N403, N404, N407
TEST(Product, FastWays) {
  using Way = emu::ProductPlan::Way;
  uint64_t number = 60000;
  for (const int bits : {0, 1, 12, 13, 14, 16})
    for (const bool half : {true, false})
      for (const size_t block : {1, 5})
        for (const ProductData data : {ProductData::kOrdinary, ProductData::kSmall, ProductData::kNearOverflow})
          for (const size_t columns : {3, 37}) {
            if (!half && block == 1) continue;
            FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
            b.esr = bits != 0;
            IpuSwitches w;
            w.sr_bits = bits ? bits : 13;
            ProductCase c;
            c.semantics = Semantics::ipu(b, w);
            c.m = 7, c.n = columns, c.k = data == ProductData::kOrdinary ? 301 : 41, c.block = block;
            c.rules.partials = half ? PartialsType::kHalf : PartialsType::kFloat;
            c.rules.exact_each = half && block == 1;
            c.data = data;
            c.seed = ++number;
            c.random.seed = number;
            c.first_output = number % 3 * 5;
            if (!check_everywhere(c, false)) return;
            EXPECT_TRUE(rounds_to_nearest());
            for (const InstructionSet isa : usable_sets()) {
              if (isa == InstructionSet::kPortable || isa == InstructionSet::kNeon) continue;  // these have one way
              const emu::ProductPlan plan(c.rules, c.semantics, isa);
              EXPECT_TRUE(half ? plan.way < Way::kGeneralEach : plan.way == Way::kFloat) << bulk::name(isa);
              EXPECT_EQ(plan.carries_result, !half && bits != 0) << bulk::name(isa);
            }
          }
}

/// Significands x, y of 11 bits whose product, of 22, lies so near to 2^21 that fp32 does not tell 1 + x y 2^-32 from
/// the tie of halves 1 + 2^-11, and is not 2^21.
std::vector<std::pair<uint32_t, uint32_t>> factors_next_to_a_tie() {
  std::vector<std::pair<uint32_t, uint32_t>> found;
  for (uint32_t x = 1024; x < 2048; ++x)
    for (uint32_t y = (1u << 21) / x; y <= (1u << 21) / x + 1 && y < 2048; ++y)
      if (const int64_t error = int64_t{x} * y - (1 << 21); error != 0 && std::abs(error) < 1 << 6)
        found.emplace_back(x, y);
  return found;
}

// Sums of two products that lie above or below the middle of two halves by less than fp32 holds.
// tests: N403
TEST(Product, SumsNextToTies) {
  const std::vector<std::pair<uint32_t, uint32_t>> factors = factors_next_to_a_tie();
  for (const size_t block : {1, 4})
    for (const bool even : {true, false}) {
      ProductCase c;
      c.m = 2 * factors.size(), c.n = factors.size(), c.k = 2, c.block = block;
      c.rules.partials = PartialsType::kHalf;
      c.rules.exact_each = block == 1;
      c.semantics = product_policy(7, 8);
      ProductExpectation e(c);
      for (size_t i = 0; i < c.m; ++i) {
        const uint32_t sign = i % 2 ? 0x8000u : 0;
        e.a.set(2 * i, sign | 0x3C00u | !even);                              // 1, or 1 + 2^-10
        e.a.set(2 * i + 1, sign | 0x3C00u | (factors[i / 2].first - 1024));  // x 2^-10
      }
      for (size_t j = 0; j < c.n; ++j) {
        e.b.set(j, 0x3C00u);
        e.b.set(c.n + j, 0x0C00u | (factors[j].second - 1024));  // y 2^-22
      }
      e.compute(c);
      for (const InstructionSet isa : usable_sets()) EXPECT_TRUE(check_product(c, e, isa, 1));
      for (size_t j = 0; block == 1 && j < c.n; ++j) {
        const bool above = factors[j].first * factors[j].second > 1u << 21;
        EXPECT_EQ(hex(e.codes[2 * j * c.n + j]), hex(0x3C00u + (even ? above : 1 + above))) << factors[j].first;
      }
    }
}

// Alternatives that only the scalar body knows, and switches that vectors leave to it.
TEST(Product, RareRules) {
  for (uint64_t number = 0; number < 40; ++number) {
    Mixer mix(number);
    ProductCase c = random_product(mix, number + 20000);
    make_rare(c, mix, number);
    if (!check_everywhere(c, false)) return;
  }
}

// Policies that no preset has.
TEST(Product, Policies) {
  for (uint64_t number = 0; number < 400; ++number) {
    Mixer mix(number + 31);
    ProductCase c = random_product(mix, number + 30000);
    draw_policy(c, mix);
    if (!check_everywhere(c, false)) return;
  }
}

// Stochastic roundings switched off; words from a table; every element by the scalar body.
TEST(Product, Options) {
  for (uint64_t number = 0; number < 24; ++number) {
    Mixer mix(number + 77);
    ProductCase c = random_product(mix, number + 40000);
    c.semantics = product_policy(2 + static_cast<int>(number % 4), 8);
    c.rules.stochastic_off = number % 3 == 0;
    if (!check_everywhere(c, false)) return;
    const ProductExpectation e(c);
    if (!check_product(c, e, InstructionSet::kAuto, 2, true, true)) return;
  }
}

TEST(Product, WordsFromATable) {
  for (const size_t block : {size_t{1}, size_t{4}, size_t{16}}) {
    ProductCase c;
    c.m = 7, c.n = 45, c.k = 33, c.block = block;
    c.semantics = product_policy(4, 8);
    c.rules.partials = PartialsType::kHalf;
    c.rules.exact_each = block == 1;
    ProductExpectation drawn(c);
    // The generator's own numbers, laid out as a table, change nothing; others do.
    std::vector<uint32_t> words(drawn.schedule.blocks.size() * c.m * c.n);
    for (size_t i = 0; i < words.size(); ++i)
      words[i] = drawn.environment.draw(c.semantics.narrow, 0, product_index(i / (c.m * c.n), i % (c.m * c.n)));
    drawn.environment.table[0] = {words.data(), c.m * c.n};
    for (const InstructionSet isa : usable_sets()) EXPECT_TRUE(check_product(c, drawn, isa, 2));
    for (uint32_t& w : words) w ^= 0xFFFF;
    const emu::ProductPlan plan(c.rules, c.semantics);
    const emu::MatMulOperands operands(plan, drawn.a.data(), false, drawn.b.data(), false, c.m, c.n, c.k);
    std::vector<uint16_t> out(c.m * c.n);
    emu::run_product(plan, {c.m, c.n, &drawn.schedule, &operands, out.data()}, drawn.environment);
    bool differs = false;
    for (size_t i = 0; i < out.size(); ++i) differs = differs || out[i] != drawn.codes[i];
    EXPECT_TRUE(differs);
  }
}

/// 1 x 1 x k of ones.
uint32_t ones(size_t k, size_t block, PartialsType partials, const FloatFormat& output, InstructionSet isa) {
  ProductRules rules;
  rules.partials = partials;
  rules.output = output;
  rules.exact_each = partials == PartialsType::kHalf && block == 1;
  const std::vector<uint16_t> data(k, 0x3C00);
  const emu::ProductPlan plan(rules, Semantics::ipu(), isa);
  const emu::Schedule schedule = emu::Schedule::plain(k, block);
  const emu::MatMulOperands operands(plan, data.data(), false, data.data(), false, 1, 1, k);
  uint32_t out = 0;
  kernel::Environment environment;
  environment.semantics = Semantics::ipu();
  emu::run_product(plan, {1, 1, &schedule, &operands, &out}, environment);
  return out;
}

// Swamping: with a rounding after every product a sum of ones stops at 2048, after every 16 at 32768.
TEST(Product, SumsOfOnes) {
  for (const InstructionSet isa : usable_sets()) {
    EXPECT_EQ(ones(4096, 1, PartialsType::kHalf, kFp16, isa), 0x6800u);    // 2048
    EXPECT_EQ(ones(4096, 16, PartialsType::kHalf, kFp16, isa), 0x6C00u);   // 4096
    EXPECT_EQ(ones(40000, 16, PartialsType::kHalf, kFp16, isa), 0x7800u);  // 32768
    EXPECT_EQ(ones(40000, 16, PartialsType::kFloat, kFp32, isa), 0x471C4000u);
  }
}

/// Operands and places as a convolution has them: rows anywhere in the output, in an order of their own.
class ScatteredOperands final : public emu::ProductOperands {
 public:
  ScatteredOperands(std::vector<float> a, std::vector<float> b, std::vector<uint64_t> places, size_t k, size_t n)
      : a_(std::move(a)), b_(std::move(b)), places_(std::move(places)), k_(k), n_(n) {}
  void a_rows(size_t row0, size_t rows, size_t k0, size_t k1, float* to, size_t stride) const override {
    for (size_t i = 0; i < rows; ++i) std::copy_n(&a_[(row0 + i) * k_ + k0], k1 - k0, to + i * stride);
  }
  void b_rows(size_t k0, size_t k1, size_t col0, size_t columns, float* to, size_t stride) const override {
    for (size_t k = k0; k < k1; ++k) std::copy_n(&b_[k * n_ + col0], columns, to + (k - k0) * stride);
  }
  uint64_t row_output(size_t row) const override { return places_[row]; }

 private:
  std::vector<float> a_, b_;
  std::vector<uint64_t> places_;
  size_t k_, n_;
};

// Blocks of uneven lengths, numbers with gaps, partials that close anywhere, rows out of order.
TEST(Product, UnevenBlocksAndScatteredRows) {
  const std::vector<InstructionSet> sets = usable_sets();
  for (uint64_t number = 0; number < 40; ++number) {
    Mixer mix(number + 900);
    ProductCase c = random_product(mix, number);
    const bool each = c.rules.exact_each;
    c.rules.inner = AmpInner::kFmaChain;
    c.m = 1 + mix() % 40, c.n = 1 + mix() % 40;
    emu::Schedule schedule;
    uint32_t p = static_cast<uint32_t>(mix() % 5);
    for (size_t blocks = 1 + mix() % 40; blocks != 0; --blocks) {
      const uint64_t kind = mix() % 20;
      const uint32_t length = each ? 1 : kind == 0 ? 300 : kind < 4 ? 100 : 1 + static_cast<uint32_t>(mix() % 16);
      schedule.add(length, p, c.rules.independent && (blocks == 1 || mix() % 4 == 0));
      p += 1 + static_cast<uint32_t>(mix() % 30);
    }
    const size_t k = schedule.k;
    std::vector<float> a(c.m * k), b(k * c.n);
    for (float& x : a)
      x = std::bit_cast<float>(kernel::widen_operand(c.rules.a, product_code(mix, c.rules.a, c.data), c.semantics));
    for (float& x : b)
      x = std::bit_cast<float>(kernel::widen_operand(c.rules.b, product_code(mix, c.rules.b, c.data), c.semantics));
    std::vector<uint64_t> places;
    for (size_t i = 0; i < c.m; ++i) places.push_back((i * 7 % c.m) * (c.n + 5) + mix() % 5);
    if (c.m % 7 == 0)
      for (size_t i = 0; i < c.m; ++i) places[i] = (c.m - 1 - i) * (c.n + 5);
    kernel::Environment e;
    e.semantics = c.semantics;
    e.random = c.random;
    FpStatus expected_status;
    std::vector<uint32_t> expected(c.m * (c.n + 5), 0x5A5A);
    for (size_t i = 0; i < c.m; ++i)
      for (size_t j = 0; j < c.n; ++j) {
        kernel::ProductChain chain(c.rules, e, places[i] + j);
        size_t t = 0;
        for (const emu::ChainBlock& block : schedule.blocks) {
          for (uint32_t l = 0; l < block.length; ++l, ++t)
            chain.step(std::bit_cast<uint32_t>(a[i * k + t]), std::bit_cast<uint32_t>(b[t * c.n + j]), block.number);
          chain.end_block(block.number);
          if (block.closes_partial) chain.close_partial(block.number);
        }
        const Rounded r = chain.finish();
        expected[places[i] + j] = static_cast<uint32_t>(r.code);
        expected_status.raise(r.flags & (kInvalid | kOverflow), places[i] + j);
      }
    const ScatteredOperands operands(a, b, places, k, c.n);
    for (const InstructionSet isa : sets)
      for (const int threads : {1, 3}) {
        Matrix out(c.rules.output, expected.size());
        for (size_t i = 0; i < expected.size(); ++i) out.set(i, 0x5A5A);
        FpStatus status;
        const emu::ProductPlan plan(c.rules, c.semantics, isa);
        emu::run_product(plan, {c.m, c.n, &schedule, &operands, out.data()}, e, {threads, &status});
        for (size_t i = 0; i < expected.size(); ++i)
          ASSERT_EQ(hex(expected[i]), hex(out.at(i))) << bulk::name(isa) << " " << i << " " << describe(c);
        ASSERT_EQ(show(expected_status), show(status)) << bulk::name(isa) << " " << describe(c);
      }
  }
}

// Infinite operands that are numbers, among others so small that their sums are finite: no NaN and no flag tells of
// them.
TEST(Product, InfinitiesThatCountAsNumbers) {
  Mixer mix(19);
  for (int operand = 1; operand < 4; ++operand)
    for (const PartialsType partials : {PartialsType::kFloat, PartialsType::kHalf})
      for (const size_t block : kBlocks)
        for (const int policy : {0, 1, 2, 7}) {
          ProductCase c;
          c.m = 7, c.n = 37, c.k = 45, c.block = block;
          c.rules.partials = partials;
          if (block == 1) c.rules.inner = AmpInner::kRn32Each;
          c.semantics = product_policy(policy, 8);
          c.semantics.narrow_infinity = static_cast<InfinityOperand>(operand);
          ProductExpectation e(c);
          for (Matrix* matrix : {&e.a, &e.b})
            for (size_t i = 0; i < (matrix == &e.a ? c.m : c.n) * c.k; ++i)
              matrix->set(i, mix() % 32 == 0 ? 0x7C00u | static_cast<uint32_t>(mix() & 0x8000)
                                             : product_code(mix, kFp16, ProductData::kSmall));
          e.compute(c);
          for (const InstructionSet isa : usable_sets())
            for (const bool with_status : {false, true}) ASSERT_TRUE(check_product(c, e, isa, 1, with_status));
        }
}

// Partials that are rounded stochastically, whose random bits lie where a normal number's would.
TEST(Product, RoundedPartialsOfBitsThatLieElsewhere) {
  for (const int bits : {1, 13, 32}) {
    ProductCase c;
    c.m = 3, c.n = 37, c.k = 2100, c.batch_sum = true, c.seed = 3;
    c.data = ProductData::kSmall;
    c.rules.partials = PartialsType::kFloat;
    c.rules.independent = c.rules.round_partials = true;
    c.semantics = Semantics::ieee(RoundingPolicy::stochastic_carry(bits));
    c.semantics.narrow.alignment = RandomAlignment::kAsIfNormal;
    EXPECT_TRUE(check_everywhere(c)) << bits;
  }
}

TEST(Product, NothingToAdd) {
  ProductCase c;
  c.m = 3, c.n = 5, c.k = 0;
  for (const FloatFormat& output : {kFp16, kFp32}) {
    c.rules.output = output;
    const ProductExpectation e(c);
    EXPECT_TRUE(check_product(c, e, InstructionSet::kAuto, 1));
  }
}

// Slabs: B does not fit the packing buffer, so that chains wait in memory meanwhile.
// tests: N105
TEST(Product, ManySlabs) {
  for (const PartialsType partials : {PartialsType::kFloat, PartialsType::kHalf}) {
    ProductCase c;
    c.m = 1, c.n = 2600, c.k = 2049;
    c.semantics = product_policy(2, 8);
    c.rules.partials = partials;
    c.data = ProductData::kOrdinary;
    const ProductExpectation e(c);
    for (const int threads : {1, 3}) EXPECT_TRUE(check_product(c, e, InstructionSet::kAuto, threads));
  }
}

}  // namespace
}  // namespace softamp::test
