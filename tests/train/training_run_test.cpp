// Whole runs: one that is stopped and gone on with has the bits of one that is not, and its log and checkpoint too;
// what is printed; evaluation; the estimator.
#include "softamp/train/training_run.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "softamp/data/sampler.h"
#include "softamp/train/checkpoint.h"
#include "softamp/train/graphcore/estimator.h"
#include "src/train/evaluation.h"
#include "src/train/run/run_data.h"
#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/train/quiet_run.h"

namespace softamp {
namespace {

using test::contains;
using test::quiet_run;
using test::read_text;
using test::refusal;
using test::small_run;
using test::stopped_run;
using test::TemporaryFolder;
using test::write_text;
using Json = nlohmann::ordered_json;

struct Stopped {
  const char *name, *settings;
};
std::ostream& operator<<(std::ostream& out, const Stopped& s) { return out << s.name; }

class Resuming : public ::testing::TestWithParam<Stopped> {};

// Stopped after every single step but the last, and gone on with: losses, weights, log and checkpoint are those of a
// run that was never stopped.
TEST_P(Resuming, EqualsNeverStopped) {
  const TemporaryFolder folder;
  const TrainSettings settings = small_run(GetParam().settings);
  const std::string whole_log = folder.file("whole.jsonl"), whole_file = folder.file("whole.npz");
  const RunSummary whole = quiet_run(settings, {.log = whole_log, .checkpoint = whole_file});
  ASSERT_TRUE(whole.finished);
  ASSERT_GE(whole.steps, 4);
  const std::string log = folder.file("part.jsonl"), file = folder.file("part.npz");
  for (int64_t k = 1; k < whole.steps; ++k) {
    SCOPED_TRACE("stopped after step " + std::to_string(k));
    const RunSummary first = stopped_run(settings, {.log = log, .checkpoint = file}, k);
    ASSERT_FALSE(first.finished);
    ASSERT_EQ(first.steps, k);
    const RunSummary second = quiet_run(settings, {.log = log, .checkpoint = file, .resume = file});
    ASSERT_TRUE(second.finished);
    std::vector<double> losses = first.losses;
    losses.insert(losses.end(), second.losses.begin(), second.losses.end());
    ASSERT_EQ(losses, whole.losses);
    ASSERT_EQ(second.weight_hashes, whole.weight_hashes);
    ASSERT_EQ(second.epoch_losses, whole.epoch_losses);
    ASSERT_EQ(second.skipped, whole.skipped);
    ASSERT_EQ(second.steps, whole.steps);
    ASSERT_EQ(read_text(log), read_text(whole_log));
    ASSERT_TRUE(read_text(file) == read_text(whole_file)) << "the checkpoints differ";
  }
}

INSTANTIATE_TEST_SUITE_P(
    TrainingRun, Resuming,
    ::testing::Values(
        Stopped{"float16_stochastic", R"({"precision": "float16", "stochastic_rounding": "on", "train_images": 40})"},
        Stopped{"mixed_skipping",
                R"({"precision": "mixed", "loss_scale": "mindspore", "behaviour": "nanoo", "optimizer": "adam",
                    "train_images": 40, "warmup_epochs": 1, "epochs": 1, "evaluate": true, "evaluate_every": 1})"},
        Stopped{"replicas_drifting",
                R"({"precision": "float16", "stochastic_rounding": "on", "replicas": 2, "batch_size": 4,
                    "train_images": 40, "replica_drift": true})"},
        Stopped{"replicas_identical",
                R"({"precision": "float16", "stochastic_rounding": "replica_identical_only", "replicas": 2,
                    "batch_size": 4, "epochs": 1})"},
        Stopped{
            "compensated_replicas",
            R"({"precision": "bfloat16", "weight_update": "kahan", "optimizer": "adamw", "optimizer_state": "float32",
                    "hyperparameters": "float32", "clip_norm": 1, "replicas": 2, "batch_size": 4, "epochs": 1})"},
        Stopped{"stochastic_weights",
                R"({"precision": "bfloat16", "weight_update": "stochastic", "replicas": 2, "batch_size": 4,
                    "epochs": 1})"},
        Stopped{"shuffled_accumulating",
                R"({"shuffle": true, "accumulation": 3, "batch_size": 4, "train_images": 62, "clip_norm": 1})"}),
    [](const auto& which) { return std::string(which.param.name); });

