// Elementary functions of our own: the same bits on every compiler and machine (N62, N180), not correctly rounded.
// docs/NUMERICS.md has a row for each: oracle, domain, worst error, share not correctly rounded.
//
// Each takes and gives lanes of math_lane.h; `math::exp(math::Float(x)).value` is the scalar form.
#pragma once

#include "softamp/numerics/math_erf.h"
#include "softamp/numerics/math_exp.h"
#include "softamp/numerics/math_log.h"
#include "softamp/numerics/math_normal.h"
#include "softamp/numerics/math_pow.h"
#include "softamp/numerics/math_sin.h"
#include "softamp/numerics/math_tanh.h"

namespace softamp::math {

/// x^y of two fp32 numbers.
SOFTAMP_MATH Float pow(Float x, Float y) {
  const Double z = pow(Double(x.value), Double(y.value));
#if defined(__CUDA_ARCH__)
  return __double2float_rn(z.value);
#else
  return static_cast<float>(z.value);
#endif
}

}  // namespace softamp::math
