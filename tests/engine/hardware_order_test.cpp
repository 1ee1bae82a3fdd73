// Random words in hardware order, against TileRandom asked tile by tile.
#include "softamp/engine/hardware_order.h"

#include <gtest/gtest.h>

namespace softamp::engine {
namespace {

DeviceModel device_of(int tiles, int64_t minimum, int64_t grain) {
  DeviceModel d;
  d.tiles = tiles;
  d.minimum = minimum;
  d.grain = grain;
  return d;
}

// tests: N94
TEST(HardwareOrder, EveryTileDrawsForItsOwnRun) {
  for (const int tiles : {1, 2, 3, 7, 1472}) {
    for (const WorkSplit split : {WorkSplit::kGrains, WorkSplit::kContiguous, WorkSplit::kOneStream}) {
      IpuSwitches switches;
      switches.work_split = split;
      switches.sr_bits = 16;
      const DeviceModel device = device_of(tiles, 8, 4);
      HardwareOrder order(device, switches, 42, 5);
      std::vector<TileRandom> tile;
      for (int t = 0; t < tiles; ++t) tile.push_back(TileRandom::from_seed(42, 5, static_cast<uint32_t>(t)));
      std::vector<uint32_t> words;
      // One stream after another, operation after operation; lengths with tails, shorter than a tile, empty.
      for (const uint64_t outputs : {uint64_t{37}, uint64_t{1}, uint64_t{0}, uint64_t{100}, uint64_t{8}}) {
        const uint64_t blocks = outputs == 100 ? 3 : 1;
        order.draw(blocks, outputs, words);
        ASSERT_EQ(words.size(), blocks * outputs);
        if (outputs == 0) continue;
        const auto length = static_cast<uint64_t>(device.elements_per_tile(static_cast<int64_t>(outputs)));
        for (uint64_t block = 0; block < blocks; ++block) {
          for (uint64_t i = 0; i < outputs;) {
            const uint64_t t = i / length, here = std::min(length, outputs - t * length);
            const TileWork work{here, true, switches};
            for (uint64_t group = 0; group < work.groups(); ++group) {
              const LaneBits bits = tile[t].draw(work, group);
              for (uint32_t lane = 0; lane < work.lanes(group); ++lane, ++i) {
                ASSERT_EQ(words[block * outputs + i], bits.lane[lane]) << "tiles " << tiles << ", element " << i;
                ASSERT_EQ(order.worker_of(i, outputs), work.worker_of(group));
                ASSERT_EQ(device.tile_of(static_cast<int64_t>(i), static_cast<int64_t>(outputs)), t);
              }
            }
          }
        }
      }
    }
  }
}

TEST(HardwareOrder, MoreThanSixteenBitsTakeTwoDrawsToAGroup) {
  IpuSwitches switches;
  switches.sr_bits = 20;
  HardwareOrder order(device_of(1, 64, 4), switches, 7, 0);
  TileRandom tile = TileRandom::from_seed(7, 0, 0);
  std::vector<uint32_t> words;
  order.draw(1, 50, words);
  const TileWork work{50, true, switches};
  for (uint64_t group = 0, i = 0; group < work.groups(); ++group) {
    const LaneBits bits = tile.draw(work, group);
    for (uint32_t lane = 0; lane < work.lanes(group); ++lane, ++i) ASSERT_EQ(words[i], bits.lane[lane]);
  }
}

TEST(HardwareOrder, ResetStartsTheStreamsAgainAndACopyGoesOnAlone) {
  HardwareOrder order(device_of(2, 8, 4), IpuSwitches{}, 1, 0);
  std::vector<uint32_t> first, second, again;
  order.draw(1, 30, first);
  HardwareOrder copy = order;
  order.draw(1, 30, second);
  EXPECT_NE(first, second);
  copy.draw(1, 30, again);
  EXPECT_EQ(second, again);
  order.reset();
  order.draw(1, 30, again);
  EXPECT_EQ(first, again);
}

TEST(HardwareOrder, WorkersTakeGroupsOfFourInTurn) {
  const HardwareOrder order(device_of(1, 64, 4), IpuSwitches{}, 0, 0);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(order.worker_of(i, 100), i / 4 % 6);
}

TEST(DeviceModel, ElementsLieOnTilesInRuns) {
  DeviceModel d;
  EXPECT_EQ(d.bytes(), int64_t{1472} * 638976);
  EXPECT_EQ(d.elements_per_tile(1), 64);
  EXPECT_EQ(d.elements_per_tile(1472 * 64), 64);
  EXPECT_EQ(d.elements_per_tile(1472 * 64 + 1), 68) << "a multiple of the grain";
  for (const int64_t elements : {int64_t{1}, int64_t{1472} * 65, int64_t{1} << 40}) {
    const int64_t length = d.elements_per_tile(elements);
    EXPECT_GE(length * d.tiles, elements);
    EXPECT_LT(d.tile_of(elements - 1, elements), static_cast<uint32_t>(d.tiles));
  }
}

}  // namespace
}  // namespace softamp::engine