TEST(TrainingRun, TheVariationsAreWhatTheySay) {
  const RunSummary skipping = quiet_run(small_run(R"({"precision": "mixed", "loss_scale": "mindspore",
      "behaviour": "nanoo", "optimizer": "adam", "epochs": 1})"));
  EXPECT_GE(skipping.skipped, 1);
}

// A run that is cut off has log lines beyond its last checkpoint; they are written anew.
TEST(TrainingRun, ACrashBetweenCheckpoints) {
  const TemporaryFolder folder;
  const TrainSettings settings = small_run(R"({"evaluate": true, "evaluate_every": 1})");
  const std::string whole_log = folder.file("whole.jsonl");
  const RunSummary whole = quiet_run(settings, {.log = whole_log});
  struct Crash {};
  for (const int64_t at : {4, 7, 9, 11, 16}) {
    const std::string log = folder.file("part.jsonl"), file = folder.file("part.npz"), then = folder.file("then.npz");
    RunOutput output{.log = log, .checkpoint = file, .checkpoint_every = 3};
    output.on_step = [&](const StepResult& result) {
      if (result.step + 1 != at) return;
      std::filesystem::copy_file(file, then);  // what a kill leaves; an error would be followed by a checkpoint
      throw Crash{};
    };
    EXPECT_THROW(quiet_run(settings, output), Crash);
    std::filesystem::rename(then, file);
    std::ofstream(log, std::ios::app) << "{\"step\":99,\"lo";  // a line that was being written
    EXPECT_EQ(load_checkpoint(file).state.step, (at - 1) / 3 * 3);
    const RunSummary rest = quiet_run(settings, {.log = log, .checkpoint = file, .resume = file});
    EXPECT_EQ(read_text(log), read_text(whole_log)) << "cut off in step " << at;
    EXPECT_EQ(rest.weight_hashes, whole.weight_hashes);
    ASSERT_EQ(rest.evaluations.size(), whole.evaluations.size());
    EXPECT_EQ(rest.evaluations[0].loss, whole.evaluations[0].loss);
  }
}

// A log that was asked for only when a run went on can be gone on with in its turn, from either checkpoint.
TEST(TrainingRun, ALogBegunLaterGoesOnToo) {
  const TemporaryFolder folder;
  const std::string log = folder.file("late.jsonl"), whole_log = folder.file("whole.jsonl");
  const std::string early = folder.file("early.npz"), later = folder.file("later.npz");
  quiet_run(small_run(), {.log = whole_log});
  stopped_run(small_run(), {.checkpoint = early}, 3);
  stopped_run(small_run(), {.log = log, .checkpoint = later, .resume = early}, 6);
  quiet_run(small_run(), {.log = log, .resume = later});
  const std::string whole = read_text(whole_log), text = read_text(log);
  EXPECT_EQ(Json::parse(text.substr(0, text.find('\n')))["lines_before"], 3);
  EXPECT_EQ(text.substr(text.find("{\"step\":3,")), whole.substr(whole.find("{\"step\":3,")));
  EXPECT_EQ(text.find("{\"step\":2,"), std::string::npos);
  quiet_run(small_run(), {.log = log, .resume = early});
  EXPECT_EQ(read_text(log), text);
}

TEST(TrainingRun, TheLinesBeforeALogAreAWholeNumber) {
  const TemporaryFolder folder;
  const std::string log = folder.file("a.jsonl"), file = folder.file("a.npz");
  stopped_run(small_run(), {.log = log, .checkpoint = file}, 3);
  const std::string text = read_text(log);
  const size_t end = text.find('\n');
  for (const char* lines : {"1e+300", "-1", "1.5", "9223372036854775808", "18446744073709551615"}) {
    const std::string damaged = text.substr(0, end - 1) + ",\"lines_before\":" + lines + text.substr(end - 1);
    write_text(log, damaged);
    EXPECT_EQ(refusal<std::runtime_error>([&] { quiet_run(small_run(), {.log = log, .resume = file}); }),
              log + ": line 1: 'lines_before' is " + lines + "; expected a whole number, 0 or more");
    EXPECT_EQ(read_text(log), damaged) << "it is not overwritten";
  }
}

