// Tensors as text, for people.
#pragma once

#include <string>

#include "softamp/tensor/tensor.h"

namespace softamp {

/// "float16 [2,3]", the beginning of tensor_text; without the blank it is TensorType::text.
std::string text_of(const TensorType& type);

/// "float16 [2,2] [[1, 2], [3, 4]]": shortest decimals that round to the elements; an axis with more than 2 * `edge`
/// elements shows the first and last `edge` (>= 0) [=3], as NumPy prints large arrays.
std::string tensor_text(const TensorType& type, const void* data, int64_t edge = 3);
inline std::string tensor_text(const Tensor& t, int64_t edge = 3) { return tensor_text(t.type(), t.data(), edge); }

}  // namespace softamp
