// Philox against Random123's known answers, and the address layout of RandomBits.
#include "softamp/numerics/random.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

namespace softamp {
namespace {

constexpr uint32_t kOnes = 0xFFFFFFFFu;

struct KnownAnswer {
  int rounds;
  RandomBlock counter;
  PhiloxKey key;
  RandomBlock output;
};

// Random123, tests/kat_vectors.
// clang-format off
constexpr KnownAnswer kKnownAnswers[] = {
    {10, {{0, 0, 0, 0}}, {{0, 0}}, {{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}}},
    {10, {{kOnes, kOnes, kOnes, kOnes}}, {{kOnes, kOnes}}, {{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}}},
    {10, {{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}}, {{0xA4093822, 0x299F31D0}},
     {{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}}},
    {7, {{0, 0, 0, 0}}, {{0, 0}}, {{0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48}}},
    {7, {{kOnes, kOnes, kOnes, kOnes}}, {{kOnes, kOnes}}, {{0x5207DDC2, 0x45165E59, 0x4D8EE751, 0x8C52F662}}},
    {7, {{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}}, {{0xA4093822, 0x299F31D0}},
     {{0x4DFCCABA, 0x190A87F0, 0xC47362BA, 0xB6B5242A}}},
};
// clang-format on

// tests: N340
TEST(Philox, KnownAnswers) {
  for (const KnownAnswer& k : kKnownAnswers)
    EXPECT_EQ(philox4x32(k.counter, k.key, k.rounds), k.output)
        << k.rounds << " rounds, counter word 0 " << k.counter.word[0];
}

TEST(Philox, SeveralCountersAtOnceAreEachAlone) {
  for (const KnownAnswer& k : kKnownAnswers) {
    uint32_t word[4][3];
    for (int w = 0; w < 4; ++w)
      for (uint32_t i = 0; i < 3; ++i) word[w][i] = k.counter.word[w] + (w == 3 ? i : 0);
    philox4x32(word, k.key, k.rounds);
    for (uint32_t i = 0; i < 3; ++i) {
      RandomBlock counter = k.counter;
      counter.word[3] += i;
      EXPECT_EQ((RandomBlock{{word[0][i], word[1][i], word[2][i], word[3][i]}}), philox4x32(counter, k.key, k.rounds));
    }
  }
}

TEST(Philox, TenRoundsByDefault) {
  EXPECT_EQ(philox4x32(kKnownAnswers[2].counter, kKnownAnswers[2].key), kKnownAnswers[2].output);
  EXPECT_EQ(RandomBits{}.block(0, 0, 0), kKnownAnswers[0].output);
}

// A constant expression gives the same bits as a run.
TEST(Philox, ConstantExpression) {
  constexpr RandomBlock kBlock = philox4x32({{0, 0, 0, 0}}, {{0, 0}});
  EXPECT_EQ(kBlock, kKnownAnswers[0].output);
  constexpr uint32_t kBits = RandomBits{42}.bits(1, 7, 3, 16);
  EXPECT_EQ(kBits, 0xDEB2u);
}

// tests: N71, N342
TEST(RandomBits, LayoutGolden) {
  const RandomBits random{42};
  EXPECT_EQ(random.block(1, 7, 0), (RandomBlock{{0x8821A2A1, 0xDEB27414, 0xE01ED51E, 0x44D5AC84}}));
  constexpr uint32_t kLanes[8] = {0xA2A1, 0x8821, 0x7414, 0xDEB2, 0xD51E, 0xE01E, 0xAC84, 0x44D5};
  for (uint32_t lane = 0; lane < 8; ++lane) EXPECT_EQ(random.bits(1, 7, lane, 16), kLanes[lane]) << lane;

  const RandomBits wide{0x123456789ABCDEF0u};
  const RandomBlock far_block{{0x444B1A37, 0x683E6366, 0x805C36E1, 0x27A7E72A}};
  EXPECT_EQ(wide.block(1, 7, 0x100000005u), far_block);
  for (uint32_t lane = 0; lane < 4; ++lane)
    EXPECT_EQ(wide.bits(1, 7, (uint64_t{0x100000005u} << 2) + lane, 32), far_block.word[lane]) << lane;
  EXPECT_EQ(wide.bits(1, 7, (uint64_t{0x100000005u} << 3) + 5, 16), 0x805Cu);
}

TEST(RandomBits, CounterWords) {
  const RandomBits random{0x1122334455667788u, 10, 0xAB};
  EXPECT_EQ(random.key().word[0], 0x55667788u);
  EXPECT_EQ(random.key().word[1], 0x11223344u);
  EXPECT_EQ(random.counter(0xDEADBEEF, 0xCDEF01, 0x0123456789ABCDEFu),
            (RandomBlock{{0x89ABCDEF, 0x01234567, 0xABCDEF01, 0xDEADBEEF}}));
}

TEST(RandomBits, WidthTakesTheLowBitsOfItsLane) {
  const RandomBits random{2024};
  for (uint64_t index : {uint64_t{0}, uint64_t{13}, uint64_t{1} << 40 | 6}) {
    const uint32_t narrow = random.bits(5, 9, index, 16), wide = random.bits(5, 9, index, 32);
    for (int r = 1; r <= 32; ++r) {
      const uint64_t expected = (r <= 16 ? narrow : wide) % (uint64_t{1} << r);
      EXPECT_EQ(random.bits(5, 9, index, r), expected) << "r " << r << " index " << index;
    }
    EXPECT_EQ(narrow, random.block(5, 9, index / 8).lane16(index % 8));
    EXPECT_EQ(wide, random.block(5, 9, index / 4).word[index % 4]);
  }
}

TEST(RandomBits, RoundsAreUsed) {
  RandomBits random{0, 7};
  EXPECT_EQ(random.block(0, 0, 0), kKnownAnswers[3].output);
}

// tests: N72
TEST(RandomBits, ProductIndexKeepsTheLaneThroughTheChain) {
  const RandomBits random{42};
  const uint64_t output = (uint64_t{1} << 34) + 13;
  for (uint64_t p : {uint64_t{0}, uint64_t{1}, uint64_t{77}, (uint64_t{1} << 29) - 1}) {
    const uint64_t index = product_index(p, output);
    EXPECT_EQ(index % 8, output % 8);
    const RandomBlock counter = random.counter(0, 3, index >> 3);
    EXPECT_EQ(counter.word[1], p) << "the accumulation block is counter word 1";
    EXPECT_EQ(counter.word[0], output >> 3);
  }
}

// N78: distinct addresses are distinct counters, hence (Philox is a bijection under one key) distinct blocks.
// tests: N78, N383
TEST(RandomBits, NoAddressIsUsedTwice) {
  const std::vector<uint32_t> steps = {0, 1, 2, 255, 256, 1u << 24, kOnes};
  const std::vector<uint32_t> operations = {0, 1, 2, 255, 1u << 16, (1u << 24) - 1};
  const std::vector<uint32_t> replicas = {0, 1, 2, 128, 255};
  std::vector<uint64_t> blocks = {uint64_t{1} << 24, uint64_t{1} << 32, uint64_t{1} << 33, ~uint64_t{0}};
  for (uint64_t b = 0; b < 16; ++b) blocks.push_back(b);

  std::set<std::array<uint32_t, 4>> counters, outputs;
  size_t addresses = 0;
  for (uint32_t step : steps)
    for (uint32_t operation : operations)
      for (uint32_t replica : replicas)
        for (uint64_t block : blocks) {
          const RandomBits random{7, 10, replica};
          const RandomBlock c = random.counter(step, operation, block), o = random.block(step, operation, block);
          counters.insert({c.word[0], c.word[1], c.word[2], c.word[3]});
          outputs.insert({o.word[0], o.word[1], o.word[2], o.word[3]});
          ++addresses;
        }
  EXPECT_EQ(counters.size(), addresses);
  EXPECT_EQ(outputs.size(), addresses);
}

// Consecutive indices fill a block before the next begins: 8 lanes of 16 bits and 4 of 32, none read twice.
TEST(RandomBits, EveryBitOfABlockServesOneIndex) {
  const RandomBits random{99};
  for (uint64_t block = 0; block < 64; ++block) {
    RandomBlock from16{}, from32{};
    for (uint32_t lane = 0; lane < 8; ++lane)
      from16.word[lane / 2] |= random.bits(3, 4, block * 8 + lane, 16) << (lane % 2 * 16);
    for (uint32_t lane = 0; lane < 4; ++lane) from32.word[lane] = random.bits(3, 4, block * 4 + lane, 32);
    EXPECT_EQ(from16, random.block(3, 4, block));
    EXPECT_EQ(from32, random.block(3, 4, block));
  }
}

#ifndef NDEBUG
TEST(RandomBitsDeathTest, AddressOutOfRange) {
  const RandomBits random{1};
  EXPECT_DEATH((void)random.bits(0, 1u << 24, 0, 13), "operation < kOperations");
  EXPECT_DEATH((void)random.bits(0, 0, 0, 0), "r >= 1");
  EXPECT_DEATH((void)random.bits(0, 0, 0, 33), "r <= 32");
  EXPECT_DEATH((void)RandomBits({1, 10, 256}).bits(0, 0, 0, 13), "replica < kReplicas");
  EXPECT_DEATH((void)product_index(uint64_t{1} << 29, 0), "accumulation_block");
  EXPECT_DEATH((void)product_index(0, uint64_t{1} << 35), "output");
}
#endif

}  // namespace
}  // namespace softamp
