// Arrays of Python as tensors and back; both are copies, for a tensor owns its elements.
#pragma once

#include <optional>

#include "softamp/tensor/tensor.h"
#include "src/python/arrays.h"

namespace softamp::python {

/// `expected`: the dtype that is wanted; it decides what unsigned integers of 16 bits are: bfloat16. Numbers of Python
/// and lists are not taken. Throws TypeError for a dtype that tensors do not have.
Tensor tensor_from(nb::handle object, const char* name, std::optional<DType> expected = std::nullopt);

/// bfloat16 as ml_dtypes has it; where that is not installed as uint16.
nb::object array_of(const Tensor& tensor);

}  // namespace softamp::python
