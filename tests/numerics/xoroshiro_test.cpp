// xoroshiro128aox: outputs, states, registers, seeding, and jumps against a bit-matrix power.
#include "softamp/numerics/xoroshiro.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "softamp/numerics/random.h"

namespace softamp {
namespace {

using detail::uint128_t;

constexpr Xoroshiro128aox jumped(Xoroshiro128aox g, uint128_t n) {
  g.jump(n);
  return g;
}

struct Outputs {
  Xoroshiro128aox start;
  std::vector<uint64_t> expected;
};

// Computed from the definition by two independent programs; none was read from hardware.
const Outputs kOutputs[] = {
    {{1, 2},
     {0x0000000000000003, 0x008000300000C003, 0x013840E038000363, 0xA080FED030C4C36E, 0x1AC0684F18388404,
      0x0310283837B21945}},
    {{1, 0},
     {0x0000000000000001, 0x0080001000004001, 0x0018406018000121, 0x8080563010444126, 0x19D06C0B1818C401,
      0x01D8201235894067}},
    {{0x0123456789ABCDEF, 0xFEDCBA9876543210},
     {0xFFFFFFFFFFFFFFFF, 0xF77C0992A3A0E991, 0x92C55B7BDF804D24, 0x782CE0EFF0FA17B8, 0x824E53B78E98D16E,
      0x3AEA14047FFA24AE}},
    {Xoroshiro128aox::from_seed_register(0xDEADBEEF),
     {0x697C5CA6164F8239, 0x9F53F58C1EB3D820, 0x9569E9DF28831450, 0x2050E0287D056582}},
    {Xoroshiro128aox::from_seed_register(1),
     {0xFFFFBFFE00003FF9, 0x0F023FE1F0F3BFDE, 0x2FA045DDD037BDD8, 0xE3B45516F2A3E1E6}},
};

// tests: N74, N347
TEST(Xoroshiro128aox, Outputs) {
  for (const Outputs& row : kOutputs) {
    Xoroshiro128aox g = row.start;
    for (size_t i = 0; i < row.expected.size(); ++i)
      EXPECT_EQ(g.urand64(), row.expected[i]) << "start " << row.start.s0 << ", draw " << i;
  }
}

// tests: N347
TEST(Xoroshiro128aox, States) {
  Xoroshiro128aox g{1, 2};
  g.discard(6);
  EXPECT_EQ(g, (Xoroshiro128aox{0x20A4B7D02CDE0540, 0x78380A203682834C}));
  g.discard(994);
  EXPECT_EQ(g, (Xoroshiro128aox{0x568C1293619D77EF, 0xADC1D98BF03FF071}));
  for (int n = 1000; n < 1000000; ++n) g();
  EXPECT_EQ(g, (Xoroshiro128aox{0xCA560FFD423AE2A5, 0xCB6D72C8691DA282}));
}

// tests: N347
TEST(Xoroshiro128aox, JumpToTheGoldenStates) {
  EXPECT_EQ(jumped({1, 2}, 1000), (Xoroshiro128aox{0x568C1293619D77EF, 0xADC1D98BF03FF071}));
  EXPECT_EQ(jumped({1, 2}, 1000000), (Xoroshiro128aox{0xCA560FFD423AE2A5, 0xCB6D72C8691DA282}));
  EXPECT_EQ(jumped({1, 2}, uint64_t{1} << 32), (Xoroshiro128aox{0x6F7F00C49DA17E45, 0xBE88EE744F953B7C}));
}

TEST(Xoroshiro128aox, JumpIsAConstantExpression) {
  constexpr Xoroshiro128aox kAfter = jumped({1, 2}, 1000);
  EXPECT_EQ(kAfter, (Xoroshiro128aox{0x568C1293619D77EF, 0xADC1D98BF03FF071}));
}

TEST(Xoroshiro128aox, JumpEqualsDrawing) {
  Xoroshiro128aox drawn{0x0123456789ABCDEF, 0xFEDCBA9876543210};
  const Xoroshiro128aox start = drawn;
  for (uint64_t n = 0; n < 300; ++n) {
    EXPECT_EQ(jumped(start, n), drawn) << n;
    drawn();
  }
}

TEST(Xoroshiro128aox, DiscardIsOneFunctionAcrossItsThreshold) {
  Xoroshiro128aox drawn{3, 4};
  uint64_t done = 0;
  for (uint64_t n : {uint64_t{4095}, uint64_t{4096}, uint64_t{4097}, uint64_t{10000}}) {
    for (; done < n; ++done) drawn();
    Xoroshiro128aox discarded{3, 4};
    discarded.discard(n);
    EXPECT_EQ(discarded, drawn) << n;
  }
}

/// The 128 x 128 matrix of a linear map on states, by columns: the image of each state of a single bit.
struct BitMatrix {
  std::array<Xoroshiro128aox, 128> column;

