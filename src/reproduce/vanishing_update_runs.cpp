#include "src/reproduce/vanishing_update_runs.h"

#include "softamp/data/images.h"
#include "softamp/data/sampler.h"
#include "softamp/train/layers.h"
#include "softamp/train/trainer.h"

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

}  // namespace softamp::reproduce
