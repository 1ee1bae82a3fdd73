// Data that the kernels of products read: the parts of a node in the device's memory, and one call's pointers.
#pragma once

#include "cuda/fast_round.h"
#include "cuda/products/product_tile.h"

// Not inlined on a device: rare code and code at the end, kept out of the hot loops.
#if defined(__CUDA_ARCH__)
#define SOFTAMP_OUT_OF_LOOPS SOFTAMP_HD __attribute__((noinline)) inline
#else
#define SOFTAMP_OUT_OF_LOOPS SOFTAMP_HD inline
#endif

namespace softamp::cuda {

/// A run of at most kMost products that are staged at once. It lies in one block of the schedule, or consists of blocks
/// of `every` products (the last may be shorter), numbered from `number` on.
struct ProductStep {
  static constexpr unsigned kMost = 16;
  enum : uint16_t { kRunsOfA = 1, kRunsOfB = 2 };  ///< each eight products' elements are neighbours

  uint32_t k;       ///< the first
  uint32_t number;  ///< of the first rounding in it
  uint16_t length;
  uint16_t every;  ///< a rounding after this many products, and at the end; 0: none in this step
  uint16_t flags;
  uint16_t unused;
};

/// Where the operands of a step's products lie, in elements from those of k = 0 (the fast kernels').
struct StepPlaces {
  static constexpr int32_t kAbsent = -0x7FFFFFFF - 1;  ///< the step has no such product
  static constexpr int32_t kSingly = kAbsent + 1;      ///< the eight are not neighbours, or are not eight

  int32_t a[ProductStep::kMost], b[ProductStep::kMost];                  ///< of each product
  int32_t a_run[ProductStep::kMost / 8], b_run[ProductStep::kMost / 8];  ///< of eight neighbouring elements
};

/// A part, with its place among the blocks of launches.
struct DevicePart {
  ProductPart part;
  uint32_t k;
  uint32_t first_block, blocks;      ///< of its schedule, in ProductTables::blocks
  uint32_t first_partial, partials;  ///< in ProductTables::partials, which holds one more for their end
  uint32_t first_tile, column_tiles;
  uint32_t first_cell, column_cells;
  bool a_along_k, b_along_k;  ///< groups of eight are loaded along k, since rows of A (columns of B) are apart
};

/// A thread's share of outputs: rows x columns from (row, column) on. The kernels cut it to the part.
struct Tile {
  const DevicePart* part;
  uint32_t row, column;
};

enum class OperandKind : uint8_t { kHalf, kBf16, kFloat };

/// How a chain's fp32 result becomes a code.
enum class ResultWay : uint8_t {
  kHalfAlready,  ///< it is a half's value
  kRounded,      ///< FastRound
};

/// Everything that a launch of a product reads; all pointers are the device's.
struct ProductLaunch {
  static constexpr unsigned kCellRows = 32, kCellColumns = 8;  ///< outputs of a block with one output a thread

  const DevicePart* parts;
  uint32_t part_count;
  const engine::ChainBlock* blocks;
  const ProductStep* steps;
  const StepPlaces* places;  ///< of the steps; null: some do not fit into 32 bits
  const uint32_t* partials;  ///< first steps of partials, and the end
  const int64_t* table;

  kernel::ProductRules rules;
  OperandKind kind;
  bool flush_operands, flush_to_positive;  ///< fp32 subnormals of operands
  bool copies;                             ///< the fast kernel's operands come by asynchronous copies
  FastRound half, result;
  ResultWay way;
  int half_bits, result_bits;  ///< random bits of roundings at site 0 and 1; 0: they draw none

  const void* a;
  const void* b;
  void* out;
  const uint32_t* start;   ///< C; null: chains begin with +0
  uint8_t* marks;          ///< of threads' outputs, bit by bit: left to the body
  float* slots;            ///< independent partials: [slot][output]
  float* totals;           ///< their sum so far: [output]
  uint64_t outputs;        ///< number of outputs
  uint32_t tiles;          ///< of a slot
  uint32_t first_partial;  ///< of slot 0, within its part
  uint32_t slot_count;
  bool first_slots, last_slots;
  StepEnvironment environment;
  DeviceStatus* status;

  /// The part that has tile (kCells: cell) number `index`.
  template <bool kCells>
  SOFTAMP_HD Tile find(uint32_t index, unsigned tile_rows, unsigned tile_columns) const {
    uint32_t low = 0, high = part_count;  // the last part that begins at `index` or before
    while (high - low > 1) {
      const uint32_t middle = low + (high - low) / 2;
      const uint32_t first = kCells ? parts[middle].first_cell : parts[middle].first_tile;
      (first <= index ? low : high) = middle;
    }
    const DevicePart* const p = parts + low;
    const uint32_t within = index - (kCells ? p->first_cell : p->first_tile);
    const uint32_t across = kCells ? p->column_cells : p->column_tiles;
    return {p, within / across * tile_rows, within % across * tile_columns};
  }

  /// The steps of a part's chain, or of the independent partial in this slot: `count` of them from `first` on; false:
  /// the part has none there.
  SOFTAMP_PRIMITIVE bool find_steps(const DevicePart& p, uint32_t slot, uint32_t& first, uint32_t& count) const {
    const uint32_t partial = first_partial + slot;
    if (slots && partial >= p.partials) return false;
    const uint32_t* const bounds = partials + p.first_partial + (slots ? partial : 0);
    first = bounds[0], count = bounds[slots ? 1 : p.partials] - first;
    return true;
  }

  SOFTAMP_HD uint64_t output(const DevicePart& p, uint32_t row) const {
    return static_cast<uint64_t>(p.part.out + p.part.out_rows.place(table, row));
  }
  /// What the chain of an output is to begin with, widened.
  SOFTAMP_HD uint32_t widened_start(const DevicePart& p, uint32_t row, uint32_t column) const {
    const uint32_t c = start[p.part.start + row * p.part.start_row + column];
    return kernel::widen_operand(kFp32, c, kernel::product_semantics(rules, environment.environment.semantics));
  }
  SOFTAMP_HD void store(uint64_t place, uint32_t code) const {
    if (rules.output.storage_bits() > 16)
      static_cast<uint32_t*>(out)[place] = code;
    else
      static_cast<uint16_t*>(out)[place] = static_cast<uint16_t>(code);
  }
};

}  // namespace softamp::cuda
