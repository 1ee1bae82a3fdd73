// The gradient of gelu: an upstream gradient times the derivative at the features, in fp32, rounded once; of binary64
// numbers in binary64.
#pragma once

#include "softamp/kernel/elementwise.h"
#include "softamp/kernel/functions.h"

namespace softamp::kernel {

/// g times f(x), codes in format `format`: f in fp32, the product to nearest in fp32, then one rounding (finish32).
// implements: N193
SOFTAMP_HD inline Rounded times_function(Function f, const FloatFormat& format, uint64_t g, uint64_t x,
                                         const Semantics& s, uint32_t random) {
  Operands operands;
  operands.add(format, g, s);
  operands.add(format, x, s);
  const math::Float slope = function_of(f, operand32(format, x, s));
  return finish32(format, (math::Float(operand32(format, g, s)) * slope).value, operands, false, s, random);
}

/// The same of binary64 numbers: the function and the product round each.
// implements: N199
SOFTAMP_HD inline Rounded times_function64(Function f, uint64_t g, uint64_t x, const Semantics& s) {
  const FloatFormat format = FloatFormat::binary64();
  Operands operands;
  operands.add(format, g, s);
  operands.add(format, x, s);
  const math::Double slope = binary64_function_of(f, __builtin_bit_cast(double, x));
  return finish64((math::Double(__builtin_bit_cast(double, g)) * slope).value, operands, false, s);
}

}  // namespace softamp::kernel
