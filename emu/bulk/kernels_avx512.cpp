// The kernels of AVX-512, without and with arithmetic on halves.
#include "emu/bulk/general_body.h"
#include "emu/bulk/half_kernels.h"
#include "emu/bulk/round_aligned_body.h"
#include "emu/bulk/round_nearest_body.h"

namespace softamp::emu {
namespace {

constexpr KernelTable kernels_with(ArithmeticKernel arithmetic_nearest) {
  return {
      .round = round_general,
      .widen = widen_general,
      .arithmetic = arithmetic_general,
      .nearest = round_nearest,
      .aligned = round_aligned,
      .half_nearest = round_half_nearest_avx512,
      .half_carry = round_half_carry_avx512,
      .arithmetic_nearest = arithmetic_nearest,
      .arithmetic_carry = arithmetic_carry_avx512,
      .carry_bits = 23,
  };
}

}  // namespace

const KernelTable kAvx512Kernels = kernels_with(arithmetic_nearest_avx512);

#if defined(SOFTAMP_HAS_AVX512FP16)
const KernelTable kAvx512Fp16Kernels = kernels_with(arithmetic_nearest_avx512fp16);
#endif

}  // namespace softamp::emu
