// Where stochastic rounding applies in a data-parallel step, and with which random bits (N279, N79).
#pragma once

#include <string>

#include "softamp/graph/executor.h"

namespace softamp {

/// The gradient graph differs from replica to replica: it rounds stochastically in mode ON alone, with bits of its own.
ExecutorOptions gradient_options(const ExecutorOptions& options, int replica, int replicas);

/// The update is replica-identical: the same bits everywhere, if the device keeps identical seeds for such operations
/// (enable_prng_stability); without, each replica draws its own, and weights of 16 bits drift apart.
ExecutorOptions update_options(const ExecutorOptions& options, int replica, int replicas);

/// The same options with every rounding to nearest.
ExecutorOptions nearest_options(ExecutorOptions options);

/// "" or what is to be said about the combination.
std::string replica_warning(const ExecutorOptions& options, int replicas);

}  // namespace softamp
