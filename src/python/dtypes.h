// Which dtype of NumPy or ml_dtypes holds the codes of which format.
#pragma once

#include "src/python/arrays.h"

namespace softamp::python {

/// numpy.uint8, .uint16 or .uint32 by bytes; imported once.
nb::handle unsigned_dtype(int bytes);
/// The dtype object of a name, from NumPy or ml_dtypes; empty where ml_dtypes is not installed.
nb::handle dtype_object(std::string_view name);

/// The format of a NumPy array's codes where its dtype is one of ml_dtypes, which have no buffer protocol.
std::optional<FloatFormat> format_of_ml_array(nb::handle array);
/// Its codes as unsigned integers: the same bytes.
nb::object codes_of_ml_array(nb::handle array, const FloatFormat& format);

}  // namespace softamp::python
