#include "softamp/train/training_run.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iostream>
#include <stdexcept>

#include "softamp/data/sampler.h"
#include "softamp/graph/trace.h"
#include "softamp/train/checkpoint.h"
#include "src/precision/recipe_source.h"
#include "src/report/decimal_text.h"
#include "src/report/progress.h"
#include "src/report/same_file.h"
#include "src/train/evaluation.h"
#include "src/train/run/loss_curve.h"
#include "src/train/run/run_data.h"
#include "src/train/run/run_progress.h"
#include "src/train/run/training_log.h"
#include "src/train/settings/settings_fields.h"

namespace softamp {
namespace {

using train_detail::contents_hash;
using train_detail::model_of;
using train_detail::RunProgress;
using train_detail::TrainingLog;

TrainerOptions trainer_options(const TrainSettings& s, const RunOutput& output) {
  TrainerOptions o = s.trainer_options();
  o.hash_weights = !output.log.empty();
  return o;
}

/// Finds out at the start of a long run that its checkpoint cannot be written.
void check_checkpoint_place(const std::string& file) {
  if (file.empty()) return;
  const std::filesystem::path path(file);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (std::filesystem::is_directory(path))
    throw CheckpointError(file + ": is a folder; expected the name of a file for the checkpoint");
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw CheckpointError(file + ": the folder " + folder.string() + " cannot be written to: " + std::strerror(errno));
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

/// A NaN of either sign is "nan".
std::string fixed(double x, int places) { return x != x ? "nan" : fixed_places(x, places); }

/// Refuses two outputs in one file, and an output that would replace the recipe.
void check_outputs(const TrainSettings& settings, const RunOutput& output) {
  struct Written {
    const char* what;
    const std::string& file;
  };
  const Written written[] = {{"log", output.log}, {"checkpoint", output.checkpoint}, {"plot", output.plot}};
  const auto refuse = [](const Written& w, const std::string& other) {
    throw std::invalid_argument(std::string("the ") + w.what + " '" + w.file + "' is " + other +
                                "; expected another file");
  };
  const std::string recipe = recipe_file(settings.mechanism_value());
  for (size_t i = 0; i < std::size(written); ++i) {
    if (same_file(written[i].file, recipe)) refuse(written[i], "the recipe that is read");
    for (size_t k = 0; k < i; ++k)
      if (same_file(written[i].file, written[k].file))
        refuse(written[i], std::string("the file of the ") + written[k].what);
  }
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
        out_(output),
        network_(find_network(s_.network)),
        data_(train_detail::load_data(s_, network_)),
        sampler_(data_.train.count, s_.batch_size, s_.shuffle, s_.seed),
        batches_per_step_(s_.replicas * s_.accumulation),
        steps_per_epoch_(sampler_.batches_per_epoch() / batches_per_step_),
        total_(total_steps()),
        trainer_(model_of(s_, network_), trainer_options(s_, output)) {
    progress_.data = contents_hash(data_.train);
    if (const std::string recipe = recipe_contents(s_.mechanism_value()); !recipe.empty())
      progress_.recipe = hash_text(recipe.data(), recipe.size());
    if (!out_.resume.empty()) resume();
    line_ = std::make_unique<Progress>("train", static_cast<uint64_t>(total_), "steps", static_cast<uint64_t>(step_));
    introduce();
    log_ = out_.resume.empty() ? std::make_unique<TrainingLog>(out_.log, s_, trainer_.warnings())
                               : std::make_unique<TrainingLog>(out_.log, s_, trainer_.warnings(), progress_.log_lines);
  }

  RunSummary run() {
    summary_.finished = train();
    save();  // before the last evaluation: a longer run can resume from here as if it had not ended
    if (summary_.finished && timed_steps_ > 0) {
      summary_.images_per_second =
          static_cast<double>(timed_steps_ * batches_per_step_ * s_.batch_size) / watch_.seconds();
      say("throughput " + fixed(summary_.images_per_second, 2) + " images/s");
    }
    if (summary_.finished && s_.evaluate && !evaluated_now()) summary_.finished = evaluate();
    summarise();
    draw();
    return std::move(summary_);
  }

 private:
  int64_t total_steps() const {
    if (steps_per_epoch_ == 0)
      throw std::invalid_argument(
          "settings: an epoch of " + std::to_string(data_.train.count) + " images has no whole step: 'batch_size' " +
          std::to_string(s_.batch_size) + " x 'replicas' " + std::to_string(s_.replicas) + " x 'accumulation' " +
          std::to_string(s_.accumulation) + " is " + std::to_string(s_.batch_size * batches_per_step_) + " images");
    const int64_t all = (s_.warmup_epochs + s_.epochs) * steps_per_epoch_;
    const int64_t total = s_.steps > 0 ? std::min(all, s_.steps) : all;
    // The random address of a graph's run has 32 bits for the step; the last few values have other uses.
    constexpr int64_t kAddresses = 0xFFFFFF00;
    const int64_t most = kAddresses / (s_.accumulation + 1);
    if (total > most)
      throw std::invalid_argument("settings: " + std::to_string(total) + " steps; expected at most " +
                                  std::to_string(most));
    return total;
  }

  void resume() {
    const Checkpoint c = load_checkpoint(out_.resume);
    const auto refuse = [&](const std::string& what) { throw CheckpointError(out_.resume + ": " + what); };
    std::string difference;
    RunProgress was;
    try {
      difference = train_detail::difference_that_decides(s_.to_json(false), c.settings);
      was = RunProgress::from_json(c.progress);
    } catch (const std::exception& e) {
      refuse(std::string("settings or progress are not those of a training run: ") + e.what());
    }
    if (!difference.empty()) refuse("the checkpoint is of a run with other settings: " + difference);
    if (was.data != progress_.data)
      refuse("the checkpoint's training images have the hash " + was.data + ", and those of " + data_.train.name +
             " have " + progress_.data + "; expected the same images");
    if (was.recipe != progress_.recipe)
      refuse("the checkpoint is of a run with another recipe than " + s_.mechanism +
             " is now; expected the same lists and "
             "patterns");
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
  }

  void introduce() const {
    if (out_.quiet) return;
    for (const std::string& warning : trainer_.warnings()) std::cerr << s_.program << ": warning: " << warning << '\n';
    if (const auto m = mechanism_of(s_, trainer_))
      std::cerr << s_.program << ": mechanism " << m->mechanism << ": " << m->converted << " of " << m->nodes
                << " nodes of the gradient graph converted, " << fixed(100 * m->low_share, 1)
                << " % of those of floating type are in low precision, " << m->casts << " casts; loss scale "
                << s_.loss_scale << '\n';
    const Trainer::Memory m = trainer_.memory();
    std::cerr << s_.program << ": memory: parameters " << m.parameters << " bytes, optimizer state " << m.slots
              << ", activations " << m.activations << " at the fullest moment of a step\n";
  }

  void say(const std::string& text) {
    if (out_.quiet) return;
    line_->clear();
    std::ostream& out = out_.report ? *out_.report : std::cout;
    out << text << std::endl;
  }

  bool stopping() const { return out_.stop && out_.stop(); }
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
      one_step();
      if (stopping()) return step_ == total_;
      if (step_ < total_ && out_.checkpoint_every > 0 && step_ % out_.checkpoint_every == 0) save();
    }
  }

