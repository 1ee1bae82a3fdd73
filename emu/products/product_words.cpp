// Random words of a tile, one by one or by draw blocks: for the general ways.
#include "emu/products/product_kernels.h"

namespace softamp::emu {

void tile_words(const ProductPlan& plan, const kernel::Environment& environment, uint32_t site, uint64_t block,
                const ProductTile& tile, size_t nr, uint32_t* words) {
  const RoundingPolicy& p = plan.semantics.narrow;
  const uint32_t mask = ~uint32_t{0} >> (32 - p.random_bits);
  const bool by_lanes = p.random_bits <= 16 && !environment.table[site].words;
  for (size_t i = 0; i < tile.rows; ++i) {
    uint32_t* const row = words + i * nr;
    RandomBlock draw{};
    for (size_t j = 0; j < tile.columns; ++j) {
      const uint64_t index = product_index(block, tile.output[i] + j);
      if (!by_lanes) {
        row[j] = environment.draw(p, site, index) & mask;
        continue;
      }
      const uint32_t lane = index & 7;
      if (j == 0 || lane == 0)
        draw = environment.random.block(environment.step, environment.operation + site, index >> 3);
      row[j] = draw.lane16(lane) & mask;
    }
  }
}

}  // namespace softamp::emu
