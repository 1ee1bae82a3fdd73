// Stochastic roundings in hardware order: the vectors and counts that were computed from N12, N74 and N76 by two
// independent programs. None was read from hardware.
#include <gtest/gtest.h>

#include <vector>

#include "softamp/numerics/operations.h"
#include "softamp/numerics/tile_random.h"

namespace softamp {
namespace {

constexpr FloatingPointBehaviour kStochastic{false, false, false, true, false};
constexpr Semantics kIpu = Semantics::ipu(kStochastic, {}, RandomEngine::kXoroshiro128aox);

struct RoundedGroup {
  Exact exact[4];
  uint32_t random[4];
  uint64_t code[4];
  uint8_t flags[4];
};

constexpr RoundedGroup kRoundedGroups[] = {
    {{{false, -11, 2049}, {false, -11, 2049}, {false, -11, 2049}, {false, -11, 2049}},
     {0x8239, 0x164F, 0x5CA6, 0x697C},
     {0x3C01, 0x3C00, 0x3C00, 0x3C00},
     {}},
    {{{false, 0, 65520}, {false, 0, 65520}, {true, 0, 65520}, {false, 0, 65504}},
     {0xD820, 0x1EB3, 0xF58C, 0x9F53},
     {0x7BFF, 0x7BFF, 0xFBFF, 0x7BFF},
     {kOverflow, 0, kOverflow, 0}},
    {{{false, -25, 1}, {true, -25, 1}, {false, -26, 3}, {false, -24, 1}},
     {0x1450, 0x2883, 0xE9DF, 0x9569},
     {0x0000, 0x8000, 0x0001, 0x0001},
     {}},
    {{{false, -12, 4099}, {true, -12, 4097}, {false, 0, 2049}, {false, -25, 0xAAAAAB}},  // the last is (float)1/3
     {0x6582, 0x7D05, 0xE028, 0x2050},
     {0x3C01, 0xBC00, 0x6801, 0x3555},
     {}},
};

// tests: N348
TEST(TileRandomVectors, FourGroupsOfOneWorker) {
  Xoroshiro128aox worker = Xoroshiro128aox::from_seed_register(0xDEADBEEF);
  const TileWork work{16, true};
  for (const RoundedGroup& row : kRoundedGroups) {
    const LaneBits bits = work.draw(worker, 4);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(bits.lane[i], row.random[i]);
      const Rounded y = round_and_pack(kFp16, row.exact[i], kIpu.narrow, bits.lane[i]);
      EXPECT_EQ(y.code, row.code[i]) << "lane " << i << " of " << row.random[0];
      EXPECT_EQ(y.flags, row.flags[i]) << "lane " << i << " of " << row.random[0];
    }
  }
}

constexpr uint64_t kOne = 0x3C00, kThousandth = 0x1419;

/// The lanes among 4096 where 1 + half(1e-3) went up, to 1.001953.
std::vector<uint64_t> lanes_gone_up(TileRandom random, WorkSplit split) {
  TileWork work{4096, true};
  work.switches.work_split = split;
  std::vector<uint64_t> up;
  for (uint64_t g = 0; g < work.groups(); ++g) {
    const LaneBits bits = random.draw(work, g);
    for (uint32_t i = 0; i < 4; ++i) {
      const uint64_t code = fp::add(kFp16, kOne, kThousandth, kIpu, bits.lane[i]).code;
      EXPECT_TRUE(code == 0x3C01 || code == 0x3C02) << code;
      if (code == 0x3C02) up.push_back(4 * g + i);
    }
  }
  return up;
}

// tests: N349
TEST(TileRandomVectors, OnePlusAThousandthInOneStream) {
  const auto count = [](Xoroshiro128aox g) { return lanes_gone_up({{g}}, WorkSplit::kOneStream).size(); };
  EXPECT_EQ(count(Xoroshiro128aox::from_seed_register(1)), 111u);
  EXPECT_EQ(count(Xoroshiro128aox::from_seed_register(2)), 81u);
  EXPECT_EQ(count(Xoroshiro128aox::from_seed_register(0xDEADBEEF)), 93u);
  EXPECT_EQ(count(Xoroshiro128aox::for_worker(42, 0, 0, 0)), 97u);
}

// tests: N349
TEST(TileRandomVectors, OnePlusAThousandthOnATile) {
  std::vector<uint64_t> up = lanes_gone_up(TileRandom::from_seed(42), WorkSplit::kGrains);
  EXPECT_EQ(up.size(), 98u);
  up.resize(6);
  EXPECT_EQ(up, (std::vector<uint64_t>{5, 27, 34, 56, 73, 80}));
}

// tests: N351
TEST(TileRandomVectors, TenThousandAdditionsInFourLanes) {
  const uint64_t addend = fp::from_double(kFp16, 0.0001);
  const TileWork work{4, true};
  const auto expect_sums = [&](Xoroshiro128aox g, std::vector<uint64_t> expected) {
    std::vector<uint64_t> sum(4, 0);
    for (int addition = 0; addition < 10000; ++addition) {
      const LaneBits bits = work.draw(g, 4);
      for (size_t i = 0; i < 4; ++i) sum[i] = fp::add(kFp16, sum[i], addend, kIpu, bits.lane[i]).code;
    }
    EXPECT_EQ(sum, expected);
    return g;
  };
  expect_sums(Xoroshiro128aox::from_seed_register(1), {0x3BF3, 0x3C1B, 0x3BEA, 0x3BEE});
  expect_sums(Xoroshiro128aox::from_seed_register(0xDEADBEEF), {0x3C0B, 0x3C21, 0x3BE4, 0x3BD7});
  const Xoroshiro128aox after = expect_sums(Xoroshiro128aox::for_worker(42, 0, 0, 0), {0x3BF0, 0x3C01, 0x3C00, 0x3C12});
  EXPECT_EQ(after, (Xoroshiro128aox{0x7684B1EB8D355478, 0xA570878CFD6794E0}));
}

}  // namespace
}  // namespace softamp
