// Exact multiply-adds by binary64.
#pragma once

#include "emu/simd.h"

namespace softamp::emu {
namespace {

/// a b + c in binary64 rounded to odd, for fp32 a, b and c: the product is exact, and of the sum's error, which 2Sum
/// gives exactly, only whether there is one and on which side matters. Any rounding to 24 bits, or to a half with 32
/// random bits, then equals that of the exact value (RLIBM-ALL; N402, N403).
// implements: N403
SOFTAMP_LANES F64 fused_to_odd(F64 a, F64 b, F64 c) {
  const F64 product = a * b, total = product + c;
  const F64 c_part = total - product, product_part = total - c_part;
  const F64 error = (product - product_part) + (c - c_part);
  const I64 bits = (I64)total;
  const I64 inexact = (error < 0.0) | (error > 0.0);  // neither for an infinite or NaN total
  const I64 even = (bits & 1) - 1;
  // One unit away from or toward zero, as error and total have like signs or not.
  const I64 away = ((I64)error ^ bits) < 0 ? splat<I64>(-1) : splat<I64>(1);
  return (F64)(bits + (inexact & even & away));
}

}  // namespace
}  // namespace softamp::emu
