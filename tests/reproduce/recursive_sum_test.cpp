// `recursive-sum`: its checks agree, its figures are those of a slow sum of its own, and bad requests say what is
// wrong.
#include "src/reproduce/shelf.h"

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/survey.h"
#include "tests/reproduce/brief.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>

#include <cmath>

using namespace softamp;
using namespace softamp::reproduce;

namespace {

Outcome brief_recursive_sum(uint64_t seed = 0) { return outcome_of(recursive_sum::experiment(), brief_request(seed)); }

/// The first row of a table whose leading cells are these.
const std::vector<Json>* row_of(const Table& table, const Json& first, const Json& second) {
  for (const auto& row : table.rows)
    if (row[0] == first && row[1] == second) return &row;
  return nullptr;
}

// H(n) as a quotient of whole numbers.
TEST(RecursiveSum, HoldsTheSumsAgainstTheHarmonicNumbers) {
  const Outcome o = brief_recursive_sum();
  for (const uint64_t n : {10u, 54u, 293u}) {
    boost::multiprecision::cpp_int numerator = 0, denominator = 1;
    for (uint64_t i = 1; i <= n; ++i) {
      numerator = numerator * i + denominator;
      denominator *= i;
    }
    // To 100 bits, cut off.
    const boost::multiprecision::cpp_int scaled = (numerator << 100) / denominator;
    const double harmonic = std::ldexp(scaled.convert_to<double>(), -100);
    const auto* row = row_of(o.tables[0], "fp16", n);
    ASSERT_TRUE(row) << n;
    EXPECT_NEAR((*row)[2].get<double>(), harmonic, harmonic * 1e-15);
    EXPECT_NEAR((*row)[5].get<double>(), std::abs((*row)[4].get<double>() / harmonic - 1), 1e-14);
  }
}

// One repeat, step by step with the scalar unit and the random words of its address.
TEST(RecursiveSum, StochasticSumsAreTheUnits) {
  const Outcome o = brief_recursive_sum(5);
  const Semantics semantics = experiment_semantics(RoundingMode::kStochastic, 32);
  const RandomBits random{5};
  double total = 0, worst = 0;
  const double harmonic = 2.9289682539682538;  // 7381/2520
  for (uint64_t path = 0; path < 10; ++path) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 10; ++i) {
      const uint32_t word = random.bits(i, survey::operation_of(kBf16), path, 32);
      sum = fp::add(kBf16, sum, fp::from_double(kBf16, 1.0 / (i + 1.0)), semantics, word).code;
    }
    const double error = std::abs(fp::to_double(kBf16, sum) / harmonic - 1);
    total += error / 10;
    worst = std::max(worst, error);
  }
  const auto* row = row_of(o.tables[0], "bf16", 10);
  ASSERT_TRUE(row);
  EXPECT_NEAR((*row)[6].get<double>(), total, 1e-14);
  EXPECT_NEAR((*row)[7].get<double>(), worst, 1e-14);
}

TEST(RecursiveSum, StopsWhenItIsAskedTo) {
  Request request;
  request.brief = true;
  int asked = 0;
  Watch watch({}, [&] { return ++asked == 2; });
  EXPECT_THROW(recursive_sum::experiment().run(request, watch), Interrupted);
  // Many repeats: the watch is asked after every few terms.
  request.samples = 100'000;
  asked = 0;
  std::vector<double> told;
  Watch often([&](double share) { told.push_back(share); }, [&] { return ++asked == 4; });
  EXPECT_THROW(recursive_sum::experiment().run(request, often), Interrupted);
  ASSERT_GE(told.size(), 3u);
  EXPECT_LE(told.back(), 20 / 2e4);
}

// The bounds' own arithmetic.
TEST(RecursiveSum, BoundsAndVariances) {
  EXPECT_EQ(survey::nearest_roundoff(kFp16), 0x1p-11);
  EXPECT_EQ(survey::stochastic_roundoff(kBf16), 0x1p-7);
  EXPECT_DOUBLE_EQ(survey::deterministic_bound(100, 0x1p-11), 100.0 / (2048 - 100));
  EXPECT_EQ(survey::deterministic_bound(2000, 0x1p-11), 1);
  EXPECT_TRUE(survey::bound_tells(1023, 0x1p-11));
  EXPECT_FALSE(survey::bound_tells(1024, 0x1p-11));
  EXPECT_EQ(survey::root_bound(100, 0x1p-10), 10.0 / 1024);
  EXPECT_NEAR(20 * std::exp(-std::pow(survey::lambda_for(10, 1e-6), 2) / 2), 1e-6, 1e-18);
  const survey::RoundingVariance variance(kFp16);
  EXPECT_EQ(variance(1.5), 0);
  EXPECT_EQ(variance(1 + 0x1p-11), 0x1p-22);            // half way: q^2 / 4
  EXPECT_EQ(variance(2048 + 0.5), 0.5 * 1.5);           // a quarter of 2
  EXPECT_EQ(variance(0x1p-24 + 0x1p-26), 3 * 0x1p-52);  // subnormal: a quarter of 2^-24
}

}  // namespace
