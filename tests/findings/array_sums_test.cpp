// Sums of arrays against oracles: every addition over exact numbers, the exact sum by MPFR, random bits one by one.
#include "src/sums/array_sums.h"

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "softamp/sums/running_sum.h"
#include "tests/oracle/exact_operations.h"
#include "tests/refusal.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace softamp {
namespace {

using detail::ArraySum;
using detail::ArraySumCase;
using detail::ArraySums;
using detail::ExactSum;
using detail::Products;

/// MPFR with so many bits that no sum or product of these tests is rounded.
class LongNumber {
 public:
  LongNumber() {
    mpfr_init2(value_, kBits);
    mpfr_set_zero(value_, 1);
  }
  ~LongNumber() { mpfr_clear(value_); }
  LongNumber(const LongNumber&) = delete;
  LongNumber& operator=(const LongNumber&) = delete;
  void add_product(double a, double b) {
    mpfr_t product;
    mpfr_init2(product, 128);
    mpfr_set_d(product, a, MPFR_RNDN);
    EXPECT_EQ(mpfr_mul_d(product, product, b, MPFR_RNDN), 0);
    EXPECT_EQ(mpfr_add(value_, value_, product, MPFR_RNDN), 0);
    mpfr_clear(product);
  }
  double nearest() const { return mpfr_get_d(value_, MPFR_RNDN); }

 private:
  static constexpr int kBits = 5000;
  mpfr_t value_;
};

bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

/// Numbers of either sign over so many powers of two.
std::vector<double> numbers(size_t count, int least, int most, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> all(count);
  for (double& x : all) {
    const double mantissa = 1 + std::ldexp(static_cast<double>(random() >> 12), -52);
    const int exponent = least + static_cast<int>(random() % static_cast<uint64_t>(most - least + 1));
    x = std::ldexp(random() % 2 ? mantissa : -mantissa, exponent);
  }
  return all;
}

ArraySumCase case_of(const FloatFormat& f, const RoundingPolicy& policy = {}, uint64_t replicas = 1) {
  ArraySumCase c;
  c.setup.format = f;
  c.setup.semantics = Semantics::ieee(policy);
  c.setup.replicas = replicas;
  RoundingPolicy nearest = policy;
  nearest.mode = RoundingMode::kNearestEven;
  c.entry = Semantics::ieee(nearest);
  return c;
}

ArraySum sum_of(const ArraySumCase& c, const std::vector<double>& a, const std::vector<double>& b = {},
                Products products = Products::kNone) {
  ArraySums sums({c}, products, {});
  sums.add(a, b);
  return sums.results()[0];
}

TEST(ExactSum, IsMpfrsForNumbersOfTheWholeRange) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const bool wide = seed % 2 == 0;
    std::vector<double> x = numbers(500, wide ? -1070 : -60, wide ? 1000 : 60, seed);
    x[3] = std::numeric_limits<double>::denorm_min();
    ExactSum sum;
    LongNumber oracle;
    for (const double v : x) {
      sum.add(v);
      oracle.add_product(v, 1);
      ASSERT_EQ(sum.to_double(), oracle.nearest()) << seed;
    }
    for (const double v : x) sum.add(-v);  // back to zero, through every binade
    EXPECT_EQ(sum.to_double(), 0.0);
    EXPECT_EQ(sum.total().number, 0);
  }
}

TEST(ExactSum, IsMpfrsForProducts) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const int range = seed % 2 ? 30 : 500;
    const std::vector<double> a = numbers(300, -range, range, seed), b = numbers(300, -range, range, 1000 + seed);
    ExactSum sum;
    LongNumber oracle;
    for (size_t i = 0; i < a.size(); ++i) sum.add_product(a[i], b[i]), oracle.add_product(a[i], b[i]);
    EXPECT_EQ(sum.to_double(), oracle.nearest()) << seed;
  }
  ExactSum least;
  const double tiny = std::numeric_limits<double>::denorm_min(), most = std::numeric_limits<double>::max();
  least.add_product(tiny, tiny);
  EXPECT_EQ(least.total().number * 1, boost::multiprecision::cpp_int(1) << (-2148 - least.total().exponent));
  ExactSum huge;
  for (int i = 0; i < 3; ++i) huge.add_product(most, most);
  EXPECT_EQ(huge.to_double(), HUGE_VAL);
  for (int i = 0; i < 3; ++i) huge.add_product(most, -most);
  EXPECT_EQ(huge.to_double(), 0.0);
}

