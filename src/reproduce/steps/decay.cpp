// The experiment `decay`: forward Euler for two decay problems of the 2022 survey, nearest against stochastic.
//
// The set-up is that of the survey's published code: n = round(10^linspace(1, 6, 16)) steps; h = fl(T/n); then n times
// g = fl(y), or fl(y/20) for the second problem, and y = fl(y + fl(h (-g))). What a step adds shrinks as n grows; once
// it is half an ulp of y or less, rounding to nearest drops it each time.
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/decay_runs.h"
#include "src/reproduce/survey.h"

#include "softamp/names/names.h"
#include "softamp/numerics/operations.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace softamp::reproduce::decay {
namespace {

using namespace stepping;
using survey::judged;
using survey::six_digits;

constexpr uint32_t kUsualPaths = 100;
constexpr uint32_t kMostPaths = 100000;
constexpr uint32_t kMostWidePaths = 10;  ///< unless --samples is given: their lanes are computed one by one
constexpr int kUsualBits = 32;           ///< all that two numbers of bf16 leave to round, except a negligible rest
constexpr uint32_t kBriefSteps = 5000;
constexpr double kRoundingsPerSecond = 1e8;      ///< of formats of at most 16 bits, on two cores
constexpr double kWideRoundingsPerSecond = 3e7;  ///< of wider ones

struct Plan {
  std::vector<FloatFormat> formats;
  std::vector<RoundingMode> modes;
  std::vector<uint64_t> steps;
  int bits;
  bool by_default;  ///< no option was given, except perhaps the seed
  std::vector<DecayRun> runs;
};

std::vector<FloatFormat> formats_of(const Request& request) {
  if (request.formats.empty()) return {kBf16, kFp16, kFp32};
  for (const FloatFormat& f : request.formats) {
    if (!f.valid() || f.storage_bits() > 32)
      throw std::invalid_argument("decay: format " + format_name(f) + ": expected one of at most 32 bits");
    const auto holds = [&](double x) { return fp::to_double(f, fp::from_double(f, x)) == x; };
    if (!holds(1) || !holds(1.0 / 64) || !holds(20) || fp::from_double(f, 1.0 / 20) == 0)
      throw std::invalid_argument("decay: format " + format_name(f) + ": expected one that holds 1/64, 1 and 20");
  }
  return request.formats;
}

Plan plan_of(const Request& request) {
  Plan plan{formats_of(request), roundings_of(request, "decay"), survey::log_spaced(10, 1e6, 16), 0, false, {}};
  plan.bits = survey::random_bits_of(request, "decay", kUsualBits);
  plan.by_default = request.formats.empty() && request.roundings.empty() && !request.bits && !request.samples;
  const uint32_t paths = paths_of(request, "decay", kUsualPaths, kMostPaths);
  for (uint32_t which = 0; which < std::size(kDecayCases); ++which)
    for (const FloatFormat& f : plan.formats)
      for (const RoundingMode mode : plan.modes)
        for (uint32_t i = 0; i < plan.steps.size(); ++i) {
          const uint32_t n = static_cast<uint32_t>(plan.steps[i]);
          if (request.brief && n > kBriefSteps) continue;
          const bool few = f.storage_bits() > 16 && !request.samples;
          const uint32_t many = few ? std::min(paths, kMostWidePaths) : paths;
          plan.runs.push_back({which, f, mode, n, i, mode == RoundingMode::kStochastic ? many : 1});
        }
  if (request.brief) std::erase_if(plan.steps, [](uint64_t n) { return n > kBriefSteps; });
  return plan;
}

double seconds(const Request& request) {
  double total = 0;
  for (const DecayRun& run : plan_of(request).runs)
    total += decay_work(run) / (run.format.storage_bits() > 16 ? kWideRoundingsPerSecond : kRoundingsPerSecond);
  return total;
}

/// The result of one run, as it is printed.
struct Result {
  DecayRun run;
  double mean, mean_error, sd, expected, deviation, euler;
  bool stayed;  ///< every path still is at y0
  double error() const { return std::abs(mean - kDecayCases[run.which].solution()); }
};

Result judged_run(const DecayRun& run, const DecayEnd& end, int bits) {
  const DecayCase& c = kDecayCases[run.which];
  Result result{run, 0, 0, 0, 0, 0, 0, true};
  const double paths = static_cast<double>(end.y.size());
  for (const double y : end.y) {
    result.mean += y / paths;
    result.mean_error += std::abs(y - c.solution()) / paths;
    result.stayed &= y == c.y0();
  }
  for (const double y : end.y) result.sd += (y - result.mean) * (y - result.mean);
  result.sd = end.y.size() > 1 ? std::sqrt(result.sd / (paths - 1)) : 0;
  const DecayExpectation expected = expected_decay(run, end.h, bits);
  result.expected = expected.mean;
  result.deviation = expected.deviation;
  result.euler = c.y0() * std::exp(run.n * std::log1p(-c.duration() / c.divisor / run.n));
  return result;
}

std::vector<Result> run_all(const Plan& plan, uint64_t seed, Watch& watch) {
  std::vector<size_t> order(plan.runs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto cost = [&](size_t i) {
    return decay_work(plan.runs[i]) /
           (plan.runs[i].format.storage_bits() > 16 ? kWideRoundingsPerSecond : kRoundingsPerSecond);
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return cost(a) > cost(b); });
  double total = 0;
  for (const DecayRun& run : plan.runs) total += decay_work(run);
  std::vector<DecayEnd> ends(plan.runs.size());
  run_jobs(order.size(), total, watch, [&](size_t job, JobProgress& progress) {
    ends[order[job]] = run_decay(plan.runs[order[job]], plan.bits, seed, progress);
  });
  std::vector<Result> results;
  for (size_t i = 0; i < ends.size(); ++i) results.push_back(judged_run(plan.runs[i], ends[i], plan.bits));
  return results;
}

std::vector<Result> results_of(const std::vector<Result>& all, uint32_t which, const FloatFormat& f,
                               RoundingMode mode) {
  std::vector<Result> found;
  for (const Result& r : all)
    if (r.run.which == which && r.run.format == f && r.run.mode == mode) found.push_back(r);
  return found;
}

Table error_table(const std::vector<Result>& results) {
  Table table{"errors",
              "Error at T of forward Euler with n steps",
              {"problem", "format", "rounding", "n", "paths", "mean of y(T)", "|error of the mean|", "mean of |error|",
               "standard deviation of y(T)", "|error| of Euler in exact arithmetic", "all paths still at y(0)"},
              {}};
  for (const Result& r : results)
    table.rows.push_back({kDecayCases[r.run.which].name, format_name(r.run.format), name_of(r.run.mode), r.run.n,
                          r.run.paths, r.mean, r.error(), r.mean_error, r.run.paths > 1 ? Json(r.sd) : Json(),
                          std::abs(r.euler - kDecayCases[r.run.which].solution()), r.stayed ? "yes" : "no"});
  return table;
}

Figure error_figure(uint32_t which, const Plan& plan, const std::vector<Result>& results) {
  const DecayCase& c = kDecayCases[which];
  Figure figure{c.name, {}, {}};
  figure.plot.title = std::string("Forward Euler for ") + c.text;
  figure.plot.subtitle = "against the exact solution, every operation rounded once";
  figure.plot.x_label = "steps n";
  figure.plot.y_label = "|error| of y(T), stochastic: of the mean of the paths";
  figure.plot.x_log = figure.plot.y_log = 10;
  int place = 0;
  for (const FloatFormat& f : plan.formats)
    add_curves(figure.plot, f, place++, plan.modes, [&](RoundingMode mode, Curve& curve) {
      for (const Result& r : results_of(results, which, f, mode)) {
        curve.x.push_back(r.run.n);
        curve.y.push_back(r.error());
      }
    });
  Curve exact{"exact arithmetic", CurveStyle::kReference, {}, {}};
  for (const Result& r : results_of(results, which, plan.formats[0], plan.modes[0])) {
    exact.x.push_back(r.run.n);
    exact.y.push_back(std::abs(r.euler - c.solution()));
  }
  figure.plot.curves.push_back(std::move(exact));
  figure.caption = std::string(c.text) +
                   ": rounded to nearest, the error grows with n until y does not move at all, and then stays; "
                   "rounded stochastically, it stays near what the number of paths averages out.";
  return figure;
}

/// Where rounding to nearest stops: predicted, found, and confirmed by every run.
void judge_nearest(Outcome& outcome, const Plan& plan, const std::vector<Result>& results) {
  Table table{"stagnation",
              "The least n from which on rounding to nearest leaves y at y(0), step after step",
              {"problem", "format", "from the half-ulp rule", "found on the emulated unit", "|error| from there on"},
              {}};
  for (uint32_t which = 0; which < std::size(kDecayCases); ++which)
    for (const FloatFormat& f : plan.formats) {
      const DecayCase& c = kDecayCases[which];
      const uint64_t found = found_stagnation(c, f), predicted = predicted_stagnation(c, f);
      table.rows.push_back({c.name, format_name(f), predicted, found, std::abs(c.y0() - c.solution())});
      const std::string what = std::string(c.name) + ", " + format_name(f) + ", nearest: ";
      outcome.checks.push_back(equal(what + "least n from which on y stays at y(0)", Against::kBound,
                                     std::to_string(found), std::to_string(predicted),
                                     ": fl(h g) is at most half an ulp of y(0)"));
      const std::vector<Result> runs = results_of(results, which, f, RoundingMode::kNearestEven);
      const bool borne_out =
          std::all_of(runs.begin(), runs.end(), [&](const Result& r) { return r.stayed == (r.run.n >= found); });
      const auto stayed = std::count_if(runs.begin(), runs.end(), [](const Result& r) { return r.stayed; });
      outcome.checks.push_back(judged(what + "runs that never move", Against::kShape,
                                      std::to_string(stayed) + " of " + std::to_string(runs.size()),
                                      "those of n >= " + std::to_string(found) + ", no other", borne_out));
    }
  outcome.tables.push_back(std::move(table));
}

/// Modes without a derived bound: their errors are recorded.
void record_others(Outcome& outcome, const Plan& plan, const std::vector<Result>& results) {
  for (const Result& r : results)
    if (r.run.n == plan.steps.back() && r.run.mode != RoundingMode::kNearestEven &&
        r.run.mode != RoundingMode::kStochastic)
      outcome.checks.push_back(recorded(std::string(kDecayCases[r.run.which].name) + ", " + format_name(r.run.format) +
                                            ", " + name_of(r.run.mode) + ", n = " + std::to_string(r.run.n) +
                                            ": |error|",
                                        six_digits(r.error())));
}

/// The mean of the stochastic paths, at every n, against what unbiased roundings give.
void judge_stochastic(Outcome& outcome, const Plan& plan, const std::vector<Result>& results) {
  for (uint32_t which = 0; which < std::size(kDecayCases); ++which)
    for (const FloatFormat& f : plan.formats) {
      double worst = 0;
      uint32_t at = 0;
      for (const Result& r : results_of(results, which, f, RoundingMode::kStochastic)) {
        const double share = std::abs(r.mean - r.expected) / r.deviation;
        if (share >= worst) worst = share, at = r.run.n;
      }
      outcome.checks.push_back(at_most(
          std::string(kDecayCases[which].name) + ", " + format_name(f) +
              ", stochastic: distance of the mean from exact Euler's, at its worst n = " + std::to_string(at),
          worst, " of the bound", 1, ": 5 standard errors, from the variance of the roundings, and their bias"));
    }
}

/// What the survey says in words: where nearest has stopped, stochastic has not. Judged where the bound on the mean
/// (kStandardErrors) is below nearest's error, so that it must be so, and with the usual paths, of which the widest
/// bound, that of bf16 and the slow rate, is so with 4 standard errors instead.
void judge_both(Outcome& outcome, const Plan& plan, const std::vector<Result>& results) {
  for (uint32_t which = 0; which < std::size(kDecayCases); ++which)
    for (const FloatFormat& f : plan.formats) {
      const std::vector<Result> nearest = results_of(results, which, f, RoundingMode::kNearestEven);
      const std::vector<Result> stochastic = results_of(results, which, f, RoundingMode::kStochastic);
      if (nearest.empty() || !nearest.back().stayed) continue;
      const Result &still = nearest.back(), &drawn = stochastic.back();
      const double ours = drawn.error(), theirs = still.error();
      const double solution = kDecayCases[which].solution();
      const bool must = plan.by_default || std::abs(drawn.expected - solution) + drawn.deviation < theirs;
      outcome.checks.push_back(judged_if(
          must, below(std::string(kDecayCases[which].name) + ", " + format_name(f) +
                          ", n = " + std::to_string(still.run.n) + ": error of the stochastic mean, and of nearest",
                      ours, theirs, "stochastic below nearest, which stands still")));
    }
}

bool has(const Plan& plan, RoundingMode mode) {
  return std::find(plan.modes.begin(), plan.modes.end(), mode) != plan.modes.end();
}

Outcome run(const Request& request, Watch& watch) {
  const Plan plan = plan_of(request);
  const std::vector<Result> results = run_all(plan, request.seed, watch);
  const uint32_t paths = paths_of(request, "decay", kUsualPaths, kMostPaths);
  Outcome outcome;
  outcome.settings = {{"problems", {kDecayCases[0].text, kDecayCases[1].text}},
                      {"formats", survey::names_of(plan.formats)},
                      {"roundings", names_of(plan.modes)},
                      {"random bits", plan.bits},
                      {"seed", request.seed},
                      {"n", plan.steps},
                      {"paths", paths},
                      {"order", "h = fl(T/n); g = fl(y) or fl(y/20); y = fl(y + fl(h (-g)))"}};
  if (!request.samples) outcome.settings["paths in formats of more than 16 bits"] = kMostWidePaths;
  outcome.tables.push_back(error_table(results));
  for (uint32_t which = 0; which < std::size(kDecayCases); ++which)
    outcome.figures.push_back(error_figure(which, plan, results));
  const bool nearest = has(plan, RoundingMode::kNearestEven), stochastic = has(plan, RoundingMode::kStochastic);
  if (nearest) judge_nearest(outcome, plan, results);
  if (stochastic) judge_stochastic(outcome, plan, results);
  if (nearest && stochastic) judge_both(outcome, plan, results);
  record_others(outcome, plan, results);
  outcome.seen =
      "A quantity that decays is followed in ever smaller steps. In exact arithmetic smaller steps mean a smaller "
      "error. Rounded to nearest the error falls only at first and then grows again: each step subtracts less, and "
      "what it subtracts is rounded to whole units in the last place. Once it is half such a unit or less, y minus it "
      "rounds back to y, and the quantity never moves again, however many steps there are. Rounded stochastically, the "
      "small amount is taken off as a whole unit now and then, as often as is right on average, so the mean over many "
      "runs follows exact arithmetic, and a single run strays from it by a bounded amount, however many steps there "
      "are.";
  if (stochastic)
    outcome.deviations = own_paths(std::to_string(paths) + " paths" +
                                       (request.samples ? ""
                                                        : ", " + std::to_string(kMostWidePaths) +
                                                              " in formats of more than 16 bits to save time,"),
                                   plan.bits);
  return outcome;
}

}  // namespace

Experiment experiment() {
  return {"decay",
          "Forward Euler for y' = -y and y' = -y/20: where rounding to nearest stops moving",
          survey::kPublication,
          kFormat | kRounding | kBits | kSeed | kSamples,
          "stochastic paths [=100; 10 in formats of more than 16 bits]",
          seconds,
          run};
}

}  // namespace softamp::reproduce::decay
