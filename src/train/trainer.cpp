#include "softamp/train/trainer.h"
#include "softamp/precision/bias_start.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "softamp/graph/trace.h"
#include "softamp/machine/float_environment.h"
#include "softamp/numerics/random.h"
#include "softamp/train/exchange.h"
#include "src/train/replicas/exchange_calls.h"
#include "src/train/replicas/replica_drift.h"
#include "src/train/replicas/replica_options.h"
#include "src/train/training_step.h"
#include "src/train/visible_overflow.h"

namespace softamp {
namespace {

using Named = TrainingStep::Named;

constexpr int64_t kMostSlices = 65536;
constexpr size_t kHashDigits = 32;
constexpr int kDifferent = 1;  ///< the exit code of a check that failed

[[noreturn]] void refuse_training(const std::string& message) { throw std::invalid_argument("training: " + message); }

void check_invariant(const TrainerOptions& o) {
  if (o.replica_drift && o.executor.config.experimental.enable_prng_stability)
    refuse_training(
        "replica_drift is on, and so is experimental.enable_prng_stability, with which a device keeps identical seeds; "
        "expected one of them");
  if (!o.replica_invariant) return;
  const int64_t slices = int64_t{o.replicas} * o.accumulation;
  if ((slices & (slices - 1)) != 0 || slices > kMostSlices)
    refuse_training("replica_invariant with " + std::to_string(o.replicas) + " replicas x " +
                    std::to_string(o.accumulation) + " micro-batches of each: " + std::to_string(slices) +
                    " slices; expected a power of two, at most " + std::to_string(kMostSlices));
  if (o.replica_drift)
    refuse_training("replica_invariant with replica_drift, which depends on the replicas; expected one of them");
  if (o.accumulation_reduction != ReplicaReduction::kSum)
    refuse_training(
        "replica_invariant with an accumulation_reduction of mean; expected sum: `reduction` is of all slices");
  if (o.accumulation_dtype.given())
    refuse_training("replica_invariant with an accumulation_dtype; expected none: slices are summed in float32");
}

/// Where a node writes a variable of the gradient graph, a slice would depend on those that its replica computed
/// before.
void check_slices(const TrainerOptions& o, const Graph& gradient) {
  if (!o.replica_invariant) return;
  for (const Node& node : gradient.nodes())
    if (node.attributes.contains("ref"))
      refuse_training("replica_invariant: node '" + node.name + "' (" + node.op +
                      ") keeps state from one slice to the next; expected a model without");
}

void check(const TrainerOptions& o) {
  if (o.replicas < 1 || o.replicas > static_cast<int>(RandomBits::kReplicas))
    refuse_training("replicas is " + std::to_string(o.replicas) + "; expected 1..256");
  if (o.exchange && o.replicas % o.exchange->ranks() != 0)
    refuse_training("replicas is " + std::to_string(o.replicas) + ", shared by " + std::to_string(o.exchange->ranks()) +
                    " processes; expected a multiple of these");
  if (o.compare_weights_every < 0)
    refuse_training("compare_weights_every is " + std::to_string(o.compare_weights_every) + "; expected 0 or more");
  if (o.accumulation < 1) refuse_training("accumulation is " + std::to_string(o.accumulation) + "; expected 1 or more");
  if (const auto& sums = o.accumulation_dtype.dtype(); sums && *sums > DType::kFloat32)
    refuse_training(std::string("accumulation_dtype is ") + name_of(*sums) + "; expected float16, bfloat16 or float32");
  if (o.executor.random == RandomEngine::kXoroshiro128aox)
    refuse_training(
        "random is xoroshiro128aox, whose bits are drawn in order; expected philox or philox7, whose bits have "
        "addresses");
  check_invariant(o);
  o.optimizer.validate();
  o.loss_scale.validate();
  o.clipping.validate();
  if (o.count_lost_updates && o.optimizer.separate_roundings)
    refuse_training(
        "lost updates are counted of updates that are rounded once; expected no separate_roundings, or no count");
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

}  // namespace

DType AccumulationDtype::of(const VariableSpec& variable) const {
  const DType dtype = (of_variable_ ? of_variable_(variable) : dtype_).value_or(variable.type.dtype);
  if (dtype > wide_dtype(variable.type.dtype))
    refuse_training("accumulation_dtype of variable '" + variable.name + "' is " + name_of(dtype) +
                    "; expected float16, bfloat16 or float32, or nothing for that of the variable");
  return dtype;
}

struct Trainer::Impl {
  TrainingStep training;
  LossScale scale;
  /// The forward graph for some fetches, with the variables of a step.
  struct Evaluation {
    std::unique_ptr<Executor> executor;
    bool is_stale = true;
  };
  Evaluation of_logits, of_loss;
  std::vector<std::string> warnings;
  Gradients gradients;
  bool moves_state = false;  ///< the gradient graph assigns variables of its own,
  bool keeps_state = false;  ///< some by what one replica sees

