// How the k of a product divides into blocks and independent partials (N105): the same for every output of a product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace softamp::engine {

/// Products of an independent partial of a sum over a batch.
// implements: N105
constexpr size_t kPartialLength = 1024;

/// Consecutive products of a chain.
struct ChainBlock {
  uint32_t length;      ///< products in it (>= 1)
  uint32_t number;      ///< p of its random bits (< 2^29), ascending along the chain
  bool closes_partial;  ///< an independent partial ends with it (only if rules.independent; then the last block must)
};

// implements: N105
struct Schedule {
  std::vector<ChainBlock> blocks;
  size_t k = 0;  ///< the sum of their lengths

  /// Of a plain product: blocks of `block` (1, 4, 16; 0: all of k) products, numbered from 0, the last of a partial
  /// possibly shorter; batch_sum: independent partials of 1024 products, in which blocks start anew.
  static Schedule plain(size_t k, size_t block, bool batch_sum = false);
  /// Appends a block.
  void add(uint32_t length, uint32_t number, bool closes_partial = false) {
    blocks.push_back({length, number, closes_partial});
    k += length;
  }
};

}  // namespace softamp::engine
