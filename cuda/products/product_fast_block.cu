// Fast products: roundings to halves at the ends of blocks.
#include "cuda/products/product_ways.h"

namespace softamp::cuda {

void launch_fast_block(Device& device, TileSize size, bool carries, const ProductLaunch& launch) {
  const char* const name = "fast product, roundings to halves at the ends of blocks";
  if (carries) return launch_fast<FastWay::kBlockCarry>(device, size, launch, name);
  launch_fast<FastWay::kBlockNearest>(device, size, launch, name);
}

}  // namespace softamp::cuda