  void one_step() {
    const bool timed = !warming_up();
    watch_.start();
    const StepResult result = trainer_.step(next_batches());
    ++step_;
    progress_.skipped += !result.applied;
    progress_.epoch_sum += result.loss;
    summary_.losses.push_back(result.loss);
    log_->step(result);
    if (out_.on_step) out_.on_step(result);
    if (timed) {
      watch_.stop();
      ++timed_steps_;
    }
    if (at_epoch_end()) end_epoch(timed);
    if (out_.progress && !out_.quiet && line_->due()) show(result);
  }

  std::vector<Batch> next_batches() const {
    std::vector<Batch> batches;
    const DType dtype = trainer_.model().precision.compute;
    for (int64_t b = 0; b < batches_per_step_; ++b) {
      const std::vector<int64_t> indices = sampler_.batch(step_ * batches_per_step_ + b);
      batches.push_back({normalise(data_.train, indices, dtype), labels_of(data_.train, indices)});
    }
    return batches;
  }

  void end_epoch(bool timed) {
    const double mean = progress_.epoch_sum / static_cast<double>(steps_per_epoch_);
    progress_.epoch_sum = 0;
    log_->epoch(step_ / steps_per_epoch_ - 1, !timed, step_, mean);
    if (!timed) return;
    progress_.epoch_losses.push_back(mean);
    say("Average loss: " + fixed(mean, 6) + " --- time so far " + fixed(watch_.seconds(), 2));
  }

