#include "src/reproduce/sums/harmonic_sum.h"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/integer_math.h"
#include "softamp/numerics/operations.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/sums/sum_cases.h"

namespace softamp::reproduce {
namespace {

/// Points of a curve: all of the first few, then ever rarer ones.
class HarmonicSampler {
 public:
  HarmonicSampler(const FloatFormat& f, Curve* curve) : format_(f), curve_(curve) {}
  void see(uint64_t i, uint64_t code) {
    if (!curve_ || i < next_) return;
    curve_->x.push_back(static_cast<double>(i));
    curve_->y.push_back(value_of(format_, code));
    next_ = std::max(i + 1, static_cast<uint64_t>(static_cast<double>(i) * 1.15));
  }
  void end(uint64_t i, uint64_t code) {
    next_ = 0;
    see(i, code);
  }

 private:
  const FloatFormat& format_;
  Curve* curve_;
  uint64_t next_ = 0;
};

}  // namespace

uint64_t harmonic_term(const FloatFormat& format, const RoundingPolicy& policy, uint64_t i) {
  constexpr int kEveryBit = 62;
  const Exact quotient = softamp::detail::quotient({false, 0, 1}, {false, 0, i}, kEveryBit);
  return round_and_pack(format, quotient, policy).code;
}

HarmonicSum harmonic_sum(const FloatFormat& format, const RoundingPolicy& policy, Curve* curve) {
  const Semantics semantics = Semantics::ieee(policy);
  HarmonicSampler sampler(format, curve);
  uint64_t sum = 0;
  for (uint64_t i = 1;; ++i) {
    const uint64_t term = harmonic_term(format, policy, i);
    const uint64_t next = fp::add(format, sum, term, semantics).code;
    if (next == sum || !format.is_finite(next)) {
      if (format.is_finite(next)) sampler.end(i, next);
      return {next, i};
    }
    // Rounded up, a term of no more than a quantum takes the sum to its neighbour, and so do all later ones, which are
    // smaller and never 0: what is left of the way to overflow need not be gone.
    if (policy.mode == RoundingMode::kUp && next == sum + 1 &&
        value_of(format, term) <= value_of(format, next) - value_of(format, sum)) {
      const uint64_t overflow = i + (format.max_finite_code() - next) + 1;
      for (uint64_t code = next; code <= format.max_finite_code() && curve; code += std::max<uint64_t>(1, code / 64))
        sampler.see(i + (code - next), code);
      return {fp::add(format, format.max_finite_code(), term, semantics).code, overflow};
    }
    sum = next;
    sampler.see(i, sum);
  }
}

namespace {

/// The distribution of the sum of these terms, positive and descending.
void find_distribution(const FloatFormat& f, int bits, const std::vector<uint16_t>& terms, StochasticHarmonic& result,
                       const std::function<void(double)>& progress) {
  constexpr size_t kBlock = 1024;
  SumChain chain(f, bits);
  size_t told = 0;
  for (size_t i = 0; i < terms.size();) {
    size_t end = i;  // equal terms together
    while (end < terms.size() && terms[end] == terms[i] && end - i < kBlock) ++end;
    chain.add(terms[i], end - i);
    i = end;
    if (i - told < kBlock) continue;
    told = i;
    progress(static_cast<double>(i) / static_cast<double>(terms.size()));
  }
  result.beyond = chain.beyond();
  result.expected = chain.distribution();
}

}  // namespace

StochasticHarmonic stochastic_harmonic(const FloatFormat& format, int bits, uint64_t seed, uint64_t paths,
                                       uint64_t terms, const std::function<void(double)>& progress) {
  constexpr uint64_t kBlock = 1024;   // terms between two looks at the progress
  constexpr uint64_t kAtOnce = 512;   // paths that a thread takes through a block
  constexpr double kPathShare = 0.6;  // of the time; the rest is the distribution's
  std::vector<uint16_t> term(terms);
  StochasticHarmonic result{};
  for (uint64_t i = 0; i < terms; ++i) {
    term[i] = static_cast<uint16_t>(harmonic_term(format, {}, i + 1));
    result.exact_terms += value_of(format, term[i]);
  }
  const Paths adder(format, experiment_semantics(RoundingMode::kStochastic, bits), seed);
  const uint32_t site = sum_site(format, bits);
  std::vector<uint16_t> sums(paths);
  for (uint64_t begin = 0; begin < terms; begin += kBlock) {
    const uint64_t end = std::min(terms, begin + kBlock);
    tbb::parallel_for(uint64_t{0}, (paths + kAtOnce - 1) / kAtOnce, [&](uint64_t chunk) {
      const uint64_t first = chunk * kAtOnce, count = std::min(kAtOnce, paths - first);
      const std::span<uint16_t> mine = std::span(sums).subspan(first, count);
      std::vector<uint16_t> addend(count);
      for (uint64_t i = begin; i < end; ++i) {
        std::fill(addend.begin(), addend.end(), term[i]);
        adder.add(mine, addend, mine, {site, static_cast<uint32_t>(i), first});
      }
    });
    progress(kPathShare * static_cast<double>(end) / static_cast<double>(terms));
  }
  for (const uint16_t code : sums) result.sums.push_back(value_of(format, code));
  find_distribution(format, bits, term, result, [&](double share) { progress(kPathShare + (1 - kPathShare) * share); });
  // Random bits that do not reach all that is discarded cut it off: less than 2^-bits quanta of the sum an addition,
  // toward zero. No sum has a greater quantum than the greatest of all at the end.
  const uint64_t greatest = result.expected.first_code + result.expected.probability.size();
  if (greatest < format.max_finite_code()) {
    const double quantum = value_of(format, greatest + 1) - value_of(format, greatest);
    result.bias_bound = static_cast<double>(terms) * std::ldexp(quantum, -bits);
  }
  return result;
}

}  // namespace softamp::reproduce
