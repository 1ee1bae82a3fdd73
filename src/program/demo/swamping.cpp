// Swamping, told in six pictures.
#include <algorithm>
#include <cmath>

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"
#include "softamp/sums/running_sum.h"
#include "src/numbers/decimal_text.h"
#include "src/program/demo/story.h"
#include "src/sums/unchanged_sum.h"

namespace softamp::program {
namespace {

constexpr FloatFormat kFormat = kFp16;
constexpr double kAddend = 1e-4;
constexpr uint64_t kCount = 10000, kRuns = 1000, kShownRuns = 50, kTracePoints = 200;
constexpr int kBits = 13;
const std::string kCommand = "softamp sum --value 0.0001 --count 10000";

double number(uint64_t code) { return value_of(kFormat, code); }
double spacing(uint64_t code) { return number(code + 1) - number(code); }
std::string text(double value, int digits = 6) { return significant_digits(value, digits); }

Curve curve(std::string title, CurveStyle style, std::vector<double> x, std::vector<double> y) {
  Curve c;
  c.title = std::move(title);
  c.style = style;
  c.x = std::move(x);
  c.y = std::move(y);
  return c;
}

Plot plot(std::string title, std::string subtitle, std::string x, std::string y) {
  Plot p;
  p.title = std::move(title);
  p.subtitle = std::move(subtitle);
  p.x_label = std::move(x);
  p.y_label = std::move(y);
  return p;
}

struct Sums {
  RunningSumSetup setup;
  RunningSum sum;
  std::vector<double> additions;  ///< of the record

