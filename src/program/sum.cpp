// softamp sum: the running-sum experiment.
#include "src/program/options.h"
#include "src/program/sum_report.h"

#include "softamp/report/interrupt.h"
#include "softamp/report/number_text.h"
#include "softamp/report/plot.h"
#include "src/files/run_files.h"
#include "src/report/progress.h"

#include <csignal>
#include <iostream>
#include <limits>

namespace softamp::program {
namespace {

constexpr uint64_t kTracePoints = 501;
constexpr uint64_t kDefaultReplicas = 20;

struct SumOptions {
  std::string value, start = "0";
  uint64_t count = 0;
  uint64_t replicas = kDefaultReplicas;
  FloatFormat format = kFp16;
  RoundingOptions rounding;
  std::vector<std::string> plots;
  bool json = false;
};

/// The code of an operand, rounded to nearest from its exact text.
uint64_t operand_code(const std::string& option, const std::string& text, const FloatFormat& format) {
  ParsedNumber number;
  try {
    number = number_from_text(text);
  } catch (const std::invalid_argument& e) {
    throw UsageError(option + ": " + e.what());
  }
  if (number.kind != ParsedNumber::Kind::kFinite)
    throw UsageError(option + ": '" + text + "': expected a finite number");
  const Rounded rounded = to_code(format, number);
  if (rounded.flags & kOverflow)
    throw UsageError(option + ": '" + text + "': expected a magnitude of at most " +
                     shortest_decimal(format, format.max_finite_code()) + ", the largest number of " +
                     format_name(format));
  return rounded.code;
}

RunningSumSetup setup_from(const SumOptions& o) {
  RunningSumSetup setup;
  setup.format = o.format;
  setup.semantics = o.rounding.semantics();
  setup.addend = operand_code("--value", o.value, o.format);
  setup.start = operand_code("--start", o.start, o.format);
  setup.count = o.count;
  setup.replicas = o.rounding.policy(o.format).stochastic() ? o.replicas : 1;
  setup.engine = o.rounding.engine;
  setup.seed = o.rounding.seed;
  setup.trace_points = o.plots.empty() ? 0 : kTracePoints;
  return setup;
}

RunningSum run_with_progress(const RunningSumSetup& setup) {
  Progress progress("sum", setup.count, "additions");
  return running_sum(setup, [&progress](uint64_t done) { progress.update(done); });
}

/// The same additions rounded to nearest, for comparison in a plot of stochastic sums.
RunningSum nearest_sum(RunningSumSetup setup) {
  for (RoundingPolicy* policy : {&setup.semantics.wide, &setup.semantics.narrow, &setup.semantics.quarter})
    policy->mode = RoundingMode::kNearestEven;
  setup.replicas = 1;
  return running_sum(setup);
}

/// An interrupt during drawing takes effect when no unfinished file is left behind.
void draw(const Plot& plot, const std::vector<std::string>& files) {
  int interrupt = 0;
  {
    const InterruptGuard guard;
    for (const std::string& file : files) write_plot(plot, file);
    interrupt = InterruptGuard::pending();
  }
  if (interrupt != 0) std::raise(interrupt);
}

int run_sum(const SumOptions& o) {
  files::RunFiles files;
  for (const std::string& file : o.plots) files.writes("--plot", file);
  files.check();
  for (const std::string& file : o.plots) check_plot_file(file);
  const RunningSumSetup setup = setup_from(o);
  const SumReport report{o.value, o.start, setup, o.rounding, run_with_progress(setup)};
  if (o.json)
    print_json(sum_json(report, o.plots));
  else
    print_sum(report, std::cout);
  std::cout << std::flush;  // so that the figures are shown even if a plot cannot be drawn
  if (o.plots.empty()) return kSuccess;
  const bool stochastic = setup.semantics.draws(setup.format);
  draw(sum_plot(report, stochastic ? nearest_sum(setup) : report.sum), o.plots);
  for (const std::string& file : o.plots) std::cerr << "plot written to " << file << '\n';
  return kSuccess;
}

}  // namespace

Verb add_sum(CLI::App& program) {
  CLI::App* app = program.add_subcommand("sum", "Add a number again and again, each addition rounded once");
  const auto o = std::make_shared<SumOptions>();
  app->add_option("--value", o->value, "the number that is added, rounded to nearest to the format")
      ->required()
      ->type_name("X");
  add_whole(*app, "--count", o->count, 1, std::numeric_limits<uint32_t>::max(), "how many times")->required();
  app->add_option("--start", o->start, "the sum before the first addition [=0]")->type_name("X");
  add_compute_format(*app, o->format, "format of the sum, see `softamp formats` [=fp16]");
  o->rounding.add_rounding(*app);
  o->rounding.add_bits(*app);
  add_whole(*app, "--replicas", o->replicas, 1, 1u << 20, "independent stochastic sums [=20]");
  o->rounding.add_seed(*app);
  o->rounding.add_engine(*app);
  o->rounding.add_preset(*app);
  o->rounding.add_overflow(*app);
  app->add_option_function<std::vector<std::string>>(
         "--plot",
         [o](const std::vector<std::string>& files) { o->plots.insert(o->plots.end(), files.begin(), files.end()); },
         "draw the running sums into FILE.svg or FILE.png; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app->add_flag("--json", o->json, "print one JSON document");
  app->footer(
      "Examples:\n"
      "  softamp sum --value 0.0001 --count 10000\n"
      "  softamp sum --value 0.0001 --count 10000 --rounding stochastic --plot sum.svg\n"
      "  softamp sum --value 0.0001 --count 10000 --rounding stochastic --random xoroshiro128aox --replicas 4 --seed "
      "42");
  return {app, [o] { return run_sum(*o); }};
}

}  // namespace softamp::program
