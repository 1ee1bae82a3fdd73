// A convolution as the products of product_tile.h: a part for every class of places, or tap, of every group.
#pragma once

#include "cuda/products/product_tile.h"
#include "softamp/engine/convolution_node.h"

namespace softamp::cuda {

/// Operand a: input (forward, filter gradient) or gradient of the output (input gradient); b: filter (forward, input
/// gradient) or gradient of the output (filter gradient).
ProductParts convolution_parts(const engine::ConvolutionNode& node);

}  // namespace softamp::cuda