TEST(ExactSum, CarriesAfterManyAdditionsAndKeepsSpecialsApart) {
  ExactSum sum;
  for (int i = 0; i < 3000000; ++i) sum.add(i % 3 == 2 ? -0x1.fffffffffffffp-3 : 0x1.fffffffffffffp-3);
  EXPECT_EQ(sum.to_double(), 0x1.fffffffffffffp-3 * 1000000);
  const double infinity = HUGE_VAL;
  sum.add(infinity);
  EXPECT_EQ(sum.to_double(), infinity);
  EXPECT_FALSE(sum.finite());
  sum.add(-infinity);
  EXPECT_TRUE(std::isnan(sum.to_double()));
  ExactSum product;
  product.add_product(infinity, 0);
  EXPECT_TRUE(std::isnan(product.to_double()));
}

const FloatFormat kFormats[] = {kFp16, kBf16, kTf32, kFp32, kE4m3, kE5m2, kF143, kF152, FloatFormat::ieee(3, 4)};

/// The slow sum: each element rounded, each addition formed and rounded, over exact numbers.
TEST(ArraySums, AreTheOraclesAdditionByAddition) {
  for (const FloatFormat& f : kFormats)
    for (const RoundingMode mode : {RoundingMode::kNearestEven, RoundingMode::kNearestAway, RoundingMode::kTowardZero,
                                    RoundingMode::kUp, RoundingMode::kDown})
      for (const Overflow overflow : {Overflow::kInfinity, Overflow::kSaturate, Overflow::kNan})
        for (uint32_t seed = 0; seed < 4; ++seed) {
          RoundingPolicy policy = RoundingPolicy::ieee(mode);
          policy.overflow = overflow;
          const ArraySumCase c = case_of(f, policy);
          const int top = seed < 2 ? f.max_exponent() - 4 : f.max_exponent();
          const std::vector<double> x = numbers(60, f.min_exponent() - 2, top, seed);
          uint64_t sum = 0, last = 0, lost = 0;
          double exact_values = 0;
          LongNumber exact;
          bool finite = true;
          for (size_t i = 0; i < x.size(); ++i) {
            const Exact e = softamp::detail::unpack_finite(kBinary64, std::bit_cast<uint64_t>(x[i]));
            RoundingPolicy entry = policy;
            entry.mode = RoundingMode::kNearestEven;
            oracle::Dyadic value{oracle::Big(e.significand), e.exponent};
            if (e.negative) value = -value;
            const uint64_t term = oracle::round_value(f, value, entry).code;
            finite = finite && f.is_finite(term);
            if (f.is_finite(term)) exact.add_product(value_of(f, term), 1);
            const uint64_t before = sum;
            sum = oracle::exact::add(f, sum, term, c.setup.semantics, 0).code;
            if (sum != before) last = i + 1;
            if (sum == before && f.is_finite(sum) && !f.is_zero(term)) ++lost;
          }
          exact_values = exact.nearest();
          const ArraySum ours = sum_of(c, x);
          ASSERT_EQ(ours.codes, std::vector<uint64_t>{sum}) << format_name(f) << ' ' << name_of(mode) << ' ' << seed;
          ASSERT_EQ(ours.last_change[0], last);
          ASSERT_EQ(ours.lost[0], lost);
          if (finite) {
            ASSERT_EQ(ours.exact, exact_values);
          }
        }
}

