// The same training on the CPU and on a GPU: every tensor of every step has the same bits.
//
// Twelve steps of a small convolutional network in fp16 with stochastic rounding. A hash of every tensor that a step
// computes goes into a trace; both traces have one digest. Where there is no GPU standard error says why, and the
// digest of the CPU is that of every GPU.
#include "softamp/softamp.h"

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

using namespace softamp;

namespace {

struct Trained {
  std::string digest;  ///< of the trace: names and hashes of all tensors, in the order in which they are computed
  size_t tensors = 0;
  std::vector<double> losses;
};

Trained train(const std::string& backend) {
  const NetworkInfo network = find_network("small_cnn");
  ModelOptions model;
  model.batch_size = 4;
  model.image = network.image;
  model.precision = Precision::parse("float16");
  TrainerOptions options;
  options.executor.backend = backend;
  options.executor.seed = 42;
  options.executor.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
  options.optimizer.learning_rate = 0.05;
  options.loss_scale = LossScaleOptions::fixed(256);
  Trainer trainer(build_model(network.build, model), options);

  Trained result;
  std::string trace;
  trainer.observe([&](std::string_view phase, int, uint32_t execution, const Node& node, int port,
                      const TensorType& type, const void* data) {
    trace += std::string(phase) + ' ' + std::to_string(execution) + ' ' + node.name + ':' + std::to_string(port) + ' ' +
             hash_text(data, type.bytes()) + '\n';
    ++result.tensors;
  });
  const ImageSet images = generated_images(28, 28, 1, 48, 1).train;
  for (int64_t step = 0; step < 12; ++step) {
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < 4; ++i) indices.push_back(4 * step + i);
    const Batch batch{normalise(images, indices, DType::kFloat16), labels_of(images, indices)};
    result.losses.push_back(trainer.step({&batch, 1}).loss);
  }
  result.digest = hash_text(trace.data(), trace.size());
  return result;
}

}  // namespace

int main() {
  const Trained cpu = train("emu");
  std::printf("loss: %g in the first step, %g in the last\n", cpu.losses.front(), cpu.losses.back());
  std::printf("emu:  %zu tensors, digest %s\n", cpu.tensors, cpu.digest.c_str());

  // Messages about the GPU go to standard error, so that standard output is the same with and without one.
  ExecutorOptions options;
  options.backend = "cuda";
  std::string device;
  try {
    device = choose_backend(options).about;
  } catch (const std::runtime_error& e) {
    std::fprintf(stderr, "not compared: %s\n", e.what());
    return 0;
  }
  const Trained gpu = train("cuda");
  std::fprintf(stderr, "cuda: %zu tensors, digest %s (%s)\n", gpu.tensors, gpu.digest.c_str(), device.c_str());
  if (gpu.digest != cpu.digest) {
    std::printf("cuda: digest %s: not equal\n", gpu.digest.c_str());
    return 1;
  }
  std::fprintf(stderr, "equal\n");
}
