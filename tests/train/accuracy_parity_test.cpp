// MIXED_PRECISION T19 at length: under TensorFlow's rewrite a network is as accurate as in float32, by 12,000 images of
// Fashion-MNIST and five seeds. It runs under the label nightly (SOFTAMP_PARITY=nightly).
//
// The criterion is a test of equivalence, not one of difference: five seeds that show no difference would prove little.
// Of each seed's pair of runs the difference d in points of accuracy is taken; the rewrite counts as equal where the
// 90 % confidence interval of the mean of d, mean +- t s / sqrt(n), lies within (-1, 1): two one-sided t-tests at 5 %
// each, so that the rewrite is neither a point worse nor a point better. A mean within a point alone would be met by
// luck; an interval that only reaches from below would not notice a rewrite that changes what is trained.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/train/quiet_run.h"
#include "tests/train/real_images.h"

namespace softamp {
namespace {

struct Interval {
  double mean = 0, half = 0;
  bool within(double bound) const { return mean - half > -bound && mean + half < bound; }
};

/// 90 % of the mean of five differences.
Interval interval_of_five(const std::vector<double>& d) {
  constexpr double kStudent = 2.1318;  // 95 % of Student's distribution with 4 degrees of freedom
  Interval i;
  for (const double x : d) i.mean += x / 5;
  double squares = 0;
  for (const double x : d) squares += (x - i.mean) * (x - i.mean);
  i.half = kStudent * std::sqrt(squares / 4 / 5);
  return i;
}

// tests: T19
TEST(AccuracyParity, TheCriterionIsTwoSided) {  // MIXED_PRECISION T19: by hand
  // Deviations of 0.2 make an interval of 2.1318 * 0.2 / sqrt(5) = 0.1907 at each side.
  const auto around = [](double mean, double scale = 1) {
    const double d = 0.2 * scale;  // -d -d 0 d d: the variance is d^2
    return interval_of_five({mean - d, mean - d, mean, mean + d, mean + d});
  };
  EXPECT_NEAR(around(0.3).mean, 0.3, 1e-12);
  EXPECT_NEAR(around(0.3).half, 0.1907, 1e-4);
  EXPECT_TRUE(around(0).within(1));
  EXPECT_TRUE(around(0.8).within(1));
  EXPECT_TRUE(around(-0.8).within(1));
  EXPECT_FALSE(around(0.82).within(1)) << "better by a point is not ruled out";
  EXPECT_FALSE(around(-0.82).within(1)) << "worse by a point is not ruled out";
  EXPECT_FALSE(around(0, 6).within(1)) << "too few seeds for such deviations";
}

// tests: T19
TEST(AccuracyParity, TheRewriteOn12000ImagesAndFiveSeeds) {
  const char* nightly = std::getenv("SOFTAMP_PARITY");
  if (!nightly || std::string(nightly) != "nightly") GTEST_SKIP() << "a minute: it runs under the label nightly";
  std::string missing;
  const std::filesystem::path folder = test::fashion_mnist_folder(missing);
  if (!missing.empty()) GTEST_SKIP() << "Fashion-MNIST is not there: " << missing;
  struct Run {
    double accuracy;
    int64_t skipped, converted;
  };
  const auto run = [&](const char* mechanism, uint64_t seed) {
    TrainSettings s;
    s.network = "small_cnn";
    s.mechanism = mechanism;
    s.data = folder.string();
    s.train_images = 12000;
    s.test_images = 10000;
    s.epochs = 3;
    s.shuffle = true;
    s.seed = seed;
    const RunSummary r = test::quiet_run(s);
    return Run{100 * r.evaluations.back().accuracy(), r.skipped, r.mechanism ? r.mechanism->converted : 0};
  };
  std::vector<double> differences;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Run float32 = run("none", seed), rewritten = run("tensorflow=2.3", seed);
    std::printf("seed %d: float32 %.2f %%, rewritten %.2f %%, %d steps skipped\n", static_cast<int>(seed),
                float32.accuracy, rewritten.accuracy, static_cast<int>(rewritten.skipped));
    EXPECT_GT(float32.accuracy, 80) << "nothing was learned";
    EXPECT_GT(rewritten.converted, 0) << "nothing was rewritten";
    differences.push_back(rewritten.accuracy - float32.accuracy);
  }
  const Interval i = interval_of_five(differences);
  std::printf("rewritten - float32: %+.3f points, 90 %% interval %+.3f .. %+.3f\n", i.mean, i.mean - i.half,
              i.mean + i.half);
  EXPECT_TRUE(i.within(1)) << i.mean << " +- " << i.half << " points of accuracy";
}

}  // namespace
}  // namespace softamp
