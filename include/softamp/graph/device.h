// A model of the device: tiles, their workers and their memory. It tells which worker rounds which element (for
// hardware order and exception reports), and whether a program fits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace softamp {

/// Elements of a tensor lie on the tiles in runs: tile t holds elements [t L, (t + 1) L), where L is the least multiple
/// of `grain` that is at least `minimum` and lets the tensor fit on the tiles. On a tile, groups of four elements go to
/// the six workers in turn (`work_split`). The mapping is ours: compilers choose theirs by cost.
struct DeviceModel {
  int tiles = 1472;                  ///< (1 .. 2^20) [=1472, the Mk2 device]
  int64_t memory_per_tile = 638976;  ///< bytes (>= 0; 0: unlimited) [=638976, 624 KiB]
  int64_t grain = 4;                 ///< elements; a multiple of 4 [=4: one draw's lanes]
  int64_t minimum = 64;              ///< least elements to a tile [=64: 128 bytes of halves]

  int64_t bytes() const { return memory_per_tile * tiles; }
  /// L above, for a tensor of so many elements (>= 1).
  int64_t elements_per_tile(int64_t elements) const {
    const int64_t even = (elements + tiles - 1) / tiles;
    const int64_t least = even > minimum ? even : minimum;
    return (least + grain - 1) / grain * grain;
  }
  uint32_t tile_of(int64_t element, int64_t elements) const {
    return static_cast<uint32_t>(element / elements_per_tile(elements));
  }
};

/// What occupies the device.
struct MemoryReport {
  struct Entry {
    std::string tensor;  ///< "node" or "node:port"
    int64_t bytes;
  };
  int64_t peak = 0;            ///< bytes at the fullest moment
  int64_t capacity = 0;        ///< bytes of the device; 0: unlimited
  std::string at;              ///< the operation that runs then
  std::vector<Entry> largest;  ///< of the tensors in memory then, largest first, at most 10
  /// One line a tensor: "  12582912 bytes  conv1/Conv2D".
  std::string text() const;
};

}  // namespace softamp
