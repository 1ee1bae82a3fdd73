// Stagnation: where a running sum of one number stops in every format, predicted from theory and found by adding.
//
// Higham, "Accuracy and stability of numerical algorithms", 2002, section 4; Connolly, Higham and Mary 2021 for sums
// that are rounded stochastically.
#include <algorithm>
#include <cmath>
#include <optional>

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/operations.h"
#include "softamp/sums/running_sum.h"
#include "src/numbers/decimal_text.h"
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/sums/stagnation_plot.h"
#include "src/reproduce/sums/stagnation_theory.h"
#include "src/reproduce/sums/sum_cases.h"
#include "src/reproduce/sums/sum_chain.h"

namespace softamp::reproduce::stagnation {
namespace {

constexpr const char* kAddends[] = {"1", "0.1", "0.0001"};
constexpr uint64_t kDefaultSamples = 4096, kBriefSamples = 256;
constexpr int kDefaultBits = 13;
constexpr uint64_t kBriefAdditions = 1 << 16;  ///< longer sums start near their end in the brief form
constexpr double kScalarRate = 3e7, kPathRate = 2e8;
constexpr double kMargin = 6;
constexpr uint64_t kFewSums = 64, kFewTimes = 4;  ///< four times the additions that it takes on average to stop
/// Parts of the rounding sites (sum_site).
constexpr uint32_t kGoesOnPart = 0, kFewPart = 1, kPlotPart = 2;
constexpr double kGoesOn = 4;  ///< stochastic sums continue to at most this multiple of where nearest stops

struct Choices {
  std::vector<FloatFormat> formats;
  std::vector<RoundingMode> modes;
  std::vector<int> few;  ///< numbers of random bits with which stochastic sums stop
  bool stochastic;
  int bits;
  uint64_t seed, samples;
  bool brief;
};

bool takes_stochastic(const FloatFormat& f) { return f.storage_bits() <= 16 && value_of(f, f.max_finite_code()) > 2; }

Choices choices_of(const Request& r) {
  Choices c;
  c.formats = r.formats;
  if (c.formats.empty()) c.formats = {kFp16, kBf16, kTf32, kFp32, kE4m3, kE5m2, kF143, kF152, FloatFormat::ieee(3, 5)};
  c.modes = r.roundings.empty() ? std::vector<RoundingMode>{RoundingMode::kNearestEven} : r.roundings;
  c.stochastic = std::erase(c.modes, RoundingMode::kStochastic) != 0 || r.roundings.empty();
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
  const bool taken = std::any_of(c.formats.begin(), c.formats.end(), takes_stochastic);
  if (c.stochastic && !r.roundings.empty() && !taken)
    throw std::invalid_argument("rounding stochastic of " + format_name(c.formats[0]) +
                                " in stagnation: expected a format of at most 16 bits whose numbers exceed 2");
  c.stochastic = c.stochastic && taken;
  if (!c.stochastic) refuse_without_stochastic(r, "stagnation");
  for (const RoundingMode m : c.modes) predicted_stop(kE5m2, m, 1);  // throws for a mode that need not stop
  if (c.samples < 2 || c.samples > uint64_t{1} << 20)
    throw std::invalid_argument("samples " + std::to_string(c.samples) + " in stagnation: expected 2.." +
                                std::to_string(uint64_t{1} << 20));
  return c;
}

uint64_t code_of(const FloatFormat& f, const std::string& text) { return to_code(f, number_from_text(text)).code; }
std::string number(double value) {
  if (!std::isfinite(value)) return "overflow";
  return significant_digits(value, 17);
}

std::string to_six_places(double value) { return round_trip_text(std::round(value * 1e6) / 1e6); }

RunningSumSetup setup_of(const FloatFormat& f, const Semantics& s, uint64_t addend, uint64_t count, uint64_t replicas,
                         uint64_t seed) {
  return {.format = f, .semantics = s, .addend = addend, .count = count, .replicas = replicas, .seed = seed};
}

/// Additions reported to the watch: one by one for deterministic sums, a fraction for stochastic ones.
struct Told {
  Watch& watch;
  double done = 0, total = 1;  ///< seconds, by the measured rates

