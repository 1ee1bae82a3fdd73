// The experiment `unit-circle`: once round the unit circle by forward Euler, nearest against stochastic.
//
// The set-up is that of the 2022 survey: u' = v, v' = -u, u = 1, v = 0, one turn in N steps of h = fl(2 pi / N); both
// from the old values, u = fl(u + fl(h v)), v = fl(v - fl(h u)). Exact Euler ends at the radius (1 + (2 pi /
// N)^2)^(N/2).
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/circle_runs.h"
#include "src/reproduce/survey.h"

#include "softamp/names/names.h"
#include "softamp/numerics/operations.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace softamp::reproduce::unit_circle {
namespace {

using namespace stepping;
using survey::judged;
using survey::six_digits;

constexpr uint32_t kUsualPaths = 1000, kBriefPaths = 200, kMostPaths = 1000000;
constexpr uint32_t kPathsOfAJob = 250;
constexpr int kUsualBits = 32;
constexpr int kBriefStepsLog2 = 13;            ///< of a stochastic run
constexpr double kRoundingsPerSecond = 2.6e8;  ///< on two cores

struct Plan {
  std::vector<FloatFormat> formats;
  std::vector<RoundingMode> modes;
  int bits;
  std::vector<CircleRun> runs;
};

/// The published N: 32, 512, and two at which the format's nearest goes wrong.
std::vector<int> steps_log2_of(const FloatFormat& f) {
  return f.precision <= 8 ? std::vector<int>{5, 9, 11, 13} : std::vector<int>{5, 9, 14, 16};
}

Plan plan_of(const Request& request) {
  Plan plan{survey::narrow_formats(request, "unit-circle", {kBf16, kFp16}, 1),
            roundings_of(request, "unit-circle"),
            survey::random_bits_of(request, "unit-circle", kUsualBits),
            {}};
  const uint32_t paths = paths_of(request, "unit-circle", request.brief ? kBriefPaths : kUsualPaths, kMostPaths);
  for (const FloatFormat& f : plan.formats)
    for (const RoundingMode mode : plan.modes)
      for (const int n : steps_log2_of(f)) {
        const bool stochastic = mode == RoundingMode::kStochastic;
        if (request.brief && stochastic && n > kBriefStepsLog2) continue;
        plan.runs.push_back({f, mode, n, stochastic ? paths : 1});
      }
  return plan;
}

double work(const CircleRun& run) { return 4.0 * run.steps() * run.paths; }

double seconds(const Request& request) {
  double total = 0;
  for (const CircleRun& run : plan_of(request).runs) total += work(run);
  return total / kRoundingsPerSecond;
}

struct Result {
  CircleRun run;
  CircleEnd end;
  double u = 0, v = 0, radius = 0, sd = 0;  ///< means, and the standard deviation of the radius
  /// Of the runs' own step lengths: means of what CircleExpectation has; the radius' upper limit is of sqrt(square).
  double expected_u = 0, expected_v = 0, least = 0, greatest = 0, variance = 0, bias = 0;

