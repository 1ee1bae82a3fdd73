#include "src/train/run/run_memory.h"

namespace softamp::train_detail {

uint64_t needed_memory(const Trainer::Memory& m, int replicas) {
  return static_cast<uint64_t>(m.parameters + m.slots + m.activations) * static_cast<uint64_t>(replicas);
}

std::string lacking_memory(const Trainer::Memory& m, int replicas, const engine::MachineMemory& there) {
  const uint64_t needed = needed_memory(m, replicas);
  if (needed <= there.bytes) return {};
  return "settings: 'replicas' " + std::to_string(replicas) + " x (parameters " + std::to_string(m.parameters) +
         " + optimizer state " + std::to_string(m.slots) + " + activations " + std::to_string(m.activations) + ") is " +
         std::to_string(needed) + " bytes, and this process gets at most " + there.text() +
         "; expected a smaller 'batch_size', or fewer replicas";
}

}  // namespace softamp::train_detail
