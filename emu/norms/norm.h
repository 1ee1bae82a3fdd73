// Shared by the kernels of normalisations and their gradients: shape and options of the node, parameters in fp32, and
// the bodies of kernel/norms.h for cases that vectors do not support.
#pragma once

#include <algorithm>

#include "emu/norms/norm_kernels.h"
#include "emu/op_kernel.h"
#include "emu/parallel.h"
#include "emu/reductions/block_sums.h"
#include "emu/reductions/reduction_results.h"
#include "softamp/engine/norm_node.h"

namespace softamp::emu {

using engine::NormKind;

/// Elements in a thread's buffers of operands and of results; and the number up to which one thread suffices.
constexpr uint64_t kNormBuffer = 4096, kNormGrain = 16 * 1024;
/// Columns that are summed at a time, so that their lanes stay in the first-level cache; elements of a block.
constexpr uint64_t kNormColumns = 128, kNormBlock = kSumBlock;
/// Elements that threads work on together between two passes over them, in the last-level cache.
constexpr uint64_t kNormRound = uint64_t{1} << 20;

/// A node of one of the six operations, and what computes it.
struct NormNode : engine::NormNode {
  explicit NormNode(const OpContext& c);

  int threads;
  bool by_body;          ///< reference, fp16 statistics, or a preset that vectors do not support
  uint64_t group_lanes;  ///< rows of a group that lie next to each other in the order's lanes; 0: gathered (norm.cpp)
  Load load;
  Results results;
  const NormKernels* vectors = nullptr;
  const ReductionKernels* reductions = nullptr;

  kernel::Elements elements(const void* data) const { return {data, format_of(type)}; }
  kernel::Elements of_parameters(const void* data) const { return {data, format_of(parameters)}; }
  const void* at(const void* data, uint64_t row, uint64_t column) const {
    return at(data, row * shape.channels + column);
  }
  const void* at(const void* data, uint64_t element) const {
    return static_cast<const char*>(data) + element * size_of(type);
  }
  uint64_t blocks() const { return (shape.rows + kNormBlock - 1) / kNormBlock; }
  uint64_t group_blocks() const { return (shape.group_size() + kNormBlock - 1) / kNormBlock; }
  uint64_t samples() const { return shape.rows / shape.rows_to_group; }
  uint64_t samples_to_round() const {
    return std::max<uint64_t>(1, kNormRound / std::max<uint64_t>(1, shape.rows_to_group * shape.channels));
  }
};

/// A number of floats rounded up to whole cache lines, so that arrays in scratch memory begin at one.
constexpr uint64_t padded_floats(uint64_t n) { return (n + 15) / 16 * 16; }

/// A buffer of entered elements or of results, with room for a vector behind them.
struct NormNumbers {
  alignas(64) float at[kNormBuffer + 64];
};

/// Elements first .. first + n as fp32.
inline const float* enter_row(const NormNode& n, const void* tensor, uint64_t first, uint64_t count, NormNumbers& to) {
  return n.reductions->enter(n.load, n.at(tensor, first), count, to.at);
}
/// The sums down columns of a block, from add(lanes): out[s * stride + column] for s < sums.
template <class Add>
void sum_columns(const NormNode& n, uint64_t rows, uint64_t columns, uint64_t lanes, uint64_t sums, uint64_t stride,
                 float* out, const Add& add) {
  alignas(64) float held[2 * 32 * kNormColumns];
  add(ColumnLanes{0, lanes, held});
  n.vectors->column_join({rows, lanes, held}, sums, columns, stride, out);
}

/// Calls tile(unit, c, columns) on the threads for `units` times the tensor's columns, in tiles of kNormColumns.
template <class Tile>
void each_tile(const NormNode& n, uint64_t units, uint64_t rows, const Tile& tile) {
  const uint64_t width = n.shape.channels, tiles = (width + kNormColumns - 1) / kNormColumns;
  auto part = [&](size_t begin, size_t end, size_t) {
    for (size_t u = begin; u < end; ++u) {
      const uint64_t c = u % tiles * kNormColumns;
      tile(u / tiles, c, std::min(kNormColumns, width - c));
    }
  };
  const uint64_t elements = std::min(width, kNormColumns) * rows;
  parallel_ranges(units * tiles, std::max<uint64_t>(1, kNormGrain / elements), 1, n.threads, part);
}

/// Calls piece(row, count, c, n, values, status) for all elements in threads' parts: channels c .. c + n - 1 of
/// `count` rows; `values` is a buffer for them. From the last row to the first: the sums have left the last ones in the
/// caches. No piece crosses a multiple of `of_sample` rows.
template <class Piece>
void each_piece_backwards(const NormNode& n, uint64_t first_row, uint64_t rows, uint64_t of_sample, FpStatus* status,
                          const Piece& piece) {
  const uint64_t width = n.shape.channels, most = std::min(width, kNormBuffer);
  const uint64_t at_once = std::max<uint64_t>(1, kNormBuffer / width);
  const auto part = [&](size_t begin, size_t end, FpStatus* seen) {
    NormNumbers values;
    for (uint64_t left = end - begin; left > 0;) {
      const uint64_t row = first_row + rows - end + left;  // behind the piece
      const uint64_t count = std::min({(left - 1) % at_once + 1, left, (row - 1) % of_sample + 1});
      left -= count;
      for (uint64_t c = 0; c < width; c += most)
        piece(row - count, count, c, std::min(most, width - c), values.at, seen);
    }
  };
  parallel_status(rows, std::max<uint64_t>(1, kNormGrain / width), 8, n.threads, status, part);
}

/// The parameters of all channels as fp32, with zeros up to a whole cache line.
void enter_parameters(const kernel::Elements& from, uint64_t channels, const Semantics& s, float* to);

/// Receives the outputs of bodies: codes into `call`'s outputs (unless flags_only), flags into `status`.
struct NormSink {
  const NormNode& node;
  const OpCall& call;
  FpStatus* status;
  bool flags_only = false;

  void operator()(int port, uint64_t index, const Rounded& r, uint64_t flag_index) const {
    if (status) status->raise(r.flags, flag_index);
    if (flags_only || !call.out[port]) return;
    const DType type = port == 0 ? node.type : port < 3 ? node.second() : DType::kFloat32;
    kernel::put_code(call.out[port], format_of(type), index, r.code);
  }
};

std::unique_ptr<OpKernel> make_norm(const OpContext& c);
std::unique_ptr<OpKernel> make_norm_gradient(const OpContext& c);

}  // namespace softamp::emu
