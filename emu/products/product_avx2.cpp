// The loops of products: AVX2.
#include "emu/products/product_body.h"
#include "emu/products/product_ways.h"

namespace softamp::emu {

constinit const ProductKernels kAvx2Products = [] {
  ProductKernels k = general_products<kTileRows, kTileVectors>(kAvx2Kernels);
  k.nearest = product_nearest_avx2;
  return k;
}();

}  // namespace softamp::emu