TEST(ArraySums, DotProductsAreTheOracles) {
  for (const FloatFormat& f : kFormats)
    for (const Products products : {Products::kExact, Products::kRounded})
      for (uint32_t seed = 0; seed < 6; ++seed) {
        const ArraySumCase c = case_of(f);
        const int half = f.max_exponent() / 2;
        const std::vector<double> x = numbers(50, -half, half - 1, seed), y = numbers(50, -half, half - 1, 77 + seed);
        uint64_t sum = 0;
        LongNumber exact, given;
        for (size_t i = 0; i < x.size(); ++i) {
          const uint64_t a = fp::from_double(f, x[i]), b = fp::from_double(f, y[i]);
          exact.add_product(value_of(f, a), value_of(f, b));
          given.add_product(x[i], y[i]);
          sum = products == Products::kExact
                    ? oracle::exact::fma(f, a, b, sum, c.setup.semantics, 0).code
                    : oracle::exact::add(f, sum, oracle::exact::mul(f, a, b, c.setup.semantics, 0).code,
                                         c.setup.semantics, 0)
                          .code;
        }
        const ArraySum ours = sum_of(c, x, y, products);
        ASSERT_EQ(ours.codes[0], sum) << format_name(f) << ' ' << seed;
        ASSERT_EQ(ours.exact, exact.nearest());
        ASSERT_EQ(ours.exact_given, given.nearest());
      }
}

/// The same number again and again: what running_sum says, whichever way it takes.
TEST(ArraySums, OfEqualElementsAreRunningSums) {
  for (const RandomEngine engine : {RandomEngine::kPhilox, RandomEngine::kPhilox7, RandomEngine::kXoroshiro128aox})
    for (const FloatFormat& f : {kFp16, kBf16, kE5m2, kFp32})
      for (const int bits : {3, 13, 20})
        for (const uint64_t replicas : {uint64_t{1}, uint64_t{9}, uint64_t{70}, uint64_t{150}}) {
          ArraySumCase c = case_of(f, RoundingPolicy::stochastic_carry(bits), replicas);
          c.setup.engine = engine;
          c.setup.seed = 42;
          c.setup.operation = 5;
          c.setup.addend = fp::from_double(f, 0.0137);
          c.setup.start = fp::from_double(f, 0.5);
          c.setup.count = 700;
          const RunningSum expected = running_sum(c.setup);
          const ArraySum ours = sum_of(c, std::vector<double>(700, 0.0137));
          ASSERT_EQ(ours.codes, expected.codes) << format_name(f) << ' ' << bits << ' ' << replicas;
          ASSERT_EQ(ours.last_change, expected.last_change);
          ASSERT_EQ(ours.flags, expected.flags);
          ASSERT_EQ(ours.exact, expected.exact);
          for (int b = 0; b < kFlagCount; ++b) ASSERT_EQ(ours.first_addition[b], expected.first_addition[b]);
        }
}

TEST(ArraySums, RoundedProductsHaveAddressesOfTheirOwn) {
  const FloatFormat f = kFp16;
  const ArraySumCase c = case_of(f, RoundingPolicy::stochastic_carry(13), 11);
  const std::vector<double> x = numbers(40, -3, 3, 1), y = numbers(40, -3, 3, 2);
  const RandomBits random{0};
  const ArraySum ours = sum_of(c, x, y, Products::kRounded), exact = sum_of(c, x, y, Products::kExact);
  for (uint64_t r = 0; r < 11; ++r) {
    uint64_t rounded = 0, fused = 0;
    for (uint32_t n = 0; n < x.size(); ++n) {
      const uint64_t a = fp::from_double(f, x[n]), b = fp::from_double(f, y[n]);
      const uint64_t product = fp::mul(f, a, b, c.setup.semantics, random.bits(n, 1, r, 13)).code;
      rounded = fp::add(f, rounded, product, c.setup.semantics, random.bits(n, 0, r, 13)).code;
      fused = fp::fma(f, a, b, fused, c.setup.semantics, random.bits(n, 0, r, 13)).code;
    }
    EXPECT_EQ(ours.codes[r], rounded) << r;
    EXPECT_EQ(exact.codes[r], fused) << r;
  }
  EXPECT_NE(ours.codes, exact.codes);
}

