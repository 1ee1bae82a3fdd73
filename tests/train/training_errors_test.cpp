// What an error leaves of a training run: its last state, told together with the error; and files that are one run's
// alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "softamp/findings/exception.h"
#include "softamp/train/checkpoint.h"
#include "softamp/train/training_run.h"
#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/small_disk.h"
#include "tests/train/quiet_run.h"

namespace softamp::test {
namespace {

using Json = nlohmann::ordered_json;

/// The error with which a run ends, after which `file` holds its last state.
template <class Error>
std::string ended_by(const TrainSettings& settings, const RunOutput& output, int64_t step) {
  const std::string what = refusal<Error>([&] { quiet_run(settings, output); });
  EXPECT_NE(what, "");
  EXPECT_EQ(load_checkpoint(output.checkpoint).state.step, step);
  return what;
}

// Whatever ends a run, the checkpoint has the state after its last whole step, and resuming is as if nothing had been.
TEST(TrainingErrors, AnErrorIsPrecededByACheckpoint) {
  const TemporaryFolder folder;
  const TrainSettings settings = small_run(R"({"evaluate": true, "evaluate_every": 1, "warmup_epochs": 1, "epochs": 1,
      "precision": "float16", "stochastic_rounding": "on", "train_images": 40})");
  const std::string log = folder.file("a.jsonl"), file = folder.file("a.npz");
  const std::string whole_log = folder.file("whole.jsonl"), whole_file = folder.file("whole.npz");
  const RunSummary whole = quiet_run(settings, {.log = whole_log, .checkpoint = whole_file});
  ASSERT_EQ(whole.steps, 10);
  for (int64_t at = 1; at <= whole.steps; ++at) {
    SCOPED_TRACE(at);
    RunOutput output{.log = log, .checkpoint = file};
    output.on_step = [&](const StepResult& result) {
      if (result.step + 1 == at) throw std::runtime_error("an observer fails");
    };
    EXPECT_EQ(ended_by<std::runtime_error>(settings, output, at), "an observer fails");
    const RunSummary rest = quiet_run(settings, {.log = log, .checkpoint = file, .resume = file});
    EXPECT_EQ(rest.weight_hashes, whole.weight_hashes);
    EXPECT_EQ(read_text(log), read_text(whole_log));
    EXPECT_TRUE(read_text(file) == read_text(whole_file)) << "the checkpoints differ";
  }
}

TEST(TrainingErrors, AnEnabledExceptionOfTheEvaluationEndsTheRun) {
  const TrainSettings settings = small_run(R"({"precision": "float16", "behaviour": "oflo", "learning_rate": 60000,
      "loss_scale": "1", "steps": 1, "evaluate": true})");
  EXPECT_TRUE(contains(refusal<FloatingPointError>([&] { quiet_run(settings); }), "overflow"));
}

TEST(TrainingErrors, AnEnabledExceptionIsPrecededByACheckpoint) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.npz"), log = folder.file("a.jsonl");
  // Weights grow until a product overflows.
  const TrainSettings settings =
      small_run(R"({"precision": "float16", "behaviour": "oflo", "learning_rate": 30, "loss_scale": "1"})");
  int64_t steps = 0;
  RunOutput output{.log = log, .checkpoint = file};
  output.on_step = [&](const StepResult& result) { steps = result.step + 1; };
  const std::string what = refusal<FloatingPointError>([&] { quiet_run(settings, output); });
  ASSERT_TRUE(contains(what, "overflow")) << what;
  ASSERT_GE(steps, 1) << "the first step passes";
  EXPECT_EQ(load_checkpoint(file).state.step, steps);
  const std::string before = read_text(log), state = read_text(file);
  stopped_run(settings, {.checkpoint = folder.file("b.npz")}, steps);
  const Checkpoint kept = load_checkpoint(file), stopped = load_checkpoint(folder.file("b.npz"));
  EXPECT_EQ(kept.progress, stopped.progress);
  for (size_t t = 0; t < stopped.state.tensors[0].size(); ++t)
    EXPECT_TRUE(kept.state.tensors[0][t].second.same_bits(stopped.state.tensors[0][t].second));
  EXPECT_EQ(refusal<FloatingPointError>([&] { quiet_run(settings, {.log = log, .checkpoint = file, .resume = file}); }),
            what)
      << "the same step again";
  EXPECT_EQ(read_text(log), before);
  EXPECT_EQ(read_text(file), state);
}

