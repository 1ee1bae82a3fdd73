// Tiled products: a rounding to half after every product.
#include "cuda/products/product_ways.h"

namespace softamp::cuda {

void launch_each(Device& device, TileSize size, const ProductLaunch& launch) {
  launch_tiles<ChainWay::kEach>(device, size, launch, "product, a rounding to half after every product");
}

}  // namespace softamp::cuda