TEST(ArraySums, PiecesAndCompanyMakeNoDifference) {
  const std::vector<double> x = numbers(1000, -6, 6, 5), y = numbers(1000, -6, 6, 6);
  for (const RandomEngine engine : {RandomEngine::kPhilox, RandomEngine::kXoroshiro128aox})
    for (const Products products : {Products::kNone, Products::kExact, Products::kRounded}) {
      std::vector<ArraySumCase> cases;
      for (const FloatFormat& f : {kFp16, kBf16, kE4m3}) {
        cases.push_back(case_of(f));
        cases.push_back(case_of(f, RoundingPolicy::stochastic_carry(8), 100));
        cases.back().setup.engine = engine;
      }
      ArraySums pieces(cases, products, {1, 5, 400, 1000});
      for (size_t first = 0; first < x.size();) {
        const size_t count = std::min<size_t>(x.size() - first, 1 + first / 2 + 3);
        pieces.add(std::span(x).subspan(first, count),
                   products == Products::kNone ? std::span<const double>() : std::span(y).subspan(first, count));
        first += count;
      }
      EXPECT_EQ(pieces.additions(), 1000u);
      const std::vector<ArraySum> together = pieces.results();
      for (size_t c = 0; c < cases.size(); ++c) {
        const ArraySum alone = sum_of(cases[c], x, products == Products::kNone ? std::vector<double>{} : y, products);
        ASSERT_EQ(together[c].codes, alone.codes);
        ASSERT_EQ(together[c].lost, alone.lost);
        ASSERT_EQ(together[c].exact, alone.exact);
        ASSERT_EQ(together[c].magnitude, alone.magnitude);
        ASSERT_EQ(together[c].first_lost.addition, alone.first_lost.addition);
        ASSERT_EQ(together[c].trace_errors.size(), 4u);
      }
      // The first addition to 0 is exact, unless its product was rounded.
      if (products == Products::kNone) {
        EXPECT_EQ(together[0].trace_errors[0], 0.0);
      }
      double squares = 0;
      for (const uint64_t code : together[1].codes)
        squares += std::pow((value_of(kFp16, code) - together[1].exact) / together[1].magnitude, 2);
      EXPECT_EQ(together[1].trace_errors[3], std::sqrt(squares / 100));
    }
}

TEST(ArraySums, NothingNaNsAndInfinities) {
  const double infinity = HUGE_VAL, nan = std::nan("");
  const ArraySum none = sum_of(case_of(kFp16), {});
  EXPECT_EQ(none.codes[0], 0u);
  EXPECT_EQ(none.exact, 0.0);
  EXPECT_EQ(none.last_change[0], 0u);
  for (const auto& [x, result] : std::vector<std::pair<std::vector<double>, double>>{{{1, nan, 2}, nan},
                                                                                     {{1, infinity, 2}, infinity},
                                                                                     {{1, -infinity, 2}, -infinity},
                                                                                     {{infinity, -infinity}, nan},
                                                                                     {{infinity, nan}, nan}}) {
    const ArraySum sum = sum_of(case_of(kBf16), x);
    EXPECT_TRUE(same(value_of(kBf16, sum.codes[0]), result));
    EXPECT_TRUE(same(sum.exact, result));
    EXPECT_TRUE(same(sum.exact_given, result));
    EXPECT_EQ(sum.lost[0], 0u) << "a NaN and an infinity lose nothing";
  }
  const ArraySum beyond = sum_of(case_of(kFp16), {1e6, 1});
  EXPECT_EQ(beyond.exact, infinity);
  EXPECT_EQ(beyond.exact_given, 1000001.0);
  EXPECT_EQ(beyond.entry_flags, kOverflow | kInexact);
  EXPECT_TRUE(std::isnan(sum_of(case_of(kFp16), {infinity}, {0.0}, Products::kExact).exact));
}

