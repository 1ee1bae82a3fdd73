#include "softamp/train/graphcore/estimator.h"

#include <string>
#include <utility>

#include "softamp/machine/float_environment.h"

namespace softamp {
namespace {

[[noreturn]] void only_training() { throw std::invalid_argument("Only training is supported"); }

[[noreturn]] void refuse_estimator(const std::string& what) { throw std::invalid_argument("estimator: " + what); }

}  // namespace

struct Estimator::Impl {
  ModelFunction model_fn;
  RunConfig config;
  std::unique_ptr<Trainer> trainer;
  double total = 0;  ///< of the losses since the last call of on_log
  int64_t counted = 0;

  void build() {
    const TensorType& features = config.features;
    if (features.shape.rank() < 1 || features.shape[0] < 1 || !is_floating(features.dtype))
      refuse_estimator(std::string("features are ") + name_of(features.dtype) + " " + features.shape.text() +
                       "; expected a floating dtype and [batch, ...] with a batch of 1 or more");
    GraphBuilder builder;
    const Port images = builder.placeholder("images", features.dtype, features.shape);
    const Port labels = builder.placeholder("labels", DType::kInt32, Shape{features.shape[0]});
    if (config.layers && features.dtype != DType::kFloat32)
      refuse_estimator(std::string("features are ") + name_of(features.dtype) +
                       " under a rule of layers, which cast them; expected float32");
    VariableStore store(builder, config.layers);
    const EstimatorSpec spec = model_fn(store, images, labels, EstimatorMode::kTrain);
    const Graph& so_far = builder.graph();
    if (spec.loss.node < 0 || spec.loss.node >= so_far.size() || spec.loss.port < 0 ||
        static_cast<size_t>(spec.loss.port) >= so_far.node(spec.loss.node).outputs.size())
      refuse_estimator("the model function returned no loss; expected a scalar of the graph that it was given");
    if (const TensorType& type = builder.type(spec.loss); type.shape.rank() != 0 || !is_floating(type.dtype))
      refuse_estimator("the loss '" + so_far.port_name(spec.loss) + "' is " + name_of(type.dtype) + " " +
                       type.shape.text() + "; expected a floating scalar");
    Model model;
    model.loss = so_far.port_name(spec.loss);
    model.logits.clear();  // a model function does not name them
    model.precision = config.precision;
    model.variables = store.variables();
    model.layers = store.ruled_layers();
    if (config.layers) model.mechanism = config.mechanism.empty() ? "layer rule" : config.mechanism;
    model.graph = builder.build();
    TrainerOptions options = config.trainer;
    options.executor = with_preset(config.executor, Preset::kIpu);
    options.optimizer = spec.train_op;
    options.loss_scale = spec.loss_scale;
    trainer = std::make_unique<Trainer>(std::move(model), std::move(options));
  }

  void note(const StepResult& result) {
    if (config.log_steps <= 0) return;
    total += result.loss;
    if (++counted < config.log_steps) return;
    if (config.on_log) config.on_log(result.step + 1, total / static_cast<double>(counted));
    total = 0;
    counted = 0;
  }
};

Estimator::Estimator(ModelFunction model_fn, RunConfig config)
    : impl_(new Impl{std::move(model_fn), std::move(config), nullptr}) {
  if (!impl_->model_fn) refuse_estimator("no model function; expected one that returns an EstimatorSpec");
}
Estimator::~Estimator() = default;

Trainer& Estimator::trainer() {
  if (!impl_->trainer) impl_->build();
  return *impl_->trainer;
}

int64_t Estimator::train(const InputFunction& input_fn, int64_t steps,
                         const std::function<bool(const StepResult&)>& on_step) {
  const engine::DefaultEnvironment guard;
  if (!input_fn) refuse_estimator("no input function; expected one that returns a batch");
  if (steps < 0) refuse_estimator("steps is " + std::to_string(steps) + "; expected 0 or more");
  Trainer& t = trainer();
  const auto batches_per_step =
      static_cast<size_t>(t.options().replicas) * static_cast<size_t>(t.options().accumulation);
  std::vector<Batch> batches(batches_per_step);
  for (int64_t s = 0; s < steps; ++s) {
    for (Batch& batch : batches) batch = input_fn();
    const StepResult result = t.step(batches);
    impl_->note(result);
    if (on_step && !on_step(result)) return s + 1;
  }
  return steps;
}

void Estimator::evaluate(const InputFunction&) const { only_training(); }
void Estimator::predict(const InputFunction&) const { only_training(); }

}  // namespace softamp
