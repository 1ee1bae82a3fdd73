#include "softamp/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "softamp/graph/trace.h"
#include "softamp/numerics/random.h"
#include "softamp/numerics/status.h"
#include "src/train/replica_options.h"
#include "src/train/trainer_graphs.h"

namespace softamp {
namespace {

using Named = std::vector<std::pair<std::string, Tensor>>;

[[noreturn]] void refuse_training(const std::string& message) { throw std::invalid_argument("training: " + message); }

void check(const TrainerOptions& o) {
  if (o.replicas < 1 || o.replicas > static_cast<int>(RandomBits::kReplicas))
    refuse_training("replicas is " + std::to_string(o.replicas) + "; expected 1..256");
  if (o.accumulation < 1) refuse_training("accumulation is " + std::to_string(o.accumulation) + "; expected 1 or more");
  if (o.accumulation_dtype && (*o.accumulation_dtype > DType::kFloat32))
    refuse_training(std::string("accumulation_dtype is ") + name_of(*o.accumulation_dtype) +
                    "; expected float16, bfloat16 or float32");
  if (o.executor.random == RandomEngine::kXoroshiro128aox)
    refuse_training(
        "random is xoroshiro128aox, whose bits are drawn in order; expected philox or philox7, whose bits have "
        "addresses");
  o.optimizer.validate();
  o.loss_scale.validate();
  o.clipping.validate();
  if (o.loss_scale.unscale != Unscale::kFoldedIntoRate) return;
  if (!o.optimizer.linear())
    refuse_training(std::string("the loss scale cannot be folded into the learning rate of ") +
                    name_of(o.optimizer.kind) +
                    "; expected an optimizer that is linear in the gradient: sgd, momentum or nesterov");
  if (o.loss_scale.dynamic)
    refuse_training("a loss scale folded into the learning rate must be fixed, and '" + o.loss_scale.name +
                    "' moves: sums of gradients would mix scales");
  if (o.clipping.value || o.clipping.norm || o.clipping.global_norm)
    refuse_training(
        "clipping acts on unscaled gradients; expected no clipping where the loss scale is folded into the rate");
}

/// A bool or float32 scalar.
Tensor scalar(DType dtype, double value) { return Tensor::full(dtype, {}, value); }

/// How many elements have a magnitude of at least `edge`.
int64_t count_above(const Tensor& t, double edge) {
  int64_t count = 0;
  if (t.dtype() == DType::kFloat32) {
    for (const float x : t.as<float>()) count += !(std::fabs(x) < edge);
    return count;
  }
  for (int64_t i = 0; i < t.elements(); ++i) count += !(std::fabs(t.value(i)) < edge);
  return count;
}

}  // namespace

struct Trainer::Impl {
  Model model;
  TrainerOptions options;
  Optimizer optimizer;
  LossScale scale;
  GradientStepGraph forward;
  UpdateStepGraph update;
  std::vector<std::unique_ptr<Executor>> gradient_runs, update_runs;
  std::unique_ptr<Executor> evaluation;
  bool evaluation_is_stale = true;
  std::vector<std::string> gradient_fetches, update_fetches;
  std::vector<std::string> warnings;
  std::vector<OperationTime> timings;
  Observer observer;
  int64_t step = 0, optimizer_step = 0;
  uint32_t executions = 0;

  Impl(Model m, TrainerOptions o)
      : model(std::move(m)),
        options((check(o), std::move(o))),
        optimizer(options.optimizer),
        scale(options.loss_scale) {
    if (options.loss_scale.overflow_from != OverflowFrom::kGradients) options.executor.status = true;
    check_pass();
    forward = build_gradient_graph(model, options);
    update = build_update_graph(forward, optimizer, options);
    gradient_fetches = {forward.loss, forward.scaled_loss};
    gradient_fetches.insert(gradient_fetches.end(), forward.gradients.begin(), forward.gradients.end());
    update_fetches = {update.finite};
    update_fetches.insert(update_fetches.end(), update.nonfinite.begin(), update.nonfinite.end());
    make_executors();
    for (const VariableSpec& v : kept())
      set_variable(v.name, initial_value(v.initializer, v.type, v.name, options.executor.seed));
    gather_warnings();
  }