  Impl(Model m, TrainerOptions o) : training(begun(std::move(m), std::move(o))), scale(training.options().loss_scale) {
    check_slices(training.options(), training.gradient().graph);
    check_scales();
    check_overflow_is_visible(training.gradient().graph, training.options().loss_scale,
                              training.gradient_run(0).semantics());
    const auto of_pass = [&](const std::string& name) {
      const std::vector<PassVariable>& state = training.gradient().state;
      return std::any_of(state.begin(), state.end(), [&](const PassVariable& v) { return v.name == name; });
    };
    moves_state = !training.assigned().empty();
    keeps_state = !std::all_of(training.assigned().begin(), training.assigned().end(), of_pass);
    gather_warnings();
  }

  /// Replicas agree on greatest magnitudes after a step, not between its micro-batches.
  void check_scales() const {
    const TrainerOptions& o = training.options();
    if (!training.gradient().state.empty() && o.replicas > 1 && o.accumulation > 1)
      refuse_training("the mechanism keeps scales from one execution to the next, and there are " +
                      std::to_string(o.replicas) + " replicas with " + std::to_string(o.accumulation) +
                      " micro-batches each; expected one replica, or accumulation 1");
  }

  static TrainingStep begun(Model model, TrainerOptions options) {
    check(options);
    if (options.loss_scale.overflow_from != OverflowFrom::kGradients) options.executor.status = true;
    check_pass(model, options);
    const auto runs = run_options(options, {});
    return TrainingStep(std::move(model), std::move(options), runs);
  }

  /// A pass converts float32 graphs; after another mechanism its report would not show what the other changed.
  static void check_pass(const Model& model, const TrainerOptions& options) {
    if (!options.pass) return;
    if (!model.mechanism.empty())
      refuse_training("a pass over the graph and the rule of layers '" + model.mechanism +
                      "' at once; expected one mechanism of mixed precision");
    if (model.precision.compute != DType::kFloat32 || model.precision.parameters != DType::kFloat32)
      refuse_training("a pass over the graph of a model in the precision " + model.precision.name +
                      "; expected float32");
  }

  static std::vector<TrainingStep::RunOptions> run_options(const TrainerOptions& o, const Observer& observer) {
    std::vector<TrainingStep::RunOptions> runs;
    const int first = first_replica(o);
    for (int r = first; r < first + local_replicas(o); ++r)
      runs.push_back({observed(gradient_options(o, r), r, observer), observed(update_options(o, r), r, observer)});
    return runs;
  }

  static ExecutorOptions observed(ExecutorOptions o, int replica, const Observer& observer) {
    if (observer)
      o.observe = [see = observer, replica](uint32_t execution, const Node& node, int port, const TensorType& type,
                                            const void* data) {
        see(phase_of(node.name), replica, execution, node, port, type, data);
      };
    return o;
  }

  void gather_warnings() {
    const TrainerOptions& options = training.options();
    for (const Executor* run : {&training.gradient_run(0), &training.update_run(0)})
      for (const std::string& w : run->warnings())
        if (std::find(warnings.begin(), warnings.end(), w) == warnings.end()) warnings.push_back(w);
    if (weights_may_differ()) warnings.push_back(drift_warning(options));
    const double folded = options.loss_scale.unscale == Unscale::kFoldedIntoRate ? scale.scale() : 1.0;
    for (const auto& [placeholder, dtype] : training.update().rates)
      for (const HyperparameterCheck& c : training.optimizer().check(dtype, folded))
        if (c.doubtful) warnings.push_back(std::string(name_of(options.optimizer.kind)) + ": " + c.warning());
    if (!options.strict || warnings.empty()) return;
    std::string all = "strict mode refuses what it would warn of:";
    for (const std::string& w : warnings) all += "\n  " + w;
    refuse_training(all);
  }

