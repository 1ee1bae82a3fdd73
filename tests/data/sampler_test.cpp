// The order of images: what a stream is made of, that every order is a permutation and every permutation as likely.
#include "softamp/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/refusal.h"

using softamp::Sampler;

namespace {

std::vector<int64_t> epoch_of(const Sampler& sampler, int64_t count, int64_t epoch) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < count; ++i) order.push_back(sampler.image(epoch * count + i));
  return order;
}

bool is_permutation(std::vector<int64_t> order) {
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int64_t>(i)) return false;
  return true;
}

}  // namespace

TEST(Sampler, RepeatsBeforeItBatches) {
  // CIFAR-10: 50,000 images in batches of 32 are 1562 batches and 16 images, with which the second epoch begins.
  const Sampler sampler(50000, 32);
  EXPECT_EQ(sampler.batches_per_epoch(), 1562);
  EXPECT_EQ(sampler.batch(0).front(), 0);
  EXPECT_EQ(sampler.batch(1561).back(), 49983);
  std::vector<int64_t> expected(16);
  std::iota(expected.begin(), expected.end(), 49984);
  for (int64_t i = 0; i < 16; ++i) expected.push_back(i);
  EXPECT_EQ(sampler.batch(1562), expected);
  EXPECT_EQ(sampler.batch(2 * 1562).front(), 2 * 1562 * 32 - 50000);
  EXPECT_EQ(sampler.image(int64_t{1} << 60), (int64_t{1} << 60) % 50000);
}

// tests: N285
TEST(Sampler, EveryEpochIsAPermutationOfItsOwn) {
  const int64_t count = 1000;
  const Sampler sampler(count, 32, true, 5), other(count, 32, true, 6), high(count, 32, true, 5 + (uint64_t{1} << 32));
  std::vector<std::vector<int64_t>> orders;
  for (const int64_t epoch : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{1} << 24, int64_t{1} << 25})
    orders.push_back(epoch_of(sampler, count, epoch));
  orders.push_back(epoch_of(other, count, 0));
  orders.push_back(epoch_of(high, count, 0));
  for (size_t i = 0; i < orders.size(); ++i) {
    EXPECT_TRUE(is_permutation(orders[i]));
    for (size_t j = 0; j < i; ++j) EXPECT_NE(orders[i], orders[j]) << i << " and " << j;
  }
  // In any order of asking, the same; a batch runs over the end of an epoch.
  EXPECT_EQ(epoch_of(sampler, count, 0), orders[0]);
  const Sampler again(count, 32, true, 5);
  const std::vector<int64_t> batch = again.batch(31);
  for (int64_t i = 0; i < 32; ++i) {
    const int64_t sample = 31 * 32 + i;
    EXPECT_EQ(batch[static_cast<size_t>(i)],
              orders[static_cast<size_t>(sample / count)][static_cast<size_t>(sample % count)]);
  }
  EXPECT_EQ(epoch_of(Sampler(1, 1, true, 9), 1, 3), (std::vector<int64_t>{0}));
}

TEST(Sampler, KnownOrders) {
  // From a second implementation, of Philox4x32-10 and of the shuffle, in another language.
  EXPECT_EQ(epoch_of(Sampler(12, 4, true, 0), 12, 0), (std::vector<int64_t>{11, 7, 3, 10, 5, 9, 6, 8, 2, 1, 4, 0}));
  EXPECT_EQ(epoch_of(Sampler(12, 4, true, 0), 12, 1), (std::vector<int64_t>{1, 2, 9, 10, 3, 5, 11, 6, 8, 4, 0, 7}));
  EXPECT_EQ(epoch_of(Sampler(12, 4, true, 0x123456789ABCDEF0), 12, (1 << 24) + 7),
            (std::vector<int64_t>{3, 2, 11, 0, 4, 9, 5, 1, 10, 7, 8, 6}));
}

// tests: N285
TEST(Sampler, EveryPermutationOfFourIsAsLikely) {
  // 24 orders over 24,000 epochs: counts are binomial with mean 1000 and deviation sqrt(24000 x 1/24 x 23/24) = 30.96.
  // The bound is 5.5 deviations: 24 counts of fair orders leave it with probability below 24 x 4e-8 = 1e-6; and the
  // numbers are the same in every run.
  std::map<std::vector<int64_t>, int> counts;
  const Sampler sampler(4, 1, true, 11);
  for (int64_t epoch = 0; epoch < 24000; ++epoch) ++counts[epoch_of(sampler, 4, epoch)];
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 170);
}

TEST(Sampler, EveryPlaceIsAsLikely) {
  // Image i at place p, over 7000 epochs of 7 images: mean 1000, deviation sqrt(7000 x 1/7 x 6/7) = 29.3; 5.5 of them.
  int counts[7][7] = {};
  const Sampler sampler(7, 7, true, 12);
  for (int64_t epoch = 0; epoch < 7000; ++epoch) {
    const std::vector<int64_t> order = sampler.batch(epoch);
    for (size_t p = 0; p < 7; ++p) ++counts[order[p]][p];
  }
  for (const auto& image : counts)
    for (const int count : image) EXPECT_NEAR(count, 1000, 162);
}

TEST(Sampler, RefusesWithTheNumber) {
  const struct {
    int64_t count, batch;
    const char* message;
  } rows[] = {{0, 1, "0 samples; expected at least 1"},
              {10, 0, "batch size 0; expected 1 to 10, the number of samples"},
              {10, 11, "batch size 11; expected 1 to 10, the number of samples"}};
  for (const auto& row : rows)
    EXPECT_EQ(softamp::test::refusal<std::invalid_argument>([&] { Sampler(row.count, row.batch); }), row.message);
  EXPECT_EQ(softamp::test::refusal<std::invalid_argument>([] { Sampler(int64_t{1} << 32, 1, true); }),
            "4294967296 samples to be shuffled; expected at most 2^32 - 1");
  EXPECT_NO_THROW(Sampler(int64_t{1} << 32, 1, false));
  const Sampler sampler(10, 3);
  EXPECT_EQ(softamp::test::refusal<std::invalid_argument>([&] { sampler.image(-1); }),
            "sample -1; expected at least 0");
  const int64_t last = 3074457345618258601;  // the images of the next one would have numbers past 2^63
  EXPECT_EQ(sampler.batch(last).size(), 3u);
  for (const int64_t batch : {int64_t{-1}, last + 1, int64_t{1} << 62})
    EXPECT_EQ(softamp::test::refusal<std::invalid_argument>([&] { sampler.batch(batch); }),
              "batch " + std::to_string(batch) + "; expected 0 to 3074457345618258601");
}