  double exact() const {
    const double h = 2 * std::numbers::pi / run.steps();
    return std::exp(run.steps() / 2.0 * std::log1p(h * h));
  }
  /// How far the mean of the paths' ends is from where exact Euler, with their step lengths, has its mean end.
  double distance() const { return std::hypot(u - expected_u, v - expected_v); }
  double margin() const { return kStandardErrors * std::sqrt(variance / run.paths); }
};

Result result_of(const CircleRun& run, CircleEnd end, int bits) {
  Result r{run, std::move(end)};
  const double n = run.paths;
  std::vector<double> lengths, radii;
  std::vector<CircleExpectation> expectations;  // of the two or fewer step lengths that there are
  for (uint32_t i = 0; i < run.paths; ++i) {
    const double h = r.end.h[i];
    const size_t known = static_cast<size_t>(std::find(lengths.begin(), lengths.end(), h) - lengths.begin());
    if (known == lengths.size()) {
      lengths.push_back(h);
      expectations.push_back(expected_circle(run.format, run.steps_log2, h, bits));
    }
    const CircleExpectation& e = expectations[known];
    radii.push_back(std::hypot(r.end.u[i], r.end.v[i]));
    r.u += r.end.u[i] / n, r.v += r.end.v[i] / n, r.radius += radii.back() / n;
    r.expected_u += e.u / n, r.expected_v += e.v / n;
    r.least += e.radius / n, r.greatest += std::sqrt(e.square) / n;
    r.variance += e.variance() / n, r.bias += e.bias / n;
  }
  for (const double radius : radii) r.sd += (radius - r.radius) * (radius - r.radius);
  r.sd = run.paths > 1 ? std::sqrt(r.sd / (n - 1)) : 0;
  return r;
}

struct Job {
  size_t run;
  uint32_t first, count;
};

void append(std::vector<double>& to, const std::vector<double>& from) { to.insert(to.end(), from.begin(), from.end()); }

std::vector<Result> run_all(const Plan& plan, uint64_t seed, Watch& watch) {
  std::vector<Job> jobs;
  double total = 0;
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    total += work(plan.runs[i]);
    for (uint32_t first = 0; first < plan.runs[i].paths; first += kPathsOfAJob)
      jobs.push_back({i, first, std::min(kPathsOfAJob, plan.runs[i].paths - first)});
  }
  std::vector<CircleEnd> parts(jobs.size());
  std::vector<size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto cost = [&](size_t j) { return 1.0 * plan.runs[jobs[j].run].steps() * jobs[j].count; };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return cost(a) > cost(b); });
  run_jobs(jobs.size(), total, watch, [&](size_t next, JobProgress& progress) {
    const size_t j = order[next];
    const Job& job = jobs[j];
    parts[j] = run_circle(plan.runs[job.run], job.first, job.count, job.first == 0, plan.bits, seed, progress);
  });
  std::vector<CircleEnd> ends(plan.runs.size());
  for (size_t j = 0; j < jobs.size(); ++j) {
    CircleEnd& end = ends[jobs[j].run];
    append(end.h, parts[j].h), append(end.u, parts[j].u), append(end.v, parts[j].v);
    append(end.trace_u, parts[j].trace_u), append(end.trace_v, parts[j].trace_v);
  }
  std::vector<Result> results;
  for (size_t i = 0; i < ends.size(); ++i) results.push_back(result_of(plan.runs[i], std::move(ends[i]), plan.bits));
  return results;
}

/// Where rounding to nearest stands still for good, (1, -stop), or 0 where the rule below does not tell.
///
/// v falls from 0 by h a step, for as long as h is more than half the quantum of v's binade. That ends at the first
/// power of two, 2^e, with h <= 2^(e - p): v goes no further than to it, since from below h does not reach half a
/// quantum beyond it, and a tie goes to the power of two, which is even. u stays at 1 all the while if no h |v| exceeds
/// half the quantum below 1: h 2^e <= 2^(-p - 1).
double nearest_stops(const CircleRun& run, double h) {
  if (h == 0) return 0;
  const int p = run.format.precision, e = static_cast<int>(std::ceil(std::log2(h))) + p;
  const double stop = std::ldexp(1.0, e);
  return e < 0 && h * stop <= std::ldexp(1.0, -p - 1) ? stop : 0;
}

std::string name_of(const CircleRun& run) {
  return format_name(run.format) + ", N = " + std::to_string(run.steps()) + ", " + softamp::name_of(run.mode);
}

std::string pair_text(double u, double v) { return "(" + six_digits(u) + ", " + six_digits(v) + ")"; }

Table end_table(const std::vector<Result>& results) {
  Table table{"ends",
              "Where one turn ends: means over the paths",
              {"format", "rounding", "N", "paths", "radius", "standard deviation of the radius", "u", "v",
               "radius of exact Euler", "radius of exact Euler with fl(h)"},
              {}};
  for (const Result& r : results)
    table.rows.push_back({format_name(r.run.format), softamp::name_of(r.run.mode), r.run.steps(), r.run.paths, r.radius,
                          r.run.paths > 1 ? Json(r.sd) : Json(), r.u, r.v, r.exact(), r.least});
  return table;
}

