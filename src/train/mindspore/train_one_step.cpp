#include "softamp/train/mindspore/train_one_step.h"

#include <cmath>
#include <stdexcept>

#include "softamp/numerics/status.h"
#include "src/train/mindspore/cell_model.h"
#include "src/train/trainer_graphs.h"

namespace softamp::cells {
namespace {

[[noreturn]] void refuse_step(const std::string& message) { throw std::invalid_argument(message); }

void check_scale(const char* what, double scale) {
  if (!(scale > 0 && std::isfinite(static_cast<float>(scale)) && static_cast<float>(scale) > 0))
    refuse_step(std::string(what) + " is " + std::to_string(scale) + "; expected a positive finite float32 number");
}

/// Options for the builders of a Trainer's graphs: the scale is fed, and its reciprocal is in the gradient's dtype.
TrainerOptions graph_options(const OptimizerOptions& optimizer, OverflowFrom from, bool skip) {
  TrainerOptions o;
  o.optimizer = optimizer;
  o.loss_scale = LossScaleOptions::mindspore();
  o.loss_scale.overflow_from = from;
  o.loss_scale.skip_overflowed = skip;
  return o;
}

double mean_of(const Tensor& t) {
  double sum = 0;
  for (int64_t i = 0; i < t.elements(); ++i) sum += t.value(i);
  return t.elements() ? sum / static_cast<double>(t.elements()) : 0;
}

}  // namespace

ExecutorOptions Context::ieee_executor(uint64_t seed) {
  ExecutorOptions o;
  o.semantics = Semantics::ieee();
  o.seed = seed;
  return o;
}

void Context::validate() const {
  if (device_target != "CPU" && device_target != "GPU" && device_target != "Ascend")
    refuse_step("device_target is '" + device_target + "'; expected CPU, GPU or Ascend");
  if (mode != Mode::kGraph && mode != Mode::kPynative)
    refuse_step("mode is " + std::to_string(static_cast<int>(mode)) + "; expected kGraph or kPynative");
}

struct TrainStep::Impl {
  Cell& network;
  Optimizer optimizer;
  double optimizer_scale;
  Context context;
  GraphPass pass;
  bool skips;  ///< overflowed steps

  Model model;
  GradientStepGraph gradient;
  UpdateStepGraph update;
  std::unique_ptr<Executor> gradient_run, update_run;
  std::vector<std::string> gradient_fetches, update_fetches;
  StepResult last;
  int64_t steps = 0, optimizer_steps = 0;
  uint32_t executions = 0;

  Impl(Cell& n, const CellOptimizer& o, const Context& c, GraphPass p, bool skip)
      : network(n), optimizer(o.options), optimizer_scale(o.loss_scale), context(c), pass(std::move(p)), skips(skip) {
    context.validate();
    check_scale("the optimizer's loss_scale", optimizer_scale);
    if (skips && context.overflow() != OverflowFrom::kGradients) context.executor.status = true;
  }

  void compile(const TensorType& data, const TensorType& label) {
    if (gradient_run) return;
    Model built = build_training_model(network, data, label);
    if (pass) {
      const std::string fetch = built.loss;
      built.graph = pass(built.graph, {&fetch, 1}).graph;
    }
    const TrainerOptions options = graph_options(optimizer.options(), context.overflow(), skips);
    gradient = build_gradient_graph(built, options);
    update = build_update_graph(gradient, optimizer, options);
    gradient_fetches = {gradient.loss, gradient.scaled_loss};
    gradient_fetches.insert(gradient_fetches.end(), gradient.gradients.begin(), gradient.gradients.end());
    update_fetches = {update.finite};
    update_fetches.insert(update_fetches.end(), update.nonfinite.begin(), update.nonfinite.end());
    update_run = make_executor(update.graph, context.executor);
    auto forward = make_executor(gradient.graph, context.executor);
    model = std::move(built);
    gradient_run = std::move(forward);
    for (const VariableSpec& v : model.variables) set(v.name, first_value(v));
    for (const VariableSpec& v : update.slots) update_run->set_variable(v.name, first_value(v));
  }
  Tensor first_value(const VariableSpec& v) const {
    return initial_value(v.initializer, v.type, v.name, context.executor.seed);
  }
  void need_compiled() const {
    if (!gradient_run) throw std::logic_error("the network is compiled by the first step; expected one, or compile()");
  }
  void set(std::string_view name, const Tensor& value) {
    gradient_run->set_variable(name, value);
    if (update.graph.find(name) >= 0) update_run->set_variable(name, value);
  }

  /// Gradients seeded with `seed`, divided by `divisor`; then the update, unless the step overflowed and such steps are
  /// skipped.
  Tensor run(const Batch& batch, float seed, float divisor) {
    compile(batch.images.type(), batch.labels.type());
    StepResult result;
    result.step = steps;
    result.scale_before = result.scale_after = seed;
    const Tensor s = Tensor::full(DType::kFloat32, {}, static_cast<double>(seed));
    std::vector<Feed> feeds{{model.images, &batch.images}, {model.labels, &batch.labels}, {gradient.loss_scale, &s}};
    gradient_run->set_step(executions);
    RunResult forward = gradient_run->run(feeds, gradient_fetches);
    result.status = forward.flags;
    result.loss = mean_of(forward.values[0]);
    const OverflowFrom from = context.overflow();
    const bool flagged = from != OverflowFrom::kGradients && (forward.flags & (kOverflow | kInvalid));
    const bool finite = run_update(forward, divisor, !(skips && flagged), result);
    const bool overflow = flagged || (from != OverflowFrom::kStatus && !finite);
    result.applied = !(skips && overflow);
    if (result.applied) {
      ++optimizer_steps;
      for (const VariableSpec& v : gradient.variables) gradient_run->set_variable(v.name, update_run->variable(v.name));
    }
    ++steps;
    executions += 2;
    last = std::move(result);
    return std::move(forward.values[0]);
  }

