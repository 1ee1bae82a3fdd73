// Training for as long as anybody may: a step leaves no memory behind, and a run keeps its losses and nothing else.
#include "softamp/train/trainer.h"

#include <gtest/gtest.h>

#include "softamp/data/images.h"
#include "softamp/data/sampler.h"
#include "softamp/train/layers.h"
#include "tests/files.h"
#include "tests/load/memory_in_use.h"
#include "tests/train/quiet_run.h"

namespace softamp::test {
namespace {

// A day of ResNet-8 is 300,000 steps, one of the small network 40 million; these steps cost next to nothing.
int64_t steps() { return times(4000, 2'000'000); }

TrainerOptions options(int threads) {
  TrainerOptions o;
  o.executor.threads = threads;
  o.executor.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
  o.loss_scale = LossScaleOptions::parse("dynamic");
  return o;
}

Model tiny_model() {
  ModelOptions o;
  o.batch_size = 2;
  o.image = {8, 8, 1};
  o.precision = Precision::parse("mixed");
  return build_model([](VariableStore& s, Port x) { return layers::dense(s, layers::flatten(s, x), 10); }, o);
}

TEST(LoadTraining, AStepLeavesNoMemoryBehind) {
  const ImageSet images = generated_images(8, 8, 1, 8, 2).train;
  for (const int threads : {1, 3}) {
    Trainer trainer(tiny_model(), options(threads));
    const Sampler sampler(images.count, 2);
    expect_no_growth(steps(), 1000, [&](int64_t i) {
      const std::vector<int64_t> indices = sampler.batch(i);
      const Batch batch{normalise(images, indices, trainer.model().precision.compute), labels_of(images, indices)};
      trainer.step({&batch, 1});
    });
  }
}

TEST(LoadTraining, ARunKeepsALossAStep) {
  const TemporaryFolder folder;
  const TrainSettings settings = settings_over({{"generated", true},
                                                {"train_images", 8},
                                                {"test_images", 8},
                                                {"batch_size", 1},
                                                {"threads", 1},
                                                {"epochs", 1 << 20}},
                                               R"({"evaluate": false})");
  const int64_t most = times(400, 20'000);
  int64_t done = 0, before = 0, after = 0;
  RunOutput output;
  output.log = folder.file("run.jsonl");
  output.checkpoint = folder.file("run.npz");
  output.checkpoint_every = 50;
  output.on_step = [&](const StepResult&) {
    if (++done == 100) before = memory_in_use();
    if (done == most) after = memory_in_use();
  };
  output.stop = [&] { return done >= most; };
  quiet_run(settings, output);
  // 8 bytes of a loss in a vector that grows by doubling, and as much for an epoch's mean.
  EXPECT_LE(after - before, (32 << 10) + 32 * most);
}

}  // namespace
}  // namespace softamp::test
