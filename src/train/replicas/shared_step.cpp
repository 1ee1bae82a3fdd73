// The parts of TrainingStep that talk to other ranks.
#include "src/train/replicas/shared_step.h"

#include <limits>

#include "softamp/train/exchange.h"
#include "src/train/replicas/replica_options.h"
#include "src/train/replicas/step_agreement.h"

namespace softamp {
namespace {

using train_detail::agree;
using train_detail::StepOutcome;

constexpr int kUnforeseen = 2;  ///< the exit code of bad input, and of all that has no code of its own

bool divides_at_random(const TrainerOptions& options) {
  return reduction_divisor(options) != 1 && make_executor(GraphBuilder().build(), update_options(options, 0))
                                                ->semantics()
                                                .draws(format_of(DType::kFloat32));
}

/// Of an error that only this rank knows: the others wait for it.
template <class Act>
void or_leave(Exchange& exchange, const Act& act) {
  try {
    act();
  } catch (const ExchangeError&) {
    throw;
  } catch (const std::exception& e) {
    exchange.leave(kUnforeseen, e.what());
    throw;
  }
}

}  // namespace

TrainingStep::Shared::Shared(const GradientStepGraph& gradient, const UpdateStepGraph& full,
                             const TrainerOptions& options)
    : gathers(divides_at_random(options)),
      update(gathers ? full.graph : GraphBuilder::with_placeholders(full.graph, full.reduced)),
      reduction(gradient, options) {}

std::function<void(size_t, const Tensor&)> TrainingStep::Shared::fetched(int replica) {
  return [this, replica](size_t fetch, const Tensor& value) {
    constexpr size_t kLosses = 2;
    if (fetch < kLosses || gathers) return;
    const int part = part_now(replica);
    if (part >= 0) reduction.give(static_cast<size_t>(part), fetch - kLosses, value);
  };
}

/// The gradients of this rank's replicas, while they are computed on the others; then what all know of them.
// implements: N284
void TrainingStep::share_gradients(std::span<const Batch> batches, float seed, Ran& ran) {
  Exchange& exchange = *options_.exchange;
  StepOutcome mine;
  int m = 0, r = 0;
  // A running sum is complete with the last micro-batch, a slice at once.
  shared_->part_now = [&](int replica) {
    return options_.replica_invariant || m == options_.accumulation - 1 ? part_of(m, replica) : -1;
  };
  if (!shared_->gathers) shared_->reduction.begin();
  or_leave(exchange, [&] {
    try {
      for (m = 0; m < options_.accumulation; ++m)
        for (r = 0; r < replicas(); ++r) run_micro_batch(m, r, batches, seed, ran);
    } catch (const FloatingPointError& e) {
      mine.exception = e;
    } catch (const RunStopped&) {
      mine.stopped = true;
    }
    mine.micro_batch = m;
    mine.replica = r;
    mine.losses.assign(ran.losses.size(), std::numeric_limits<double>::quiet_NaN());
    if (mine.exception || mine.stopped) {
      if (!shared_->gathers) shared_->reduction.give_up();
    } else {
      count_evidence(ran);
      for (size_t i = 0; i < ran.losses.size(); ++i) mine.losses[i] = ran.losses[i].value(0);
    }
  });
  if (!shared_->gathers) {
    train_detail::GradientReduction::Sums sums = shared_->reduction.sums();
    shared_->sum_flags = sums.flags;
    mine.sum_excepted = sums.excepted;
    ran.reduced = std::move(sums.values);
  }
  mine.status = ran.result.status;
  mine.elements = ran.evidence.elements;
  mine.above_edge = ran.evidence.above_edge;
  const StepOutcome all = agree(exchange, mine, options_.executor.switches.dump_format);
  if (all.exception) throw FloatingPointError(*all.exception);
  if (all.stopped) throw RunStopped("the run was stopped");
  shared_->excepted = all.sum_excepted;
  ran.result.status = all.status;
  ran.evidence.elements = all.elements;
  ran.evidence.above_edge = all.above_edge;

  // From rank by rank to the order of one process.
  const int here = static_cast<int>(ran.losses.size());
  std::vector<Tensor> losses(all.losses.size());
  for (int rank = 0; rank < exchange.ranks(); ++rank)
    for (int a = 0; a < options_.accumulation; ++a)
      for (int k = 0; k < replicas(); ++k) {
        const int replica = rank * replicas() + k;
        const int number =
            options_.replica_invariant ? replica * options_.accumulation + a : a * options_.replicas + replica;
        losses[static_cast<size_t>(number)] =
            Tensor::full(DType::kFloat64, {}, all.losses[static_cast<size_t>(rank * here + number_of(a, k))]);
      }
  ran.losses = std::move(losses);
}

/// The update of this rank's replicas; all ranks make it, or none.
// implements: N284
bool TrainingStep::share_update(const Update& update, Ran& ran) {
  Exchange& exchange = *options_.exchange;
  const bool may_stop = options_.executor.config.behaviour().enabled_flags() != 0;
  std::vector<Named> before;
  StepOutcome mine;
  bool finite = true;
  int r = 0;
  const uint8_t so_far = ran.result.status;  // agreed
  or_leave(exchange, [&] {
    if (shared_->gathers || shared_->excepted) {
      ran.gradients = shared_->reduction.all_parts(ran.gradients);
      ran.reduced.clear();
    }
    try {
      if (shared_->excepted) {
        // One process stops in the sums: at whole tensors, with their places. So it is on every rank.
        const std::unique_ptr<Executor> whole = device_.make_executor(update_.graph, update_run(0).options());
        for (const VariableSpec& v : kept())
          if (update_.graph.find(v.name) >= 0) whole->set_variable(v.name, update_run(0).variable(v.name));
        run_update(*whole, false, update, ran);
        throw std::logic_error("training: an exception in the sums of gradients is not met again");
      }
      for (r = 0; r < replicas(); ++r) {
        if (may_stop) before.push_back(tensors(r));
        finite = run_update(update_run(r), r == 0, update, ran) && finite;
        torn_ = true;  // until the step has ended
      }
    } catch (const FloatingPointError& e) {
      mine.exception = e;
      mine.replica = r;
    }
  });
  if (!may_stop && !options_.executor.status) return finite;
  mine.status = ran.result.status | shared_->sum_flags;
  const StepOutcome all = agree(exchange, mine, options_.executor.switches.dump_format);
  if (all.exception) {
    restore(before);
    throw FloatingPointError(*all.exception);
  }
  ran.result.status = so_far | all.status;
  return finite;
}

}  // namespace softamp
