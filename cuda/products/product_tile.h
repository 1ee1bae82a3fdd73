// Products on the device: out(i, j) = sum over k of A(i, k) B(k, j), by the one chain per output that kernel/products.h
// defines. The engine under MatMul, and under the convolutions, which give the positions of their operands as maps.
//
// A chain begins with +0, or with a number of C (N480): number start + i * start_row + j of it.
//
// Use: a kernel's constructor describes its node once (no device code is needed for that),
//
//   ProductParts parts;                              // every product of the node: batches, classes, groups, taps
//   parts.schedules.push_back(Schedule::plain(k, block));
//   parts.add({rows, columns, /*schedule*/ 0, a_first, b_first, out_first, a_rows, a_k, b_k, b_columns, out_rows});
//   product_ = TiledProduct(device, rules, settings.environment.semantics, parts);
//
// scratch_bytes() returns product_.scratch_bytes(), and enqueue() calls product_.enqueue(call, a, b, out).
//
// Element (i, k) of A is a[a_first + a_rows(i) + a_k(k)], of B b[b_first + b_k(k) + b_columns(j)]; output (i, j) is
// element out_first + out_rows(i) + j, and that is also its place for random bits and flags (N72). Places count
// elements of rules.a, rules.b, rules.output. Every output of the node must belong to exactly one part; a part without
// products (k = 0) gives +0.
//
// How: a block computes a tile of outputs, a thread 1 to 8 rows of 8 neighbouring columns, which share a block of
// random bits. Operands go through shared memory, 16 products at a time; k ascends, one chain an output; blocks end in
// a rounding to fp16 by a fast formulation. A value that it does not support (overflow, infinity, NaN) is noted, or
// becomes a NaN, which stays one to the end of the chain; there kernel/products.h computes the output again, with its
// flags.
//
// The rules that training uses have kernels of their own (product_fast.h), in tiles of 128 x 128, 64 x 64, 256 x 16 and
// 16 x 16; the general one (product_kernel.h) takes the others: other directions of rounding, more than 16 random bits,
// Philox of 7 rounds, tables of random words, outputs that do not begin at multiples of eight, chains that begin with
// C, 2^30 elements between two products' operands. Under rare rules (engine::needs_body) kernel/products.h computes
// everything, one output per thread. Independent partials are computed at the same time, into scratch memory, and added
// up in ascending order by a second kernel.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cuda/op_kernel.h"
#include "softamp/engine/product_schedule.h"
#include "softamp/kernel/products.h"

namespace softamp::cuda {

using engine::Schedule;

/// Places of a run of indices, in elements: i = (n * height + y) * width + x  ->  n * outer + y * row + x * column; or
/// from a table.
struct PlaceMap {
  int64_t table = -1;  ///< (-1: none) where the places begin in ProductParts::table, one for each index
  int64_t outer = 0, row = 0, column = 0;
  uint32_t height = 1, width = 1;

  bool operator==(const PlaceMap&) const = default;

  /// i -> i * stride.
  static PlaceMap strided(int64_t stride) { return {-1, stride, 0, 0, 1, 1}; }
  /// i -> table[first + i].
  static PlaceMap from(int64_t first) { return {first, 0, 0, 0, 1, 1}; }

  SOFTAMP_HD int64_t place(const int64_t* tables, uint32_t i) const {
    if (table >= 0) return tables[table + i];
    if (height == 1 && width == 1) return i * outer;
    const uint32_t line = i / width;
    return line / height * outer + line % height * row + i % width * column;
  }
};

/// One product: rows x columns outputs (each < 2^31).
struct ProductPart {
  uint32_t rows = 0, columns = 0;
  uint32_t schedule = 0;          ///< number in ProductParts::schedules: its blocks and its k
  int64_t a = 0, b = 0, out = 0;  ///< first elements
  int64_t start = 0, start_row = 0;
  PlaceMap a_rows, a_k, b_k, b_columns;
  PlaceMap out_rows;  ///< of outputs; columns follow each other
};

/// The products of a node.
struct ProductParts {
  std::vector<ProductPart> parts;
  std::vector<Schedule> schedules;
  std::vector<int64_t> table;  ///< what PlaceMap::table points into
  bool have_start = false;     ///< chains begin with C; not where partials are independent

  void add(const ProductPart& part) { parts.push_back(part); }
  /// Appends places to the table; returns the map to them.
  PlaceMap places(const std::vector<int64_t>& list) {
    const auto first = static_cast<int64_t>(table.size());
    table.insert(table.end(), list.begin(), list.end());
    return PlaceMap::from(first);
  }
};

/// The shapes of tiles, in rows by columns: 128 x 128, 64 x 64, 256 x 16, 16 x 16.
enum class TileSize : uint8_t { kLarge, kSmall, kNarrow, kTiny };

/// Overrules the choice of kernels, for products that are made from then on: for tests and benchmarks, which compare
/// them.
struct ProductChoice {
  bool fast = true;              ///< false: the general kernel, always
  std::optional<TileSize> size;  ///< of the fast kernels; large ones are for chains without roundings alone
  bool copies = true;            ///< false: fp32 operands go through registers, on every device
};
ProductChoice& product_choice();

/// The products of a node, ready to be put into the queue again and again.
class TiledProduct {
 public:
  TiledProduct();
  /// `semantics`: the preset's.
  TiledProduct(Device& device, const kernel::ProductRules& rules, const Semantics& semantics,
               const ProductParts& parts);
  ~TiledProduct();
  TiledProduct(TiledProduct&&) noexcept;
  TiledProduct& operator=(TiledProduct&&) noexcept;

  /// Bytes of call.scratch from `scratch` on; the caller may use the rest.
  size_t scratch_bytes() const;
  /// `scratch`: scratch_bytes() of them, aligned to 256. Uses call.environment, call.status, call.device.
  /// `start`: C, where the parts say that there is one.
  void enqueue(const DeviceCall& call, const void* a, const void* b, void* out, void* scratch,
               const void* start = nullptr) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace softamp::cuda
