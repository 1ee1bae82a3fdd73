#include "src/train/training_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "softamp/numerics/status.h"
#include "softamp/precision/mixed_precision_context.h"
#include "src/train/optimizers/lost_updates.h"
#include "src/train/optimizers/optimizer_update.h"
#include "src/train/replicas/exchange_calls.h"
#include "src/train/replicas/replica_options.h"
#include "src/train/replicas/shared_step.h"
#include "src/train/visible_overflow.h"

namespace softamp {
namespace {

/// A bool, float32 or float64 scalar.
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

/// The norm (root of the sum of squares) of all elements together. Squares are added one after another, in the order of
/// the gradients.
double norm_of(std::span<const Tensor> gradients) {
  double sum = 0;
  for (const Tensor& t : gradients) {
    if (t.dtype() == DType::kFloat32)
      for (const float x : t.as<float>()) sum += double{x} * double{x};
    else
      for (int64_t i = 0; i < t.elements(); ++i) sum += t.value(i) * t.value(i);
  }
  return std::sqrt(sum);
}

/// Each once, in the order of the graph.
// implements: N289
std::vector<std::string> assigned_by(const GradientStepGraph& gradient) {
  std::vector<std::string> names;
  for (const Node& node : gradient.graph.nodes()) {
    const auto ref = node.attributes.find("ref");
    if (ref == node.attributes.end()) continue;
    const std::string& name = std::get<std::string>(ref->second);
    const auto in = [&](const std::vector<std::string>& all) {
      return std::find(all.begin(), all.end(), name) != all.end();
    };
    if (!in(gradient.sums) && !in(names)) names.push_back(name);
  }
  return names;
}

}  // namespace

TrainingStep::TrainingStep(Model model, TrainerOptions options, const std::vector<RunOptions>& replicas, Device device)
    : model_(std::move(model)),
      options_(std::move(options)),
      device_(std::move(device)),
      optimizer_(options_.optimizer),
      gradient_(build_gradient_graph(model_, options_)),
      update_(build_update_graph(gradient_, optimizer_, options_)),
      gradient_fetches_{gradient_.loss, gradient_.scaled_loss},
      update_fetches_{update_.finite} {
  const std::optional<Preset> preset = preset_of_training(gradient_.graph, options_.loss_scale);
  options_.executor = softamp::with_preset(std::move(options_.executor), preset);
  gradient_fetches_.insert(gradient_fetches_.end(), gradient_.gradients.begin(), gradient_.gradients.end());
  update_fetches_.insert(update_fetches_.end(), update_.nonfinite.begin(), update_.nonfinite.end());
  if (device_.update_pass) update_.graph = device_.update_pass(update_.graph);
  if (options_.exchange) shared_ = std::make_unique<Shared>(gradient_, update_, options_);
  if (!device_.make_executor) device_.make_executor = softamp::make_executor;
  if (options_.gradient_norms)
    update_fetches_.insert(update_fetches_.end(), update_.unscaled.begin(), update_.unscaled.end());
  if (options_.count_lost_updates)
    update_fetches_.insert(update_fetches_.end(), update_.applied.begin(), update_.applied.end());
  assigned_ = assigned_by(gradient_);
  std::vector<RunOptions> runs = replicas;
  for (RunOptions& of_replica : runs)
    for (ExecutorOptions* o : {&of_replica.gradient, &of_replica.update})
      *o = softamp::with_preset(std::move(*o), preset);
  make_executors(runs);
  for (const VariableSpec& v : kept()) {
    const Tensor first = initial_value(v.initializer, v.type, v.name, options_.executor.seed);
    for (int r = 0; r < this->replicas(); ++r) set_variable(v.name, first, r);
  }
}

TrainingStep::~TrainingStep() = default;

void TrainingStep::make_executors(const std::vector<RunOptions>& replicas) {
  gradient_runs_.clear();
  update_runs_.clear();
  for (const RunOptions& of_replica : replicas) {
    ExecutorOptions gradient = of_replica.gradient;
    if (shared_) gradient.fetched = shared_->fetched(static_cast<int>(gradient_runs_.size()));
    gradient_runs_.push_back(device_.make_executor(gradient_.graph, std::move(gradient)));
    update_runs_.push_back(device_.make_executor(shared_ ? shared_->update : update_.graph, of_replica.update));
    for (int i = 0; i < 2 && options_.precision && !options_.pass; ++i) options_.precision->note_session();
  }
}

Executor& TrainingStep::owner_of(std::string_view name, int replica) const {
  const int n = update_.graph.find(name);
  return n >= 0 && update_.graph.node(n).op == "VariableV2" ? update_run(replica) : gradient_run(replica);
}

void TrainingStep::set_variable(std::string_view name, const Tensor& value, int replica) {
  Executor &owner = owner_of(name, replica), &reader = gradient_run(replica);
  owner.set_variable(name, value);
  if (&owner != &reader && gradient_.graph.find(name) >= 0) reader.set_variable(name, value);
}

std::vector<VariableSpec> TrainingStep::kept() const {
  std::vector<VariableSpec> specs = model_.variables;
  for (const PassVariable& v : gradient_.state)
    specs.push_back({v.name, v.type, Initializer::constant(v.initial), false});
  specs.insert(specs.end(), update_.slots.begin(), update_.slots.end());
  return specs;
}

TrainingStep::Named TrainingStep::tensors(int replica) const {
  Named all;
  for (const VariableSpec& v : kept()) all.emplace_back(v.name, variable(v.name, replica).clone());
  return all;
}

Trainer::Traffic TrainingStep::traffic() const {
  if (!shared_) return {};
  return {shared_->reduction.bytes_sent(), static_cast<int64_t>(shared_->reduction.buckets())};
}

void TrainingStep::take(RunResult& run, StepResult& result) {
  result.status |= run.flags;
  for (OperationTime& t : run.timings) timings_.push_back(std::move(t));
}

/// Where a micro-batch stands among those of the step in this process.
int TrainingStep::number_of(int m, int replica) const {
  // Slices stay where they are, whoever computes them.
  return options_.replica_invariant ? replica * options_.accumulation + m : m * replicas() + replica;
}

int TrainingStep::part_of(int m, int replica) const {
  return options_.replica_invariant ? number_of(m, replica) : replica;
}

// implements: N275, N283, N292
void TrainingStep::run_micro_batch(int m, int replica, std::span<const Batch> batches, float seed, Ran& ran) {
  const Tensor s = scalar(DType::kFloat32, seed);
  const auto number = static_cast<size_t>(number_of(m, replica));
  const Batch& batch = batches[number];
  std::vector<Feed> feeds{{model_.images, &batch.images}, {model_.labels, &batch.labels}};
  if (!gradient_.loss_scale.empty()) feeds.push_back({gradient_.loss_scale, &s});
  Executor& executor = gradient_run(replica);
  const int draws =
      options_.replica_invariant ? first_replica(options_) * options_.accumulation + number_of(m, replica) : m;
  executor.set_step(counters_.executions + static_cast<uint32_t>(draws));
  RunResult run = executor.run(feeds, gradient_fetches_);
  take(run, ran.result);
  ran.losses[number] = std::move(run.values[0]);
  std::vector<Tensor>& gradients = ran.gradients[static_cast<size_t>(part_of(m, replica))];
  gradients.clear();
  for (size_t g = 2; g < run.values.size(); ++g) gradients.push_back(std::move(run.values[g]));
}

void TrainingStep::run_gradients(std::span<const Batch> batches, float seed, Ran& ran) {
  if (shared_) return share_gradients(batches, seed, ran);
  for (int m = 0; m < options_.accumulation; ++m)
    for (int r = 0; r < replicas(); ++r) run_micro_batch(m, r, batches, seed, ran);
  count_evidence(ran);
}

void TrainingStep::count_evidence(Ran& ran) const {
  const LossScaleOptions& how = options_.loss_scale;
  if (!how.histogram) return;
  for (const auto& of_replica : ran.gradients)
    for (const Tensor& g : of_replica) {
      ran.evidence.elements += g.elements();
      ran.evidence.above_edge += count_above(g, how.histogram_edge);
    }
}

/// One replica's update; returns whether every gradient is finite.
// implements: N275, N292
bool TrainingStep::run_update(Executor& executor, bool first, const Update& update, Ran& ran) {
  const Tensor d = scalar(DType::kFloat32, update.divisor), may = scalar(DType::kBool, update.allowed);
  std::vector<Feed> feeds{{update_.apply, &may}};
  if (!update_.loss_scale.empty()) feeds.push_back({update_.loss_scale, &d});
  for (size_t i = 0; i < update.rates.size(); ++i) feeds.push_back({update_.rates[i].first, &update.rates[i]});
  for (size_t i = 0; i < update_.decays.size(); ++i) feeds.push_back({update_.decays[i], &update.decays[i]});
  for (size_t v = 0; v < update_.gradients.size(); ++v)
    if (!ran.reduced.empty())
      feeds.push_back({update_.reduced[v], &ran.reduced[v]});
    else
      for (size_t r = 0; r < ran.gradients.size(); ++r)
        feeds.push_back({update_.gradients[v][r], &ran.gradients[r][v]});
  executor.set_step(counters_.executions + static_cast<uint32_t>(gradient_steps(options_)));
  if (first && options_.count_lost_updates && options_.optimizer.weight_update == WeightUpdate::kKahan)
    for (const VariableSpec& spec : gradient_.variables)
      ran.compensations.push_back(executor.variable(optimizer_.slots(spec).back().name).clone());
  RunResult run = executor.run(feeds, update_fetches_);
  take(run, ran.result);
  if (first) {
    count_nonfinite(update_, run, ran.result);
    size_t f = 1 + update_.nonfinite.size();
    if (options_.gradient_norms) {
      const size_t count = update_.unscaled.size();
      const bool scaled = !gradient_.loss_scale.empty() && options_.loss_scale.unscale == Unscale::kFoldedIntoRate;
      ran.result.gradient_norm = norm_of(std::span(run.values).subspan(f, count)) / (scaled ? update.divisor : 1.0F);
      f += count;
    }
    for (; f < run.values.size(); ++f) ran.applied.push_back(std::move(run.values[f]));
  }
  return run.values[0].code(0) != 0;
}

/// Every replica's update, or none: an exception on a later replica undoes the earlier ones.
bool TrainingStep::update_all(const Update& update, Ran& ran) {
  std::vector<Named> before;
  bool finite = true;
  try {
    if (shared_) {
      finite = share_update(update, ran);
    } else {
      for (int r = 0; r < replicas(); ++r) {
        if (replicas() > 1 && options_.executor.config.behaviour().enabled_flags()) before.push_back(tensors(r));
        finite = run_update(update_run(r), r == 0, update, ran) && finite;
        torn_ = true;  // until the step has ended
      }
    }
  } catch (...) {
    if (!before.empty()) restore(before);
    throw;
  }
  torn_ = update.allowed && (finite || !update_.skips_nonfinite);  // a skipped update has handed on the old values
  return finite;
}

void TrainingStep::restore(const std::vector<Named>& before) {
  for (size_t r = 0; r < before.size(); ++r)
    for (const auto& [name, value] : before[r]) set_variable(name, value, static_cast<int>(r));
  torn_ = false;
}

// implements: N278
std::vector<Tensor> TrainingStep::learning_rates(StepResult& result) const {
  const double folded = options_.loss_scale.unscale == Unscale::kFoldedIntoRate ? result.scale_before : 1.0;
  const double asked = optimizer_.rate(counters_.optimizer_step + 1, folded);
  std::vector<Tensor> rates;
  for (const auto& [placeholder, dtype] : update_.rates) {
    const DType of = options_.optimizer.hyperparameters.value_or(dtype);
    rates.push_back(scalar(wide_dtype(dtype), check_hyperparameter("learning_rate", asked, of).got));
  }
  result.learning_rate = rates.empty() ? 0 : rates[0].value(0);
  return rates;
}

void TrainingStep::keep_assigned() {
  before_run_.clear();
  if (assigned_.empty()) return;
  for (int r = 0; r < replicas(); ++r) {
    std::vector<Tensor>& before = before_run_.emplace_back();
    for (const std::string& name : assigned_) before.push_back(gradient_run(r).variable(name).clone());
  }
}

/// Of greatest magnitudes that a pass's graph keeps, the replicas of all ranks go on with the greatest.
// implements: N501
void TrainingStep::agree_on_maxima() {
  std::vector<std::string> names;
  for (const PassVariable& v : gradient_.state)
    if (v.is_maximum) names.push_back(v.name);
  if (names.empty() || options_.replicas == 1) return;
  std::vector<float> greatest(names.size());
  const auto take_greater = [](float& kept, float other) {
    if (other > kept || other != other) kept = other;  // a NaN stays: what reads it leaves it out
  };
  for (size_t i = 0; i < names.size(); ++i)
    for (int r = 0; r < replicas(); ++r) take_greater(greatest[i], gradient_run(r).variable(names[i]).as<float>()[0]);
  if (options_.exchange) {
    const std::string mine(reinterpret_cast<const char*>(greatest.data()), 4 * greatest.size());
    for (const std::string& of_rank : train_detail::gather_equal_texts(*options_.exchange, mine))
      for (size_t i = 0; i < names.size(); ++i) {
        float other = 0;
        std::memcpy(&other, of_rank.data() + 4 * i, sizeof other);
        take_greater(greatest[i], other);
      }
  }
  for (size_t i = 0; i < names.size(); ++i)
    for (int r = 0; r < replicas(); ++r)
      gradient_run(r).set_variable(names[i], Tensor::full(DType::kFloat32, {}, static_cast<double>(greatest[i])));
}

// implements: N289
void TrainingStep::undo_assigned() {
  for (size_t r = 0; r < before_run_.size(); ++r)
    for (size_t i = 0; i < assigned_.size(); ++i)
      gradient_run(static_cast<int>(r)).set_variable(assigned_[i], before_run_[r][i]);
}

std::vector<Tensor> TrainingStep::decays() const {
  std::vector<Tensor> all;
  if (update_.decays.empty()) return all;
  const double asked = optimizer_.decay(counters_.optimizer_step + 1);
  for (const auto& [placeholder, dtype] : update_.rates) {
    const DType of = options_.optimizer.hyperparameters.value_or(dtype);
    all.push_back(scalar(wide_dtype(dtype), check_hyperparameter("learning_rate * weight_decay", asked, of).got));
  }
  return all;
}

TrainingStep::Ran TrainingStep::run(std::span<const Batch> batches, float seed, float divisor) {
  keep_assigned();
  try {
    Ran ran = run_graphs(batches, seed, divisor);
    agree_on_maxima();
    return ran;
  } catch (...) {
    undo_assigned();
    throw;
  }
}

TrainingStep::Ran TrainingStep::run_graphs(std::span<const Batch> batches, float seed, float divisor) {
  // The highest steps in random addresses are used by initial values, the order of images and generated images.
  if (counters_.executions >= Executor::kSteps - static_cast<uint32_t>(gradient_steps(options_)))
    throw std::runtime_error("training: " + std::to_string(counters_.executions) +
                             " graph executions; a run ends before 2^32 - 16 of them, where random bits would repeat");
  Ran ran;
  ran.result.step = counters_.step;
  ran.result.scale_before = seed;
  timings_.clear();
  for (const std::string& sum : gradient_.sums)
    for (const auto& executor : gradient_runs_) {
      const Tensor zeros(executor->variable(sum).type());
      executor->set_variable(sum, zeros);
    }
  ran.losses.resize(batches.size());
  ran.gradients.resize(static_cast<size_t>(local_parts(options_)));
  run_gradients(batches, seed, ran);

  LossScaleEvidence& evidence = ran.evidence;
  const LossScaleOptions& how = options_.loss_scale;
  if (how.overflow_from != OverflowFrom::kGradients && (ran.result.status & (kOverflow | kInvalid)))
    evidence.finite = false;
  const std::vector<Tensor> rates = learning_rates(ran.result), shares = decays();
  const bool finite = update_all({rates, shares, divisor, evidence.finite || !how.skip_overflowed}, ran);
  if (how.overflow_from != OverflowFrom::kStatus && !finite) evidence.finite = false;
  return ran;
}

std::vector<LostUpdates> TrainingStep::lost_updates(const Ran& ran) const {
  StepResult step = ran.result;
  const std::vector<Tensor> rates = learning_rates(step), shares = decays();
  std::vector<LostUpdates> all;
  for (size_t v = 0; v < ran.applied.size(); ++v) {
    const VariableSpec& spec = gradient_.variables[v];
    LostUpdates& counts = all.emplace_back();
    counts.variable = spec.name;
    counts.dtype = spec.type.dtype;
    const WeightUpdate how = options_.optimizer.weight_update;
    counts.stochastic = how == WeightUpdate::kStochastic ||
                        (how == WeightUpdate::kDefault && update_run(0).semantics().draws(format_of(spec.type.dtype)));
    std::vector<const Tensor*> slots;
    for (const VariableSpec& slot : optimizer_.slots(spec)) slots.push_back(&update_run(0).variable(slot.name));
    double rate = 0;
    std::optional<double> decay;
    for (size_t i = 0; i < rates.size(); ++i)
      if (update_.rates[i].second == spec.type.dtype) {
        rate = rates[i].value(0);
        if (!shares.empty()) decay = shares[i].value(0);
      }
    train_detail::count_lost(
        options_of(options_.optimizer, spec.type.shape),
        {gradient_run(0).variable(spec.name), ran.applied[v], slots, update_run(0).variable(spec.name),
         ran.compensations.empty() ? nullptr : &ran.compensations[v], rate, decay},
        counts);
  }
  return all;
}

void TrainingStep::finish(bool applied, StepResult& result) {
  result.applied = applied;
  torn_ = false;
  ++counters_.step;
  counters_.executions += static_cast<uint32_t>(gradient_steps(options_)) + 1;
  if (applied || options_.loss_scale.count_skipped_steps) ++counters_.optimizer_step;
  if (!applied) return;
  for (int r = 0; r < replicas(); ++r)
    for (const VariableSpec& v : gradient_.variables)
      gradient_run(r).set_variable(v.name, update_run(r).variable(v.name));
}

}  // namespace softamp
