#include "softamp/engine/hardware_order.h"

#include <algorithm>

namespace softamp::engine {

HardwareOrder::HardwareOrder(const DeviceModel& device, const IpuSwitches& switches, uint64_t seed, uint32_t modifier)
    : device_(device), switches_(switches), seed_(seed), modifier_(modifier) {}

// implements: N94
TileRandom& HardwareOrder::tile(size_t t) {
  while (tiles_.size() <= t)
    tiles_.push_back(TileRandom::from_seed(seed_, modifier_, static_cast<uint32_t>(tiles_.size())));
  return tiles_[t];
}

// implements: N94
void HardwareOrder::draw(uint64_t blocks, uint64_t outputs, std::vector<uint32_t>& words) {
  words.assign(blocks * outputs, 0);
  if (outputs == 0) return;
  const auto length = static_cast<uint64_t>(device_.elements_per_tile(static_cast<int64_t>(outputs)));
  for (uint64_t p = 0; p < blocks; ++p) {
    for (uint64_t start = 0, t = 0; start < outputs; start += length, ++t) {
      const TileWork work{std::min(length, outputs - start), true, switches_};
      TileRandom& random = tile(t);
      uint32_t* const out = words.data() + p * outputs + start;
      for (uint64_t g = 0; g < work.groups(); ++g) {
        const LaneBits bits = random.draw(work, g);
        for (uint32_t lane = 0; lane < work.lanes(g); ++lane) out[g * TileWork::kLanes + lane] = bits.lane[lane];
      }
    }
  }
}

uint32_t HardwareOrder::worker_of(uint64_t index, uint64_t elements) const {
  const auto length = static_cast<uint64_t>(device_.elements_per_tile(static_cast<int64_t>(elements)));
  const uint64_t start = index / length * length;
  const TileWork work{std::min(length, elements - start), true, switches_};
  return work.worker_of((index - start) / TileWork::kLanes);
}

void HardwareOrder::reset() { tiles_.clear(); }

}  // namespace softamp::engine
