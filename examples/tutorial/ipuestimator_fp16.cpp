// The second method again, with the loop in an Estimator: a model function builds the graph, an input function hands
// out batches, and train() runs so many steps.
//
// The network, the optimizer and the exceptions are those of float32_parameter_updates. As in the tutorial there is no
// warm-up epoch and no line per epoch: the loss is logged once per epoch's worth of steps, on standard error. The data
// are repeated, then shuffled over a window as long as the set: an order of its own for every epoch (--no-shuffle takes
// it away). What the tutorial's input function says about prefetching and caching has no meaning here.
#include "records.h"

#include <algorithm>
#include <array>
#include <iostream>

namespace {

using namespace softamp;

/// Graph, loss, optimizer and loss scale of a training step.
ModelFunction model_function(const TrainSettings& s) {
  return [s](VariableStore& store, Port features, Port labels, EstimatorMode mode) -> EstimatorSpec {
    if (mode != EstimatorMode::kTrain) throw std::invalid_argument("Only training is supported");
    const Precision precision = s.precision_value();
    GraphBuilder& graph = store.builder();
    Port logits;
    {
      // Variables of another dtype than float32 become float32 masters behind a cast.
      const bool masters = precision.parameters != precision.compute;
      const auto scope = store.scope("", masters ? float32_parameters() : VariableStore::Getter());
      logits = fashion_cnn()(store, features);
    }
    logits = graph.add("Identity", {logits}, {}, "logits");
    if (s.loss_in_float32 && graph.type(logits).dtype != DType::kFloat32)
      logits = graph.add("Cast", {logits}, {{"DstT", DType::kFloat32}}, "loss_fn/Cast");
    const Port losses = graph.add("SparseSoftmaxCrossEntropyWithLogits", {logits, labels}, {}, "loss_fn/losses");
    const TrainerOptions options = s.trainer_options();
    return {graph.add("Mean", {losses}, {}, "loss"), options.optimizer, options.loss_scale};
  };
}

ImageSets load(const TrainSettings& s, const std::array<int64_t, 3>& image) {
  const auto [height, width, channels] = image;
  if (s.generated)
    return generated_images(height, width, channels, s.train_images > 0 ? s.train_images : 4096,
                            s.test_images > 0 ? s.test_images : 1024);
  ImageSets data = load_images(s.data, height, width, channels, s.validation_split);
  const auto take_first = [](ImageSet& set, int64_t count, const char* option) {
    if (count > set.count)
      throw DataError(set.name + " has " + std::to_string(set.count) + " images; expected the " +
                      std::to_string(count) + " that " + option + " asks for");
    if (count > 0) set = set.slice(0, count);
  };
  take_first(data.train, s.train_images, "--train-images");
  take_first(data.test, s.test_images, "--test-images");
  return data;
}

/// How many test images are classified rightly; the last batch is filled up with the first images, which are not
/// counted again. The estimator trains and does nothing else, so the variables go to a model of the same network that
/// has logits.
void evaluate(const Trainer& trained, const ImageSet& test, const TrainSettings& s, tutorial::Records& records) {
  const NetworkInfo network = find_network(s.network);
  ModelOptions options;
  options.batch_size = s.batch_size;
  options.image = network.image;
  options.precision = s.precision_value();
  options.loss_in_float32 = s.loss_in_float32;
  options.layers = s.mechanism_value().layer_rule();
  Trainer copy(build_model(network.build, options), s.trainer_options());
  for (const VariableSpec& v : copy.model().variables) copy.set_variable(v.name, trained.variable(v.name));
  std::vector<int64_t> indices(static_cast<size_t>(s.batch_size));
  int64_t images = 0, correct = 0;
  while (images < test.count) {
    for (int64_t i = 0; i < s.batch_size; ++i) indices[static_cast<size_t>(i)] = (images + i) % test.count;
    const Tensor logits = copy.logits(normalise(test, indices, options.precision.compute));
    for (int64_t i = 0; i < s.batch_size && images < test.count; ++i, ++images) {
      int64_t best = 0;
      for (int64_t c = 1; c < network.classes; ++c)
        if (logits.value(i * network.classes + c) > logits.value(i * network.classes + best)) best = c;
      correct += best == test.labels[static_cast<size_t>(images)];
    }
  }
  records.line("{\"evaluation\":{\"images\":" + std::to_string(images) + ",\"correct\":" + std::to_string(correct) +
               "}}");
  std::cout << "Evaluation: " << correct << " of " << images << " test images\n";
}

bool train(const tutorial::Arguments& a) {
  const TrainSettings& s = a.settings;
  const auto [height, width, channels] = find_network(s.network).image;
  const ImageSets data = load(s, {height, width, channels});
  const Sampler sampler(data.train.count, s.batch_size, s.shuffle, s.seed);
  const int64_t batches_per_step = s.replicas * s.accumulation;
  const int64_t steps_per_epoch = sampler.batches_per_epoch() / batches_per_step;
  if (steps_per_epoch == 0)
    throw std::invalid_argument("an epoch of " + std::to_string(data.train.count) + " images has no whole step of " +
                                std::to_string(batches_per_step) + " batches of " + std::to_string(s.batch_size));
  const int64_t total = s.steps > 0 ? std::min(s.steps, s.epochs * steps_per_epoch) : s.epochs * steps_per_epoch;

  RunConfig config;
  config.precision = s.precision_value();
  config.features = {config.precision.compute, {s.batch_size, height, width, channels}};
  config.trainer = s.trainer_options();
  config.executor = config.trainer.executor;
  config.layers = s.mechanism_value().layer_rule();
  config.mechanism = s.mechanism;
  config.log_steps = steps_per_epoch;
  config.on_log = [&](int64_t step, double mean_loss) {
    if (!a.output.quiet) std::cerr << a.name << ": INFO: step " << step << ", loss " << mean_loss << '\n';
  };
  Estimator estimator(model_function(s), config);
  Trainer& trainer = estimator.trainer();
  tutorial::Records records(a, total, data);
  records.start(trainer);
  if (!a.output.quiet) std::cerr << a.name << ": " << s.to_json() << '\n';
  if (!a.output.quiet)
    for (const std::string& warning : trainer.warnings()) std::cerr << a.name << ": warning: " << warning << '\n';
  if (const auto& report = trainer.precision_report(); report && !a.output.quiet)
    std::cerr << a.name << ": mechanism " << s.mechanism << ": " << report->converted_nodes() << " of "
              << report->nodes() << " nodes of the gradient graph converted, " << 100 * report->low_share()
              << " % in low precision, " << report->plan.casts.size() << " casts; loss scale " << s.loss_scale << '\n';

  const int64_t done = trainer.state().step;
  int64_t next = done * batches_per_step;
  const InputFunction input = [&] {
    const std::vector<int64_t> images = sampler.batch(next++);
    return Batch{normalise(data.train, images, config.precision.compute), labels_of(data.train, images)};
  };
  bool stopped = false;
  try {
    estimator.train(input, std::max<int64_t>(0, total - done), [&](const StepResult& result) {
      stopped = !records.step(result, trainer);
      return !stopped;
    });
  } catch (...) {
    records.keep(trainer);
    throw;
  }
  records.finish(trainer);
  if (stopped && trainer.state().step < total) return false;
  if (s.evaluate) evaluate(trainer, data.test, s, records);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  tutorial::Program program;
  program.name = "ipuestimator_fp16";
  program.summary = "Trains a small network on Fashion-MNIST through an estimator, in float16 or float32.";
  program.precisions = {"mixed", "float32"};
  program.evaluates_between = false;
  TrainSettings& s = program.settings;
  s.network = "fashion_cnn";
  s.optimizer = "adam";
  s.epsilon = 1e-4;
  s.behaviour = "inv div0 oflo nanoo";
  s.shuffle = true;
  s.evaluate = false;
  return tutorial::run_program(argc, argv, program, train);
}
