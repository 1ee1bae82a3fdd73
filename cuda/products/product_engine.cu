// Products of a node: their parts as tables in the device's memory, the order of launches, and the kernels with one
// output per thread: by the body, and adding up independent partials.
#include <algorithm>
#include <map>

#include "cuda/products/product_body.h"
#include "cuda/products/product_finish.h"
#include "cuda/products/product_steps.h"
#include "cuda/products/product_ways.h"
#include "softamp/engine/product_node.h"

namespace softamp::cuda {
namespace {

constexpr unsigned kCellThreads = ProductLaunch::kCellRows * ProductLaunch::kCellColumns;

/// Calls body(part, row, column) for a thread's output of a cell.
template <class Block, class Body>
SOFTAMP_HD void each_output(const ProductLaunch& launch, Block& block, const Body& body) {
  const Tile cell = launch.find<true>(block.index(), ProductLaunch::kCellRows, ProductLaunch::kCellColumns);
  block.each([&](unsigned t) {
    const uint32_t row = cell.row + t / ProductLaunch::kCellColumns;
    const uint32_t column = cell.column + t % ProductLaunch::kCellColumns;
    if (row < cell.part->part.rows && column < cell.part->part.columns) body(*cell.part, row, column);
  });
}

/// Every output by the body.
struct BodyKernel {
  ProductLaunch launch;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    each_output(launch, block,
                [&](const DevicePart& part, uint32_t row, uint32_t column) { body_output(launch, part, row, column); });
  }
};

/// The outputs that a tiled kernel has left to the body.
struct MarkedKernel {
  ProductLaunch launch;
  TileExtents tile;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    const Tile at = launch.find<false>(block.index(), tile.rows, tile.columns);
    block.each([&](unsigned t) {
      const uint8_t* const marks = launch.marks + (uint64_t{block.index()} * tile.threads + t) * tile.thread_rows;
      const unsigned across = tile.columns / 8;
      for (unsigned r = 0; r < tile.thread_rows; ++r)
        for (unsigned left = marks[r], j = 0; left != 0; left >>= 1, ++j)
          if (left & 1)
            body_output(launch, *at.part, at.row + t / across * tile.thread_rows + r, at.column + t % across * 8 + j);
    });
  }
};

/// Adds the slots' partials to the sum so far, in ascending order; after the last, the results.
struct FoldKernel {
  ProductLaunch launch;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    each_output(launch, block, [&](const DevicePart& part, uint32_t row, uint32_t column) {
      const uint64_t output = launch.output(part, row) + column;
      const uint32_t had = launch.first_partial;
      uint32_t count = part.partials > had ? part.partials - had : 0;
      if (count > launch.slot_count) count = launch.slot_count;
      float sum = launch.first_slots ? 0.0f : launch.totals[output];
      for (uint32_t s = 0; s < count; ++s) {
        const float partial = launch.slots[s * launch.outputs + output];
        sum = launch.first_slots && s == 0 ? partial : add_rn(sum, partial);
      }
      if (!launch.last_slots) {
        launch.totals[output] = sum;
        return;
      }
      const WordSource source = word_source(launch, 1);
      uint32_t word = 0;
      if (source.bits != 0) word = detail::words_singly(source, 0, output, 1).word[0];
      bool rare = false;
      const uint32_t code = finish_one(launch.way, launch.result, sum, word, rare);
      if (rare)
        body_output(launch, part, row, column);
      else
        launch.store(output, code);
    });
  }
};

bool halves_of(const kernel::ProductRules& r) { return r.partials == kernel::PartialsType::kHalf; }

/// FastRound for fp32 sums. A product raises only overflow and invalid.
FastRound rounding_of(const FloatFormat& to, Semantics s) {
  if (to == kFp32) s.wide.mode = RoundingMode::kNearestEven;  // nothing is rounded
  return FastRound::of(to, s, false, to != kFp32);
}

/// Whether the rounding reads no more than the exact sum truncated to fp32 (N402).
bool truncation_serves(const FastRound& f, const RoundingPolicy& p) {
  const int more = p.stochastic() && p.variant == StochasticVariant::kHalf ? 1 : 0;
  return f.random_bits + more <= 13;
}

/// Whether indices that follow each other are neighbours in memory.
bool neighbours(const PlaceMap& map) { return map.table < 0 && map.width == 1 && map.height == 1 && map.outer == 1; }

bool same_blocks(const Schedule& a, const Schedule& b) {
  return std::equal(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end(),
                    [](const engine::ChainBlock& x, const engine::ChainBlock& y) {
                      return x.length == y.length && x.number == y.number && x.closes_partial == y.closes_partial;
                    });
}

