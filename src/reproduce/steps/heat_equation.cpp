// The experiment `heat-equation`: the heat equation in one dimension as space and time steps shrink together, nearest
// against stochastic. The publication's orders, in a set-up of our own, which heat_runs.h states.
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/heat_runs.h"
#include "src/reproduce/survey.h"
#include "src/text/joined.h"

#include "softamp/names/names.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace softamp::reproduce::heat_equation {
namespace {

using namespace stepping;
using survey::judged;
using survey::six_digits;

constexpr uint32_t kUsualPaths = 32, kMostPaths = 10000, kPathsOfAJob = 4;
constexpr int kUsualBits = 13;
constexpr uint32_t kSpaces[] = {8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};
constexpr uint32_t kBriefSpaces = 64, kBriefSpacesNearest = 96, kProfileSpaces = 64;
constexpr int kLeastPrecision = 6;
constexpr double kRoundingsPerSecond = 4.5e8;  ///< on two cores

struct Plan {
  std::vector<FloatFormat> formats;
  std::vector<RoundingMode> modes;
  int bits;
  bool by_default;  ///< no option was given, except perhaps the seed
  std::vector<HeatRun> runs;
};

Plan plan_of(const Request& request) {
  Plan plan{survey::narrow_formats(request, "heat-equation", {kBf16, kFp16}, 1),
            roundings_of(request, "heat-equation"),
            survey::random_bits_of(request, "heat-equation", kUsualBits),
            false,
            {}};
  for (const FloatFormat& f : plan.formats)
    if (f.precision < kLeastPrecision || f.min_quantum() > -f.precision - 5)
      throw std::invalid_argument("heat-equation: format " + format_name(f) + ": expected a precision of at least " +
                                  std::to_string(kLeastPrecision) + " bits, and a 32nd of an ulp of 1/2");
  plan.by_default = request.formats.empty() && request.roundings.empty() && !request.bits && !request.samples;
  const uint32_t paths = paths_of(request, "heat-equation", kUsualPaths, kMostPaths);
  for (const FloatFormat& f : plan.formats)
    for (const RoundingMode mode : plan.modes)
      for (const uint32_t m : kSpaces)
        if (!request.brief || m <= (mode == RoundingMode::kStochastic ? kBriefSpaces : kBriefSpacesNearest))
          plan.runs.push_back({f, mode, m, mode == RoundingMode::kStochastic ? paths : 1});
  return plan;
}

double seconds(const Request& request) {
  double total = 0;
  for (const HeatRun& run : plan_of(request).runs) total += heat_work(run) * run.paths;
  return total / kRoundingsPerSecond;
}

struct Result {
  HeatRun run;
  std::vector<double> exact, start, u;  ///< m + 1 places, the last times the paths
  std::vector<double> mean;             ///< over the paths
  double square = 0;                    ///< mean of e^2 over paths and inner places
  double greatest = 0;                  ///< |e|
  bool stayed = true;                   ///< no place of any path has moved

  double error() const { return std::sqrt(square); }
};

Result result_of(const HeatRun& run, std::vector<double> u) {
  Result r{run, {}, heat_start(run.format, run.m), std::move(u), {}};
  r.exact = exact_heat(r.start);
  r.mean.assign(run.m + 1, 0);
  for (uint32_t path = 0; path < run.paths; ++path)
    for (uint32_t j = 0; j <= run.m; ++j) {
      const double value = r.u[size_t{path} * (run.m + 1) + j], e = value - r.exact[j];
      r.mean[j] += value / run.paths;
      r.square += e * e / (run.m - 1.0) / run.paths;
      r.greatest = std::max(r.greatest, std::abs(e));
      r.stayed &= value == r.start[j];
    }
  return r;
}

std::vector<Result> run_all(const Plan& plan, uint64_t seed, Watch& watch) {
  struct Job {
    size_t run;
    uint32_t first, count;
  };
  std::vector<Job> jobs;
  double total = 0;
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    total += heat_work(plan.runs[i]) * plan.runs[i].paths;
    for (uint32_t first = 0; first < plan.runs[i].paths; first += kPathsOfAJob)
      jobs.push_back({i, first, std::min(kPathsOfAJob, plan.runs[i].paths - first)});
  }
  const auto cost = [&](const Job& job) { return heat_work(plan.runs[job.run]) * job.count; };
  std::stable_sort(jobs.begin(), jobs.end(), [&](const Job& a, const Job& b) { return cost(a) > cost(b); });
  std::vector<std::vector<double>> ends(plan.runs.size());
  for (size_t i = 0; i < ends.size(); ++i) ends[i].resize(size_t{plan.runs[i].paths} * (plan.runs[i].m + 1));
  run_jobs(jobs.size(), total, watch, [&](size_t next, JobProgress& progress) {
    const Job& job = jobs[next];
    const HeatRun& run = plan.runs[job.run];
    const std::vector<double> u = run_heat(run, job.first, job.count, plan.bits, seed, progress);
    std::copy(u.begin(), u.end(), ends[job.run].begin() + static_cast<std::ptrdiff_t>(job.first * (run.m + 1)));
  });
  std::vector<Result> results;
  for (size_t i = 0; i < ends.size(); ++i) results.push_back(result_of(plan.runs[i], std::move(ends[i])));
  return results;
}