TEST(ArraySums, RefuseArraysOfDifferentLengthAndWhatRunningSumRefuses) {
  ArraySums dot({case_of(kFp16)}, Products::kExact, {});
  const std::vector<double> three(3), two(2);
  EXPECT_THROW(dot.add(three, two), std::invalid_argument);
  ArraySumCase none = case_of(kFp16);
  none.setup.replicas = 0;
  EXPECT_THROW(ArraySums({none}, Products::kNone, {}), std::invalid_argument);
  EXPECT_THROW(ArraySums({case_of(kBinary64)}, Products::kNone, {}), std::invalid_argument);
}

TEST(WhyUnchanged, SaysWhatTheNumbersSay) {
  const auto why = [](const FloatFormat& f, const RoundingPolicy& p, double sum, double term) {
    return detail::why_unchanged(f, Semantics::ieee(p), fp::from_double(f, sum), term);
  };
  const RoundingPolicy nearest, zero = RoundingPolicy::ieee(RoundingMode::kTowardZero);
  EXPECT_EQ(why(kFp16, nearest, 0.25, value_of(kFp16, 0x068e)), "0.0001 is below half the spacing 0.000244 at 0.25");
  EXPECT_EQ(why(kFp16, nearest, 2048, 1), "1 is half the spacing 2 at 2048, and the tie goes to 2048, which is even");
  EXPECT_EQ(why(kFp16, nearest, 2048, -0.25), "-0.25 is below half the spacing 1 at 2048");
  EXPECT_EQ(why(kFp16, RoundingPolicy::ieee(RoundingMode::kNearestAway), 4100, -2),
            "-2 is half the spacing 4 at 4100, and the tie goes to 4100, away from zero");
  EXPECT_EQ(why(kFp16, zero, 0.125, 0.0001),
            "0.0001 is below the spacing 0.000122 at 0.125, and rounding zero cuts it off");
  EXPECT_EQ(why(kFp16, RoundingPolicy::stochastic_carry(3), 2048, 0.125),
            "0.125 is below 2^-3 of the spacing 2 at 2048, too little for 3 random bits");
  EXPECT_EQ(why(kFp16, RoundingPolicy::stochastic_carry(8), 2048, 0.125),
            "0.125 is below the spacing 2 at 2048, and the random bits did not carry it");
  RoundingPolicy saturate;
  saturate.overflow = Overflow::kSaturate;
  EXPECT_EQ(why(kFp16, saturate, 65504, 30000), "65504 is the largest number of fp16, where sums stay");
}

/// Whatever is lost is explained: no sentence is the one that says only that it is.
TEST(WhyUnchanged, EveryLostAdditionOfFp8HasItsReason) {
  for (const FloatFormat& f : {kE4m3, kE5m2, kF143})
    for (const RoundingMode mode : {RoundingMode::kNearestEven, RoundingMode::kNearestAway, RoundingMode::kTowardZero,
                                    RoundingMode::kUp, RoundingMode::kDown, RoundingMode::kStochastic}) {
      RoundingPolicy p = RoundingPolicy::ieee(mode);
      p.overflow = Overflow::kSaturate;
      p.random_bits = 4;
      const Semantics s = Semantics::ieee(p);
      for (uint64_t a = 0; a < 256; ++a)
        for (uint64_t b = 0; b < 256; ++b) {
          if (!f.is_finite(a) || !f.is_finite(b) || f.is_zero(b)) continue;
          bool lost = true, never = true;
          for (uint32_t r = 0; r < (p.stochastic() ? 16u : 1u); ++r) {
            const bool stays = fp::add(f, a, b, s, r).code == a;
            lost = r == 0 ? stays : lost || stays;
            never = never && stays;
          }
          if (!lost) continue;
          const std::string why = detail::why_unchanged(f, s, a, value_of(f, b));
          ASSERT_EQ(why.find(" becomes "), std::string::npos) << why;
          const bool too_little = why.find("too little") != std::string::npos;
          const bool at_limit = why.find("where sums stay") != std::string::npos;
          if (p.stochastic() && !at_limit) {
            ASSERT_EQ(too_little, never) << why;
          }
        }
    }
}

}  // namespace
}  // namespace softamp