Figure path_figure(const Plan& plan, const std::vector<Result>& results) {
  const FloatFormat& f = plan.formats[0];
  Figure figure{"paths", {}, {}};
  figure.plot.title = "Once round the unit circle in " + format_name(f);
  figure.plot.subtitle = "u' = v, v' = -u by forward Euler, every operation rounded once";
  figure.plot.x_label = "u";
  figure.plot.y_label = "v";
  figure.plot.equal_aspect = true;
  int greatest = 0;
  for (const Result& r : results)
    if (r.run.format == f) greatest = std::max(greatest, r.run.steps_log2);
  Curve exact{"exact Euler, N = " + std::to_string(1u << greatest), CurveStyle::kReference, {}, {}};
  const double steps = std::ldexp(1.0, greatest), h = 2 * std::numbers::pi / steps;
  for (int i = 0; i <= 256; ++i) {
    const double k = steps * i / 256, radius = std::exp(k / 2 * std::log1p(h * h));
    exact.x.push_back(radius * std::cos(k * std::atan(h)));
    exact.y.push_back(-radius * std::sin(k * std::atan(h)));
  }
  for (const Result& r : results) {
    const bool stochastic = r.run.mode == RoundingMode::kStochastic;
    if (!(r.run.format == f) || r.run.steps_log2 == 5 || (stochastic && r.run.steps_log2 != greatest)) continue;
    figure.plot.curves.push_back(
        {softamp::name_of(r.run.mode) + (stochastic ? ", one path, N = " : ", N = ") + std::to_string(r.run.steps()),
         CurveStyle::kBold, r.end.trace_u, r.end.trace_v});
  }
  figure.plot.curves.push_back(std::move(exact));
  figure.caption =
      "The ways that the emulated unit goes, clockwise from (1, 0), and exact Euler's. To nearest, more and "
      "smaller steps end the way earlier; a stochastic path comes round.";
  return figure;
}

Figure radius_figure(const Plan& plan, const std::vector<Result>& results) {
  constexpr int kLeastStepsLog2 = 9;  // the radius of N = 32, 1.83, would leave no room for the others
  Figure figure{"radius", {}, {}};
  figure.plot.title = "Radius after one turn";
  figure.plot.subtitle = "u' = v, v' = -u by forward Euler, every operation rounded once";
  figure.plot.x_label = "steps N of the turn";
  figure.plot.y_label = "radius, stochastic: mean of the paths";
  figure.plot.x_log = 2;
  int place = 0;
  for (const FloatFormat& f : plan.formats)
    add_curves(figure.plot, f, place++, plan.modes, [&](RoundingMode mode, Curve& curve) {
      for (const Result& r : results)
        if (r.run.format == f && r.run.mode == mode && r.run.steps_log2 >= kLeastStepsLog2) {
          curve.x.push_back(r.run.steps());
          curve.y.push_back(r.radius);
        }
    });
  Curve exact{"exact Euler", CurveStyle::kReference, {}, {}};
  for (int n = kLeastStepsLog2; n <= 16; ++n) {
    const double steps = std::ldexp(1.0, n), h = 2 * std::numbers::pi / steps;
    exact.x.push_back(steps);
    exact.y.push_back(std::exp(steps / 2 * std::log1p(h * h)));
  }
  figure.plot.curves.push_back(std::move(exact));
  figure.caption =
      "Exact Euler spirals outwards, less so with more steps (N = 32 is in the table alone). The radius of a path that "
      "has stopped "
      "somewhere else on its way is no measure of how well it did: see where the paths end.";
  return figure;
}

void judge_stochastic(Outcome& outcome, const Result& r) {
  const bool finite = std::isfinite(r.radius);  // a narrow format's path may overflow
  outcome.checks.push_back(judged_if(
      finite,
      between(name_of(r.run) + ": mean radius", r.radius, {r.least - r.bias - r.margin(), r.greatest + r.margin()},
              six_digits, " (exact Euler " + six_digits(r.exact()) + ", what noise may add, 5 standard errors)")));
  const double off = std::max(std::abs(r.u - r.expected_u), std::abs(r.v - r.expected_v));
  outcome.checks.push_back(judged_if(finite, at_most(name_of(r.run) + ": mean end, off exact Euler's " +
                                                         pair_text(r.expected_u, r.expected_v) + " in u or v by",
                                                     off, "", r.bias + r.margin(), " (5 standard errors)")));
}

