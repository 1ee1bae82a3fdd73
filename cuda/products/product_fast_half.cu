// Fast products with roundings to half: at the ends of blocks, and after every product.
#include "cuda/products/product_ways.h"

namespace softamp::cuda {

void launch_fast_block(Device& device, TileSize size, bool carries, const ProductLaunch& launch) {
  const char* const name = "fast product, roundings to halves at the ends of blocks";
  if (carries) return launch_fast<FastWay::kBlockCarry>(device, size, launch, name);
  launch_fast<FastWay::kBlockNearest>(device, size, launch, name);
}

void launch_fast_each(Device& device, TileSize size, bool carries, const ProductLaunch& launch) {
  const char* const name = "fast product, a rounding to half after every product";
  if (carries) return launch_fast<FastWay::kEachCarry>(device, size, launch, name);
  launch_fast<FastWay::kEachNearest>(device, size, launch, name);
}

}  // namespace softamp::cuda
