// softamp study: what a choice of precision, rounding or loss scale does to training, over several seeds.
#include "src/program/backend_option.h"
#include "src/program/idle_options.h"
#include "src/program/provenance.h"
#include "src/program/ranks/launched.h"
#include "src/program/rewrite/mechanism_options.h"
#include "src/program/study/study_kept.h"
#include "src/program/study/study_list.h"
#include "src/program/study/study_page.h"
#include "src/program/study/study_report.h"
#include "src/program/study/study_shard.h"
#include "src/program/study/study_verdict.h"
#include "src/program/table_files.h"

#include "softamp/machine/interrupt.h"
#include "src/files/output_file.h"
#include "src/files/run_files.h"
#include "src/text/printable.h"
#include "src/train/settings/settings_fields.h"
#include "src/train/settings/used_settings.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace softamp::program {
namespace {

struct StudyOptions {
  std::string file, data, runs_csv, steps_csv, report, backend, shard;
  std::vector<std::string> grid, cases, set, plots;
  std::vector<std::string> mechanisms;  ///< of --mechanisms; {""}: the default list; empty: not given
  uint64_t seeds = 0;                   ///< 0: the file's, else 3
  StudyRunning running;
  TableOptions tables;
  bool log = false, json = false, rates = false, quiet = false, environment = false, list = false, collect = false;

