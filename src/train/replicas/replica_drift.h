// How far the weights of replicas are apart.
#pragma once

#include <optional>

#include "src/train/training_step.h"

namespace softamp {

/// Over all variables of the model; empty where all replicas have the same bits.
std::optional<ReplicaDrift> replica_drift(const TrainingStep& training);

/// The same where the ranks of the step's exchange share the replicas. All ranks call it.
std::optional<ReplicaDrift> shared_replica_drift(const TrainingStep& training);

}  // namespace softamp
