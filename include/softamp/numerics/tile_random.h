// Random bits in hardware order: how the six workers of a tile draw for the roundings of an array.
//
// An array operation rounds its results in groups of four lanes; the last group may have 1..3. Groups are distributed
// over the workers (`work_split`); each worker draws for its groups, in ascending order, from its own xoroshiro128aox.
// What is not publicly known about this order is a switch of IpuSwitches, named in brackets below.
#pragma once

#include "softamp/numerics/xoroshiro.h"

namespace softamp {

/// The random word of each lane of a group, for the stochastic rounding of that lane; 0 where none was drawn.
struct LaneBits {
  uint32_t lane[4] = {0, 0, 0, 0};

  constexpr bool operator==(const LaneBits&) const = default;
};

/// How the roundings of one array operation are distributed, and which draws they take.
///
/// A draw of 64 bits serves four lanes with 16 bits each. With more than 16 random bits it serves two lanes with 32
/// bits each, so a full group takes two draws; this is our extension, no hardware is known to do so.
struct TileWork {
  static constexpr uint32_t kLanes = 4;

  uint64_t elements;  ///< results of the operation
  bool stochastic;    ///< results are rounded stochastically (ESR on, format subject to it)
  IpuSwitches switches{};

  SOFTAMP_INLINE uint64_t groups() const { return elements / kLanes + (elements % kLanes != 0); }
  /// Lanes of a group (0 .. groups() - 1): 4, or fewer in the last one.
  SOFTAMP_INLINE uint32_t lanes(uint64_t group) const {
    const uint64_t rest = elements - group * kLanes;
    return rest < kLanes ? static_cast<uint32_t>(rest) : kLanes;
  }

  /// How many of the groups before `group` (0 .. groups()) are worker's.
  SOFTAMP_INLINE uint64_t groups_before(uint64_t group, uint32_t worker) const {
    constexpr uint32_t kWorkers = Xoroshiro128aox::kWorkers;
    switch (switches.work_split) {
      case WorkSplit::kGrains: return group / kWorkers + (group % kWorkers > worker);
      case WorkSplit::kContiguous: {
        const uint64_t first = run_start(worker), end = run_start(worker + 1);
        return group <= first ? 0 : (group < end ? group : end) - first;
      }
      case WorkSplit::kOneStream: break;
    }
    return worker == 0 ? group : 0;
  }
  /// The worker (0..5) that handles a group [work_split].
  SOFTAMP_INLINE uint32_t worker_of(uint64_t group) const {
    if (switches.work_split == WorkSplit::kGrains) return static_cast<uint32_t>(group % Xoroshiro128aox::kWorkers);
    uint32_t worker = 0;
    while (groups_before(group + 1, worker) == groups_before(group, worker)) ++worker;
    return worker;
  }

  /// Draws that a group of so many lanes costs when it draws at all [sr_lane_map, sr_tail, sr_bits].
  SOFTAMP_INLINE uint32_t draws(uint32_t lane_count) const {
    if (draw_per_lane(lane_count)) return lane_count;
    const uint32_t per_draw = lanes_per_draw();
    return (lane_count + per_draw - 1) / per_draw;
  }

  /// The draws depend only on the position, not on the values, so they can be skipped [sr_advance].
  SOFTAMP_INLINE bool predictable() const { return !draws_at_all() || switches.sr_advance == DrawAdvance::kEveryGroup; }

