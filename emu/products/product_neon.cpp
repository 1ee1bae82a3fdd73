// The loops of products: NEON. Sums in fp32 have its fused multiply-add; half partials go the general way.
#include "emu/products/product_body.h"

namespace softamp::emu {

constinit const ProductKernels kNeonProducts = general_products<kTileRows, kTileVectors>(kNeonKernels);

}  // namespace softamp::emu
