#include "softamp/train/training_run.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iostream>
#include <stdexcept>

#include "softamp/data/sampler.h"
#include "softamp/machine/float_environment.h"
#include "softamp/precision/graph_rewrite.h"
#include "softamp/train/checkpoint.h"
#include "softamp/train/network_file.h"
#include "src/data/image_files.h"
#include "src/files/output_file.h"
#include "src/files/place.h"
#include "src/files/run_files.h"
#include "src/machine/machine_memory.h"
#include "src/machine/progress.h"
#include "src/numbers/decimal_text.h"
#include "src/precision/device_check.h"
#include "src/precision/recipe_source.h"
#include "src/text/printable.h"
#include "src/text/printable_stream.h"
#include "src/text/reason.h"
#include "src/train/checkpoint_file.h"
#include "src/train/evaluation.h"
#include "src/train/replicas/exchange_calls.h"
#include "src/train/replicas/replica_options.h"
#include "src/train/run/histograms.h"
#include "src/train/run/loss_curve.h"
#include "src/train/run/lost_update_report.h"
#include "src/train/run/run_data.h"
#include "src/train/run/run_length.h"
#include "src/train/run/run_memory.h"
#include "src/train/run/run_progress.h"
#include "src/train/run/shared_run.h"
#include "src/train/run/stuck_scale.h"
#include "src/train/run/text_sample.h"
#include "src/train/run/training_log.h"
#include "src/train/run/verdict.h"
#include "src/train/run/watched_tensors.h"
#include "src/train/settings/settings_fields.h"
#include "src/train/settings/used_settings.h"
#include "src/train/weights/weight_files.h"