  void show(const StepResult& result) {
    line_->update(static_cast<uint64_t>(step_), "loss " + significant_digits(result.loss, 3) + ", scale " +
                                                    significant_digits(static_cast<double>(result.scale_after), 6));
  }

  /// False if it was stopped before its end.
  bool evaluate() {
    const auto evaluation = train_detail::evaluate(trainer_, data_.test, s_.batch_size, step_, out_.stop);
    if (!evaluation) return false;
    progress_.evaluations.push_back(*evaluation);
    log_->evaluation(*evaluation);
    say("Evaluation: accuracy " + fixed(100 * evaluation->accuracy(), 2) + " %, loss " + fixed(evaluation->loss, 6) +
        " on " + std::to_string(evaluation->images) + " test images");
    return true;
  }

  void save() {
    if (out_.checkpoint.empty()) return;
    progress_.log_lines = log_->lines();
    save_checkpoint({s_.to_json(false), progress_.to_json(), trainer_.state()}, out_.checkpoint);
  }

  void summarise() {
    summary_.steps = step_;
    summary_.skipped = progress_.skipped;
    summary_.epoch_losses = progress_.epoch_losses;
    summary_.evaluations = progress_.evaluations;
    summary_.seconds = watch_.seconds();
    for (int r = 0; r < s_.replicas; ++r) summary_.weight_hashes.push_back(trainer_.weight_hash(r));
    summary_.memory = trainer_.memory();
    summary_.mechanism = mechanism_of(s_, trainer_);
  }

  void draw() {
    if (out_.plot.empty()) return;
    std::vector<double> losses = log_->kept_losses();
    losses.insert(losses.end(), summary_.losses.begin(), summary_.losses.end());
    if (std::none_of(losses.begin(), losses.end(), [](double x) { return std::isfinite(x); })) return;
    line_->clear();
    write_plot(train_detail::loss_curve(s_, losses, step_ - static_cast<int64_t>(losses.size()), progress_.epoch_losses,
                                        steps_per_epoch_),
               out_.plot);
  }

  TrainSettings s_;
  const RunOutput& out_;
  NetworkInfo network_;
  ImageSets data_;
  Sampler sampler_;
  int64_t batches_per_step_, steps_per_epoch_, total_;
  Trainer trainer_;
  RunProgress progress_;
  std::unique_ptr<TrainingLog> log_;
  std::unique_ptr<Progress> line_;
  Stopwatch watch_;
  int64_t step_ = 0, timed_steps_ = 0;
  RunSummary summary_;
};

}  // namespace

RunSummary run_training(const TrainSettings& settings, const RunOutput& output) {
  check_outputs(settings, output);
  if (!output.plot.empty()) check_plot_file(output.plot);
  check_checkpoint_place(output.checkpoint);
  return Run(settings, output).run();
}

}  // namespace softamp
