// Training steps: forward, scaled loss, gradients, unscaling, check and update, on one or several simulated replicas.
//
// Two graphs make a step. The gradient graph computes loss and gradients of one micro-batch; the update graph takes the
// gradients of all replicas and changes variables and slots. Every run of either is one step of random bits (N70): the
// counter `executions` grows by one for each micro-batch and one for the update, the same on all replicas.
//
// The seven phases of a step (MIXED_PRECISION M03) are scopes of these graphs: cast, forward, loss, scale, backward,
// unscale, update.
//
// A pass for mixed precision sees forward graph, loss scale and gradients as one finished graph. Loss and gradients are
// fetched through Identity nodes that are added first, so that the operations before them may be converted while the
// fetched tensors stay float32. Sums over micro-batches, reduction, unscaling and update are outside the pass. `logits`
// runs the forward graph, or the model's own for evaluation, after the same pass.
//
// A model may assign variables in its own graph: moving averages of batch normalisation. As in TensorFlow every
// micro-batch moves them, also that of a step that is skipped; each replica keeps those of what it sees, and those of
// replica 0 are evaluated.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softamp/graph/executor.h"
#include "softamp/precision/loss_scale.h"
#include "softamp/precision/precision_report.h"
#include "softamp/train/lost_updates.h"
#include "softamp/train/models.h"
#include "softamp/train/optimizer.h"

namespace softamp {

class Exchange;
class MixedPrecisionContext;

/// One micro-batch: images of the model's compute dtype, labels int32.
struct Batch {
  Tensor images, labels;
};

/// How far the weights of replicas are apart: the largest distance of an element to that of replica 0.
struct ReplicaDrift {
  double distance = 0;   ///< in binary64; infinite where one of two is NaN or infinite
  std::string variable;  ///< the first with this distance
  int replica = 0;       ///< the lowest of these
  int64_t element = 0;   ///< the lowest of these
};

/// What a training step did.
struct StepResult {
  int64_t step = 0;     ///< from 0
  double loss = 0;      ///< unscaled; the mean over micro-batches and replicas
  bool applied = true;  ///< the optimizer ran
  float scale_before = 1, scale_after = 1;
  uint8_t status = 0;     ///< flags of all operations (status.h); gathered where asked for
  int64_t nonfinite = 0;  ///< elements of gradients that are infinite or NaN
  std::vector<std::pair<std::string, int64_t>> nonfinite_by_variable;  ///< those that have any
  double learning_rate = 0;                                            ///< as the update got it
  /// Where asked for: the root of the sum of the squares of all gradients, unscaled and before clipping, in binary64;
  /// infinite or NaN where one of them is.
  std::optional<double> gradient_norm;
  /// Per replica, where asked for: XXH3-128 over all variables. With replica_invariant one for all, if they agree.
  std::vector<std::string> weight_hashes;
  std::optional<ReplicaDrift> replica_drift;  ///< where the weights of replicas differ in a bit after this step
  std::vector<LostUpdates> lost_updates;      ///< of every variable with a gradient, where asked for; none if skipped
  /// One JSON object, without line breaks; norm, hashes, lost updates and drift only where there
  /// are.
  std::string json() const;
};

/// How replicas' gradients become one: summed in rank order in float32 (N277), before unscaling; with
/// replica_invariant those of slices, in a tree (N283), and the mean is that of the slices.
enum class ReplicaReduction : uint8_t { kSum, kMean };

/// In which dtype a variable's gradients are summed over micro-batches (TUTORIAL G24): nothing, the variable's; a dtype
/// of floating type up to float32; or a function, asked once for every variable when the trainer is made, whose empty
/// answer means the variable's, too.
class AccumulationDtype {
 public:
  AccumulationDtype() = default;
  AccumulationDtype(std::nullopt_t) {}
  AccumulationDtype(DType dtype) : dtype_(dtype) {}
  AccumulationDtype(std::optional<DType> dtype) : dtype_(dtype) {}
  template <std::invocable<const VariableSpec&> F>
  AccumulationDtype(F of_variable) : of_variable_(std::move(of_variable)) {}

