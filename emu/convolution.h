// Convolutions on the CPU: the products that a node comes to (engine/convolution_node.h) on the engine of product.h.
#pragma once

#include "emu/op_kernel.h"
#include "emu/product.h"
#include "softamp/engine/convolution_node.h"

namespace softamp::emu {

using engine::axis_classes;
using engine::AxisClass;
using engine::tap_places;
using engine::TapPlaces;

}  // namespace softamp::emu
