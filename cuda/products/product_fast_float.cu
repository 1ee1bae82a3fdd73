// Fast products: no rounding inside.
#include "cuda/products/product_ways.h"

namespace softamp::cuda {

void launch_fast_float(Device& device, TileSize size, const ProductLaunch& launch) {
  const char* const name = "fast product, no rounding inside";
  if (launch.copies)
    return launch_fast<FastWay::kFloatCopied, 4>(device, size, launch, "fast product, operands by asynchronous copies");
  if (launch.kind == OperandKind::kFloat) return launch_fast<FastWay::kFloat, 4>(device, size, launch, name);
  launch_fast<FastWay::kFloat>(device, size, launch, name);
}

}  // namespace softamp::cuda
