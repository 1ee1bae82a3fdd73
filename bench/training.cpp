// Training steps: images a second in low precision against float32, what a step spends outside its products and
// convolutions, and how fast those are inside a step against the same operation alone.
//
// A step is all of it: the batch made from bytes, the gradient graph, the update graph. Two trainers take their steps
// in turn, and an operation alone runs between the steps, so that a machine that changes its speed does so for both;
// medians of the rounds. The data are generated images of the networks' sizes, batches of 32; of the language model
// tokens without meaning, 12 windows. Commands and results: RESULTS.md.
//
//   bench_training [--benchmark_filter=...]; SOFTAMP_BENCH_THREADS=N [=2], SOFTAMP_BENCH_ISA=NAME
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include "bench/measure.h"
#include "bench/sets.h"
#include "softamp/data/images.h"
#include "softamp/graph/operation.h"
#include "softamp/train/train_settings.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

constexpr int kRounds = 15;
constexpr int64_t kImages = 512;

int threads() {
  const char* text = std::getenv("SOFTAMP_BENCH_THREADS");
  return text ? std::atoi(text) : 2;
}

bool is_product(const std::string& op) {
  static const std::set<std::string> kProducts = {"MatMul",
                                                  "BatchMatMulV2",
                                                  "Conv2D",
                                                  "Conv2DBackpropInput",
                                                  "Conv2DBackpropFilter",
                                                  "DepthwiseConv2dNative",
                                                  "DepthwiseConv2dNativeBackpropInput",
                                                  "DepthwiseConv2dNativeBackpropFilter"};
  return kProducts.contains(op);
}

/// The settings of the tutorial's programs.
TrainSettings model_a(const std::string& precision) {
  TrainSettings s;
  s.network = "resnet8";
  s.precision = precision;
  s.fold_scale_into_rate = true;
  s.loss_in_float32 = false;
  s.threads = threads();
  if (precision == "float16") {
    s.stochastic_rounding = "on";
    s.partials = "half";
  }
  return s;
}

TrainSettings model_b(const std::string& precision) {
  TrainSettings s;
  s.network = "fashion_cnn";
  s.precision = precision;
  s.optimizer = "adam";
  s.epsilon = 1e-4;
  s.behaviour = "inv div0 oflo nanoo";
  s.threads = threads();
  return s;
}

/// As docs/RESULTS.md trains it.
TrainSettings language_model(const std::string& precision) {
  TrainSettings s;
  s.network = "gpt_tiny";
  s.precision = precision;
  s.batch_size = 12;
  s.optimizer = "adamw";
  s.optimizer_state = s.hyperparameters = "float32";
  s.clip_global_norm = 1;
  if (precision == "float16") s.stochastic_rounding = "on";
  s.threads = threads();
  return s;
}

/// A trainer and its data.
class Training {
 public:
  Training(const TrainSettings& s, bool timings) : batch_(s.batch_size) {
    const NetworkInfo network = find_network(s.network);
    if (network.input.kind == NetworkInput::Kind::kTokens) {
      begin_with_tokens(s, network);
      return;
    }
    const auto [height, width, channels] = network.image;
    ModelOptions options;
    options.batch_size = s.batch_size;
    options.image = network.image;
    options.precision = s.precision_value();
    options.loss_in_float32 = s.loss_in_float32;
    TrainerOptions trainer = s.trainer_options();
    trainer.executor.timings = timings;
    trainer.executor.isa = chosen_set();
    executor = trainer.executor;
    images_ = generated_images(height, width, channels, kImages, 1).train;
    dtype_ = options.precision.compute;
    trainer_ = std::make_unique<Trainer>(build_model(network.build, options), trainer);
  }

