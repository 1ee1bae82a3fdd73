#include "softamp/train/mindspore/train_one_step.h"

#include <stdexcept>

#include "softamp/graph/operation.h"
#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"
#include "src/train/mindspore/cell_model.h"
#include "src/train/mindspore/on_device.h"
#include "src/train/training_step.h"
#include "src/train/visible_overflow.h"

namespace softamp::cells {
namespace {

[[noreturn]] void refuse_step(const std::string& message) { throw std::invalid_argument(message); }

/// The scale as the float32 number that is fed.
float checked_scale(const char* what, double scale) {
  const float fed = fp::to_float(kBinary64, __builtin_bit_cast(uint64_t, scale));
  const uint32_t code = __builtin_bit_cast(uint32_t, fed);
  if (code == 0 || code > kFp32.max_finite_code())
    refuse_step(std::string(what) + " is " + shortest_decimal(scale) + "; expected a positive finite float32 number");
  return fed;
}

/// Options of the step underneath: the scale is fed, and its reciprocal is in the gradient's dtype.
TrainerOptions step_options(const OptimizerOptions& optimizer, const Context& context, bool skip) {
  TrainerOptions o;
  o.executor = context.executor;
  o.optimizer = optimizer;
  o.loss_scale = LossScaleOptions::mindspore();
  o.loss_scale.overflow_from = context.overflow();
  o.loss_scale.skip_overflowed = skip;
  if (!context.kernels.empty())
    o.pass = [&context](const Graph& graph, std::span<const std::string>) {
      return GraphRewrite{on_kernels(context, graph), {}};
    };
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
  if (mode == Mode::kGraph && after_operation)
    refuse_step("after_operation in mode kGraph, which plans graphs whole; expected kPynative");
  if (mode == Mode::kPynative && executor.random == RandomEngine::kXoroshiro128aox)
    refuse_step("random bits of xoroshiro128aox in mode kPynative: they have no address; expected philox, or kGraph");
}

struct TrainStep::Impl {
  Cell& network;
  Optimizer optimizer;
  double optimizer_scale;
  Context context;
  GraphPass pass;
  bool skips;  ///< overflowed steps

  std::unique_ptr<TrainingStep> training;  ///< null until the network is compiled
  StepResult last;

  Impl(Cell& n, const CellOptimizer& o, const Context& c, GraphPass p, bool skip)
      : network(n), optimizer(o.options), optimizer_scale(o.loss_scale), context(c), pass(std::move(p)), skips(skip) {
    context.validate();
    if (context.strict) network.set_strict();
    checked_scale("the optimizer's loss_scale", optimizer_scale);
    if (skips && context.overflow() != OverflowFrom::kGradients) context.executor.status = true;
  }

  void compile(const TensorType& data, const TensorType& label) {
    if (training) return;
    Model built = build_training_model(network, data, label);
    if (pass) {
      const std::string fetch = built.loss;
      built.graph = pass(built.graph, {&fetch, 1}).graph;
    }
    const std::vector<TrainingStep::RunOptions> one_replica{{context.executor, context.executor}};
    training = std::make_unique<TrainingStep>(std::move(built), step_options(optimizer.options(), context, skips),
                                              one_replica, device());
    if (skips)
      check_overflow_is_visible(training->gradient().graph, training->options().loss_scale,
                                training->gradient_run(0).semantics());
  }
  TrainingStep::Device device() const {
    TrainingStep::Device d;
    d.update_pass = [this](const Graph& graph) { return on_kernels(context, graph); };
    d.make_executor = [this](Graph graph, ExecutorOptions options) {
      return executor_of(context, std::move(graph), std::move(options), OperationRun::Of::kTraining);
    };
    return d;
  }
  const TrainingStep& compiled() const {
    if (!training) throw std::logic_error("the network is compiled by the first step; expected one, or compile()");
    return *training;
  }

  /// Gradients seeded with `seed`, divided by `divisor`; then the update, unless the step overflowed and such steps are
  /// skipped.
  Tensor run(const Batch& batch, float seed, float divisor) {
    compile(batch.images.type(), batch.labels.type());
    TrainingStep::Ran ran = training->run({&batch, 1}, seed, divisor);
    ran.result.loss = mean_of(ran.losses[0]);
    ran.result.scale_after = seed;
    training->finish(ran.evidence.finite || !skips, ran.result);
    last = std::move(ran.result);
    return std::move(ran.losses[0]);
  }
};

TrainStep::TrainStep(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrainStep::~TrainStep() = default;
void TrainStep::compile(const TensorType& data, const TensorType& label) { impl_->compile(data, label); }
bool TrainStep::compiled() const { return impl_->training != nullptr; }
const StepResult& TrainStep::last() const { return impl_->last; }

const std::vector<VariableSpec>& TrainStep::parameters() const { return impl_->compiled().model().variables; }
int64_t TrainStep::parameter_count() const { return impl_->compiled().model().parameters(); }
const Tensor& TrainStep::parameter(std::string_view name) const {
  return impl_->compiled().gradient_run(0).variable(name);
}
void TrainStep::set_parameter(std::string_view name, const Tensor& value) {
  impl_->compiled().gradient_run(0).set_variable(name, value);  // refuses what is no parameter, such as a slot
  impl_->training->set_variable(name, value, 0);
}
const Graph& TrainStep::gradient_graph() const { return impl_->compiled().gradient().graph; }
const Graph& TrainStep::update_graph() const { return impl_->compiled().update().graph; }

TrainOneStepCell::TrainOneStepCell(Cell& network, const CellOptimizer& optimizer, double sens, const Context& context,
                                   GraphPass pass)
    : TrainStep(std::make_unique<Impl>(network, optimizer, context, std::move(pass), false)),
      sens_(checked_scale("sens", sens)) {}

Tensor TrainOneStepCell::operator()(const Batch& batch) {
  const engine::DefaultEnvironment guard;
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
  scale_ = checked_scale("scale_sense", scale.value(0));
}

float TrainOneStepWithLossScaleCell::scale_sense() const { return cell_ ? cell_->get_loss_scale() : scale_; }

LossScaleStep TrainOneStepWithLossScaleCell::operator()(const Batch& batch) {
  const engine::DefaultEnvironment guard;
  LossScaleStep step;
  step.scale = scale_sense();
  const double both = static_cast<double>(step.scale) * impl_->optimizer_scale;
  // A strict cell has no cap: its scale may be infinite, and then overflows as MindSpore's does.
  const float divisor = cell_ && cell_->machine().options().unbounded
                            ? fp::to_float(kBinary64, __builtin_bit_cast(uint64_t, both))
                            : checked_scale("the scale times the optimizer's loss_scale", both);
  step.loss = impl_->run(batch, step.scale, divisor);
  step.overflow = !impl_->last.applied;
  if (cell_) (*cell_)(step.overflow);
  impl_->last.scale_after = scale_sense();
  return step;
}

}  // namespace softamp::cells
