// A whole training run: data, epochs, log, progress, checkpoints, resuming, evaluation, and the curve at the end.
//
// A step takes replicas x accumulation batches, one after another from the stream of batches (sampler.h); an epoch is
// as many whole steps as its images fill. Epochs of the warm-up train, too, but are neither timed nor reported.
//
// Evaluation runs the model as it trains, rounded to nearest: batch normalisation uses the statistics of the batch,
// because the tutorial's script never updates the moving averages. So a figure depends on the batches of test images:
// in order, batch_size at a time, the last batch filled up with the first images, which are not counted again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "softamp/data/images.h"
#include "softamp/train/exponent_totals.h"
#include "softamp/train/train_settings.h"

namespace softamp {

/// What a run read besides its settings, by its contents: XXH3-128 as 32 hexadecimal digits.
struct RunInputs {
  std::string images, test_images;  ///< of the samples (contents_hash of images.h), after train_images and test_images
  std::string initial;              ///< the bytes of the file of first weights; "": none
  std::string recipe;               ///< lists and patterns of the mechanism's recipe, from any file; "": none
  std::string network{};            ///< the network's file; "": one of network_names()
  bool operator==(const RunInputs&) const = default;
};

/// Where a run's output goes, and what may stop it. Nothing here changes its results. No two runs, of any process,
/// write one log or checkpoint, and none resumes from a checkpoint that another is writing.
struct RunOutput {
  /// File of JSON lines [=none]: line 1 {"softamp_log":1,"settings":{...},"used":[...],"warnings":[...]}, then one
  /// object a step (StepResult::json, with hashes of the weights), an epoch, an evaluation; no times. "used": for each
  /// dtype of variables the dtypes and hyperparameters that the settings come to there, as rounded. A resumed run
  /// continues the log from the checkpoint's step, so that it becomes the log of a run that was never stopped.
  std::string log{};
  std::string checkpoint{};      ///< file [=none]: at the end, when interrupted, every `checkpoint_every` steps, and
                                 ///< before an error ends the run: the state after the last whole step
  int64_t checkpoint_every = 0;  ///< (0: only at the end or when interrupted)
  /// Checkpoint to resume from [=none]. Settings must be the same, except those that change no bit of a step: program,
  /// data and generated (the images' contents are compared), test_images, epochs, steps, evaluate, evaluate_every,
  /// threads, backend, initial.
  std::string resume{};
  /// .npz file [=none] of the weights before the first step, under the variables' names; not of a resumed run.
  std::string write_initial{};
  /// All micro-batches of the run, in the order of Trainer::step: a .npz file, or a folder [=none]. It has "images",
  /// [micro-batches, batch_size, height, width, channels] in the dtype in which they are fed, or "inputs" where no
  /// image has a class, and "labels", [micro-batches, batch_size]; in a folder images.npy and labels.npy, of any size.
  std::string write_batches{};
  /// Tensors ("node", "node:port") of a step's graphs that are printed on standard error as they are computed [=none],
  /// and those that go into `outfeed`, a .npz file: "step3/NAME"; where a step computes them several times,
  /// "step3/replica1/batch0/NAME". At most 1 GiB. Steps are slower, and give the same bits.
  std::vector<std::string> print{}, enqueue{};
  std::string outfeed{};
  /// A text that the trained network goes on with: one that predicts the next token of a text (sampling.h). Printed at
  /// the end, even if `quiet`.
  struct Sample {
    int64_t tokens = 0;              ///< (0 .. 1,000,000) to draw; 0: no text [=0]
    std::string begin{};             ///< what it begins with, of characters of the text [=its first character]
    double temperature = 1;          ///< SamplingOptions::temperature
    std::optional<uint64_t> seed{};  ///< of the draws [=the settings']
    bool operator==(const Sample&) const = default;
  } sample{};
  /// .svg, .png or .pdf of the loss curve, if any loss is finite [=none]; below it learning rate and loss scale, where
  /// they change, and the norm of the gradients, where it is computed.
  std::string plot{};
  /// File [=none] of histograms of exponents of weights, activations and gradients, layer by layer: .json, or a picture
  /// of all gradients with and without the loss scale, .svg, .png or .pdf. Counts; the same for any threads and
  /// backend.
  std::string histograms{};
  int64_t histogram_every = 0;     ///< (0: a tenth of the steps) of every so many steps, of the first and the last [=0]
  bool count_exponents = false;    ///< without a file, too: RunSummary::exponents
  std::ostream* report = nullptr;  ///< the tutorial's lines [=standard output]
  bool progress = true;            ///< a line on a terminal
  bool quiet = false;              ///< no lines at all
  std::function<bool()> stop{};    ///< true: stop after this step, with a checkpoint
  std::function<void(const RunInputs&)> on_inputs{};  ///< when all has been read, before the first step
  /// Before that, on the CPU: bytes of the host's memory that the run's replicas need at least. It may wait until they
  /// are free.
  std::function<void(uint64_t)> on_memory{};
  /// ExecutorOptions::stop of every step and evaluation: true, from any thread: the run ends with the state before the
  /// step that was under way, with a checkpoint [=none].
  std::function<bool()> stop_within_step{};
  std::function<void(const StepResult&)> on_step{};
  /// Ranks that share the replicas of the run: TrainerOptions::exchange. All ranks make the same call; rank 0 prints,
  /// logs and writes checkpoints, which are those of one process, byte for byte. Not with `print`, `outfeed`
  /// and `histograms`
  /// [=nullptr: one process].
  Exchange* exchange = nullptr;
  int compare_weights_every = 1;  ///< TrainerOptions::compare_weights_every
  /// TrainerOptions::gradient_norms: in the log and the plot. They are there, too, where gradients are clipped and
  /// there is a log, a plot or on_step.
  bool gradient_norms = false;
  bool lost_updates = false;  ///< TrainerOptions::count_lost_updates: in the log, a warning, lines at the end
};

/// Of the test samples: images, windows of a text, rows of a table.
struct Evaluation {
  int64_t step = 0, images = 0, correct = 0;
  double loss = 0;  ///< mean over the samples, in binary64 from the outputs; e^x and ln are softamp's own (math_exp.h)
  NetworkOutput::Kind kind = NetworkOutput::Kind::kClasses;
  NetworkInput::Kind input = NetworkInput::Kind::kImage;
  // Where an output is no class of an image:
  int64_t predictions = 0;  ///< labels in all samples
  double mean_square = 0;   ///< of output - label, of values
  double loss_error = 0;    ///< standard error of `loss`, by the samples
  double guessing = 0;      ///< the loss of guessing labels by their frequency, or by their mean