  double exact_after(double n) const { return number(setup.start) + n * number(setup.addend); }
  std::vector<double> exact() const {
    std::vector<double> line;
    for (const double n : additions) line.push_back(exact_after(n));
    return line;
  }
  /// Over all runs, after each addition of the record.
  std::vector<double> mean() const {
    std::vector<double> all;
    for (size_t i = 0; i < additions.size(); ++i) {
      double total = 0;
      for (const auto& trace : sum.traces) total += trace[i];
      all.push_back(total / static_cast<double>(sum.traces.size()));
    }
    return all;
  }
};

Sums sums(double start, double addend, bool stochastic, uint64_t seed, uint64_t runs = 1) {
  Sums s;
  s.setup.format = kFormat;
  s.setup.semantics = stochastic ? Semantics::ieee(RoundingPolicy::stochastic_carry(kBits)) : Semantics::ieee();
  s.setup.addend = fp::from_double(kFormat, addend);
  s.setup.start = fp::from_double(kFormat, start);
  s.setup.count = kCount;
  s.setup.replicas = s.setup.trace_replicas = runs;
  s.setup.seed = seed;
  s.setup.trace_points = kTracePoints;
  s.sum = running_sum(s.setup);
  for (const uint64_t n : s.sum.trace_additions) s.additions.push_back(static_cast<double>(n));
  return s;
}

std::vector<double> finals(const Sums& s) {
  std::vector<double> values;
  for (const uint64_t code : s.sum.codes) values.push_back(number(code));
  return values;
}

StoryPart numbers_are_apart() {
  std::vector<double> x, y;
  for (int e = -8; e <= 11; ++e)
    for (const double edge : {std::ldexp(1, e), std::ldexp(1.999, e)}) {
      x.push_back(edge);
      y.push_back(spacing(fp::from_double(kFormat, std::ldexp(1, e))));
    }
  Plot p = plot("How far apart the numbers of fp16 are", "a step at every power of two", "number", "to its neighbour");
  p.x_log = p.y_log = 2;
  p.curves = {curve("", CurveStyle::kBold, x, y)};
  const auto at = [](double v) { return text(spacing(fp::from_double(kFormat, v)), 3); };
  return {"Sixteen bits leave gaps", p,
          "A number of fp16 has 11 significant bits. Between 0.25 and 0.5 two neighbours are " + at(0.25) +
              " apart, between 1 and 2 " + at(1) + ", and from 2048 on " + at(2048) +
              ". What a computation gives must be rounded to one of them.",
          "softamp inspect 0.25 --format fp16"};
}

StoryPart it_stops(const Sums& nearest) {
  Plot p =
      plot("0.0001 added ten thousand times", "each sum rounded to the nearest number of fp16", "additions", "sum");
  p.curves = {curve("exact", CurveStyle::kReference, nearest.additions, nearest.exact()),
              curve("fp16, to nearest", CurveStyle::kBold, nearest.additions, nearest.sum.traces[0])};
  const double end = number(nearest.sum.codes[0]);
  return {"A sum that stops", p,
          "The sum should end at " + text(nearest.sum.exact) + ". It stops at " + text(end) + ", after " +
              std::to_string(nearest.sum.last_change[0]) + " additions, and each of the other " +
              std::to_string(kCount - nearest.sum.last_change[0]) +
              " is lost: " + text(100 * (1 - end / nearest.sum.exact), 3) + " % of the result.",
          kCommand};
}

StoryPart why(const Sums& nearest) {
  std::vector<double> half, addend;
  for (const double sum : nearest.sum.traces[0]) {
    half.push_back(spacing(fp::from_double(kFormat, sum)) / 2);
    addend.push_back(number(nearest.setup.addend));
  }
  Plot p = plot("What is added, against half the distance to the next number", "above the dashed line nothing moves",
                "additions", "");
  p.y_log = 2;
  p.curves = {curve("0.0001", CurveStyle::kReference, nearest.additions, addend),
              curve("half the distance at the sum", CurveStyle::kBold, nearest.additions, half)};
  const uint64_t end = nearest.sum.codes[0];
  return {"Why it stops", p,
          "As the sum grows, its neighbours move apart. At the end " +
              detail::why_unchanged(kFormat, nearest.setup.semantics, end, number(nearest.setup.addend)) +
              ": the sum plus 0.0001 lies nearer to " + text(number(end)) + " than to " + text(number(end + 1), 7) +
              ", and is rounded back. This is called swamping.",
          kCommand};
}

StoryPart stochastic_sums(const Sums& nearest, const Sums& many) {
  Plot p = plot("The same sum, rounded stochastically", std::to_string(kShownRuns) + " runs, and the mean of 1000",
                "additions", "sum");
  for (uint64_t run = 0; run < kShownRuns; ++run)
    p.curves.push_back(curve(run == 0 ? "runs" : "", CurveStyle::kThin, many.additions, many.sum.traces[run]));
  p.curves.push_back(curve("mean", CurveStyle::kBold, many.additions, many.mean()));
  p.curves.push_back(curve("exact", CurveStyle::kReference, many.additions, many.exact()));
  const MeanAndDeviation m = mean_and_deviation(finals(many));
  return {
      "Rounding by chance", p,
      "Stochastic rounding goes up with a probability: the share of the way that the exact result has come from the "
      "lower neighbour to the upper one. A tenth of the way up is rounded up once in ten times. No addition is "
      "lost for good: the mean of " +
          std::to_string(kRuns) + " sums is " + text(m.mean) + ", and exact is " + text(nearest.sum.exact) + ".",
      kCommand + " --rounding stochastic --replicas 1000"};
}

StoryPart errors(const Sums& nearest, const Sums& many) {
  std::vector<double> of_nearest, of_many, bound;
  for (size_t i = 0; i < many.additions.size(); ++i) {
    const double n = many.additions[i], exact = many.exact_after(n);
    double squares = 0;
    for (const auto& trace : many.sum.traces) squares += (trace[i] - exact) * (trace[i] - exact);
    of_nearest.push_back(std::abs(nearest.sum.traces[0][i] - exact) / exact);
    of_many.push_back(std::sqrt(squares / static_cast<double>(many.sum.traces.size())) / exact);
    bound.push_back(std::sqrt(n) * 0x1p-10);
  }
  Plot p =
      plot("Error of the sum, over the sum", "root mean square of 1000 stochastic sums", "additions", "relative error");
  p.x_log = p.y_log = 10;
  p.curves = {curve("to nearest", CurveStyle::kBold, nearest.additions, of_nearest),
              curve("stochastic", CurveStyle::kBold, many.additions, of_many),
              curve("sqrt(n) 2^-10", CurveStyle::kReference, many.additions, bound)};
  const MeanAndDeviation m = mean_and_deviation(finals(many));
  return {"How wrong each of them is", p,
          "To nearest, many additions in a row err to the same side, and from the stop on all of them do: in the end " +
              text(100 * of_nearest.back(), 3) +
              " % is missing. Stochastic errors go either way and mostly cancel, as in a "
              "random walk: the " +
              std::to_string(kRuns) + " sums have a standard deviation of " + text(m.sd, 3) + ", an error of " +
              text(100 * of_many.back(), 3) + " %, below sqrt(n) 2^-10, the size that theory gives them.",
          kCommand + " --rounding nearest,stochastic --replicas 1000"};
}

StoryPart training(uint64_t seed) {
  const Sums nearest = sums(1, -kAddend, false, seed), chance = sums(1, -kAddend, true, seed, kShownRuns);
  Plot p = plot("A weight of 1 that should lose 0.0001 in every step", "kept in fp16; the master weight in fp32",
                "steps of training", "weight");
  for (uint64_t run = 0; run < kShownRuns; ++run)
    p.curves.push_back(
        curve(run == 0 ? "stochastic" : "", CurveStyle::kThin, chance.additions, chance.sum.traces[run]));
  RunningSumSetup wide;
  wide.format = kFp32;
  wide.addend = fp::from_double(kFp32, number(nearest.setup.addend));
  wide.start = fp::from_double(kFp32, 1);
  wide.count = kCount;
  wide.trace_points = kTracePoints;
  const RunningSum master = running_sum(wide);
  std::vector<double> used;  // as the forward pass reads it: rounded to fp16
  for (const double w : master.traces[0]) used.push_back(number(fp::from_double(kFormat, w)));
  p.curves.push_back(curve("to nearest", CurveStyle::kBold, nearest.additions, nearest.sum.traces[0]));
  p.curves.push_back(curve("fp32 master weight, read in fp16", CurveStyle::kReference, nearest.additions, used));
  const MeanAndDeviation m = mean_and_deviation(finals(chance));
  return {"Why it matters in training", p,
          "A weight moves by many small steps. Rounded to nearest this one never moves: it ends at " +
              text(number(nearest.sum.codes[0])) +
              ". There are two ways out. A master weight in fp32 takes every step, and "
              "the network reads it rounded to fp16: it ends at " +
              text(used.back()) + ". Or the weight stays in fp16 and is rounded stochastically: " +
              std::to_string(kShownRuns) + " such weights end at " + text(m.mean, 3) + " on average.",
          "softamp sum --start 1 --value -0.0001 --count 10000 --rounding nearest,stochastic --replicas 50"};
}

}  // namespace

Story swamping_story(uint64_t seed) {
  const Sums nearest = sums(0, kAddend, false, seed), many = sums(0, kAddend, true, seed, kRuns);
  return {
      "Swamping: why a sum of small numbers stops",
      "Half-precision arithmetic can add a number to a sum ten thousand times and be left with a quarter of it. Six "
      "pictures show what happens, why, and two ways out. Below each is the command that gives its numbers.",
      {numbers_are_apart(), it_stops(nearest), why(nearest), stochastic_sums(nearest, many), errors(nearest, many),
       training(seed)}};
}

}  // namespace softamp::program
