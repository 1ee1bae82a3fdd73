// Tensors and .npy headers: dtypes as element types, extents as shapes.
#pragma once

#include <string>

#include "softamp/data/npy.h"
#include "softamp/tensor/tensor.h"

namespace softamp {

/// How a dtype is stored; bfloat16 as unsigned 16-bit integers.
npy::ElementType npy_type(DType t);

/// The header's shape. Throws npy::Error, beginning with `name`, for an extent above 2^40 or an impossible Shape.
Shape shape_of(const npy::Header& header, const std::string& name);

}  // namespace softamp