  static Xoroshiro128aox unit(int bit) {
    return bit < 64 ? Xoroshiro128aox{uint64_t{1} << bit, 0} : Xoroshiro128aox{0, uint64_t{1} << (bit - 64)};
  }
  static BitMatrix one_step() {
    BitMatrix m;
    for (int bit = 0; bit < 128; ++bit) {
      m.column[static_cast<size_t>(bit)] = unit(bit);
      m.column[static_cast<size_t>(bit)]();
    }
    return m;
  }
  Xoroshiro128aox times(const Xoroshiro128aox& x) const {
    Xoroshiro128aox sum{0, 0};
    for (size_t bit = 0; bit < 128; ++bit)
      if ((bit < 64 ? x.s0 >> bit : x.s1 >> (bit - 64)) & 1) {
        sum.s0 ^= column[bit].s0;
        sum.s1 ^= column[bit].s1;
      }
    return sum;
  }
  BitMatrix squared() const {
    BitMatrix m;
    for (size_t bit = 0; bit < 128; ++bit) m.column[bit] = times(column[bit]);
    return m;
  }
};

TEST(Xoroshiro128aox, JumpEqualsTheMatrixPower) {
  std::vector<BitMatrix> power_of_two = {BitMatrix::one_step()};
  while (power_of_two.size() < 128) power_of_two.push_back(power_of_two.back().squared());
  PhiloxGenerator numbers;
  for (int trial = 0; trial < 40; ++trial) {
    uint128_t n = 0;
    for (int i = 0; i < 4; ++i) n = n << 32 | numbers();
    n >>= 3 * trial;  // lengths of 128 down to 11 bits
    const Xoroshiro128aox start{numbers() | uint64_t{numbers()} << 32, numbers() | uint64_t{numbers()} << 32};
    Xoroshiro128aox expected = start;
    for (size_t bit = 0; bit < 128; ++bit)
      if (n >> bit & 1) expected = power_of_two[bit].times(expected);
    EXPECT_EQ(jumped(start, n), expected) << "trial " << trial;
  }
}

// The jump of 2^64 steps that xoroshiro128 with the constants 55, 14, 36 was published with (Blackman, Vigna).
TEST(Xoroshiro128aox, JumpPolynomialIsThePublishedOne) {
  EXPECT_TRUE(detail::power_of_x(uint128_t{1} << 64) == (uint128_t{0xD86B048B86AA9922} << 64 | 0xBEAC0467EBA5FACB));
}

// x has order 2^128 - 1: that power is 1, and no power (2^128 - 1) / prime is, for each of its nine primes.
TEST(Xoroshiro128aox, FullPeriod) {
  constexpr uint128_t kPeriod = ~uint128_t{0};
  EXPECT_TRUE(detail::power_of_x(kPeriod) == 1);
  uint128_t product = 1;
  for (uint64_t prime : {uint64_t{3}, uint64_t{5}, uint64_t{17}, uint64_t{257}, uint64_t{641}, uint64_t{65537},
                         uint64_t{274177}, uint64_t{6700417}, uint64_t{67280421310721}}) {
    EXPECT_FALSE(detail::power_of_x(kPeriod / prime) == 1) << prime;
    product *= prime;
  }
  EXPECT_TRUE(product == kPeriod) << "all primes are there";
  const Xoroshiro128aox start{1, 2};
  Xoroshiro128aox ahead = start;
  ahead.discard(12345);
  EXPECT_EQ(jumped(start, kPeriod), start);
  EXPECT_EQ(jumped(ahead, kPeriod - 12345), start) << "backwards";
}

TEST(Xoroshiro128aox, Registers) {
  const Xoroshiro128aox g{0x1111111122222222, 0x3333333344444444};
  EXPECT_EQ(g.registers(), (PrngRegisters{{0x22222222, 0x11111111, 0x44444444, 0x33333333}}));
  EXPECT_EQ(Xoroshiro128aox::from_registers(g.registers()), g);
}

// tests: N75
TEST(Xoroshiro128aox, SeedRegister) {
  EXPECT_EQ(Xoroshiro128aox::from_seed_register(0xDEADBEEF), (Xoroshiro128aox{0x21524110DEADBEEF, 0x48221BD5B7DDE42A}));
  EXPECT_EQ(Xoroshiro128aox::from_seed_register(1), (Xoroshiro128aox{0xFFFFFFFE00000001, 0xFFFFC00000003FFF}));
  EXPECT_EQ(Xoroshiro128aox::from_seed_register(0), Xoroshiro128aox{}) << "the default state";
}

TEST(Xoroshiro128aox, Urand32TakesAHalfOfOneDraw) {
  constexpr uint32_t kLow = 0x164F8239, kHigh = 0x697C5CA6;
  const Xoroshiro128aox start = Xoroshiro128aox::from_seed_register(0xDEADBEEF);
  Xoroshiro128aox one_draw = start;
  one_draw();
  const auto first = [&](auto... half) {
    Xoroshiro128aox g = start;
    const uint32_t word = g.urand32(half...);
    EXPECT_EQ(g, one_draw);
    return word;
  };
  EXPECT_EQ(first(), kLow) << "the default";
  EXPECT_EQ(first(Urand32Half::kLow), kLow);
  EXPECT_EQ(first(Urand32Half::kHigh), kHigh);
  EXPECT_EQ(first(Urand32Half::kXor), kLow ^ kHigh);
}

struct WorkerSeed {
  uint64_t master_seed;
  uint32_t modifier, tile, worker;
  Xoroshiro128aox state;
  uint64_t outputs[3];
};

// clang-format off
constexpr WorkerSeed kWorkerSeeds[] = {
    {42, 0, 0, 0, {0xAB66CCCABEEB1317, 0x3E935F2786A596EC},
     {0x69F82BE22788E9E3, 0xFD828E505A80EF4D, 0x37A61E3B4F130B53}},
    {42, 0, 0, 1, {0xACC4411EB7567128, 0xEAC58A2CB7A68264},
     {0xB599CB09FEECF38F, 0xAFAADDF213148B94, 0xC8CF89E076287525}},
    {42, 0, 0, 5, {0x8D4182DC2A94E6E0, 0x1C77CFA48A0EE8FD},
     {0xA8B142609C81CDDD, 0x7B4DA330586CCBD8, 0xB87342E7DD1C8A58}},
    {42, 0, 1, 0, {0x6086680719D8CB31, 0xE3654110CFDB151D},
     {0x43FAA917E1F3D84B, 0x3150726BD036C283, 0x05C3E4547712775B}},
    {uint64_t{1} << 32 | 42, 7, 1471, 5, {0xD5F169478DFE5796, 0x4A7807AC6415176E},
     {0x1E6968F3F1933EE5, 0xAD8D5BAB12EAAE01, 0xC8D2BE1422A95178}},
};
// clang-format on

// tests: N76, N350
TEST(Xoroshiro128aox, WorkerSeeds) {
  for (const WorkerSeed& row : kWorkerSeeds) {
    Xoroshiro128aox g = Xoroshiro128aox::for_worker(row.master_seed, row.modifier, row.tile, row.worker);
    EXPECT_EQ(g, row.state) << "tile " << row.tile << " worker " << row.worker;
    for (uint64_t output : row.outputs) EXPECT_EQ(g(), output) << "tile " << row.tile << " worker " << row.worker;
  }
}

TEST(Xoroshiro128aox, EveryWorkerOfAnIpuHasItsOwnSeed) {
  constexpr uint32_t kTiles = 1472;
  std::set<std::array<uint32_t, 4>> seeds;
  for (uint32_t tile = 0; tile < kTiles; ++tile)
    for (uint32_t worker = 0; worker < Xoroshiro128aox::kWorkers; ++worker) {
      const PrngRegisters r = Xoroshiro128aox::for_worker(42, 0, tile, worker).registers();
      seeds.insert({r.word[0], r.word[1], r.word[2], r.word[3]});
    }
  EXPECT_EQ(seeds.size(), size_t{kTiles} * 6);
}

#ifndef NDEBUG
TEST(Xoroshiro128aoxDeathTest, WorkerOutOfRange) {
  EXPECT_DEATH((void)Xoroshiro128aox::for_worker(0, 0, 0, 6), "worker < kWorkers");
  EXPECT_DEATH((void)Xoroshiro128aox::for_worker(0, 0, 1u << 28, 0), "tile <");
}
#endif

}  // namespace
}  // namespace softamp
