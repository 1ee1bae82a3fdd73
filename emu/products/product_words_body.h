// Random words of a whole tile of a product at once: Philox for draw blocks at any positions, one row of the tile after
// the other, as many blocks at a time as the instruction set has lanes (N70 to N72).
#pragma once

#include "emu/products/product_kernels.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

/// tile_words of product_kernels.h.
void product_words(const ProductPlan& plan, const kernel::Environment& environment, uint32_t site, uint64_t block,
                   const ProductTile& tile, size_t nr, uint32_t* words) {
  constexpr size_t kLanes = sizeof(U64) / 8, kVectors = 4, kGroupBlocks = kLanes * kVectors;
  constexpr size_t kMostBlocks = kMostTile / 8 + 2 * kMostRows + kGroupBlocks;
  const int bits = plan.semantics.narrow.random_bits;
  if (bits > 16 || environment.table[site].words) {
    tile_words(plan, environment, site, block, tile, nr, words);
    return;
  }
  alignas(64) uint64_t counters[kMostBlocks];
  alignas(64) uint64_t low[kMostBlocks], high[kMostBlocks];
  size_t blocks = 0, start[kMostRows];
  for (size_t i = 0; i < tile.rows; ++i) {
    const uint64_t first = tile.output[i] >> 3, last = (tile.output[i] + tile.columns - 1) >> 3;
    start[i] = blocks * 8 + (tile.output[i] & 7);
    for (uint64_t b = first; b <= last; ++b) counters[blocks++] = b;
  }
  const size_t whole = (blocks + kGroupBlocks - 1) / kGroupBlocks * kGroupBlocks;
  for (size_t b = blocks; b < whole; ++b) counters[b] = 0;

  const U64 multiplier0 = splat<U64>(0xD2511F53u), multiplier1 = splat<U64>(0xCD9E8D57u);
  const U64 low_half = splat<U64>(0xFFFFFFFFu);
  const uint32_t operation = environment.random.replica << 24 | (environment.operation + site);
  for (size_t b = 0; b < whole; b += kGroupBlocks) {
    U64 w0[kVectors], w1[kVectors], w2[kVectors], w3[kVectors];
    for (size_t v = 0; v < kVectors; ++v) {
      // product_index: the accumulation block is the upper word of the index of the draw block.
      w0[v] = load<U64>(counters + b + v * kLanes);
      w1[v] = splat<U64>(static_cast<uint32_t>(block));
      w2[v] = splat<U64>(operation);
      w3[v] = splat<U64>(environment.step);
    }
    PhiloxKey key = environment.random.key();
    for (int round = 0; round < environment.random.rounds; ++round) {
      const U64 key0 = splat<U64>(key.word[0]), key1 = splat<U64>(key.word[1]);
      for (size_t v = 0; v < kVectors; ++v) {
        const U64 product0 = multiply_low_halves(w0[v], multiplier0);
        const U64 product1 = multiply_low_halves(w2[v], multiplier1);
        w0[v] = (product1 >> 32) ^ w1[v] ^ key0;
        w2[v] = (product0 >> 32) ^ w3[v] ^ key1;
        w1[v] = product1;
        w3[v] = product0;
      }
      key.word[0] += 0x9E3779B9u;
      key.word[1] += 0xBB67AE85u;
    }
    for (size_t v = 0; v < kVectors; ++v) {
      store(low + b + v * kLanes, (w0[v] & low_half) | (w1[v] << 32));
      store(high + b + v * kLanes, (w2[v] & low_half) | (w3[v] << 32));
    }
  }

  // Lane l of a block is 16 bits of its four words, in order.
  alignas(64) uint64_t numbers[2 * kMostBlocks];
  for (size_t b = 0; b < blocks; ++b) numbers[2 * b] = low[b], numbers[2 * b + 1] = high[b];
  const uint32_t mask = (1u << bits) - 1;
  for (size_t i = 0; i < tile.rows; ++i) {
    const char* const from = reinterpret_cast<const char*>(numbers) + 2 * start[i];
    uint32_t* const row = words + i * nr;
    for (size_t j = 0; j < tile.columns; ++j) {
      uint16_t number;
      __builtin_memcpy(&number, from + 2 * j, 2);
      row[j] = number & mask;
    }
  }
}

}  // namespace
}  // namespace softamp::emu
