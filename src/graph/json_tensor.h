// Constants in graph JSON: numbers, codes, base64, .npy files.
#pragma once

#include <nlohmann/json.hpp>

#include "softamp/graph/graph_json.h"

namespace softamp::graph_detail {

using Json = nlohmann::json;
using WrittenJson = nlohmann::ordered_json;  ///< keeps the order of fields; too slow for objects from outside

/// Throws GraphError: place + message.
[[noreturn]] void fail_at(const std::string& place, const std::string& message);
/// A value as a message shows it: its kind and, cut short, its text.
std::string found(const Json& value);
/// A list of extents. Throws GraphError for a negative or overflowing dimension.
Shape read_shape(const Json& value, const std::string& place);
DType read_dtype(const Json& value, const std::string& place);
/// A float: a number, "nan", "inf" or "-inf".
double read_float(const Json& value, const std::string& place);

/// {"dtype", "shape", and one of "values", "base64", "npy"}. `budget`: the bytes that constants may still take.
Tensor read_tensor(const Json& value, const JsonOptions& options, uint64_t& budget, const std::string& place);
WrittenJson write_tensor(const Tensor& tensor);
WrittenJson write_float(double value);

}  // namespace softamp::graph_detail