  /// A pass converts float32 graphs; after another mechanism its report would not show what the other changed.
  void check_pass() const {
    if (!options.pass) return;
    if (!model.mechanism.empty())
      refuse_training("a pass over the graph and the rule of layers '" + model.mechanism +
                      "' at once; expected one mechanism of mixed precision");
    if (model.precision.compute != DType::kFloat32 || model.precision.parameters != DType::kFloat32)
      refuse_training("a pass over the graph of a model in the precision " + model.precision.name +
                      "; expected float32");
  }

  void make_executors() {
    gradient_runs.clear();
    update_runs.clear();
    for (int r = 0; r < options.replicas; ++r) {
      gradient_runs.push_back(
          make_executor(forward.graph, observed(gradient_options(options.executor, r, options.replicas), r)));
      update_runs.push_back(
          make_executor(update.graph, observed(update_options(options.executor, r, options.replicas), r)));
    }
  }

  ExecutorOptions observed(ExecutorOptions o, int replica) const {
    if (observer)
      o.observe = [see = observer, replica](uint32_t execution, const Node& node, int port, const TensorType& type,
                                            const void* data) {
        see(phase_of(node.name), replica, execution, node, port, type, data);
      };
    return o;
  }

  void gather_warnings() {
    for (const auto* runs : {&gradient_runs, &update_runs})
      for (const std::string& w : runs->front()->warnings()) warnings.push_back(w);
    const std::string replicas = replica_warning(options.executor, options.replicas);
    if (!replicas.empty()) warnings.push_back(replicas);
    const double folded = options.loss_scale.unscale == Unscale::kFoldedIntoRate ? scale.scale() : 1.0;
    for (const auto& [placeholder, dtype] : update.rates)
      for (const HyperparameterCheck& c : optimizer.check(dtype, folded))
        if (c.doubtful) warnings.push_back(std::string(name_of(options.optimizer.kind)) + ": " + c.text());
    warn_of_saturation();
    if (!options.strict || warnings.empty()) return;
    std::string all = "strict mode refuses what it would warn of:";
    for (const std::string& w : warnings) all += "\n  " + w;
    refuse_training(all);
  }

  /// N263: gradients that saturate are never infinite.
  void warn_of_saturation() {
    if (!options.loss_scale.dynamic || options.loss_scale.histogram ||
        options.loss_scale.overflow_from != OverflowFrom::kGradients)
      return;
    const bool narrow = std::any_of(forward.gradients.begin(), forward.gradients.end(), [&](const std::string& g) {
      return size_of(forward.graph.type(forward.graph.port(g)).dtype) == 2;
    });
    const auto nodes = forward.graph.nodes();
    const bool narrow_inside = std::any_of(nodes.begin(), nodes.end(), [](const Node& n) {
      return std::any_of(n.outputs.begin(), n.outputs.end(),
                         [](const TensorType& t) { return is_floating(t.dtype) && size_of(t.dtype) == 2; });
    });
    if ((narrow || narrow_inside) && gradient_runs[0]->semantics().narrow.overflow == Overflow::kSaturate)
      warnings.push_back("loss scale '" + options.loss_scale.name +
                         "' looks for gradients that are not finite, but values of 16 bits saturate (nanoo is off): "
                         "an overflow will not be seen; set nanoo, or a loss scale that looks at the status");
  }

  Executor* owner_of(std::string_view name, int replica) const {
    const auto r = static_cast<size_t>(replica);
    const int n = update.graph.find(name);
    if (n >= 0 && update.graph.node(n).op == "VariableV2") return update_runs[r].get();
    return gradient_runs[r].get();
  }

  void set_variable(std::string_view name, const Tensor& value, int replica) {
    Executor* owner = owner_of(name, replica);
    owner->set_variable(name, value);
    Executor* reader = gradient_runs[static_cast<size_t>(replica)].get();
    if (owner != reader && forward.graph.find(name) >= 0) reader->set_variable(name, value);
    evaluation_is_stale = true;
  }
  void set_variable(std::string_view name, const Tensor& value) {
    for (int r = 0; r < options.replicas; ++r) set_variable(name, value, r);
  }