  double accuracy() const;    ///< correct / predictions (of classes: / images); 0 without any
  double perplexity() const;  ///< e^loss
  double rmse() const;        ///< the root of mean_square
  /// "accuracy 88.40 %, loss 0.300000 on 1024 test images"; tokens also have their perplexity, values their RMSE.
  std::string text() const;
};

/// How a mechanism of mixed precision changed the gradient graph of a run.
struct MechanismSummary {
  std::string mechanism;                ///< Mechanism::text
  int64_t nodes = 0, converted = 0;     ///< of the graph without its casts; those with an attribute in low precision
  double low_share = 0;                 ///< PrecisionReport::low_share, 0 .. 1
  int64_t casts = 0, casts_to_low = 0;  ///< added; those from float32 to low precision
};

/// Updates of one variable over the steps of a run in this process (TUTORIAL G40).
struct LostUpdateTotals {
  std::string variable;
  DType dtype = DType::kFloat32;
  bool stochastic = false;  ///< LostUpdates::stochastic
  int64_t moving = 0, lost = 0;
  double largest_share = 0;   ///< of one step
  int64_t largest_step = -1;  ///< the first step of it; -1: nothing was lost
  double share() const;       ///< lost / moving; 0 where nothing moves
};

/// The first NaN or infinity of those that are in a run at its end.
struct FirstNonfinite {
  int64_t step = -1;         ///< -1: there is none
  std::string part;          ///< "loss"; "gradient" (of a step that was applied); "variable" (after the update)
  std::string tensor;        ///< the variable; "" of the loss. Of gradients the one that is computed first
  std::string value;         ///< "NaN", "infinity", "NaN or infinity"
  std::string text() const;  ///< "NaN in the variable 'dense/kernel'"; "" without one
};

/// What a run came to. Trains: more test images are right than guessing a class has in one of 1000 cases; without an
/// evaluation: the loss of the last tenth of the steps is below ln(classes), which guessing has, by a t test at 1 in
/// 1000. Worse than guessing: it does not train, and its loss is above twice that of guessing. No update: every step
/// was skipped. Diverged: the loss, an applied gradient or a variable is NaN or infinite at the end. Unclear: too few
/// test images or steps to tell. At chance: all others.
enum class TrainingOutcome : uint8_t { kTrains, kAtChance, kWorseThanGuessing, kNoUpdate, kDiverged, kUnclear };
inline constexpr size_t kTrainingOutcomes = 6;
/// "trains", "at chance", "worse than guessing", "no update", "diverged", "unclear".
const char* name_of(TrainingOutcome outcome);

struct Verdict {
  TrainingOutcome outcome = TrainingOutcome::kUnclear;
  FirstNonfinite nonfinite;  ///< of a run that diverged
  std::string text;          ///< the figures: "905 of 1024 test images are right (88.4 %); ..."
  std::string line() const;  ///< "trains: 905 of 1024 ..."
};

/// How far the weights of replicas were apart in a run, including its steps before it was resumed.
struct ReplicaDriftTotals {
  int64_t first_step = -1;    ///< the first step after which they differed; -1: none
  int64_t largest_step = -1;  ///< the first step of the largest distance
  ReplicaDrift largest;
};

struct RunSummary {
  bool finished = true;                       ///< false: stopped before the end
  int64_t steps = 0, skipped = 0;             ///< since the run began, including those before it was resumed
  std::vector<double> losses;                 ///< per step of this process, unscaled
  std::vector<double> epoch_losses;           ///< mean of each timed epoch, including those before it was resumed
  std::vector<Evaluation> evaluations;        ///< including those before it was resumed
  double seconds = 0, images_per_second = 0;  ///< of the timed epochs' steps in this process
  std::vector<std::string> weight_hashes;     ///< at the end, per replica
  Trainer::Memory memory;
  std::optional<MechanismSummary> mechanism;   ///< where there is one
  std::vector<LostUpdateTotals> lost_updates;  ///< where asked for
  ReplicaDriftTotals replica_drift;
  std::optional<Verdict> verdict;           ///< of a finished run
  std::string sample;                       ///< where asked for: the text, as its network's tokens say it
  std::string histograms;                   ///< where asked for: what a .json of RunOutput::histograms holds
  std::optional<ExponentTotals> exponents;  ///< where asked for: the same, over the steps
};

/// Prints, as the tutorial does: "Executing warmup run...", after each epoch "Average loss: <l> --- time so far <s>",
/// then "throughput <x> images/s", and "Evaluation: accuracy <a> %, loss <l> on <n> test images" after each evaluation;
/// the caller prints the last line. A text that was asked for comes last. The settings and what is used, once all that
/// is read has been found good, the trainer's warnings and memory, the mechanism's changes and the verdict go to
/// standard error; so does a checkpoint that cannot be written when an error ends the run, even if `quiet`. Throws
/// DataError, CheckpointError, std::invalid_argument, FloatingPointError, ExchangeError, std::runtime_error (a log or
/// plot that cannot be written, files that another run writes).
RunSummary run_training(const TrainSettings& settings, const RunOutput& output = {});

}  // namespace softamp