  /// Throws std::invalid_argument for an answer that is no such dtype, naming the variable.
  DType of(const VariableSpec& variable) const;
  /// Whether anything but the variable's was asked for.
  bool given() const { return dtype_ || of_variable_; }
  /// The one dtype for all, if one was given.
  const std::optional<DType>& dtype() const { return dtype_; }

 private:
  std::optional<DType> dtype_;
  std::function<std::optional<DType>(const VariableSpec& variable)> of_variable_;
};

struct TrainerOptions {
  /// For both graphs: seed, behaviour (esr: where rounding is stochastic), products, threads.
  ExecutorOptions executor{};
  OptimizerOptions optimizer{};
  LossScaleOptions loss_scale{};
  GradientClipping clipping{};
  int replicas = 1;  ///< (1 .. 256)
  ReplicaReduction reduction = ReplicaReduction::kMean;
  /// Emulates a device that does not keep the seeds of its replicas alike (without experimental.enable_prng_stability):
  /// updates that round stochastically draw other bits on each replica, and weights drift apart. A warning says so, and
  /// StepResult::replica_drift how far [=false: all replicas draw the same bits in the update, set or not].
  bool replica_drift = false;
  /// The number of replicas changes no bit, if replicas x accumulation, the slices of a step, and their size stay
  /// (N283). Micro-batch m of replica r is slice r x accumulation + m; it draws random bits of its own, gradients of
  /// slices are summed in a binary tree in float32, and REPLICA_IDENTICAL_ONLY rounds gradients to nearest on one
  /// replica, too. Slices must be a power of two. Batch normalisation sees a slice at a time. Not with
  /// accumulation_dtype, replica_drift, or a model that keeps state from one slice to the next [=false].
  bool replica_invariant = false;
  /// Processes that share the replicas (exchange.h): rank k of N has replicas k R / N to (k + 1) R / N - 1, computes
  /// their gradients, and all ranks make the same update, with the bits of one process (N284). N divides R. All ranks
  /// make the same trainer and the same calls; it must outlive the trainer [=nullptr: all replicas are here].
  Exchange* exchange = nullptr;
  /// With an exchange: after every so many steps the ranks compare hashes of their weights, and end with an error that
  /// names step, variable and rank where they differ although they cannot (0: never) [=1].
  int compare_weights_every = 1;
  int accumulation = 1;  ///< (>= 1) micro-batches to an update
  /// Of their gradients, after they are summed: the mean is divided by their number in float32, in the same division as
  /// that of the replicas. With replica_invariant `reduction` is that of all slices, and this kSum [=kSum].
  ReplicaReduction accumulation_reduction = ReplicaReduction::kSum;
  AccumulationDtype accumulation_dtype{};  ///< of the sums [=the variable's] (TUTORIAL G24)
  bool hash_weights = false;               ///< weight_hashes in every StepResult
  bool keep_gradients = false;             ///< Trainer::gradients after every step
  bool count_lost_updates = false;         ///< lost_updates in every StepResult; not with separate_roundings
  bool gradient_norms = false;             ///< gradient_norm in every StepResult; fetches all gradients
  bool strict = false;                     ///< warnings are errors
  bool bias_in_accumulator = false;  ///< start_with_bias (precision/bias_start.h) over both graphs, after the pass
  GraphPass pass{};                  ///< over the gradient graph and that of `logits` [=none]
  /// Where the trainer's executors are noted as sessions, unless a pass acts on them (MIXED_PRECISION T05); it must
  /// live until the trainer is made [=nowhere].
  MixedPrecisionContext* precision = nullptr;
};

/// "cast", "forward", "loss", "scale", "backward", "unscale" or "update": the phase that a node of the trainer's graphs
/// belongs to, by its name. Casts that layers or a pass add are always "cast"; gradients of casts are "backward".
std::string_view phase_of(std::string_view node_name);

class Trainer {
 public:
  /// Variables start from their initialisers and the executor's seed. Throws std::invalid_argument, GraphError: options
  /// that do not go together (a scale folded into the rate of an optimizer that is not linear, a pass over a model that
  /// is not all float32 or was built under a rule, ...), each named.
  Trainer(Model model, TrainerOptions options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// One step: replicas x accumulation micro-batches, in the order (micro-batch, replica): batch m * replicas + r is
  /// micro-batch m of replica r; with replica_invariant in the order of the slices. With an exchange those of this
  /// rank's replicas, in the same order. Throws ExchangeError; std::invalid_argument for another number of batches;
  /// FloatingPointError where an enabled exception is raised, RunStopped: variables, slots, scale and counters are then
  /// as before the step. So they are after any other error, unless it came between the updates of two replicas (no
  /// memory): then state() refuses.
  StepResult step(std::span<const Batch> batches);
  /// The same for one batch, where there is one replica and one micro-batch.
  StepResult step(const Batch& batch) { return step(std::span<const Batch>(&batch, 1)); }

  /// The gradients of the last step, by replica (with replica_invariant by slice), each under its variable's name: as
  /// the update got them, still multiplied by the loss scale, and before replicas are reduced. Empty without
  /// TrainerOptions::keep_gradients.
  using Gradients = std::vector<std::vector<std::pair<std::string, Tensor>>>;
  const Gradients& gradients() const;

  /// Logits of a batch of the model's size, with the present variables of replica 0, rounded to nearest; no variable
  /// and no counter changes.
  Tensor logits(const Tensor& images);
  /// Loss and logits of a batch, in the same way, by one graph.
  struct Forward {
    double loss = 0;
    Tensor logits;
  };
  Forward forward(const Batch& batch);

  const Model& model() const;
  const TrainerOptions& options() const;
  const Graph& gradient_graph() const;
  const Graph& update_graph() const;
  const LossScale& loss_scale() const;
  const std::vector<std::string>& warnings() const;
  /// What the pass changed in the gradient graph; if the model was built under a rule of layers, how that graph differs
  /// from the same in float32; empty without either.
  const std::optional<PrecisionReport>& precision_report() const;

  /// Everything that the next step depends on besides its batches.
  struct State {
    int64_t step = 0;            ///< steps done
    int64_t optimizer_step = 0;  ///< t of Adam: updates applied (or all, if skipped ones count)
    uint32_t executions = 0;     ///< graph executions so far
    LossScale::State loss_scale;
    /// Variables and slots by name, of each replica; one set if all replicas agree.
    std::vector<std::vector<std::pair<std::string, Tensor>>> tensors;
  };
  /// Throws std::logic_error after a step that failed between the updates of two replicas. With an exchange all ranks
  /// call it where replicas may differ, and each gets the state of all; where they cannot, any rank may call it.
  State state() const;
  /// Throws std::invalid_argument naming the first tensor that is missing, unknown, or of another dtype or shape.
  void set_state(const State& state);

  /// Throws std::invalid_argument for a replica that there is not, or not in this process [=the first one here].
  const Tensor& variable(std::string_view name, int replica) const;
  const Tensor& variable(std::string_view name) const;
  void set_variable(std::string_view name, const Tensor& value);  ///< on all replicas of this process

  /// XXH3-128 over all variables of the model, in their order: StepResult::weight_hashes. Throws std::invalid_argument
  /// for a replica that there is not.
  std::string weight_hash(int replica) const;
  std::string weight_hash() const;

  /// Of all replicas; with an exchange all ranks call it.
  std::vector<std::string> weight_hashes() const;
  /// Whether replicas may come to different variables: on request (replica_drift), or because a model keeps averages of
  /// what each sees.
  bool replicas_may_differ() const;

  /// With an exchange: what this rank has sent of gradients and their sums in all steps, and in how many buckets a
  /// step.
  struct Traffic {
    int64_t bytes = 0, buckets = 0;
  };
  Traffic traffic() const;

  struct Memory {
    int64_t parameters = 0, slots = 0,
            activations = 0;  ///< bytes; activations: the gradient graph's buffers at its fullest
  };
  Memory memory() const;

  /// If ExecutorOptions::timings is on: the time of every operation of the last step, run after run.
  const std::vector<OperationTime>& timings() const;

  /// Called with every tensor of every run: phase, replica, and the arguments of ExecutorOptions::observe (for traces).
  using Observer = std::function<void(std::string_view phase, int replica, uint32_t execution, const Node& node,
                                      int port, const TensorType& type, const void* data)>;
  void observe(Observer observer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softamp
