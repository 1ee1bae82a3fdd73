#include "src/train/replica_options.h"

namespace softamp {
namespace {

StochasticRoundingBehaviour mode_of(const ExecutorOptions& o) {
  const auto& f = o.config.floating_point_behaviour;
  return f.set_all ? StochasticRoundingBehaviour::kOn : f.esr;
}

/// Without enable_prng_stability the third mode only turns stochastic rounding on (TensorFlow for the IPU).
bool identical_only(const ExecutorOptions& o) {
  return mode_of(o) == StochasticRoundingBehaviour::kReplicaIdenticalOnly &&
         o.config.experimental.enable_prng_stability;
}

}  // namespace

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

ExecutorOptions gradient_options(const ExecutorOptions& options, int replica, int replicas) {
  ExecutorOptions o = replicas > 1 && identical_only(options) ? nearest_options(options) : options;
  o.replica = static_cast<uint32_t>(replica);
  return o;
}

ExecutorOptions update_options(const ExecutorOptions& options, int replica, int replicas) {
  ExecutorOptions o = options;
  o.replica = replicas > 1 && !options.config.experimental.enable_prng_stability ? static_cast<uint32_t>(replica) : 0;
  o.stop = {};  // short; and so the updates of all replicas are done or none is
  return o;
}

std::string replica_warning(const ExecutorOptions& options, int replicas) {
  if (replicas > 1 && mode_of(options) == StochasticRoundingBehaviour::kReplicaIdenticalOnly &&
      !options.config.experimental.enable_prng_stability)
    return "esr is REPLICA_IDENTICAL_ONLY, but experimental.enable_prng_stability is off: every operation rounds "
           "stochastically with bits of its own replica, and weights of 16 bits drift apart";
  return {};
}

}  // namespace softamp