/// Nearest, where it stands still; every other end is recorded, as is that of a directed mode.
void judge_single(Outcome& outcome, const Result& r) {
  const double stop = r.run.mode == RoundingMode::kNearestEven ? nearest_stops(r.run, r.end.h[0]) : 0;
  if (stop == 0) {
    outcome.checks.push_back(
        recorded(name_of(r.run) + ": radius and end", six_digits(r.radius) + ", " + pair_text(r.u, r.v)));
    return;
  }
  outcome.checks.push_back(judged(name_of(r.run) + ": stands still at", Against::kBound, pair_text(r.u, r.v),
                                  pair_text(1, -stop) + ", where h is half an ulp of v and h v less than that of u",
                                  r.u == 1 && r.v == -stop));
}

/// Where nearest stands still, the mean of the stochastic paths ends nearer to exact Euler's end. Judged where the
/// paths are enough for the bound on their mean, in u and in v, to say so.
void judge_both(Outcome& outcome, const std::vector<Result>& results) {
  for (const Result& nearest : results)
    for (const Result& stochastic : results) {
      if (nearest.run.mode != RoundingMode::kNearestEven || stochastic.run.mode != RoundingMode::kStochastic) continue;
      if (!(nearest.run.format == stochastic.run.format) || nearest.run.steps() != stochastic.run.steps()) continue;
      if (nearest_stops(nearest.run, nearest.end.h[0]) == 0) continue;
      const bool must = std::sqrt(2.0) * (stochastic.bias + stochastic.margin()) < nearest.distance();
      outcome.checks.push_back(
          judged_if(must, below(format_name(nearest.run.format) + ", N = " + std::to_string(nearest.run.steps()) +
                                    ": distance of the end from exact Euler's, stochastic and nearest",
                                stochastic.distance(), nearest.distance(), "stochastic below nearest")));
    }
}

Outcome run(const Request& request, Watch& watch) {
  const Plan plan = plan_of(request);
  const std::vector<Result> results = run_all(plan, request.seed, watch);
  const uint32_t paths = paths_of(request, "unit-circle", request.brief ? kBriefPaths : kUsualPaths, kMostPaths);
  Outcome outcome;
  Json steps = Json::object();
  for (const FloatFormat& f : plan.formats)
    for (const int n : steps_log2_of(f)) steps[format_name(f)].push_back(1u << n);
  outcome.settings["formats"] = survey::names_of(plan.formats);
  outcome.settings["roundings"] = names_of(plan.modes);
  outcome.settings["random bits"] = plan.bits;
  outcome.settings["seed"] = request.seed;
  outcome.settings["N"] = steps;
  if (request.brief) outcome.settings["greatest N of a stochastic run"] = 1u << kBriefStepsLog2;
  outcome.settings["paths"] = paths;
  outcome.settings["order"] = "h = fl(2 pi / N); u' = fl(u + fl(h v)), v' = fl(v - fl(h u)), both from the old u, v";
  outcome.tables.push_back(end_table(results));
  outcome.figures.push_back(path_figure(plan, results));
  outcome.figures.push_back(radius_figure(plan, results));
  for (const Result& r : results)
    if (r.run.mode == RoundingMode::kStochastic)
      judge_stochastic(outcome, r);
    else
      judge_single(outcome, r);
  judge_both(outcome, results);
  outcome.seen =
      "A point goes once round the circle in N small steps along the tangent. In exact arithmetic it ends a little "
      "outside, and closer with more steps. Rounded to nearest, small steps are lost: once the step in v is less than "
      "half a unit in v's last place, v stops, and u has not moved at all, since its steps were too small from the "
      "start; with the most steps the point stands still before it has gone a twentieth of the way. Rounded "
      "stochastically it comes round: the mean of the paths ends where exact Euler does. Their mean radius is a little "
      "larger: an error of u or v, in either direction, makes the square of the radius larger on average.";
  if (std::find(plan.modes.begin(), plan.modes.end(), RoundingMode::kStochastic) != plan.modes.end())
    outcome.deviations = own_paths(std::to_string(paths) + " paths", plan.bits);
  return outcome;
}

}  // namespace

Experiment experiment() {
  return {"unit-circle",
          "Forward Euler once round the unit circle: nearest stops on its way, stochastic comes round",
          survey::kPublication,
          kFormat | kRounding | kBits | kSeed | kSamples,
          "stochastic paths [=1000]",
          seconds,
          run};
}

}  // namespace softamp::reproduce::unit_circle
