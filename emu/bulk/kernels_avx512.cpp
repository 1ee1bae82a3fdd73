// The kernels of AVX-512, without and with arithmetic on halves.
#include "emu/bulk/general_body.h"
#include "emu/bulk/half_kernels.h"
#include "emu/bulk/round_aligned_body.h"

namespace softamp::emu {

const KernelTable kAvx512Kernels = {
    .round = round_general,
    .widen = widen_general,
    .arithmetic = arithmetic_general,
    .aligned = round_aligned,
    .half_nearest = round_half_nearest_avx512,
    .half_carry = round_half_carry_avx512,
    .arithmetic_nearest = arithmetic_nearest_avx512,
    .arithmetic_carry = arithmetic_carry_avx512,
    .half_values = true,
    .carry_bits = 23,
};

#if defined(SOFTAMP_HAS_AVX512FP16)
const KernelTable kAvx512Fp16Kernels = {
    .round = round_general,
    .widen = widen_general,
    .arithmetic = arithmetic_general,
    .aligned = round_aligned,
    .half_nearest = round_half_nearest_avx512,
    .half_carry = round_half_carry_avx512,
    .arithmetic_nearest = arithmetic_nearest_avx512fp16,
    .arithmetic_carry = arithmetic_carry_avx512,
    .half_values = true,
    .carry_bits = 23,
};
#endif

}  // namespace softamp::emu
