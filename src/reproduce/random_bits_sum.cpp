// 0.0001 added 10,000 times in fp16 with few random bits: emulated, and its exact distribution.
//
// The sum is a Markov chain on the codes of fp16. Its distribution follows addition by addition from the formulas of
// rule D26 for the chance to go up, in integers of 2^-24; that shares no code with the emulated unit, and gives the
// mean and the standard deviation by which the emulated sums are judged.
#include "softamp/numerics/operations.h"
#include "softamp/report/running_sum.h"
#include "src/reproduce/paths.h"
#include "src/reproduce/random_bits_parts.h"

#include <bit>
#include <cmath>

namespace softamp::reproduce::few_bits {
namespace {

constexpr uint64_t kAddend = 1678;  // fp16(0.0001) in units of 2^-24
constexpr size_t kCodes = 0x4400;   // sums below 4

/// A finite non-negative fp16 number in units of 2^-24.
uint64_t units_of(uint64_t code) {
  const uint64_t field = code >> 10, mantissa = code & 0x3FF;
  return field == 0 ? mantissa : (mantissa | 0x400) << (field - 1);
}

/// Of 2^r random numbers, how many go up at position rest / 2^shift.
uint64_t chances(StochasticVariant variant, uint64_t rest, int shift, int r) {
  const uint64_t all = uint64_t{1} << r;
  const uint64_t scaled = rest << r, unit = uint64_t{1} << shift;  // rest < 2^shift <= 2^15
  uint64_t whole = scaled >> shift;
  const uint64_t left = scaled & (unit - 1);
  switch (variant) {
    case StochasticVariant::kHalf: {  // floor(d 2^(r+1)) + 2 R + 1 >= 2^(r+1)
      const uint64_t twice = (scaled << 1) >> shift;
      return (twice + 1) / 2;
    }
    case StochasticVariant::kRne: whole += 2 * left > unit || (2 * left == unit && (whole & 1) != 0); break;
    case StochasticVariant::kOdd: whole += 2 * left > unit || (2 * left == unit && (whole & 1) == 0); break;
    case StochasticVariant::kCarry:
    case StochasticVariant::kAtLeast: break;
  }
  return std::min(whole, all);
}

/// One addition to a sum: the lower of its two possible results, and the chance of the upper one, the next code.
struct Step {
  uint16_t below;
  double up;
};

std::vector<Step> steps_of(StochasticVariant variant, int r) {
  std::vector<Step> steps(kCodes);
  for (uint64_t code = 0; code < kCodes; ++code) {
    const uint64_t exact = units_of(code) + kAddend;
    const int shift = std::max(0, static_cast<int>(std::bit_width(exact)) - 11);
    const uint64_t kept = exact >> shift, rest = exact - (kept << shift);
    // Codes are consecutive: of `kept` with its hidden bit in the binade whose quantum is 2^shift units.
    steps[code].below = static_cast<uint16_t>((static_cast<uint64_t>(shift) << 10) + kept);
    steps[code].up = std::ldexp(static_cast<double>(chances(variant, rest, shift, r)), -r);
  }
  return steps;
}

/// Mean and standard deviation after kAdditions. What is less likely than 1e-20 is dropped: in all below 1e-12.
void find_distribution(LongSum& sum) {
  const std::vector<Step> steps = steps_of(sum.variant, sum.random_bits);
  std::vector<double> now(kCodes), next(kCodes);
  size_t first = 0, last = 0;  // codes with a chance
  now[0] = 1;
  for (uint64_t i = 0; i < kAdditions; ++i) {
    size_t low = kCodes, high = 0;
    for (size_t code = first; code <= last; ++code) {
      const double chance = now[code];
      now[code] = 0;
      if (chance < 1e-20) continue;
      const Step& step = steps[code];
      next[step.below] += chance * (1 - step.up);
      next[step.below + size_t{1}] += chance * step.up;
      low = std::min<size_t>(low, step.below);
      high = std::max<size_t>(high, step.below + size_t{1});
    }
    now.swap(next);
    first = low;
    last = high;
  }
  double mean = 0, squares = 0;
  const auto value = [](size_t code) { return std::ldexp(static_cast<double>(units_of(code)), -24); };
  for (size_t code = first; code <= last; ++code) mean += now[code] * value(code);
  for (size_t code = first; code <= last; ++code) squares += now[code] * std::pow(value(code) - mean, 2);
  sum.exact_mean = mean;
  sum.exact_sd = std::sqrt(squares);
}

}  // namespace

LongSum long_sum(StochasticVariant variant, int random_bits, uint64_t paths, uint64_t seed) {
  LongSum sum{variant, random_bits, paths, 0, 0, 0, 0};
  find_distribution(sum);

  RunningSumSetup setup;
  setup.semantics = experiment_semantics(RoundingMode::kStochastic, random_bits);
  setup.semantics.narrow.variant = variant;
  setup.addend = fp::from_double(kFp16, 0.0001);
  setup.count = kAdditions;
  setup.replicas = paths;
  // Every setting reads random words of its own: running_sum has no other part of the address free.
  setup.seed = seed + (static_cast<uint64_t>(variant) * 64 + static_cast<uint64_t>(random_bits)) * 0x9E3779B97F4A7C15u;
  std::vector<double> values;
  for (const uint64_t code : running_sum(setup).codes) values.push_back(fp::to_double(kFp16, code));
  const MeanAndDeviation found = mean_and_deviation(values);
  sum.mean = found.mean;
  sum.sd = found.sd;
  return sum;
}

}  // namespace softamp::reproduce::few_bits