namespace softamp {
namespace {

using train_detail::model_of;
using train_detail::RunProgress;
using train_detail::TrainingLog;

/// steps: of the whole run.
TrainerOptions trainer_options(const TrainSettings& s, const RunOutput& output, int64_t steps) {
  TrainerOptions o = train_detail::options_of_run(s, steps);
  o.hash_weights = !output.log.empty();
  o.count_lost_updates = output.lost_updates;
  const bool clips = s.clip_value || s.clip_norm || s.clip_global_norm;
  o.gradient_norms =
      output.gradient_norms || (clips && (output.on_step || !output.log.empty() || !output.plot.empty()));
  o.executor.stop = output.stop_within_step;
  o.exchange = output.exchange;
  o.compare_weights_every = output.compare_weights_every;
  if (Exchange* exchange = output.exchange) {
    if (s.threads == 0) o.executor.threads = train_detail::threads_of_rank(*exchange);
    o.executor.stop = [exchange, stop = output.stop_within_step] { return exchange->broken() || (stop && stop()); };
  }
  return o;
}

std::optional<train_detail::CheckpointFile> checkpoint_of(const RunOutput& output) {
  if (output.checkpoint.empty()) return std::nullopt;
  return train_detail::CheckpointFile(output.checkpoint);
}

std::optional<MechanismSummary> mechanism_of(const TrainSettings& s, const Trainer& trainer) {
  const std::optional<PrecisionReport>& report = trainer.precision_report();
  if (!report) return std::nullopt;
  const CastPlan& plan = report->plan;
  return MechanismSummary{s.mechanism_value().text(),
                          report->nodes(),
                          report->converted_nodes(),
                          report->low_share(),
                          static_cast<int64_t>(plan.casts.size()),
                          plan.casts_to_low()};
}

/// "" where they agreed.
std::string drift_text(const ReplicaDriftTotals& drift) {
  if (drift.first_step < 0) return {};
  return "replicas: the weights differ since step " + std::to_string(drift.first_step) + ", by at most " +
         significant_digits(drift.largest.distance, 3) + " (step " + std::to_string(drift.largest_step) + ", '" +
         drift.largest.variable + "', replica " + std::to_string(drift.largest.replica) + ")";
}

/// Refuses two outputs in one file, and an output that would replace what is read.
void check_outputs(const TrainSettings& settings, const RunOutput& output) {
  constexpr const char* kResumed = "the checkpoint to resume from";
  if (!output.write_initial.empty() && !output.resume.empty())
    throw std::invalid_argument("the first weights are asked for in '" + output.write_initial +
                                "', but a resumed run does not have them; expected one of them");
  files::RunFiles files;
  files.reads("the network's file", names_network_file(settings.network) ? settings.network : "");
  files.reads("the file of first weights", settings.initial);
  files.reads("the recipe that is read", recipe_file(settings.mechanism_value())).reads(kResumed, output.resume);
  if (const auto folder = settings.generated ? std::nullopt : data_folder(settings.data))
    files.reads("one of the files of data that are read", image_files(*folder));
  files.writes("the log", output.log).replaces("the checkpoint", output.checkpoint, kResumed);
  files.writes("the plot", output.plot)
      .writes("the histograms", output.histograms)
      .writes("the first weights", output.write_initial)
      .writes("the outfeed", output.outfeed);
  train_detail::list_batches(files, output.write_batches);
  files.check();
}

/// Time of the timed epochs' steps; evaluations and checkpoints are not counted.
class Stopwatch {
 public:
  void start() { from_ = Clock::now(); }
  void stop() { seconds_ += std::chrono::duration<double>(Clock::now() - from_).count(); }
  double seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point from_;
  double seconds_ = 0;
};

class Run {
 public:
  Run(const TrainSettings& settings, const RunOutput& output)
      : s_(train_detail::settled(settings)),
        exchange_(output.exchange),
        keeps_state_(!output.checkpoint.empty()),
        out_(train_detail::output_here(output)),
        log_(out_.log),
        checkpoint_(checkpoint_of(out_)),
        network_(find_network(s_.network)),
        data_(train_detail::load_data(s_, network_)),
        sampler_(data_.train->count(), s_.batch_size, s_.shuffle, s_.seed),
        batches_per_step_(s_.replicas * s_.accumulation),
        steps_per_epoch_(train_detail::steps_per_epoch(s_, network_, data_.train->count())),
        total_(train_detail::steps_of_run(s_, steps_per_epoch_)),
        trainer_(model_of(s_, network_), trainer_options(s_, output, total_)),
        inputs_(train_detail::inputs_of(s_, data_)) {
    if (exchange_) train_detail::compare_ranks(*exchange_, s_, inputs_, output);
    sample_ = train_detail::TextSample::asked(out_, s_, network_, data_.text);
    check_memory();
    progress_.inputs = inputs_;
    if (!out_.resume.empty())
      resume();
    else if (!s_.initial.empty())
      rounded_ = train_detail::set_weights(trainer_, s_.initial);
    line_ = std::make_unique<Progress>("train", static_cast<uint64_t>(total_), "steps", static_cast<uint64_t>(step_));
    watched_ = std::make_unique<train_detail::WatchedTensors>(trainer_, out_, total_ - step_,
                                                              [this](const std::string& text) { watch(text); });
    histograms_ = std::make_unique<train_detail::Histograms>(trainer_, out_, watched_->observer(), step_, total_);
    introduce();
    if (out_.resume.empty())
      log_.begin(s_, trainer_.warnings());
    else
      log_.resume(s_, trainer_.warnings(), progress_.log_lines, progress_.unlogged);
    if (out_.on_inputs) out_.on_inputs(inputs_);
    if (!out_.write_initial.empty()) train_detail::write_weights(trainer_, out_.write_initial);
    if (!out_.write_batches.empty())
      train_detail::write_batches(s_, *data_.train, sampler_, total_, out_.write_batches, trainer_.model().images);
  }

  RunSummary run() {
    try {
      summary_.finished = train();
      save();  // before the last evaluation: a longer run can resume from here as if it had not ended
    } catch (const std::exception& e) {
      if (exchange_) train_detail::leave_with(*exchange_, e);
      keep_last_state();
      keep_outfeed();
      throw;
    }
    watched_->write();
    if (summary_.finished && timed_steps_ > 0) {
      summary_.images_per_second =
          static_cast<double>(timed_steps_ * batches_per_step_ * s_.batch_size) / watch_.seconds();
      say("throughput " + fixed_places(summary_.images_per_second, 2) + " " + train_detail::sample_word(network_) +
          "/s");
    }
    if (summary_.finished && s_.evaluate && !evaluated_now()) summary_.finished = evaluate();
    if (summary_.finished && sample_) summary_.finished = draw_sample();
    summarise();
    conclude();
    histograms_->write(s_);
    draw();
    return std::move(summary_);
  }

