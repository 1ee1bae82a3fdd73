// Tiled products for all rules: a rounding to half after every product.
#include "cuda/products/product_ways.h"

namespace softamp::cuda {

void launch_each(Device& device, const ProductLaunch& launch) {
  launch_tiles<ChainWay::kEach>(device, launch, "product, a rounding to half after every product");
}

}  // namespace softamp::cuda