  /// Whether an update rounds anything that is kept, with bits of its replica.
  bool weights_may_differ() const {
    if (!updates_differ(training.options())) return false;
    const WeightUpdate how = training.options().optimizer.weight_update;
    const auto drawn = [&](const VariableSpec& v) {
      return is_floating(v.type.dtype) && training.update_run(0).semantics().draws(format_of(v.type.dtype));
    };
    const std::vector<VariableSpec>&weights = training.model().variables, &slots = training.update().slots;
    const bool weights_draw = how == WeightUpdate::kStochastic
                                  ? !weights.empty()
                                  : how == WeightUpdate::kDefault && std::any_of(weights.begin(), weights.end(), drawn);
    const bool compensated = how == WeightUpdate::kKahan;
    return weights_draw || std::any_of(slots.begin(), slots.end(), [&](const VariableSpec& v) {
             return drawn(v) && !(compensated && v.name.ends_with("/Compensation"));
           });
  }

  void set_variable(std::string_view name, const Tensor& value) {
    for (int r = 0; r < training.replicas(); ++r) training.set_variable(name, value, r);
    evaluations_are_stale();
  }

  void evaluations_are_stale() { of_logits.is_stale = of_loss.is_stale = true; }

  StepResult run_step(std::span<const Batch> batches) {
    const TrainerOptions& options = training.options();
    const size_t wanted = static_cast<size_t>(training.replicas()) * static_cast<size_t>(options.accumulation);
    if (batches.size() != wanted)
      refuse_training(std::to_string(batches.size()) + " batches for a step; expected " + std::to_string(wanted) +
                      ", " + std::to_string(options.accumulation) + " for each of " +
                      std::to_string(training.replicas()) + " replicas" + (options.exchange ? " in this process" : ""));
    TrainingStep::Ran ran = training.run(batches, scale.scale(), scale.scale());
    StepResult& result = ran.result;
    for (const Tensor& loss : ran.losses) result.loss += loss.value(0);
    result.loss /= static_cast<double>(ran.losses.size());
    const bool applied = update_scale(ran.evidence);
    if (options.count_lost_updates && applied) result.lost_updates = training.lost_updates(ran);
    training.finish(applied, result);
    result.scale_after = scale.scale();
    if (applied || moves_state) evaluations_are_stale();
    if (options.keep_gradients) keep(std::move(ran.gradients));
    compare_replicas(result);
    return std::move(result);
  }

  /// Throws after too many overflows in a row: counters and variables stay.
  bool update_scale(const LossScaleEvidence& evidence) {
    try {
      return scale.update(evidence);
    } catch (...) {
      training.undo_assigned();
      throw;
    }
  }

  /// Hashes and drift of the weights after a step.
  void compare_replicas(StepResult& result) {
    const TrainerOptions& options = training.options();
    if (!options.exchange) result.replica_drift = replica_drift(training);
    const bool one_for_all = options.replica_invariant && !result.replica_drift;
    if (options.hash_weights)
      for (int r = 0; r < (one_for_all ? 1 : training.replicas()); ++r) result.weight_hashes.push_back(hash(r));
    if (options.exchange) compare_ranks(result);
  }

  /// The same with the replicas of other ranks. This one has made its step; that another is lost then, the next call of
  /// the exchange tells. Only what that other's weights are is not known.
  void compare_ranks(StepResult& result) {
    const TrainerOptions& options = training.options();
    const int every = options.compare_weights_every;
    try {
      if (may_differ() || (every > 0 && (result.step + 1) % every == 0))
        result.replica_drift = shared_replica_drift(training);
      if (options.hash_weights && !options.replica_invariant) result.weight_hashes = of_all_ranks(result.weight_hashes);
    } catch (const ExchangeError&) {
      if (may_differ()) {
        training.tear();
        throw;
      }
      if (options.hash_weights && !options.replica_invariant)
        result.weight_hashes.assign(static_cast<size_t>(options.replicas), result.weight_hashes[0]);
    }
    if (!result.replica_drift || may_differ()) return;
    training.tear();
    const ReplicaDrift& d = *result.replica_drift;
    throw ExchangeError("step " + std::to_string(result.step) + ": the variable '" + d.variable + "' of replica " +
                            std::to_string(d.replica) + " (rank " + std::to_string(d.replica / training.replicas()) +
                            ") differs from that of replica 0, first in element " + std::to_string(d.element) +
                            "; expected the same bits on all ranks",
                        kDifferent);
  }