TEST(TrainingRun, LossesThatAreAllNaNEndWithoutACurve) {
  const TemporaryFolder folder;
  const TrainSettings settings = small_run(R"({"precision": "float16", "learning_rate": 1e30})");
  stopped_run(settings, {.checkpoint = folder.file("a.npz")}, 8);
  const RunSummary rest = quiet_run(settings, {.resume = folder.file("a.npz"), .plot = folder.file("a.svg")});
  EXPECT_TRUE(rest.finished && std::isnan(rest.losses.front()));
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(TrainingRun, AFinishedRunGoesOnWithMoreEpochs) {
  const TemporaryFolder folder;
  const std::string log = folder.file("a.jsonl"), file = folder.file("a.npz"), whole_log = folder.file("b.jsonl");
  const char* evaluating = R"({"evaluate": true, "epochs": 1})";
  const RunSummary first = quiet_run(small_run(evaluating), {.log = log, .checkpoint = file});
  TrainSettings more = small_run(evaluating);
  more.epochs = 3;
  const RunSummary whole = quiet_run(more, {.log = whole_log});
  // Threads change no bit.
  TrainSettings threads = more;
  threads.threads = 2;
  const RunSummary rest = quiet_run(threads, {.checkpoint = file, .resume = file});
  EXPECT_EQ(rest.weight_hashes, whole.weight_hashes);
  EXPECT_EQ(rest.epoch_losses, whole.epoch_losses);
  ASSERT_EQ(rest.evaluations.size(), 1u);
  EXPECT_EQ(rest.evaluations[0].loss, whole.evaluations[0].loss);
  // Gone on with when nothing is left to do, it says the same again.
  const RunSummary nothing = quiet_run(more, {.log = folder.file("c.jsonl"), .resume = file});
  EXPECT_TRUE(nothing.finished && nothing.losses.empty());
  EXPECT_EQ(nothing.weight_hashes, whole.weight_hashes);
  EXPECT_EQ(nothing.epoch_losses, whole.epoch_losses);
  EXPECT_EQ(nothing.evaluations[0].loss, whole.evaluations[0].loss);
}

TEST(TrainingRun, ResumingWithOtherSettingsIsRefused) {
  const TemporaryFolder folder;
  const std::string log = folder.file("a.jsonl"), file = folder.file("a.npz");
  stopped_run(small_run(), {.log = log, .checkpoint = file}, 2);
  const std::string good = read_text(log);
  const auto error = [&](const char* more) {
    return refusal<std::runtime_error>([&] { quiet_run(small_run(more), {.log = log, .resume = file}); });
  };
  EXPECT_TRUE(contains(error(R"({"learning_rate": 0.02})"), "'learning_rate' is 0.02 and was 0.01"));
  EXPECT_TRUE(contains(error(R"({"precision": "float16"})"), "'precision' is \"float16\" and was \"float32\""));
  EXPECT_TRUE(contains(error(R"({"seed": 6, "shuffle": true})"), "'seed' is 6 and was 5"));
  EXPECT_TRUE(contains(error(R"({"train_images": 65})"), "train_images"));
  EXPECT_TRUE(contains(error(R"({"steps": 1})"), "step 2"));
  EXPECT_EQ(read_text(log), good) << "a refused run must not touch the log";
  // Other images under the same settings; here by a checkpoint that says so.
  Checkpoint c = load_checkpoint(file);
  Json progress = Json::parse(c.progress);
  progress["data"] = "0123";
  c.progress = progress.dump();
  save_checkpoint(c, file);
  EXPECT_TRUE(contains(error("{}"), "expected the same images"));
  c.progress = "{}";
  save_checkpoint(c, file);
  EXPECT_TRUE(contains(error("{}"), "not those of a training run"));
  c.state.tensors[0].pop_back();
  c.progress = progress.dump();
  EXPECT_TRUE(contains(refusal<CheckpointError>([&] { quiet_run(small_run(), {.resume = folder.file("none.npz")}); }),
                       "none.npz"));
}

TEST(TrainingRun, ALogThatDoesNotFitIsNotTouched) {
  const TemporaryFolder folder;
  const std::string log = folder.file("a.jsonl"), file = folder.file("a.npz");
  stopped_run(small_run(), {.log = log, .checkpoint = file}, 5);
  const std::string whole = read_text(log);
  const auto error = [&](const std::string& text) {
    write_text(log, text);
    const std::string what = refusal<std::runtime_error>([&] { quiet_run(small_run(), {.log = log, .resume = file}); });
    EXPECT_EQ(read_text(log), text);
    return what;
  };
  EXPECT_TRUE(contains(error("my diary\n"), "line 1"));
  EXPECT_TRUE(contains(error(whole.substr(0, whole.size() - 5)), "4 whole lines"));
  std::string other = whole;
  other.replace(other.find("\"seed\":5"), 8, "\"seed\":6");
  EXPECT_TRUE(contains(error(other), "'seed' is 5 and was 6"));
  EXPECT_EQ(folder.entries(), 2u);
}

TEST(TrainingRun, LogLinesAreJson) {
  const TemporaryFolder folder;
  const std::string log = folder.file("a.jsonl");
  const TrainSettings settings =
      small_run(R"({"evaluate": true, "evaluate_every": 1, "warmup_epochs": 1, "replicas": 2, "batch_size": 4})");
  const RunSummary run = quiet_run(settings, {.log = log});
  std::istringstream lines(read_text(log));
  std::string line;
  std::getline(lines, line);
  const Json first = Json::parse(line);
  EXPECT_EQ(first["softamp_log"], 1);
  EXPECT_EQ(TrainSettings::from_json(first["settings"].dump()).to_json(), settings.spelled_out().to_json());
  int64_t steps = 0, epochs = 0, evaluations = 0;
  while (std::getline(lines, line)) {
    const Json json = Json::parse(line);
    if (json.contains("loss")) {
      EXPECT_EQ(json["step"], steps++);
      EXPECT_EQ(json["loss"], run.losses[static_cast<size_t>(json["step"])]);
      EXPECT_EQ(json["weight_hashes"].size(), 2u);
      if (steps == run.steps) {
        EXPECT_EQ(json["weight_hashes"], Json(run.weight_hashes));
      }
    } else if (json.contains("epoch")) {
      EXPECT_EQ(json["epoch"], epochs++);
      EXPECT_EQ(json["warmup"], epochs == 1);
      EXPECT_EQ(json["step"], steps);
    } else {
      EXPECT_EQ(json["evaluation"]["step"], steps);
      EXPECT_EQ(json["evaluation"]["images"], 20);
      ++evaluations;
    }
  }
  EXPECT_EQ(steps, 24);
  EXPECT_EQ(epochs, 3);
  EXPECT_EQ(evaluations, 2);
}

TEST(TrainingRun, PrintsTheTutorialsLines) {
  std::ostringstream report;
  RunOutput output;
  output.report = &report;
  output.progress = false;
  const RunSummary run = run_training(small_run(R"({"warmup_epochs": 1})"), output);
  const std::regex lines(
      "Executing warmup run\\.\\.\\.\n"
      "Average loss: ([0-9.]+) --- time so far [0-9.]+\n"
      "Average loss: ([0-9.]+) --- time so far [0-9.]+\n"
      "throughput [0-9.]+ images/s\n");
  std::smatch match;
  const std::string text = report.str();
  ASSERT_TRUE(std::regex_match(text, match, lines)) << text;
  ASSERT_EQ(run.epoch_losses.size(), 2u);
  double total = 0;
  for (size_t i = 8; i < 16; ++i) total += run.losses[i];
  EXPECT_EQ(run.epoch_losses[0], total / 8);
  EXPECT_NEAR(std::stod(match[1]), run.epoch_losses[0], 5e-7);  // six digits after the point
  EXPECT_NEAR(std::stod(match[2]), run.epoch_losses[1], 5e-7);
  EXPECT_EQ(run.steps, 24);
}

TEST(TrainingRun, QuietSaysNothing) {
  std::ostringstream report;
  RunOutput output;
  output.report = &report;
  output.quiet = true;
  ::testing::internal::CaptureStderr();
  run_training(small_run(), output);
  EXPECT_EQ(::testing::internal::GetCapturedStderr() + report.str(), "");
}

TEST(TrainingRun, StepsCutARunShort) {
  const RunSummary run = quiet_run(small_run(R"({"steps": 11})"));
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(run.steps, 11);
  EXPECT_EQ(run.epoch_losses.size(), 1u);
  const RunSummary whole = quiet_run(small_run());
  EXPECT_EQ(run.losses, std::vector<double>(whole.losses.begin(), whole.losses.begin() + 11));
}

TEST(TrainingRun, TheStreamRunsOnAcrossEpochs) {
  // 20 images in batches of 8: epochs of 2 steps; step 2 begins with image 16 and goes on with image 0.
  const TrainSettings settings = small_run(R"({"train_images": 20, "learning_rate": 0, "epochs": 3})");
  const RunSummary run = quiet_run(settings);
  ASSERT_EQ(run.steps, 6);
  // The weights never change, so batch 5 (images 0 .. 7) has the loss of batch 0.
  EXPECT_EQ(run.losses[5], run.losses[0]);
  EXPECT_NE(run.losses[2], run.losses[0]);
}

TEST(TrainingRun, RefusesBeforeItStarts) {
  const TemporaryFolder folder;
  const auto error = [](const char* more, const RunOutput& output = {}) {
    return refusal<std::exception>([&] { quiet_run(small_run(more), output); });
  };
  EXPECT_TRUE(contains(error(R"({"batch_size": 65})"), "batch"));
  EXPECT_TRUE(contains(error(R"({"replicas": 9})"), "no whole step"));
  EXPECT_TRUE(contains(error("{}", {.plot = "curve.gif"}), "curve.gif"));
  EXPECT_TRUE(contains(error("{}", {.checkpoint = folder.file("missing/a.npz")}), "missing"));
  EXPECT_TRUE(contains(error("{}", {.checkpoint = folder.path().string()}), "is a folder"));
  EXPECT_TRUE(contains(error("{}", {.log = folder.file("missing/a.jsonl")}), "missing"));
  TrainSettings s = small_run();
  s.generated = false;
  s.data = folder.path().string();
  EXPECT_TRUE(contains(refusal<DataError>([&] { quiet_run(s); }), folder.path().string()));
}

// Two files of IDX images, 28x28, for LeNet-5, which reads 32x32.
TEST(TrainingRun, SmallDigitsGetABorder) {
  const TemporaryFolder folder;
  const auto idx = [](const ImageSet& set, bool images) {
    std::string text{'\0', '\0', 8, static_cast<char>(images ? 3 : 1), '\0', '\0', '\0', static_cast<char>(set.count)};
    if (!images) return text + std::string(set.labels.begin(), set.labels.end());
    for (int axis = 0; axis < 2; ++axis) text += {'\0', '\0', '\0', 28};
    return text + std::string(set.pixels.begin(), set.pixels.end());
  };
  const ImageSets sets = generated_images(28, 28, 1, 3, 2);
  write_text(folder.file("train-images-idx3-ubyte"), idx(sets.train, true));
  write_text(folder.file("train-labels-idx1-ubyte"), idx(sets.train, false));
  write_text(folder.file("t10k-images-idx3-ubyte"), idx(sets.test, true));
  write_text(folder.file("t10k-labels-idx1-ubyte"), idx(sets.test, false));
  TrainSettings s;
  s.network = "lenet5";
  s.data = folder.path().string();
  const ImageSet wide = train_detail::load_image_data(s, find_network("lenet5")).train;
  ASSERT_EQ(wide.count, 3);
  EXPECT_EQ(wide.labels, sets.train.labels);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t y = 0; y < 32; ++y)
      for (int64_t x = 0; x < 32; ++x) {
        const bool inside = y >= 2 && y < 30 && x >= 2 && x < 30;
        const uint8_t expected =
            inside ? sets.train.pixels[static_cast<size_t>((i * 28 + y - 2) * 28 + x - 2)] : uint8_t{0};
        ASSERT_EQ(wide.pixels[static_cast<size_t>((i * 32 + y) * 32 + x)], expected) << i << ' ' << y << ' ' << x;
      }
  for (const std::array<int64_t, 3>& other : {std::array<int64_t, 3>{32, 28, 1}, {28, 32, 1}, {32, 32, 3}}) {
    NetworkInfo network = find_network("lenet5");
    network.image = other;
    EXPECT_NE(refusal<DataError>([&] { train_detail::load_image_data(s, network); }), "")
        << other[0] << other[1] << other[2];
  }
  s.train_images = 4;
  EXPECT_TRUE(contains(refusal<DataError>([&] { train_detail::load_image_data(s, find_network("lenet5")); }),
                       "has 3 images; expected the 4 that 'train_images' asks for"));
}

