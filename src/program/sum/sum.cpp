// softamp sum: running sums of a number or of arrays.
#include "src/program/idle_options.h"
#include "src/program/options.h"
#include "src/program/provenance.h"
#include "src/program/sum/sum_cases.h"
#include "src/program/sum/sum_report.h"
#include "src/program/sum/sum_table.h"
#include "src/program/table_files.h"

#include "softamp/machine/interrupt.h"
#include "softamp/numbers/number_text.h"
#include "softamp/pictures/plot.h"
#include "src/files/output_file.h"
#include "src/files/run_files.h"
#include "src/machine/progress.h"
#include "src/text/comma_list.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace softamp::program {
namespace {

constexpr uint64_t kTracePoints = 501;
constexpr uint64_t kDefaultReplicas = 20;

constexpr name_rows::Row<bool> kProducts[] = {{false, {"exact"}}, {true, {"rounded"}}};

struct SumOptions {
  std::string value, start = "0";
  uint64_t count = 0;
  uint64_t replicas = kDefaultReplicas;
  SumAxes axes;
  SumInput input;
  RoundingOptions rounding;
  std::vector<std::string> plots;
  TableOptions files;
  bool rounded_products = false;
  bool json = false;
};

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

/// One number added in one way, as the figures and the plot of its sums show it.
int run_value(const SumOptions& o, const SumCase& only) {
  RunningSumSetup setup = only.setup;
  setup.addend = operand_code("--value", o.value, only.format);
  setup.count = o.count;
  setup.trace_points = o.plots.empty() ? 0 : kTracePoints;
  const SumReport report{o.value, o.start, setup, only.rounding, run_with_progress(setup)};
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

/// Thrown between two pieces of work when the user interrupts.
struct Interrupted {
  int signal;
};

/// Arrays, and several cases.
void run_cases(const SumOptions& o, const std::vector<SumCase>& cases) {
  TableFiles files(o.files);  // from here on, so that the work is not in vain
  SumTerms terms{o.value, o.start, o.count, o.input};
  const bool traced = !o.plots.empty() && !drawn_over_bits(cases);
  std::optional<Progress> progress;
  const auto tell = [&](uint64_t done, uint64_t all) {
    if (const int signal = InterruptGuard::pending()) throw Interrupted{signal};
    if (!progress) progress.emplace("sum", all, "additions");
    progress->update(done);
  };
  const std::vector<SumRow> rows = o.value.empty() ? array_rows(cases, terms.input, traced, tell)
                                                   : value_rows(cases, o.value, o.count, traced, tell);
  progress.reset();
  if (o.value.empty()) terms.count = terms.input.elements;
  const Plot plot = o.plots.empty() ? Plot() : sum_error_plot(terms, rows);
  std::ostream& out = o.files.take_standard_output() ? std::cerr : std::cout;
  if (o.json)
    print_json(sum_table_json(terms, rows, plot.curves.empty() ? std::vector<std::string>() : o.plots));
  else if (rows.size() == 1 && o.value.empty())
    print_array_sum(terms, rows[0], out);
  else
    print_sum_table(terms, rows, out);
  std::cout << std::flush;  // so that the figures are shown even if a file cannot be written
  files.write(sum_table(terms, rows));
  for (const std::string& file : o.plots) {
    if (plot.curves.empty()) {
      std::cerr << "softamp sum: there is no error to draw; '" << file << "' is not written\n";
      continue;
    }
    write_plot(plot, file);
    std::cerr << "plot written to " << file << '\n';
  }
}

void check_options(const SumOptions& o, const cli::App& app) {
  const auto given = [&](const char* name) { return app.option(name).count() > 0; };
  const bool arrays = !o.input.files.empty();
  if (o.value.empty() && !arrays)
    throw UsageError("--value is required, or --values X.npy, or --dot A.npy B.npy; see `softamp sum --help`");
  if (!arrays && !given("--count")) throw UsageError("--count is required beside --value; see `softamp sum --help`");
  if (arrays && given("--count"))
    throw UsageError("--count: expected --value beside it; all elements of an array are added");
  if (!arrays && o.input.codes) throw UsageError("--codes: expected --values or --dot beside it");
  if (given("--products") && o.input.files.size() != 2) throw UsageError("--products: expected --dot beside it");
}

int run_sum(SumOptions& o, const cli::App& app) {
  check_options(o, app);
  files::RunFiles files;
  for (const std::string& file : o.input.files) files.reads("an array that is read", file);
  o.files.list(files, o.json);
  for (const std::string& file : o.plots) files.writes("--plot", file);
  files.check();
  if (o.json) remember_inputs(files);
  for (const std::string& file : o.plots) check_plot_file(file);
  if (o.input.files.size() == 2)
    o.input.products = o.rounded_products ? detail::Products::kRounded : detail::Products::kExact;
  const std::vector<SumCase> cases = cases_of(o.axes, o.rounding, o.start, o.replicas);
  std::vector<detail::RandomUse> uses;
  for (const SumCase& c : cases) uses.push_back({.stochastic = c.setup.semantics.draws(c.format)});
  refuse_idle_random(app, uses);
  if (cases.size() == 1 && !o.value.empty() && !o.files.any()) return run_value(o, cases[0]);
  if (!o.value.empty())
    for (const SumCase& c : cases) operand_code("--value", o.value, c.format);  // before any is run
  try {
    const InterruptGuard guard;
    run_cases(o, cases);
    if (const int signal = InterruptGuard::pending()) throw Interrupted{signal};
    return kSuccess;
  } catch (const Interrupted& stop) {
    std::cerr << "softamp sum: interrupted\n";
    std::raise(stop.signal);  // ends the program by the signal, now that no unfinished file is left
    return kUsage;
  }
}

/// An option whose value is a list of words between commas; repeatable.
template <typename T, typename Parse>
cli::Option add_list(const cli::App& app, const std::string& name, std::vector<T>& target, Parse parse,
                     const std::string& text) {
  return app
      .add_option_function(
          name,
          [&target, name, parse](const std::vector<std::string>& values) {
            try {
              for (const std::string& value : values)
                for (const std::string& word : split_at_commas(value)) target.push_back(parse(word));
            } catch (const UnknownName& e) {
              throw UsageError(name + ": " + e.what());
            }
          },
          text)
      .type_name("WORD")
      .allow_extra_args(false);
}

FloatFormat compute_format(const std::string& option, const std::string& name) {
  const FloatFormat format = format_from_name(name);
  if (format == kBinary64)
    throw UsageError(option + ": '" + name +
                     "': expected a format of at most 24 bits of precision; fp64 is for conversions only");
  return format;
}

}  // namespace

Verb add_sum(const cli::App& program) {
  cli::App app = program.add_subcommand(
      "sum", "Add a number again and again, or the elements of an array, each addition rounded once");
  const auto o = std::make_shared<SumOptions>();
  const cli::Option value =
      app.add_option("--value", o->value, "the number that is added, rounded to nearest to the format").type_name("X");
  add_whole(app, "--count", o->count, 1, std::numeric_limits<uint32_t>::max(), "how many times, with --value");
  const cli::Option values =
      app.add_option_function(
             "--values", [o](const std::string& file) { o->input.files = {file}; },
             "instead of --value: add the elements of this array one after the other, each rounded to nearest to the "
             "format: float16, float32 or float64, of any shape in C order")
          .type_name("X.npy")
          .excludes(value);
  app.add_option_function(
         "--dot", [o](const std::vector<std::string>& files) { o->input.files = files; },
         "instead of --value: add the products of the elements of two arrays of equal length, ascending")
      .type_name("A.npy B.npy")
      .expected(2)
      .excludes(value)
      .excludes(values);
  add_word(app, "--products", o->rounded_products, "products", kProducts,
           "of --dot: exact (sum + a b is rounded once), rounded (a b is rounded, and then the sum) [=exact]");
  app.add_option_function(
         "--codes",
         [o](const std::string& name) {
           try {
             o->input.codes = compute_format("--codes", name);
           } catch (const UnknownName& e) {
             throw UsageError(std::string("--codes: ") + e.what());
           }
         },
         "of --values and --dot: unsigned elements are codes of this format, as `softamp round` writes them")
      .type_name("WORD");
  offer(app, "--codes", names_of_compute_formats);
  app.add_option("--start", o->start, "the sum before the first addition [=0]").type_name("X");
  add_list(
      app, "--format", o->axes.formats, [](const std::string& name) { return compute_format("--format", name); },
      "format of the sum, see `softamp formats`; several, as fp16,bf16, make a table [=fp16]");
  offer(app, "--format", names_of_compute_formats);
  add_list(app, "--rounding", o->axes.modes, rounding_from_name,
           "nearest (ties to even), nearest-away, zero, up, down, stochastic, odd; several make a table [=nearest]");
  offer(app, "--rounding", names_of_all<RoundingMode>);
  app.add_option_function(
         "--bits", [o](const std::string& text) { o->axes.bits = bits_of_list(text); },
         "random bits of a stochastic rounding, 1..32; several, as 1:16 or 4,8,13, make a table [=13; 16 with "
         "xoroshiro128aox]")
      .type_name("N");
  add_word(app, "--variant", o->rounding.variant, variant_from_name,
           "how the random bits decide: carry (the IPU's), half, rne, odd, at-least [=carry]");
  add_whole(app, "--replicas", o->replicas, 1, 1u << 20, "independent stochastic sums [=20]");
  o->rounding.add_seed(app);
  o->rounding.add_engine(app);
  o->rounding.add_preset(app);
  o->rounding.add_overflow(app);
  app.add_option_function(
         "--plot",
         [o](const std::vector<std::string>& files) { o->plots.insert(o->plots.end(), files.begin(), files.end()); },
         "draw into FILE.svg, FILE.png or FILE.pdf the running sums of one --value; else errors over random bits, "
         "where there "
         "are "
         "several numbers of them, or over additions, beside sqrt(n) u; may be repeated")
      .type_name("FILE")
      .allow_extra_args(false);
  o->files.add(app, "a case");
  app.add_flag("--json", o->json, "print one JSON document");
  app.footer(
      "Addition n, from 0, of replica i takes the random bits of step n, operation 0, index i; a rounded product "
      "those\n"
      "of operation 1. A table has one line a case: result, error, and bound: sqrt(n) u sum|x| where the rounding is\n"
      "stochastic, else n u sum|x|, u = 2^-p to nearest, else 2^(1-p).\n"
      "Examples:\n"
      "  softamp sum --value 0.0001 --count 10000\n"
      "  softamp sum --value 0.0001 --count 10000 --rounding stochastic --plot sum.svg\n"
      "  softamp sum --value 0.0001 --count 10000 --rounding stochastic --random xoroshiro128aox --replicas 4 --seed "
      "42\n"
      "  softamp sum --values x.npy --format bf16\n"
      "  softamp sum --values x.npy --rounding stochastic --bits 1:16 --csv bits.csv --plot bits.svg\n"
      "  softamp sum --dot a.npy b.npy --products rounded --format fp16,bf16 --rounding nearest,stochastic");
  return {app, [o, app] { return run_sum(*o, app); }};
}

}  // namespace softamp::program