constexpr size_t kMostSlotBytes = size_t{64} << 20;
size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }
uint32_t over(uint64_t n, uint64_t d) { return static_cast<uint32_t>((n + d - 1) / d); }

}  // namespace

struct TiledProduct::State {
  enum class Way : uint8_t { kBody, kFloat, kBlock, kEach };

  ProductLaunch launch{};  ///< except what a call sets
  DeviceArray<engine::ChainBlock> blocks;
  DeviceArray<ProductStep> device_steps;
  DeviceArray<StepPlaces> places;
  DeviceArray<uint32_t> partials;
  DeviceArray<int64_t> table;
  Way way = Way::kBody;
  bool may_be_fast = false, carries = false;  ///< a fast kernel computes these rules; by the carry of random bits
  /// The parts as tiles of one size.
  struct Layout {
    TileSize size = TileSize::kSmall;
    uint32_t tiles = 0;
    DeviceArray<DevicePart> parts;
    size_t marks_bytes() const {
      const TileExtents e = extents_of(size);
      return size_t{tiles} * e.threads * e.thread_rows;
    }
  };
  Layout general, fast;  ///< fast has no parts where may_be_fast is false
  uint32_t cells = 0;
  uint32_t most_partials = 0, slots = 0;  ///< independent partials; those computed at the same time
  size_t marks_bytes = 0, slots_bytes = 0, totals_bytes = 0;

  void choose_way(const Device& device, const kernel::ProductRules& rules, const Semantics& preset, bool starts);
  TileSize choose_size(const Device& device, const std::vector<DevicePart>& list) const;
  void lay_out(Device& device, const ProductParts& parts, StepRounding rounding);
  Layout layout(Device& device, std::vector<DevicePart> list, TileSize size) const;
  /// The layout whose kernel takes this call.
  const Layout& layout_for(const kernel::Environment& e) const {
    return may_be_fast && (!carries || (e.random.rounds == 10 && !e.table[0].words)) ? fast : general;
  }
  void put(Device& device, const ProductLaunch& now, const Layout& by) const {
    if (&by == &fast) {
      if (way == Way::kFloat) return launch_fast_float(device, by.size, now);
      if (way == Way::kBlock) return launch_fast_block(device, by.size, carries, now);
      return launch_fast_each(device, by.size, carries, now);
    }
    if (way == Way::kFloat) return launch_float(device, now);
    if (way == Way::kBlock) return launch_block(device, now);
    launch_each(device, now);
  }
};

void TiledProduct::State::choose_way(const Device& device, const kernel::ProductRules& rules, const Semantics& preset,
                                     bool starts) {
  const Semantics s = kernel::product_semantics(rules, preset);
  launch.rules = rules;
  launch.kind = rules.a == kFp16 ? OperandKind::kHalf : rules.a == kBf16 ? OperandKind::kBf16 : OperandKind::kFloat;
  launch.flush_operands = launch.kind == OperandKind::kFloat && s.wide_operands_flushed;
  launch.flush_to_positive = s.operand_flush_sign == FlushSign::kPositive;
  launch.way =
      halves_of(rules) && !rules.independent && rules.output == kFp16 ? ResultWay::kHalfAlready : ResultWay::kRounded;
  launch.half = rounding_of(kFp16, s);
  launch.result = rounding_of(rules.output, s);
  launch.half_bits = launch.half.random_bits;
  launch.result_bits = launch.way == ResultWay::kRounded ? launch.result.random_bits : 0;

  const bool to_half = halves_of(rules) || rules.round_partials;
  if (engine::needs_body(rules, s) || !(rules.a == rules.b)) return;
  if (to_half && !launch.half.usable) return;
  if (launch.way == ResultWay::kRounded && !launch.result.usable) return;
  if (!to_half)
    way = Way::kFloat;
  else if (!rules.exact_each)
    way = Way::kBlock;
  else if (launch.kind == OperandKind::kHalf && truncation_serves(launch.half, s.narrow))
    way = Way::kEach;
  if (way == Way::kBody) return;
  // To nearest, what the rounding gives stays infinite or NaN, so only the end must look; if the preset calls less than
  // that an overflow, the general kernel looks at every rounding.
  const bool nearest = launch.half.way == FastRound::Way::kHalfNearest && launch.half.greatest == 65504.0f;
  carries = way != Way::kFloat && launch.half.way == FastRound::Way::kHalfCarry;
  may_be_fast = way == Way::kFloat || (launch.kind != OperandKind::kFloat &&
                                       (nearest || (carries && launch.half.draws && launch.half.random_bits <= 16)));
  may_be_fast = may_be_fast && product_choice().fast && !starts;
  launch.copies = way == Way::kFloat && launch.kind == OperandKind::kFloat && product_choice().copies &&
                  device.properties().major >= 8;
}

