// The fast kernels to and on halves. Each gives the general one's results wherever `choose` (kernels.h) picks it.
#pragma once

#include "emu/bulk/kernels.h"

namespace softamp::emu {

uint8_t round_half_nearest_avx512(const RoundPlan&, const RandomPlan&, Element from, Element to, const Slice&,
                                  uint8_t wanted);
uint8_t round_half_carry_avx512(const RoundPlan&, const RandomPlan&, Element from, Element to, const Slice&,
                                uint8_t wanted);

uint8_t arithmetic_nearest_avx512(const ArithmeticPlan&, const RandomPlan&, const Slice&, uint8_t wanted);
uint8_t arithmetic_nearest_avx512fp16(const ArithmeticPlan&, const RandomPlan&, const Slice&, uint8_t wanted);
uint8_t arithmetic_carry_avx512(const ArithmeticPlan&, const RandomPlan&, const Slice&, uint8_t wanted);

}  // namespace softamp::emu
