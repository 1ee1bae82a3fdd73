// How far the weights of replicas are apart.
#pragma once

#include <optional>

#include "src/train/training_step.h"

namespace softamp {

/// Over all variables of the model; empty where all replicas have the same bits.
std::optional<ReplicaDrift> replica_drift(const TrainingStep& training);

}  // namespace softamp
