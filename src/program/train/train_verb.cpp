#include "src/program/train/train_verb.h"

#include "src/program/backend_choice.h"
#include "src/program/train/step_table.h"
#include "src/program/train/train_options.h"
#include "src/program/usage.h"

#include "softamp/findings/exception.h"
#include "softamp/machine/interrupt.h"
#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/pictures/plot.h"
#include "softamp/precision/mechanism.h"
#include "softamp/train/loss_scale_search.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "src/files/output_file.h"
#include "src/files/run_files.h"
#include "src/precision/recipe_source.h"
#include "src/precision/report_text.h"
#include "src/text/printable.h"
#include "src/text/read_json.h"
#include "src/train/json_number.h"
#include "src/train/replicas/exchange_calls.h"
#include "src/train/run/compare_training.h"
#include "src/train/run/histograms.h"
#include "src/train/settings/used_settings.h"
#include "src/train/weights/weight_files.h"

namespace softamp::program {
namespace {

TrainSettings settings_from(const TrainVerbOptions& o) {
  TrainSettings usual;
  usual.replicas = o.usual_replicas;
  TrainSettings settings = read_settings(o.file, usual);
  if (!o.network.empty()) settings = with_changes(settings, {{"network", o.network}}, "--network");
  settings = with_assignments(settings, o.set);
  if (!o.data.empty()) {
    settings.data = o.data;
    settings.generated = false;
  }
  if (!o.initial.empty()) settings.initial = o.initial;
  if (o.threads > 0) settings.threads = o.threads;
  if (!o.backend.empty()) settings.backend = o.backend;
  if (o.steps > 0) settings.steps = o.steps;
  if (!o.mechanism.empty()) settings.mechanism = o.mechanism;
  if (settings.mechanism == "none" && o.mechanism.empty() && !o.usual_mechanism.empty())
    settings.mechanism = o.usual_mechanism;
  settings.validate();
  settings.refuse_idle();
  return settings;
}

Json summary_json(const TrainSettings& settings, const RunSummary& run, bool rates) {
  Json json;
  json["verb"] = "train";
  json["settings"] = read_json(settings.to_json());
  json["used"] = read_json(train_detail::used_settings(settings));
  json["finished"] = run.finished;
  json["steps"] = run.steps;
  json["skipped"] = run.skipped;
  json["last_loss"] = run.losses.empty() ? Json() : Json(run.losses.back());
  json["epoch_losses"] = run.epoch_losses;
  json["evaluations"] = Json::array();
  for (const Evaluation& e : run.evaluations) {
    Json one = {{"step", e.step}, {"images", e.images}};
    if (e.kind != NetworkOutput::Kind::kValues) {
      one["correct"] = e.correct;
      one["accuracy"] = e.accuracy();
    }
    one["loss"] = e.loss;
    train_detail::add_measures(one, e);
    json["evaluations"].push_back(one);
  }
  json["weight_hashes"] = run.weight_hashes;
  if (rates) {
    json["seconds"] = run.seconds;
    json["images_per_second"] = run.images_per_second;
  }
  if (const auto& m = run.mechanism)
    json["mechanism"] = {{"mechanism", m->mechanism}, {"nodes", m->nodes}, {"converted", m->converted},
                         {"low_share", m->low_share}, {"casts", m->casts}, {"casts_to_low", m->casts_to_low}};
  for (const LostUpdateTotals& t : run.lost_updates)
    json["lost_updates"].push_back({{"variable", t.variable},
                                    {"dtype", name_of(t.dtype)},
                                    {"stochastic", t.stochastic},
                                    {"moving", t.moving},
                                    {"lost", t.lost},
                                    {"largest_share", t.largest_share},
                                    {"largest_step", t.largest_step}});
  if (const auto& v = run.verdict) {
    json["verdict"] = {{"outcome", name_of(v->outcome)}, {"text", v->text}};
    if (const FirstNonfinite& n = v->nonfinite; n.step >= 0)
      json["verdict"]["nonfinite"] = {{"step", n.step}, {"part", n.part}, {"tensor", n.tensor}, {"value", n.value}};
  }
  if (const ReplicaDriftTotals& d = run.replica_drift; d.first_step >= 0)
    json["replica_drift"] = {{"first_step", d.first_step},
                             {"largest_step", d.largest_step},
                             {"distance", train_detail::json_number(d.largest.distance)},
                             {"variable", d.largest.variable},
                             {"replica", d.largest.replica},
                             {"element", d.largest.element}};
  if (!run.sample.empty()) json["sample"] = valid_utf8(run.sample);
  if (!run.histograms.empty()) json["histograms"] = read_json(run.histograms)["steps"];
  json["memory"] = {
      {"parameters", run.memory.parameters}, {"slots", run.memory.slots}, {"activations", run.memory.activations}};
  return json;
}

void print_document(const TrainVerbOptions& o, Json document) {
  if (o.provenance) document["provenance"] = read_json(o.provenance());
  std::cout << files::printable_json(document.dump(2)) << '\n';
}

/// Refuses files that an option leaves unwritten.
void refuse_files(const TrainVerbOptions& o, const std::string& why) {
  for (const auto& [option, file] : {std::pair{"--log", o.output.log},
                                     {"--checkpoint", o.output.checkpoint},
                                     {"--resume", o.output.resume},
                                     {"--plot", o.output.plot},
                                     {"--histograms", o.output.histograms},
                                     {"--write-initial", o.output.write_initial},
                                     {"--outfeed", o.output.outfeed},
                                     {"--write-batches", o.output.write_batches},
                                     {"--csv", o.csv}})
    if (!file.empty()) throw UsageError(std::string(option) + ": '" + file + "': " + why);
  if (o.output.lost_updates) throw UsageError("--lost-updates: " + why);
  if (o.output.sample != RunOutput::Sample{}) throw UsageError("--sample: " + why);
  if (o.output.gradient_norms) throw UsageError("--gradient-norms: " + why);
  for (const auto& [option, names] : {std::pair{"--print", &o.output.print}, {"--enqueue", &o.output.enqueue}})
    if (!names->empty()) throw UsageError(std::string(option) + ": '" + (*names)[0] + "': " + why);
}

int search(const TrainSettings& settings, const TrainVerbOptions& o) {
  refuse_files(o, "--find-loss-scale does not train");
  const LossScaleSearch found = find_max_loss_scale(settings);
  if (!o.output.quiet)
    std::cerr << "softamp train: " << files::printable(train_detail::changed_settings(settings))
              << "\nsoftamp train: used: " << train_detail::used_settings(settings) << '\n';
  if (o.json) {
    print_document(o, {{"verb", "train"}, {"max_loss_scale", found.scale}, {"overflows", found.overflows}});
    return kSuccess;
  }
  std::cout << "max loss scale  " << shortest_decimal(found.scale) << ": the first step "
            << (found.overflows == 0 ? "does not overflow with any power of two up to this one, where the search ends"
                : found.scale == 0   ? "overflows without a loss scale"
                                     : "does not overflow, with twice as much it does")
            << '\n';
  return kSuccess;
}

Json difference_json(const std::optional<TrainingDifference>& d) {
  if (!d) return {};
  return {{"step", d->step},   {"part", d->part}, {"tensor", d->tensor}, {"replica", d->replica},
          {"index", d->index}, {"left", d->left}, {"right", d->right}};
}

int interrupted(int signal, const std::string& what) {
  std::cerr << "softamp train: interrupted " << what << '\n';
  return 128 + signal;
}

int compare(const TrainSettings& settings, const TrainVerbOptions& o) {
  constexpr int64_t kUsualSteps = 20;
  refuse_files(o, "--compare writes no files");
  if (o.find_loss_scale) throw UsageError("--find-loss-scale: expected it without --compare");
  std::string other = o.compare;
  settle_backend(other, o.output.quiet ? std::string() : "softamp train");
  const InterruptGuard guard;
  const TrainingComparison found = compare_training(
      settings, {.other = other, .steps = settings.steps > 0 ? settings.steps : kUsualSteps, .stop = [] {
                   return InterruptGuard::pending() != 0;
                 }});
  if (o.json)
    print_document(o, {{"verb", "train"},
                       {"settings", read_json(settings.to_json())},
                       {"used", read_json(train_detail::used_settings(settings))},
                       {"compared", {found.left, found.right}},
                       {"equal_steps", found.steps},
                       {"tensors", found.tensors},
                       {"elements", found.elements},
                       {"exception", found.exception.empty() ? Json() : Json(found.exception)},
                       {"difference", difference_json(found.difference)}});
  else
    std::cout << found.text() << '\n';
  if (found.difference) return kCheckFailed;
  if (const int signal = InterruptGuard::pending(); signal && found.stopped)
    return interrupted(signal, "after " + std::to_string(found.steps) + " steps, all equal");
  return kSuccess;
}

/// Refuses what has no effect without another option.
void check_together(const TrainVerbOptions& o) {
  if (o.output.checkpoint_every > 0 && o.output.checkpoint.empty())
    throw UsageError("--checkpoint-every: expected --checkpoint FILE beside it");
  if (o.output.histogram_every > 0 && o.output.histograms.empty())
    throw UsageError("--histogram-every: expected --histograms FILE beside it");
}

/// A checkpoint may replace the one that was resumed, and a log continues in its file.
void check_files(const TrainVerbOptions& o, const TrainSettings& settings) {
  constexpr const char* kResumed = "the checkpoint of --resume";
  files::RunFiles files;
  list_inputs(files, settings);
  train_detail::list_batches(files, o.output.write_batches);
  files.reads("the file of settings", o.file)
      .reads(kResumed, o.output.resume)
      .writes("--log", o.output.log)
      .replaces("--checkpoint", o.output.checkpoint, kResumed)
      .writes("--plot", o.output.plot)
      .writes("--histograms", o.output.histograms)
      .writes("--csv", o.csv)
      .writes("--write-initial", o.output.write_initial)
      .writes("--outfeed", o.output.outfeed)
      .writes("TF_BF16_DUMP_PATH", o.recipe_dump)
      .check();
  if (o.json && o.inputs_known) o.inputs_known(files);
}

/// Of several ranks the first tells.
bool tells(const TrainVerbOptions& o) { return !o.output.exchange || o.output.exchange->rank() == 0; }

/// A signal may have come to one rank alone, and has stopped all.
int signal_of_any(const TrainVerbOptions& o) {
  const int here = InterruptGuard::pending();
  if (!o.output.exchange) return here;
  try {
    const std::vector<int32_t> all = train_detail::gather_values(*o.output.exchange, static_cast<int32_t>(here));
    return *std::max_element(all.begin(), all.end());
  } catch (const ExchangeError& e) {
    if (!e.interrupted()) throw;
    return e.code() - 128;  // the launcher has ended one already
  }
}

}  // namespace

int run_train(TrainVerbOptions o) {
  if (!o.print_recipe_fp8.empty()) {
    std::cout << Fp8Recipe::find(o.print_recipe_fp8).to_json();
    return kSuccess;
  }
  if (!o.print_network.empty()) {
    std::cout << find_network(o.print_network).json;
    return kSuccess;
  }
  TrainSettings settings = settings_from(o);
  if (o.print_settings) {
    std::cout << files::printable_json(read_json(settings.spelled_out().to_json(true, true)).dump(2)) << '\n';
    if (!o.output.quiet) std::cerr << "softamp train: used: " << train_detail::used_settings(settings) << '\n';
    return kSuccess;
  }
  check_together(o);
  settle_data(settings);
  check_files(o, settings);
  if (!o.output.plot.empty()) check_plot_file(o.output.plot);
  if (!o.output.histograms.empty()) train_detail::check_histograms_file(o.output.histograms);
  settings = settings.spelled_out();
  settle_backend(settings.backend, o.output.quiet ? std::string() : "softamp train");
  if (const Mechanism m = settings.mechanism_value(); m.kind == Mechanism::Kind::kRecipe && !o.recipe_dump.empty()) {
    Recipe::find(m.value).dump(o.recipe_dump);
    if (!o.output.quiet) std::cerr << "INFO the recipe is written to " << o.recipe_dump << '\n';
  }
  if (!o.compare.empty()) return compare(settings, o);
  if (o.find_loss_scale) return search(settings, o);
  const InterruptGuard guard;
  o.output.stop = o.output.stop_within_step = [] { return InterruptGuard::pending() != 0; };
  o.output.report = o.json ? &std::cerr : &std::cout;
  o.output.progress = !o.output.quiet;
  std::optional<StepTable> csv;  // from here on, so that no training is in vain
  if (!o.csv.empty()) {
    csv.emplace(o.csv, !o.output.resume.empty());
    o.output.on_step = [&csv](const StepResult& r) { csv->add(r); };
  }
  RunSummary run;
  try {
    run = run_training(settings, o.output);
    if (csv) csv->commit();
  } catch (const FloatingPointError& e) {
    if (csv) csv->commit();
    if (tells(o)) std::cerr << e.what() << '\n';
    if (o.json) print_document(o, {{"verb", "train"}, {"exception", read_json(e.report(DumpFormat::kJson))}});
    return kFloatingPointException;
  }
  if (o.json) print_document(o, summary_json(settings, run, o.rates));
  if (const int signal = run.finished ? 0 : signal_of_any(o))
    return !tells(o) ? 128 + signal
                     : interrupted(signal, "after " + std::to_string(run.steps) + " steps" +
                                               (o.output.checkpoint.empty()
                                                    ? std::string("; no --checkpoint was asked for")
                                                    : "; continue with --resume " + o.output.checkpoint));
  return kSuccess;
}

}  // namespace softamp::program