TileSize TiledProduct::State::choose_size(const Device& device, const std::vector<DevicePart>& list) const {
  // What an output of a full tile costs, relative to the large one: operands are loaded, and read from shared memory,
  // more often by smaller ones.
  struct Candidate {
    TileSize size;
    double cost;
  };
  constexpr Candidate kCandidates[] = {
      {TileSize::kLarge, 1.0}, {TileSize::kSmall, 1.2}, {TileSize::kNarrow, 1.2}, {TileSize::kTiny, 2.0}};
  const auto threads = static_cast<double>(device.properties().multiprocessors) * 512;
  if (const auto size = product_choice().size; size && (*size != TileSize::kLarge || way == Way::kFloat)) return *size;
  TileSize best = TileSize::kSmall;
  double least = 0;
  for (const Candidate& c : kCandidates) {
    if (c.size == TileSize::kLarge && way != Way::kFloat) continue;
    const TileExtents e = extents_of(c.size);
    uint64_t count = 0;  // of tiles
    for (const DevicePart& p : list)
      count += uint64_t{over(p.part.rows, e.rows)} * over(p.part.columns, e.columns) *
               (launch.rules.independent ? std::max<uint32_t>(p.partials, 1) : 1);
    // With fewer tiles than the device takes at once, time is a tile's.
    const double cost = std::max(static_cast<double>(count) * e.threads, threads) * e.thread_rows * c.cost;
    if (least == 0 || cost < least) least = cost, best = c.size;
  }
  return best;
}

TiledProduct::State::Layout TiledProduct::State::layout(Device& device, std::vector<DevicePart> list,
                                                        TileSize size) const {
  Layout result;
  result.size = size;
  const TileExtents e = extents_of(size);
  for (DevicePart& p : list) {
    p.first_tile = result.tiles;
    p.column_tiles = over(p.part.columns, e.columns);
    result.tiles += p.column_tiles * over(p.part.rows, e.rows);
  }
  result.parts = DeviceArray<DevicePart>(device, list);
  return result;
}

void TiledProduct::State::lay_out(Device& device, const ProductParts& parts, StepRounding rounding) {
  std::vector<engine::ChainBlock> all_blocks;
  std::vector<uint32_t> first_blocks;
  for (const Schedule& schedule : parts.schedules) {
    first_blocks.push_back(static_cast<uint32_t>(all_blocks.size()));
    all_blocks.insert(all_blocks.end(), schedule.blocks.begin(), schedule.blocks.end());
  }
  std::vector<DevicePart> list;
  std::vector<ProductStep> all_steps;
  std::vector<StepPlaces> all_places;
  std::vector<uint32_t> all_partials;
  struct Cut {
    uint32_t schedule;
    PlaceMap a, b;
    uint32_t first, count;
  };
  std::vector<Cut> cuts;
  for (const ProductPart& part : parts.parts) {
    if (part.rows == 0 || part.columns == 0) continue;
    const Schedule& schedule = parts.schedules[part.schedule];
    DevicePart p{};
    p.part = part;
    p.k = static_cast<uint32_t>(schedule.k);
    p.first_block = first_blocks[part.schedule];
    p.blocks = static_cast<uint32_t>(schedule.blocks.size());
    p.first_cell = cells;
    p.column_cells = over(part.columns, ProductLaunch::kCellColumns);
    cells += p.column_cells * over(part.rows, ProductLaunch::kCellRows);
    if (way != Way::kBody) {
      auto cut = std::find_if(cuts.begin(), cuts.end(), [&](const Cut& c) {
        return c.a == part.a_k && c.b == part.b_k &&
               (c.schedule == part.schedule || same_blocks(parts.schedules[c.schedule], schedule));
      });
      if (cut == cuts.end()) {
        const ProductSteps steps = cut_schedule(schedule, rounding, part.a_k, part.b_k, parts.table);
        const auto base = static_cast<uint32_t>(all_steps.size()), first = static_cast<uint32_t>(all_partials.size());
        for (const uint32_t begin : steps.partials) all_partials.push_back(base + begin);
        all_steps.insert(all_steps.end(), steps.steps.begin(), steps.steps.end());
        if (may_be_fast) may_be_fast = append_places(steps, part.a_k, part.b_k, parts.table, all_places);
        all_partials.push_back(static_cast<uint32_t>(all_steps.size()));
        cut = cuts.insert(cuts.end(),
                          {part.schedule, part.a_k, part.b_k, first, static_cast<uint32_t>(steps.partials.size())});
      }
      p.first_partial = cut->first;
      p.partials = cut->count;
      most_partials = std::max(most_partials, p.partials);
      p.a_along_k = !neighbours(part.a_rows);
      p.b_along_k = !neighbours(part.b_columns);
    }
    for (uint32_t row = 0; row < part.rows; ++row) {
      const int64_t begin = part.out + part.out_rows.place(parts.table.data(), row);
      launch.outputs = std::max(launch.outputs, static_cast<uint64_t>(begin) + part.columns);
      // Eight columns share a block of random bits only from a multiple of eight on.
      if (carries && begin % 8 != 0) may_be_fast = false;
    }
    list.push_back(p);
  }
  if (way == Way::kBody || !may_be_fast || carries) general = layout(device, list, TileSize::kSmall);
  if (may_be_fast) {
    fast = layout(device, list, choose_size(device, list));
    places = DeviceArray<StepPlaces>(device, all_places);
  }
  blocks = DeviceArray<engine::ChainBlock>(device, all_blocks);
  device_steps = DeviceArray<ProductStep>(device, all_steps);
  partials = DeviceArray<uint32_t>(device, all_partials);
  table = DeviceArray<int64_t>(device, parts.table);
  launch.part_count = static_cast<uint32_t>(list.size());
  launch.blocks = blocks.data();
  launch.steps = device_steps.data();
  launch.partials = partials.data();
  launch.places = places.data();
  launch.table = table.data();
}

