// What does a running total of losses lose in fp16? The average loss of an epoch, as a training script reports it.
//
// 1562 batches of 32 are an epoch of CIFAR-10. Each adds its loss, here always the same, to a total in the dtype of the
// computation; at the end the total is divided by 1562. Rounded to nearest, the total creeps or stops where a loss is
// less than half of its quantum, or is rounded the same way time after time; rounded stochastically it is right on
// average; in fp32 it is right to about five digits (TUTORIAL X15).
// tests: X15
#include "softamp/softamp.h"

#include <cstdio>
#include <string>
#include <vector>

using namespace softamp;

namespace {

constexpr uint64_t kBatches = 1562;
constexpr uint64_t kTotals = 1000;  ///< independent stochastic totals

RunningSum total_of(const FloatFormat& format, const std::string& loss, const RoundingPolicy& policy,
                    uint64_t totals = 1) {
  RunningSumSetup setup;
  setup.format = format;
  setup.semantics = Semantics::ieee(policy);
  setup.addend = to_code(format, number_from_text(loss)).code;
  setup.count = kBatches;
  setup.replicas = totals;
  return running_sum(setup);
}

void line(const std::string& loss) {
  const uint64_t half = to_code(kFp16, number_from_text(loss)).code;
  const uint64_t nearest = total_of(kFp16, loss, {}).codes[0];
  std::vector<double> means;
  for (const uint64_t total : total_of(kFp16, loss, RoundingPolicy::stochastic_carry(13), kTotals).codes)
    means.push_back(value_of(kFp16, total) / kBatches);
  const MeanAndDeviation stochastic = mean_and_deviation(means);
  const double single = value_of(kFp32, total_of(kFp32, loss, {}).codes[0]) / kBatches;
  std::printf("%-9s %-12.9g %8g %9.6f %14.5f (%.4f) %12.6f\n", loss.c_str(), value_of(kFp16, half),
              value_of(kFp16, nearest), value_of(kFp16, nearest) / kBatches, stochastic.mean, stochastic.sd, single);
}

}  // namespace

int main() {
  std::printf("the average of 1562 equal losses from a running total\n\n");
  std::printf("%-9s %-12s %8s %9s %23s %12s\n", "loss", "in fp16", "total", "average", "stochastic: mean (sd)",
              "in fp32");
  for (const char* loss : {"2.302585", "1.5", "1.2", "0.75", "0.1", "1", "0.5", "0.25", "2"}) line(loss);
}
