// Arithmetic on halves through fp32 vectors, in AVX-512.
//
// Nearest even: + - x / in fp32 and then to a half is an innocent double rounding (24 >= 2 x 11 + 2, N405); an fma is
// not, so its fp32 result is rounded to odd (N403).
//
// Stochastic (carry), r random bits, result floor(|x| + rho) to quanta u with rho = R u 2^-r:
//   product                 exact in fp32, so any r <= 23 will do.
//   quotient, sum, fma      r <= 13: truncated to fp32 (N402). By way of fp32: the rounded quotient is the value.
//   sum, fma, r > 13        x = a + b with |a| >= |b|, a >= 0: floor_u(a + RD32(b + rho)), the outer sum rounded down
//   too.
//                           A downward rounding passes m u only if its exact argument does not reach m u, where m u is
//                           a number of the precision; and b + rho reaches m u - a, which is one: it is a multiple of
//                           the lesser of u and a's quantum, and fewer than 2^24 of them (u is smaller than both quanta
//                           only after cancellation, when x is a multiple of u and m u - a = b for the m that counts).
//   quotient, r > 13        q = RZ32(a / b) has the remainder a - q b, exact; with f = q - k u the quotient reaches
//                           (k + 1) u - rho iff a - q b >= b ((u - f) - rho), whose right side is rounded up.
#pragma once

#include "emu/bulk/half_avx512_body.h"
#include "emu/bulk/kernels.h"

namespace softamp::emu {
namespace {

/// The operands of 16 lanes.
struct HalfOperands {
  const uint16_t* in[3];

  SOFTAMP_LANES __m512 at(int k, size_t v) const {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in[k] + 16 * v)));
  }
  SOFTAMP_LANES void advance(int operands) {
    for (int k = 0; k < operands; ++k) in[k] += kGroup;
  }
};

SOFTAMP_LANES HalfOperands operands_of(const Slice& slice) {
  HalfOperands o;
  for (int k = 0; k < 3; ++k) o.in[k] = static_cast<const uint16_t*>(slice.in[k]);
  return o;
}

constexpr int operand_count(Operation op) { return op == Operation::kFma ? 3 : 2; }

template <bool kStream, Operation kOp>
SOFTAMP_LANES void prefetch_operands(const HalfOperands& o) {
  for (int k = 0; k < operand_count(kOp); ++k) prefetch_operand<kStream>(o.in[k], 2 * kGroup);
}

/// The position of a group, for the lanes that the scalar reference computes.
struct GroupPlace {
  const ArithmeticPlan& plan;
  const RandomPlan& random;
  const Slice& slice;
  size_t begin;
  uint8_t wanted;
};

/// A group with rare lanes; if flags are wanted, the scalar reference gives those of infinite and NaN results.
template <class Lanes>
[[gnu::noinline]] HalfGroup rare_group(const GroupPlace& at, HalfRounding how, Lanes lanes, uint8_t& flags) {
  return rare_group_of(at.plan.round, how, lanes, flags, [&](size_t v, const HalfLanes&, unsigned special) {
    for (; at.wanted && special; special &= special - 1) {
      const size_t lane = 16 * v + static_cast<size_t>(__builtin_ctz(special));
      flags = static_cast<uint8_t>(flags | reference_lane(at.plan, at.random, at.slice, at.begin + lane).flags);
    }
  });
}

/// The fp32 result of an operation under one rounding of the instruction.
// implements: N405
template <Operation kOp, int kRounding>
SOFTAMP_LANES __m512 fp32_result(const HalfOperands& o, size_t v) {
  const __m512 a = o.at(0, v), b = o.at(1, v);
  if constexpr (kOp == Operation::kAdd) return _mm512_add_round_ps(a, b, kRounding);
  if constexpr (kOp == Operation::kSub) return _mm512_sub_round_ps(a, b, kRounding);
  if constexpr (kOp == Operation::kMul) return _mm512_mul_round_ps(a, b, kRounding);
  if constexpr (kOp == Operation::kDiv) return _mm512_div_round_ps(a, b, kRounding);
  if constexpr (kOp == Operation::kFma) return _mm512_fmadd_round_ps(a, b, o.at(2, v), kRounding);
}

/// The value that nearest even needs, with MXCSR set if inexact: RN32, or for an fma RO32.
template <Operation kOp>
SOFTAMP_LANES __m512 nearest_result(const HalfOperands& o, size_t v) {
  if constexpr (kOp == Operation::kFma) {
    const __m512 down = fp32_result<kOp, kDownward>(o, v), up = fp32_result<kOp, kUpward>(o, v);
    const __mmask16 odd = _mm512_test_epi32_mask(_mm512_castps_si512(down), _mm512_set1_epi32(1));
    return _mm512_mask_mov_ps(up, odd, down);
  } else {
    return fp32_result<kOp, _MM_FROUND_CUR_DIRECTION>(o, v);
  }
}

template <Operation kOp>
SOFTAMP_LANES HalfLanes nearest_lanes(const HalfOperands& o, size_t v) {
  const __m512 x = nearest_result<kOp>(o, v);
  return {x, x, _mm512_cvtps_ph(x, kNearestEven)};
}

