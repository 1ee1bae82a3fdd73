#include "softamp/train/mindspore/amp_model.h"

#include <stdexcept>

#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"
#include "src/train/mindspore/cell_model.h"
#include "src/train/mindspore/on_device.h"

namespace softamp::cells {
namespace {

[[noreturn]] void refuse_level(const std::string& message) { throw std::invalid_argument(message); }

/// The column of the greatest element of a row, the first among equals.
int64_t greatest(const Tensor& t, int64_t row) {
  const int64_t columns = t.shape()[1];
  int64_t best = 0;
  for (int64_t c = 1; c < columns; ++c)
    if (!(t.value(row * columns + c) <= t.value(row * columns + best)) &&
        t.value(row * columns + c) == t.value(row * columns + c))
      best = c;
  return best;
}

template <class T>
const T& wanted(const AmpModelOptions::Override& value, std::string_view name, const char* kind) {
  if (const T* held = std::get_if<T>(&value)) return *held;
  refuse_level(std::string(name) + " is of another kind; expected " + kind);
}

GraphPass o1_pass(DType low) {
  return [low](const Graph& graph, std::span<const std::string> fetches) {
    return rewrite_with(graph, fetches, [low](const OpGraph& picture) { return colour_o1(picture, low); });
  };
}

}  // namespace

void Accuracy::clear() { correct_ = total_ = 0; }

void Accuracy::update(const Tensor& logits, const Tensor& labels) {
  const bool sparse = labels.dtype() == DType::kInt32 && labels.shape().rank() == 1;
  if (logits.shape().rank() != 2 || logits.shape()[1] < 1 ||
      (sparse ? labels.shape()[0] != logits.shape()[0] : labels.shape() != logits.shape()))
    refuse_level("accuracy of logits " + logits.shape().text() + " and labels " + name_of(labels.dtype()) + " " +
                 labels.shape().text() +
                 "; expected [batch, classes] and int32 [batch], or labels of the logits' shape");
  for (int64_t row = 0; row < logits.shape()[0]; ++row) {
    const int64_t label = sparse ? static_cast<int64_t>(labels.value(row)) : greatest(labels, row);
    correct_ += greatest(logits, row) == label;
  }
  total_ += logits.shape()[0];
}

double Accuracy::eval() const {
  if (total_ == 0) throw std::runtime_error("accuracy of no samples; expected a call of update before");
  return engine::in_default_environment([&] { return static_cast<double>(correct_) / static_cast<double>(total_); });
}

AmpModelOptions& AmpModelOptions::set(std::string_view name, Override value) {
  if (name == "keep_batchnorm_fp32")
    keep_batchnorm_fp32 = wanted<bool>(value, name, "a bool");
  else if (name == "cast_model_type")
    cast_model_type = wanted<DType>(value, name, "a dtype");
  else if (name == "loss_scale_manager")
    loss_scale_manager = wanted<std::shared_ptr<LossScaleManager>>(value, name, "a manager of loss scales, or null");
  else
    refuse_level("Unsupported arg '" + std::string(name) + "'");
  return *this;
}

AmpModel::AmpModel(Cell& network, Cell* loss_fn, const CellOptimizer& optimizer, AmpModelOptions options)
    : network_(network), options_(std::move(options)) {
  const Context& context = options_.context;
  context.validate();
  settings_ = amp_settings(options_.amp_level, context.device_target);
  if (settings_.level != AmpLevel::kO0) settings_.keep_batchnorm_fp32 = true;
  if (options_.keep_batchnorm_fp32) settings_.keep_batchnorm_fp32 = *options_.keep_batchnorm_fp32;
  if (options_.cast_model_type) settings_.cast_model_type = *options_.cast_model_type;
  const DType cast = settings_.cast_model_type;
  if (cast > DType::kFloat32 || (context.strict && cast == DType::kBFloat16))
    refuse_level(std::string("cast_model_type is ") + name_of(cast) +
                 (context.strict ? "; expected float16 or float32" : "; expected float16, bfloat16 or float32"));

  std::shared_ptr<LossScaleManager> manager;
  if (options_.loss_scale_manager)
    manager = *options_.loss_scale_manager;
  else if (settings_.level == AmpLevel::kO2)
    manager = std::make_shared<DynamicLossScaleManager>(0x1p24, 2, 2000, context.strict);
  settings_.loss_scale = manager ? manager->machine().options() : LossScaleOptions::none();
  std::shared_ptr<LossScaleUpdateCell> cell = manager ? manager->get_update_cell() : nullptr;
  if (cell && context.strict && context.device_target == "CPU")
    refuse_level(
        "Only `loss_scale_manager=None` or `loss_scale_manager=FixedLossScaleManager(drop_overflow_update=False)`are "
        "supported on device `CPU`. ");

  if (context.strict) {
    network.set_strict();
    if (loss_fn) loss_fn->set_strict();
  }
  const bool low = settings_.cast_model_type != DType::kFloat32;
  if (settings_.level == AmpLevel::kO1) {
    if (low) pass_ = o1_pass(settings_.cast_model_type);
  } else {
    apply_rule(network, layer_rule(settings_));
  }
  if (loss_fn) with_loss_ = std::make_unique<WithLossCell>(network, *loss_fn, low);
  Cell& trained = with_loss_ ? *with_loss_ : network;
  if (cell) {
    auto step = std::make_unique<TrainOneStepWithLossScaleCell>(trained, optimizer, std::move(cell), context, pass_);
    scaled_ = step.get();
    step_ = std::move(step);
    return;
  }
  if (manager) sens_ = manager->get_loss_scale();
  auto step = std::make_unique<TrainOneStepCell>(trained, optimizer, static_cast<double>(sens_), context, pass_);
  plain_ = step.get();
  step_ = std::move(step);
  if (context.log && static_cast<double>(sens_) != optimizer.loss_scale)
    context.log(LogLevel::kWarning, "gradients are scaled by " + shortest_decimal(sens_) +
                                        ", and the optimizer divides them by " +
                                        shortest_decimal(optimizer.loss_scale));
}

float AmpModel::loss_scale() const { return scaled_ ? scaled_->scale_sense() : sens_; }

const StepResult& AmpModel::train_on(const Batch& batch) {
  if (scaled_)
    (*scaled_)(batch);
  else
    (*plain_)(batch);
  return step_->last();
}

void AmpModel::train(int64_t epochs, const GeneratorDataset& dataset,
                     const std::function<bool(int64_t, const StepResult&)>& on_step) {
  const engine::DefaultEnvironment guard;
  if (epochs < 1) refuse_level("epochs is " + std::to_string(epochs) + "; expected at least 1");
  for (int64_t epoch = 0; epoch < epochs; ++epoch)
    for (int64_t i = 0; i < dataset.size(); ++i) {
      const StepResult& result = train_on(dataset.at(i));
      if (on_step && !on_step(epoch, result)) return;
    }
}

Executor& AmpModel::prediction_for(const TensorType& data) {
  if (!prediction_ || !(predicts_ == data)) {
    Model model = build_prediction_model(network_, data, settings_.cast_model_type != DType::kFloat32);
    if (pass_) model.graph = pass_(model.graph, {&model.logits, 1}).graph;
    model.graph = on_kernels(options_.context, model.graph);
    ExecutorOptions options = options_.context.executor;
    options.observe = {};
    prediction_ = executor_of(options_.context, std::move(model.graph), options, OperationRun::Of::kPrediction);
    predicts_ = data;
    if (!step_->compiled())
      for (const VariableSpec& v : model.variables)
        prediction_->set_variable(v.name, initial_value(v.initializer, v.type, v.name, options.seed));
  }
  if (step_->compiled())
    for (const Node& node : prediction_->graph().nodes())
      if (node.op == "VariableV2") prediction_->set_variable(node.name, step_->parameter(node.name));
  return *prediction_;
}

Tensor AmpModel::predict(const Tensor& data) {
  Executor& executor = prediction_for(data.type());
  const Feed feed{"images", &data};
  const std::string fetch = "logits";
  executor.set_step(0);
  return std::move(executor.run({&feed, 1}, {&fetch, 1}).values[0]);
}

std::map<std::string, double> AmpModel::eval(const GeneratorDataset& dataset) {
  const engine::DefaultEnvironment guard;
  if (options_.metrics.empty()) refuse_level("eval without metrics; expected AmpModelOptions::metrics");
  if (!with_loss_) refuse_level("eval of a network that gives its loss; expected a model with a loss_fn");
  for (const auto& [name, metric] : options_.metrics) metric->clear();
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const Batch batch = dataset.at(i);
    const Tensor logits = predict(batch.images);
    for (const auto& [name, metric] : options_.metrics) metric->update(logits, batch.labels);
  }
  std::map<std::string, double> results;
  for (const auto& [name, metric] : options_.metrics) results[name] = metric->eval();
  return results;
}

}  // namespace softamp::cells