  /// Draws for one group from its worker's generator. Bit i of `inexact_lanes` says that lane i's result is inexact; it
  /// is read under sr_advance = only when inexact, where a group without an inexact lane draws nothing and gets zeros.
  /// Lanes that are separate scalar instructions (sr_tail = draw per element) draw independently.
  SOFTAMP_INLINE LaneBits draw(Xoroshiro128aox& generator, uint32_t lane_count, uint32_t inexact_lanes = 0xF) const {
    assert(lane_count >= 1 && lane_count <= kLanes);
    LaneBits bits;
    if (!draws_at_all()) return bits;
    const bool scalar = lane_count < kLanes && switches.sr_tail == TailDraws::kDrawPerElement;
    const bool selective = switches.sr_advance == DrawAdvance::kOnlyWhenInexact;
    inexact_lanes &= (1u << lane_count) - 1;
    if (selective && inexact_lanes == 0) return bits;

    const uint32_t width = 64 / lanes_per_draw();
    const uint32_t lanes_of_draw = draw_per_lane(lane_count) ? 1 : lanes_per_draw();
    uint64_t word = 0;
    for (uint32_t i = 0; i < lane_count; ++i) {
      if (selective && scalar && !(inexact_lanes >> i & 1)) continue;
      const uint32_t place = i % lanes_of_draw;
      if (place == 0) word = generator();
      const uint32_t shift = width * (from_the_top() ? lanes_per_draw() - 1 - place : place);
      if (stochastic) bits.lane[i] = static_cast<uint32_t>(word >> shift & ((uint64_t{1} << width) - 1));
    }
    return bits;
  }

 private:
  SOFTAMP_INLINE uint64_t run_start(uint64_t worker) const {
    constexpr uint32_t kWorkers = Xoroshiro128aox::kWorkers;
    const uint64_t whole = groups() / kWorkers, longer = groups() % kWorkers;
    return worker * whole + (worker < longer ? worker : longer);
  }
  SOFTAMP_INLINE bool draws_at_all() const { return stochastic || switches.sr_draw_when_off; }
  // implements: N77
  SOFTAMP_INLINE uint32_t lanes_per_draw() const { return switches.sr_bits > 16 ? 2 : 4; }
  SOFTAMP_INLINE bool from_the_top() const { return switches.sr_lane_map == LaneMap::kDescending; }
  SOFTAMP_INLINE bool draw_per_lane(uint32_t lane_count) const {
    return switches.sr_lane_map == LaneMap::kDrawPerLane ||
           (lane_count < kLanes && switches.sr_tail == TailDraws::kDrawPerElement);
  }
};

/// The generators of a tile's six workers. Save and restore by copying; they survive from one operation to the next.
///
/// To round an array, visit its groups in ascending order:
///     for (uint64_t g = 0; g < work.groups(); ++g) { const LaneBits bits = random.draw(work, g, inexact_lanes); ... }
/// A thread that starts at group g takes a copy and calls `skip(work, 0, g)` on it first.
// implements: N77
struct TileRandom {
  Xoroshiro128aox worker[Xoroshiro128aox::kWorkers];

  constexpr bool operator==(const TileRandom&) const = default;

  /// The state after poprand's setSeed; see Xoroshiro128aox::for_worker.
  static SOFTAMP_INLINE TileRandom from_seed(uint64_t master_seed, uint32_t seed_modifier = 0, uint32_t tile = 0) {
    TileRandom t;
    for (uint32_t w = 0; w < Xoroshiro128aox::kWorkers; ++w)
      t.worker[w] = Xoroshiro128aox::for_worker(master_seed, seed_modifier, tile, w);
    return t;
  }

  /// The bits of a group (0 .. work.groups() - 1); `inexact_lanes` as in TileWork::draw.
  SOFTAMP_INLINE LaneBits draw(const TileWork& work, uint64_t group, uint32_t inexact_lanes = 0xF) {
    return work.draw(worker[work.worker_of(group)], work.lanes(group), inexact_lanes);
  }

  /// Skips the draws of the groups first .. end - 1, end <= work.groups(). Only where work.predictable().
  constexpr SOFTAMP_HD void skip(const TileWork& work, uint64_t first, uint64_t end) {
    assert(work.predictable());
    assert(first <= end && end <= work.groups());
    if (first == end || !(work.stochastic || work.switches.sr_draw_when_off)) return;
    for (uint32_t w = 0; w < Xoroshiro128aox::kWorkers; ++w) {
      uint64_t groups = work.groups_before(end, w) - work.groups_before(first, w);
      uint64_t draws = 0;
      if (w == work.worker_of(end - 1)) {  // the only group that may have fewer lanes
        draws = work.draws(work.lanes(end - 1));
        --groups;
      }
      worker[w].discard(groups * work.draws(TileWork::kLanes) + draws);
    }
  }
};

}  // namespace softamp
