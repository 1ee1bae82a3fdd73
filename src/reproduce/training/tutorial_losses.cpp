#include "src/reproduce/training/tutorial_losses.h"
#include "src/reproduce/checks.h"

#include <cmath>

#include "softamp/numbers/number_text.h"
#include "softamp/sums/running_sum.h"
#include "src/numbers/decimal_text.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/sums/sum_cases.h"
#include "src/reproduce/sums/sum_chain.h"

namespace softamp::reproduce {
namespace {

constexpr uint64_t kSteps = 1562;  ///< of one epoch: 50,000 images in batches of 32

/// What a program that shares no code with ours computed of each loss: total and mean to nearest; mean and standard
/// deviation of stochastic means, of a number of runs that is not told.
struct Loss {
  const char* text;
  const char* total;
  const char* mean;
  const char* stochastic;
};
constexpr Loss kLosses[kLossCount] = {
    {"2.302585", "3286", "2.103713", "2.30237 (0.0135)"},
    {"1.5", "2782", "1.781050", "1.50005 (0.0118)"},
    {"1.2", "1659", "1.062100", "1.20021 (0.0076)"},
    {"0.75", "1391", "0.890525", "0.74980 (0.0059)"},
    {"0.1", "175.375", "0.112276", "0.09996 (0.0008)"},
    {"1.0", "1562", "1.000000", ""},
    {"0.5", "781", "0.500000", ""},
    {"0.25", "390.5", "0.250000", ""},
    {"2.0", "3124", "2.000000", ""},
};

using Progress = std::function<void(uint64_t additions)>;

/// part: of the rounding site.
RunningSum sums(uint64_t addend, const Semantics& s, uint64_t samples, uint64_t seed, uint32_t part,
                const Progress& progress) {
  RunningSumSetup setup;
  if (s.draws(kFp16)) setup.operation = sum_site(kFp16, s.rounding(kFp16).random_bits, part);
  setup.semantics = s;
  setup.addend = addend;
  setup.count = kSteps;
  setup.replicas = samples;
  setup.seed = seed;
  return running_sum(setup, progress);
}

void add_loss(Outcome& o, Table& t, const Loss& loss, uint64_t samples, int bits, uint64_t seed, uint32_t part,
              const Progress& progress) {
  const uint64_t addend = to_code(kFp16, number_from_text(loss.text)).code;
  const uint64_t nearest = sums(addend, experiment_semantics(RoundingMode::kNearestEven), 1, seed, part, {}).codes[0];
  const std::string total = exact_decimal(kFp16, nearest);
  const std::string mean = fixed_places(value_of(kFp16, nearest) / kSteps, 6);

  std::vector<double> means;
  const Semantics stochastic = experiment_semantics(RoundingMode::kStochastic, bits);
  for (const uint64_t code : sums(addend, stochastic, samples, seed, part, progress).codes)
    means.push_back(value_of(kFp16, code) / kSteps);
  const MeanAndDeviation found = mean_and_deviation(means);
  const SumDistribution exact = sum_distribution(kFp16, addend, kSteps, bits);
  const double expected = exact.mean / kSteps, sd = exact.sd / kSteps;

  t.rows.push_back({loss.text, exact_decimal(kFp16, addend), total, mean, found.mean,
                    samples > 1 ? Json(found.sd) : Json(), expected, sd, *loss.stochastic ? loss.stochastic : "exact"});
  const std::string what = std::string("1562 losses of ") + loss.text;
  o.checks.push_back(equal(what + ", nearest: total", Against::kBound, total, loss.total));
  o.checks.push_back(equal(what + ", nearest: mean", Against::kBound, mean, loss.mean));
  const double bound = kSumStandardErrors * sd / std::sqrt(static_cast<double>(samples));
  o.checks.push_back(within(
      what + ", stochastic: mean of the means", found.mean, {expected, bound, 1e-12},
      [](double value) { return fixed_places(value, 6); }, fixed_places(bound, 6)));
}

}  // namespace

void add_losses(Outcome& outcome, uint64_t samples, int random_bits, uint64_t seed,
                const std::function<void(double)>& done) {
  Table t{"losses",
          "1562 equal losses added up in fp16; the mean is total / 1562",
          {"loss", "loss in fp16", "total, nearest", "mean, nearest", "mean, stochastic", "sd, stochastic",
           "expected mean", "expected sd", "stochastic mean (sd), computed apart"},
          {}};
  uint32_t part = 0;
  for (const Loss& loss : kLosses) {
    const auto tell = [&](uint64_t additions) {
      done(static_cast<double>(samples) * static_cast<double>(kSteps * part + additions));
    };
    tell(0);
    add_loss(outcome, t, loss, samples, random_bits, seed, part + 1, tell);
    ++part;
  }
  outcome.tables.push_back(std::move(t));
}

}  // namespace softamp::reproduce