TEST(TrainingRun, AFullDiskEndsTheLogWithAnError) {
  EXPECT_TRUE(contains(refusal<std::runtime_error>([] { quiet_run(small_run(), {.log = "/dev/full"}); }), "/dev/full"));
}

// Evaluation.

// tests: N288
TEST(Evaluation, CrossEntropyWithinItsBound) {
  const double samples[][4] = {{0, 0, 0, 0}, {1, 2, 3, 4}, {-50, 0, 3, 60}, {12, 12.5, -3, 0.1}, {1e-3, 0, 0, -1e-3}};
  for (const auto& logits : samples)
    for (int32_t label = 0; label < 4; ++label) {
      long double sum = 0;
      for (const double x : logits) sum += std::exp(static_cast<long double>(x) - logits[label]);
      const auto expected = static_cast<double>(std::log(sum));
      // e^x of four terms and ln are each off by less than 2 units of 2^-24 of values up to 4 and of ln 4.
      EXPECT_NEAR(train_detail::judge(logits, label).loss, expected, 0x1p-22 * std::max(1.0, expected));
    }
}

// tests: N288
TEST(Evaluation, CorrectIsTheFirstOfTheLargest) {
  const double logits[] = {1, 3, 3, 2}, nan[] = {1, std::nan(""), 3, 2};
  EXPECT_TRUE(train_detail::judge(logits, 1).correct);
  EXPECT_FALSE(train_detail::judge(logits, 2).correct);
  EXPECT_FALSE(train_detail::judge(nan, 2).correct);
  EXPECT_TRUE(std::isnan(train_detail::judge(nan, 2).loss));
}

