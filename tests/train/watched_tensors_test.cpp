// Tensors that are printed and enqueued while a run trains: what a step computes, and no bit of it changes.
#include <gtest/gtest.h>

#include "softamp/data/npz.h"
#include "softamp/findings/tensor_text.h"
#include "tests/files.h"
#include "tests/graph/executor_check.h"
#include "tests/train/quiet_run.h"

namespace softamp::test {
namespace {

TEST(WatchedTensors, AreThoseOfTheStep) {
  const TemporaryFolder folder;
  const TrainSettings settings =
      small_run(R"({"steps": 3, "precision": "mixed", "stochastic_rounding": "on", "loss_scale": "1"})");
  RunOutput output;
  output.outfeed = folder.file("o.npz");
  output.enqueue = {"logits:0", "loss"};
  output.print = {"loss"};
  ::testing::internal::CaptureStderr();
  const RunSummary run = quiet_run(settings, output);
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(run.weight_hashes, quiet_run(settings).weight_hashes) << "no bit changes";
  const npz::Reader kept(output.outfeed);
  EXPECT_EQ(kept.names().size(), 6u);
  for (int step = 0; step < 3; ++step) {
    const std::string place = "step" + std::to_string(step) + "/";
    EXPECT_EQ(kept.tensor(place + "logits").type(), (TensorType{DType::kFloat16, {8, 10}}));
    const Tensor loss = kept.tensor(place + "loss");
    EXPECT_EQ(loss.value(0), run.losses[static_cast<size_t>(step)]) << step;
    const std::string line = "softamp train: step " + std::to_string(step) + ": loss: " + tensor_text(loss) + "\n";
    EXPECT_NE(printed.find(line), std::string::npos) << line << printed;
  }
}

TEST(WatchedTensors, OfEachReplicaAndMicroBatch) {
  const TemporaryFolder folder;
  const TrainSettings settings = small_run(R"({"steps": 2, "replicas": 2, "accumulation": 2, "loss_scale": "1"})");
  RunOutput output;
  output.outfeed = folder.file("o.npz");
  output.enqueue = {"loss", "loss"};
  const RunSummary run = quiet_run(settings, output);
  const npz::Reader kept(output.outfeed);
  EXPECT_EQ(kept.names().size(), 8u);
  for (int step = 0; step < 2; ++step) {
    double sum = 0;
    for (const char* replica : {"replica0", "replica1"})
      for (const char* batch : {"batch0", "batch1"})
        sum += kept.tensor("step" + std::to_string(step) + "/" + replica + "/" + batch + "/loss").value(0);
    EXPECT_EQ(sum / 4, run.losses[static_cast<size_t>(step)]) << step;
  }
}

TEST(WatchedTensors, AResumedRunGoesOnCounting) {
  const TemporaryFolder folder;
  const TrainSettings settings = small_run(R"({"steps": 4})");
  RunOutput first;
  first.checkpoint = folder.file("c.npz");
  stopped_run(settings, first, 2);
  RunOutput second;
  second.resume = first.checkpoint;
  second.outfeed = folder.file("o.npz");
  second.enqueue = {"loss"};
  quiet_run(settings, second);
  EXPECT_EQ(npz::Reader(second.outfeed).names(), (Names{"step2/loss", "step3/loss"}));
}

TEST(WatchedTensors, WhatNoStepComputesIsRefused) {
  const auto error = [](RunOutput output, const char* more = R"({"steps": 2})") {
    return refusal<std::invalid_argument>([&] { quiet_run(small_run(more), std::move(output)); });
  };
  EXPECT_EQ(error({.print = {"logit"}}),
            "'logit' is to be printed; expected a tensor that a step computes, NODE or NODE:PORT; nearest: logits");
  EXPECT_EQ(error({.print = {"loss:1"}}).substr(0, 26), "'loss:1' is to be printed;");
  EXPECT_EQ(error({.enqueue = {"loss"}}), "'loss' is to be enqueued; expected an outfeed's file, too");
  EXPECT_EQ(error({.outfeed = "/dev/null"}), "outfeed '/dev/null': expected a tensor that is enqueued");
  EXPECT_THROW(quiet_run(small_run(R"({"steps": 2})"), {.enqueue = {"loss"}, .outfeed = "/dev/null/x"}),
               std::runtime_error);
  const TemporaryFolder folder;
  EXPECT_EQ(error({.enqueue = {"logits"}, .outfeed = folder.file("o.npz")},
                  R"({"train_images": 8, "epochs": 4000000, "steps": 4000000})"),
            "outfeed '" + folder.file("o.npz") +
                "': 320 bytes in each of 4000000 steps; expected at most 1073741824 bytes in all");
}

}  // namespace
}  // namespace softamp::test
