// Statistics of the addressed bits and of the workers' streams, with bounds derived, not chosen.
//
// Hypothesis: numbers at distinct addresses are independent and uniform. Each statistic fails with probability at most
// 2 exp(-t) by one of these bounds (the inequalities: Boucheron, Lugosi, Massart, "Concentration Inequalities", chapter
// 2):
//   Hoeffding   n fair bits:               |ones - n/2| <= sqrt(n t / 2)
//   Bernstein   n centred terms, |x| <= m, variance v:      |sum| <= sqrt(2 n v t) + m t / 3
//   chi-square  of 255 degrees of freedom: its quantiles at exp(-t) from either end
// The first two are exact; Pearson's statistic is taken as chi-square, with 256 counts expected in each bin. A test
// with m statistics takes t = ln(2 m / 1e-11): it fails for one choice of the seed in 1e11. Fourteen tests: one in 7e9.
// The seeds are fixed, so the tests are deterministic: what passes once passes always.
#include <gtest/gtest.h>
#include <boost/math/distributions/chi_squared.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "softamp/numerics/random.h"
#include "softamp/numerics/round.h"
#include "softamp/numerics/tile_random.h"

namespace softamp {
namespace {

constexpr uint64_t kBlocks = 1u << 16;

double exponent_for(double statistics) { return std::log(2 * statistics / 1e-11); }

void expect_fair(uint64_t ones, uint64_t count, double t, const char* what, int which = 0) {
  const double n = static_cast<double>(count);
  EXPECT_LE(std::abs(static_cast<double>(ones) - n / 2), std::sqrt(n * t / 2)) << what << ' ' << which;
}

void expect_uniform(const std::array<uint32_t, 256>& counts, double t, const char* what, uint32_t which) {
  double total = 0, statistic = 0;
  for (uint32_t c : counts) total += c;
  for (uint32_t c : counts) statistic += (c - total / 256) * (c - total / 256) / (total / 256);
  const boost::math::chi_squared distribution(255);
  EXPECT_GE(statistic, quantile(distribution, std::exp(-t))) << what << ' ' << which;
  EXPECT_LE(statistic, quantile(complement(distribution, std::exp(-t)))) << what << ' ' << which;
}

/// Pairs of 16-bit numbers that should be independent: their bits agree half of the time, and their centred values do
/// not correlate. Two statistics.
class PairStatistics {
 public:
  void add(uint32_t a, uint32_t b) {
    differing_ += static_cast<uint64_t>(std::popcount(a ^ b));
    sum_ += centred(a) * centred(b);
    ++pairs_;
  }
  void expect_independent(double t, const char* what, int which = 0) const {
    expect_fair(differing_, 16 * pairs_, t, what, which);
    const double variance = 1.0 / 144, greatest = 0.25, n = static_cast<double>(pairs_);
    EXPECT_LE(std::abs(sum_), std::sqrt(2 * n * variance * t) + greatest * t / 3) << what << ' ' << which;
  }