  RunningSum sums(const RunningSumSetup& setup) {
    const double each = seconds_of(setup.replicas, 1);
    RunningSum sum =
        running_sum(setup, [&](uint64_t n) { watch.at(std::min(done + each * static_cast<double>(n), total), total); });
    done += each * static_cast<double>(setup.count);
    watch.at(std::min(done, total), total);
    return sum;
  }
  static double seconds_of(uint64_t replicas, double count) {
    return replicas == 1 ? count / kScalarRate : static_cast<double>(replicas) * count / kPathRate;
  }
};

/// One deterministic sum: theory against the additions themselves.
void stop(Outcome& o, const Choices& c, Told& told, const FloatFormat& f, RoundingMode mode, const char* text) {
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
  const RunningSum sum = told.sums(setup);
  const bool finite = f.is_finite(sum.codes[0]);
  const double found = finite ? value_of(f, sum.codes[0]) : HUGE_VAL,
               predicted = theory.overflows ? HUGE_VAL : theory.sum;
  const bool at_once = f.is_zero(addend);
  o.tables[0].rows.push_back({format_name(f), name_of(mode), text, exact_decimal(f, addend), exact_decimal(f, start),
                              number(predicted), theory.additions, number(found), sum.last_change[0],
                              at_once || theory.overflows || theory.at_limit ? Json() : Json(theory.share),
                              at_once            ? "the addend is rounded to zero"
                              : theory.overflows ? "overflows before it stops"
                              : theory.at_limit  ? "it is the largest number, to which overflows are cut back"
                                                 : "the addend is too small a share of the sum's quantum"});
  const std::string what = format_name(f) + ", " + name_of(mode) + ", addend " + text;
  o.checks.push_back(equal(what + ": where the sum stops", Against::kBound, number(found), number(predicted)));
  o.checks.push_back(equal(what + ": last addition with an effect", Against::kBound, std::to_string(sum.last_change[0]),
                           std::to_string(theory.additions)));
  if (mode == RoundingMode::kNearestEven)
    o.checks.push_back(equal(what + ": 2^p times the least power of two not below the addend", Against::kBound,
                             number(found), number(stop_formula(f, addend))));
}

/// How many ones the stochastic sums add: up to kGoesOn times what nearest stops at, but so few that no sum comes near
/// the largest number; 0 where that is no more than nearest does.
uint64_t goes_on_additions(const FloatFormat& f) {
  const double stop = stop_formula(f, code_of(f, "1")), most = value_of(f, f.max_finite_code());
  double count = kGoesOn * stop;
  while (kMargin * count > most && count > stop) count /= 2;
  return count > stop ? static_cast<uint64_t>(count) : 0;
}
uint64_t few_bits_additions(const FloatFormat& f, int bits) {
  const double stop = stochastic_stop_formula(f, code_of(f, "1"), bits);
  return std::isfinite(stop) ? kFewTimes * static_cast<uint64_t>(stop) : 0;
}

/// Stochastic sums of ones go on beyond that, and their mean is the exact sum.
void goes_on(Outcome& o, const Choices& c, Told& told, const FloatFormat& f) {
  const uint64_t one = code_of(f, "1");
  const double stop = stop_formula(f, one);
  const uint64_t additions = goes_on_additions(f);
  if (additions == 0) return;
  const double count = static_cast<double>(additions);
  RunningSumSetup setup =
      setup_of(f, experiment_semantics(RoundingMode::kStochastic, c.bits), one, additions, c.samples, c.seed);
  setup.operation = sum_site(f, c.bits, kGoesOnPart);
  const RunningSum sum = told.sums(setup);
  std::vector<double> ends;
  for (const uint64_t code : sum.codes) ends.push_back(value_of(f, code));
  const MeanAndDeviation found = mean_and_deviation(ends);
  const SumDistribution exact = sum_distribution(f, one, additions, c.bits);
  o.tables[1].rows.push_back({format_name(f), c.bits, c.samples, additions, stop, found.mean, found.sd, exact.mean,
                              exact.sd, *std::min_element(ends.begin(), ends.end())});
  const std::string what = format_name(f) + ", stochastic, " + std::to_string(additions) + " ones: ";
  // Where the random bits reach all that the sums' greatest quantum discards of a one there is no bias.
  const uint64_t greatest = std::min(exact.first_code + exact.probability.size(), f.max_finite_code()) - 1;
  if (std::ldexp(1.0, c.bits) >= value_of(f, greatest + 1) - value_of(f, greatest))
    o.checks.push_back(equal(what + "expectation", Against::kBound, to_six_places(exact.mean), number(count)));
  const double bound = kSumStandardErrors * exact.sd / std::sqrt(static_cast<double>(c.samples));
  o.checks.push_back(within(what + "mean", found.mean, {exact.mean, bound, 1e-9 * count}, to_six_places,
                            significant_digits(bound, 2)));
}

/// With few random bits they stop in their turn, all at the same place.
void few_bits(Outcome& o, const Choices& c, Told& told, const FloatFormat& f, int bits) {
  const uint64_t one = code_of(f, "1");
  const double stop = stochastic_stop_formula(f, one, bits);
  const uint64_t additions = few_bits_additions(f, bits);
  if (additions == 0) return;
  RunningSumSetup setup =
      setup_of(f, experiment_semantics(RoundingMode::kStochastic, bits), one, additions, kFewSums, c.seed);
  setup.operation = sum_site(f, bits, kFewPart);
  const RunningSum sum = told.sums(setup);
  const auto [least, greatest] = std::minmax_element(sum.codes.begin(), sum.codes.end());
  const double low = value_of(f, *least), high = value_of(f, *greatest);
  const uint64_t last = *std::max_element(sum.last_change.begin(), sum.last_change.end());
  o.tables[2].rows.push_back({format_name(f), bits, kFewSums, stop, low, high, last});
  o.checks.push_back(equal(format_name(f) + ", " + std::to_string(bits) + " random bits, ones: where all sums stop",
                           Against::kBound, low == high ? number(low) : number(low) + " .. " + number(high),
                           number(stop)));
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

void set_up(Outcome& o, const Choices& c) {
  for (const FloatFormat& f : c.formats) o.settings["formats"].push_back(format_name(f));
  for (const RoundingMode m : c.modes) o.settings["roundings"].push_back(name_of(m));
  for (const char* a : kAddends) o.settings["addends"].push_back(a);
  if (c.stochastic) {
    o.settings["roundings"].push_back(name_of(RoundingMode::kStochastic));
    for (const FloatFormat& f : c.formats)
      if (takes_stochastic(f)) o.settings["stochastic_formats"].push_back(format_name(f));
    o.settings["random_bits"] = c.bits;
    o.settings["few_random_bits"] = c.few;
    o.settings["variant"] = name_of(StochasticVariant::kCarry);
    o.settings["seed"] = c.seed;
    o.settings["samples"] = c.samples;
  }
  start_tables(o);
}

/// The estimated time of a run.
double seconds_of(const Choices& c) {
  double s = 0;
  for (const FloatFormat& f : c.formats) {
    for (const RoundingMode mode : c.modes)
      for (const char* addend : kAddends) {
        const double additions = static_cast<double>(predicted_stop(f, mode, code_of(f, addend)).additions);
        s += (c.brief ? std::min<double>(additions, kBriefAdditions) : additions) / kScalarRate;
      }
    if (!c.stochastic || !takes_stochastic(f)) continue;
    s += Told::seconds_of(c.samples, static_cast<double>(goes_on_additions(f)));
    for (const int bits : c.few) s += Told::seconds_of(kFewSums, static_cast<double>(few_bits_additions(f, bits)));
  }
  return s;
}

std::string seen(bool usual_settings) {
  const std::string general =
      "A number with p significant bits has neighbours at a distance, its quantum, that doubles at each power of two. "
      "A sum to which the same number is added again and again therefore stops: once the addend is half a quantum or "
      "less (in the directed modes: less than a whole one), it is rounded away. The sum no longer changes, and never "
      "will again. ";
  const std::string stops =
      "A sum of ones to nearest stops at 2^p: 2048 in half precision, 256 in bfloat16, 16 in e4m3, 16,777,216 in "
      "single "
      "precision; theory and the additions agree on the very addition. ";
  return general + (usual_settings ? stops : "") +
         "Rounded stochastically, with random bits for all that is discarded, sums go on and are right on average. But "
         "only enough random bits keep them going: with r bits, an addend below 2^-r quanta is never added, and all "
         "sums stop, at the same place.";
}

Outcome run(const Request& request, Watch& watch) {
  const Choices c = choices_of(request);
  Outcome o;
  set_up(o, c);
  Told told{watch};
  told.total = seconds_of(c);
  for (const FloatFormat& f : c.formats) {
    for (const RoundingMode mode : c.modes)
      for (const char* addend : kAddends) stop(o, c, told, f, mode, addend);
    if (!c.stochastic || !takes_stochastic(f)) continue;
    goes_on(o, c, told, f);
    for (const int bits : c.few) few_bits(o, c, told, f, bits);
  }
  std::erase_if(o.tables, [](const Table& t) { return t.rows.empty(); });
  if (o.tables.empty())
    throw std::invalid_argument("format " + format_name(c.formats[0]) +
                                " in stagnation: expected one in which a stochastic sum of ones stays in range");
  std::optional<RoundingMode> mode;
  if (!c.modes.empty()) mode = c.modes[0];
  // bf16 if it is among them; else the first that can go on.
  auto drawn = std::find(c.formats.begin(), c.formats.end(), kBf16);
  if (drawn == c.formats.end()) drawn = std::find_if(c.formats.begin(), c.formats.end(), takes_stochastic);
  std::optional<StochasticCurve> stochastic;
  if (c.stochastic) stochastic = {*drawn, c.bits, c.seed, sum_site(*drawn, c.bits, kPlotPart)};
  Plot plot = stagnation_plot(c.formats, mode, stochastic);
  if (!plot.curves.empty())
    o.figures.push_back({"ones", std::move(plot),
                         "Sums of ones. A deterministic sum stops, to nearest at 2^p, p bits being the precision; a "
                         "stochastic one goes on as long as its random bits reach."});
  o.seen = seen(by_default(request));
  o.deviations =
      "The publications state why sums stop and the bounds; the formats, the addends and the sums with few random bits "
      "are "
      "ours.";
  return o;
}

}  // namespace

Experiment experiment() {
  return {
      "stagnation",
      "where a running sum of one number stops, in every format, and why",
      "N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002; M. P. Connolly, N. J. Higham and T. Mary, "
      "Stochastic rounding and its probabilistic backward error analysis, SIAM J. Sci. Comput. 43(1), 2021",
      kFormat | kRounding | kBits | kSeed | kSamples,
      "stochastic sums of each format [=4096]",
      [](const Request& r) { return seconds_of(choices_of(r)); },
      run};
}

}  // namespace softamp::reproduce::stagnation