 private:
  /// Before anything is written. A GPU's memory is its engine's to refuse.
  void check_memory() {
    if (choose_backend(trainer_.options().executor).backend != "emu") return;
    const Trainer::Memory memory = trainer_.memory();
    const int replicas = local_replicas(trainer_.options()) * (exchange_ ? exchange_->local_ranks() : 1);
    const std::string lacks = train_detail::lacking_memory(memory, replicas, engine::machine_memory());
    if (!lacks.empty()) throw std::invalid_argument(lacks);
    if (out_.on_memory) out_.on_memory(train_detail::needed_memory(memory, replicas));
  }

  void resume() {
    const auto load = [&] {
      const bool held = checkpoint_ && files::Place(out_.resume).same_file(files::Place(out_.checkpoint));
      return held ? load_checkpoint(out_.resume) : train_detail::load_alone(out_.resume);
    };
    const Checkpoint c = exchange_ ? train_detail::checkpoint_for_all(*exchange_, out_.resume, load) : load();
    const auto refuse = [&](const std::string& what) { throw CheckpointError(out_.resume + ": " + what); };
    std::string difference;
    RunProgress was;
    try {
      difference = train_detail::difference_that_decides(s_.to_json(false), c.settings);
      was = RunProgress::from_json(c.progress);
    } catch (const std::exception& e) {
      refuse(std::string("settings or progress are not those of a training run: ") + reason_of(e));
    }
    if (!difference.empty()) refuse("the checkpoint is of a run with other settings: " + difference);
    const RunInputs& now = inputs_;
    const std::string samples = train_detail::sample_word(network_);
    if (was.inputs.images != now.images)
      refuse("the checkpoint's training " + samples + " have the hash " + was.inputs.images + ", and those of " +
             data_.train->name() + " have " + now.images + "; expected the same " + samples);
    if (was.inputs.recipe != now.recipe)
      refuse("the checkpoint is of a run with another recipe than " + s_.mechanism +
             " is now; expected the same lists and "
             "patterns");
    if (was.inputs.network != now.network)
      refuse("the checkpoint is of a run with another network than " + s_.network + " is now; expected the same file");
    if (c.state.step > total_)
      refuse("the checkpoint is of step " + std::to_string(c.state.step) + "; expected at most the " +
             std::to_string(total_) + " steps asked for");
    try {
      trainer_.set_state(c.state);
    } catch (const std::invalid_argument& e) {
      refuse(e.what());
    }
    progress_ = std::move(was);
    step_ = c.state.step;
    std::string& tested = progress_.inputs.test_images;
    other_test_images_ = s_.evaluate && !tested.empty() && tested != now.test_images;
    if (s_.evaluate || tested.empty()) tested = now.test_images;
  }

  void introduce() const {
    if (out_.quiet) return;
    std::cerr << s_.program << ": " << files::printable(train_detail::changed_settings(s_)) << '\n'
              << s_.program << ": used: " << train_detail::used_settings(s_) << '\n';
    for (const std::string& warning : trainer_.warnings())
      std::cerr << s_.program << ": warning: " << files::printable(warning) << '\n';
    if (other_test_images_)
      std::cerr << s_.program << ": warning: the test " << train_detail::sample_word(network_)
                << " are not those of the run in " << out_.resume
                << "; evaluations before and after cannot be compared\n";
    if (rounded_ > 0)
      std::cerr << s_.program << ": " << rounded_ << " of the arrays in " << files::printable(s_.initial)
                << " are rounded to the dtype of their variable\n";
    const bool quantises = s_.mechanism_value().kind == Mechanism::Kind::kFp8;
    if (quantises && trainer_.precision_report())
      for (const std::string& message : trainer_.precision_report()->colours.messages)
        std::cerr << s_.program << ": " << files::printable(message) << '\n';
    if (const auto m = mechanism_of(s_, trainer_); m && !quantises)
      std::cerr << s_.program << ": mechanism " << files::printable(m->mechanism) << ": " << m->converted << " of "
                << m->nodes << " nodes of the gradient graph converted, " << fixed_places(100 * m->low_share, 1)
                << " % of those of floating type are in low precision, " << m->casts << " casts; loss scale "
                << s_.loss_scale << '\n';
    advise();
    const Trainer::Memory m = trainer_.memory();
    std::cerr << s_.program << ": memory: parameters " << m.parameters << " bytes, optimizer state " << m.slots
              << ", activations " << m.activations << " at the fullest moment of a step\n";
  }

