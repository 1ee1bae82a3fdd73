// The one constant of a cost model that the tutorial gives (TUTORIAL G02): how much faster the matrix unit is in half.
#pragma once

#include "softamp/names/dtype.h"

namespace softamp {

/// Multiply-adds a second of the matrix unit (AMP and SLIC instructions) at best, relative to float32: float16 4,
/// float32 1; 0 for dtypes that it does not multiply. Nothing is timed by it.
/// Source: Graphcore's tutorial on half and mixed precision.
constexpr int relative_peak_rate(DType dtype) {
  return dtype == DType::kFloat16 ? 4 : dtype == DType::kFloat32 ? 1 : 0;
}

}  // namespace softamp
