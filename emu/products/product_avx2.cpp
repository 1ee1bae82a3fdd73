// The loops of products: AVX2.
#include "emu/products/product_body.h"
#include "emu/products/product_ways.h"

namespace softamp::emu {

constinit const ProductKernels kAvx2Products = [] {
  ProductKernels k = general_products<kTileRows, kTileVectors>(kAvx2Kernels);
  k.nearest_each = product_nearest_each_avx2;
  k.carry_each = product_carry_each_avx2;
  k.nearest = product_nearest_avx2;
  k.carry = product_carry_avx2;
  k.result = product_result_avx2;
  k.exact_products_only = true;
  return k;
}();

}  // namespace softamp::emu
