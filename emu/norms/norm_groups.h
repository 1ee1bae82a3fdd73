// Sums of the groups of group normalisation, by blocks of 1024 elements. Where a row of a group has 1, 2, 4 .. 32
// elements, the rows of a block lie in the order's lanes as those of columns do, and all groups of a sample are summed
// at once; otherwise each block is gathered.
#pragma once

#include <cstring>

#include "emu/norms/norm.h"

namespace softamp::emu {

/// Elements first .. first + count of a group, one after another.
inline void gather_group(const NormNode& n, const void* tensor, uint64_t group, uint64_t first, uint64_t count,
                         char* to) {
  const uint64_t width = n.shape.group_channels(), one = size_of(n.type), row = n.shape.channels * one;
  const char* from = static_cast<const char*>(n.at(tensor, n.shape.place(group, first)));
  for (uint64_t skip = first % width; count > 0; skip = 0) {
    const uint64_t some = std::min(count, width - skip), bytes = some * one;
    // Most rows are short: a call to copy each would take longer than the copy.
    uint64_t b = 0;
    for (; b + 16 <= bytes; b += 16) std::memcpy(to + b, from + b, 16);
    for (; b < bytes; b += one) std::memcpy(to + b, from + b, one == 4 ? 4 : 2);
    to += bytes;
    from += row - skip * one;
    count -= some;
  }
}

/// The same, entered.
inline const float* enter_elements_of(const NormNode& n, const void* tensor, uint64_t group, uint64_t first,
                                      uint64_t count, NormNumbers& to) {
  NormNumbers gathered;
  gather_group(n, tensor, group, first, count, reinterpret_cast<char*>(gathered.at));
  const float* const entered = n.reductions->enter(n.load, gathered.at, count, to.at);
  if (entered == to.at) return entered;
  std::memcpy(to.at, entered, count * sizeof(float));
  return to.at;
}

/// blocks[((sample * group_blocks + b) * groups_to_row + g) * 2 + s]: sum s (of `sums`) of block b of the sample's
/// group g, and in the place of block 0 then the sum of them all; for samples first .. first + count.
///
/// columns(row, count, c, n, lanes) adds the terms of columns c .. c + n of `count` rows of one sample;
/// gathered(group, first, count, to): the sums of elements of a group.
template <class Columns, class Gathered>
void sum_groups(const NormNode& n, uint64_t first, uint64_t count, uint64_t sums, float* blocks, const Columns& columns,
                const Gathered& gathered) {
  const uint64_t in_row = n.shape.groups_to_row, of_sample = n.group_blocks(), width = n.shape.group_channels();
  const uint64_t to_sample = of_sample * in_row * 2;
  if (n.group_lanes != 0) {
    const uint64_t rows = kNormBlock / width;
    each_tile(n, count * of_sample, rows, [&](uint64_t u, uint64_t c, uint64_t some) {
      const uint64_t sample = first + u / of_sample, row = u % of_sample * rows;
      float joined[2 * kNormColumns];
      const uint64_t of_rows = std::min(rows, n.shape.rows_to_group - row);
      sum_columns(n, of_rows, some, n.group_lanes, sums, kNormColumns, joined, [&](const ColumnLanes& lanes) {
        columns(sample * n.shape.rows_to_group + row, of_rows, c, some, lanes);
      });
      float* const to = blocks + (first * of_sample + u) * in_row * 2 + c / width * 2;
      for (uint64_t g = 0; g < some / width; ++g)
        for (uint64_t s = 0; s < sums; ++s) {
          float* const lane = joined + s * kNormColumns + g * width;
          for (uint64_t apart = width / 2; apart > 0; apart /= 2)
            for (uint64_t l = 0; l < apart; ++l) lane[l] = lane[l] + lane[l + apart];
          to[2 * g + s] = lane[0];
        }
    });
  } else {
    // All groups' first blocks of a sample, then their second ones: these share rows, and so cache lines.
    const uint64_t size = n.shape.group_size(), begin_at = first * of_sample * in_row;
    auto part = [&](size_t begin, size_t end, size_t) {
      for (size_t u = begin_at + begin; u < begin_at + end; ++u) {
        const uint64_t at = u / in_row % of_sample * kNormBlock;
        gathered(u / in_row / of_sample * in_row + u % in_row, at, std::min(kNormBlock, size - at), blocks + 2 * u);
      }
    };
    parallel_ranges(count * of_sample * in_row, kNormGrain / kNormBlock, 1, n.threads, part);
  }
  for (uint64_t sample = first; sample < first + count; ++sample)
    n.reductions->tree(Fold::kSum, blocks + sample * to_sample, of_sample, 2 * in_row);
}

}  // namespace softamp::emu
