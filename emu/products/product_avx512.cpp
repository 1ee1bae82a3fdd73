// The loops of products: AVX-512, without and with arithmetic on halves.
#include "emu/products/product_body.h"
#include "emu/products/product_ways.h"

namespace softamp::emu {
namespace {

/// 24 x 16: for few outputs in a row, for which half of a wide tile would be idle.
constexpr ProductKernels slender() {
  ProductKernels k = general_products<24, 1>(kAvx512Kernels);
  k.nearest_each = product_nearest_each_slender_avx512;
  k.carry_each = product_carry_each_slender_avx512;
  k.nearest = product_nearest_slender_avx512;
  k.carry = product_carry_slender_avx512;
  k.result = product_result_slender_avx512;
  return k;
}
constinit const ProductKernels kSlender = slender();

constexpr ProductKernels wide(const KernelTable& table) {
  ProductKernels k = general_products<kTileRows, kTileVectors>(table);
  k.slender = &kSlender;
  k.nearest_each = product_nearest_each_avx512;
  k.carry_each = product_carry_each_avx512;
  k.nearest = product_nearest_avx512;
  k.carry = product_carry_avx512;
  k.result = product_result_avx512;
  return k;
}

}  // namespace

constinit const ProductKernels kAvx512Products = wide(kAvx512Kernels);

#if defined(SOFTAMP_HAS_AVX512FP16)
namespace {

/// 16 halves' values as halves.
SOFTAMP_LANES __m256i halves_of(const float* values) { return _mm512_cvtps_ph(_mm512_loadu_ps(values), 0); }

void narrow(const float* values, size_t count, uint16_t* halves) {
  for (size_t i = 0; i < count; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(halves + i), halves_of(values + i));
}

void narrow_pairs(const float* values, size_t count, uint32_t* pairs) {
  for (size_t i = 0; i < count; i += 16) {
    const __m512i x = _mm512_cvtepu16_epi32(halves_of(values + i));
    _mm512_storeu_si512(pairs + i, _mm512_or_si512(x, _mm512_slli_epi32(x, 16)));
  }
}

}  // namespace

constinit const ProductKernels kAvx512Fp16Products = [] {
  ProductKernels k = wide(kAvx512Fp16Kernels);
  k.narrow = narrow;
  k.narrow_pairs = narrow_pairs;
  k.native = product_native_avx512fp16;
  return k;
}();
#endif

}  // namespace softamp::emu
