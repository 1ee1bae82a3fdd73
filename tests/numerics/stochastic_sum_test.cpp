// End to end: 10,000 x 0.0001 in fp16 with stochastic rounding, 2,000 replicas, against the exact distribution.
// Seed and addresses are fixed, so the outcome is one number for ever; the bounds say how unlikely a right program's
// fixed numbers would be to lie outside them.
#include <gtest/gtest.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstdio>
#include <vector>

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "tests/oracle/markov_sum.h"

namespace {

using namespace softamp;

constexpr uint32_t kAddend = 0x068E;  // 0.0001 in fp16: 0x1.a38p-14
constexpr int kAdditions = 10000, kBits = 13;
constexpr uint64_t kReplicas = 2000;

const oracle::MarkovSum& chain() {
  static const oracle::MarkovSum c = [] {
    oracle::MarkovSum sum(kAddend, kBits);
    sum.add(kAdditions);
    return sum;
  }();
  return c;
}

/// Final codes of the replicas: index = replica, step = addition.
const std::vector<uint64_t>& replicas() {
  static const std::vector<uint64_t> codes = [] {
    constexpr Semantics s = Semantics::ieee(RoundingPolicy::stochastic_carry(kBits));
    const RandomBits random;
    std::vector<uint64_t> sums(kReplicas, 0);
    for (uint32_t step = 0; step < kAdditions; ++step)
      for (uint64_t block = 0; block < kReplicas / 8; ++block) {
        const RandomBlock words = random.block(step, 0, block);
        for (uint32_t lane = 0; lane < 8; ++lane) {
          uint64_t& sum = sums[block * 8 + lane];
          sum = fp::add(kFp16, sum, kAddend, s, words.lane16(lane)).code;
        }
      }
    return sums;
  }();
  return codes;
}

// tests: G13
TEST(StochasticSum, ChainIsADistributionWithTheKnownMoments) {
  // TUTORIAL G13: what one of the twenty sums is expected to be, and how far it scatters
  EXPECT_NEAR(chain().total(), 1, 1e-11);  // the chain's error bound, 4.5e-12, and the summation of it
  // The sum is 1.00016594 before rounding. Carry loses less than 2^-13 quanta an addition, a quantum being at most
  // 2^-10 (2^-11 below 1): no more than 10,000 2^-23 in all.
  EXPECT_LE(chain().mean(), 1.00016594);
  EXPECT_GE(chain().mean(), 1.00016594 - kAdditions * 0x1p-23);
  // The 20,000 runs of N351: mean 1.00017 (printed to 5 digits), sd 0.0154 to 3 digits and sampled, whose
  // standard errors are sd / sqrt(20000) = 1.1e-4 and sd / sqrt(40000) = 7.7e-5; six of each.
  EXPECT_NEAR(chain().mean(), 1.00017, 6 * 1.1e-4 + 5e-6);
  EXPECT_NEAR(std::sqrt(chain().central_moment(2)), 0.0154, 6 * 7.7e-5 + 5e-5);
  RecordProperty("mean", std::to_string(chain().mean()));
  RecordProperty("sd", std::to_string(std::sqrt(chain().central_moment(2))));
  std::printf("exact: mean %.9f sd %.9f\n", chain().mean(), std::sqrt(chain().central_moment(2)));
}

// tests: G13, N351
TEST(StochasticSum, MeanOfTheReplicas) {
  // TUTORIAL G13
  double sum = 0;
  for (const uint64_t code : replicas()) sum += oracle::MarkovSum::value(static_cast<uint32_t>(code));
  const double mean = sum / kReplicas, error = std::sqrt(chain().central_moment(2) / kReplicas);
  std::printf("2000 replicas: mean %.9f, %+.2f standard errors\n", mean, (mean - chain().mean()) / error);
  EXPECT_LE(std::fabs(mean - chain().mean()), 6 * error);  // two-sided normal tail at 6: 2e-9
}

// tests: G13
TEST(StochasticSum, VarianceOfTheReplicas) {
  // TUTORIAL G13
  double sum = 0, squares = 0;
  for (const uint64_t code : replicas()) sum += oracle::MarkovSum::value(static_cast<uint32_t>(code));
  for (const uint64_t code : replicas()) {
    const double distance = oracle::MarkovSum::value(static_cast<uint32_t>(code)) - sum / kReplicas;
    squares += distance * distance;
  }
  const double n = kReplicas, variance = squares / (n - 1);
  // Var(s^2) = (mu4 - sigma^4 (n - 3) / (n - 1)) / n, with the chain's exact moments.
  const double sigma2 = chain().central_moment(2), mu4 = chain().central_moment(4);
  const double error = std::sqrt((mu4 - sigma2 * sigma2 * (n - 3) / (n - 1)) / n);
  std::printf("2000 replicas: sd %.9f, variance %+.2f standard errors\n", std::sqrt(variance),
              (variance - sigma2) / error);
  EXPECT_LE(std::fabs(variance - sigma2), 6 * error);
}

/// The whole shape: Pearson's chi-square over classes of neighbouring codes with at least 40 expected replicas each.
TEST(StochasticSum, ShapeOfTheReplicas) {
  std::vector<double> observed(oracle::kInfinity, 0);
  for (const uint64_t code : replicas()) ++observed[code];
  double statistic = 0, expected = 0, seen = 0;
  int classes = 0;
  double left_expected = kReplicas, left_seen = kReplicas;
  for (uint32_t code = 0; code < oracle::kInfinity; ++code) {
    expected += chain().probability(code) * kReplicas;
    seen += observed[code];
    if (expected < 40 || left_expected - expected < 40) continue;  // the last class takes the rest
    statistic += (seen - expected) * (seen - expected) / expected;
    left_expected -= expected;
    left_seen -= seen;
    expected = seen = 0;
    ++classes;
  }
  statistic += (left_seen - left_expected) * (left_seen - left_expected) / left_expected;
  const boost::math::chi_squared distribution(classes);  // classes + 1 cells, one constraint
  std::printf("2000 replicas: chi-square %.1f with %d degrees of freedom\n", statistic, classes);
  EXPECT_GE(classes, 20);
  EXPECT_LE(statistic, boost::math::quantile(boost::math::complement(distribution, 1e-9)));
  EXPECT_GE(statistic, boost::math::quantile(distribution, 1e-9));  // too good is wrong too
}

/// Nearest even stays at 0.25, which addition 2181 reaches (N351).
// tests: N351
TEST(StochasticSum, NearestSwamps) {
  uint64_t sum = 0;
  int last_change = 0;
  for (int step = 1; step <= kAdditions; ++step) {
    const uint64_t next = fp::add(kFp16, sum, kAddend, Semantics::ieee()).code;
    if (next != sum) last_change = step;
    sum = next;
  }
  EXPECT_EQ(sum, 0x3400u);
  EXPECT_EQ(last_change, 2181);
}

}  // namespace
