// The loops of products: what every machine of the architecture has.
#include "emu/product_body.h"

namespace softamp::emu {

// Constants all: what runs before main must not hold instructions of a set that
// the machine may lack.
constinit const ProductKernels kPortableProducts = general_products<kTileRows, kTileVectors>(kPortableKernels);

}  // namespace softamp::emu
