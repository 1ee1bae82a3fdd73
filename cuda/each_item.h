// Loops over items that any thread of a grid computes in any order, and the grid for them.
#pragma once

#include "cuda/grid.h"

namespace softamp::cuda {

/// A grid of one thread for each of n items, or of threads that take several; at least one block.
/// `shared`: bytes of shared memory of a block.
inline Grid item_grid(uint64_t n, unsigned threads, size_t shared = 0) {
  constexpr uint64_t kMost = 1 << 16;
  const uint64_t blocks = (n + threads - 1) / threads;
  return {static_cast<unsigned>(blocks < kMost ? (blocks == 0 ? 1 : blocks) : kMost), threads, shared};
}

/// f(i) for those of n items that thread t of a block takes.
template <class Block, class F>
SOFTAMP_HD void items_of_thread(const Block& block, unsigned t, uint64_t n, const F& f) {
  const uint64_t stride = uint64_t{block.blocks()} * block.threads();
  for (uint64_t i = uint64_t{block.index()} * block.threads() + t; i < n; i += stride) f(i);
}

/// f(i) for all of n items, shared out among the threads of a grid.
template <class Block, class F>
SOFTAMP_HD void each_item(Block& block, uint64_t n, const F& f) {
  block.each([&](unsigned t) { items_of_thread(block, t, n, f); });
}

}  // namespace softamp::cuda
