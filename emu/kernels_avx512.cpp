// The kernels of AVX-512 without arithmetic on halves.
#include "emu/general_body.h"
#include "emu/half_kernels.h"

namespace softamp::emu {

const KernelTable kAvx512Kernels = {
    .round = round_general,
    .widen = widen_general,
    .arithmetic = arithmetic_general,
    .half_nearest = round_half_nearest_avx512,
    .half_carry = round_half_carry_avx512,
    .arithmetic_nearest = arithmetic_nearest_avx512,
    .arithmetic_carry = arithmetic_carry_avx512,
};

}  // namespace softamp::emu
