#include "softamp/names/dtype.h"

#include "src/names/name_rows.h"

namespace softamp {

const char* name_of(DType t) {
  switch (t) {
    case DType::kFloat16: return "float16";
    case DType::kBFloat16: return "bfloat16";
    case DType::kFloat32: return "float32";
    case DType::kFloat64: return "float64";
    case DType::kInt32: return "int32";
    case DType::kBool: return "bool";
    case DType::kInt64: return "int64";
    case DType::kUint8: return "uint8";
    case DType::kString: return "string";
  }
  return "invalid";
}

std::optional<DType> parse_dtype(std::string_view text) {
  if (const name_rows::FormatRow* row = name_rows::find_format(text)) return row->dtype;
  if (const auto* row = name_rows::find(name_rows::kOtherDTypes, text)) return row->value;
  return std::nullopt;
}

}  // namespace softamp
