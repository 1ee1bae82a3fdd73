// Where stochastic rounding applies in a data-parallel step, and with which random bits (N279, N79).
#pragma once

#include <string>

#include "softamp/graph/executor.h"

namespace softamp {

/// The gradient graph differs from replica to replica: it rounds stochastically only in mode ON, with its own bits.
ExecutorOptions gradient_options(const ExecutorOptions& options, int replica, int replicas);

/// The update is replica-identical: the same bits everywhere, if the device keeps identical seeds for such operations
/// (enable_prng_stability); otherwise each replica draws its own, and 16-bit weights drift apart.
ExecutorOptions update_options(const ExecutorOptions& options, int replica, int replicas);

/// The same options with every rounding to nearest.
ExecutorOptions nearest_options(ExecutorOptions options);

/// A warning about the combination, or "".
std::string replica_warning(const ExecutorOptions& options, int replicas);

}  // namespace softamp
