// Hardware order: lanes, tails, advance, work split and jumps, by hand and against a model of one worker after another.
#include "softamp/numerics/tile_random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace softamp {
namespace {

constexpr uint32_t kWorkers = Xoroshiro128aox::kWorkers;

/// Which lane bits, and which generator states, an operation should produce: each worker is a list of groups, each
/// group a list of instructions, each instruction a list of lanes.
class Model {
 public:
  Model(const TileWork& work, const std::vector<bool>& inexact) : work_(work), inexact_(inexact) {}

  std::vector<uint32_t> run(TileRandom& random) const {
    std::vector<uint32_t> words(work_.elements, 0);
    const std::vector<std::vector<uint64_t>> dealt = deal();
    for (uint32_t w = 0; w < kWorkers; ++w)
      for (uint64_t group : dealt[w])
        for (const std::vector<uint64_t>& lanes : instructions(group)) execute(lanes, random.worker[w], words);
    return words;
  }

 private:
  std::vector<std::vector<uint64_t>> deal() const {
    std::vector<std::vector<uint64_t>> dealt(kWorkers);
    const uint64_t groups = (work_.elements + 3) / 4;
    if (work_.switches.work_split == WorkSplit::kContiguous) {
      std::vector<uint64_t> length(kWorkers, 0);
      for (uint64_t g = 0; g < groups; ++g) ++length[g % kWorkers];  // as even as can be, the first ones longer
      uint64_t next = 0;
      for (uint32_t w = 0; w < kWorkers; ++w)
        for (uint64_t i = 0; i < length[w]; ++i) dealt[w].push_back(next++);
    } else {
      const bool grains = work_.switches.work_split == WorkSplit::kGrains;
      for (uint64_t g = 0; g < groups; ++g) dealt[grains ? g % kWorkers : 0].push_back(g);
    }
    return dealt;
  }

  std::vector<std::vector<uint64_t>> instructions(uint64_t group) const {
    std::vector<uint64_t> lanes;
    for (uint64_t e = 4 * group; e < std::min(4 * group + 4, work_.elements); ++e) lanes.push_back(e);
    if (lanes.size() == 4 || work_.switches.sr_tail == TailDraws::kOneDraw) return {lanes};
    std::vector<std::vector<uint64_t>> scalars;
    for (uint64_t e : lanes) scalars.push_back({e});
    return scalars;
  }

  void execute(const std::vector<uint64_t>& lanes, Xoroshiro128aox& g, std::vector<uint32_t>& words) const {
    const IpuSwitches& s = work_.switches;
    if (!work_.stochastic && !s.sr_draw_when_off) return;
    if (s.sr_advance == DrawAdvance::kOnlyWhenInexact &&
        std::none_of(lanes.begin(), lanes.end(), [&](uint64_t e) { return inexact_[e]; }))
      return;
    const bool halves = s.sr_bits > 16;
    std::vector<uint32_t> parts;  // in the order in which lanes take them
    while (parts.size() < lanes.size()) {
      const uint64_t draw = g();
      std::vector<uint32_t> split;
      for (int shift = 0; shift < 64; shift += halves ? 32 : 16)
        split.push_back(static_cast<uint32_t>(draw >> shift & (halves ? 0xFFFFFFFFu : 0xFFFFu)));
      if (s.sr_lane_map == LaneMap::kDescending) std::reverse(split.begin(), split.end());
      if (s.sr_lane_map == LaneMap::kDrawPerLane) split.resize(1);
      parts.insert(parts.end(), split.begin(), split.end());
    }
    if (work_.stochastic)
      for (size_t i = 0; i < lanes.size(); ++i) words[lanes[i]] = parts[i];
  }

