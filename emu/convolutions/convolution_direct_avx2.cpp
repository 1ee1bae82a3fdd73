#include "emu/convolutions/convolution_direct_body.h"

namespace softamp::emu {
namespace {

struct Tiles {
  DirectTile narrow[2], wide[4];
  explicit Tiles(const ProductKernels& of)
      : narrow{tile_of<12, 1, 1>(of, nullptr), tile_of<8, 1, 1>(of, nullptr)},
        wide{tile_of<6, 1, 2>(of, product_result_avx2), tile_of<5, 1, 2>(of, product_result_avx2),
             tile_of<4, 1, 2>(of, product_result_avx2), tile_of<3, 2, 2>(of, product_result_avx2)} {}
};

}  // namespace

std::span<const DirectTile> direct_tiles_avx2(size_t columns) {
  static const Tiles kTiles(kAvx2Products);
  if (columns <= kLanes) return kTiles.narrow;
  return kTiles.wide;
}

}  // namespace softamp::emu
