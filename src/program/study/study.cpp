// softamp study: what a choice of precision, rounding or loss scale does to training, over several seeds.
#include "src/program/backend_option.h"
#include "src/program/rewrite/mechanism_options.h"
#include "src/program/study/study_kept.h"
#include "src/program/study/study_report.h"
#include "src/program/study/study_verdict.h"

#include "softamp/report/interrupt.h"
#include "src/files/output_file.h"
#include "src/files/run_files.h"
#include "src/train/settings/settings_fields.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <set>
#include <utility>

namespace softamp::program {
namespace {

struct StudyOptions {
  std::string file, data, csv, runs_csv, steps_csv, backend;
  std::vector<std::string> grid, cases, set, plots;
  std::vector<std::string> mechanisms;  ///< of --mechanisms; {""}: the default list; empty: not given
  uint64_t seeds = 0;                   ///< 0: the file's, else 3
  StudyRunning running;
  bool log = false, json = false, quiet = false, environment = false;
};

/// float32, and the usual choice of each system.
constexpr const char* kMechanisms =
    "none,tensorflow=2.3,tensorflow=2019,recipe=basic,recipe=full,policy=mixed_float16,policy=mixed_bfloat16,"
    "level=O1,level=O2,level=O3";

/// The default of a study of mechanisms: a network with norms and residual sums, on generated images, done within a
/// minute. Overflows are recognised under every mechanism, and without one.
TrainSettings mechanism_study() {
  TrainSettings s;
  s.network = "small_resnet";
  s.generated = true;
  s.train_images = 1024;
  s.test_images = 512;
  s.epochs = 3;
  s.behaviour = "nanoo";
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
  files.reads("the study that is read", o.file)
      .writes("--csv", o.csv)
      .writes("--runs-csv", o.runs_csv)
      .writes("--steps-csv", o.steps_csv)
      .writes("TF_BF16_DUMP_PATH", dump_path(o));
  for (const std::string& file : o.plots) files.writes("--plot", file);
  files.writes_into("--out", o.running.folder, may_be_kept_run);
  std::set<std::pair<std::string, std::string>> listed;  // runs have few recipes and folders of images
  for (const StudyRun& run : runs)
    if (listed.emplace(run.settings.mechanism, run.settings.data).second) list_inputs(files, run.settings);
  files.check();
  for (const std::string& file : o.plots) check_plot_file(file);
}

int run_verb(const StudyOptions& o) {
  const StudyPlan plan = plan_from(o);
  const std::vector<StudyRun> runs = plan.runs();
  check_files(o, runs);
  dump_recipe(o, runs);
  std::optional<files::OutputFile> csv, runs_csv, steps_csv;  // from here on, so that a study is not in vain
  if (!o.csv.empty()) csv.emplace(o.csv, "--csv");
  if (!o.runs_csv.empty()) runs_csv.emplace(o.runs_csv, "--runs-csv");
  if (!o.steps_csv.empty()) steps_csv.emplace(o.steps_csv, "--steps-csv");
  const InterruptGuard guard;
  StudyRunning running = o.running;
  running.begun = [&] {
    if (!o.quiet)
      std::cerr << "softamp study: " << plan.rows() << " settings, " << plan.seeds << " seeds, " << runs.size()
                << " runs; " << plan.settings.to_json() << '\n';
    if (const std::string drift = drift_warning_of(plan); !drift.empty() && !o.quiet)
      std::cerr << "softamp study: warning: " << drift << '\n';
  };
  running.stop = [] { return InterruptGuard::pending() != 0; };
  running.progress = !o.quiet;
  const auto results = run_study(runs, running);
  const auto missing = std::count(results.begin(), results.end(), std::nullopt);
  if (missing > 0) {
    std::cerr << "softamp study: interrupted; " << runs.size() - static_cast<size_t>(missing) << " of " << runs.size()
              << " runs are finished; "
              << (running.folder.empty() ? std::string("without --out none is kept")
                                         : "they are kept in " + running.folder + ", the same command continues")
              << '\n';
    return 128 + InterruptGuard::pending();
  }
  const StudyReport report = study_report(plan, runs, results);
  if (o.json)
    print_json(study_json(report));
  else
    print_study(report, std::cout);
  std::cout << std::flush;  // so that the figures are shown even if a file cannot be written
  const auto write = [](std::optional<files::OutputFile>& file, auto&& text) {
    if (!file) return;
    file->write(text());
    file->commit();
  };
  write(csv, [&] { return study_csv(report); });
  write(runs_csv, [&] { return study_runs_csv(plan, runs, results); });
  write(steps_csv, [&] { return study_steps_csv(plan, runs, results); });
  const Plot plot = study_plot(report, o.log);
  for (const std::string& file : o.plots) {
    if (plot.curves.empty()) {
      std::cerr << "softamp study: no run has a loss to draw; '" << file << "' is not written\n";
      continue;
    }
    write_plot(plot, file);
    if (!o.quiet) std::cerr << "plot written to " << file << '\n';
  }
  return kSuccess;
}

}  // namespace

Verb add_study(CLI::App& program) {
  CLI::App* app = program.add_subcommand("study", "Trains under many settings and seeds, and compares");
  const auto o = std::make_shared<StudyOptions>();
  app->add_option("STUDY", o->file, "JSON file: settings, grid, cases, seeds [=what the options say]")
      ->type_name("FILE");
  const auto repeatable = [&](const std::string& name, std::vector<std::string>& target, const std::string& text,
                              const std::string& type) {
    app->add_option_function<std::vector<std::string>>(
           name,
           [&target](const std::vector<std::string>& values) {
             target.insert(target.end(), values.begin(), values.end());
           },
           text)
        ->type_name(type)
        ->allow_extra_args(false);
  };
  repeatable("--grid", o->grid, "values of one setting, combined with those of every other axis; repeatable",
             "KEY=VALUE,VALUE,...");
  repeatable("--case", o->cases, "settings that change together; repeatable, all cases are one axis",
             "KEY=VALUE,KEY=VALUE");
  app->add_option(
         "--mechanisms", o->mechanisms,
         "compare mechanisms of mixed precision: those named, or a list from all systems; without a STUDY file "
         "of a small residual network on generated images")
      ->type_name("[A,B,...]")
      ->expected(0, 1);
  add_environment_option(*app, o->environment);
  repeatable("--set", o->set, "one setting of all runs; repeatable", "KEY=VALUE");
  add_whole(*app, "--seeds", o->seeds, 1, 1000000, "runs of each setting, from the settings' seed on [=3]");
  app->add_option("--data", o->data, "folder of images [=the settings', else $SOFTAMP_DATA, else a generated set]")
      ->type_name("DIR");
  app->add_option("--out", o->running.folder, "keep each finished run here, and do not repeat kept ones [=none]")
      ->type_name("DIR");
  add_whole(*app, "--jobs", o->running.jobs, 0, 1024, "runs at a time, one thread each; 0: as many as cores [=0]");
  add_backend(*app, o->backend, "the settings', else emu");
  repeatable("--plot", o->plots, "draw the mean loss curves into FILE.svg or FILE.png; repeatable", "FILE");
  app->add_flag("--log", o->log, "the plot's loss on a logarithmic axis");
  app->add_option("--csv", o->csv, "write the table as comma-separated values [=none]")->type_name("FILE");
  app->add_option("--runs-csv", o->runs_csv, "write a line for each run: seed, outcome, first NaN, figures [=none]")
      ->type_name("FILE");
  app->add_option("--steps-csv", o->steps_csv, "write a line for each step of each run: its loss [=none]")
      ->type_name("FILE");
  app->add_flag("--json", o->json, "print one JSON document");
  app->add_flag("--quiet", o->quiet, "no settings, no progress on standard error");
  for (const char* option : {"--grid", "--case", "--set"}) offer(*app, option, setting_keys);
  app->footer(R"(Settings and their defaults: `softamp train --print-settings`. Results depend neither on --jobs
nor on --backend. A kept run is used only by the same program and for the same images, in any folder.

Examples:
  softamp study --grid precision=float16,float32 --grid stochastic_rounding=off,on --seeds 5 --plot study.svg
  softamp study --case precision=float32 --case precision=float16,stochastic_rounding=on --set learning_rate=0.001
  softamp study examples/training/swamping_study.json --out swamping --csv swamping.csv
  softamp study --mechanisms --plot mechanisms.svg
  softamp study --mechanisms none,tensorflow=2.3,recipe=full,dtype=fp16,level=O2 --set network=resnet8)");
  return {app, [o] { return run_verb(*o); }};
}

}  // namespace softamp::program
