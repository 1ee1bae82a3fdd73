// The library in one program: a product and its flags, an array, a graph, a few steps of training. README.md and
// docs/LIBRARY.md show parts of it, word for word.
#include <softamp/softamp.h>

#include <cstdio>
#include <vector>

using namespace softamp;

namespace {

void numbers() {
  const Semantics ipu = Semantics::ipu(FloatingPointBehaviour{});     // exceptions on, stochastic rounding, nanoo
  const Rounded product = fp::mul(kFp16, 0x3C01, 0x3C01, ipu, 1234);  // a code and its flags; 1234: the random bits

  const std::vector<float> floats(1000, 0.1f);
  std::vector<uint16_t> codes(floats.size());
  bulk::round(floats, kFp16, codes, Semantics::ieee(RoundingPolicy::stochastic_carry(13)));  // a whole array

  std::printf("product 0x%04x, flags %s\n", static_cast<unsigned>(product.code), flag_names(product.flags).c_str());
  double sum = 0;
  for (const uint16_t code : codes) sum += value_of(kFp16, code);
  std::printf("mean of 1000 roundings of 0.1: %.8f\n", sum / 1000);
}

void graph() {
  GraphBuilder g;  // checks every operation as it is added
  const Port x = g.placeholder("x", DType::kFloat16, {1, 4096});
  const Port w = g.constant(Tensor::full(DType::kFloat16, {4096, 1}, 1), "w");
  g.add("MatMul", {x, w}, {}, "y");

  ExecutorOptions options;
  options.config.set("floating_point_behaviour.oflo", true);  // stop at the first overflow
  options.config.set("matmuls.poplar_options", PoplarOptions{{"partialsType", "half"}});
  const auto executor = make_executor(g.build(), options);

  const Tensor ones = Tensor::full(DType::kFloat16, {1, 4096}, 1);
  const RunResult result = executor->run({{"x", ones}}, {"y"});  // throws FloatingPointError, with a report

  std::printf("4096 ones, summed in float16 sixteen at a time: %s\n", tensor_text(result.values[0]).c_str());
}

void training() {
  const NetworkInfo network = find_network("small_cnn");
  const ModelOptions model{.batch_size = 32, .image = network.image, .precision = Precision::parse("mixed")};
  Trainer trainer(build_model(network.build, model), {.loss_scale = LossScaleOptions::torch()});

  const ImageSet images = generated_images(28, 28, 1, 32).train;
  std::vector<int64_t> indices(32);
  for (int64_t i = 0; i < 32; ++i) indices[static_cast<size_t>(i)] = i;
  const Batch batch{normalise(images, indices, DType::kFloat16), labels_of(images, indices)};
  for (int i = 0; i < 4; ++i) {
    const StepResult step = trainer.step(batch);  // loss, applied or skipped, loss scale, flags
    std::printf("step %d: loss %.4f, %s, loss scale %g\n", i, step.loss, step.applied ? "applied" : "skipped",
                static_cast<double>(step.scale_before));
  }
}

}  // namespace

int main() {
  numbers();
  graph();
  training();
}
