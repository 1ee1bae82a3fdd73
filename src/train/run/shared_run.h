// A training run whose replicas are shared by the ranks of an exchange: what all have in common, and what only rank 0
// does.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "softamp/train/checkpoint.h"
#include "softamp/train/exchange.h"
#include "softamp/train/training_run.h"

namespace softamp::train_detail {

/// What this rank writes and prints: all of it on rank 0 and without an exchange, nothing on others. Throws
/// std::invalid_argument for what needs all replicas in one process.
RunOutput output_here(const RunOutput& asked);

/// Throws on all ranks alike std::invalid_argument that names the first rank, and the first setting, image set or
/// option, in which it differs from rank 0.
void compare_ranks(Exchange& exchange, const TrainSettings& settings, const RunInputs& inputs, const RunOutput& asked);

/// What `load` gives on rank 0, on all. Throws CheckpointError.
Checkpoint checkpoint_for_all(Exchange& exchange, const std::string& file, const std::function<Checkpoint()>& load);

/// Tells the other ranks of an error that they do not have, too. Exceptions and overflows that end a step have been
/// agreed on before.
void leave_with(Exchange& exchange, const std::exception& error);

/// Threads of a rank, where the settings say none: its share of the cores that it may use.
int threads_of_rank(const Exchange& exchange);

}  // namespace softamp::train_detail