  std::vector<std::string> of_all_ranks(const std::vector<std::string>& hashes) const {
    std::string text;
    for (const std::string& h : hashes) text += h;
    std::vector<std::string> all;
    for (const std::string& of_rank : train_detail::gather_texts(*training.options().exchange, text))
      for (size_t at = 0; at < of_rank.size(); at += kHashDigits) all.push_back(of_rank.substr(at, kHashDigits));
    return all;
  }

  bool may_differ() const {
    return training.options().replicas > 1 && (updates_differ(training.options()) || keeps_state);
  }

  void keep(std::vector<std::vector<Tensor>> of_step) {
    gradients.clear();
    for (std::vector<Tensor>& of_replica : of_step) {
      auto& named = gradients.emplace_back();
      for (size_t v = 0; v < of_replica.size(); ++v)
        named.emplace_back(training.gradient().variables[v].name, std::move(of_replica[v]));
    }
  }

  /// The number in this process of a replica.
  int checked(int replica) const {
    const int first = first_replica(training.options()), here = training.replicas();
    if (replica < first || replica >= first + here)
      refuse_training("replica " + std::to_string(replica) + "; expected " + std::to_string(first) + ".." +
                      std::to_string(first + here - 1) + (training.options().exchange ? " in this process" : ""));
    return replica - first;
  }

  std::string hash(int replica) const {
    std::string text;
    for (const VariableSpec& v : training.model().variables) {
      const Tensor& value = training.variable(v.name, replica);
      text += v.name + ' ' + hash_text(value.data(), value.bytes()) + '\n';
    }
    return hash_text(text.data(), text.size());
  }

  std::vector<Tensor> evaluate(Evaluation& evaluation, std::span<const Feed> feeds,
                               std::span<const std::string> fetches) {
    const Model& model = training.model();
    const TrainerOptions& options = training.options();
    if (!evaluation.executor) {
      ExecutorOptions o = nearest_options(options.executor);
      o.status = o.statistics = o.timings = false;
      const Graph& graph = model.evaluation ? *model.evaluation : model.graph;
      Graph passed = options.pass ? options.pass(graph, fetches).graph : graph;
      if (options.bias_in_accumulator) passed = start_with_bias(passed, fetches);
      evaluation.executor = make_executor(std::move(passed), std::move(o));
    }
    // A graph that is trained and evaluated alike may have moved averages of its own when it ran last.
    const std::vector<PassVariable>& state = training.gradient().state;
    if (evaluation.is_stale || (moves_state && !(model.evaluation && state.empty()))) {
      for (const VariableSpec& v : model.variables)
        evaluation.executor->set_variable(v.name, training.variable(v.name, 0));
      for (const PassVariable& v : state)
        if (evaluation.executor->graph().find(v.name) >= 0)
          evaluation.executor->set_variable(v.name, training.variable(v.name, 0));
    }
    evaluation.is_stale = false;
    evaluation.executor->set_step(0);
    return std::move(evaluation.executor->run(feeds, fetches).values);
  }

  Tensor logits(const Tensor& images) {
    const Feed feed{training.model().images, &images};
    return std::move(evaluate(of_logits, {&feed, 1}, {&training.model().logits, 1})[0]);
  }

  Forward forward(const Batch& batch) {
    const Model& model = training.model();
    const std::vector<Feed> feeds{{model.images, &batch.images}, {model.labels, &batch.labels}};
    const std::vector<std::string> fetches{model.loss, model.logits};
    std::vector<Tensor> values = evaluate(of_loss, feeds, fetches);
    return {values[0].value(0), std::move(values[1])};
  }

  State state() const {
    if (training.torn())
      throw std::logic_error(
          "training: the last step failed when some replicas were updated and others not, or not known to be; expected "
          "set_state first");
    const auto& [step, optimizer_step, executions] = training.counters();
    State s{step, optimizer_step, executions, scale.state(), {}};
    for (int r = 0; r < training.replicas(); ++r) s.tensors.push_back(training.tensors(r));
    if (training.options().exchange && may_differ()) gather(s.tensors);
    const bool agree = std::all_of(s.tensors.begin(), s.tensors.end(), [&](const Named& of_replica) {
      return std::equal(of_replica.begin(), of_replica.end(), s.tensors[0].begin(),
                        [](const auto& a, const auto& b) { return a.second.same_bits(b.second); });
    });
    if (agree) s.tensors.resize(1);
    return s;
  }