  bool only_looks() const { return list || collect; }
  bool take_standard_output() const {
    return tables.take_standard_output() || is_standard_output(runs_csv) || is_standard_output(steps_csv) ||
           is_standard_output(report);
  }
};

/// float32, and the usual choice of each system.
constexpr const char* kMechanisms =
    "none,tensorflow=2.3,tensorflow=2019,recipe=basic,recipe=full,policy=mixed_float16,policy=mixed_bfloat16,"
    "level=O1,level=O2,level=O3,fp8=fp8_delayed,fp8=fp8_current,fp8=deepseek_v3,fp8=mxfp8,fp8=nvfp4,fp8=unit_scaling";

/// The default of a study of mechanisms: a network with norms and residual sums, on generated images, done within a
/// minute. An overflow is infinite under every mechanism, and without one.
TrainSettings mechanism_study() {
  TrainSettings s;
  s.network = "small_resnet";
  s.generated = true;
  s.train_images = 1024;
  s.test_images = 512;
  s.epochs = 3;
  s.preset = "ieee";
  return s;
}

std::vector<StudyCase> mechanism_axis(const std::vector<std::string>& given) {
  std::vector<StudyCase> axis;
  for (const std::string& list : given)
    for (const std::string& text : split_mechanisms("--mechanisms", list.empty() ? kMechanisms : list))
      axis.push_back({{"mechanism", text}});
  return axis;
}

StudyPlan plan_from(const StudyOptions& o) {
  StudyPlan plan = o.file.empty() ? StudyPlan{} : read_study(o.file);
  if (o.file.empty() && !o.mechanisms.empty()) plan.settings = mechanism_study();
  plan.settings = with_assignments(plan.settings, o.set);
  if (!o.data.empty()) {
    plan.settings.data = o.data;
    plan.settings.generated = false;
  }
  if (!o.mechanisms.empty()) plan.axes.push_back(mechanism_axis(o.mechanisms));
  if (!o.cases.empty()) {
    std::vector<StudyCase> axis;
    for (const std::string& text : o.cases) axis.push_back(parse_case(text));
    plan.axes.push_back(std::move(axis));
  }
  for (const std::string& text : o.grid) plan.axes.push_back(parse_grid(text));
  if (o.seeds > 0) plan.seeds = static_cast<int64_t>(o.seeds);
  if (plan.axes.empty()) throw UsageError("nothing to compare; expected a STUDY file, --grid, --case or --mechanisms");
  const std::vector<std::string> keys = plan.keys();
  const bool compares_mechanisms = std::find(keys.begin(), keys.end(), "mechanism") != keys.end();
  if (o.environment && !compares_mechanisms && plan.settings.mechanism == "none")
    if (const std::string named = environment_mechanism(); !named.empty())
      plan.settings = with_changes(plan.settings, {{"mechanism", named}}, "TF_BF16_CONVERSION");
  settle_data(plan.settings);
  if (!o.backend.empty()) plan.settings.backend = o.backend;
  settle_backend(plan.settings.backend, o.quiet ? std::string() : "softamp study");
  // When mechanisms are compared, each has its own loss scale and behaviour.
  if (!compares_mechanisms) {
    const TrainSettings all = plan.settings.spelled_out();
    plan.settings.loss_scale = all.loss_scale;
    plan.settings.behaviour = all.behaviour;
  }
  // When optimizers are compared, each has its own hyperparameters.
  if (std::find(keys.begin(), keys.end(), "optimizer") == keys.end())
    plan.settings = train_detail::with_hyperparameters(plan.settings);
  return plan;
}

/// TF_BF16_DUMP_PATH with --environment; "": none.
std::string dump_path(const StudyOptions& o) {
  return o.environment ? Recipe::dump_path_from_environment().value_or("").string() : std::string();
}

/// Writes the recipe of the runs where it is asked for.
void dump_recipe(const StudyOptions& o, const std::vector<StudyRun>& runs) {
  const std::string path = dump_path(o);
  if (path.empty()) return;
  std::set<std::string> recipes;
  for (const StudyRun& run : runs)
    if (const Mechanism m = run.settings.mechanism_value(); m.kind == Mechanism::Kind::kRecipe) recipes.insert(m.value);
  if (recipes.size() > 1)
    throw UsageError("TF_BF16_DUMP_PATH: '" + path + "': the study has " + std::to_string(recipes.size()) +
                     " recipes; expected one to be written there");
  if (recipes.empty()) return;
  Recipe::find(*recipes.begin()).dump(path);
  if (!o.quiet) std::cerr << "INFO the recipe is written to " << path << '\n';
}

void check_files(const StudyOptions& o, const std::vector<StudyRun>& runs) {
  files::RunFiles files;
  files.reads("the study that is read", o.file);
  o.tables.list(files, o.json);
  files.writes("--runs-csv", o.runs_csv)
      .writes("--steps-csv", o.steps_csv)
      .writes("--report", o.report)
      .writes("TF_BF16_DUMP_PATH", dump_path(o));
  for (const std::string& file : o.plots) files.writes("--plot", file);
  files.writes_into("--out", o.running.folder, may_be_kept_run);
  std::set<std::array<std::string, 3>> listed;  // runs have few recipes, networks and places of data
  for (const StudyRun& run : runs)
    if (const TrainSettings& s = run.settings; listed.insert({s.mechanism, s.network, s.data}).second)
      list_inputs(files, s);
  files.check();
  if (o.json) remember_inputs(files);
  if (!o.report.empty() && !o.report.ends_with(".html") && !o.report.ends_with(".htm") && o.report != "/dev/stdout" &&
      o.report != "/dev/null")
    throw UsageError("--report: '" + o.report + "': expected a file name that ends in .html");
  for (const std::string& file : o.plots) check_plot_file(file);
}

/// Options that do not go together.
void check_together(const StudyOptions& o, const cli::App& app) {
  const bool draws =
      o.tables.any() || !o.runs_csv.empty() || !o.steps_csv.empty() || !o.report.empty() || !o.plots.empty();
  const std::string file = !o.tables.csv.empty()     ? "--csv"
                           : !o.tables.latex.empty() ? "--latex"
                           : !o.runs_csv.empty()     ? "--runs-csv"
                           : !o.steps_csv.empty()    ? "--steps-csv"
                           : !o.report.empty()       ? "--report"
                                                     : "--plot";
  const auto refuse = [](const char* option, const std::string& other, const std::string& expected) {
    throw UsageError(std::string(option) + ": does not go with " + other + "; expected " + expected);
  };
  if (o.log && o.plots.empty() && o.report.empty()) throw UsageError("--log: expected --plot or --report beside it");
  if (o.list || (!o.json && !o.tables.any() && o.runs_csv.empty()))
    refuse_idle(app, "--rates", "the table on the screen has them anyway", "--json, --csv, --latex or --runs-csv");
  const char* const share = o.list ? "--list" : o.collect ? "--collect" : "--shard";
  if (!o.only_looks() && !o.json && o.report.empty() && o.running.folder.empty())
    refuse_idle(app, "--histograms", "nothing shows or keeps them", "--report, --json or --out");
  if (o.collect && !o.json && o.report.empty())
    refuse_idle(app, "--histograms", "nothing shows them", "--report or --json");
  if (o.list && o.collect) refuse("--list", "--collect", "one of the two");
  if (o.only_looks() && !o.shard.empty()) refuse(share, "--shard", "one of the two: it shows the runs of all shards");
  if (o.list && draws) refuse("--list", file, file + " with --collect");
  if (!o.shard.empty() && draws) refuse("--shard", file, file + " with --collect, when all shards are done");
  if ((o.only_looks() || !o.shard.empty()) && o.running.folder.empty())
    throw UsageError(std::string(share) + ": expected --out DIR beside it, the folder in which the runs are kept");
}

/// The files of a study's figures, open from its beginning on, so that it is not in vain.
struct StudyFiles {
  TableFiles tables;
  std::optional<files::OutputFile> runs_csv, steps_csv, report;