  /// The gradient graphs read what the update graphs have written.
  void publish(int replica) {
    const auto r = static_cast<size_t>(replica);
    for (const VariableSpec& v : forward.variables)
      gradient_runs[r]->set_variable(v.name, update_runs[r]->variable(v.name));
    evaluation_is_stale = true;
  }

  /// The tensors kept from step to step: variables in order of creation, then slots.
  std::vector<VariableSpec> kept() const {
    std::vector<VariableSpec> specs = model.variables;
    specs.insert(specs.end(), update.slots.begin(), update.slots.end());
    return specs;
  }

  /// The tensors of one replica, in that order.
  Named tensors(int replica) const {
    Named all;
    for (const VariableSpec& v : kept()) all.emplace_back(v.name, owner_of(v.name, replica)->variable(v.name).clone());
    return all;
  }

  void run_micro_batch(int m, std::span<const Batch> batches, StepResult& result,
                       std::vector<std::vector<Tensor>>& gradients) {
    const Tensor s = scalar(DType::kFloat32, result.scale_before);
    for (int r = 0; r < options.replicas; ++r) {
      const Batch& batch = batches[static_cast<size_t>(m * options.replicas + r)];
      std::vector<Feed> feeds{{model.images, &batch.images}, {model.labels, &batch.labels}};
      if (!forward.loss_scale.empty()) feeds.push_back({forward.loss_scale, &s});
      Executor& executor = *gradient_runs[static_cast<size_t>(r)];
      executor.set_step(executions + static_cast<uint32_t>(m));
      RunResult run = executor.run(feeds, gradient_fetches);
      take(run, result);
      result.loss += run.values[0].value(0);
      gradients[static_cast<size_t>(r)].clear();
      for (size_t g = 2; g < run.values.size(); ++g)
        gradients[static_cast<size_t>(r)].push_back(std::move(run.values[g]));
    }
  }

  void take(RunResult& run, StepResult& result) {
    result.status |= run.flags;
    for (OperationTime& t : run.timings) timings.push_back(std::move(t));
  }

  /// One replica's update; returns whether every gradient is finite.
  bool run_update(int replica, const std::vector<std::vector<Tensor>>& gradients, const std::vector<Tensor>& rates,
                  bool allowed, StepResult& result) {
    const Tensor s = scalar(DType::kFloat32, result.scale_before), may = scalar(DType::kBool, allowed);
    std::vector<Feed> feeds{{update.apply, &may}};
    if (!update.loss_scale.empty()) feeds.push_back({update.loss_scale, &s});
    for (size_t i = 0; i < rates.size(); ++i) feeds.push_back({update.rates[i].first, &rates[i]});
    for (size_t v = 0; v < update.gradients.size(); ++v)
      for (size_t r = 0; r < gradients.size(); ++r) feeds.push_back({update.gradients[v][r], &gradients[r][v]});
    Executor& executor = *update_runs[static_cast<size_t>(replica)];
    executor.set_step(executions + static_cast<uint32_t>(options.accumulation));
    RunResult run = executor.run(feeds, update_fetches);
    take(run, result);
    if (replica == 0) count_nonfinite(update, run, result);
    return run.values[0].code(0) != 0;
  }

  std::vector<Tensor> learning_rates(StepResult& result) const {
    const double folded = options.loss_scale.unscale == Unscale::kFoldedIntoRate ? result.scale_before : 1.0;
    const double asked = optimizer.rate(optimizer_step + 1, folded);
    std::vector<Tensor> rates;
    for (const auto& [placeholder, dtype] : update.rates) {
      const DType of = options.optimizer.hyperparameters.value_or(dtype);
      rates.push_back(scalar(DType::kFloat32, check_hyperparameter("learning_rate", asked, of).got));
    }
    result.learning_rate = rates.empty() ? 0 : rates[0].value(0);
    return rates;
  }

