// The tutorial's sum: its published ends, its distribution against one that is made of roundings one by one, and what
// the experiment promises.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operations.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/sums/sum_cases.h"
#include "src/reproduce/sums/sum_chain.h"
#include "tests/refusal.h"
#include "tests/reproduce/brief.h"

namespace softamp::reproduce {
namespace {

TEST(TutorialSum, TheDistributionIsThatOfEveryRandomNumberTried) {
  // All 2^r random numbers of every addition, by the emulated unit itself.
  for (const FloatFormat& f : {kFp16, kE4m3, FloatFormat::ieee(8, 3), FloatFormat::ieee(5, 4)})
    for (const int r : {1, 2, 5}) {
      const uint64_t addend = f.min_normal_code() * 3 + 1;
      const Semantics s = Semantics::ieee(RoundingPolicy::stochastic_carry(r));
      std::map<uint64_t, double> now = {{0, 1.0}};
      constexpr int kAdditions = 60;
      for (int n = 0; n < kAdditions; ++n) {
        std::map<uint64_t, double> next;
        for (const auto& [code, p] : now)
          for (uint32_t word = 0; word < 1u << r; ++word)
            next[fp::add(f, code, addend, s, word).code] += std::ldexp(p, -r);
        now = next;
      }
      const SumDistribution found = sum_distribution(f, addend, kAdditions, r);
      double total = 0;
      for (size_t i = 0; i < found.probability.size(); ++i) {
        const auto at = now.find(found.first_code + i);
        EXPECT_NEAR(found.probability[i], at == now.end() ? 0 : at->second, 1e-13);
        total += found.probability[i];
      }
      EXPECT_NEAR(total, 1, 1e-12);
    }
}

TEST(TutorialSum, TheKnownExpectations) {
  EXPECT_NEAR(sum_distribution(kFp16, 0x068e, 10000, 13).mean, 10000 * 1678 * 0x1p-24, 1e-11);
  EXPECT_NEAR(sum_distribution(kFp16, 0x068e, 10000, 13).sd, .0154, .00005);
  EXPECT_NEAR(sum_distribution(kFp16, 0x068e, 10000, 4).mean, .9349, .0004);
  EXPECT_NEAR(sum_distribution(kBf16, 0x38d2, 10000, 16).mean, 1.00135803, 5e-9);
}

TEST(TutorialSum, OneBitTooFewShowsInTheExpectation) {
  // A sum in [1, 2) discards 13 bits of the addend, which is odd in its last: 12 random bits lose some of it.
  EXPECT_LT(sum_distribution(kFp16, 0x068e, 10000, 11).mean, 10000 * 1678 * 0x1p-24 - 1e-4);
}

TEST(TutorialSum, SaysWhatItCannotTake) {
  const auto said = [](const auto& change) {
    Request r;
    r.brief = true;
    change(r);
    return softamp::test::refusal<std::invalid_argument>([&] { outcome_of(experiment_called("tutorial-sum"), r); });
  };
  EXPECT_EQ(said([](Request& r) {
              r.formats = {kFp16, FloatFormat::ieee(8, 9)};
            }),
            "format e8p9 in tutorial-sum: expected one of at most 16 bits");
  for (const uint64_t samples : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << 20) + 1})
    EXPECT_EQ(said([&](Request& r) { r.samples = samples; }),
              "samples " + std::to_string(samples) + " in tutorial-sum: expected 2..1048576");
}

TEST(TutorialSum, EveryCaseHasRandomWordsOfItsOwn) {
  std::set<uint32_t> sites;
  size_t cases = 0;
  for (const FloatFormat& f : {kFp16, kBf16, kE4m3, kE5m2, kF143, kF152, FloatFormat::ieee(4, 4)})
    for (int bits = 1; bits <= 32; ++bits)
      for (uint32_t part = 0; part < 10; ++part, ++cases) {
        const uint32_t site = sum_site(f, bits, part);
        EXPECT_LT(site, 1u << 24);
        sites.insert(site);
      }
  EXPECT_EQ(sites.size(), cases);
  EXPECT_EQ(sum_site(kFp16, 13), 0u);  // as `softamp sum` has it
  // With 13 bits and with 16 a sum below 2 is rounded alike, by other words: the sums differ.
  Request r;
  r.brief = true;
  r.formats = {kFp16};
  const Outcome o = outcome_of(experiment_called("tutorial-sum"), r);
  EXPECT_NE(o.tables[1].rows[0][3], o.tables[1].rows[1][3]);
}

}  // namespace
}  // namespace softamp::reproduce