  /// What Keras says of the device, and TensorFlow's guide of shapes (MIXED_PRECISION K21, T14).
  void advise() const {
    const Mechanism chosen = s_.mechanism_value();
    if (chosen.kind == Mechanism::Kind::kNone) return;
    if (chosen.kind == Mechanism::Kind::kPolicy) {
      double capability = 7.0;  // of the GPU that is emulated
      const std::string device = s_.backend == "cuda" ? choose_backend(trainer_.options().executor).about : "";
      constexpr std::string_view kWords = "compute capability ";
      if (const size_t at = device.find(kWords); at != std::string::npos)
        read_double(device.data() + at + kWords.size(), device.data() + device.size(), capability);
      if (const auto check = precision_detail::device_check(chosen.value, capability, device))
        std::cerr << s_.program << ": " << check->text << '\n';
    }
    for (const std::string& line : shape_advice(trainer_.gradient_graph()))
      std::cerr << s_.program << ": " << files::printable(line) << '\n';
  }

  void say(const std::string& text) {
    if (out_.quiet) return;
    line_->clear();
    std::ostream& out = out_.report ? *out_.report : std::cout;
    out << text << std::endl;
  }

  bool stopping() const {
    const bool here = out_.stop && out_.stop();
    return exchange_ ? train_detail::any_says(*exchange_, here) : here;
  }
  bool warming_up() const { return step_ < s_.warmup_epochs * steps_per_epoch_; }
  bool at_epoch_end() const { return step_ > 0 && step_ % steps_per_epoch_ == 0; }
  /// Whether a timed epoch has ended after which the settings ask for an evaluation.
  bool evaluation_is_due() const {
    const int64_t epochs = step_ / steps_per_epoch_ - s_.warmup_epochs;
    return s_.evaluate && s_.evaluate_every > 0 && at_epoch_end() && epochs > 0 && epochs % s_.evaluate_every == 0 &&
           !evaluated_now();
  }
  bool evaluated_now() const { return !progress_.evaluations.empty() && progress_.evaluations.back().step == step_; }

  /// Whether the last step was reached.
  bool train() {
    if (warming_up() && step_ < total_) say("Executing warmup run...");
    for (;;) {
      if (evaluation_is_due() && !evaluate()) return false;
      if (step_ == total_) return true;
      try {
        one_step();
      } catch (const RunStopped&) {
        return false;  // everything is as before the step
      }
      if (stopping()) return step_ == total_;
      if (step_ < total_ && out_.checkpoint_every > 0 && step_ % out_.checkpoint_every == 0) save();
    }
  }

  void one_step() {
    const bool timed = !warming_up();
    watch_.start();
    watched_->begin(step_);
    histograms_->begin(step_);
    const StepResult result = trainer_.step(train_detail::batches_of(s_, *data_.train, sampler_, step_, exchange_));
    histograms_->end();
    note(result, timed);
    log_.write_out();
    if (out_.on_step) out_.on_step(result);
    if (timed) {
      watch_.stop();
      ++timed_steps_;
      if (at_epoch_end())
        say("Average loss: " + fixed_places(progress_.epoch_losses.back(), 6) + " --- time so far " +
            fixed_places(watch_.seconds(), 2));
    }
    if (out_.progress && !out_.quiet && line_->due()) show(result);
  }

  /// All that the step changes here goes with the trainer's state, whatever fails afterwards.
  void note(const StepResult& result, bool timed) {
    ++step_;
    progress_.skipped += !result.applied;
    progress_.epoch_sum += result.loss;
    summary_.losses.push_back(result.loss);
    if (!out_.plot.empty()) curves_.add(result);
    log_.step(result);
    const std::string warning = lost_.add(result);
    if (!warning.empty()) warn(warning);
    note_drift(result);
    if (const std::string stuck = stuck_scale_.add(result); !stuck.empty()) warn(stuck);
    train_detail::note_nonfinite(result, trainer_, progress_.nonfinite);
    if (!at_epoch_end()) return;
    const double mean = progress_.epoch_sum / static_cast<double>(steps_per_epoch_);
    progress_.epoch_sum = 0;
    log_.epoch(step_ / steps_per_epoch_ - 1, !timed, step_, mean);
    if (timed) progress_.epoch_losses.push_back(mean);
  }

