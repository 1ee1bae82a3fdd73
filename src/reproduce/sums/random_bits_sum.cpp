// 0.0001 added 10,000 times in fp16 with few random bits: emulated, and its exact distribution (sum_chain.h).
#include "softamp/numerics/operations.h"
#include "softamp/sums/running_sum.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/sums/random_bits_parts.h"
#include "src/reproduce/sums/sum_cases.h"
#include "src/reproduce/sums/sum_chain.h"

namespace softamp::reproduce::few_bits {

LongSum long_sum(StochasticVariant variant, int random_bits, uint64_t paths, uint64_t seed,
                 const std::function<void(uint64_t)>& progress) {
  RunningSumSetup setup;
  setup.semantics = experiment_semantics(RoundingMode::kStochastic, random_bits);
  setup.semantics.narrow.variant = variant;
  setup.addend = fp::from_double(kFp16, 0.0001);
  setup.count = kAdditions;
  setup.replicas = paths;
  setup.seed = seed;
  setup.operation = sum_site(kFp16, random_bits, static_cast<uint32_t>(variant));
  std::vector<double> values;
  for (const uint64_t code : running_sum(setup, progress).codes) values.push_back(fp::to_double(kFp16, code));
  const MeanAndDeviation found = mean_and_deviation(values);
  const SumDistribution exact = sum_distribution(kFp16, setup.addend, kAdditions, random_bits, variant);
  return {variant, random_bits, paths, found.mean, found.sd, exact.mean, exact.sd};
}

}  // namespace softamp::reproduce::few_bits
