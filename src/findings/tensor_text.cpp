#include "softamp/findings/tensor_text.h"

#include "softamp/numbers/number_text.h"

namespace softamp {
namespace {

std::string element_text(DType dtype, const void* data, int64_t i) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16: return shortest_decimal(format_of(dtype), static_cast<const uint16_t*>(data)[i]);
    case DType::kFloat32: return shortest_decimal(kFp32, static_cast<const uint32_t*>(data)[i]);
    case DType::kFloat64: return shortest_decimal(kBinary64, static_cast<const uint64_t*>(data)[i]);
    case DType::kInt32: return std::to_string(static_cast<const int32_t*>(data)[i]);
    case DType::kInt64: return std::to_string(static_cast<const int64_t*>(data)[i]);
    case DType::kUint8: return std::to_string(static_cast<const uint8_t*>(data)[i]);
    case DType::kBool:
    case DType::kString: break;
  }
  return static_cast<const uint8_t*>(data)[i] ? "true" : "false";
}

void write_axis(const TensorType& type, const void* data, int axis, int64_t first, int64_t edge, std::string& out) {
  if (axis == type.shape.rank()) {
    out += element_text(type.dtype, data, first);
    return;
  }
  int64_t below = 1;
  for (int a = axis + 1; a < type.shape.rank(); ++a) below *= type.shape[a];
  const int64_t n = type.shape[axis];
  out += "[";
  for (int64_t i = 0; i < n; ++i) {
    if (n > 2 * edge && i == edge) {
      out += edge > 0 ? ", ..." : "...";
      i = n - edge;
    }
    if (i == n) break;
    if (i > 0) out += ", ";
    write_axis(type, data, axis + 1, first + i * below, edge, out);
  }
  out += "]";
}

}  // namespace

std::string text_of(const TensorType& type) { return std::string(name_of(type.dtype)) + " " + type.shape.text(); }

std::string tensor_text(const TensorType& type, const void* data, int64_t edge) {
  std::string out = text_of(type) + " ";
  write_axis(type, data, 0, 0, edge, out);
  return out;
}

}  // namespace softamp