 private:
  static double centred(uint32_t lane) { return (lane + 0.5) / 65536 - 0.5; }
  uint64_t differing_ = 0, pairs_ = 0;
  double sum_ = 0;
};

class AddressedBits : public ::testing::TestWithParam<int> {
 protected:
  const RandomBits random_{2026, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Rounds, AddressedBits, ::testing::Values(10, 7));

TEST_P(AddressedBits, EveryBitOfEveryLaneIsFair) {
  const double t = exponent_for(128);
  uint64_t ones[128] = {};
  for (uint64_t block = 0; block < kBlocks; ++block) {
    const RandomBlock b = random_.block(0, 0, block);
    for (uint32_t bit = 0; bit < 128; ++bit) ones[bit] += b.word[bit / 32] >> (bit % 32) & 1;
  }
  for (int bit = 0; bit < 128; ++bit) expect_fair(ones[bit], kBlocks, t, "bit", bit);
}

TEST_P(AddressedBits, EveryLaneIsUniform) {
  const double t = exponent_for(16);
  std::array<uint32_t, 256> high[8] = {}, low[8] = {};
  for (uint64_t index = 0; index < 8 * kBlocks; ++index) {
    const uint32_t lane = random_.bits(0, 1, index, 16);
    ++high[index % 8][lane >> 8];
    ++low[index % 8][lane & 255];
  }
  for (uint32_t lane = 0; lane < 8; ++lane) {
    expect_uniform(high[lane], t, "high byte of lane", lane);
    expect_uniform(low[lane], t, "low byte of lane", lane);
  }
}

// Lane j with lane j + 1 of its block, the last with the first of the next block.
TEST_P(AddressedBits, NeighbouringIndicesAreIndependent) {
  const double t = exponent_for(8 * 3);
  PairStatistics pairs[8];
  std::array<uint32_t, 256> joint[8] = {};
  for (uint64_t index = 0; index < 8 * kBlocks; ++index) {
    const uint32_t a = random_.bits(0, 2, index, 16), b = random_.bits(0, 2, index + 1, 16);
    pairs[index % 8].add(a, b);
    ++joint[index % 8][a >> 12 << 4 | b >> 12];
  }
  for (uint32_t lane = 0; lane < 8; ++lane) {
    pairs[lane].expect_independent(t, "lane", static_cast<int>(lane));
    expect_uniform(joint[lane], t, "lane and its neighbour", lane);
  }
}

// The same index in runs that differ in one coordinate of the address by one.
TEST_P(AddressedBits, NeighbouringAddressesAreIndependent) {
  const double t = exponent_for(5 * 2);
  RandomBits other_replica = random_, other_seed = random_;
  other_replica.replica = 1;
  other_seed.seed += 1;
  PairStatistics step, operation, replica, seed, accumulation;
  for (uint64_t index = 0; index < kBlocks; ++index) {
    const uint32_t here = random_.bits(5, 3, index, 16);
    step.add(here, random_.bits(6, 3, index, 16));
    operation.add(here, random_.bits(5, 4, index, 16));
    replica.add(here, other_replica.bits(5, 3, index, 16));
    seed.add(here, other_seed.bits(5, 3, index, 16));
    accumulation.add(here, random_.bits(5, 3, product_index(1, index), 16));
  }
  step.expect_independent(t, "step");
  operation.expect_independent(t, "operation");
  replica.expect_independent(t, "replica");
  seed.expect_independent(t, "seed");
  accumulation.expect_independent(t, "accumulation block");
}

// A running sum reads one index at many steps: the sequence over steps must be as good as that over indices.
TEST_P(AddressedBits, StepsOfOneIndexAreIndependent) {
  const double t = exponent_for(16 + 2 + 1);
  uint64_t ones[16] = {};
  PairStatistics pairs;
  std::array<uint32_t, 256> counts = {};
  for (uint32_t step = 0; step < kBlocks; step += 2) {
    const uint32_t a = random_.bits(step, 0, 3, 16), b = random_.bits(step + 1, 0, 3, 16);
    pairs.add(a, b);
    for (uint32_t lane : {a, b}) {
      ++counts[lane >> 8];
      for (int bit = 0; bit < 16; ++bit) ones[bit] += lane >> bit & 1;
    }
  }
  for (int bit = 0; bit < 16; ++bit) expect_fair(ones[bit], kBlocks, t, "bit", bit);
  pairs.expect_independent(t, "consecutive steps");
  expect_uniform(counts, t, "high byte over steps", 0);
}

// 1 + d quanta goes up floor(d 2^r) times in 2^r: the sum of n such events, each with variance p (1 - p).
// tests: G11
TEST_P(AddressedBits, RoundUpFrequencyIsTheFormulas) {
  // TUTORIAL G11
  constexpr int kFractionBits = 40;
  constexpr uint64_t kCount = 1u << 17;
  const std::vector<double> fractions = {0.7, 0.3, 1.0 / 3, 0.5, 0.01, 0.999};
  const std::vector<int> widths = {1, 2, 4, 8, 13, 16, 20, 24, 32};
  const double t = exponent_for(static_cast<double>(fractions.size() * widths.size()));
  uint32_t operation = 10;  // a rounding site of its own for each pair of fraction and width
  for (double d : fractions)
    for (int r : widths) {
      const uint64_t rest = static_cast<uint64_t>(std::ldexp(d, kFractionBits));
      const Exact x{false, -10 - kFractionBits, (uint64_t{1} << (10 + kFractionBits)) + rest};
      const double p = std::ldexp(static_cast<double>(rest >> (kFractionBits - r)), -r);
      const RoundingPolicy policy = RoundingPolicy::stochastic_carry(r);
      uint64_t up = 0;
      for (uint64_t index = 0; index < kCount; ++index)
        up += round_and_pack(kFp16, x, policy, random_.bits(0, operation, index, r)).code == 0x3C01;
      const double n = static_cast<double>(kCount);
      if (p == 0)
        EXPECT_EQ(up, 0u) << "d " << d << " r " << r;
      else
        EXPECT_LE(std::abs(static_cast<double>(up) - n * p), std::sqrt(2 * n * p * (1 - p) * t) + t / 3)
            << "d " << d << " r " << r;
      ++operation;
    }
}

// The workers' seeds differ in few bits: their streams must not.
TEST(WorkerStreams, EveryBitIsFair) {
  const double t = exponent_for(6 * 64);
  TileRandom random = TileRandom::from_seed(42);
  for (int w = 0; w < 6; ++w) {
    uint64_t ones[64] = {};
    for (uint64_t n = 0; n < kBlocks; ++n) {
      const uint64_t draw = random.worker[w]();
      for (int bit = 0; bit < 64; ++bit) ones[bit] += draw >> bit & 1;
    }
    for (int bit = 0; bit < 64; ++bit) expect_fair(ones[bit], kBlocks, t, "worker and bit", 100 * w + bit);
  }
}

TEST(WorkerStreams, WorkersAndTilesAreIndependent) {
  const double t = exponent_for((6 + 6) * 4 * 2);
  TileRandom here = TileRandom::from_seed(42, 0, 0), there = TileRandom::from_seed(42, 0, 1);
  PairStatistics workers[6][4], tiles[6][4];
  for (uint64_t n = 0; n < kBlocks; ++n) {
    uint64_t draws[6], others[6];
    for (int w = 0; w < 6; ++w) {
      draws[w] = here.worker[w]();
      others[w] = there.worker[w]();
    }
    for (int w = 0; w < 6; ++w)
      for (int lane = 0; lane < 4; ++lane) {
        const auto part = [&](uint64_t draw) { return static_cast<uint32_t>(draw >> (16 * lane) & 0xFFFF); };
        workers[w][lane].add(part(draws[w]), part(draws[(w + 1) % 6]));
        tiles[w][lane].add(part(draws[w]), part(others[w]));
      }
  }
  for (int w = 0; w < 6; ++w)
    for (int lane = 0; lane < 4; ++lane) {
      workers[w][lane].expect_independent(t, "worker and lane", 10 * w + lane);
      tiles[w][lane].expect_independent(t, "tile, worker and lane", 10 * w + lane);
    }
}

}  // namespace
}  // namespace softamp
