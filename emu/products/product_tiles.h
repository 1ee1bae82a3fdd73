// One run of a product: how its k is cut into chunks, and what is done with one
// tile of outputs.
#pragma once

#include <atomic>
#include <vector>

#include "emu/products/product_kernels.h"

namespace softamp::emu {

class StopCheck;  // emu/stop_check.h

/// Storage for vectors.
class AlignedFloats {
 public:
  /// Room for n floats; contents are lost.
  float* reserve(size_t n);
  const float* data() const { return data_; }
  ~AlignedFloats();
  AlignedFloats() = default;
  AlignedFloats(const AlignedFloats&) = delete;
  AlignedFloats& operator=(const AlignedFloats&) = delete;

 private:
  float* data_ = nullptr;
  size_t size_ = 0;
};

/// A range of k that is packed and multiplied at once: cut at the ends of partials, and where it becomes too long for
/// the first-level cache.
struct Chunk {
  size_t k0, k1;
  size_t first_segment, segment_count;
  bool closes_partial;
  uint32_t number;  ///< of the last block, where it closes a partial
};

/// The schedule of a problem, cut.
struct Chunks {
  std::vector<Chunk> chunks;
  std::vector<Segment> segments;
  size_t longest = 0;
  Chunks(const ProductPlan& plan, const Schedule& schedule);
};

/// Shared by all tiles of a run.
class ProductRun {
 public:
  ProductRun(const ProductPlan& plan, const ProductProblem& problem, const kernel::Environment& environment,
             bool with_status);

  /// Tiles' state between chunks: the chains, the sum of the partials so far
  /// (where they are independent), what may have been raised.
  struct TileState {
    float* acc;
    float* total;
    uint8_t* suspicion;
  };
  enum Suspicion : uint8_t { kNotFinite = 0x80, kAnyPartial = 0x40 };  ///< beside flags

  /// Makes a tile whose first output is (row0, col0) begin.
  void begin(const ProductTile& tile, size_t row0, size_t col0, const TileState& state) const;
  /// Continues a tile by a chunk.
  void multiply(const Chunk& chunk, const ProductTile& tile, const TileState& state) const;
  /// Rounds and stores the tile's outputs; looks for the lowest index of what
  /// may have been raised.
  void finish(const ProductTile& tile, const TileState& state, size_t row0, size_t col0, FpStatus* status) const;
  /// Outputs [row0, row0 + rows) x [col0, col0 + columns) by kernel/products.h.
  void scalar(size_t row0, size_t rows, size_t col0, size_t columns, FpStatus* status,
              StopCheck* check = nullptr) const;

  const ProductPlan& plan;
  const ProductProblem& problem;
  const kernel::Environment& environment;
  const ProductKernels& kernels;  ///< the plan's, or their slender ones
  ProductPlan::Way way;
  Chunks cut;

 private:
  bool fast(const ProductTile& tile, float* acc) const;
  uint8_t general(const ProductTile& tile, float* acc) const;
  uint8_t general_each(const ProductTile& tile, float* acc) const;
  bool special_operand(const float* a, const float* b) const;
  /// Rounds the tile's chains to halves, at site 0.
  uint8_t round_tile(const ProductTile& tile, uint32_t number, float* acc) const;
  void search(const ProductTile& tile, uint8_t suspicion, const float* values, size_t row0, size_t col0,
              FpStatus& status) const;
  Rounded reference(const float* a, const float* b, size_t b_stride, size_t row, size_t column, uint64_t output) const;
  uint8_t hidden_flags() const;

  uint8_t wanted_;
  RoundKernel round_half_, round_result_;
  mutable std::atomic<int> hidden_flags_{-1};  ///< -1: not known yet
};

}  // namespace softamp::emu
