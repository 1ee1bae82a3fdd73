// Fast products: a rounding to half after every product.
#include "cuda/products/product_ways.h"

namespace softamp::cuda {

void launch_fast_each(Device& device, TileSize size, bool carries, const ProductLaunch& launch) {
  const char* const name = "fast product, a rounding to half after every product";
  if (carries) return launch_fast<FastWay::kEachCarry>(device, size, launch, name);
  launch_fast<FastWay::kEachNearest>(device, size, launch, name);
}

}  // namespace softamp::cuda