// The line of the last step was not written: it is in the checkpoint, and a resumed run writes it.
TEST(TrainingErrors, ALogOnAFullDiskLosesNothing) {
  const TemporaryFolder folder;
  const TrainSettings settings = small_run();
  const std::string log = folder.file("a.jsonl"), file = folder.file("a.npz"), whole_log = folder.file("whole.jsonl");
  quiet_run(settings, {.log = whole_log});
  // A log that is longer than any checkpoint, so that the disk can be too small for it alone.
  const auto padded = [](std::string text) {
    return text.replace(text.find("{\"step\":0,"), 1, "{\"padding\":\"" + std::string(1 << 20, 'x') + "\",");
  };
  for (const int64_t at : {5, 8}) {  // 8: two lines, and the disk is full after some bytes of the first
    for (const rlim_t room : {0, 20}) {
      SCOPED_TRACE("after step " + std::to_string(at) + ", " + std::to_string(room) + " bytes of room");
      stopped_run(settings, {.log = log, .checkpoint = file}, 2);
      write_text(log, padded(read_text(log)));
      std::optional<test::SmallDisk> disk;
      RunOutput output{.log = log, .checkpoint = file, .resume = file};
      output.on_step = [&](const StepResult& result) {
        if (result.step + 2 == at) disk.emplace(std::filesystem::file_size(log) + room);
      };
      const std::string what = ended_by<std::runtime_error>(settings, output, at);
      EXPECT_EQ(what, "the log: '" + log + "' cannot be written: File too large");
      disk.reset();
      EXPECT_EQ(read_text(log).back(), '\n') << "no half line";
      // Gone on with without the log, and then with it.
      stopped_run(settings, {.checkpoint = folder.file("b.npz"), .resume = file}, 1);
      quiet_run(settings, {.log = log, .checkpoint = file, .resume = file});
      EXPECT_TRUE(read_text(log) == padded(read_text(whole_log)));
    }
  }
}

TEST(TrainingErrors, ACheckpointThatFailsTooHidesNothing) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.npz");
  stopped_run(small_run(), {.checkpoint = file}, 1);
  const std::string good = read_text(file);
  std::optional<test::SmallDisk> disk;
  RunOutput output{.checkpoint = file};
  output.on_step = [&](const StepResult& result) {
    if (result.step < 2) return;
    disk.emplace(1000);
    throw std::runtime_error("an observer fails");
  };
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(refusal<std::runtime_error>([&] { quiet_run(small_run(), output); }), "an observer fails");
  disk.reset();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "softamp train: the state after 3 steps is not kept: the checkpoint: '" + file +
                "' cannot be written: File too large\n");
  EXPECT_TRUE(read_text(file) == good) << "the old one stays";
}

TEST(TrainingErrors, FilesOfARunAreItsAlone) {
  const TemporaryFolder folder;
  const std::string log = folder.file("a.jsonl"), file = folder.file("a.npz"), other = folder.file("b.npz");
  const std::string busy = "' is being written by process " + std::to_string(getpid()) + "; expected one run at a time";
  stopped_run(small_run(), {.checkpoint = other}, 1);
  std::vector<std::string> errors;
  RunOutput output{.log = log, .checkpoint = file, .checkpoint_every = 1};
  output.on_step = [&](const StepResult& result) {
    if (result.step != 2) return;
    for (const RunOutput& second :
         {RunOutput{.log = log}, RunOutput{.checkpoint = file}, RunOutput{.checkpoint = file, .resume = file},
          RunOutput{.checkpoint = folder.file("c.npz"), .resume = file}, RunOutput{.log = log, .resume = other}})
      errors.push_back(refusal<std::runtime_error>([&] { quiet_run(small_run(), second); }));
  };
  quiet_run(small_run(), output);
  EXPECT_EQ(errors, (std::vector<std::string>{"the log: '" + log + busy, "the checkpoint: '" + file + busy,
                                              "the checkpoint: '" + file + busy, "the checkpoint: '" + file + busy,
                                              "the log: '" + log + busy}));
  EXPECT_EQ(folder.entries(), 3u);
  quiet_run(small_run(), {.log = log, .checkpoint = file, .resume = file});
}

TEST(TrainingErrors, OtherTestImagesAreSaid) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.npz");
  const auto said = [&](const std::string& more) {
    RunOutput output{.resume = file, .progress = false};
    std::ostringstream report;
    output.report = &report;
    ::testing::internal::CaptureStderr();
    run_training(small_run(more), output);
    return contains(::testing::internal::GetCapturedStderr(),
                    "softamp train: warning: the test images are not those of the run in " + file +
                        "; evaluations before and after cannot be compared\n");
  };
  stopped_run(small_run(), {.checkpoint = file}, 2);
  EXPECT_FALSE(said(R"({"evaluate": true})"));
  EXPECT_TRUE(said(R"({"evaluate": true, "test_images": 19})"));
  EXPECT_FALSE(said(R"({"test_images": 19})")) << "nothing is evaluated";
  Checkpoint c = load_checkpoint(file);
  Json progress = Json::parse(c.progress);
  ASSERT_EQ(progress.erase("test_data"), 1u);  // as an earlier program wrote it
  c.progress = progress.dump();
  save_checkpoint(c, file);
  EXPECT_FALSE(said(R"({"evaluate": true, "test_images": 19})"));
}

}  // namespace
}  // namespace softamp::test
