#include "src/python/tensors.h"

#include <cstring>

namespace softamp::python {
namespace {

DType dtype_of(const Array& a, std::optional<DType> expected) {
  switch (a.elements()) {
    case Elements::kFloat32: return DType::kFloat32;
    case Elements::kFloat64: return DType::kFloat64;
    case Elements::kInt32: return DType::kInt32;
    case Elements::kInt64: return DType::kInt64;
    case Elements::kBool: return DType::kBool;
    case Elements::kUint8: return DType::kUint8;
    case Elements::kUint16:
      if (expected == DType::kBFloat16) return DType::kBFloat16;
      break;
    case Elements::kCodes:
      if (a.format() == kFp16) return DType::kFloat16;
      if (a.format() == kBf16) return DType::kBFloat16;
      break;
    default: break;
  }
  a.refuse_type("float16, bfloat16, float32, float64, int32, int64, uint8 or bool");
}

}  // namespace

Tensor tensor_from(nb::handle object, const char* name, std::optional<DType> expected) {
  const Array a(object, name);
  Tensor tensor(dtype_of(a, expected), Shape(a.shape()));
  if (tensor.bytes() != 0) std::memcpy(tensor.data(), a.as<std::byte>().data(), tensor.bytes());
  return tensor;
}

nb::object array_of(const Tensor& tensor) {
  const std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  const bool codes = tensor.dtype() == DType::kBFloat16;
  const nb::object array = codes ? new_codes(shape, kBf16, false) : new_array(shape, name_of(tensor.dtype()));
  Array out(array, "out", Access::kWrite);
  if (tensor.bytes() != 0) std::memcpy(out.to_write<std::byte>().data(), tensor.data(), tensor.bytes());
  return codes ? in_own_dtype(array, kBf16) : array;
}

}  // namespace softamp::python
