#include "src/reproduce/steps/vanishing_update_runs.h"

#include <array>
#include <cmath>

#include "softamp/data/images.h"
#include "softamp/data/sampler.h"
#include "softamp/train/layers.h"
#include "softamp/train/trainer.h"
#include "src/numbers/decimal_text.h"

namespace softamp::reproduce {

const std::vector<Keeping>& keepings() {
  static const std::vector<Keeping> kKeepings = {{"fp32", "float32", false},
                                                 {"fp16, nearest", "float16", false},
                                                 {"fp16, stochastic", "float16", true},
                                                 {"fp16 with fp32 master weights", "mixed", false}};
  return kKeepings;
}

std::vector<double> losses_of(const UpdateSetup& setup, const Keeping& keeping, uint64_t seed,
                              const std::function<void(double)>& told) {
  ModelOptions model;
  model.batch_size = setup.batch;
  model.image = {setup.image, setup.image, 1};
  model.precision = Precision::parse(keeping.precision);
  const Network network = [units = setup.units](VariableStore& store, Port images) {
    layers::DenseOptions hidden;
    hidden.relu = true;
    return layers::dense(store, layers::dense(store, layers::flatten(store, images), units, hidden), 10);
  };
  TrainerOptions options;
  options.executor.seed = seed;
  options.executor.switches.sr_bits = setup.bits;
  if (keeping.stochastic) options.executor.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
  options.optimizer = OptimizerOptions::of(OptimizerKind::kAdam);
  options.optimizer.learning_rate = setup.rate;
  // The weights' rounding is what is looked at: moments and hyperparameters are fp32 for all.
  options.optimizer.state = DType::kFloat32;
  options.optimizer.hyperparameters = DType::kFloat32;
  options.loss_scale = keeping.precision == "float32" ? LossScaleOptions::none() : LossScaleOptions::fixed(256);

  Trainer trainer(build_model(network, model), options);
  const ImageSets sets = generated_images(setup.image, setup.image, 1, setup.images, 1);
  const Sampler sampler(setup.images, setup.batch, true, seed);
  std::vector<double> losses;
  for (uint64_t step = 0; step < setup.steps; ++step) {
    if (step % 16 == 0) told(static_cast<double>(step) / static_cast<double>(setup.steps));
    const std::vector<int64_t> indices = sampler.batch(static_cast<int64_t>(step));
    const Batch batch{normalise(sets.train, indices, trainer.model().precision.compute),
                      labels_of(sets.train, indices)};
    losses.push_back(trainer.step({&batch, 1}).loss);
  }
  return losses;
}

std::vector<Check> judged(const std::vector<std::vector<double>>& ends, bool usual_bits) {
  const size_t seeds = ends[0].size();
  const auto above_fp32 = [&](size_t way) {
    double sum = 0;
    for (size_t i = 0; i < seeds; ++i) sum += ends[way][i] - ends[0][i];
    return signed_places(sum / static_cast<double>(seeds), 4);
  };
  const auto name = [](size_t way) { return "training, " + keepings()[way].name + ": mean loss above fp32's"; };
  bool highest = true;
  for (size_t i = 0; i < seeds; ++i)
    for (const size_t way : std::array<size_t, 3>{0, 2, 3})
      highest = highest && (ends[1][i] > ends[way][i] || (way == 2 && !usual_bits));
  std::vector<Check> checks = {
      {name(1), Against::kShape, above_fp32(1),
       "learns less: the highest loss of all ways in each of " + std::to_string(seeds) + " seeds", highest}};
  for (const size_t way : std::array<size_t, 2>{2, 3}) {
    bool near = true;
    for (size_t i = 0; i < seeds; ++i)
      near = near && std::fabs(ends[way][i] - ends[0][i]) < std::fabs(ends[way][i] - ends[1][i]);
    if (usual_bits || way != 2)
      checks.push_back({name(way), Against::kShape, above_fp32(way),
                        "learns as fp32: nearer to fp32's loss than to nearest's in each seed", near});
    else
      checks.push_back({name(way), Against::kRecorded, above_fp32(way), "-", true});
  }
  return checks;
}

}  // namespace softamp::reproduce