  explicit StudyFiles(const StudyOptions& o) : tables(o.tables) {
    if (!o.runs_csv.empty()) runs_csv.emplace(o.runs_csv, "--runs-csv");
    if (!o.steps_csv.empty()) steps_csv.emplace(o.steps_csv, "--steps-csv");
    if (!o.report.empty()) report.emplace(o.report, "--report");
  }
};

using Results = std::vector<std::optional<StudyResult>>;

StudyPageOptions page_options(const StudyOptions& o) {
  StudyPageOptions page{o.log, o.running.folder, {}};
  if (plots_can_be_drawn())
    page.draw = svg_of;
  else if (!o.quiet)
    std::cerr << "softamp study: no gnuplot here: the report has no pictures; install it (Debian: gnuplot-nox)\n";
  return page;
}

void show(const StudyOptions& o, const StudyPlan& plan, const std::vector<StudyRun>& runs, const Results& results,
          StudyFiles& to) {
  const StudyReport report = study_report(plan, runs, results);
  if (o.json)
    print_json(study_json(report, o.rates));
  else
    print_study(report, o.take_standard_output() ? std::cerr : std::cout);
  std::cout << std::flush;  // so that the figures are shown even if a file cannot be written
  const auto write = [](std::optional<files::OutputFile>& file, auto&& text) {
    if (!file) return;
    file->write(text());
    file->commit();
  };
  to.tables.write(study_table(report, o.rates));
  write(to.runs_csv, [&] { return study_runs_csv(plan, runs, results, o.rates); });
  write(to.steps_csv, [&] { return study_steps_csv(plan, runs, results); });
  write(to.report, [&] { return study_page(plan, runs, results, report, page_options(o)); });
  if (to.report && !o.quiet) std::cerr << "the report is " << o.report << '\n';
  const Plot plot = study_plot(report, o.log);
  for (const std::string& file : o.plots) {
    if (plot.curves.empty()) {
      std::cerr << "softamp study: no run has a loss to draw; '" << file << "' is not written\n";
      continue;
    }
    write_plot(plot, file);
    if (!o.quiet) std::cerr << "plot written to " << file << '\n';
  }
}

size_t missing_of(const Results& results) {
  return static_cast<size_t>(std::count(results.begin(), results.end(), std::nullopt));
}

Results results_in(const std::vector<StudyRun>& runs, const std::string& folder, bool exponents) {
  Results results;
  for (RunState& state : states_of_runs(runs, folder, exponents)) results.push_back(std::move(state.result));
  return results;
}

int list(const StudyOptions& o, const StudyPlan& plan, const std::vector<StudyRun>& runs, bool speaks) {
  const std::vector<RunState> states = states_of_runs(runs, o.running.folder, o.running.exponents);
  if (!speaks) return kSuccess;
  if (o.json)
    print_json(states_json(plan, runs, states));
  else
    print_states(plan, runs, states, std::cout);
  return kSuccess;
}

int collect(const StudyOptions& o, const StudyPlan& plan, const std::vector<StudyRun>& runs, bool speaks) {
  StudyFiles to(o);
  const Results results = results_in(runs, o.running.folder, o.running.exponents);
  const size_t missing = missing_of(results);
  if (missing == runs.size()) {
    if (!speaks) return kUsage;
    throw UsageError("--collect: '" + o.running.folder + "' has none of the " + std::to_string(runs.size()) +
                     " runs of this study; expected the --out of a study with these settings, by this program");
  }
  if (speaks) {
    for (const std::string& line : missing_runs(plan, runs, results))
      std::cerr << "softamp study: missing: " << line << '\n';
    show(o, plan, runs, results, to);
  }
  return missing == 0 ? kSuccess : kCheckFailed;
}

int run_shared(const StudyOptions& o, const StudyPlan& plan, const std::vector<StudyRun>& runs,
               const Launched& launched) {
  const bool speaks = launched.rank == 0;
  const std::optional<Shard> shard = o.shard.empty() ? std::nullopt : std::optional(parse_shard(o.shard));
  const std::vector<StudyRun> mine = shard ? shard->of(runs) : runs;
  if (speaks) dump_recipe(o, runs);
  StudyFiles to(o);
  const InterruptGuard guard;
  StudyRunning running = o.running;
  if (running.jobs == 0 && launched.ranks > 1) running.jobs = launched.cores();
  running.begun = [&] {
    if (o.quiet) return;
    std::cerr << "softamp study: " << plan.rows() << " settings, " << plan.seeds << " seeds, " << runs.size() << " runs"
              << (shard ? ", " + std::to_string(mine.size()) + " in shard " + shard->text() : std::string()) << "; "
              << files::printable(train_detail::changed_settings(plan.settings)) << '\n';
    for (const std::string& warning : {drift_warning_of(plan), length_warning_of(plan)})
      if (!warning.empty()) std::cerr << "softamp study: warning: " << warning << '\n';
  };
  running.stop = [] { return InterruptGuard::pending() != 0; };
  running.progress = !o.quiet;
  Results results = run_study(mine, running);
  if (const size_t missing = missing_of(results); missing > 0) {
    if (speaks)
      std::cerr << "softamp study: interrupted; " << mine.size() - missing << " of " << mine.size()
                << " runs are finished; "
                << (running.folder.empty() ? std::string("without --out none is kept")
                                           : "they are kept in " + running.folder + ", the same command continues")
                << '\n';
    return 128 + InterruptGuard::pending();
  }
  if (!speaks) return kSuccess;
  if (shard) {
    results = results_in(runs, running.folder, running.exponents);
    if (const size_t missing = missing_of(results); missing > 0) {
      std::cerr << "softamp study: shard " << shard->text() << ": " << mine.size() << " of " << mine.size()
                << " runs finished; " << runs.size() - missing << " of " << runs.size()
                << " in all; the table: --collect\n";
      return kSuccess;
    }
  }
  show(o, plan, runs, results, to);
  return kSuccess;
}

int run_verb(const StudyOptions& given, const cli::App& app) {
  const Launched launched = launched_by();
  const bool speaks = launched.rank == 0;
  StudyOptions o = given;
  if (!speaks) {  // of several processes one prints and writes
    o.quiet = true;
    o.tables = {};
    o.runs_csv = o.steps_csv = o.report = "";
    o.plots.clear();
  }
  say_idle_environment("softamp study", o.environment, o.quiet);
  check_together(o, app);
  if (launched.ranks > 1 && o.running.folder.empty()) {
    if (!speaks) {
      std::this_thread::sleep_for(
          std::chrono::milliseconds(500));  // mpirun ends all when one fails: first it is said why
      return kUsage;
    }
    throw UsageError("started by " + launched.by + ": without --out each of the " + std::to_string(launched.ranks) +
                     " processes would do all runs; expected --out DIR, a folder in which they share them");
  }
  const StudyPlan plan = plan_from(o);
  const std::vector<StudyRun> runs = plan.runs();
  check_files(o, runs);
  return o.list      ? list(o, plan, runs, speaks)
         : o.collect ? collect(o, plan, runs, speaks)
                     : run_shared(o, plan, runs, launched);
}

}  // namespace