  StepResult run_step(std::span<const Batch> batches) {
    const size_t wanted = static_cast<size_t>(options.replicas) * static_cast<size_t>(options.accumulation);
    if (batches.size() != wanted)
      refuse_training(std::to_string(batches.size()) + " batches for a step; expected " + std::to_string(wanted) +
                      ", " + std::to_string(options.accumulation) + " for each of " + std::to_string(options.replicas) +
                      " replicas");
    // The highest steps in random addresses are used by initial values, the order of images and generated images.
    if (executions >= 0xFFFFFFF0u - static_cast<uint32_t>(options.accumulation))
      throw std::runtime_error(
          "training: " + std::to_string(executions) +
          " graph executions; a run ends before 2^32 - 16 of them, where random bits would repeat");
    StepResult result;
    result.step = step;
    result.scale_before = scale.scale();
    timings.clear();
    for (const std::string& sum : forward.sums)
      for (const auto& executor : gradient_runs) {
        const Tensor zeros(executor->variable(sum).type());
        executor->set_variable(sum, zeros);
      }
    std::vector<std::vector<Tensor>> gradients(static_cast<size_t>(options.replicas));
    for (int m = 0; m < options.accumulation; ++m) run_micro_batch(m, batches, result, gradients);
    result.loss /= static_cast<double>(wanted);

    LossScaleEvidence evidence;
    const LossScaleOptions& how = options.loss_scale;
    if (how.overflow_from != OverflowFrom::kGradients && (result.status & (kOverflow | kInvalid)))
      evidence.finite = false;
    if (how.histogram)
      for (const auto& of_replica : gradients)
        for (const Tensor& g : of_replica) {
          evidence.elements += g.elements();
          evidence.above_edge += count_above(g, how.histogram_edge);
        }
    const std::vector<Tensor> rates = learning_rates(result);
    const bool finite = update_all(gradients, rates, evidence.finite || !how.skip_overflowed, result);
    if (how.overflow_from != OverflowFrom::kStatus && !finite) evidence.finite = false;
    finish(evidence, result);
    return result;
  }

  /// Every replica's update, or none: an exception on a later replica undoes the earlier ones.
  bool update_all(const std::vector<std::vector<Tensor>>& gradients, const std::vector<Tensor>& rates, bool allowed,
                  StepResult& result) {
    std::vector<Named> before;
    bool finite = true;
    try {
      for (int r = 0; r < options.replicas; ++r) {
        if (options.replicas > 1 && options.executor.config.behaviour().enabled_flags()) before.push_back(tensors(r));
        finite = run_update(r, gradients, rates, allowed, result) && finite;
      }
    } catch (...) {
      for (size_t r = 0; r < before.size(); ++r)
        for (const auto& [name, value] : before[r]) set_variable(name, value, static_cast<int>(r));
      throw;
    }
    return finite;
  }

  void finish(const LossScaleEvidence& evidence, StepResult& result) {
    result.applied = scale.update(evidence);  // throws after too many overflows in a row: counters stay
    ++step;
    executions += static_cast<uint32_t>(options.accumulation) + 1;
    result.scale_after = scale.scale();
    if (result.applied || options.loss_scale.count_skipped_steps) ++optimizer_step;
    if (result.applied)
      for (int r = 0; r < options.replicas; ++r) publish(r);
    if (options.hash_weights)
      for (int r = 0; r < options.replicas; ++r) result.weight_hashes.push_back(hash(r));
  }

  std::string hash(int replica) const {
    std::string text;
    for (const VariableSpec& v : model.variables) {
      const Tensor& value = owner_of(v.name, replica)->variable(v.name);
      text += v.name + ' ' + hash_text(value.data(), value.bytes()) + '\n';
    }
    return hash_text(text.data(), text.size());
  }

  Tensor logits(const Tensor& images) {
    if (!evaluation) {
      ExecutorOptions o = nearest_options(options.executor);
      o.status = o.statistics = o.timings = false;
      evaluation =
          make_executor(options.pass ? options.pass(model.graph, {&model.logits, 1}).graph : model.graph, std::move(o));
    }
    if (evaluation_is_stale)
      for (const VariableSpec& v : model.variables)
        evaluation->set_variable(v.name, owner_of(v.name, 0)->variable(v.name));
    evaluation_is_stale = false;
    evaluation->set_step(0);
    const Feed feed{model.images, &images};
    return std::move(evaluation->run({&feed, 1}, {&model.logits, 1}).values[0]);
  }

