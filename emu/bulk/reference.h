// Access to single elements, and the scalar reference of one element.
#pragma once

#include "emu/bulk/plan.h"

namespace softamp::emu {

/// Element i as a bit pattern.
uint64_t load_element(const void* array, Element type, size_t i);
void store_element(void* array, Element type, size_t i, uint64_t bits);

Rounded reference_arithmetic(const ArithmeticPlan& plan, const uint16_t (&operands)[3], uint32_t random);

}  // namespace softamp::emu
