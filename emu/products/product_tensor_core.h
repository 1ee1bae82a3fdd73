// Products whose accumulator is a tensor core (numerics/products/tensor_core.h): the bits of kernel/products.h, with
// operands unpacked once for all outputs of a tile.
#pragma once

#include "emu/products/product.h"

namespace softamp::emu {

/// As run_product, for a plan of way kTensorCore.
void run_tensor_core_product(const ProductPlan& plan, const ProductProblem& problem,
                             const kernel::Environment& environment, const ProductSettings& settings);

}  // namespace softamp::emu
