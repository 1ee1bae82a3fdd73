// What a training run needs of the host's memory at least, and a refusal where that is more than there is.
#pragma once

#include <cstdint>
#include <string>

#include "softamp/train/trainer.h"
#include "src/machine/machine_memory.h"

namespace softamp::train_detail {

/// Bytes: each replica keeps its own parameters, slots and activations from its first step on.
uint64_t needed_memory(const Trainer::Memory& of_one, int replicas);

/// Why such a run cannot work here; empty where it may.
std::string lacking_memory(const Trainer::Memory& of_one, int replicas, const engine::MachineMemory& there);

}  // namespace softamp::train_detail
