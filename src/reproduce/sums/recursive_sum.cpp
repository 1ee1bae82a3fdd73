// The survey's recursive summation: 1 + 1/2 + ... + 1/n in low precision, nearest against stochastic, with both bounds.
//
// The terms x_i are 1/i rounded to nearest; the sum goes from the left, one rounding to an addition. The publication
// starts anew for each n; here one run up to the greatest n is looked at on its way, which for nearest is the same and
// for stochastic means that the ten n of one repeat share their random bits. The publication's program compares the sum
// with that of the rounded terms; here it is compared with H(n) itself, and the checks of the bounds, which do not
// cover the terms' own rounding, with the rounded terms.
#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operations.h"
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/survey.h"
#include "src/text/counted.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace softamp::reproduce::recursive_sum {
namespace {

using namespace survey;

const char* const kName = "recursive-sum";
constexpr uint64_t kRepeats = 10;
constexpr int kUsualBits = 32;  // all that a sum of these terms discards: the rounding is unbiased
constexpr size_t kPathsPerTask = 256;
constexpr uint64_t kMostRepeats = 1'000'000;  // at 200 bytes each and format
constexpr size_t kMostTermsPerRound = 16384;
constexpr size_t kAdditionsPerRound = 1'000'000;  // a 20th of a second or so between two looks at the watch
constexpr double kAdditionsPerSecond = 2e7;       // measured: two cores, ten paths, the variance included

double greatest_n(const Request& request) { return request.brief ? 2e4 : 1e6; }

uint64_t repeats_of(const Request& request) {
  const uint64_t repeats = request.samples.value_or(kRepeats);
  if (repeats < 1 || repeats > kMostRepeats)
    throw std::invalid_argument(std::string(kName) + ": " + std::to_string(repeats) +
                                " repeats (--samples): expected 1.." + std::to_string(kMostRepeats) +
                                ", all of which are kept in memory");
  return repeats;
}

/// A format's terms and what is summed of them.
struct Sum {
  FloatFormat format;
  std::vector<uint16_t> terms;    // terms[i - 1] = fl(1/i)
  std::vector<double> values;     // of all codes
  uint64_t nearest = 0;           // code of the running sum
  uint64_t last_change = 0;       // the last term that changed it
  std::vector<uint16_t> sums;     // stochastic, one per repeat
  std::vector<double> variances;  // sum of the roundings' variances on each repeat's own way
  double exact = 0;               // of the rounded terms
};

/// The results at one n.
struct Sight {
  uint64_t n;
  double harmonic, terms, nearest;
  std::vector<double> stochastic, variances;

