#include "softamp/train/loss_scale_search.h"

#include <vector>

#include "softamp/data/sampler.h"
#include "softamp/machine/float_environment.h"
#include "softamp/numerics/status.h"
#include "softamp/precision/loss_scale.h"
#include "src/train/run/run_data.h"
#include "src/train/weights/weight_files.h"

namespace softamp {

LossScaleSearch find_max_loss_scale(const TrainSettings& settings) {
  const engine::DefaultEnvironment guard;
  const TrainSettings s = train_detail::settled(settings);
  const NetworkInfo network = find_network(s.network);
  const train_detail::SampleSets data = train_detail::load_data(s, network);
  const Sampler sampler(data.train->count(), s.batch_size, s.shuffle, s.seed);
  std::vector<Batch> batches;
  for (int64_t b = 0; b < s.replicas * s.accumulation; ++b)
    batches.push_back(data.train->batch(sampler.batch(b), s.precision_value().compute));

  LossScaleSearch found;
  found.scale = find_max_loss_scale([&](double scale) {
    TrainerOptions options = s.trainer_options();
    const Unscale unscale = options.loss_scale.unscale;
    options.loss_scale = LossScaleOptions::fixed(scale);
    if (unscale == Unscale::kFoldedIntoRate) options.loss_scale.unscale = unscale;
    options.strict = options.optimizer.strict = false;
    options.optimizer.schedule = {};
    options.optimizer.learning_rate = 0;  // the update's own overflows do not depend on the scale
    options.executor.status = true;
    auto& behaviour = options.executor.config.floating_point_behaviour;
    behaviour.inv = behaviour.div0 = behaviour.oflo = false;
    Trainer trainer(train_detail::model_of(s, network), options);
    if (!s.initial.empty()) train_detail::set_weights(trainer, s.initial);
    const StepResult step = trainer.step(batches);
    const bool overflow = (step.status & kOverflow) != 0 || step.nonfinite > 0;
    if (overflow) found.overflows = scale;
    return overflow;
  });
  return found;
}

}  // namespace softamp
