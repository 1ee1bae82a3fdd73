// Tiled products for all rules: roundings to halves at the ends of blocks.
#include "cuda/products/product_ways.h"

namespace softamp::cuda {

void launch_block(Device& device, const ProductLaunch& launch) {
  launch_tiles<ChainWay::kBlock>(device, launch, "product, roundings to halves at the ends of blocks");
}

}  // namespace softamp::cuda
