// softamp train: one training run, from a file of settings.
#include "src/program/backend_option.h"
#include "src/program/rewrite/mechanism_options.h"
#include "src/program/train_options.h"

#include "softamp/precision/mechanism.h"
#include "softamp/report/exception.h"
#include "softamp/report/interrupt.h"
#include "softamp/report/number_text.h"
#include "softamp/report/plot.h"
#include "softamp/train/loss_scale_search.h"
#include "softamp/train/training_run.h"

#include <iostream>
#include <utility>

#include "src/files/run_files.h"
#include "src/precision/recipe_source.h"
#include "src/report/read_json.h"

namespace softamp::program {
namespace {

struct TrainVerbOptions {
  std::string file, data, backend;
  std::vector<std::string> set;
  MechanismOptions mechanism;
  RunOutput output;
  int threads = 0;
  bool print_settings = false, find_loss_scale = false, json = false;
};

TrainSettings settings_from(const TrainVerbOptions& o) {
  TrainSettings settings = with_assignments(read_settings(o.file), o.set);
  if (!o.data.empty()) {
    settings.data = o.data;
    settings.generated = false;
  }
  if (o.threads > 0) settings.threads = o.threads;
  if (!o.backend.empty()) settings.backend = o.backend;
  if (const std::string mechanism = mechanism_text(o.mechanism); !mechanism.empty()) settings.mechanism = mechanism;
  settings.validate();
  return settings;
}

Json summary_json(const TrainSettings& settings, const RunSummary& run) {
  Json json;
  json["verb"] = "train";
  json["settings"] = read_json(settings.to_json());
  json["finished"] = run.finished;
  json["steps"] = run.steps;
  json["skipped"] = run.skipped;
  json["last_loss"] = run.losses.empty() ? Json() : Json(run.losses.back());
  json["epoch_losses"] = run.epoch_losses;
  json["evaluations"] = Json::array();
  for (const Evaluation& e : run.evaluations)
    json["evaluations"].push_back(
        {{"step", e.step}, {"images", e.images}, {"correct", e.correct}, {"accuracy", e.accuracy()}, {"loss", e.loss}});
  json["weight_hashes"] = run.weight_hashes;
  json["seconds"] = run.seconds;
  json["images_per_second"] = run.images_per_second;
  if (const auto& m = run.mechanism)
    json["mechanism"] = {{"mechanism", m->mechanism}, {"nodes", m->nodes}, {"converted", m->converted},
                         {"low_share", m->low_share}, {"casts", m->casts}, {"casts_to_low", m->casts_to_low}};
  json["memory"] = {
      {"parameters", run.memory.parameters}, {"slots", run.memory.slots}, {"activations", run.memory.activations}};
  return json;
}

int search(const TrainSettings& settings, const TrainVerbOptions& o) {
  for (const auto& [option, file] : {std::pair{"--log", o.output.log},
                                     {"--checkpoint", o.output.checkpoint},
                                     {"--resume", o.output.resume},
                                     {"--plot", o.output.plot}})
    if (!file.empty()) throw UsageError(std::string(option) + ": '" + file + "': --find-loss-scale does not train");
  const LossScaleSearch found = find_max_loss_scale(settings);
  if (!o.output.quiet) std::cerr << "softamp train: " << settings.to_json() << '\n';
  if (o.json) {
    print_json({{"verb", "train"}, {"max_loss_scale", found.scale}, {"overflows", found.overflows}});
    return kSuccess;
  }
  std::cout << "max loss scale  " << shortest_decimal(found.scale) << ": the first step "
            << (found.overflows == 0 ? "does not overflow with any power of two up to this one, where the search ends"
                : found.scale == 0   ? "overflows without a loss scale"
                                     : "does not overflow, with twice as much it does")
            << '\n';
  return kSuccess;
}

/// A checkpoint may replace the one that was resumed, and a log continues in its file.
void check_files(const TrainVerbOptions& o, const TrainSettings& settings) {
  constexpr const char* kResumed = "the checkpoint of --resume";
  files::RunFiles files;
  list_inputs(files, settings);
  files.reads("the file of settings", o.file)
      .reads(kResumed, o.output.resume)
      .writes("--log", o.output.log)
      .replaces("--checkpoint", o.output.checkpoint, kResumed)
      .writes("--plot", o.output.plot)
      .check();
}

int run_train(TrainVerbOptions o) {
  TrainSettings settings = settings_from(o);
  if (o.print_settings) {
    Json all = read_json(settings.spelled_out().to_json());
    all["mechanism"] = settings.mechanism;  // even if it is none
    std::cout << all.dump(2) << '\n';
    return kSuccess;
  }
  settle_data(settings);
  check_files(o, settings);
  if (!o.output.plot.empty()) check_plot_file(o.output.plot);
  settings = settings.spelled_out();
  settle_backend(settings.backend, o.output.quiet ? std::string() : "softamp train");
  if (o.find_loss_scale) return search(settings, o);
  const InterruptGuard guard;
  o.output.stop = o.output.stop_within_step = [] { return InterruptGuard::pending() != 0; };
  o.output.report = o.json ? &std::cerr : &std::cout;
  o.output.progress = !o.output.quiet;
  RunSummary run;
  try {
    run = run_training(settings, o.output);
  } catch (const FloatingPointError& e) {
    std::cerr << e.what() << '\n';
    if (o.json) print_json({{"verb", "train"}, {"exception", read_json(e.report(DumpFormat::kJson))}});
    return kFloatingPointException;
  }
  if (o.json) print_json(summary_json(settings, run));
  if (const int signal = InterruptGuard::pending(); signal && !run.finished) {
    std::cerr << "softamp train: interrupted after " << run.steps << " steps"
              << (o.output.checkpoint.empty() ? std::string("; no --checkpoint was asked for")
                                              : "; continue with --resume " + o.output.checkpoint)
              << '\n';
    return 128 + signal;
  }
  return kSuccess;
}

}  // namespace

Verb add_train(CLI::App& program) {
  CLI::App* app = program.add_subcommand("train", "Trains a network under a floating-point behaviour");
  const auto o = std::make_shared<TrainVerbOptions>();
  app->add_option("SETTINGS", o->file, "JSON file of settings; what it leaves out keeps its default [=the defaults]")
      ->type_name("FILE");
  app->add_option("--set", o->set, "one setting, applied after the file; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_mechanism_options(*app, o->mechanism);
  app->add_flag("--print-settings", o->print_settings, "print the settings as JSON and do nothing else");
  app->add_flag("--find-loss-scale", o->find_loss_scale,
                "instead of training: raise the loss scale by doubling until the first step overflows");
  app->add_option("--data", o->data, "folder of images [=the settings', else $SOFTAMP_DATA, else a generated set]")
      ->type_name("DIR");
  app->add_option("--log", o->output.log, "JSON lines: settings, every step, every epoch [=none]")->type_name("FILE");
  app->add_option("--checkpoint", o->output.checkpoint,
                  "where the state goes at the end and when interrupted, .npz [=none]")
      ->type_name("FILE");
  add_whole(*app, "--checkpoint-every", o->output.checkpoint_every, 0, uint64_t{1} << 40,
            "also after every N steps; 0: never [=0]");
  app->add_option("--resume", o->output.resume,
                  "checkpoint to resume from; the bits are those of a run that was never stopped [=none]")
      ->type_name("FILE");
  app->add_option("--plot", o->output.plot, "draw the loss curve into FILE.svg or FILE.png [=none]")->type_name("FILE");
  add_backend(*app, o->backend, "the settings', else emu");
  add_whole(*app, "--threads", o->threads, 0, 1024, "0: the settings'; results do not depend on it [=0]");
  app->add_flag("--json", o->json, "print one JSON document; the lines go to standard error");
  app->add_flag("--quiet", o->output.quiet, "no lines, no progress; only errors");
  offer(*app, "--set", setting_keys);
  app->footer(R"(Settings and their defaults: `softamp train --print-settings`. Examples of files: examples/training.

Examples:
  softamp train
  softamp train --set precision=float16 --set stochastic_rounding=on --plot loss.svg
  softamp train --set precision=mixed --find-loss-scale
  softamp train --tensorflow=2019
  softamp train --set network=resnet8 --level O2 --dtype fp16
  softamp train examples/training/fashion_mixed.json --data ~/data --checkpoint fashion.npz
  softamp train examples/training/fashion_mixed.json --data ~/data --resume fashion.npz --set epochs=20
  softamp train examples/training/fashion_mixed.json --data ~/data --resume fashion.npz --backend cuda)");
  return {app, [o] { return run_train(*o); }};
}

}  // namespace softamp::program
