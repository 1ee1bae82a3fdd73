// The fast ways of AVX2 and AVX-512 (ProductKernels): each supports the plans that its name says, under usual
// semantics.
#pragma once

#include "emu/products/product_kernels.h"

namespace softamp::emu {

// implements: N404
constexpr int kMostTruncatedBits = 16;  ///< random bits that the ways after every product serve

bool product_nearest_each_avx2(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);
bool product_carry_each_avx2(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);
bool product_carry_avx2(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);
bool product_nearest_avx2(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);
bool product_result_avx2(const ProductPlan&, const kernel::Environment&, const ProductTile&, const float*, uint16_t*);
bool product_native_avx512fp16(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);

// Each for tiles of 12 x 32 outputs and, slender, of 24 x 16.
bool product_nearest_each_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);
bool product_nearest_each_slender_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile&,
                                         float* acc);
bool product_carry_each_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);
bool product_carry_each_slender_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);
bool product_nearest_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);
bool product_nearest_slender_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);
bool product_carry_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);
bool product_carry_slender_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile&, float* acc);
bool product_result_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile&, const float*, uint16_t*);
bool product_result_slender_avx512(const ProductPlan&, const kernel::Environment&, const ProductTile&, const float*,
                                   uint16_t*);

}  // namespace softamp::emu