// 20 images in batches of 8: the last 4 places of the last batch are filled, and not counted.
TEST(Evaluation, EveryImageCountsOnce) {
  const NetworkInfo network = find_network("small_cnn");
  ModelOptions model;
  model.batch_size = 8;
  Trainer trainer(build_model(network.build, model), {});
  const ImageSet test = generated_images(28, 28, 1, 8, 20).test;
  const auto samples = train_detail::samples_of(test);
  const auto result = train_detail::evaluate(trainer, *samples, network, 8, 3, {});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->images, 20);
  EXPECT_EQ(result->step, 3);
  // This network treats every image on its own: each one alone in a batch of its copies says the same.
  double total = 0;
  int64_t correct = 0;
  for (int64_t i = 0; i < 20; ++i) {
    const std::vector<int64_t> copies(8, i);
    const std::vector<double> logits = trainer.logits(normalise(test, copies, DType::kFloat32)).values();
    const auto j = train_detail::judge(std::span(logits).first(10), test.labels[static_cast<size_t>(i)]);
    total += j.loss;
    correct += j.correct;
  }
  EXPECT_EQ(result->correct, correct);
  EXPECT_EQ(result->loss, total / 20);
  int calls = 0;
  EXPECT_FALSE(train_detail::evaluate(trainer, *samples, network, 8, 3, [&] { return ++calls == 2; }).has_value());
}

