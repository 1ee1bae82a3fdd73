// One training step: its two graphs, their executors on every replica, and the counters that it goes by. A Trainer and
// MindSpore's steps (train/mindspore/train_one_step.h) are made of it. They say which scale a step uses and what
// becomes of the scale afterwards.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softamp/train/trainer.h"
#include "src/train/trainer_graphs.h"

namespace softamp {

class TrainingStep {
 public:
  /// How one replica runs the two graphs.
  struct RunOptions {
    ExecutorOptions gradient, update;
  };
  using Named = std::vector<std::pair<std::string, Tensor>>;
  /// What runs the graphs, where it is not what softamp::make_executor makes of them.
  struct Device {
    std::function<std::unique_ptr<Executor>(Graph, ExecutorOptions)> make_executor;  ///< [=softamp::make_executor]
    /// What becomes of the update graph [=nothing]; options.pass does it for the gradient graph. Names, and dtypes of
    /// what is fetched, stay.
    std::function<Graph(const Graph&)> update_pass;
  };

  /// Variables and slots start from their initialisers and the seed of options.executor, which is read for nothing
  /// else but its enabled exceptions; `replicas` has an entry for each replica of this process. Where these say nothing
  /// of the arithmetic, options.executor too, it is preset_of_training. With an exchange the step's calls of it end in
  /// ExchangeError on all ranks, or in what one process throws.
  TrainingStep(Model model, TrainerOptions options, const std::vector<RunOptions>& replicas, Device device = {});
  ~TrainingStep();

  const Model& model() const { return model_; }
  const TrainerOptions& options() const { return options_; }
  const Optimizer& optimizer() const { return optimizer_; }
  const GradientStepGraph& gradient() const { return gradient_; }
  const UpdateStepGraph& update() const { return update_; }
  /// Replicas of this process, from 0, here and below.
  int replicas() const { return static_cast<int>(gradient_runs_.size()); }
  Executor& gradient_run(int replica) const { return *gradient_runs_[static_cast<size_t>(replica)]; }
  Executor& update_run(int replica) const { return *update_runs_[static_cast<size_t>(replica)]; }
  const std::vector<std::string>& gradient_fetches() const { return gradient_fetches_; }
  /// Variables that the gradient graph itself assigns, besides its sums: averages of what a replica sees.
  const std::vector<std::string>& assigned() const { return assigned_; }
  Trainer::Traffic traffic() const;
  /// Of every operation of the last step, run after run, where asked for.
  const std::vector<OperationTime>& timings() const { return timings_; }

  /// Executors with other options; the caller sets all variables again.
  void make_executors(const std::vector<RunOptions>& replicas);

  /// What is kept from step to step: variables of the model in order of creation, those of the pass, then slots.
  std::vector<VariableSpec> kept() const;
  /// Copies of these, of one replica.
  Named tensors(int replica) const;
  const Tensor& variable(std::string_view name, int replica) const { return owner_of(name, replica).variable(name); }
  void set_variable(std::string_view name, const Tensor& value, int replica);

  struct Counters {
    int64_t step = 0;            ///< steps done
    int64_t optimizer_step = 0;  ///< updates applied (or all, if skipped ones count)
    uint32_t executions = 0;     ///< graph executions so far
  };
  const Counters& counters() const { return counters_; }
  /// The caller has set all variables and slots that go with them.
  void set_counters(const Counters& counters) {
    counters_ = counters;
    torn_ = false;
  }
  /// Whether variables and slots are no longer those of the counters: a step failed after a replica was updated.
  bool torn() const { return torn_; }
  /// They are not to be kept: those of other ranks are others, or not known.
  void tear() { torn_ = true; }

  /// What a run of both graphs gave.
  struct Ran {
    StepResult result;  ///< without loss, scale_after and hashes, which are the caller's; `applied` by `finish`
    LossScaleEvidence evidence;
    std::vector<Tensor> losses;                  ///< of every micro-batch of all ranks, in the order of one process
    std::vector<std::vector<Tensor>> gradients;  ///< by replica or slice, in the order of gradient().variables
    std::vector<Tensor> reduced;                 ///< of all ranks, by variable; where they share the replicas
    std::vector<Tensor> applied;                 ///< of replica 0, as its update got them; where updates are counted
    std::vector<Tensor> compensations;           ///< beside them, before the update; under WeightUpdate::kKahan
  };
  /// Runs gradient and update graphs on replicas x accumulation batches: the loss is multiplied by `seed` (scale_before
  /// of the result), gradients are unscaled by `divisor`; both are ignored where the graphs have no scale. Counters
  /// stay. After an exception variables and slots are as before, or torn() says so: what an enabled floating-point
  /// exception does is undone on every replica; an error on a later replica that nothing announces (no memory) is not.
  Ran run(std::span<const Batch> batches, float seed, float divisor);
  /// Puts `assigned` back to what they were before `run`, which does so itself when it throws.
  void undo_assigned();
  /// Ends the step: counters move, and if it is applied, the gradient graphs read what the update graphs have written.
  void finish(bool applied, StepResult& result);
  /// Of an applied step, after `run` and before `finish`: those of replica 0.
  std::vector<LostUpdates> lost_updates(const Ran& ran) const;

 private:
  Executor& owner_of(std::string_view name, int replica) const;
  /// What one update is made with.
  struct Update {
    const std::vector<Tensor>& rates;
    const std::vector<Tensor>& decays;  ///< beside the rates, where they are fed
    float divisor;
    bool allowed;
  };
  struct Shared;

  Ran run_graphs(std::span<const Batch> batches, float seed, float divisor);
  void keep_assigned();
  void agree_on_maxima();
  void take(RunResult& run, StepResult& result);
  int number_of(int m, int replica) const;
  int part_of(int m, int replica) const;
  void run_micro_batch(int m, int replica, std::span<const Batch> batches, float seed, Ran& ran);
  void run_gradients(std::span<const Batch> batches, float seed, Ran& ran);
  void share_gradients(std::span<const Batch> batches, float seed, Ran& ran);
  bool run_update(Executor& executor, bool first, const Update& update, Ran& ran);
  bool update_all(const Update& update, Ran& ran);
  bool share_update(const Update& update, Ran& ran);
  void count_evidence(Ran& ran) const;
  void restore(const std::vector<Named>& before);
  std::vector<Tensor> learning_rates(StepResult& result) const;
  std::vector<Tensor> decays() const;

  Model model_;
  TrainerOptions options_;
  Device device_;
  Optimizer optimizer_;
  GradientStepGraph gradient_;
  UpdateStepGraph update_;
  std::unique_ptr<Shared> shared_;  ///< where there is an exchange
  std::vector<std::unique_ptr<Executor>> gradient_runs_, update_runs_;
  std::vector<std::string> gradient_fetches_, update_fetches_;
  std::vector<OperationTime> timings_;
  std::vector<std::string> assigned_;
  std::vector<std::vector<Tensor>> before_run_;  ///< by replica, in the order of assigned_
  Counters counters_;
  bool torn_ = false;
};

}  // namespace softamp