  TileWork work_;
  std::vector<bool> inexact_;
};

template <class Visit>
void for_each_setting(Visit visit) {
  for (bool stochastic : {true, false})
    for (int bits : {0, 13, 16, 17, 32})
      for (LaneMap map : {LaneMap::kAscending, LaneMap::kDescending, LaneMap::kDrawPerLane})
        for (DrawAdvance advance : {DrawAdvance::kEveryGroup, DrawAdvance::kOnlyWhenInexact})
          for (bool when_off : {false, true})
            for (TailDraws tail : {TailDraws::kOneDraw, TailDraws::kDrawPerElement})
              for (WorkSplit split : {WorkSplit::kGrains, WorkSplit::kContiguous, WorkSplit::kOneStream}) {
                TileWork work{0, stochastic};
                work.switches.sr_bits = bits;
                work.switches.sr_lane_map = map;
                work.switches.sr_advance = advance;
                work.switches.sr_draw_when_off = when_off;
                work.switches.sr_tail = tail;
                work.switches.work_split = split;
                visit(work);
              }
}

// tests: N73, N77
TEST(TileRandom, EverySettingAgreesWithTheModel) {
  const TileRandom start = TileRandom::from_seed(42);
  Xoroshiro128aox coin{1, 2};
  for_each_setting([&](TileWork work) {
    for (uint64_t elements : {0, 1, 2, 3, 4, 5, 7, 23, 24, 27, 28, 50, 97}) {
      work.elements = elements;
      std::vector<bool> inexact(elements);
      for (uint64_t e = 0; e < elements; ++e) inexact[e] = (coin() & 3) == 0;  // about a third of the groups is exact

      TileRandom expected_state = start, state = start;
      const std::vector<uint32_t> expected = Model(work, inexact).run(expected_state);
      std::vector<uint32_t> words;
      for (uint64_t g = 0; g < work.groups(); ++g) {
        uint32_t mask = 0xF0;  // bits beyond the lanes are not read
        for (uint32_t i = 0; i < work.lanes(g); ++i) mask |= uint32_t{inexact[4 * g + i]} << i;
        const LaneBits bits = state.draw(work, g, mask);
        words.insert(words.end(), bits.lane, bits.lane + work.lanes(g));
      }
      ASSERT_EQ(words, expected) << "elements " << elements;
      ASSERT_EQ(state, expected_state) << "elements " << elements;
    }
  });
}

// By hand, from the first draws after $PRNG_SEED = 0xdeadbeef: 697c5ca6164f8239 9f53f58c1eb3d820 9569e9df28831450.
TEST(TileRandom, LanesByHand) {
  const auto lanes = [](uint32_t count, auto set) {
    Xoroshiro128aox worker = Xoroshiro128aox::from_seed_register(0xDEADBEEF);
    TileWork work{count, true};
    set(work.switches);
    const LaneBits bits = work.draw(worker, count);
    return std::vector<uint32_t>(bits.lane, bits.lane + 4);
  };
  using Words = std::vector<uint32_t>;
  EXPECT_EQ(lanes(4, [](IpuSwitches&) {}), (Words{0x8239, 0x164F, 0x5CA6, 0x697C}));
  EXPECT_EQ(lanes(4, [](IpuSwitches& s) { s.sr_lane_map = LaneMap::kDescending; }),
            (Words{0x697C, 0x5CA6, 0x164F, 0x8239}));
  EXPECT_EQ(lanes(3, [](IpuSwitches& s) { s.sr_lane_map = LaneMap::kDrawPerLane; }),
            (Words{0x8239, 0xD820, 0x1450, 0}));
  EXPECT_EQ(lanes(3, [](IpuSwitches&) {}), (Words{0x8239, 0x164F, 0x5CA6, 0}));
  EXPECT_EQ(lanes(3, [](IpuSwitches& s) { s.sr_tail = TailDraws::kDrawPerElement; }),
            (Words{0x8239, 0xD820, 0x1450, 0}));
  EXPECT_EQ(lanes(4, [](IpuSwitches& s) { s.sr_bits = 17; }), (Words{0x164F8239, 0x697C5CA6, 0x1EB3D820, 0x9F53F58C}));
}

TEST(TileRandom, WorkersByHand) {
  const auto workers = [](WorkSplit split) {
    TileWork work{4 * 15 + 1, true};  // 16 groups
    work.switches.work_split = split;
    std::vector<uint32_t> of_group;
    for (uint64_t g = 0; g < work.groups(); ++g) of_group.push_back(work.worker_of(g));
    return of_group;
  };
  using Workers = std::vector<uint32_t>;
  EXPECT_EQ(workers(WorkSplit::kGrains), (Workers{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3}));
  EXPECT_EQ(workers(WorkSplit::kContiguous), (Workers{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(workers(WorkSplit::kOneStream), (Workers(16, 0)));
}

TEST(TileRandom, SkipEqualsDrawing) {
  const TileRandom start = TileRandom::from_seed(7, 1, 3);
  int settings = 0;
  for_each_setting([&](TileWork work) {
    if (!work.predictable()) return;
    ++settings;
    for (uint64_t elements : {0, 1, 3, 6, 24, 27, 49, 98}) {
      work.elements = elements;
      for (uint64_t first = 0; first <= work.groups(); first += 3) {
        TileRandom drawn = start;
        for (uint64_t g = 0; g < first; ++g) drawn.draw(work, g);
        TileRandom at_first = start;
        at_first.skip(work, 0, first);
        ASSERT_EQ(at_first, drawn) << "elements " << elements << " first " << first;
        for (uint64_t g = first; g < work.groups(); ++g) drawn.draw(work, g);
        at_first.skip(work, first, work.groups());
        ASSERT_EQ(at_first, drawn) << "elements " << elements << " first " << first;
      }
    }
  });
  EXPECT_EQ(settings, 5 * 3 * 2 * 3 * (2 + 2 + 1)) << "all but those whose draws depend on the values";
}

TEST(TileRandom, SkipsAHugeArray) {
  TileWork work{(uint64_t{1} << 40) + 3, true};
  TileRandom skipped = TileRandom::from_seed(42);
  skipped.skip(work, 0, work.groups());
  const TileRandom start = TileRandom::from_seed(42);
  for (uint32_t w = 0; w < kWorkers; ++w) {
    Xoroshiro128aox expected = start.worker[w];
    expected.jump(work.groups() / kWorkers + (w < work.groups() % kWorkers));
    EXPECT_EQ(skipped.worker[w], expected) << w;
  }
}

TEST(TileRandom, SavedStateRestores) {
  const TileWork work{40, true};
  TileRandom random = TileRandom::from_seed(42);
  random.draw(work, 0);
  const TileRandom saved = random;
  const LaneBits once = random.draw(work, 1);
  EXPECT_NE(random, saved);
  random = saved;
  EXPECT_EQ(random.draw(work, 1), once);
}

TEST(TileRandom, SeedingFollowsTheWorkerTable) {
  const TileRandom random = TileRandom::from_seed(uint64_t{1} << 32 | 42, 7, 1471);
  EXPECT_EQ(random.worker[5], (Xoroshiro128aox{0xD5F169478DFE5796, 0x4A7807AC6415176E}));
  for (uint32_t w = 0; w < kWorkers; ++w)
    EXPECT_EQ(random.worker[w], Xoroshiro128aox::for_worker(uint64_t{1} << 32 | 42, 7, 1471, w));
}

}  // namespace
}  // namespace softamp
