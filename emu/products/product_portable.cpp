// The loops of products: what every machine of the architecture has.
#include "emu/products/product_body.h"

namespace softamp::emu {

// All are constants: code that runs before main must not use instructions that the machine may lack.
constinit const ProductKernels kPortableProducts = general_products<kTileRows, kTileVectors>(kPortableKernels);

}  // namespace softamp::emu