std::vector<const Result*> results_of(const std::vector<Result>& all, const FloatFormat& f, RoundingMode mode) {
  std::vector<const Result*> found;
  for (const Result& r : all)
    if (r.run.format == f && r.run.mode == mode) found.push_back(&r);
  return found;
}

struct Slope {
  double value, standard_error;
};

/// The slope of log error over log dt, by least squares; standard_error: from the spread of the paths' mean squares,
/// half of which is that of their roots.
Slope slope_of(const std::vector<const Result*>& results) {
  double x = 0, y = 0, xx = 0, xy = 0, variance = 0;
  for (const Result* r : results) {
    x += std::log(r->run.dt()) / static_cast<double>(results.size());
    y += std::log(r->error()) / static_cast<double>(results.size());
  }
  for (const Result* r : results) {
    const double a = std::log(r->run.dt()) - x, b = std::log(r->error()) - y;
    const double spread = expected_heat(r->run.format, r->run.m).relative_spread / 2;
    xx += a * a;
    xy += a * b;
    variance += a * a * spread * spread / r->run.paths;
  }
  return {xy / xx, std::sqrt(variance) / xx};
}

Table error_table(const std::vector<Result>& results) {
  Table table{"errors",
              "Error at T = 7/64 against the same scheme without rounding",
              {"format", "rounding", "spaces m", "dt", "steps", "paths", "root mean square of the error",
               "greatest |error|", "bound on the root mean square, stochastic", "u as at the start"},
              {}};
  for (const Result& r : results)
    table.rows.push_back({format_name(r.run.format), name_of(r.run.mode), r.run.m, r.run.dt(), r.run.steps(),
                          r.run.paths, r.error(), r.greatest,
                          r.run.mode == RoundingMode::kStochastic
                              ? Json(std::sqrt(expected_heat(r.run.format, r.run.m).square))
                              : Json(),
                          r.stayed ? "yes" : "no"});
  return table;
}

Figure error_figure(const Plan& plan, const std::vector<Result>& results) {
  Figure figure{"errors", {}, {}};
  figure.plot.title = "Heat equation: rounding error at T = 7/64";
  figure.plot.subtitle = "against the same scheme without rounding";
  figure.plot.x_label = "time step dt (space step dx = sqrt(32/7 dt))";
  figure.plot.y_label = "root mean square of the error";
  figure.plot.x_log = figure.plot.y_log = 10;
  int place = 0;
  for (const FloatFormat& f : plan.formats) {
    add_curves(figure.plot, f, place++, plan.modes, [&](RoundingMode mode, Curve& curve) {
      for (const Result* r : results_of(results, f, mode))
        curve.x.push_back(r->run.dt()), curve.y.push_back(r->error());
    });
    Curve order{format_name(f) + ": u dt^(-1/4)", CurveStyle::kReference, {}, {}};
    for (const Result* r : results_of(results, f, plan.modes[0])) {
      order.x.push_back(r->run.dt());
      order.y.push_back(std::ldexp(1.0, -f.precision) * std::pow(r->run.dt(), -0.25));
    }
    figure.plot.curves.push_back(std::move(order));
  }
  figure.caption =
      "To nearest, the error grows as dt shrinks until nothing moves any more, and is then all of what "
      "should have changed. Stochastically it grows no faster than the fourth root of 1/dt.";
  return figure;
}

