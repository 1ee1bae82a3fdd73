// How two tensors differ, element by element.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "softamp/tensor/tensor.h"

namespace softamp {

/// Empty where they agree, to the last bit, or within `ulps` units in the last place (numerics/ulp.h; integers and
/// bools: exactly), where any NaN agrees with any NaN, and -0 with +0; else how many elements do not, the first of them
/// with codes and values, and how many are how far apart (N429): "2 of 4 elements differ, the first at [1,0]: 0x4200
/// (3), expected 0x4201 (3.001953125); ulps: 1 x 1, 512 x 1". Tensors of other dtypes or shapes: "float16[2], expected
/// float32[2]".
std::string difference_text(const Tensor& found, const Tensor& expected, std::optional<uint64_t> ulps = {});

}  // namespace softamp
