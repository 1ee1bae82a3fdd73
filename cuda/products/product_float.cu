// Tiled products: no rounding inside.
#include "cuda/products/product_ways.h"

namespace softamp::cuda {

void launch_float(Device& device, TileSize size, const ProductLaunch& launch) {
  launch_tiles<ChainWay::kFloat>(device, size, launch, "product, no rounding inside");
}

}  // namespace softamp::cuda