ProductChoice& product_choice() {
  static ProductChoice choice;
  return choice;
}

TiledProduct::TiledProduct() = default;
TiledProduct::~TiledProduct() = default;
TiledProduct::TiledProduct(TiledProduct&&) noexcept = default;
TiledProduct& TiledProduct::operator=(TiledProduct&&) noexcept = default;

TiledProduct::TiledProduct(Device& device, const kernel::ProductRules& rules, const Semantics& semantics,
                           const ProductParts& parts)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.choose_way(device, rules, semantics, parts.have_start);
  s.lay_out(device, parts,
            s.way == State::Way::kFloat  ? StepRounding::kNone
            : s.way == State::Way::kEach ? StepRounding::kProducts
            : halves_of(rules)           ? StepRounding::kBlocks
                                         : StepRounding::kPartials);
  if (s.way == State::Way::kBody || s.launch.outputs == 0) return;
  if (!rules.independent) {
    s.marks_bytes = std::max(s.general.marks_bytes(), s.fast.marks_bytes());
    return;
  }
  const size_t bytes = s.launch.outputs * sizeof(float);
  s.slots =
      static_cast<uint32_t>(std::clamp<size_t>(kMostSlotBytes / bytes, 1, std::max<uint32_t>(s.most_partials, 1)));
  s.slots_bytes = aligned(s.slots * bytes);
  if (s.slots < s.most_partials) s.totals_bytes = bytes;
}

size_t TiledProduct::scratch_bytes() const {
  return aligned(state_->marks_bytes + state_->slots_bytes + state_->totals_bytes);
}

void TiledProduct::enqueue(const DeviceCall& call, const void* a, const void* b, void* out, void* scratch,
                           const void* start) const {
  const State& s = *state_;
  ProductLaunch now = s.launch;
  now.a = a;
  now.b = b;
  now.out = out;
  now.start = static_cast<const uint32_t*>(start);
  now.environment = call.environment;
  now.status = call.status;
  now.slot_count = 1;
  if (now.outputs == 0) return;
  const State::Layout& by = s.layout_for(call.environment.environment);
  now.parts = by.parts.data();
  now.tiles = by.tiles;
  if (s.way == State::Way::kBody)
    return call.device.launch("product by the body", {s.cells, kCellThreads, 0}, BodyKernel{now});
  if (!now.rules.independent) {
    now.marks = static_cast<uint8_t*>(scratch);
    s.put(call.device, now, by);
    const TileExtents e = extents_of(by.size);
    return call.device.launch("product, rare outputs", {now.tiles, e.threads, 0}, MarkedKernel{now, e});
  }
  now.slots = static_cast<float*>(scratch);
  now.totals = reinterpret_cast<float*>(static_cast<char*>(scratch) + s.slots_bytes);
  const uint32_t partials = std::max<uint32_t>(s.most_partials, 1);
  for (uint32_t first = 0; first < partials; first += s.slots) {
    now.first_partial = first;
    now.slot_count = std::min(s.slots, partials - first);
    now.first_slots = first == 0;
    now.last_slots = first + now.slot_count == partials;
    s.put(call.device, now, by);
    call.device.launch("product, sum of partials", {s.cells, kCellThreads, 0}, FoldKernel{now});
  }
}

}  // namespace softamp::cuda
