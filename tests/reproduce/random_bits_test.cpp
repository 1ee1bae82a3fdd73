// `random-bits`: biases equal the published formulas as fractions, the long sums the published means, and both a slow
// count of their own.

#include "softamp/names/names.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/sums/random_bits_parts.h"
#include "src/reproduce/sums/sum_chain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

using namespace softamp;
using namespace softamp::reproduce;

namespace {

// SRFF 2^-(D+1) - 2^-(N+1), SRF 2^-(D+1), SRC 0 (Fitzgibbon and Felix).
TEST(RandomBitsExperiment, BiasesAreThePublishedFractions) {
  using few_bits::bias_of;
  EXPECT_EQ(bias_of(StochasticVariant::kCarry, 8, 3).text(), "-31/512");
  EXPECT_EQ(bias_of(StochasticVariant::kCarry, 8, 8).text(), "0");
  EXPECT_EQ(bias_of(StochasticVariant::kHalf, 8, 3).text(), "1/512");
  EXPECT_EQ(bias_of(StochasticVariant::kHalf, 8, 8).text(), "0");
  EXPECT_EQ(bias_of(StochasticVariant::kRne, 8, 3).text(), "0");
  EXPECT_EQ(bias_of(StochasticVariant::kOdd, 8, 3).text(), "0");
  EXPECT_EQ(bias_of(StochasticVariant::kCarry, 10, 4).text(), "-63/2048");
  EXPECT_EQ(bias_of(StochasticVariant::kHalf, 10, 4).text(), "1/2048");
  EXPECT_EQ(bias_of(StochasticVariant::kCarry, 12, 2).text(), "-1023/8192");
  EXPECT_TRUE(bias_of(StochasticVariant::kRne, 8, 5).everywhere);
}

// The same bias by the rule's own words, in quotients of whole numbers.
TEST(RandomBitsExperiment, BiasesAreThoseOfTheRule) {
  for (const int r : {1, 2, 5}) {
    constexpr int64_t kPositions = 64;  // D = 6
    const int64_t all = int64_t{1} << r;
    int64_t carry = 0, half = 0;
    for (int64_t m = 0; m < kPositions; ++m)
      for (int64_t random = 0; random < all; ++random) {
        carry += m * all / kPositions + random >= all;
        half += m * 2 * all / kPositions + 2 * random + 1 >= 2 * all;
      }
    const int64_t exact = (kPositions - 1) * all;  // twice the sum of all positions times all random numbers
    EXPECT_EQ(few_bits::bias_of(StochasticVariant::kCarry, 6, r).numerator, 2 * carry - exact) << r;
    EXPECT_EQ(few_bits::bias_of(StochasticVariant::kHalf, 6, r).numerator, 2 * half - exact) << r;
  }
}

// N351: the means of 20,000 sums, to five standard errors and half a digit.
// tests: N351
TEST(RandomBitsExperiment, ExactMeansAreThePublishedOnes) {
  for (const auto& [r, mean] : {std::pair{16, 1.00017}, {10, .99805}, {8, .99340}, {4, .93490}}) {
    const few_bits::LongSum s = few_bits::long_sum(StochasticVariant::kCarry, r, 2, 0);
    EXPECT_NEAR(s.exact_mean, mean, 5 * s.exact_sd / std::sqrt(20000.0) + 5e-6) << r;
  }
  const few_bits::LongSum all = few_bits::long_sum(StochasticVariant::kCarry, 16, 2, 0);
  EXPECT_NEAR(all.exact_mean, 1678.0 * 10000 / 16777216, 1e-9);  // unbiased: the exact sum
  EXPECT_NEAR(all.exact_sd, 0.0154, 5e-5);
  const few_bits::LongSum thirteen = few_bits::long_sum(StochasticVariant::kCarry, 13, 2, 0);
  EXPECT_EQ(thirteen.exact_mean, all.exact_mean);
  EXPECT_EQ(thirteen.exact_sd, all.exact_sd);
}

// All random numbers of every addition, by the emulated unit itself, for each variant.
TEST(RandomBitsExperiment, TheChainIsThatOfEveryRandomNumberTried) {
  constexpr int kAdditions = 40, kBits = 3;
  const FloatFormat f = FloatFormat::ieee(5, 4);
  const uint64_t addend = f.min_normal_code() * 3 + 1;
  for (const StochasticVariant variant : few_bits::kVariants) {
    Semantics s = experiment_semantics(RoundingMode::kStochastic, kBits);
    s.narrow.variant = variant;
    std::map<uint64_t, double> now = {{0, 1.0}};
    for (int n = 0; n < kAdditions; ++n) {
      std::map<uint64_t, double> next;
      for (const auto& [code, p] : now)
        for (uint32_t word = 0; word < 1u << kBits; ++word)
          next[fp::add(f, code, addend, s, word).code] += std::ldexp(p, -kBits);
      now = next;
    }
    const SumDistribution found = sum_distribution(f, addend, kAdditions, kBits, variant);
    for (size_t i = 0; i < found.probability.size(); ++i) {
      const auto at = now.find(found.first_code + i);
      EXPECT_NEAR(found.probability[i], at == now.end() ? 0 : at->second, 1e-13) << name_of(variant);
    }
  }
}

// Mean of the dot products' relative errors, by the scalar unit and the random words of their addresses.
TEST(RandomBitsExperiment, DotProductsAreTheUnits) {
  const std::vector<few_bits::DotErrors> found = few_bits::dot_errors(3, 10);
  ASSERT_EQ(found.size(), 2u);
  for (const few_bits::DotErrors& d : found) {
    const Semantics s = experiment_semantics(RoundingMode::kStochastic, 16);
    const RandomBits random{3};
    const uint32_t site =
        static_cast<uint32_t>(d.format.exponent_bits) << 13 | static_cast<uint32_t>(d.format.precision) << 8;
    const uint64_t half = static_cast<uint64_t>(d.format.bias - 1) << d.format.mantissa_bits();
    double mean = 0, worst = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
      uint64_t sum = 0;
      double exact = 0;
      for (uint32_t j = 0; j < 10; ++j) {
        const uint64_t x = half + (random.bits(j, site + 1, i, 16) & d.format.mantissa_mask());
        const uint64_t y = half + (random.bits(j, site + 2, i, 16) & d.format.mantissa_mask());
        const uint64_t product = fp::mul(d.format, x, y, s, random.bits(j, site + 3, i, 16)).code;
        sum = fp::add(d.format, sum, product, s, random.bits(j, site + 4, i, 16)).code;
        exact += fp::to_double(d.format, x) * fp::to_double(d.format, y);
      }
      const double error = fp::to_double(d.format, sum) / exact - 1;
      mean += error / 1000;
      worst = std::max(worst, std::abs(error));
    }
    EXPECT_NEAR(d.mean, mean, 1e-15);
    EXPECT_NEAR(d.worst, worst / (std::sqrt(10.0) * std::ldexp(1.0, 1 - d.format.precision)), 1e-12);
  }
}

}  // namespace