  double error(double sum) const { return std::abs(sum / harmonic - 1); }
  double error_of_additions(double sum) const { return std::abs(sum / terms - 1); }
  double mean_error() const {
    double total = 0;
    for (const double s : stochastic) total += error(s);
    return total / static_cast<double>(stochastic.size());
  }
  double mean_error_of_additions() const {
    double total = 0;
    for (const double s : stochastic) total += error_of_additions(s);
    return total / static_cast<double>(stochastic.size());
  }
  double worst_error_of_additions() const {
    double worst = 0;
    for (const double s : stochastic) worst = std::max(worst, error_of_additions(s));
    return worst;
  }
  /// The mean of all repeats, in standard errors away from the terms' sum.
  double standard_errors() const {
    double off = 0, variance = 0;
    for (const double s : stochastic) off += s - terms;
    for (const double v : variances) variance += v;
    return variance > 0 ? off / std::sqrt(variance) : off == 0 ? 0 : HUGE_VAL;
  }
};

/// 1 + 1/2 + ... + 1/n, to 2^-51 of it: each quotient errs by at most 2^-53 of itself, and Kahan's compensated sum by
/// 2^-52 of the whole, terms of the order n 2^-104 left out. All in binary64, so the same on every machine.
double harmonic_number(uint64_t n) {
  double sum = 0, excess = 0;  // what the last addition put in beyond its term
  for (uint64_t i = n; i >= 1; --i) {
    const double term = 1 / static_cast<double>(i) - excess, next = sum + term;
    excess = (next - sum) - term;
    sum = next;
  }
  return sum;
}

Sum start(const FloatFormat& format, uint64_t greatest, uint64_t repeats) {
  Sum s;
  s.format = format;
  // Twice rounded, to binary64 and to at most 14 bits: the same as once, as no 1/i with i < 2^20 lies within 2^-36 of
  // its size of a number with 15 bits or fewer, except on it.
  for (uint64_t i = 1; i <= greatest; ++i)
    s.terms.push_back(static_cast<uint16_t>(fp::from_double(format, 1.0 / static_cast<double>(i))));
  for (uint64_t code = 0; code <= format.code_mask(); ++code) s.values.push_back(fp::to_double(format, code));
  s.sums.assign(repeats, static_cast<uint16_t>(zero_code(format, false)));
  s.variances.assign(repeats, 0);
  return s;
}

void add_nearest(Sum& s, size_t from, size_t to) {
  const Semantics semantics = experiment_semantics(RoundingMode::kNearestEven);
  for (size_t i = from; i < to; ++i) {
    const uint64_t next = fp::add(s.format, s.nearest, s.terms[i], semantics).code;
    if (next != s.nearest) s.last_change = i + 1;
    s.nearest = next;
    s.exact += s.values[s.terms[i]];  // exact: multiples of 2^-33 below 2^5
  }
}

/// Repeats [first, first + count) of the sum.
void add_stochastic(Sum& s, size_t from, size_t to, size_t first, size_t count, const Paths& paths) {
  std::vector<uint16_t> term(count);
  const RoundingVariance variance(s.format);
  const std::span<uint16_t> sums(s.sums.data() + first, count);
  for (size_t i = from; i < to; ++i) {
    std::fill(term.begin(), term.end(), s.terms[i]);
    const double x = s.values[s.terms[i]];
    for (size_t k = 0; k < count; ++k) s.variances[first + k] += variance(s.values[sums[k]] + x);
    paths.add(sums, term, sums, {operation_of(s.format), static_cast<uint32_t>(i), first});
  }
}

Sight sight_of(const Sum& s, uint64_t n) {
  Sight sight{n, harmonic_number(n), s.exact, s.values[s.nearest], {}, s.variances};
  for (const uint16_t code : s.sums) sight.stochastic.push_back(s.values[code]);
  return sight;
}

/// One list of sights per format.
std::vector<std::vector<Sight>> sum_up(std::vector<Sum>& all, const std::vector<uint64_t>& places, int bits,
                                       uint64_t seed, Watch& watch) {
  const Semantics semantics = experiment_semantics(RoundingMode::kStochastic, bits);
  const size_t chunks = (all[0].sums.size() + kPathsPerTask - 1) / kPathsPerTask;
  std::vector<std::vector<Sight>> sights(all.size());
  const size_t terms =
      std::clamp<size_t>(kAdditionsPerRound / (all.size() * all[0].sums.size()), 1, kMostTermsPerRound);
  size_t done = 0;
  for (const uint64_t n : places) {
    while (done < n) {
      watch.at(static_cast<double>(done), static_cast<double>(places.back()));
      const size_t next = std::min<size_t>(n, done + terms);
      tbb::parallel_for(size_t{0}, all.size() * (chunks + 1), [&](size_t task) {
        Sum& s = all[task / (chunks + 1)];
        const size_t chunk = task % (chunks + 1);
        if (chunk == chunks) return add_nearest(s, done, next);
        const size_t first = chunk * kPathsPerTask;
        const size_t count = std::min(kPathsPerTask, s.sums.size() - first);
        add_stochastic(s, done, next, first, count, Paths(s.format, semantics, seed));
      });
      done = next;
    }
    for (size_t k = 0; k < all.size(); ++k) sights[k].push_back(sight_of(all[k], n));
  }
  return sights;
}

/// Random bits that a sum of these terms needs to be rounded without bias: all that an addition may discard.
int bits_needed(const FloatFormat& f, uint64_t n) {
  const int sum = std::ilogb(2 * harmonic_number(n)) - f.mantissa_bits();
  const int term = std::max(std::ilogb(1.0 / static_cast<double>(n)), f.min_exponent()) - f.mantissa_bits();
  return sum - term;
}

Plot plot_of(const FloatFormat& f, const std::vector<Sight>& sights) {
  Plot plot;
  plot.title = "1 + 1/2 + ... + 1/n in " + format_name(f);
  plot.subtitle = "each addition rounded; u = 2^-" + std::to_string(f.precision) + " nearest, 2^-" +
                  std::to_string(f.precision - 1) + " stochastic";
  plot.x_label = "n (number of terms)";
  plot.y_label = "relative error against H(n)";
  plot.x_log = plot.y_log = 10;
  Curve nearest{"nearest", CurveStyle::kBold, {}, {}}, mean{"stochastic, mean error", CurveStyle::kBold, {}, {}};
  Curve bound{"n u/(1 - n u), nearest", CurveStyle::kReference, {}, {}};
  Curve root{"sqrt(n) u, stochastic", CurveStyle::kReference, {}, {}};
  const auto put = [](Curve& curve, uint64_t n, double y) {
    if (!(y > 0)) return;  // no place on this axis
    curve.x.push_back(static_cast<double>(n));
    curve.y.push_back(y);
  };
  for (const Sight& s : sights) {
    const double n = static_cast<double>(s.n);
    put(nearest, s.n, s.error(s.nearest));
    put(mean, s.n, s.mean_error());
    put(bound, s.n, deterministic_bound(n, nearest_roundoff(f)));
    put(root, s.n, root_bound(n, stochastic_roundoff(f)));
  }
  for (size_t repeat = 0; repeat < std::min<size_t>(sights[0].stochastic.size(), 50); ++repeat) {
    Curve each{repeat == 0 ? "stochastic, each" : "", CurveStyle::kThin, {}, {}};
    for (const Sight& s : sights) put(each, s.n, s.error(s.stochastic[repeat]));
    plot.curves.push_back(each);
  }
  plot.curves.insert(plot.curves.end(), {nearest, mean, bound, root});
  return plot;
}

void tabulate(const Sum& sum, const std::vector<Sight>& sights, Table& table) {
  for (const Sight& s : sights) {
    std::vector<double> errors;
    for (const double x : s.stochastic) errors.push_back(s.error(x));
    const auto [least, greatest] = std::minmax_element(errors.begin(), errors.end());
    const double n = static_cast<double>(s.n);
    table.rows.push_back({format_name(sum.format), s.n, cell(s.harmonic), cell(s.terms), cell(s.nearest),
                          cell(s.error(s.nearest)), cell(s.mean_error()), cell(*greatest), cell(*least),
                          cell(deterministic_bound(n, nearest_roundoff(sum.format))),
                          cell(root_bound(n, stochastic_roundoff(sum.format)))});
  }
}

/// Where nearest stops: for fp16 and bf16 as an independent sum of exact rationals has it (harmonic-series tells who
/// published it). The sum is the same for every greater n.
void check_stop(const Sum& sum, std::vector<Check>& checks) {
  const std::string name = format_name(sum.format);
  const std::string ours = exact_decimal(sum.format, sum.nearest) + ", term " + std::to_string(sum.last_change + 1) +
                           " the first without effect";
  if (sum.format != kFp16 && sum.format != kBf16)
    return checks.push_back(recorded(name + ", nearest: where the sum stops", ours));
  const std::string theirs =
      sum.format == kFp16 ? "7.0859375, term 513 the first without effect" : "5.0625, term 65 the first without effect";
  checks.push_back(equal(name + ", nearest: where the sum stops", Against::kBound, ours, theirs));
}

/// |fl - exact| / exact of n positive numbers, added to nearest: at most (n - 1) u / (1 - (n - 1) u), for sure, as an
/// addition never underflows. Held against the n where that is below 1: what falls short never errs by more than 1.
void check_nearest_bound(const FloatFormat& f, const std::vector<Sight>& sights, std::vector<Check>& checks) {
  double greatest = 0;
  uint64_t last = 0;
  for (const Sight& s : sights) {
    const double n = static_cast<double>(s.n - 1), u = nearest_roundoff(f);
    if (!bound_tells(n, u)) break;
    last = s.n;
    greatest = std::max(greatest, s.error_of_additions(s.nearest) / deterministic_bound(n, u));
  }
  const std::string what = format_name(f) + ", nearest: error over n u/(1 - n u), the greatest";
  if (last == 0) return checks.push_back(recorded(what, "the bound is 1 at every n"));
  checks.push_back(
      at_most(what + " up to n = " + std::to_string(last) + ", beyond which the bound is 1", greatest, "", 1));
}

/// Every stochastic sum, with probability 1 - 2 n exp(-lambda^2/2), errs by at most lambda sqrt(n) u of the sum
/// (Connolly, Higham, Mary). lambda is taken so that this fails once in a million sums.
/// (For a sum alone 2 exp(-lambda^2/2) suffices: the roundings are a martingale whose steps span at most one quantum,
/// q <= 2 u T as long as the error has not reached T, so by Azuma and Hoeffding P(|error| >= lambda sqrt(n) u T) <=
/// 2 exp(-2 lambda^2 n u^2 T^2 / (n 4 u^2 T^2)).)
void check_stochastic_bound(const FloatFormat& f, const std::vector<Sight>& sights, bool unbiased,
                            std::vector<Check>& checks) {
  constexpr double kChance = 1e-6;
  bool within = true, below_root = true;
  const bool many = sights[0].stochastic.size() >= kRepeats;
  double greatest = 0;
  for (const Sight& s : sights) {
    const double n = static_cast<double>(s.n), unit = std::sqrt(n) * stochastic_roundoff(f);
    const double error = s.worst_error_of_additions();
    within = within && error <= lambda_for(n, kChance) * unit;
    below_root = below_root && s.mean_error_of_additions() <= unit;
    greatest = std::max(greatest, error / unit);
  }
  const std::string theirs = "lambda = " + six_digits(lambda_for(static_cast<double>(sights[0].n), kChance)) + " to " +
                             six_digits(lambda_for(static_cast<double>(sights.back().n), kChance)) +
                             ", which one sum in a million exceeds";
  checks.push_back(judged(format_name(f) + ", stochastic: error over sqrt(n) u, the greatest of all repeats",
                          unbiased ? Against::kBound : Against::kRecorded, six_digits(greatest), unbiased ? theirs : "",
                          !unbiased || within));
  // A single repeat is above it at some n now and then: one of some hundred.
  checks.push_back(
      judged_if(unbiased && many, holds(format_name(f) + ", stochastic: mean of the repeats below sqrt(n) u",
                                        Against::kShape, below_root, "below", "not below")));
}

/// The mean of all repeats is that of the rounded terms' sum, as no rounding is biased; its variance is the sum of the
/// roundings', d (1 - d) q^2 each. Five standard errors: one run in 1.7 million fails.
void check_mean(const FloatFormat& f, const std::vector<Sight>& sights, bool unbiased, std::vector<Check>& checks) {
  const Sight& last = sights.back();
  const double off = last.standard_errors();
  checks.push_back(judged_if(unbiased, few_standard_errors(format_name(f) + ", stochastic: mean at n = " +
                                                               std::to_string(last.n) + ", off the exact sum",
                                                           off)));
  const double nearest = last.error(last.nearest), stochastic = last.mean_error();
  checks.push_back(judged_if(
      unbiased, below(format_name(f) + ": mean error at n = " + std::to_string(last.n) + ", stochastic and nearest",
                      stochastic, nearest, "stochastic below nearest")));
}

/// With few random bits the rounding is biased, and no law of sqrt(n) holds.
std::string said_of_stochastic(int bits, bool unbiased) {
  if (unbiased)
    return "Rounded stochastically, a term too small to be added is added as a whole step now and then, with the "
           "probability that makes it right on average; the errors of the single additions cancel, and the error of "
           "the "
           "sum stays far below sqrt(n) u, the one that a random walk of n roundings would reach.";
  return "Rounded stochastically with " + counted(bits, "random bit") + ", an addition loses what is below 2^-" +
         std::to_string(bits) +
         " of the distance between two numbers of a format; nothing is asserted of formats whose sums lose by that.";
}

Outcome run(const Request& request, Watch& watch) {
  const std::vector<FloatFormat> formats = narrow_formats(request, kName, {kFp16, kBf16}, 4);
  const uint64_t repeats = repeats_of(request);
  const int bits = random_bits_of(request, kName, kUsualBits);
  const std::vector<uint64_t> places = log_spaced(10, greatest_n(request), 10);

  std::vector<Sum> sums;
  for (const FloatFormat& f : formats) sums.push_back(start(f, places.back(), repeats));
  const std::vector<std::vector<Sight>> sights = sum_up(sums, places, bits, request.seed, watch);

  Outcome o;
  o.settings = {{"formats", names_of(formats)},
                {"roundings", {"nearest", "stochastic"}},
                {"bits", bits},
                {"variant", "carry"},
                {"seed", request.seed},
                {"repeats", repeats},
                {"n", places}};
  Table errors{"errors",
               "Relative error of the sum of fl(1/i), i = 1 .. n, against H(n)",
               {"format", "n", "H(n)", "sum of the rounded terms", "nearest: sum", "nearest: error",
                "stochastic: mean error", "stochastic: worst", "stochastic: best", "n u/(1 - n u)", "sqrt(n) u"},
               {}};
  bool all_unbiased = true;
  for (size_t k = 0; k < formats.size(); ++k) {
    tabulate(sums[k], sights[k], errors);
    const std::string name = format_name(formats[k]);
    o.figures.push_back({"errors-" + name, plot_of(formats[k], sights[k]),
                         "Recursive summation of 1/i in " + name +
                             ": error and bounds, n u/(1 - n u) with nearest's u, "
                             "sqrt(n) u with stochastic's, both cut off at 1."});
    check_stop(sums[k], o.checks);
    check_nearest_bound(formats[k], sights[k], o.checks);
    const bool unbiased = bits >= bits_needed(formats[k], places.back());
    all_unbiased = all_unbiased && unbiased;
    check_stochastic_bound(formats[k], sights[k], unbiased, o.checks);
    check_mean(formats[k], sights[k], unbiased, o.checks);
  }
  o.tables.push_back(std::move(errors));
  o.seen =
      "The terms 1/i are added one after the other, and every addition is rounded to the format. Rounded to nearest, "
      "the sum stops for good as soon as a term is less than half the distance between the sum and the next number of "
      "the format: at 7.0859375 in fp16, after 512 terms, and at 5.0625 in bf16, after 64. From there on the relative "
      "error grows towards 1 with every further term, though slowly, as H(n) grows like the logarithm of n. " +
      said_of_stochastic(bits, all_unbiased);
  o.deviations =
      "The publication starts a new sum for each n; here one sum up to the greatest n is looked at on its way, so that "
      "the ten n of a stochastic repeat share their random bits. The terms are 1/i rounded to nearest in all runs. The "
      "publication compares the sums with that of the rounded terms. Here the errors shown are those against H(n), "
      "which includes the rounding of the terms; the bounds do not cover that rounding, and are compared with the sum "
      "of the rounded terms. The number of random bits is our choice: " +
      std::to_string(bits) + " for each rounding.";
  return o;
}

double seconds(const Request& r) {
  const double sums = static_cast<double>(repeats_of(r)) + 1;
  return greatest_n(r) * sums * static_cast<double>(r.formats.empty() ? 2 : r.formats.size()) / kAdditionsPerSecond;
}

}  // namespace

Experiment experiment() {
  return {kName,
          "the sum of 1/i up to a million terms: nearest stops, stochastic stays within sqrt(n) u",
          std::string(kPublication) + " (test_sum of its published programs)",
          kFormat | kBits | kSeed | kSamples,
          "stochastic repeats, 1..1000000 [=10]",
          seconds,
          run};
}

}  // namespace softamp::reproduce::recursive_sum
