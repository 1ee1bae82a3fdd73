// The harmonic series 1 + 1/2 + 1/3 + ..., which has no limit, but stops growing in floating point.
//
// S <- fl(S + fl(1/i)), i = 1, 2, ..., in every rounding mode: 1/i is the exact quotient rounded once, so is the sum.
// No binary64 in between: rounded up, S + 1/i would there be lost in a large S, and the sum would seem to stop.
#include <algorithm>
#include <cmath>

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/sums/running_sum.h"
#include "src/numbers/decimal_text.h"
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/sums/harmonic_sum.h"
#include "src/reproduce/sums/sum_cases.h"
#include "src/reproduce/survey.h"

namespace softamp::reproduce::harmonic_series {
namespace {

constexpr uint64_t kDefaultSamples = 1000, kBriefSamples = 64;
constexpr uint64_t kTerms = uint64_t{1} << 16, kBriefTerms = uint64_t{1} << 12;  ///< of stochastic sums
constexpr int kDefaultBits = 13;
constexpr double kScalarRate = 2e7, kPathRate = 2e8;
constexpr double kChainSeconds = 1e-5;  ///< of a term in the exact distribution

/// Where the sum ends. Those to nearest in 16 bits are published to five digits (N. J. Higham); the others were
/// computed independently: with exact fractions, and in single precision by a processor.
struct End {
  const char* format;
  RoundingMode mode;
  const char* sum;
  uint64_t term;
  bool published = false;
};
// implements: N354
constexpr End kEnds[] = {
    {"fp16", RoundingMode::kNearestEven, "7.0859375", 513, true},
    {"fp16", RoundingMode::kDown, "5.74609375", 257},
    {"fp16", RoundingMode::kTowardZero, "5.74609375", 257},
    {"fp16", RoundingMode::kUp, "inf", 13910},
    {"bf16", RoundingMode::kNearestEven, "5.0625", 65, true},
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

bool takes_stochastic(const FloatFormat& f) { return f.storage_bits() <= 16; }
/// Terms that fp32 needs, by far the most, are left out of the brief form.
bool brief_enough(const FloatFormat& f) { return f.precision <= 14; }

/// Throws std::invalid_argument for a format for which nothing would be run.
void check_formats(const Request& r, const Choices& c) {
  for (const FloatFormat& f : c.formats) {
    if (!f.valid() || f == kBinary64)
      throw std::invalid_argument("format " + format_name(f) +
                                  " in harmonic-series: expected one of 2..8 exponent bits and a precision of 2..24");
    if (r.brief && !brief_enough(f))
      throw std::invalid_argument("format " + format_name(f) +
                                  " in the brief form of harmonic-series: expected a precision of at most 14");
    if (c.modes.empty() && !takes_stochastic(f))
      throw std::invalid_argument("rounding stochastic of " + format_name(f) +
                                  " in harmonic-series: expected a format of at most 16 bits");
  }
}

Choices choices_of(const Request& r) {
  Choices c;
  c.modes = {RoundingMode::kNearestEven, RoundingMode::kDown, RoundingMode::kTowardZero, RoundingMode::kUp};
  if (!r.roundings.empty()) {
    c.modes = r.roundings;
    c.stochastic = std::erase(c.modes, RoundingMode::kStochastic) != 0;
  }
  c.formats = r.formats;
  if (c.formats.empty()) {
    c.formats = {kFp16, kBf16, kFp32, kE4m3, kE5m2, FloatFormat::ieee(3, 5)};
    if (r.brief || c.modes.empty()) std::erase(c.formats, kFp32);
  }
  check_formats(r, c);
  c.bits = r.bits.value_or(kDefaultBits);
  c.seed = r.seed;
  c.samples = r.samples.value_or(r.brief ? kBriefSamples : kDefaultSamples);
  c.terms = r.brief ? kBriefTerms : kTerms;
  c.stochastic = c.stochastic && std::any_of(c.formats.begin(), c.formats.end(), takes_stochastic);
  if (!c.stochastic) refuse_without_stochastic(r, "harmonic-series");
  if (c.stochastic && (c.samples < 2 || c.samples > uint64_t{1} << 20))
    throw std::invalid_argument("samples " + std::to_string(c.samples) + " in harmonic-series: expected 2.." +
                                std::to_string(uint64_t{1} << 20));
  return c;
}

std::string text_of(const FloatFormat& f, uint64_t code) { return exact_decimal(f, code); }

void check_known(Outcome& o, const FloatFormat& f, RoundingMode mode, const HarmonicSum& sum) {
  const std::string name = format_name(f);
  for (const End& e : kEnds) {
    if (name != e.format || mode != e.mode) continue;
    const Against against = e.published ? Against::kFigure : Against::kBound;
    const std::string what = name + ", " + name_of(mode);
    // fp32's sum is given to nine digits, the others to the last.
    const std::string ours = f == kFp32 ? significant_digits(value_of(f, sum.code), 9) : text_of(f, sum.code);
    o.checks.push_back(equal(what + ": sum", against, ours, e.sum));
    o.checks.push_back(
        equal(what + ": term at which it ends", against, std::to_string(sum.term), std::to_string(e.term)));
  }
}

/// Rounded to nearest the sum ends where the term has come down to half a quantum of it; toward zero or to odd, below a
/// whole one.
void check_end(Outcome& o, const FloatFormat& f, RoundingMode mode, const HarmonicSum& sum) {
  if (mode == RoundingMode::kUp || mode == RoundingMode::kNearestAway || !f.is_finite(sum.code)) return;
  const double quantum = value_of(f, sum.code + 1) - value_of(f, sum.code);
  const double term = value_of(f, harmonic_term(f, RoundingPolicy::ieee(mode), sum.term));
  const bool nearest = mode == RoundingMode::kNearestEven;
  const bool agrees = nearest ? term <= quantum / 2 : term < quantum;
  o.checks.push_back({format_name(f) + ", " + name_of(mode) + ": the term it ends at, in quanta of the sum",
                      Against::kBound, significant_digits(term / quantum, 4), nearest ? "at most 0.5" : "below 1",
                      agrees});
}

void deterministic(Outcome& o, const FloatFormat& f, RoundingMode mode, Curve* curve) {
  const HarmonicSum sum = harmonic_sum(f, RoundingPolicy::ieee(mode), curve);
  o.tables[0].rows.push_back({format_name(f), name_of(mode), text_of(f, sum.code), code_text(f, sum.code), sum.term,
                              f.is_finite(sum.code) ? "stops" : "overflows"});
  check_known(o, f, mode, sum);
  check_end(o, f, mode, sum);
}

/// The sums against their exact distribution, and its mean against the exact sum of the terms.
void check_stochastic(Outcome& o, const Choices& c, const FloatFormat& f, const StochasticHarmonic& s,
                      const MeanAndDeviation& found) {
  constexpr double kBeyond = 1e-6;  // below it, what has left the range counts for less than the slack
  const std::string what = format_name(f) + ", stochastic, " + std::to_string(c.terms) + " terms: ";
  if (s.beyond > kBeyond || !std::isfinite(found.mean)) {
    o.checks.push_back(
        recorded(what + "the format is too narrow for them",
                 "a sum reaches the largest number with probability " + significant_digits(s.beyond, 4)));
    return;
  }
  const double slack = 1e-9 * s.exact_terms + s.beyond * value_of(f, f.max_finite_code());
  o.checks.push_back(between(what + "expectation", s.expected.mean,
                             {s.exact_terms - s.bias_bound, s.exact_terms, slack},
                             [](double mean) { return significant_digits(mean, 10); }));
  const double error = kSumStandardErrors * s.expected.sd / std::sqrt(static_cast<double>(c.samples));
  o.checks.push_back(within(
      what + "mean of " + std::to_string(c.samples), found.mean, {s.expected.mean, error, slack},
      [](double mean) { return significant_digits(mean, 8); }, significant_digits(error, 2)));
}

/// Independent stochastic sums of the terms rounded to nearest, and what they are expected to be.
void stochastic(Outcome& o, const Choices& c, const FloatFormat& f, Watch& watch, double done, double total) {
  const StochasticHarmonic s =
      stochastic_harmonic(f, c.bits, c.seed, c.samples, c.terms, [&](double share) { watch.at(done + share, total); });
  const MeanAndDeviation found = mean_and_deviation(s.sums);
  o.tables[1].rows.push_back({format_name(f), c.bits, c.samples, c.terms, survey::cell(found.mean),
                              survey::cell(found.sd), s.expected.mean, s.expected.sd, s.exact_terms, s.bias_bound});
  check_stochastic(o, c, f, s, found);
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
    for (const FloatFormat& f : c.formats)
      if (takes_stochastic(f)) o.settings["stochastic_formats"].push_back(format_name(f));
    o.settings["random_bits"] = c.bits;
    o.settings["variant"] = name_of(StochasticVariant::kCarry);
    o.settings["samples"] = c.samples;
    o.settings["stochastic_terms"] = c.terms;
    o.settings["seed"] = c.seed;
  }
  o.tables.push_back({"ends",
                      "Where the sum ends: the term that no longer changes it, or that makes it infinite",
                      {"format", "rounding", "sum", "code", "term", "how"},
                      {}});
  o.tables.push_back(
      {"stochastic",
       "Stochastic sums of so many terms fl(1/i), rounded to nearest; expected: of the exact distribution",
       {"format", "random bits", "sums", "terms", "mean", "sd", "expected mean", "expected sd", "exact",
        "bias toward zero, at most"},
       {}});
  std::vector<Curve> curves;
  const double total = static_cast<double>(2 * c.formats.size());
  double done = 0;
  for (const FloatFormat& f : c.formats) {
    for (const RoundingMode mode : c.modes) {
      watch.at(done, total);
      Curve curve{format_name(f), CurveStyle::kBold, {}, {}};
      deterministic(o, f, mode, &curve);
      if (mode == c.modes[0]) curves.push_back(std::move(curve));
    }
    ++done;
    if (c.stochastic && takes_stochastic(f)) stochastic(o, c, f, watch, done, total);
    ++done;
  }
  std::erase_if(o.tables, [](const Table& t) { return t.rows.empty(); });
  if (!curves.empty())
    o.figures.push_back({"sums", plot_of(curves, c.modes[0]),
                         "The exact sums grow for ever, like the logarithm of n. What the sums of a format do depends "
                         "on its precision and on the rounding."});
  const std::string general =
      "The sum of 1/i grows without end, but ever more slowly. In floating point a term is lost as soon as it is less "
      "than half the distance between neighbours of the sum, and since later terms are smaller still, the sum then "
      "stays where it is for ever";
  const std::string heights =
      ": in half precision at 7.09 after 512 terms, in bfloat16, with 8 bits, at 5.06 after 64, in single precision at "
      "15.40 after two million. Rounded down or toward zero it stops twice as early";
  o.seen = general + (by_default(request) ? heights : ". Rounded down or toward zero it stops earlier") +
           "; rounded up it never stops, but climbs by one neighbour a term until it overflows. Stochastic sums go on "
           "growing, and on average they are the exact sum of their terms, less what too few random bits cut off.";
  o.deviations = "The 8-bit formats, the toy format e3p5 and the stochastic sums are ours.";
  return o;
}

double seconds_of(const Request& r) {
  const Choices c = choices_of(r);
  double s = 0;
  for (const FloatFormat& f : c.formats) {
    // To 2^p / 8 terms or so, by each mode.
    s += static_cast<double>(c.modes.size()) * std::ldexp(1.0, f.precision - 3) / kScalarRate;
    if (c.stochastic && takes_stochastic(f))
      s += static_cast<double>(c.terms) * (static_cast<double>(c.samples) / kPathRate + kChainSeconds);
  }
  return s;
}

}  // namespace

Experiment experiment() {
  return {
      "harmonic-series",
      "1 + 1/2 + 1/3 + ... comes to an end in every format",
      "N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002; N. J. Higham and S. Pranesh, Simulating low "
      "precision floating-point arithmetic, SIAM J. Sci. Comput. 41(5), 2019",
      kFormat | kRounding | kBits | kSeed | kSamples,
      "stochastic sums of each format [=1000]",
      seconds_of,
      run};
}

}  // namespace softamp::reproduce::harmonic_series
