// Convolutions on the CPU: the products of engine/convolution_node.h, computed by the engine of product.h.
#pragma once

#include "emu/op_kernel.h"
#include "emu/products/product.h"
#include "softamp/engine/convolution_node.h"

namespace softamp::emu {

using engine::axis_classes;
using engine::AxisClass;
using engine::tap_places;
using engine::TapPlaces;

}  // namespace softamp::emu
