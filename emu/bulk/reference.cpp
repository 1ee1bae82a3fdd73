// The scalar reference for one element: kernels call it for rare lanes, and to find the index of a flag.
#include "softamp/numerics/convert.h"
#include "softamp/numerics/operations.h"

#include "emu/bulk/kernels.h"
#include "emu/bulk/reference.h"

namespace softamp::emu {

Rounded reference_arithmetic(const ArithmeticPlan& plan, const uint16_t (&operands)[3], uint32_t random) {
  const auto [a, b, c] = operands;
  const Semantics& s = plan.semantics;
  switch (plan.operation) {
    case Operation::kAdd: return fp::add(kFp16, a, b, s, random);
    case Operation::kSub: return fp::sub(kFp16, a, b, s, random);
    case Operation::kMul: return fp::mul(kFp16, a, b, s, random);
    case Operation::kDiv: return fp::div(kFp16, a, b, s, random);
    case Operation::kFma: break;
  }
  return fp::fma(kFp16, a, b, c, s, random);
}

Rounded reference_lane(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice, size_t i) {
  uint16_t operands[3] = {};
  for (int k = 0; k < 3; ++k)
    if (slice.in[k]) operands[k] = static_cast<const uint16_t*>(slice.in[k])[i];
  uint32_t word = 0;
  if (plan.round.stochastic) {
    const int r = plan.round.random_bits;
    word = slice.words ? slice.words[i] : random.source.bits(random.step, random.operation, slice.index + i, r);
  }
  return reference_arithmetic(plan, operands, word);
}

uint64_t load_element(const void* array, Element type, size_t i) {
  switch (type) {
    case Element::kU8: return static_cast<const uint8_t*>(array)[i];
    case Element::kU16: return static_cast<const uint16_t*>(array)[i];
    case Element::kU32: return static_cast<const uint32_t*>(array)[i];
    case Element::kF32: return __builtin_bit_cast(uint32_t, static_cast<const float*>(array)[i]);
    case Element::kF64: break;
  }
  return __builtin_bit_cast(uint64_t, static_cast<const double*>(array)[i]);
}

void store_element(void* array, Element type, size_t i, uint64_t bits) {
  switch (type) {
    case Element::kU8: static_cast<uint8_t*>(array)[i] = static_cast<uint8_t>(bits); return;
    case Element::kU16: static_cast<uint16_t*>(array)[i] = static_cast<uint16_t>(bits); return;
    case Element::kF64: static_cast<double*>(array)[i] = __builtin_bit_cast(double, bits); return;
    case Element::kU32:
    case Element::kF32: break;
  }
  const uint32_t word = static_cast<uint32_t>(bits);
  __builtin_memcpy(static_cast<char*>(array) + 4 * i, &word, 4);
}

}  // namespace softamp::emu
