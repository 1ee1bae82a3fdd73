// Random words for kernels whose threads take elements one by one: a tile of 2048 elements per block of 256 threads,
// each of which first draws the words of a group of 8 (one Philox block) into shared memory. Neighbouring threads then
// load and store neighbouring elements, and no block of words is drawn twice.
#pragma once

#include "cuda/element_loop.h"
#include "cuda/primitives.h"

namespace softamp::cuda {

constexpr unsigned kTileThreads = 256, kTileRounds = 8, kTile = kTileThreads * kTileRounds;
/// Word i of group g, which is element 8 g + i's, lies at i kWordLine + g: the words of 32 neighbours lie in 32 banks,
/// and so do those that 32 threads draw.
constexpr unsigned kWordLine = kTileThreads + 4, kTileWords = 8 * kWordLine;

/// The position of the word of an element of the tile (0 .. kTile - 1).
SOFTAMP_INLINE unsigned word_place(unsigned in_tile) { return in_tile % 8 * kWordLine + in_tile / 8; }

/// Thread t's part of the tile that begins at `base`; elements from `size` on have no words. `step`: used instead of
/// `e.step`.
SOFTAMP_HD inline void draw_words(uint32_t* words, const kernel::Environment& e, uint32_t step, uint32_t site,
                                  int random_bits, uint64_t base, uint64_t size, unsigned t) {
  const uint64_t first = base + 8 * t;
  if (first >= size) return;
  const RandomWords r =
      random_words(e, step, site, first, random_bits, size - first < 8 ? static_cast<unsigned>(size - first) : 8);
  for (unsigned i = 0; i < 8; ++i) words[i * kWordLine + t] = r.word[i];
}

}  // namespace softamp::cuda
