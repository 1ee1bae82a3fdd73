// The generators as std::uniform_random_bit_generator: order, discard, equality, distributions of Boost and std.
#include <gtest/gtest.h>

#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "softamp/numerics/random.h"
#include "softamp/numerics/xoroshiro.h"

namespace softamp {
namespace {

static_assert(std::uniform_random_bit_generator<PhiloxGenerator>);
static_assert(std::uniform_random_bit_generator<Xoroshiro128aox>);
static_assert(PhiloxGenerator::min() == 0 && PhiloxGenerator::max() == 0xFFFFFFFFu);
static_assert(Xoroshiro128aox::min() == 0 && Xoroshiro128aox::max() == 0xFFFFFFFFFFFFFFFFu);

TEST(PhiloxGenerator, YieldsTheLanesInOrder) {
  const RandomBits source{42};
  PhiloxGenerator generator(source, 1, 7);
  for (uint64_t n = 0; n < 50; ++n) {
    EXPECT_EQ(generator.position(), n);
    EXPECT_EQ(generator(), source.bits(1, 7, n, 32)) << n;
  }
}

TEST(PhiloxGenerator, DiscardEqualsDrawing) {
  for (uint64_t skipped = 0; skipped < 20; ++skipped) {
    PhiloxGenerator drawn(RandomBits{5}), discarded(RandomBits{5});
    for (uint64_t n = 0; n < skipped; ++n) drawn();
    discarded.discard(skipped);
    EXPECT_EQ(drawn, discarded) << skipped;
    EXPECT_EQ(drawn(), discarded()) << skipped;
    EXPECT_EQ(drawn, discarded) << skipped;
  }
  PhiloxGenerator far(RandomBits{5});
  far.discard(uint64_t{1} << 50);
  far.discard(3);
  EXPECT_EQ(far(), (RandomBits{5}.bits(0, 0, (uint64_t{1} << 50) + 3, 32)));
}

TEST(PhiloxGenerator, EqualityComparesSourceAndPlace) {
  const PhiloxGenerator generator(RandomBits{5}, 1, 2);
  PhiloxGenerator moved = generator;
  moved();
  EXPECT_NE(moved, generator);
  EXPECT_NE(PhiloxGenerator(RandomBits{5}, 1, 3), generator);
  EXPECT_NE(PhiloxGenerator(RandomBits{5}, 2, 2), generator);
  EXPECT_NE(PhiloxGenerator(RandomBits{6}, 1, 2), generator);
  EXPECT_EQ(PhiloxGenerator(RandomBits{5}, 1, 2), generator);
}

template <class Generator>
class Distributions : public ::testing::Test {};
using Generators = ::testing::Types<PhiloxGenerator, Xoroshiro128aox>;
TYPED_TEST_SUITE(Distributions, Generators);

// Over the generator's whole range Boost's uniform distribution returns the generator's number itself.
TYPED_TEST(Distributions, BoostUniformOverTheWholeRange) {
  using Number = typename TypeParam::result_type;
  TypeParam drawn, raw;
  boost::random::uniform_int_distribution<Number> everything(0, std::numeric_limits<Number>::max());
  for (int n = 0; n < 1000; ++n) EXPECT_EQ(everything(drawn), raw());
}

TYPED_TEST(Distributions, BoostUniformReachesEveryFaceOfADie) {
  TypeParam generator;
  boost::random::uniform_int_distribution<int> die(1, 6);
  std::set<int> faces;
  for (int n = 0; n < 1000; ++n) faces.insert(die(generator));  // one is missing with probability 6 (5/6)^1000 < 1e-78
  EXPECT_EQ(faces, (std::set<int>{1, 2, 3, 4, 5, 6}));
}

// N(0,1): the mean of n has standard deviation 1/sqrt(n), the mean square sqrt(2/n). Two bounds of 6.5 of these, for
// two distributions and two generators: by chance (normal approximation, n = 2^16) one of the eight fails for fewer
// than one choice of seeds in 1e9. The seeds are fixed, so what passes once passes always.
template <class Generator, class Distribution>
void expect_standard_normal(Distribution distribution) {
  Generator generator;
  constexpr int kCount = 1 << 16;
  double sum = 0, squares = 0;
  for (int n = 0; n < kCount; ++n) {
    const double x = distribution(generator);
    sum += x;
    squares += x * x;
  }
  EXPECT_LT(std::abs(sum / kCount), 6.5 / std::sqrt(kCount));
  EXPECT_LT(std::abs(squares / kCount - 1), 6.5 * std::sqrt(2.0 / kCount));
}

TYPED_TEST(Distributions, Normal) {
  expect_standard_normal<TypeParam>(boost::random::normal_distribution<double>());
  expect_standard_normal<TypeParam>(std::normal_distribution<double>());
}

}  // namespace
}  // namespace softamp