// The estimator (TUTORIAL G45).

EstimatorSpec small_model(VariableStore& store, Port features, Port labels, EstimatorMode mode) {
  if (mode != EstimatorMode::kTrain) throw std::invalid_argument("Only training is supported");
  const Port logits = small_cnn()(store, features);
  const Port losses = store.builder().add("SparseSoftmaxCrossEntropyWithLogits", {logits, labels});
  EstimatorSpec spec;
  spec.loss = store.builder().add("Mean", {losses}, {}, "loss");
  spec.train_op = OptimizerOptions::of(OptimizerKind::kSgd);
  spec.train_op.learning_rate = 0.25;
  spec.loss_scale = LossScaleOptions::fixed(256);
  return spec;
}

RunConfig small_config() {
  RunConfig config;
  config.features = {DType::kFloat32, Shape{8, 28, 28, 1}};
  config.executor.seed = 5;
  return config;
}

InputFunction stream(const ImageSet& images) {
  return [&images, sampler = Sampler(images.count, 8), next = int64_t{0}]() mutable {
    const std::vector<int64_t> indices = sampler.batch(next++);
    return Batch{normalise(images, indices, DType::kFloat32), labels_of(images, indices)};
  };
}

// tests: G45
TEST(Estimator, LossesAreThoseOfTheDirectLoop) {
  // TUTORIAL G45
  const ImageSet images = generated_images(28, 28, 1, 64, 20).train;
  RunConfig config = small_config();
  std::vector<std::pair<int64_t, double>> logged;
  config.log_steps = 4;
  config.on_log = [&](int64_t step, double loss) { logged.emplace_back(step, loss); };
  Estimator estimator(small_model, config);
  std::vector<double> losses;
  const auto input = stream(images);
  const auto keep = [&](const StepResult& result) {
    losses.push_back(result.loss);
    EXPECT_EQ(result.scale_before, 256);
    return true;
  };
  EXPECT_EQ(estimator.train(input, 10, keep), 10);
  EXPECT_EQ(estimator.train(input, 6, keep), 6) << "train goes on";
  const RunSummary direct = quiet_run(small_run(R"({"optimizer": "sgd", "learning_rate": 0.25})"));
  EXPECT_EQ(losses, direct.losses);
  ASSERT_EQ(logged.size(), 4u);
  EXPECT_EQ(logged[1].first, 8);
  EXPECT_EQ(logged[1].second, (losses[4] + losses[5] + losses[6] + losses[7]) / 4);
  EXPECT_EQ(estimator.train(input, 10, [](const StepResult& r) { return r.step < 18; }), 3);
}

