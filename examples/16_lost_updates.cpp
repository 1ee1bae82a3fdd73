// TUTORIAL G40: Which updates does rounding to nearest lose? A network in float16, trained by plain descent and by
// momentum, rounded to nearest and stochastically, beside the same with float32 parameters.
//
// An update below half the spacing of float16 at its weight is lost when it is rounded to nearest: at this small rate
// most updates of plain descent are, and with them most of what training would have gained. Momentum makes its updates
// larger; stochastic rounding keeps the small ones on average; parameters in float32 are spaced more finely.
// Graphcore's tutorial advises momentum for float16.
// tests: G40
#include "softamp/softamp.h"

#include <cstdio>
#include <vector>

using namespace softamp;

namespace {

constexpr int64_t kBatch = 32;
constexpr int kBatches = 8, kSteps = 160;

struct Case {
  const char *name, *precision;
  OptimizerKind optimizer;
  bool stochastic;
};

std::vector<Batch> batches_of(const ImageSet& images, DType dtype) {
  std::vector<Batch> batches;
  for (int64_t first = 0; first < kBatches * kBatch; first += kBatch) {
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < kBatch; ++i) indices.push_back(first + i);
    batches.push_back({normalise(images, indices, dtype), labels_of(images, indices)});
  }
  return batches;
}

/// Trains, prints its line, and returns by how much the loss fell; `of_float32`: by how much with float32 parameters.
double train(const Case& c, const ImageSet& images, double of_float32 = 0) {
  const NetworkInfo network = find_network("small_cnn");
  const Precision precision = Precision::parse(c.precision);
  TrainerOptions options;
  options.executor.seed = 1;
  if (c.stochastic) options.executor.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
  options.optimizer = OptimizerOptions::of(c.optimizer);
  options.optimizer.learning_rate = 0.0005;
  options.loss_scale = LossScaleOptions::fixed(256);
  options.count_lost_updates = true;
  Trainer trainer(build_model(network.build, {.batch_size = kBatch, .image = network.image, .precision = precision}),
                  options);

  const std::vector<Batch> batches = batches_of(images, precision.compute);
  double first = 0, last = 0;
  int64_t moving = 0, lost = 0;
  for (int i = 0; i < kSteps; ++i) {
    const StepResult step = trainer.step({&batches[static_cast<size_t>(i % kBatches)], 1});
    (i < kBatches ? first : last) += i < kBatches || i >= kSteps - kBatches ? step.loss / kBatches : 0;
    for (const LostUpdates& of_variable : step.lost_updates) {
      moving += of_variable.moving;
      lost += of_variable.lost;
    }
  }
  const double fall = first - last;
  std::printf("  %-34s %8.1f %%   %-14s %10.4f %9.0f %%\n", c.name,
              100 * static_cast<double>(lost) / static_cast<double>(moving), c.stochastic ? "kept at random" : "lost",
              fall, 100 * fall / (of_float32 > 0 ? of_float32 : fall));
  return fall;
}

}  // namespace

int main() {
  using enum OptimizerKind;
  std::printf("%d steps of small_cnn at the rate 0.0005\n\n%-34s %13s   %-14s %s\n", kSteps, "", "small updates",
              "and they are", "loss fell by");
  const ImageSet images = generated_images(28, 28, 1, kBatches * kBatch).train;
  for (const auto& [optimizer, name] : {std::pair{kSgd, "plain descent"}, {kMomentum, "momentum"}}) {
    std::printf("%s\n", name);
    const double fall = train({"mixed: float32 parameters", "mixed", optimizer, false}, images);
    train({"float16, rounded to nearest", "float16", optimizer, false}, images, fall);
    train({"float16, rounded stochastically", "float16", optimizer, true}, images, fall);
  }
}
