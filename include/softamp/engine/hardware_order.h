// Random words in the device's own order (random = xoroshiro128aox): every worker of every tile draws from its own
// generator, ascending, for the elements that the device model gives it.
#pragma once

#include <cstdint>
#include <vector>

#include "softamp/graph/device.h"
#include "softamp/numerics/tile_random.h"

namespace softamp::engine {

// implements: N94
class HardwareOrder {
 public:
  /// The state after poprand's setSeed on every tile.
  HardwareOrder(const DeviceModel& device, const IpuSwitches& switches, uint64_t seed, uint32_t modifier);

  /// Fills words[p * outputs + i] for `blocks` rounds over `outputs` elements: round p after round p - 1, and in a
  /// round each tile's elements as numerics/tile_random.h says.
  void draw(uint64_t blocks, uint64_t outputs, std::vector<uint32_t>& words);

  /// The worker that rounds element `index` of `elements`.
  uint32_t worker_of(uint64_t index, uint64_t elements) const;

  /// Puts the generators back to their seeds.
  void reset();

 private:
  TileRandom& tile(size_t t);

  DeviceModel device_;
  IpuSwitches switches_;
  uint64_t seed_;
  uint32_t modifier_;
  std::vector<TileRandom> tiles_;  ///< those used so far
};

}  // namespace softamp::engine