/// How a stochastic result is computed.
enum class CarryWay : uint8_t {
  kTruncated,  ///< r <= 13, or an exact product
  kByFp32,     ///< the quotient rounded to fp32, to nearest even
  kExact,      ///< r <= 23
};

/// The sign of `x` on the magnitude of `y`.
SOFTAMP_LANES __m512 with_sign_of(__m512 x, __m512 y) {
  const __m512i sign_bit = _mm512_set1_epi32(static_cast<int>(0x80000000u));
  return _mm512_castsi512_ps(  // sign_bit ? x : y
      _mm512_ternarylogic_epi32(sign_bit, _mm512_castps_si512(x), _mm512_castps_si512(y), 0xCA));
}

/// floor_u(a + b + rho), see above; everything relative to the sign of the greater operand, which is the sum's.
/// Equal magnitudes: the instruction takes the negative one as the lesser, and the sum is +0.
template <bool kWide>
SOFTAMP_LANES HalfLanes exact_sum(const Carry<kWide>& carry, __m512 a, __m512 b, const void* numbers) {
  constexpr int kGreaterPositive = 0b1011, kLesserSigned = 0b0110;  // of the magnitudes; sign 0, sign of the one taken
  const __m512 sum = _mm512_add_round_ps(a, b, kTruncate);
  const __m512 greater = _mm512_range_ps(a, b, kGreaterPositive);
  const __m512 lesser = _mm512_xor_ps(_mm512_range_ps(a, b, kLesserSigned), bits_and(sum, 0x80000000u));
  const __m512 binade = Carry<kWide>::binade(bits_and(sum, 0x7FFFFFFFu));
  const __m512 rest = _mm512_fmadd_round_ps(carry.scaled(numbers), binade, lesser, kDownward);
  const __m512 y = with_sign_of(sum, _mm512_add_round_ps(greater, rest, kDownward));
  return {sum, y, truncated_half(y)};
}

/// The quotient's truncation, moved up where the exact quotient reaches (k + 1) u - rho.
template <bool kWide>
SOFTAMP_LANES HalfLanes exact_quotient(const Carry<kWide>& carry, __m512 a, __m512 b, const void* numbers) {
  const __m512 q = _mm512_div_round_ps(a, b, kTruncate);
  const __m512 magnitude = bits_and(q, 0x7FFFFFFFu);
  const __m512 dividend = bits_and(a, 0x7FFFFFFFu), divisor = bits_and(b, 0x7FFFFFFFu);
  const __m512 binade = Carry<kWide>::binade(magnitude);
  const __m512 u = _mm512_mul_round_ps(binade, _mm512_set1_ps(0x1p-10f), kTruncate);
  // Adding 2^23 u leaves no bit below u.
  const __m512 shifter = _mm512_mul_round_ps(binade, _mm512_set1_ps(0x1p13f), kTruncate);
  const __m512 kept = _mm512_sub_round_ps(_mm512_add_round_ps(magnitude, shifter, kTruncate), shifter, kTruncate);
  // u - rho is exact, and what it lacks of f = q - k u too, wherever it is less than q's last bit.
  const __m512 fraction = _mm512_sub_round_ps(magnitude, kept, kTruncate);
  const __m512 reach = _mm512_fnmadd_round_ps(carry.scaled(numbers), binade, u, kTruncate);
  const __m512 gap = _mm512_sub_round_ps(reach, fraction, kTruncate);
  const __m512 remainder = _mm512_fnmadd_round_ps(magnitude, divisor, dividend, kTruncate);
  const __mmask16 up = _mm512_cmp_ps_mask(remainder, _mm512_mul_round_ps(gap, divisor, kUpward), _CMP_GE_OQ);
  const __m512 y = with_sign_of(q, _mm512_mask_add_round_ps(kept, up, kept, u, kTruncate));
  return {q, y, truncated_half(y)};
}

/// The fp32 value that the carry is applied to.
template <Operation kOp, CarryWay kWay>
SOFTAMP_LANES __m512 carried(const HalfOperands& o, size_t v) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return fp32_result < kOp, kWay == CarryWay::kByFp32 ? kNearest : kTruncate > (o, v);
}

template <Operation kOp, CarryWay kWay, bool kWide>
SOFTAMP_LANES HalfLanes carry_lanes(const Carry<kWide>& carry, const HalfOperands& o, size_t v, const void* numbers) {
  if constexpr (kWay != CarryWay::kExact) return carry.round(carried<kOp, kWay>(o, v), numbers);
  if constexpr (kWay == CarryWay::kExact) {
    const __m512 a = o.at(0, v), b = o.at(1, v);
    if constexpr (kOp == Operation::kAdd) return exact_sum(carry, a, b, numbers);
    if constexpr (kOp == Operation::kSub) return exact_sum(carry, a, _mm512_xor_ps(b, _mm512_set1_ps(-0.0f)), numbers);
    if constexpr (kOp == Operation::kDiv) return exact_quotient(carry, a, b, numbers);
    if constexpr (kOp == Operation::kFma) return exact_sum(carry, _mm512_mul_ps(a, b), o.at(2, v), numbers);
  }
}

}  // namespace
}  // namespace softamp::emu
