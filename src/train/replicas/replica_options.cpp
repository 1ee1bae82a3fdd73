#include "src/train/replicas/replica_options.h"

#include "softamp/train/exchange.h"

namespace softamp {
namespace {

StochasticRoundingBehaviour mode_of(const ExecutorOptions& o) {
  const auto& f = o.config.floating_point_behaviour;
  return f.set_all ? StochasticRoundingBehaviour::kOn : f.esr;
}

/// Whether the gradient graph rounds to nearest although the update does not. A device that does not keep identical
/// seeds takes the third mode for ON; one replica computes nothing that others do not; slices are computed alike by any
/// number of replicas.
// implements: N279
bool identical_only(const TrainerOptions& o) {
  return mode_of(o.executor) == StochasticRoundingBehaviour::kReplicaIdenticalOnly && !o.replica_drift &&
         (o.replicas > 1 || o.replica_invariant);
}

}  // namespace

// implements: N283
int gradients_of_a_step(const TrainerOptions& o) {
  return o.replica_invariant ? o.replicas * o.accumulation : o.replicas;
}

double reduction_divisor(const TrainerOptions& o) {
  const int replicas = o.reduction == ReplicaReduction::kMean ? gradients_of_a_step(o) : 1;
  const int micro_batches = o.accumulation_reduction == ReplicaReduction::kMean ? o.accumulation : 1;
  return static_cast<double>(replicas) * micro_batches;
}

int gradient_steps(const TrainerOptions& o) {
  return o.replica_invariant ? o.replicas * o.accumulation : o.accumulation;
}

int local_replicas(const TrainerOptions& o) { return o.exchange ? o.replicas / o.exchange->ranks() : o.replicas; }

int first_replica(const TrainerOptions& o) { return o.exchange ? o.exchange->rank() * local_replicas(o) : 0; }

int local_parts(const TrainerOptions& o) { return local_replicas(o) * (o.replica_invariant ? o.accumulation : 1); }

std::vector<int64_t> batches_here(const TrainerOptions& o) {
  const int64_t here = local_replicas(o), first = first_replica(o), accumulation = o.accumulation;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < here * accumulation; ++i)
    numbers.push_back(o.replica_invariant ? first * accumulation + i : i / here * o.replicas + first + i % here);
  return numbers;
}

// implements: N280
ExecutorOptions nearest_options(ExecutorOptions o) {
  auto& f = o.config.floating_point_behaviour;
  if (f.set_all) {
    f.inv = f.div0 = f.oflo = f.nanoo = true;
    f.set_all = false;
  }
  f.esr = StochasticRoundingBehaviour::kOff;
  if (o.semantics)
    for (RoundingPolicy* p : {&o.semantics->wide, &o.semantics->narrow, &o.semantics->quarter})
      if (p->stochastic()) p->mode = RoundingMode::kNearestEven;
  return o;
}

// implements: N79, N279, N283
ExecutorOptions gradient_options(const TrainerOptions& options, int replica) {
  ExecutorOptions o = identical_only(options) ? nearest_options(options.executor) : options.executor;
  o.replica = options.replica_invariant ? 0 : static_cast<uint32_t>(replica);
  return o;
}

// implements: N279, N282
ExecutorOptions update_options(const TrainerOptions& options, int replica) {
  ExecutorOptions o = options.executor;
  o.replica = updates_differ(options) ? static_cast<uint32_t>(replica) : 0;
  o.stop = {};  // short; and so the updates of all replicas are done or none is
  return o;
}

// implements: N282
bool updates_differ(const TrainerOptions& options) { return options.replicas > 1 && options.replica_drift; }

std::string drift_warning(const TrainerOptions& options) {
  return "replica_drift: each of the " + std::to_string(options.replicas) +
         " replicas rounds its update with random bits of its own, so that their weights drift apart; without it they "
         "stay equal";
}

}  // namespace softamp
