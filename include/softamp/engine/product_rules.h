// The rules of a product from its node's attributes and the executor's options: MatMul's and the convolutions'.
#pragma once

#include "softamp/engine/op_kernel.h"
#include "softamp/kernel/products.h"

namespace softamp::engine {

/// Rules of a product of operands and result of dtype `type`. Half partials are ignored, with a warning, for a float32
/// result, which is wider (the device's libraries do the same), and for a bfloat16 result, which a half cannot hold.
/// independent: a sum over a batch (N105).
kernel::ProductRules product_rules(const OpContext& context, const ProductOptions& options, DType type,
                                   bool independent);

/// Products to a rounding: options.block, 0 for all of k.
inline size_t block_length(const ProductOptions& options) { return static_cast<size_t>(options.block); }

}  // namespace softamp::engine