  /// Seconds of one step.
  double step() {
    const auto start = std::chrono::steady_clock::now();
    if (tokens_) {
      trainer_->step({&*tokens_, 1});
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    std::vector<int64_t> indices(static_cast<size_t>(batch_));
    std::iota(indices.begin(), indices.end(), next_);
    next_ = (next_ + batch_) % (kImages - kImages % batch_);
    const Batch batch{normalise(images_, indices, dtype_), labels_of(images_, indices)};
    trainer_->step({&batch, 1});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  int64_t batch() const { return batch_; }
  Trainer& trainer() { return *trainer_; }

  ExecutorOptions executor;

 private:
  void begin_with_tokens(const TrainSettings& s, const NetworkInfo& network) {
    const Shape shape{s.batch_size, network.input.shape[0]};
    TrainerOptions options = s.trainer_options();
    options.executor.isa = chosen_set();
    executor = options.executor;
    const ModelInputs inputs{{DType::kInt32, shape}, {DType::kInt32, shape}, s.precision_value()};
    trainer_ = std::make_unique<Trainer>(build_model(network.build, find_loss(network.output.loss), inputs), options);
    tokens_.emplace(Batch{Tensor(DType::kInt32, shape), Tensor(DType::kInt32, shape)});
    std::mt19937 random(1);
    for (Tensor* tensor : {&tokens_->images, &tokens_->labels})
      for (int32_t& token : tensor->as<int32_t>())
        token = static_cast<int32_t>(random() % static_cast<uint32_t>(network.input.vocabulary));
  }

  int64_t batch_, next_ = 0;
  std::optional<Batch> tokens_;  ///< of a language model: the same in every step
  ImageSet images_;
  DType dtype_ = DType::kFloat32;
  std::unique_ptr<Trainer> trainer_;
};

void keep_row(const std::string& name, double value, double goal, bool at_least, const std::string& more) {
  char target[32], measured[192];
  std::snprintf(target, sizeof target, "%s %.2f", at_least ? ">=" : "<", goal);
  std::snprintf(measured, sizeof measured, "%.2f%s", value, more.c_str());
  keep_table_row({name, target, "", measured, at_least ? value >= goal : value < goal});
}

/// Samples a second of `subject`, and their ratio to `baseline`'s.
void compare_speed(benchmark::State& state, const std::string& name, const TrainSettings& subject,
                   const TrainSettings& baseline, double goal) {
  Training s(subject, false), b(baseline, false);
  s.step(), b.step();
  std::vector<double> each, ratios;
  for (auto _ : state) {
    const double base = b.step(), own = s.step();
    state.SetIterationTime(own);
    each.push_back(own);
    ratios.push_back(base / own);
  }
  const double rate = static_cast<double>(s.batch()) / median(each);
  state.counters["samples/s"] = rate;
  state.counters["x_float32"] = median(ratios);
  char more[64];
  std::snprintf(more, sizeof more, " (%.0f samples/s, float32 %.0f)", rate, rate / median(ratios));
  keep_row(name, median(ratios), goal, true, more);
}

/// One operation of a trainer's graph in a graph of its own, with numbers like those of a network.
class Alone {
 public:
  Alone(const Graph& graph, const Node& node, ExecutorOptions options) {
    options.timings = true;
    GraphBuilder builder;
    std::vector<Port> inputs;
    std::mt19937 random(1);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Node& from = graph.node(node.inputs[i].node);
      if (from.op == "Const") {
        inputs.push_back(builder.constant(attribute<std::shared_ptr<const Tensor>>(from, "value")->clone()));
        continue;
      }
      const TensorType& type = graph.type(node.inputs[i]);
      std::vector<double> values(static_cast<size_t>(type.shape.elements()));
      for (double& v : values) v = static_cast<double>(static_cast<int32_t>(random())) * 0x1p-31;
      inputs.push_back(builder.placeholder("input" + std::to_string(i), type.dtype, type.shape));
      tensors_.emplace_back("input" + std::to_string(i), Tensor::from_values(type.dtype, type.shape, values));
    }
    builder.add(node.op, inputs, node.attributes, "alone");
    executor_ = make_executor(builder.build(), options);
    for (const auto& [name, tensor] : tensors_) feeds_.push_back({name, &tensor});
  }
  Alone(const Alone&) = delete;

  /// Nanoseconds of the operation itself.
  double run() {
    const std::string fetch = "alone";
    const RunResult result = executor_->run(feeds_, {&fetch, 1});
    for (const OperationTime& t : result.timings)
      if (t.name == "alone") return static_cast<double>(t.nanoseconds);
    return 0;
  }

 private:
  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::vector<Feed> feeds_;
  std::unique_ptr<Executor> executor_;
};

/// The share of a step outside products and convolutions, and their rate inside a step against alone.
void inside_a_step(benchmark::State& state, const std::string& name, const TrainSettings& settings) {
  Training training(settings, true);
  training.step();
  const Graph& graph = training.trainer().gradient_graph();
  std::map<std::string, std::unique_ptr<Alone>> alone;
  for (const Node& node : graph.nodes())
    if (is_product(node.op)) alone[node.name] = std::make_unique<Alone>(graph, node, training.executor);

  std::map<std::string, std::vector<double>> inside, outside;  // nanoseconds by node
  std::map<std::string, double> by_operation;
  std::vector<double> shares;
  for (auto _ : state) {
    const double seconds = training.step();
    state.SetIterationTime(seconds);
    double products = 0;
    for (const OperationTime& t : training.trainer().timings()) {
      by_operation[t.op] += static_cast<double>(t.nanoseconds);
      if (!is_product(t.op)) continue;
      products += static_cast<double>(t.nanoseconds);
      inside[t.name].push_back(static_cast<double>(t.nanoseconds));
    }
    shares.push_back(1 - products * 1e-9 / seconds);
    for (auto& [node, subject] : alone) {
      subject->run();
      outside[node].push_back(subject->run());
    }
  }
  double all_inside = 0, all_alone = 0, worst = 1e9;
  std::string slowest;
  for (auto& [node, times] : inside) {
    if (!outside.contains(node)) continue;
    const double in = median(times), by_itself = median(outside[node]);
    all_inside += in;
    all_alone += by_itself;
    print_later("  %-60s %8.1f us inside, %8.1f us alone: %.2f\n", node.c_str(), in * 1e-3, by_itself * 1e-3,
                by_itself / in);
    if (by_itself / in < worst) worst = by_itself / in, slowest = node;
  }
  std::vector<std::pair<double, std::string>> ranking;
  double total = 0;
  for (const auto& [op, time] : by_operation) {
    ranking.emplace_back(time, op);
    total += time;
  }
  std::sort(ranking.rbegin(), ranking.rend());
  for (const auto& [time, op] : ranking)
    if (time > 0.01 * total) print_later("  %-40s %5.1f %% of the operations' time\n", op.c_str(), 100 * time / total);
  state.counters["outside"] = median(shares);
  state.counters["x_alone"] = all_alone / all_inside;
  keep_row(name + ", share of a step outside products and convolutions", median(shares), 0.25, false, "");
  char more[128];
  std::snprintf(more, sizeof more, " (worst %.2f: %.60s)", worst, slowest.c_str());
  keep_row(name + ", products and convolutions inside a step against alone", all_alone / all_inside, 0.8, true, more);
}

template <class Function>
void add_benchmark(const std::string& name, Function function) {
  benchmark::RegisterBenchmark(name.c_str(), function)
      ->UseManualTime()
      ->Iterations(kRounds)
      ->Unit(benchmark::kMillisecond);
}

void add_all() {
  const std::string b = "model B mixed over float32", a = "ResNet-8 float16, half partials, SR over float32";
  add_benchmark(b, [=](benchmark::State& s) { compare_speed(s, b, model_b("mixed"), model_b("float32"), 0.7); });
  add_benchmark(a, [=](benchmark::State& s) { compare_speed(s, a, model_a("float16"), model_a("float32"), 0.35); });
  for (const std::string precision : {"mixed", "float16"}) {
    const std::string name = "gpt_tiny " + precision + (precision == "float16" ? ", SR" : "") + " over float32";
    add_benchmark(name, [=](benchmark::State& s) {
      compare_speed(s, name, language_model(precision), language_model("float32"), 0.7);
    });
  }
  for (const std::string precision : {"mixed", "float32"}) {
    const std::string name = "model B " + precision;
    add_benchmark(name, [=](benchmark::State& s) { inside_a_step(s, name, model_b(precision)); });
  }
  for (const std::string precision : {"float16", "float32"}) {
    const std::string name = "ResNet-8 " + precision;
    add_benchmark(name, [=](benchmark::State& s) { inside_a_step(s, name, model_a(precision)); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  add_all();
  return softamp::bench::run(argc, argv);
}