  /// Returns whether all unscaled gradients are finite.
  bool run_update(const RunResult& forward, float divisor, bool allowed, StepResult& result) {
    const Tensor d = Tensor::full(DType::kFloat32, {}, static_cast<double>(divisor)),
                 may = Tensor::full(DType::kBool, {}, allowed);
    std::vector<Tensor> rates;
    for (const auto& [placeholder, dtype] : update.rates)
      rates.push_back(Tensor::full(DType::kFloat32, {},
                                   check_hyperparameter("learning_rate", optimizer.rate(optimizer_steps + 1),
                                                        optimizer.options().hyperparameters.value_or(dtype))
                                       .got));
    std::vector<Feed> feeds{{update.apply, &may}, {update.loss_scale, &d}};
    for (size_t i = 0; i < rates.size(); ++i) feeds.push_back({update.rates[i].first, &rates[i]});
    for (size_t v = 0; v < update.gradients.size(); ++v)
      feeds.push_back({update.gradients[v][0], &forward.values[v + 2]});
    update_run->set_step(executions + 1);
    const RunResult run = update_run->run(feeds, update_fetches);
    result.status |= run.flags;
    result.learning_rate = rates.empty() ? 0 : rates[0].value(0);
    count_nonfinite(update, run, result);
    return run.values[0].code(0) != 0;
  }
};

TrainStep::TrainStep(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrainStep::~TrainStep() = default;
void TrainStep::compile(const TensorType& data, const TensorType& label) { impl_->compile(data, label); }
bool TrainStep::compiled() const { return impl_->gradient_run != nullptr; }
const StepResult& TrainStep::last() const { return impl_->last; }

const std::vector<VariableSpec>& TrainStep::parameters() const {
  impl_->need_compiled();
  return impl_->model.variables;
}
int64_t TrainStep::parameter_count() const {
  impl_->need_compiled();
  return impl_->model.parameters();
}
const Tensor& TrainStep::parameter(std::string_view name) const {
  impl_->need_compiled();
  return impl_->gradient_run->variable(name);
}
void TrainStep::set_parameter(std::string_view name, const Tensor& value) {
  impl_->need_compiled();
  impl_->set(name, value);
}
const Graph& TrainStep::gradient_graph() const {
  impl_->need_compiled();
  return impl_->gradient.graph;
}
const Graph& TrainStep::update_graph() const {
  impl_->need_compiled();
  return impl_->update.graph;
}

TrainOneStepCell::TrainOneStepCell(Cell& network, const CellOptimizer& optimizer, double sens, const Context& context,
                                   GraphPass pass)
    : TrainStep(std::make_unique<Impl>(network, optimizer, context, std::move(pass), false)),
      sens_(static_cast<float>(sens)) {
  check_scale("sens", sens);
}

Tensor TrainOneStepCell::operator()(const Batch& batch) {
  return impl_->run(batch, sens_, static_cast<float>(impl_->optimizer_scale));
}

TrainOneStepWithLossScaleCell::TrainOneStepWithLossScaleCell(Cell& network, const CellOptimizer& optimizer,
                                                             ScaleSense scale_sense, const Context& context,
                                                             GraphPass pass)
    : TrainStep(std::make_unique<Impl>(network, optimizer, context, std::move(pass), true)) {
  if (const Tensor* scale = std::get_if<Tensor>(&scale_sense)) {
    set_sense_scale(*scale);
    return;
  }
  cell_ = std::get<std::shared_ptr<LossScaleUpdateCell>>(scale_sense);
  if (!cell_) refuse_step("scale_sense is null; expected a cell that updates a loss scale, or a tensor");
}

void TrainOneStepWithLossScaleCell::set_sense_scale(const Tensor& scale) {
  if (scale.dtype() != DType::kFloat32 || (scale.shape() != Shape{} && scale.shape() != Shape{1}))
    refuse_step(std::string("scale_sense is ") + name_of(scale.dtype()) + " of shape " + scale.shape().text() +
                "; expected a cell, or a float32 tensor of shape () or (1,)");
  if (cell_)
    refuse_step("scale_sense is a cell, which moves the scale itself; expected a step that began with a tensor");
  check_scale("scale_sense", scale.value(0));
  scale_ = static_cast<float>(scale.value(0));
}

float TrainOneStepWithLossScaleCell::scale_sense() const { return cell_ ? cell_->get_loss_scale() : scale_; }

LossScaleStep TrainOneStepWithLossScaleCell::operator()(const Batch& batch) {
  LossScaleStep step;
  step.scale = scale_sense();
  const double both = static_cast<double>(step.scale) * impl_->optimizer_scale;
  check_scale("the scale times the optimizer's loss_scale", both);
  step.loss = impl_->run(batch, step.scale, static_cast<float>(both));
  step.overflow = !impl_->last.applied;
  if (cell_) (*cell_)(step.overflow);
  impl_->last.scale_after = scale_sense();
  return step;
}

}  // namespace softamp::cells
