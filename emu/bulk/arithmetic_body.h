// The general arithmetic on halves: the exact value in binary64, or a value that every rounding to fp16 rounds to the
// same result.
//
// Sums and products of two halves are exact in binary64. A quotient, and a sum of a product and a half, are rounded to
// odd: bit 0 of 53 then stands for the lost tail, and no rounding to 11 bits with at most 32 random bits reads that far
// (11 + 32 + 1 <= 52).
#pragma once

#include "emu/bulk/round_body.h"
#include "emu/bulk/widen_body.h"

namespace softamp::emu {
namespace {

/// Whether any lane of a narrow vector is not zero.
SOFTAMP_LANES bool any_of(U16of64 v) {
  uint64_t words[2] = {};
  __builtin_memcpy(words, &v, sizeof v);
  return (words[0] | words[1]) != 0;
}

/// Halves to binary64, exactly; for infinities and NaNs the value is meaningless.
SOFTAMP_LANES F64 to_f64(const void* halves) {
#if defined(__AVX512F__)
  return (F64)_mm512_cvtps_pd(_mm256_cvtph_ps(load<__m128i>(halves)));
#elif defined(__F16C__)
  return (F64)_mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(static_cast<const __m128i*>(halves))));
#elif defined(SOFTAMP_NEON)
  const uint32x2_t two = vdup_n_u32(load<uint32_t>(halves));
  return (F64)vcvt_f64_f32(vget_low_f32(vcvt_f32_f16(vreinterpret_f16_u32(two))));
#else
  const U64 wide = load_u16_as_u64(halves);
  const F64 scaled = (F64)((wide & 0x7FFF) << 42) * 0x1p1008;  // a half's bits under binary64's exponent: 2^(1023 - 15)
  return (F64)((U64)scaled | ((wide & 0x8000) << 48));
#endif
}

/// `x` rounded to odd, given the sign of exact - x in `error`, which is 0 where x is exact.
SOFTAMP_LANES F64 to_odd(F64 x, F64 error) {
  const U64 inexact = (U64)(error != 0.0);
  const U64 toward_zero = inexact & (U64)((I64)((U64)error ^ (U64)x) < 0);
  // The neighbour toward zero, if the exact value lies there; then the last bit is sticky.
  return (F64)(((U64)x + toward_zero) | (inexact & 1));
}

SOFTAMP_LANES F64 sum_to_odd(F64 a, F64 b) {
  const F64 sum = a + b;
  const F64 b_seen = sum - a, a_seen = sum - b_seen;
  return to_odd(sum, (a - a_seen) + (b - b_seen));  // Knuth's two-sum: the error is exact
}

/// a / b of fp32 numbers, of which q is the nearest quotient, rounded to odd. The remainder is exact: by an fma, or
/// with q cut in two so that both products with a 24-bit b are exact.
SOFTAMP_LANES F64 quotient_to_odd(F64 a, F64 b, F64 q) {
#if defined(SOFTAMP_FUSES)
  const F64 remainder = less_product(a, q, b);
#else
  const F64 high = (F64)((U64)q & ~uint64_t{0x7FFFFFF});
  const F64 remainder = (a - high * b) - (q - high) * b;
#endif
  return to_odd(q, (F64)((U64)remainder ^ ((U64)b & 0x8000000000000000u)));
}

/// a / b rounded to fp32, to nearest even.
SOFTAMP_LANES F64 quotient_by_way_of_fp32(F64 a, F64 b) { return widened(narrowed(a) / narrowed(b)); }

/// kGroup exact values at `values`; lanes with an infinity, a NaN or a zero divisor hold 0 and are marked in the
/// result.
SOFTAMP_LANES uint64_t exact_values(const ArithmeticPlan& p, const char* const (&in)[3], double* values) {
  constexpr size_t kLanes = sizeof(U64) / 8;
  uint64_t special_lanes = 0;
  for (size_t i = 0; i < kGroup; i += kLanes) {
    const U16of64 a16 = load<U16of64>(in[0] + 2 * i), b16 = load<U16of64>(in[1] + 2 * i);
    const F64 a = to_f64(in[0] + 2 * i);
    F64 b = to_f64(in[1] + 2 * i);
    U16of64 special = (U16of64)((a16 & 0x7C00) == 0x7C00) | (U16of64)((b16 & 0x7C00) == 0x7C00);
    F64 x = {};
    U64 unlike = (U64)a ^ (U64)b;
    switch (p.operation) {
      case Operation::kSub:
        b = -b;
        unlike = (U64)a ^ (U64)b;
        [[fallthrough]];
      case Operation::kAdd: x = a + b; break;
      case Operation::kMul: x = a * b; break;
      case Operation::kDiv:
        special |= (U16of64)((b16 & 0x7FFF) == 0);
        x = p.by_way_of_fp32 ? quotient_by_way_of_fp32(a, b) : quotient_to_odd(a, b, a / b);
        break;
      case Operation::kFma: {
        const U16of64 c16 = load<U16of64>(in[2] + 2 * i);
        special |= (U16of64)((c16 & 0x7C00) == 0x7C00);
        const F64 c = to_f64(in[2] + 2 * i), product = a * b;
        unlike = (U64)product ^ (U64)c;
        x = sum_to_odd(product, c);
        break;
      }
    }
    if (p.zero_sum_negative) x = (F64)((U64)x | ((U64)(x == 0.0) & unlike & 0x8000000000000000u));
    if (any_of(special)) [[unlikely]] {
      for (size_t l = 0; l < kLanes; ++l)
        if (special[l]) {
          special_lanes |= uint64_t{1} << (i + l);
          x[l] = 0;
        }
    }
    store(values + i, x);
  }
  return special_lanes;
}

}  // namespace
}  // namespace softamp::emu
