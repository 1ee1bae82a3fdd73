// The harmonic series in floating point, against a slow loop on exact fractions, published ends and its own promises.
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>

#include <cmath>
#include <map>

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operations.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/sums/harmonic_sum.h"
#include "tests/reproduce/brief.h"

namespace softamp::reproduce {
namespace {

using Fraction = boost::multiprecision::cpp_rational;

Fraction fraction_of(const FloatFormat& f, uint64_t code) {
  boost::multiprecision::cpp_int one = 1;
  const double v = std::ldexp(value_of(f, code), 40);  // formats below have no finer quantum
  return Fraction(boost::multiprecision::cpp_int(static_cast<long long>(v)), one << 40);
}

/// `x` rounded by looking through the format's numbers, of which there are few.
uint64_t rounded_fraction(const FloatFormat& f, RoundingMode mode, const Fraction& x) {
  uint64_t below = 0;
  for (uint64_t step = uint64_t{1} << 16; step != 0; step /= 2)
    if (below + step <= f.max_finite_code() && fraction_of(f, below + step) <= x) below += step;
  const Fraction low = fraction_of(f, below);
  if (low == x || mode == RoundingMode::kDown || mode == RoundingMode::kTowardZero) return below;
  if (below == f.max_finite_code()) return below + 1;
  if (mode == RoundingMode::kUp) return below + 1;
  const Fraction to_low = x - low, to_high = fraction_of(f, below + 1) - x;
  return to_low < to_high || (to_low == to_high && below % 2 == 0) ? below : below + 1;
}

TEST(HarmonicSeries, TheLoopIsThatOfExactFractions) {
  for (const FloatFormat& f : {kFp16, kE4m3, kE5m2, FloatFormat::ieee(3, 5)})
    for (const RoundingMode mode :
         {RoundingMode::kNearestEven, RoundingMode::kDown, RoundingMode::kTowardZero, RoundingMode::kUp}) {
      const HarmonicSum found = harmonic_sum(f, RoundingPolicy::ieee(mode));
      if (f == kFp16 && mode == RoundingMode::kUp) continue;  // below
      uint64_t sum = 0, term = 0;
      for (uint64_t i = 1; term == 0; ++i) {
        const uint64_t addend = rounded_fraction(f, mode, Fraction(1, i));
        const uint64_t next = rounded_fraction(f, mode, fraction_of(f, sum) + fraction_of(f, addend));
        if (next == sum || next > f.max_finite_code()) term = i;
        sum = next;
      }
      EXPECT_EQ(found.code, sum) << f.precision << ' ' << static_cast<int>(mode);
      EXPECT_EQ(found.term, term) << f.precision << ' ' << static_cast<int>(mode);
    }
}

// tests: N354
TEST(HarmonicSeries, EndsWhereHighamsDo) {
  const auto nearest = RoundingPolicy::ieee(RoundingMode::kNearestEven), up = RoundingPolicy::ieee(RoundingMode::kUp);
  EXPECT_EQ(harmonic_sum(kFp16, nearest).code, 0x4716u);
  EXPECT_EQ(harmonic_sum(kFp16, nearest).term, 513u);
  EXPECT_EQ(harmonic_sum(kBf16, nearest).term, 65u);
  EXPECT_EQ(harmonic_sum(kFp16, up).term, 13910u);
  EXPECT_EQ(harmonic_sum(kBf16, up).term, 16148u);
  const HarmonicSum fp32 = harmonic_sum(kFp32, nearest);
  EXPECT_EQ(fp32.term, 2097152u);
  EXPECT_NEAR(value_of(kFp32, fp32.code), 15.4036827, 5e-8);
}

TEST(HarmonicSeries, SinglePrecisionEndsWhereTheProcessorDoes) {
  float sum = 0;
  uint64_t i = 1;
  for (;; ++i) {
    const float next = sum + 1.0f / static_cast<float>(i);
    if (next == sum) break;
    sum = next;
  }
  const HarmonicSum found = harmonic_sum(kFp32, RoundingPolicy::ieee(RoundingMode::kNearestEven));
  EXPECT_EQ(found.term, i);
  EXPECT_EQ(value_of(kFp32, found.code), sum);
}

TEST(HarmonicSeries, TheDistributionIsThatOfEveryRandomNumberTried) {
  // Three random bits, all eight numbers of every addition, by the emulated unit itself.
  constexpr int kBits = 3, kTerms = 50;
  const StochasticHarmonic found = stochastic_harmonic(kE5m2, kBits, 0, 4, kTerms, [](double) {});
  const Semantics s = Semantics::ieee(RoundingPolicy::stochastic_carry(kBits));
  std::map<uint64_t, double> now = {{0, 1.0}};
  for (uint64_t i = 1; i <= kTerms; ++i) {
    std::map<uint64_t, double> next;
    for (const auto& [code, p] : now)
      for (uint32_t word = 0; word < 1u << kBits; ++word)
        next[fp::add(kE5m2, code, harmonic_term(kE5m2, {}, i), s, word).code] += std::ldexp(p, -kBits);
    now = next;
  }
  double mean = 0, squares = 0;
  for (const auto& [code, p] : now) mean += p * value_of(kE5m2, code);
  for (const auto& [code, p] : now) squares += p * (value_of(kE5m2, code) - mean) * (value_of(kE5m2, code) - mean);
  EXPECT_NEAR(found.expected.mean, mean, 1e-12);
  EXPECT_NEAR(found.expected.sd, std::sqrt(squares), 1e-12);
  EXPECT_EQ(found.beyond, 0);
  EXPECT_LT(found.expected.mean, found.exact_terms);
}

TEST(HarmonicSeries, AgreesForFewSamplesAndFewBits) {
  for (const uint64_t seed : {0, 1, 2, 3, 4}) {
    Request r;
    r.brief = true;
    r.samples = 2;
    r.bits = 4;
    r.seed = seed;
    r.roundings = {RoundingMode::kStochastic};
    for (const Check& c : outcome_of(experiment_called("harmonic-series"), r).checks)
      EXPECT_TRUE(c.agrees) << c.what << ": " << c.ours << " against " << c.theirs;
  }
}

}  // namespace
}  // namespace softamp::reproduce
