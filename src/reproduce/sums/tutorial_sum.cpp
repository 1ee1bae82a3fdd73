// The tutorial's running sum: 0.0001 added 10,000 times in half precision, to nearest and stochastically, beside the
// twenty sums that its authors got from an IPU.
#include <algorithm>
#include <cmath>

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/sums/running_sum.h"
#include "src/numbers/decimal_text.h"
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/sums/sum_cases.h"
#include "src/reproduce/sums/sum_chain.h"
#include "src/reproduce/training/tutorial_losses.h"
#include "src/text/counted.h"
#include "src/text/hexadecimal.h"
#include "src/text/joined.h"

namespace softamp::reproduce::tutorial_sum {
namespace {

constexpr uint64_t kCount = 10000;
constexpr uint64_t kDefaultSamples = 40000, kBriefSamples = 600, kMostSamples = uint64_t{1} << 20;
constexpr int kDefaultBits = 13;
constexpr double kRate = 6e8;  ///< additions a second on two cores, the slower formats among them

/// The sums of an IPU with stochastic rounding that the tutorial prints.
constexpr double kHardware[] = {1.005, .993,  .991,  .9966, .986,  .997,  1.019, .9985, 1.004, 1.03,
                                .991,  .9873, .9946, 1.013, 1.006, .9995, 1.02,  .9653, .9854, .9985};

struct Choices {
  std::vector<FloatFormat> formats;
  std::vector<int> bits;
  uint64_t samples, seed;
};

Choices choices_of(const Request& r) {
  Choices c;
  c.formats = r.formats.empty() ? std::vector<FloatFormat>{kFp16, kBf16} : r.formats;
  c.bits = r.bits ? std::vector<int>{*r.bits} : std::vector<int>{16, kDefaultBits, 10, 8, 4};
  c.samples = r.samples.value_or(r.brief ? kBriefSamples : kDefaultSamples);
  c.seed = r.seed;
  for (const FloatFormat& f : c.formats)
    if (!f.valid() || f.storage_bits() > 16)
      throw std::invalid_argument("format " + format_name(f) + " in tutorial-sum: expected one of at most 16 bits");
  if (c.samples < 2 || c.samples > kMostSamples)
    throw std::invalid_argument("samples " + std::to_string(c.samples) + " in tutorial-sum: expected 2.." +
                                std::to_string(kMostSamples));
  return c;
}

RunningSumSetup setup_of(const FloatFormat& f, const Semantics& s, uint64_t replicas, uint64_t seed) {
  RunningSumSetup setup;
  setup.format = f;
  setup.semantics = s;
  setup.addend = to_code(f, number_from_text("0.0001")).code;
  setup.count = kCount;
  setup.replicas = replicas;
  setup.seed = seed;
  setup.trace_points = 201;
  setup.trace_replicas = 20;
  return setup;
}

/// Shared by all parts of the run.
struct Run {
  const Choices& choices;
  Outcome& outcome;
  Watch& watch;
  double done = 0, total = 1;  ///< additions