Verb add_study(const cli::App& program) {
  cli::App app = program.add_subcommand("study", "Trains under many settings and seeds, and compares");
  const auto o = std::make_shared<StudyOptions>();
  app.add_option("STUDY", o->file, "JSON file: settings, grid, cases, seeds [=what the options say]").type_name("FILE");
  const auto repeatable = [&](const std::string& name, std::vector<std::string>& target, const std::string& text,
                              const std::string& type) {
    app.add_option_function(
           name,
           [&target](const std::vector<std::string>& values) {
             target.insert(target.end(), values.begin(), values.end());
           },
           text)
        .type_name(type)
        .allow_extra_args(false);
  };
  repeatable("--grid", o->grid, "values of one setting, combined with those of every other axis; repeatable",
             "KEY=VALUE,VALUE,...");
  repeatable("--case", o->cases, "settings that change together; repeatable, all cases are one axis",
             "KEY=VALUE,KEY=VALUE");
  app.add_option("--mechanisms", o->mechanisms,
                 "compare mechanisms of mixed precision: those named, or a list from all systems; without a STUDY file "
                 "of a small residual network on generated images")
      .type_name("[A,B,...]")
      .expected(0, 1);
  add_environment_option(app, o->environment);
  repeatable("--set", o->set, "one setting of all runs; repeatable", "KEY=VALUE");
  add_whole(app, "--seeds", o->seeds, 1, 1000000, "runs of each setting, from the settings' seed on [=3]");
  app.add_option("--data", o->data, "folder of images [=the settings', else $SOFTAMP_DATA, else a generated set]")
      .type_name("DIR");
  app.add_option("--out", o->running.folder,
                 "keep each finished run here, and do not repeat kept ones; any number of processes, on any machines, "
                 "share the runs of one folder [=none]")
      .type_name("DIR");
  add_whole(app, "--jobs", o->running.jobs, 0, 1024,
            "runs at a time, one thread each; 0: as many as cores, under mpirun or srun this process's part of them "
            "[=0]");
  app.add_option("--shard", o->shard,
                 "only every N-th run, from the I-th on; slurm: those of this task of a job array; with --out [=all]")
      .type_name("I/N");
  app.add_flag("--list", o->list, "only list the runs: key; done, claimed by which process, or missing; with --out");
  app.add_flag("--collect", o->collect,
               "only make table, plots and files of the runs that --out has; exit code 1 if some are missing");
  add_backend(app, o->backend, "the settings', else emu");
  repeatable("--plot", o->plots, "draw the mean loss curves into FILE.svg, FILE.png or FILE.pdf; repeatable", "FILE");
  app.add_flag("--log", o->log, "the plot's loss on a logarithmic axis");
  o->tables.add(app, "a setting");
  app.add_option("--runs-csv", o->runs_csv, "write a line for each run: seed, outcome, first NaN, figures [=none]")
      .type_name("FILE");
  app.add_option("--steps-csv", o->steps_csv, "write a line for each step of each run: its loss [=none]")
      .type_name("FILE");
  app.add_option(
         "--report", o->report,
         "write a page of HTML, one file: what was asked, table, verdicts, loss curves, histograms, settings, and the "
         "commands that repeat it [=none]")
      .type_name("FILE");
  app.add_flag("--histograms", o->running.exponents,
               "count exponents of weights, activations and gradients in the first, the last and each tenth of a run's "
               "steps, for --report and --json; runs that were kept without are done again");
  app.add_flag("--json", o->json, "print one JSON document");
  app.add_flag("--rates", o->rates,
               "with --json, --csv, --latex or --runs-csv: also images a second, which differ from run to run");
  app.add_flag("--quiet", o->quiet, "no settings, no progress on standard error");
  for (const char* option : {"--grid", "--case", "--set"}) offer(app, option, setting_keys);
  app.footer(R"(Settings and their defaults: `softamp train --print-settings`. Results depend neither on --jobs
nor on --backend. A kept run is used only by the same program and for the same images, in any folder.

Processes with one --out share its runs: each run is done by one of them, what a killed one had begun is taken over, and
all print the whole table. Under mpirun or srun one of them prints. --shard prints the table once all shards are done;
until then --collect gives what there is: exit code 0 if that is all, 1 if runs are missing.

Examples:
  softamp study --grid precision=float16,float32 --grid stochastic_rounding=off,on --seeds 5 --plot study.svg
  softamp study --case precision=float32 --case precision=float16,stochastic_rounding=on --set learning_rate=0.001
  softamp study examples/training/swamping_study.json --out swamping --csv swamping.csv
  softamp study --mechanisms --plot mechanisms.svg --report mechanisms.html
  mpirun -n 8 softamp study --mechanisms --seeds 20 --out runs
  softamp study --mechanisms --seeds 20 --out runs --collect --plot mechanisms.svg
  softamp study --mechanisms none,tensorflow=2.3,recipe=full,dtype=fp16,level=O2 --set network=resnet8)");
  return {app, [o, app] { return run_verb(*o, app); }};
}

}  // namespace softamp::program
