// The harmonic series 1 + 1/2 + 1/3 + ..., which has no limit, but in floating point has an end.
//
// S <- fl(S + fl(1/i)), i = 1, 2, ..., in every rounding mode: 1/i is the exact quotient rounded once, so is the sum.
// No binary64 in between: rounded up, S + 1/i would there be lost in a large S, and the sum would seem to stop.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "softamp/report/names.h"
#include "softamp/report/number_text.h"
#include "softamp/report/running_sum.h"
#include "src/reproduce/harmonic_sum.h"
#include "src/reproduce/shelf.h"

namespace softamp::reproduce {
namespace {

constexpr uint64_t kDefaultSamples = 1000, kBriefSamples = 64;
constexpr uint64_t kTerms = uint64_t{1} << 16, kBriefTerms = uint64_t{1} << 12;  ///< of stochastic sums
constexpr int kDefaultBits = 13;
constexpr double kStandardErrors = 4.5;  ///< exceeded by chance once in 150,000
constexpr double kScalarRate = 2e7, kPathRate = 2e8;

/// Where the sum ends, as published: Higham, "The mathematics of floating-point arithmetic"; Higham and Pranesh 2019.
struct Published {
  const char* format;
  RoundingMode mode;
  const char* sum;
  uint64_t term;
};
constexpr Published kPublished[] = {
    {"fp16", RoundingMode::kNearestEven, "7.0859375", 513},
    {"fp16", RoundingMode::kDown, "5.74609375", 257},
    {"fp16", RoundingMode::kTowardZero, "5.74609375", 257},
    {"fp16", RoundingMode::kUp, "inf", 13910},
    {"bf16", RoundingMode::kNearestEven, "5.0625", 65},
    {"bf16", RoundingMode::kDown, "4", 41},
    {"bf16", RoundingMode::kTowardZero, "4", 41},
    {"bf16", RoundingMode::kUp, "inf", 16148},
    {"fp32", RoundingMode::kNearestEven, "15.4036827", 2097152},
};

struct Choices {
  std::vector<FloatFormat> formats;
  std::vector<RoundingMode> modes;
  bool stochastic = true;
  int bits;
  uint64_t seed, samples, terms;
};

Choices choices_of(const Request& r) {
  Choices c;
  c.formats = r.formats;
  if (c.formats.empty()) c.formats = {kFp16, kBf16, kFp32, kE4m3, kE5m2, FloatFormat::ieee(3, 5)};
  c.modes = {RoundingMode::kNearestEven, RoundingMode::kDown, RoundingMode::kTowardZero, RoundingMode::kUp};
  if (!r.roundings.empty()) {
    c.modes = r.roundings;
    const auto end = std::remove(c.modes.begin(), c.modes.end(), RoundingMode::kStochastic);
    c.stochastic = end != c.modes.end();
    c.modes.erase(end, c.modes.end());
  }
  c.bits = r.bits.value_or(kDefaultBits);
  c.seed = r.seed;
  c.samples = r.samples.value_or(r.brief ? kBriefSamples : kDefaultSamples);
  c.terms = r.brief ? kBriefTerms : kTerms;
  for (const FloatFormat& f : c.formats)
    if (!f.valid() || f == kBinary64)
      throw std::invalid_argument("format " + format_name(f) +
                                  " in harmonic-series: expected one of 2..8 exponent bits and a precision of 2..24");
  if (c.stochastic && (c.samples < 2 || c.samples > uint64_t{1} << 20))
    throw std::invalid_argument("samples " + std::to_string(c.samples) + " in harmonic-series: expected 2.." +
                                std::to_string(uint64_t{1} << 20));
  return c;
}

/// Terms that fp32 needs, by far the most, are left out of the brief form.
bool brief_enough(const Request& r, const FloatFormat& f) { return !r.brief || f.precision <= 14; }

std::string text_of(const FloatFormat& f, uint64_t code) { return exact_decimal(f, code); }

std::string digits(double value, int count) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", count, value);
  return text;
}

void check_published(Outcome& o, const FloatFormat& f, RoundingMode mode, const HarmonicSum& sum) {
  const std::string name = format_name(f);
  for (const Published& p : kPublished) {
    if (name != p.format || mode != p.mode) continue;
    const std::string theirs = p.sum;
    // fp32's sum is published to nine digits, the others to the last.
    const std::string ours = f == kFp32 ? digits(value_of(f, sum.code), 9) : text_of(f, sum.code);
    o.checks.push_back({name + ", " + name_of(mode) + ": sum", Against::kFigure, ours, theirs, ours == theirs});
    const std::string term = std::to_string(sum.term), their_term = std::to_string(p.term);
    o.checks.push_back({name + ", " + name_of(mode) + ": term at which it ends", Against::kFigure, term, their_term,
                        term == their_term});
  }
}

/// Rounded to nearest the sum ends where the term has come down to half a quantum of it; toward zero, below a whole
/// one.
void check_end(Outcome& o, const FloatFormat& f, RoundingMode mode, const HarmonicSum& sum) {
  if (mode == RoundingMode::kUp || mode == RoundingMode::kNearestAway || !f.is_finite(sum.code)) return;
  const double quantum = value_of(f, sum.code + 1) - value_of(f, sum.code);
  const double term = value_of(f, harmonic_term(f, RoundingPolicy::ieee(mode), sum.term));
  const bool nearest = mode == RoundingMode::kNearestEven;
  const bool agrees = nearest ? term <= quantum / 2 : term < quantum;
  o.checks.push_back({format_name(f) + ", " + name_of(mode) + ": the term it ends at, in quanta of the sum",
                      Against::kBound, digits(term / quantum, 4), nearest ? "at most 0.5" : "below 1", agrees});
}

void deterministic(Outcome& o, const FloatFormat& f, RoundingMode mode, Curve* curve) {
  const HarmonicSum sum = harmonic_sum(f, RoundingPolicy::ieee(mode), curve);
  o.tables[0].rows.push_back({format_name(f), name_of(mode), text_of(f, sum.code), code_text(f, sum.code), sum.term,
                              f.is_finite(sum.code) ? "stops" : "overflows"});
  check_published(o, f, mode, sum);
  check_end(o, f, mode, sum);
}

/// Independent stochastic sums of the terms rounded to nearest, and what they are expected to be.
void stochastic(Outcome& o, const Choices& c, const FloatFormat& f, Watch& watch, double done, double total) {
  const StochasticHarmonic s =
      stochastic_harmonic(f, c.bits, c.seed, c.samples, c.terms, [&](double share) { watch.at(done + share, total); });
  const MeanAndDeviation found = mean_and_deviation(s.sums);
  const double error = found.sd / std::sqrt(static_cast<double>(c.samples));
  o.tables[1].rows.push_back(
      {format_name(f), c.bits, c.samples, c.terms, found.mean, found.sd, error, s.exact_terms, s.bias_bound});
  const double low = s.exact_terms - s.bias_bound - kStandardErrors * error;
  const double high = s.exact_terms + kStandardErrors * error;
  const double slack = 1e-12 * s.exact_terms;
  o.checks.push_back({format_name(f) + ", stochastic: mean of the sums of " + std::to_string(c.terms) + " terms",
                      Against::kBound, digits(found.mean, 8), digits(low, 8) + " .. " + digits(high, 8),
                      found.mean >= low - slack && found.mean <= high + slack});
}

Plot plot_of(const std::vector<Curve>& curves, RoundingMode mode) {
  Plot plot;
  plot.title = "The harmonic series, term by term";
  plot.subtitle = "S = fl(S + fl(1/n)), rounding " + name_of(mode);
  plot.x_label = "terms n";
  plot.y_label = "sum S";
  plot.x_log = 10;
  plot.curves = curves;
  Curve exact{"exact", CurveStyle::kReference, {}, {}};
  double most = 10;
  for (const Curve& c : curves)
    if (!c.x.empty()) most = std::max(most, c.x.back());
  double h = 0;
  for (double n = 1, next = 1; n <= most; ++n) {
    h += 1 / n;
    if (n < next) continue;
    exact.x.push_back(n);
    exact.y.push_back(h);
    next = std::max(n + 1, n * 1.1);
  }
  plot.curves.push_back(exact);
  return plot;
}

Outcome run(const Request& request, Watch& watch) {
  const Choices c = choices_of(request);
  Outcome o;
  for (const FloatFormat& f : c.formats) o.settings["formats"].push_back(format_name(f));
  for (const RoundingMode m : c.modes) o.settings["roundings"].push_back(name_of(m));
  if (c.stochastic) {
    o.settings["roundings"].push_back(name_of(RoundingMode::kStochastic));
    o.settings["random_bits"] = c.bits;
    o.settings["variant"] = name_of(StochasticVariant::kCarry);
    o.settings["samples"] = c.samples;
    o.settings["stochastic_terms"] = c.terms;
  }
  o.settings["seed"] = c.seed;
  o.tables.push_back({"ends",
                      "Where the sum ends: the term that no longer changes it, or that makes it infinite",
                      {"format", "rounding", "sum", "code", "term", "how"},
                      {}});
  o.tables.push_back(
      {"stochastic",
       "Stochastic sums of so many terms fl(1/i), rounded to nearest; the exact sum of those terms",
       {"format", "random bits", "sums", "terms", "mean", "sd", "standard error", "exact", "bias toward zero, at most"},
       {}});
  std::vector<Curve> curves;
  const double total = static_cast<double>(2 * c.formats.size());
  double done = 0;
  for (const FloatFormat& f : c.formats) {
    for (const RoundingMode mode : c.modes) {
      watch.at(done, total);
      if (!brief_enough(request, f)) continue;
      Curve curve{format_name(f), CurveStyle::kBold, {}, {}};
      deterministic(o, f, mode, &curve);
      if (mode == c.modes[0]) curves.push_back(std::move(curve));
    }
    ++done;
    if (c.stochastic && f.storage_bits() <= 16) stochastic(o, c, f, watch, done, total);
    ++done;
  }
  if (!c.stochastic) o.tables.pop_back();
  if (!curves.empty())
    o.figures.push_back(
        {"sums", plot_of(curves, c.modes[0]),
         "The exact sums grow with the logarithm of n for ever; each format's stop at a height that its "
         "precision sets."});
  o.seen =
      "The sum of 1/i grows without end, but ever more slowly. In floating point a term is lost as soon as it is less "
      "than half the distance between neighbours of the sum, and since later terms are smaller still, the sum then "
      "stands for ever: in half precision at 7.09 after 512 terms, in bfloat16, with 8 bits, at 5.06 after 64, in "
      "single precision at 15.40 after two million. Rounded down or toward zero it stops twice as early; rounded up "
      "it never stops, but climbs by one neighbour a term until it overflows. Stochastic sums go on growing, and on "
      "average they are the exact sum of their terms.";
  return o;
}

double seconds_of(const Request& r) {
  const Choices c = choices_of(r);
  double s = 0;
  for (const FloatFormat& f : c.formats) {
    // To 2^p / 8 terms or so, by each mode.
    if (brief_enough(r, f)) s += static_cast<double>(c.modes.size()) * std::ldexp(1.0, f.precision - 3) / kScalarRate;
    if (c.stochastic && f.storage_bits() <= 16)
      s += static_cast<double>(c.samples) * static_cast<double>(c.terms) / kPathRate;
  }
  return s;
}

}  // namespace

Experiment harmonic_series() {
  Experiment e;
  e.name = "harmonic-series";
  e.summary = "1 + 1/2 + 1/3 + ... comes to an end in every format";
  e.source =
      "N. J. Higham, The harmonic series in floating point arithmetic; N. J. Higham and S. Pranesh, Simulating low "
      "precision floating-point arithmetic, SIAM J. Sci. Comput. 41(5), 2019";
  e.options = kFormat | kRounding | kBits | kSeed | kSamples;
  e.samples = "stochastic sums of each format [=1000]";
  e.seconds = seconds_of;
  e.run = run;
  return e;
}

}  // namespace softamp::reproduce
