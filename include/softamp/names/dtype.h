// The types of tensors' elements, with their usual names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "softamp/numerics/format.h"

namespace softamp {

/// What a tensor's elements are. A mismatch in an operation is an error, never a promotion.
enum class DType : uint8_t {
  kFloat16,   ///< "float16": IEEE binary16 codes.
  kBFloat16,  ///< "bfloat16": the upper half of a binary32 code.
  kFloat32,   ///< "float32".
  kFloat64,   ///< "float64": binary64, to nearest even whatever the policy (N441).
  kInt32,     ///< "int32": two's complement; arithmetic wraps.
  kBool,      ///< "bool": one byte, 0 or 1.
  // Carried as they are: fed, kept, passed on and fetched; nothing computes with them, and no policy casts them.
  kInt64,   ///< "int64": two's complement.
  kUint8,   ///< "uint8".
  kString,  ///< "string": the dtype of a graph's edges alone; there is no tensor of it.
};

/// Bytes of one element: 2, 2, 4, 8, 4, 1, 8, 1; of a string 1, which stands for none.
constexpr size_t size_of(DType t) {
  switch (t) {
    case DType::kFloat16:
    case DType::kBFloat16: return 2;
    case DType::kFloat32:
    case DType::kInt32: return 4;
    case DType::kFloat64:
    case DType::kInt64: return 8;
    case DType::kBool:
    case DType::kUint8:
    case DType::kString: break;
  }
  return 1;
}

constexpr bool is_floating(DType t) { return t <= DType::kFloat64; }

/// The format of a floating dtype; fp32 for others.
constexpr FloatFormat format_of(DType t) {
  switch (t) {
    case DType::kFloat16: return kFp16;
    case DType::kBFloat16: return kBf16;
    case DType::kFloat64: return kBinary64;
    default: return kFp32;
  }
}

/// float64 for float64, else float32: what gradients, rates and statistics of an element dtype are held in.
constexpr DType wide_dtype(DType t) { return t == DType::kFloat64 ? t : DType::kFloat32; }

/// "float16", "bfloat16", "float32", "float64", "int32", "bool", "int64", "uint8", "string".
const char* name_of(DType t);

/// The dtype of a name: of a floating one any name of its format (names/names.h), so float16 fp16 f16 half binary16,
/// bfloat16 bf16, float32 fp32 f32 float single binary32, float64 fp64 f64 double binary64; int32 int, bool, int64,
/// uint8, string; and those of TensorFlow's GraphDefs: DT_HALF, DT_BFLOAT16, DT_FLOAT, DT_DOUBLE, DT_INT32, ... Without
/// regard to case. Empty for another word.
std::optional<DType> parse_dtype(std::string_view text);

}  // namespace softamp
