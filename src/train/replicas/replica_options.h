// Where stochastic rounding applies in a data-parallel step, and with which random bits (N79, N279, N282, N283).
#pragma once

#include <string>
#include <vector>

#include "softamp/train/trainer.h"

namespace softamp {

/// How many gradients of a variable an update takes: one of each replica, or one of each slice.
int gradients_of_a_step(const TrainerOptions& options);
/// By what their sum is divided: 1 of sums, else the number of all that a mean is asked of, replicas, micro-batches, or
/// both.
double reduction_divisor(const TrainerOptions& options);
/// Executions of the gradient graph of which each has random bits of its own: micro-batches, or slices.
int gradient_steps(const TrainerOptions& options);

/// Replicas of this process: all, or its share of those of all ranks; and the number of the first.
int local_replicas(const TrainerOptions& options);
int first_replica(const TrainerOptions& options);
/// gradients_of_a_step, of this process.
int local_parts(const TrainerOptions& options);

/// The micro-batches of this process among those of a step, in the order of Trainer::step.
std::vector<int64_t> batches_here(const TrainerOptions& options);

/// Of the gradient graph, which differs from replica to replica: in mode ON it rounds stochastically, with the
/// replica's own bits.
ExecutorOptions gradient_options(const TrainerOptions& options, int replica);

/// Of the update, which all replicas compute alike, with the same bits; with replica_drift each draws its own.
ExecutorOptions update_options(const TrainerOptions& options, int replica);

/// The same options with every rounding to nearest.
ExecutorOptions nearest_options(ExecutorOptions options);

/// Whether replicas may round the same update to different weights, if it draws random bits at all.
bool updates_differ(const TrainerOptions& options);

/// What to say where they do.
std::string drift_warning(const TrainerOptions& options);

}  // namespace softamp
