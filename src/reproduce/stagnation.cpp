// Stagnation: where a running sum of one number stops in every format, predicted from theory and found by adding.
//
// Higham, "Accuracy and stability of numerical algorithms", 2002, section 4; Connolly, Higham and Mary 2021 for sums
// that are rounded stochastically.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "softamp/numerics/convert.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "softamp/report/names.h"
#include "softamp/report/number_text.h"
#include "softamp/report/running_sum.h"
#include "src/reproduce/paths.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/stagnation_theory.h"
#include "src/reproduce/sum_chain.h"

namespace softamp::reproduce {
namespace {

constexpr const char* kAddends[] = {"1", "0.1", "0.0001"};
constexpr uint64_t kDefaultSamples = 4096, kBriefSamples = 256;
constexpr int kDefaultBits = 13;
constexpr uint64_t kBriefAdditions = 1 << 16;  ///< longer sums start near their end in the brief form
constexpr double kStandardErrors = 4.5;        ///< exceeded by chance once in 150,000
constexpr double kScalarRate = 3e7, kPathRate = 2e8;
constexpr double kMargin = 6;
constexpr double kGoesOn = 4;  ///< stochastic sums are carried on to so many times where nearest stops, at most

struct Choices {
  std::vector<FloatFormat> formats;
  std::vector<RoundingMode> modes;
  std::vector<int> few;  ///< random bits of the sums that stop for want of them
  int bits;
  uint64_t seed, samples;
  bool brief;
};

Choices choices_of(const Request& r) {
  Choices c;
  c.formats = r.formats;
  if (c.formats.empty()) c.formats = {kFp16, kBf16, kTf32, kFp32, kE4m3, kE5m2, kF143, kF152, FloatFormat::ieee(3, 5)};
  c.modes = r.roundings.empty() ? std::vector<RoundingMode>{RoundingMode::kNearestEven} : r.roundings;
  std::erase(c.modes, RoundingMode::kStochastic);  // of which the second table is in any case
  c.bits = r.bits.value_or(kDefaultBits);
  c.few = r.bits && *r.bits <= 8 ? std::vector<int>{*r.bits}
          : r.brief              ? std::vector<int>{1, 3}
                                 : std::vector<int>{1, 2, 3, 4};
  c.seed = r.seed;
  c.samples = r.samples.value_or(r.brief ? kBriefSamples : kDefaultSamples);
  c.brief = r.brief;
  for (const FloatFormat& f : c.formats)
    if (!f.valid() || f == kBinary64)
      throw std::invalid_argument("format " + format_name(f) +
                                  " in stagnation: expected one of 2..8 exponent bits and a precision of 2..24");
  for (const RoundingMode m : c.modes) predicted_stop(kE5m2, m, 1);  // refuses a mode that need not stop
  if (c.samples < 2 || c.samples > uint64_t{1} << 20)
    throw std::invalid_argument("samples " + std::to_string(c.samples) + " in stagnation: expected 2.." +
                                std::to_string(uint64_t{1} << 20));
  return c;
}

uint64_t code_of(const FloatFormat& f, const std::string& text) { return to_code(f, number_from_text(text)).code; }
std::string number(double value) {
  if (!std::isfinite(value)) return "overflow";
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

RunningSumSetup setup_of(const FloatFormat& f, const Semantics& s, uint64_t addend, uint64_t count, uint64_t replicas,
                         uint64_t seed) {
  RunningSumSetup setup;
  setup.format = f;
  setup.semantics = s;
  setup.addend = addend;
  setup.count = count;
  setup.replicas = replicas;
  setup.seed = seed;
  return setup;
}

/// One deterministic sum: theory against the additions themselves.
void stop(Outcome& o, const Choices& c, const FloatFormat& f, RoundingMode mode, const char* text) {
  const uint64_t addend = code_of(f, text);
  Stop theory = predicted_stop(f, mode, addend);
  uint64_t start = 0;
  if (c.brief && theory.additions > kBriefAdditions) {
    // 2^-12 of the way before the end.
    start = fp::from_double(f, theory.sum * (1 - 0x1p-12));
    theory = predicted_stop(f, mode, addend, start);
  }
  RunningSumSetup setup = setup_of(f, experiment_semantics(mode), addend, theory.additions + 100, 1, 0);
  setup.start = start;
  const RunningSum sum = running_sum(setup);
  const bool finite = f.is_finite(sum.codes[0]);
  const double found = finite ? value_of(f, sum.codes[0]) : HUGE_VAL,
               predicted = theory.overflows ? HUGE_VAL : theory.sum;
  const bool at_once = f.is_zero(addend);
  o.tables[0].rows.push_back({format_name(f), name_of(mode), text, exact_decimal(f, addend), exact_decimal(f, start),
                              number(predicted), theory.additions, number(found), sum.last_change[0],
                              at_once || theory.overflows ? Json() : Json(theory.share),
                              at_once            ? "the addend is rounded to zero"
                              : theory.overflows ? "overflows before it stops"
                                                 : "the addend is too small a share of the sum's quantum"});
  const std::string what = format_name(f) + ", " + name_of(mode) + ", addend " + text;
  o.checks.push_back(
      {what + ": where the sum stops", Against::kFigure, number(found), number(predicted), found == predicted});
  o.checks.push_back({what + ": last addition with an effect", Against::kFigure, std::to_string(sum.last_change[0]),
                      std::to_string(theory.additions), sum.last_change[0] == theory.additions});
  if (mode == RoundingMode::kNearestEven) {
    const double formula = stop_formula(f, addend);
    o.checks.push_back({what + ": 2^p times the least power of two not below the addend", Against::kFigure,
                        number(found), number(formula), found == formula});
  }
}

/// Stochastic sums of ones go on beyond that, and their mean is the exact sum.
void goes_on(Outcome& o, const Choices& c, const FloatFormat& f) {
  const uint64_t one = code_of(f, "1");
  const double stop = stop_formula(f, one), most = value_of(f, f.max_finite_code());
  // Far enough from the largest number that no sum comes near it.
  double count = kGoesOn * stop;
  while (kMargin * count > most && count > stop) count /= 2;
  if (!(count > stop)) return;
  const uint64_t additions = static_cast<uint64_t>(count);
  const RunningSum sum = running_sum(
      setup_of(f, experiment_semantics(RoundingMode::kStochastic, c.bits), one, additions, c.samples, c.seed));
  std::vector<double> ends;
  for (const uint64_t code : sum.codes) ends.push_back(value_of(f, code));
  const MeanAndDeviation found = mean_and_deviation(ends);
  const SumDistribution exact = sum_distribution(f, one, additions, c.bits);
  o.tables[1].rows.push_back({format_name(f), c.bits, c.samples, additions, stop, found.mean, found.sd, exact.mean,
                              exact.sd, *std::min_element(ends.begin(), ends.end())});
  const std::string what = format_name(f) + ", stochastic, " + std::to_string(additions) + " ones: ";
  // The sums' quantum is at most 8, a discards at most 3 bits of each sum: with as many random bits there is no bias.
  if (c.bits >= 3)
    o.checks.push_back({what + "expectation", Against::kFigure, number(std::round(exact.mean * 1e6) / 1e6),
                        number(count), std::abs(exact.mean - count) <= 1e-9 * count});
  const double bound = kStandardErrors * exact.sd / std::sqrt(static_cast<double>(c.samples));
  o.checks.push_back({what + "mean", Against::kBound, number(found.mean), number(exact.mean) + " +- " + number(bound),
                      std::abs(found.mean - exact.mean) <= bound + 1e-9 * count});
}

/// With few random bits they stop in their turn, all at the same place.
void few_bits(Outcome& o, const Choices& c, const FloatFormat& f, int bits) {
  constexpr uint64_t kSums = 64, kTimes = 4;  // four times the additions that it takes on average
  const uint64_t one = code_of(f, "1");
  const double stop = stochastic_stop_formula(f, one, bits);
  if (!std::isfinite(stop)) return;
  const RunningSum sum = running_sum(setup_of(f, experiment_semantics(RoundingMode::kStochastic, bits), one,
                                              kTimes * static_cast<uint64_t>(stop), kSums, c.seed));
  const auto [least, greatest] = std::minmax_element(sum.codes.begin(), sum.codes.end());
  const double low = value_of(f, *least), high = value_of(f, *greatest);
  const uint64_t last = *std::max_element(sum.last_change.begin(), sum.last_change.end());
  o.tables[2].rows.push_back({format_name(f), bits, kSums, stop, low, high, last});
  o.checks.push_back({format_name(f) + ", " + std::to_string(bits) + " random bits, ones: where all sums stop",
                      Against::kFigure, low == high ? number(low) : number(low) + " .. " + number(high), number(stop),
                      low == stop && high == stop});
}

/// The sums of ones, addition by addition, at ever rarer places.
Curve curve_of(const FloatFormat& f, const Semantics& s, uint64_t seed, uint64_t additions, Curve curve) {
  const uint64_t one = code_of(f, "1");
  const RandomBits random{seed};
  uint64_t sum = 0, next = 1;
  for (uint64_t n = 1; n <= additions; ++n) {
    const uint32_t word = s.draws(f) ? random.bits(static_cast<uint32_t>(n - 1), 0, 0, s.rounding(f).random_bits) : 0;
    sum = fp::add(f, sum, one, s, word).code;
    if (n < next && n != additions) continue;
    curve.x.push_back(static_cast<double>(n));
    curve.y.push_back(value_of(f, sum));
    next = std::max(n + 1, static_cast<uint64_t>(static_cast<double>(n) * 1.1));
  }
  return curve;
}

Plot plot_of(const Choices& c) {
  constexpr uint64_t kAdditions = 1 << 13;
  constexpr size_t kCurves = 6;
  Plot plot;
  plot.title = "1 + 1 + 1 + ...: where the sum stops";
  plot.subtitle = "every addition rounded once";
  plot.x_label = "additions";
  plot.y_label = "running sum";
  plot.x_log = plot.y_log = 2;
  const Semantics nearest = experiment_semantics(RoundingMode::kNearestEven);
  for (const FloatFormat& f : c.formats) {
    if (f.precision > 12 || plot.curves.size() == kCurves || f == kTf32) continue;
    Curve curve = curve_of(f, nearest, 0, kAdditions, {format_name(f), CurveStyle::kBold, {}, {}});
    // Formats of one precision stop alike: they share a curve.
    const auto same = std::find_if(plot.curves.begin(), plot.curves.end(),
                                   [&](const Curve& other) { return other.x == curve.x && other.y == curve.y; });
    if (same != plot.curves.end())
      same->title += " and " + curve.title;
    else
      plot.curves.push_back(std::move(curve));
  }
  for (Curve& curve : plot.curves) curve.title += ", nearest";
  if (std::find(c.formats.begin(), c.formats.end(), kBf16) != c.formats.end())
    plot.curves.push_back(curve_of(kBf16, experiment_semantics(RoundingMode::kStochastic, c.bits), c.seed, kAdditions,
                                   {"bf16, stochastic", CurveStyle::kThin, {}, {}}));
  plot.curves.push_back({"exact", CurveStyle::kReference, {1, kAdditions}, {1, kAdditions}});
  return plot;
}

void start_tables(Outcome& o) {
  o.tables.push_back({"stops",
                      "Where a running sum of one number stops: theory, and found by adding",
                      {"format", "rounding", "addend", "addend in the format", "start", "stops at (theory)",
                       "last addition (theory)", "stops at", "last addition", "addend / quantum there", "why"},
                      {}});
  o.tables.push_back({"goes-on",
                      "Stochastic sums of ones, two or four times as far as the sum to nearest goes",
                      {"format", "random bits", "sums", "additions", "nearest stops at", "mean", "sd", "expected mean",
                       "expected sd", "least"},
                      {}});
  o.tables.push_back({"few-bits",
                      "Stochastic sums of ones with few random bits, which stop as well",
                      {"format", "random bits", "sums", "stops at (theory)", "least", "greatest", "last addition"},
                      {}});
}

Outcome run(const Request& request, Watch& watch) {
  const Choices c = choices_of(request);
  Outcome o;
  for (const FloatFormat& f : c.formats) o.settings["formats"].push_back(format_name(f));
  for (const RoundingMode m : c.modes) o.settings["roundings"].push_back(name_of(m));
  for (const char* a : kAddends) o.settings["addends"].push_back(a);
  o.settings["random_bits"] = c.bits;
  o.settings["few_random_bits"] = c.few;
  o.settings["variant"] = name_of(StochasticVariant::kCarry);
  o.settings["seed"] = c.seed;
  o.settings["samples"] = c.samples;
  start_tables(o);
  double done = 0;
  for (const FloatFormat& f : c.formats) {
    for (const RoundingMode mode : c.modes)
      for (const char* addend : kAddends) {
        watch.at(done, static_cast<double>(c.formats.size()));
        stop(o, c, f, mode, addend);
      }
    if (f.storage_bits() <= 16 && value_of(f, f.max_finite_code()) > 2) {
      goes_on(o, c, f);
      for (const int bits : c.few) {
        watch.at(done + .5, static_cast<double>(c.formats.size()));
        few_bits(o, c, f, bits);
      }
    }
    ++done;
  }
  std::erase_if(o.tables, [](const Table& t) { return t.rows.empty(); });
  o.figures.push_back(
      {"ones", plot_of(c),
       "To nearest a sum of ones stops at 2^p, p bits being the precision; stochastically it goes on."});
  o.seen =
      "A number with p significant bits has neighbours at a distance, its quantum, that doubles at each power of two. "
      "A "
      "sum to which the same number is added again and again therefore stops: once the addend is half a quantum or "
      "less it is rounded away, and as the sum no longer changes it never will again. A sum of ones stops at 2^p: 2048 "
      "in half precision, 256 in bfloat16, 16 in e4m3, 16,777,216 in single precision; theory and additions agree to "
      "the last one. Rounded stochastically the sums go on and are right on average. But only random bits keep them "
      "going: with r of them, an addend below 2^-r quanta has no chance left, and they all stop at one place, too.";
  return o;
}

double seconds_of(const Request& r) {
  const Choices c = choices_of(r);
  double s = 0;
  for (const FloatFormat& f : c.formats) {
    if (!c.brief || f.precision <= 14) s += 3.0 * std::ldexp(1.0, f.precision) / kScalarRate;
    if (f.storage_bits() <= 16) s += static_cast<double>(c.samples) * std::ldexp(kGoesOn, f.precision) / kPathRate;
  }
  return s;
}

}  // namespace

Experiment stagnation() {
  Experiment e;
  e.name = "stagnation";
  e.summary = "where a running sum of one number stops, in every format, and why";
  e.source =
      "N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002; M. P. Connolly, N. J. Higham and T. Mary, "
      "Stochastic rounding and its probabilistic backward error analysis, SIAM J. Sci. Comput. 43(1), 2021";
  e.options = kFormat | kRounding | kBits | kSeed | kSamples;
  e.samples = "stochastic sums of each format [=4096]";
  e.seconds = seconds_of;
  e.run = run;
  return e;
}

}  // namespace softamp::reproduce