// tests: G45
TEST(Estimator, OtherModesAreRefused) {
  // TUTORIAL G45
  const ImageSet images = generated_images(28, 28, 1, 64, 20).train;
  const Estimator estimator(small_model, small_config());
  const std::string only = "Only training is supported";
  EXPECT_EQ(refusal<std::invalid_argument>([&] { estimator.evaluate(stream(images)); }), only);
  EXPECT_EQ(refusal<std::invalid_argument>([&] { estimator.predict(stream(images)); }), only);
}

TEST(Estimator, WhatAModelFunctionMustReturn) {
  const ImageSet images = generated_images(28, 28, 1, 64, 20).train;
  const auto error = [&](ModelFunction f) {
    return refusal<std::invalid_argument>([&] { Estimator(f, small_config()).train(stream(images), 1); });
  };
  EXPECT_TRUE(contains(error({}), "no model function"));
  EXPECT_TRUE(contains(error([](VariableStore&, Port, Port, EstimatorMode) {
                         EstimatorSpec spec;
                         spec.loss = {-1, 0};
                         return spec;
                       }),
                       "returned no loss"));
  EXPECT_TRUE(contains(error([](VariableStore&, Port features, Port, EstimatorMode) {
                         EstimatorSpec spec;
                         spec.loss = features;
                         return spec;
                       }),
                       "expected a floating scalar"));
}

