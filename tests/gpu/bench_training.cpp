// A training step of the CUDA engine against the CPU engine's on two cores.
#include "softamp/train/trainer.h"
#include "tests/backend/parity.h"
#include "tests/gpu/bench.h"

namespace softamp::gpu {
namespace {

/// Seconds of training steps, after two that warm up (one that is recorded, and one that records).
Spread step_seconds(const Sizes& sizes, const std::string& backend, int threads, int steps) {
  const NetworkInfo network = find_network(sizes.network);
  ModelOptions m;
  m.batch_size = sizes.batch;
  m.image = network.image;
  m.classes = network.classes;
  m.precision = Precision::parse("mixed");
  TrainerOptions o;
  o.executor = options_of(true, true, 16);
  o.executor.config.convolutions.poplar_options["partialsType"] = "half";
  o.executor.backend = backend;
  o.executor.threads = threads;
  o.loss_scale.initial = 128;
  const Model model = build_model(network.build, m);
  const Shape images{m.batch_size, m.image[0], m.image[1], m.image[2]};
  const Batch batch{parity::floats(model.precision.compute, images, 4, true),
                    parity::integers({m.batch_size}, 5, 0, static_cast<int32_t>(m.classes) - 1)};
  Trainer trainer(model, o);
  std::vector<double> seconds;
  for (int i = 0; i < steps + 2; ++i) {
    const double s = seconds_of([&] { trainer.step({&batch, 1}); });
    if (i >= 2 || steps == 1) seconds.push_back(s);
  }
  return spread_of(std::move(seconds));
}

}  // namespace

void bench_training(const Sizes& sizes, Figures& figures) {
  const Spread emu = step_seconds(sizes, "emu", 2, 1), step = step_seconds(sizes, "cuda", 0, sizes.steps);
  figures.add(std::string("training_step_") + sizes.network + "_batch_" + std::to_string(sizes.batch),
              static_cast<double>(sizes.batch) / step.median, "images/s", emu.least / step.median, "emu on two cores",
              40, step);
}

}  // namespace softamp::gpu
