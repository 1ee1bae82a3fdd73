// A training run whose replicas are shared by the ranks of an exchange: what all have in common, and what only rank 0
// does.
#pragma once

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

#include "softamp/train/checkpoint.h"
#include "softamp/train/exchange.h"
#include "softamp/train/training_run.h"

namespace softamp::train_detail {

/// What this rank writes and prints: all of it on rank 0 and without an exchange, nothing on others. Throws
/// std::invalid_argument for what needs all replicas in one process.
RunOutput output_here(const RunOutput& asked);

/// Thrown on all ranks alike, which then end as after a run: nobody leaves before rank 0 has told why.
class RanksDiffer : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Throws RanksDiffer, which names the first rank, and the first setting, image set or
/// option, in which it differs from rank 0.
void compare_ranks(Exchange& exchange, const TrainSettings& settings, const RunInputs& inputs, const RunOutput& asked);

/// What `load` gives on rank 0, on all. Throws CheckpointError.
Checkpoint checkpoint_for_all(Exchange& exchange, const std::string& file, const std::function<Checkpoint()>& load);

/// Whether all ranks have the same error: they agreed on it before it was thrown.
bool all_have(const std::exception& error);

/// Tells the other ranks of an error that they do not have, too.
void leave_with(Exchange& exchange, const std::exception& error);

/// Threads of a rank, where the settings say none: its share of the cores that it may use.
int threads_of_rank(const Exchange& exchange);

}  // namespace softamp::train_detail