  /// From those of this rank's replicas to those of all.
  void gather(std::vector<Named>& tensors) const {
    Exchange& exchange = *training.options().exchange;
    const std::vector<Named> mine = std::exchange(tensors, {});
    for (int rank = 0; rank < exchange.ranks(); ++rank)
      for (const Named& of_replica : mine) {
        Named& room = tensors.emplace_back();
        for (const auto& [name, value] : of_replica) room.emplace_back(name, Tensor(value.type()));
      }
    for (size_t r = 0; r < mine.size(); ++r)
      for (size_t t = 0; t < mine[r].size(); ++t) {
        std::vector<Exchange::Room> rooms;
        for (size_t at = r; at < tensors.size(); at += mine.size())
          rooms.push_back(train_detail::room_of(tensors[at][t].second));
        exchange.all_gather(train_detail::bytes_of(mine[r][t].second), rooms);
      }
  }

  void set_state(const State& s) {
    const int replicas = training.options().replicas;
    if (s.tensors.size() != 1 && s.tensors.size() != static_cast<size_t>(replicas))
      refuse_training("the state holds " + std::to_string(s.tensors.size()) + " replicas; expected 1 or " +
                      std::to_string(replicas));
    const std::vector<VariableSpec> specs = training.kept();
    for (const Named& of_replica : s.tensors) check_tensors(specs, of_replica);
    const int first = first_replica(training.options());
    for (int r = 0; r < training.replicas(); ++r)
      for (const auto& [name, value] : s.tensors[s.tensors.size() == 1 ? 0 : static_cast<size_t>(first + r)])
        training.set_variable(name, value, r);
    evaluations_are_stale();
    scale.set_state(s.loss_scale);
    training.set_counters({s.step, s.optimizer_step, s.executions});
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
    m.parameters = training.model().parameter_bytes();
    for (const VariableSpec& v : training.update().slots) m.slots += static_cast<int64_t>(v.type.bytes());
    m.activations = training.gradient_run(0).memory(training.gradient_fetches()).peak - m.parameters;
    return m;
  }
};

Trainer::Trainer(Model model, TrainerOptions options)
    : impl_(engine::in_default_environment(
          [&] { return std::make_unique<Impl>(std::move(model), std::move(options)); })) {}
Trainer::~Trainer() = default;

StepResult Trainer::step(std::span<const Batch> batches) {
  const engine::DefaultEnvironment guard;
  return impl_->run_step(batches);
}
Tensor Trainer::logits(const Tensor& images) { return impl_->logits(images); }
Trainer::Forward Trainer::forward(const Batch& batch) { return impl_->forward(batch); }
const Model& Trainer::model() const { return impl_->training.model(); }
const TrainerOptions& Trainer::options() const { return impl_->training.options(); }
const Graph& Trainer::gradient_graph() const { return impl_->training.gradient().graph; }
const Graph& Trainer::update_graph() const { return impl_->training.update().graph; }
const LossScale& Trainer::loss_scale() const { return impl_->scale; }
const std::vector<std::string>& Trainer::warnings() const { return impl_->warnings; }
const std::optional<PrecisionReport>& Trainer::precision_report() const { return impl_->training.gradient().report; }
const std::vector<OperationTime>& Trainer::timings() const { return impl_->training.timings(); }
Trainer::State Trainer::state() const { return impl_->state(); }
void Trainer::set_state(const State& state) { impl_->set_state(state); }
Trainer::Memory Trainer::memory() const { return impl_->memory(); }
const Trainer::Gradients& Trainer::gradients() const { return impl_->gradients; }

const Tensor& Trainer::variable(std::string_view name, int replica) const {
  return impl_->training.variable(name, impl_->checked(replica));
}
const Tensor& Trainer::variable(std::string_view name) const { return impl_->training.variable(name, 0); }
std::string Trainer::weight_hash(int replica) const { return impl_->hash(impl_->checked(replica)); }
std::string Trainer::weight_hash() const { return impl_->hash(0); }
std::vector<std::string> Trainer::weight_hashes() const {
  std::vector<std::string> hashes;
  for (int r = 0; r < impl_->training.replicas(); ++r) hashes.push_back(impl_->hash(r));
  return options().exchange ? impl_->of_all_ranks(hashes) : hashes;
}
bool Trainer::replicas_may_differ() const { return impl_->may_differ(); }
Trainer::Traffic Trainer::traffic() const { return impl_->training.traffic(); }
void Trainer::set_variable(std::string_view name, const Tensor& value) { impl_->set_variable(name, value); }

void Trainer::observe(Observer observer) {
  const State before = state();
  impl_->training.make_executors(Impl::run_options(options(), observer));
  set_state(before);
}

}  // namespace softamp
