// Tiled products for all rules: no rounding inside.
#include "cuda/products/product_ways.h"

namespace softamp::cuda {

void launch_float(Device& device, const ProductLaunch& launch) {
  launch_tiles<ChainWay::kFloat>(device, launch, "product, no rounding inside");
}

}  // namespace softamp::cuda
