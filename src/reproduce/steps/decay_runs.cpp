#include "src/reproduce/steps/decay_runs.h"

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/reproduce/survey.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace softamp::reproduce::stepping {
namespace {

using survey::quantum_at;

/// The rounding sites of a run.
struct DecaySite {
  enum Kind : uint32_t { kStepLength, kQuotient, kProduct, kSum };
};

uint32_t decay_site(const DecayRun& run, DecaySite::Kind kind) {
  return site_of(run.format, run.which << 5 | run.place, kind);
}

/// fl(T/n): T is a power of two.
uint64_t step_length(const DecayCase& c, const FloatFormat& f, uint64_t n, const RoundingPolicy& p, uint32_t word) {
  return round_and_pack(f, quotient(1, n, c.end), p, word).code;
}

template <class Arithmetic, class Code>
void step_through(const DecayRun& run, const Semantics& semantics, uint64_t seed, const std::vector<Code>& h,
                  std::vector<Code>& y, JobProgress& progress) {
  const DecayCase& c = kDecayCases[run.which];
  const FloatFormat& f = run.format;
  const Arithmetic unit(f, semantics, seed);
  const RandomBits random{seed};
  const bool draws = semantics.draws(f);
  const int r = semantics.rounding(f).random_bits;
  const uint64_t divisor = fp::from_double(f, c.divisor);
  const uint32_t quotients = decay_site(run, DecaySite::kQuotient), products = decay_site(run, DecaySite::kProduct);
  const uint32_t sums = decay_site(run, DecaySite::kSum);
  const uint32_t steps_a_report = std::max(1u, 200000 / run.paths);
  std::vector<Code> g(y.size());
  for (uint32_t k = 1; k <= run.n; ++k) {
    for (size_t i = 0; i < y.size(); ++i) {
      uint64_t slope = y[i];
      if (c.divisor != 1)
        slope = fp::div(f, slope, divisor, semantics, draws ? random.bits(k, quotients, i, r) : 0).code;
      g[i] = static_cast<Code>(f.is_zero(slope) && !f.has_negative_zero() ? slope : slope ^ f.sign_mask());
    }
    unit.mul(h, g, g, {products, k, 0});
    unit.add(y, g, y, {sums, k, 0});
    if (k % steps_a_report == 0) progress.add(decay_work(run) / run.n * steps_a_report);
  }
}

template <class Arithmetic, class Code>
DecayEnd run_in(const DecayRun& run, int bits, uint64_t seed, JobProgress& progress) {
  const DecayCase& c = kDecayCases[run.which];
  const FloatFormat& f = run.format;
  const Semantics semantics = experiment_semantics(run.mode, bits);
  const RandomBits random{seed};
  std::vector<Code> h(run.paths), y(run.paths, static_cast<Code>(fp::from_double(f, c.y0())));
  for (uint32_t i = 0; i < run.paths; ++i) {
    const uint32_t word = semantics.draws(f) ? random.bits(0, decay_site(run, DecaySite::kStepLength), i, bits) : 0;
    h[i] = static_cast<Code>(step_length(c, f, run.n, semantics.rounding(f), word));
  }
  step_through<Arithmetic>(run, semantics, seed, h, y, progress);
  DecayEnd end;
  for (uint32_t i = 0; i < run.paths; ++i) {
    end.h.push_back(fp::to_double(f, h[i]));
    end.y.push_back(fp::to_double(f, y[i]));
  }
  return end;
}

/// All real numbers up to `value` (included or not) that round to nearest even to at most some code.
struct Preimage {
  double value;
  bool closed;
  bool holds(double x) const { return closed ? x <= value : x < value; }
};

/// Half a quantum above the number of a format is a tie, which goes to the even code.
Preimage rounding_to_at_most(const FloatFormat& f, double number) {
  const uint64_t code = fp::from_double(f, number);
  return {(number + fp::to_double(f, code + 1)) / 2, (code & 1) == 0};
}

/// The greatest number of the format, not negative, for which `holds` is true; it is true for 0 and for all numbers up
/// to some limit.
template <class Holds>
double greatest_number(const FloatFormat& f, Holds holds) {
  uint64_t below = 0, above = f.max_finite_code() + 1;
  while (above - below > 1) {
    const uint64_t middle = (below + above) / 2;
    (holds(fp::to_double(f, middle)) ? below : above) = middle;
  }
  return fp::to_double(f, below);
}

}  // namespace

double DecayCase::y0() const { return std::ldexp(1.0, start); }
double DecayCase::duration() const { return std::ldexp(1.0, end); }
double DecayCase::solution() const { return y0() * std::exp(-duration() / divisor); }

double decay_work(const DecayRun& run) {
  return 1.0 * run.n * run.paths * (kDecayCases[run.which].divisor == 1 ? 2 : 4);
}

DecayEnd run_decay(const DecayRun& run, int bits, uint64_t seed, JobProgress& progress) {
  if (run.format.storage_bits() <= 16) return run_in<Paths, uint16_t>(run, bits, seed, progress);
  return run_in<WidePaths, uint32_t>(run, bits, seed, progress);
}

// Given its h, a path's expectation is y0 rho^n, rho = 1 - h/c, because each step is linear in y and each rounding
// unbiased, up to the 2^-r quanta that r random bits leave. A rounding of x, at most a off a number of the format, onto
// a grid of quantum q has variance d (1 - d) q^2 <= min(q^2 / 4, a q). What step k adds to the variance, the steps
// after it shrink by rho^(2 (n - k)); a is y0 (h / c) rho^(k - 1) on average, so that over all steps
//   the first bound comes to q^2/4 F, F = (1 - rho^(2n)) / (1 - rho^2), and the second to q L, L = y0 rho^(n-1) (1 -
//   rho^n), and q^2 F 2^-r more for what r bits cut off, which makes d so much greater at the most.
// sums: q is the quantum just below y0, which y never exceeds; products: that of h y0 / c; quotients: that of y0 / c,
// times h, of which the first bound serves. Bias: at most 2^-r of a quantum each.
DecayExpectation expected_decay(const DecayRun& run, const std::vector<double>& h, int bits) {
  const DecayCase& c = kDecayCases[run.which];
  const FloatFormat& f = run.format;
  const double n = run.n, slope = c.y0() / c.divisor, unit = std::ldexp(1.0, -bits);
  const double q = quantum_at(f, 0.75 * c.y0());
  const double grain = c.divisor == 1 ? 0 : quantum_at(f, slope * (1 + std::ldexp(1.0, 1 - f.precision)));
  double mean = 0, variance = 0, bias = 0;
  for (const double step : h) {
    const double share = step / c.divisor, logarithm = std::log1p(-share), kept = std::exp(n * logarithm);
    const double often = share == 0 ? n : std::expm1(2 * n * logarithm) / std::expm1(2 * logarithm);
    const double lost = c.y0() * std::exp((n - 1) * logarithm) * (1 - kept);
    const double product = step == 0 ? 0 : quantum_at(f, step * (slope + grain));
    mean += c.y0() * kept;
    const double cut = often * unit;
    variance += std::min(often * q * q / 4, q * (lost + cut * q)) +
                std::min(often * product * product / 4, product * (lost + cut * product)) +
                often * step * step * grain * grain / 4;
    bias += n * unit * (q + product + step * grain);
  }
  const double paths = static_cast<double>(h.size());
  // The last term is for these formulas' own evaluation in binary64.
  return {mean / paths, kStandardErrors * std::sqrt(variance) / paths + bias / paths + 1e-11 * c.y0()};
}

uint64_t found_stagnation(const DecayCase& c, const FloatFormat& f) {
  const Semantics nearest = experiment_semantics(RoundingMode::kNearestEven);
  const uint64_t y0 = fp::from_double(f, c.y0()), divisor = fp::from_double(f, c.divisor);
  const uint64_t slope = fp::div(f, y0, divisor, nearest).code;
  // Rounding is monotone, and so is all of a step: what n leaves unchanged, n + 1 does.
  uint64_t moves = 0, stays = uint64_t{1} << 40;
  while (stays - moves > 1) {
    const uint64_t n = (moves + stays) / 2;
    const uint64_t h = step_length(c, f, n, nearest.rounding(f), 0);
    const uint64_t p = fp::mul(f, h, slope, nearest).code;
    (fp::sub(f, y0, p, nearest).code == y0 ? stays : moves) = n;
  }
  return stays;
}

// y0 - p rounds to y0 where p is at most half the quantum below y0, a tie included, y0 being a power of two and so
// even. p is then any number of the format up to there; the product h g rounds to such a p up to half a quantum
// further; and T / n rounds to such an h up to half a quantum further again.
uint64_t predicted_stagnation(const DecayCase& c, const FloatFormat& f) {
  const double half = quantum_at(f, 0.75 * c.y0()) / 2;
  const double p = greatest_number(f, [&](double x) { return x <= half; });
  const Preimage products = rounding_to_at_most(f, p);
  const double g = fp::to_double(f, fp::from_double(f, c.y0() / c.divisor));
  const double h = greatest_number(f, [&](double x) { return products.holds(x * g); });
  const Preimage lengths = rounding_to_at_most(f, h);
  // T / n <= value  <=>  T <= n value, which binary64 holds exactly: 25 bits by at most 28.
  uint64_t n = static_cast<uint64_t>(std::max(1.0, std::floor(c.duration() / lengths.value) - 1));
  const auto stays = [&](uint64_t steps) {
    const double product = static_cast<double>(steps) * lengths.value;
    return lengths.closed ? product >= c.duration() : product > c.duration();
  };
  while (!stays(n)) ++n;
  return n;
}

}  // namespace softamp::reproduce::stepping