  State state() const {
    State s{step, optimizer_step, executions, scale.state(), {}};
    for (int r = 0; r < options.replicas; ++r) s.tensors.push_back(tensors(r));
    const bool agree = std::all_of(s.tensors.begin(), s.tensors.end(), [&](const Named& of_replica) {
      return std::equal(of_replica.begin(), of_replica.end(), s.tensors[0].begin(),
                        [](const auto& a, const auto& b) { return a.second.same_bits(b.second); });
    });
    if (agree) s.tensors.resize(1);
    return s;
  }

  void set_state(const State& s) {
    if (s.tensors.size() != 1 && s.tensors.size() != static_cast<size_t>(options.replicas))
      refuse_training("the state holds " + std::to_string(s.tensors.size()) + " replicas; expected 1 or " +
                      std::to_string(options.replicas));
    const std::vector<VariableSpec> specs = kept();
    for (const Named& of_replica : s.tensors) check_tensors(specs, of_replica);
    for (int r = 0; r < options.replicas; ++r)
      for (const auto& [name, value] : s.tensors[s.tensors.size() == 1 ? 0 : static_cast<size_t>(r)])
        set_variable(name, value, r);
    scale.set_state(s.loss_scale);
    step = s.step;
    optimizer_step = s.optimizer_step;
    executions = s.executions;
  }

  static void check_tensors(const std::vector<VariableSpec>& specs, const Named& tensors) {
    for (const VariableSpec& spec : specs) {
      const auto found =
          std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.first == spec.name; });
      if (found == tensors.end()) refuse_training("the state lacks '" + spec.name + "', which this model has");
      if (found->second.type() != spec.type)
        refuse_training("the state's '" + spec.name + "' is " + name_of(found->second.dtype()) + " " +
                        found->second.shape().text() + "; expected " + name_of(spec.type.dtype) + " " +
                        spec.type.shape.text());
    }
    for (const auto& tensor : tensors)
      if (std::none_of(specs.begin(), specs.end(), [&](const VariableSpec& s) { return s.name == tensor.first; }))
        refuse_training("the state has '" + tensor.first + "', which this model has not");
    if (tensors.size() != specs.size()) refuse_training("the state names a tensor twice");
  }

  Memory memory() const {
    Memory m;
    m.parameters = model.parameter_bytes();
    for (const VariableSpec& v : update.slots) m.slots += static_cast<int64_t>(v.type.bytes());
    m.activations = gradient_runs[0]->memory(gradient_fetches).peak - m.parameters;
    return m;
  }
};

Trainer::Trainer(Model model, TrainerOptions options)
    : impl_(std::make_unique<Impl>(std::move(model), std::move(options))) {}
Trainer::~Trainer() = default;

StepResult Trainer::step(std::span<const Batch> batches) { return impl_->run_step(batches); }
Tensor Trainer::logits(const Tensor& images) { return impl_->logits(images); }
const Model& Trainer::model() const { return impl_->model; }
const TrainerOptions& Trainer::options() const { return impl_->options; }
const Graph& Trainer::gradient_graph() const { return impl_->forward.graph; }
const Graph& Trainer::update_graph() const { return impl_->update.graph; }
const LossScale& Trainer::loss_scale() const { return impl_->scale; }
const std::vector<std::string>& Trainer::warnings() const { return impl_->warnings; }
const std::optional<PrecisionReport>& Trainer::precision_report() const { return impl_->forward.report; }
const std::vector<OperationTime>& Trainer::timings() const { return impl_->timings; }
Trainer::State Trainer::state() const { return impl_->state(); }
void Trainer::set_state(const State& state) { impl_->set_state(state); }
Trainer::Memory Trainer::memory() const { return impl_->memory(); }

const Tensor& Trainer::variable(std::string_view name, int replica) const {
  if (replica < 0 || replica >= impl_->options.replicas)
    refuse_training("replica " + std::to_string(replica) + "; expected 0.." +
                    std::to_string(impl_->options.replicas - 1));
  return impl_->owner_of(name, replica)->variable(name);
}
std::string Trainer::weight_hash(int replica) const { return impl_->hash(replica); }
void Trainer::set_variable(std::string_view name, const Tensor& value) { impl_->set_variable(name, value); }

void Trainer::observe(Observer observer) {
  const State before = state();
  impl_->observer = std::move(observer);
  impl_->make_executors();
  set_state(before);
}

}  // namespace softamp