// MindSpore's default scale is 2^24; gradients of LeNet5's logits reach 0.9/32 of it, and more than fp16 holds while
// the scale is 2^22 or above: the first three steps are skipped (TUTORIAL X14).
// tests: X14
TEST(TrainingRun, AHugeInitialScaleSkipsTheFirstThreeSteps) {
  TrainSettings s = TrainSettings::from_json(R"({"network": "lenet5", "precision": "mixed", "generated": true,
      "train_images": 256, "test_images": 1, "batch_size": 32, "steps": 6, "epochs": 1, "evaluate": false,
      "loss_scale": "mindspore", "behaviour": "nanoo"})");
  std::vector<StepResult> results;
  RunOutput output;
  output.on_step = [&](const StepResult& r) { results.push_back(r); };
  quiet_run(s, output);
  ASSERT_EQ(results.size(), 6u);
  EXPECT_EQ(results[0].scale_before, 0x1p24f);
  for (size_t i = 0; i < 3; ++i) EXPECT_FALSE(results[i].applied) << i;
}

TEST(TrainingRun, ARecipeThatChangedIsAnotherRun) {
  const TemporaryFolder folder;
  const std::string recipe = (folder.path() / "recipe.json").string(), file = (folder.path() / "c.npz").string();
  write_text(recipe, R"({"allowlist": ["MatMul"]})");
  const std::string mechanism = R"("mechanism": "recipe=)" + recipe + '"';
  RunOutput first;
  first.checkpoint = file;
  quiet_run(small_run("{" + mechanism + R"(, "steps": 1})"), first);
  const TrainSettings more = small_run("{" + mechanism + R"(, "steps": 2})");
  RunOutput on;
  on.resume = file;
  const auto resumed = [&] { return refusal<CheckpointError>([&] { quiet_run(more, on); }); };
  write_text(recipe, R"({"allowlist": ["MatMul", "Conv2D"]})");
  EXPECT_TRUE(contains(resumed(), "with another recipe than recipe=" + recipe + " is now")) << resumed();
  write_text(recipe, R"({"whitelist": ["MatMul"], "graylist": []})");
  EXPECT_EQ(resumed(), "");
}

TEST(TrainingRun, NothingIsWrittenOverWhatIsReadOrWritten) {
  const TemporaryFolder folder;
  const std::string recipe = (folder.path() / "recipe.json").string(), other = (folder.path() / "log").string();
  write_text(recipe, R"({"allowlist": ["MatMul"]})");
  const TrainSettings settings = small_run(R"({"steps": 1, "mechanism": "recipe=)" + recipe + R"("})");
  const auto refused = [&](const RunOutput& output) {
    return refusal<std::invalid_argument>([&] { quiet_run(settings, output); });
  };
  RunOutput output;
  output.log = (folder.path() / "." / "recipe.json").string();
  EXPECT_EQ(refused(output), "the log: '" + output.log + "' is the recipe that is read; expected another file");
  output.log = output.checkpoint = other;
  EXPECT_EQ(refused(output), "the checkpoint: '" + other + "' is the file of the log; expected another file");
  EXPECT_EQ(read_text(recipe), R"({"allowlist": ["MatMul"]})");
  output = {.log = other, .resume = other};
  EXPECT_EQ(refused(output), "the log: '" + other + "' is the checkpoint to resume from; expected another file");
  // Data, also through a link.
  const std::string images = folder.file("train-images-idx3-ubyte"), link = folder.file("link.npz");
  write_text(images, "images");
  std::filesystem::create_symlink("train-images-idx3-ubyte", link);
  TrainSettings with_data = settings;
  with_data.generated = false;
  with_data.data = folder.path().string();
  for (const RunOutput& onto : {RunOutput{.log = images}, RunOutput{.checkpoint = link}})
    EXPECT_TRUE(contains(refusal<std::invalid_argument>([&] { quiet_run(with_data, onto); }),
                         "' is one of the files of data that are read; expected another file"));
  EXPECT_EQ(read_text(images), "images");
}

}  // namespace
}  // namespace softamp