Figure profile_figure(const Plan& plan, const std::vector<Result>& results) {
  const FloatFormat& f = plan.formats[0];
  Figure figure{"profile", {}, {}};
  figure.plot.title = "Heat equation in " + format_name(f) + ", m = " + std::to_string(kProfileSpaces);
  figure.plot.subtitle = "the profile at the end, from the same start";
  figure.plot.x_label = "place x";
  figure.plot.y_label = "u at T = 7/64";
  Curve exact{"no rounding", CurveStyle::kReference, {}, {}};
  for (const Result& r : results) {
    if (!(r.run.format == f) || r.run.m != kProfileSpaces) continue;
    const bool stochastic = r.run.mode == RoundingMode::kStochastic;
    Curve curve{name_of(r.run.mode) + (stochastic ? ", one path" : ""), CurveStyle::kBold, {}, {}};
    for (uint32_t j = 0; j <= r.run.m; ++j) curve.x.push_back(static_cast<double>(j) / r.run.m);
    curve.y.assign(r.u.begin(), r.u.begin() + r.run.m + 1);
    exact.x = curve.x;
    exact.y = r.exact;
    figure.plot.curves.push_back(curve);
    if (!stochastic || r.run.paths == 1) continue;
    curve.title = "stochastic, mean of " + std::to_string(r.run.paths) + " paths";
    curve.y = r.mean;
    figure.plot.curves.push_back(std::move(curve));
  }
  figure.plot.curves.push_back(std::move(exact));
  figure.caption = "The profile at the end. To nearest, it is the one of the start.";
  return figure;
}

/// m of the runs in a list: "64, 96, 128".
std::string spaces_text(const std::vector<const Result*>& results) {
  return results.empty() ? "none" : joined(results, ", ", [](const Result* r) { return r->run.m; });
}

void judge_nearest(Outcome& outcome, const FloatFormat& f, const std::vector<const Result*>& results) {
  const std::string what = format_name(f) + ", nearest: ";
  const uint32_t stops = stagnation_of_heat(f);
  std::vector<const Result*> stopped, must_stop, before;
  for (const Result* r : results) {
    if (r->stayed) stopped.push_back(r);
    if (r->run.m >= stops) must_stop.push_back(r);
    if (!r->stayed) before.push_back(r);
  }
  const bool all = std::all_of(must_stop.begin(), must_stop.end(), [](const Result* r) { return r->stayed; });
  outcome.checks.push_back(judged(what + "does not move at all, to the last digit, at m =", Against::kBound,
                                  spaces_text(stopped),
                                  "at " + spaces_text(must_stop) + " at least: from m = " + std::to_string(stops) +
                                      " on no step reaches half an ulp",
                                  all));
  // A step rounds only its last sum, by half a quantum at most, and no step makes an error greater.
  double worst = 0;
  for (const Result* r : results)
    worst = std::max(worst, r->greatest / (r->run.steps() * std::ldexp(1.0, -f.precision)));
  outcome.checks.push_back(at_most(what + "greatest |error|, as a share of (T/dt) u", worst, "", 1, ": O(u / dt)"));
  if (before.size() >= 2) {
    const double slope = slope_of(before).value;
    outcome.checks.push_back(recorded(
        what + "error goes as dt to the power, before it stops (m = " + spaces_text(before) + ")", six_digits(slope)));
  }
}

void judge_stochastic(Outcome& outcome, const Plan& plan, const FloatFormat& f,
                      const std::vector<const Result*>& results) {
  const std::string what = format_name(f) + ", stochastic: ";
  double worst = 0, worst_wave = 0;
  for (const Result* r : results) {
    const HeatExpectation e = expected_heat(f, r->run.m);
    const double paths = r->run.paths;
    worst = std::max(worst, r->square / e.square / (1 + kStandardErrors * e.relative_spread / std::sqrt(paths)));
    worst_wave = std::max(worst_wave, std::abs(first_wave(r->mean) - first_wave(r->exact)) /
                                          (kStandardErrors * std::sqrt(e.wave_variance / paths)));
  }
  // With fewer bits than the rounding needs there is a bias that no bound here covers.
  const bool unbiased = plan.bits >= kHeatBits;
  outcome.checks.push_back(judged_if(
      unbiased, at_most(what + "mean square of the error, at its worst m, as a share of the bound", worst, "", 1,
                        ": a quarter of a squared ulp a step, as the scheme passes it on, and 5 standard errors")));
  outcome.checks.push_back(judged_if(
      unbiased,
      at_most(what + "first sine wave of the mean, off the exact one, at its worst m, as a share of the bound",
              worst_wave, "", 1, ": 5 standard errors")));
  // The order holds as a bound: it is reached where a step's roundings have a variance that does not depend on dt. Here
  // that falls, from two thirds of a quarter of a squared ulp to about a third, as u becomes smooth to within an ulp
  // from place to place; so the error grows, but less than the order allows, and that by 5 standard errors.
  const Slope slope = slope_of(results);
  const double least = -0.25 - kStandardErrors * slope.standard_error;
  outcome.checks.push_back(judged(what + "error goes as dt to the power (m from " +
                                      std::to_string(results.front()->run.m) + " to " +
                                      std::to_string(results.back()->run.m) + ")",
                                  plan.by_default ? Against::kShape : Against::kRecorded, six_digits(slope.value),
                                  plan.by_default ? "O(u dt^(-1/4)): between " + six_digits(least) + " and 0" : "",
                                  !plan.by_default || (slope.value > least && slope.value < 0)));
}