  RunningSum sums(const RunningSumSetup& setup) {
    const double each = static_cast<double>(setup.replicas);
    RunningSum sum =
        running_sum(setup, [&](uint64_t n) { watch.at(std::min(done + each * static_cast<double>(n), total), total); });
    done += each * static_cast<double>(setup.count);
    watch.at(std::min(done, total), total);
    return sum;
  }
};

RunningSum nearest(Run& run, const FloatFormat& f) {
  const RunningSum sum = run.sums(setup_of(f, experiment_semantics(RoundingMode::kNearestEven), 1, 0));
  const std::string end = exact_decimal(f, sum.codes[0]), last = std::to_string(sum.last_change[0]);
  run.outcome.tables[0].rows.push_back(
      {format_name(f), exact_decimal(f, setup_of(f, {}, 1, 0).addend), sum.exact_text, end, sum.last_change[0]});
  const auto check = [&](const std::string& what, const std::string& ours, const std::string& theirs) {
    run.outcome.checks.push_back(equal(format_name(f) + ", nearest: " + what, Against::kBound, ours, theirs));
  };
  if (f == kFp16) {
    check("final sum", end, "0.25");
    check("last addition with an effect", last, "2181");
    check("exact total", significant_digits(sum.exact, 9), "1.00016594");
  } else if (f == kBf16) {
    check("final sum", end, "0.03125");
    check("last addition with an effect", last, "273");
    check("exact total", significant_digits(sum.exact, 9), "1.00135803");
  }
  return sum;
}

struct Stochastic {
  std::vector<double> ends;
  RunningSum sum;
  SumDistribution exact;
};

/// What a program that shares no code with ours computed of one format and number of bits: an interval about the mean
/// of 20,000 sums; and the exact mean.
void check_computed(Run& run, const FloatFormat& f, int bits, const Stochastic& s) {
  std::vector<Check>& checks = run.outcome.checks;
  const std::string what = format_name(f) + ", " + counted(bits, "bit") + ": expectation";
  const bool fp16 = f == kFp16;
  // A sum below 2 discards at most 13 bits of the addend: with as many random bits every one of them counts, and no
  // addition has a bias.
  if (bits >= 13 && (fp16 || f == kBf16)) {
    checks.push_back(
        equal(what, Against::kBound, significant_digits(s.exact.mean, 9), fp16 ? "1.00016594" : "1.00135803"));
    const double computed_sd = fp16 ? .0154 : .0510;
    const double bound = kSumStandardErrors * s.exact.sd / std::sqrt(2 * kComputedSums) + .00005;
    checks.push_back({format_name(f) + ", " + counted(bits, "bit") + ": standard deviation", Against::kBound,
                      fixed_places(s.exact.sd, 5),
                      fixed_places(computed_sd, 4) + " +- " + fixed_places(bound, 5) + " of 20,000 sums",
                      std::abs(s.exact.sd - computed_sd) <= bound});
  }
  for (const ComputedMean& c : kComputedMeans)
    if (fp16 && bits == c.random_bits) {
      const double bound = kSumStandardErrors * s.exact.sd / std::sqrt(kComputedSums) + kComputedHalfDigit;
      checks.push_back({what + ", against 20,000 sums computed apart", Against::kBound, fixed_places(s.exact.mean, 5),
                        std::string(c.mean) + " +- " + fixed_places(bound, 5),
                        std::abs(s.exact.mean - number_of_decimal(c.mean).value()) <= bound});
    }
}

Stochastic stochastic(Run& run, const FloatFormat& f, int bits) {
  const Choices& c = run.choices;
  RunningSumSetup setup = setup_of(f, experiment_semantics(RoundingMode::kStochastic, bits), c.samples, c.seed);
  setup.operation = sum_site(f, bits);
  Stochastic s{{}, run.sums(setup), sum_distribution(f, setup.addend, kCount, bits)};
  for (const uint64_t code : s.sum.codes) s.ends.push_back(value_of(f, code));
  const MeanAndDeviation found = mean_and_deviation(s.ends);
  const double root = std::sqrt(static_cast<double>(c.samples)), error = s.exact.sd / root;
  const auto [least, greatest] = std::minmax_element(s.ends.begin(), s.ends.end());
  Json computed;
  for (const ComputedMean& m : kComputedMeans)
    if (f == kFp16 && m.random_bits == bits) computed = m.mean;
  run.outcome.tables[1].rows.push_back(
      {format_name(f), bits, c.samples, found.mean, found.sd, *least, *greatest, s.exact.mean, s.exact.sd, computed});
  const std::string what = format_name(f) + ", " + counted(bits, "bit") + ", " + std::to_string(c.samples) + " sums: ";
  std::vector<Check>& checks = run.outcome.checks;
  const double bound = kSumStandardErrors * error;
  checks.push_back(within(
      what + "mean", found.mean, {s.exact.mean, bound, 1e-12}, [](double mean) { return significant_digits(mean, 8); },
      significant_digits(bound, 2)));
  // The variance of n samples scatters by sqrt((m4 - sd^4) / n), m4 the fourth central moment; its root by 1 / (2 sd)
  // of that. For normal sums that is sd / sqrt(2 n); those of the narrowest formats are skewed.
  double fourth = 0;
  for (size_t i = 0; i < s.exact.probability.size(); ++i)
    fourth += s.exact.probability[i] * std::pow(value_of(f, s.exact.first_code + i) - s.exact.mean, 4);
  const double excess = std::max(0.0, fourth - std::pow(s.exact.sd, 4));
  const double spread = s.exact.sd > 0 ? kSumStandardErrors * std::sqrt(excess) / root / (2 * s.exact.sd) : 0;
  const bool many = c.samples >= kFewSamples;
  const auto five_digits = [](double sd) { return significant_digits(sd, 5); };
  checks.push_back(judged_if(many,
                             within(what + "standard deviation", found.sd, {s.exact.sd, spread, 1e-12}, five_digits,
                                    significant_digits(spread, 2)),
                             five_digits(s.exact.sd)));
  check_computed(run, f, bits, s);
  return s;
}

/// The twenty sums of the hardware next to our first twenty, and next to the expectation of ours.
void hardware(Run& run, const Stochastic& s) {
  Table t{"twenty", "Twenty sums in fp16 with stochastic rounding", {"sum", "an IPU (tutorial)", "ours"}, {}};
  for (size_t i = 0; i < std::size(kHardware); ++i)
    t.rows.push_back({i + 1, kHardware[i], i < s.ends.size() ? Json(s.ends[i]) : Json()});
  run.outcome.tables.push_back(std::move(t));
  const MeanAndDeviation ipu = mean_and_deviation(kHardware);
  const double bound = 4 * s.exact.sd / std::sqrt(20.0);
  run.outcome.checks.push_back(within(
      "the IPU's twenty sums: their mean against our expectation", s.exact.mean, {ipu.mean, bound},
      [](double mean) { return fixed_places(mean, 4); }, fixed_places(bound, 4)));
  double farthest = 0;
  for (const double h : kHardware) farthest = std::max(farthest, std::abs(h - s.exact.mean) / s.exact.sd);
  run.outcome.checks.push_back({"the IPU's twenty sums: the farthest, in our standard deviations", Against::kBound,
                                fixed_places(farthest, 1), "at most 5", farthest <= 5});
}

/// The order of the hardware's own generator: end values of four lanes by two programs that share no code with ours.
void hardware_order(Run& run) {
  RunningSumSetup setup = setup_of(kFp16, experiment_semantics(RoundingMode::kStochastic, 16), 4, 42);
  setup.engine = RandomEngine::kXoroshiro128aox;
  const RunningSum sum = run.sums(setup);
  const std::string ours = joined(sum.codes, " ", [](uint64_t code) { return hexadecimal(code, 4); });
  run.outcome.checks.push_back(equal("fp16, xoroshiro128aox in the hardware's order after setSeed 42, four lanes",
                                     Against::kBound, ours, "3bf0 3c01 3c00 3c12"));
}

Figure histogram(const FloatFormat& f, int bits, const Stochastic& s) {
  const double width = std::exp2(std::floor(std::log2(std::max(s.exact.sd, 1e-9) / 2)));
  const double first = std::floor((s.exact.mean - 5 * s.exact.sd) / width);
  const size_t bins = static_cast<size_t>(std::ceil(10 * s.exact.sd / width)) + 1;
  Curve ours{"ours, " + std::to_string(s.ends.size()) + " sums", CurveStyle::kBars, {}, {}};
  Curve exact{"exact distribution", CurveStyle::kReference, {}, {}};
  Curve ipu{"an IPU, 20 sums", CurveStyle::kPoints, {}, {}};
  for (Curve* c : {&ours, &exact, &ipu})
    for (size_t b = 0; b < bins; ++b) {
      c->x.push_back((first + static_cast<double>(b) + .5) * width);
      c->y.push_back(0);
    }
  const auto count = [&](Curve& c, double x, double share) {
    const double b = std::floor(x / width) - first;
    if (b >= 0 && b < static_cast<double>(bins)) c.y[static_cast<size_t>(b)] += 100 * share;
  };
  for (const double e : s.ends) count(ours, e, 1 / static_cast<double>(s.ends.size()));
  for (size_t i = 0; i < s.exact.probability.size(); ++i)
    count(exact, value_of(f, s.exact.first_code + i), s.exact.probability[i]);
  for (const double h : kHardware) count(ipu, h, 1 / static_cast<double>(std::size(kHardware)));
  Plot plot;
  plot.title = "0.0001 added 10,000 times in " + format_name(f) + ": where the sums end";
  plot.subtitle = "stochastic rounding, " + std::to_string(bits) + " random bits";
  plot.x_label = "final sum";
  plot.y_label = "share of the sums (%), by bins of " + significant_digits(width, 4);
  plot.curves = {ours, exact};
  if (f == kFp16) {
    for (double& share : ipu.y)  // no mark where no sum ended
      if (share == 0) share = std::nan("");
    plot.curves.push_back(ipu);
  }
  return {
      "histogram", plot,
      "The final sums scatter about their expectation: the exact total of the rounded addend, less what too few random "
      "bits cut off."};
}

Figure paths(const FloatFormat& f, const RunningSum& near, const Stochastic& s) {
  Plot plot;
  plot.title = "0.0001 added 10,000 times in " + format_name(f);
  plot.subtitle = "running sums, every addition rounded once";
  plot.x_label = "additions";
  plot.y_label = "running sum";
  const auto additions = [](const RunningSum& sum) {
    return std::vector<double>(sum.trace_additions.begin(), sum.trace_additions.end());
  };
  for (size_t i = 0; i < s.sum.traces.size(); ++i)
    plot.curves.push_back({i == 0 ? "stochastic, 20 sums" : "", CurveStyle::kThin, additions(s.sum), s.sum.traces[i]});
  plot.curves.push_back({"nearest", CurveStyle::kBold, additions(near), near.traces[0]});
  plot.curves.push_back({"exact", CurveStyle::kReference, {0, static_cast<double>(kCount)}, {0, s.sum.exact}});
  return {"paths", plot,
          "To nearest the sum stops once the addend is less than half a step; stochastically it goes on."};
}

/// The losses and the hardware's lanes are sums in fp16.
bool with_fp16(const Choices& c) { return std::find(c.formats.begin(), c.formats.end(), kFp16) != c.formats.end(); }
/// And the lanes draw 16 random bits.
bool with_lanes(const Choices& c) {
  return with_fp16(c) && std::find(c.bits.begin(), c.bits.end(), 16) != c.bits.end();
}
int loss_bits(const Choices& c) { return c.bits.size() == 1 ? c.bits[0] : kDefaultBits; }

double additions_of(const Choices& c) {
  const double sums = kCount * static_cast<double>(c.formats.size() * c.bits.size());
  return static_cast<double>(c.samples) * (sums + (with_fp16(c) ? kLossAdditions : 0));
}

void set_up(Outcome& o, const Choices& c) {
  for (const FloatFormat& f : c.formats) o.settings["formats"].push_back(format_name(f));
  o.settings["addend"] = "0.0001";
  o.settings["additions"] = kCount;
  o.settings["random_bits"] = c.bits;
  o.settings["variant"] = name_of(StochasticVariant::kCarry);
  if (with_fp16(c)) o.settings["losses"] = "fp16, " + std::to_string(loss_bits(c)) + " random bits";
  if (with_lanes(c)) o.settings["hardware_order"] = "fp16, 16 random bits, xoroshiro128aox, four lanes";
  o.settings["seed"] = c.seed;
  o.settings["samples"] = c.samples;
  o.tables.push_back({"nearest",
                      "0.0001 added 10,000 times, to nearest",
                      {"format", "addend", "exact total", "final sum", "last addition with an effect"},
                      {}});
  o.tables.push_back({"stochastic",
                      "The same with stochastic rounding; expected: of the exact distribution",
                      {"format", "random bits", "sums", "mean", "sd", "least", "greatest", "expected mean",
                       "expected sd", "mean of 20,000, computed apart"},
                      {}});
}

std::string seen(bool usual_settings) {
  if (!usual_settings)
    return "The addend 0.0001 is added 10,000 times, so that the sum should be 1. To nearest the sum stops for good "
           "once "
           "the addend is less than half the distance between neighbouring numbers: every addition is then rounded "
           "away. Rounded stochastically an addition moves the sum up by a whole step now and then, with just the "
           "probability that makes it right on average, so that single sums scatter. With as many random bits as an "
           "addition discards their mean is the exact total of the addend as the format holds it; with fewer, the bits "
           "that the generator does not reach are cut off, and the mean falls short.";
  return "The addend 0.0001 is added 10,000 times, so that the sum should be 1. In half precision to nearest it stops "
         "at "
         "0.25 after 2181 additions: from there on the addend is less than half the distance between neighbouring "
         "numbers and every addition is rounded away. Rounded stochastically an addition moves the sum up by a whole "
         "step now and then, with just the probability that makes it right on average: single sums scatter by 1.5 %, "
         "their mean is the exact total. With 13 random bits or more nothing of the addend is lost; with fewer, the "
         "bits "
         "that the generator does not reach are cut off, and the mean falls short: by 0.2 % with 10 bits and 6.5 % "
         "with "
         "4.";
}

Outcome run(const Request& request, Watch& watch) {
  const Choices c = choices_of(request);
  Outcome o;
  set_up(o, c);
  Run run{c, o, watch};
  run.total = additions_of(c);
  for (const FloatFormat& f : c.formats) {
    const RunningSum near = nearest(run, f);
    for (const int bits : c.bits) {
      const Stochastic s = stochastic(run, f, bits);
      const bool drawn = bits == kDefaultBits || c.bits.size() == 1;
      if (drawn && &f == &c.formats[0]) {
        o.figures = {histogram(f, bits, s), paths(f, near, s)};
        if (f == kFp16 && bits >= kDefaultBits) hardware(run, s);
      }
    }
  }
  if (with_lanes(c)) hardware_order(run);
  if (with_fp16(c)) {
    const double before = run.done;
    add_losses(o, c.samples, loss_bits(c), c.seed,
               [&](double additions) { watch.at(std::min(before + additions, run.total), run.total); });
  }
  o.seen = seen(by_default(request));
  o.deviations =
      "The tutorial's twenty sums are an IPU's, of its own generator; ours draw their random bits from Philox4x32-10. "
      "The other formats, the other numbers of random bits and the sums of equal losses are ours.";
  return o;
}

}  // namespace

Experiment experiment() {
  return {"tutorial-sum",
          "0.0001 added 10,000 times: to nearest it stops at a quarter, stochastically it arrives",
          kTutorial,
          kFormat | kBits | kSeed | kSamples,
          "stochastic sums of each format and number of bits [=40000]",
          [](const Request& r) { return additions_of(choices_of(r)) / kRate; },
          run};
}

}  // namespace softamp::reproduce::tutorial_sum
