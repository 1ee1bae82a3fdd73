// Stochastic rounding: the sum that stops at 0.25 when rounded to nearest comes out right on average.
//
// Each addition rounds up or down by chance, in proportion to the distance, so that the expected sum is the exact one.
// One sum still scatters: its standard deviation here is 0.0154, and that of the mean of twenty 0.0154 / sqrt(20).
// tests: G13
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/half.h"
#include "softamp/sums/running_sum.h"

#include <cmath>
#include <cstdio>
#include <vector>

using namespace softamp;
using namespace softamp::literals;

namespace {

RunningSumSetup ten_thousand_additions(const RoundingPolicy& policy) {
  RunningSumSetup setup;
  setup.format = kFp16;
  setup.semantics = Semantics::ieee(policy);
  setup.addend = (0.0001_h).bits();
  setup.count = 10000;
  return setup;
}

std::vector<double> values_of(const RunningSum& sum) {
  std::vector<double> values;
  for (const uint64_t code : sum.codes) values.push_back(value_of(kFp16, code));
  return values;
}

void twenty_sums() {
  // Variant carry, 13 random bits by Philox4x32-10, seed 0: the defaults.
  RunningSumSetup setup = ten_thousand_additions(RoundingPolicy::stochastic_carry());
  setup.replicas = 20;
  const RunningSum sum = running_sum(setup);
  const std::vector<double> values = values_of(sum);
  std::printf("twenty stochastic sums\n");
  for (size_t i = 0; i < values.size(); ++i) std::printf("  %.4f%s", values[i], i % 5 == 4 ? "\n" : "");
  const auto [mean, sd] = mean_and_deviation(values);
  std::printf("mean     %.6f, standard deviation %.4f\n", mean, sd);
  std::printf("exact    %.6f, %.1f standard deviations of the mean away\n", sum.exact,
              std::abs(mean - sum.exact) / (0.0154 / std::sqrt(20.0)));
  std::printf("nearest  %.6f\n", values_of(running_sum(ten_thousand_additions({})))[0]);
}

void fewer_random_bits() {
  // With r bits the chance of rounding up is cut off to a multiple of 2^-r: sums fall short of the exact one.
  std::printf("\nmean of 200 sums by random bits\n");
  for (const int bits : {4, 8, 10, 13, 16}) {
    RunningSumSetup setup = ten_thousand_additions(RoundingPolicy::stochastic_carry(bits));
    setup.replicas = 200;
    std::printf("  %2d bits  %.5f\n", bits, mean_and_deviation(values_of(running_sum(setup))).mean);
  }
}

void order_of_the_hardware() {
  // Four lanes of one vector on tile 0 after setSeed(42, 0), drawing from worker 0's xoroshiro128aox.
  RunningSumSetup setup = ten_thousand_additions(RoundingPolicy::stochastic_carry(16));
  setup.replicas = 4;
  setup.engine = RandomEngine::kXoroshiro128aox;
  setup.seed = 42;
  std::printf("\nfour lanes in hardware order, seed 42:");
  for (const uint64_t code : running_sum(setup).codes) std::printf(" %s", code_text(kFp16, code).c_str());
  std::printf("\n");
}

}  // namespace

int main() {
  twenty_sums();
  fewer_random_bits();
  order_of_the_hardware();
}