/// Modes without a derived bound: their errors are recorded.
void record_others(Outcome& outcome, const std::vector<Result>& results) {
  for (const Result& r : results)
    if (r.run.mode != RoundingMode::kNearestEven && r.run.mode != RoundingMode::kStochastic)
      outcome.checks.push_back(recorded(format_name(r.run.format) + ", " + name_of(r.run.mode) +
                                            ", m = " + std::to_string(r.run.m) + ": |error|, the greatest",
                                        six_digits(r.greatest)));
}

Outcome run(const Request& request, Watch& watch) {
  const Plan plan = plan_of(request);
  const std::vector<Result> results = run_all(plan, request.seed, watch);
  Outcome outcome;
  outcome.settings["equation"] = "u_t = u_xx, 0 < x < 1; u(x, 0) = 1 + 3/4 sin(pi x); u = 1 at both ends; T = 7/64";
  outcome.settings["formats"] = survey::names_of(plan.formats);
  outcome.settings["roundings"] = names_of(plan.modes);
  outcome.settings["random bits"] = plan.bits;
  outcome.settings["seed"] = request.seed;
  outcome.settings["paths"] = paths_of(request, "heat-equation", kUsualPaths, kMostPaths);
  for (const HeatRun& r : plan.runs)
    if (r.format == plan.formats[0] && r.mode == plan.modes[0]) outcome.settings["spaces m"].push_back(r.m);
  outcome.settings["dt"] = "7/32 / m^2";
  outcome.settings["order"] =
      "a = fl(u[j-1] - u[j]); b = fl(u[j+1] - u[j]); s = fl(a + b); p = fl(7/32 s); u[j] = fl(u[j] + p)";
  outcome.tables.push_back(error_table(results));
  outcome.figures.push_back(error_figure(plan, results));
  outcome.figures.push_back(profile_figure(plan, results));
  for (const FloatFormat& f : plan.formats) {
    const std::vector<const Result*> nearest = results_of(results, f, RoundingMode::kNearestEven);
    const std::vector<const Result*> stochastic = results_of(results, f, RoundingMode::kStochastic);
    if (!nearest.empty()) judge_nearest(outcome, f, nearest);
    if (!stochastic.empty()) judge_stochastic(outcome, plan, f, stochastic);
  }
  record_others(outcome, results);
  outcome.seen =
      "A warm bar cools towards its ends, in ever smaller steps of space and time. What a step changes shrinks with "
      "the "
      "time step. Rounded to nearest, more and more of it is lost; below a certain step every change everywhere is "
      "less "
      "than half a unit in the last place, nothing moves from the first step on, and the bar stays as warm as it was. "
      "Rounded stochastically, the small changes happen now and then, as often as is right on average. Each rounding "
      "is "
      "off by up to one unit, but to either side and independently of its neighbours, so that the conduction of heat "
      "itself smooths the errors out: sixteen times as many steps of time no more than double the error.";
  outcome.deviations =
      "The publication proves the orders O(u / dt) to nearest and O(u dt^(-1/4)) stochastically; the problem, its "
      "grids, formats, paths and random bits are a set-up of our own that shows them, and none of its figures is the "
      "publication's. Errors are measured against the same scheme without rounding, so they come from rounding only.";
  return outcome;
}

}  // namespace

Experiment experiment() {
  return {
      "heat-equation",
      "The heat equation in one dimension: nearest stagnates as the step shrinks, stochastic goes on",
      "M. Croci, M. B. Giles, \"Effects of round-to-nearest and stochastic rounding in the numerical solution of the "
      "heat equation in low precision\", IMA Journal of Numerical Analysis 43(3), 2023",
      kFormat | kRounding | kBits | kSeed | kSamples,
      "stochastic paths [=32]",
      seconds,
      run};
}

}  // namespace softamp::reproduce::heat_equation