  void note_drift(const StepResult& result) {
    if (!result.replica_drift) return;
    ReplicaDriftTotals& drift = progress_.drift;
    const ReplicaDrift& now = *result.replica_drift;
    if (drift.first_step < 0) {
      drift.first_step = result.step;
      warn("step " + std::to_string(result.step) + ": the weights of the replicas differ from here on, by at most " +
           significant_digits(now.distance, 3) + " ('" + now.variable + "', replica " + std::to_string(now.replica) +
           ")");
    } else if (!(now.distance > drift.largest.distance)) {
      return;
    }
    drift.largest = now;
    drift.largest_step = result.step;
  }

  /// What is asked for is printed even if the run is quiet.
  void watch(const std::string& text) {
    line_->clear();
    std::cerr << s_.program << ": " << text << '\n';
  }

  /// After an error, which the caller tells: what came before it.
  void keep_outfeed() noexcept {
    try {
      watched_->write();
    } catch (const std::exception& e) {
      std::cerr << s_.program << ": the outfeed is not kept: " << e.what() << '\n';
    }
  }

  /// While steps go on.
  void warn(const std::string& text) {
    if (out_.quiet) return;
    line_->clear();
    std::cerr << s_.program << ": warning: " << text << '\n';
  }

  /// The last lines of a run, beside its results.
  void conclude() const {
    if (out_.quiet) return;
    for (const std::string& line : lost_.lines()) std::cerr << s_.program << ": " << files::printable(line) << '\n';
    if (exchange_) tell_traffic();
    if (progress_.skipped > 0)
      std::cerr << s_.program << ": skipped: " << progress_.skipped << " of " << step_
                << " steps, in which gradients were not finite\n";
    if (summary_.verdict) std::cerr << s_.program << ": verdict: " << summary_.verdict->line() << '\n';
    if (const std::string drift = drift_text(progress_.drift); !drift.empty())
      std::cerr << s_.program << ": " << drift << '\n';
    else if (s_.replica_drift)
      std::cerr << s_.program << ": replicas: the weights are equal after every step\n";
  }

  void tell_traffic() const {
    const Trainer::Traffic t = trainer_.traffic();
    const auto steps = static_cast<int64_t>(summary_.losses.size());
    std::cerr << s_.program << ": exchange: " << exchange_->ranks() << " ranks by " << exchange_->about() << ", "
              << s_.replicas / exchange_->ranks() << " replicas each; rank 0 sends "
              << (steps > 0 ? t.bytes / steps : 0) << " bytes a step in " << t.buckets << " buckets\n";
  }

  void show(const StepResult& result) {
    line_->update(static_cast<uint64_t>(step_), "loss " + significant_digits(result.loss, 3) + ", scale " +
                                                    significant_digits(static_cast<double>(result.scale_after), 6));
  }

  /// False if it was stopped before its end.
  bool evaluate() {
    std::optional<Evaluation> evaluation;
    try {
      evaluation = train_detail::evaluate(trainer_, *data_.test, network_, s_.batch_size, step_, out_.stop);
    } catch (const RunStopped&) {
    }
    if (!evaluation) return false;
    progress_.evaluations.push_back(*evaluation);
    log_.evaluation(*evaluation);
    log_.write_out();
    say("Evaluation: " + evaluation->text());
    return true;
  }

  /// False if it was stopped before its end.
  bool draw_sample() {
    try {
      summary_.sample = sample_->draw(trainer_);
    } catch (const RunStopped&) {
      return false;
    } catch (const std::invalid_argument& e) {  // a model that diverged
      warn(std::string("no text is drawn: ") + e.what());
      return true;
    }
    line_->clear();
    std::ostream& printed = out_.report ? *out_.report : std::cout;
    files::write_bytes(printed, summary_.sample);
    printed << std::endl;
    return true;
  }

  void save() {
    if (!keeps_state_) return;
    log_.synchronise();
    write_checkpoint();
  }

