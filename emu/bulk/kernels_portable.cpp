// The portable kernels.
#include "emu/bulk/half_body.h"
#include "emu/bulk/round_aligned_body.h"

namespace softamp::emu {

const KernelTable kPortableKernels = {
    .round = round_general,
    .widen = widen_general,
    .arithmetic = arithmetic_general,
    .aligned = round_aligned,
    .half_nearest = half_nearest,
    .half_carry = half_carry,
    .arithmetic_nearest = arithmetic_nearest,
    .arithmetic_carry = arithmetic_carry,
    .half_values = false,
    .carry_bits = 22,
};

}  // namespace softamp::emu