  void write_checkpoint() {
    Trainer::State state = trainer_.state();  // of all replicas, to which all ranks may have to give theirs
    if (!checkpoint_) return;
    progress_.unlogged.assign(log_.waiting().begin(), log_.waiting().end());
    progress_.log_lines = log_.lines() - static_cast<int64_t>(log_.waiting().size());
    unwritable_ = true;
    checkpoint_->save({s_.to_json(false), progress_.to_json(), std::move(state)});
    unwritable_ = false;
  }

  /// After an error: the state after the last whole step, which is the trainer's still. A second error is told here,
  /// the first one by the caller.
  void keep_last_state() noexcept {
    if (!keeps_state_ || unwritable_) return;
    try {
      line_->clear();
      try {
        log_.synchronise();
      } catch (const files::OutputError&) {  // perhaps the very error that ends the run
      }
      write_checkpoint();
      if (!out_.quiet && checkpoint_)
        std::cerr << s_.program << ": the state after " << step_ << " steps is kept in " << out_.checkpoint << '\n';
    } catch (const std::exception& e) {
      if (!checkpoint_) return;
      std::cerr << s_.program << ": the state after " << step_ << " steps is not kept: " << e.what() << '\n';
    }
  }

  void summarise() {
    summary_.steps = step_;
    summary_.skipped = progress_.skipped;
    summary_.epoch_losses = progress_.epoch_losses;
    summary_.evaluations = progress_.evaluations;
    summary_.seconds = watch_.seconds();
    summary_.weight_hashes = trainer_.weight_hashes();
    summary_.memory = trainer_.memory();
    summary_.mechanism = mechanism_of(s_, trainer_);
    summary_.lost_updates = lost_.totals();
    summary_.replica_drift = progress_.drift;
    summary_.histograms = histograms_->json();
    summary_.exponents = histograms_->totals();
    if (summary_.finished)
      summary_.verdict = train_detail::verdict_of(
          {progress_.nonfinite, evaluated_now() ? std::optional(progress_.evaluations.back()) : std::nullopt,
           network_.classes, step_, progress_.skipped, summary_.losses});
  }

  void draw() {
    if (out_.plot.empty()) return;
    train_detail::StepCurves all = log_.kept_steps();
    all.append(curves_);
    if (std::none_of(all.losses.begin(), all.losses.end(), [](double x) { return std::isfinite(x); })) return;
    line_->clear();
    const int64_t first = step_ - static_cast<int64_t>(all.losses.size());
    write_plot(train_detail::loss_curve(s_, all, first, progress_.epoch_losses, steps_per_epoch_), out_.plot);
  }

  TrainSettings s_;
  Exchange* exchange_;
  bool keeps_state_;     ///< a checkpoint is asked for, which rank 0 writes
  const RunOutput out_;  ///< of this rank
  TrainingLog log_;
  std::optional<train_detail::CheckpointFile> checkpoint_;
  NetworkInfo network_;
  train_detail::SampleSets data_;
  Sampler sampler_;
  int64_t batches_per_step_, steps_per_epoch_, total_;
  Trainer trainer_;
  RunInputs inputs_;
  RunProgress progress_;
  std::unique_ptr<Progress> line_;
  std::unique_ptr<train_detail::WatchedTensors> watched_;
  std::unique_ptr<train_detail::Histograms> histograms_;
  std::optional<train_detail::TextSample> sample_;
  train_detail::LostUpdateReport lost_;
  train_detail::StuckScale stuck_scale_;
  Stopwatch watch_;
  int64_t step_ = 0, timed_steps_ = 0, rounded_ = 0;
  bool other_test_images_ = false, unwritable_ = false;
  RunSummary summary_;
  train_detail::StepCurves curves_;  ///< of this process's steps, where they are drawn
};

}  // namespace

RunSummary run_training(const TrainSettings& settings, const RunOutput& output) {
  const engine::DefaultEnvironment guard;
  check_outputs(settings, output);
  if (!output.plot.empty() && (!output.exchange || output.exchange->rank() == 0)) check_plot_file(output.plot);
  if (!output.histograms.empty()) train_detail::check_histograms_file(output.histograms);
  if (!output.exchange) return Run(settings, output).run();
  try {
    return Run(settings, output).run();
  } catch (const std::exception& e) {
    train_detail::leave_with(*output.exchange, e);
    throw;
  }
}

}  // namespace softamp
