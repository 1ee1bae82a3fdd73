// The kernels of AVX2, of NEON and of the portable build. The usual arithmetic on halves, to nearest even and
// stochastic (carry): The general kernels compute groups with rare results (overflow, infinity, NaN) again.
//
// No instruction here has a rounding mode of its own, except F16C's conversions. A truncated fp32 sum or quotient is
// the nearest one stepped back by an ulp where its exact error points toward zero; a stochastic rounding truncates to a
// half and compares what was cut off.
#pragma once

#include "emu/bulk/general_body.h"
#include "emu/bulk/mxcsr_body.h"
#include "emu/bulk/normal_groups.h"
#include "emu/bulk/round_aligned_body.h"
#include "emu/bulk/round_nearest_body.h"

namespace softamp::emu {
namespace {

typedef uint16_t U16 __attribute__((vector_size(kVectorBytes)));
typedef int16_t I16 __attribute__((vector_size(kVectorBytes)));

constexpr uint32_t kSign = 0x80000000u, kExponent = 0x7F800000u;

SOFTAMP_LANES F32 magnitude(F32 x) { return (F32)((U32)x & ~kSign); }

/// Codes of two vectors of lanes, in order, to one of 16-bit lanes.
SOFTAMP_LANES U16 pack(U32 a, U32 b) {
#if defined(__AVX2__)
  return (U16)_mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)a, (__m256i)b), 0xD8);
#elif defined(__SSE2__)
  return (U16)_mm_packs_epi32((__m128i)a, (__m128i)b);  // packs signed numbers, which code_of gives
#elif defined(SOFTAMP_NEON)
  return (U16)vuzp1q_u16((uint16x8_t)a, (uint16x8_t)b);
#else
  U16 r;
  for (int i = 0; i < 4; ++i) r[i] = static_cast<uint16_t>(a[i]), r[i + 4] = static_cast<uint16_t>(b[i]);
  return r;
#endif
}
#if defined(SOFTAMP_CONVERTS_HALVES)
SOFTAMP_LANES U16 pack(U16of32 a, U16of32 b) { return (U16)joined(a, b); }
#endif

/// Halves to fp32, exactly, except infinities and NaNs, which become finite where no instruction converts.
SOFTAMP_LANES F32 widen_halves(const void* p) {
#if defined(SOFTAMP_CONVERTS_HALVES)
  return halves_values(load<U16of32>(p));
#else
  const I32 high = (I32)(__builtin_convertvector(load<U16of32>(p), U32) << 16);
  // The sign, three copies of it that are masked off, and the rest under fp32's exponent: off by 2^(127 - 15).
  return (F32)((U32)(high >> 3) & 0x8FFFFFFFu) * 0x1p112f;
#endif
}

/// Whether some of 64 halves are infinite or NaN, if widen_halves hides that.
SOFTAMP_LANES bool hides_special(const void* p) {
#if defined(SOFTAMP_CONVERTS_HALVES)
  static_cast<void>(p);
  return false;
#else
  I16 special = {};
  for (size_t i = 0; i < kGroup * 2; i += sizeof(I16))
    special |= (load<I16>(static_cast<const char*>(p) + i) & 0x7FFF) > 0x7BFF;
  return any(special);
#endif
}

/// 2^max(e, -14), 2^e <= |x| < 2^(e+1): 2^10 quanta of the half nearest to x.
SOFTAMP_LANES F32 binade_of(F32 x) {
  const F32 power = (F32)((U32)x & kExponent), least = splat<F32>(0x1p-14f);
  return power > least ? power : least;
}

/// A half's code in parts: the quanta in a magnitude, and where counting them starts in its binade. Sign-extended.
SOFTAMP_LANES U32 code_of(U32 quanta, F32 binade, F32 signed_value) {
  return (quanta + ((U32)binade >> 13) - (0x38800000u >> 13)) | ((U32)((I32)signed_value >> 16) & 0xFFFF8000u);
}

/// x to the nearest half, ties to even.
#if defined(SOFTAMP_CONVERTS_HALVES)
SOFTAMP_LANES U16of32 nearest_half(F32 x) { return nearest_halves(x); }
#else
SOFTAMP_LANES U32 nearest_half(F32 x) {
  const F32 binade = binade_of(x), shifter = (F32)((U32)binade + (13u << 23));  // its last bit is the quantum
  return code_of((U32)(magnitude(x) + shifter) - (U32)shifter, binade, x);
}
#endif

/// x truncated to a half, and what was cut off.
// implements: N402
struct Truncated {
  U32 code;
  F32 binade, rest;
};
SOFTAMP_LANES Truncated truncate(F32 x) {
  const F32 binade = binade_of(x);
#if defined(__F16C__)
  const __m128i h = _mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_ZERO);
  return {(U32)_mm256_cvtepu16_epi32(h), binade, magnitude(x - (F32)_mm256_cvtph_ps(h))};
#else
  const F32 shifter = (F32)((U32)binade + (13u << 23)), m = magnitude(x);
  const F32 nearest = m + shifter;
  F32 rest = m - (nearest - shifter);
  const U32 above = (U32)(rest < 0.0f);
  rest += (F32)(above & (U32)(binade * 0x1p-10f));
  return {code_of((U32)nearest - (U32)shifter + above, binade, x), binade, rest};
#endif
}

template <Random kRandom>
constexpr size_t kNumberBytes = kRandom == Random::k32 ? 4 : 2;

/// Carry (N12) for at most 22 random bits: up iff the rest reaches (2^r - R) u 2^-r.
template <bool kWide>
class Carry {
 public:
  static constexpr int kMostBits = 22;

  SOFTAMP_LANES explicit Carry(int r)
      : bits_(r),
        magic_(static_cast<uint32_t>(127 + 13 - r) << 23),
        top_(__builtin_bit_cast(float, magic_ | 1u << r)) {}

  SOFTAMP_LANES U32 round(F32 x, const char* numbers) const {
    const F32 reach = top_ - (F32)(at(numbers) | magic_);  // (2^r - R) 2^-(10+r)
    const Truncated t = truncate(x);
    return t.code - (U32)(t.rest >= reach * t.binade);
  }

#if defined(__F16C__)
  /// The same for a result that is normal and not near overflow: the 13 bits that a half drops of a float, and R
  /// aligned to them, make the carry by themselves.
  SOFTAMP_LANES U16of32 round_normal(F32 x, const char* numbers) const {
    constexpr int kDropped = 13;
    U32 n = at(numbers);
    if (bits_ > kDropped) n >>= bits_ - kDropped;
    if (bits_ < kDropped) n <<= kDropped - bits_;
    return (U16of32)_mm256_cvtps_ph((__m256)((U32)x + n), _MM_FROUND_TO_ZERO);
  }
#endif

 private:
  static SOFTAMP_LANES U32 at(const char* numbers) {
    return kWide ? load<U32>(numbers) : __builtin_convertvector(load<U16of32>(numbers), U32);
  }

  int bits_;
  uint32_t magic_;
  float top_;
};

/// The number of bits for a Carry; a deterministic plan may name any number, and uses none.
// implements: N400
template <Random kRandom>
int carry_bits(const RoundPlan& plan) {
  return kRandom == Random::kNone ? 1 : plan.random_bits;
}

/// x stepped toward zero where the exact value x + error lies there, and (kOdd) to odd where it is inexact.
template <bool kOdd>
SOFTAMP_LANES F32 corrected(F32 x, F32 error) {
  // Errors of operations on halves are too large for the product to underflow.
  const U32 back = (U32)(error * x < 0.0f);
  return (F32)(((U32)x + back) | (kOdd ? (U32)(error != 0.0f) & 1 : U32{}));
}
template <bool kOdd>
SOFTAMP_LANES F32 corrected_sum(F32 a, F32 b) {
  const F32 sum = a + b, b_seen = sum - a, a_seen = sum - b_seen;
  return corrected<kOdd>(sum, (a - a_seen) + (b - b_seen));  // two-sum
}
SOFTAMP_LANES F32 truncated_quotient(F32 a, F32 b) {
  const F32 q = a / b;
  // q cut in two: products with an 11-bit b are then exact.
  const F32 high = (F32)((U32)q & ~0x7FFu);
  const F32 remainder = (a - high * b) - (q - high) * b;
  return corrected<false>(q, (F32)((U32)remainder ^ ((U32)b & kSign)));
}

/// An fp32 value that rounds like the exact result: to nearest even, or (kTruncate) by the carry with r <= 13.
template <Operation kOp, bool kTruncate>
SOFTAMP_LANES F32 result_of(const char* const (&in)[3], size_t at, bool by_way_of_fp32) {
  const F32 a = widen_halves(in[0] + at), b = widen_halves(in[1] + at);
  if constexpr (kOp == Operation::kAdd) return kTruncate ? corrected_sum<false>(a, b) : a + b;
  if constexpr (kOp == Operation::kSub) return kTruncate ? corrected_sum<false>(a, -b) : a - b;
  if constexpr (kOp == Operation::kMul) return a * b;
  if constexpr (kOp == Operation::kDiv) return kTruncate && !by_way_of_fp32 ? truncated_quotient(a, b) : a / b;
  if constexpr (kOp == Operation::kFma) return corrected_sum<!kTruncate>(a * b, widen_halves(in[2] + at));
}

/// Halves' codes and the fp32 values that they were made of.
template <class Code>
struct HalfLanes {
  Code code;
  F32 value;
};
template <class Code>
HalfLanes(Code, F32) -> HalfLanes<Code>;

/// Facts about a group of results.
struct Seen {
  bool rare;  ///< some value is 65504 or more, infinite or NaN
  bool tiny;  ///< some value is 0 < |x| < 2^-14
};

/// Writes the 64 halves that `lanes(i)`, i = first element of a vector, gives. Looks for tiny ones if asked to.
template <class Lanes>
SOFTAMP_LANES Seen put_halves(const Lanes& lanes, bool look_for_tiny, void* out) {
  constexpr size_t kLanes = sizeof(U32) / 4;
  constexpr int32_t kGreatest = 0x477FDFFF;  // the fp32 number below 65504
  I32 rare = {};
  U32 tiny = {};
  for (size_t i = 0; i < kGroup; i += 2 * kLanes) {
    const auto a = lanes(i), b = lanes(i + kLanes);
    rare |= (kGreatest - (I32)magnitude(a.value)) | (kGreatest - (I32)magnitude(b.value));
    if (look_for_tiny)
      for (const auto& l : {a, b}) tiny |= (U32)((U32)magnitude(l.value) - 1 < 0x387FFFFFu);
    store(static_cast<char*>(out) + 2 * i, pack(a.code, b.code));
  }
  return {any(rare < 0), any(tiny)};
}

/// Writes a group by `lanes(i)`, which gives 8 halves; false where some are not in [2^-13, 2^15) in magnitude. This
/// excludes two exponents at each end, which show in the field's upper bits after adding 2 to it.
#if defined(__F16C__)
template <class Lanes>
SOFTAMP_LANES bool put_normal_halves(const Lanes& lanes, void* out) {
  I16 odd_ones = {};
  for (size_t i = 0; i < kGroup; i += 16) {
    const U16 codes = pack(lanes(i), lanes(i + 8));
    odd_ones |= ((codes + 0x0800) & 0x7000) == 0;
    store(static_cast<char*>(out) + 2 * i, codes);
  }
  return !any(odd_ones);
}
#endif

/// Halves in, halves out.
template <Operation kOp, Random kRandom>
[[gnu::noinline]] uint8_t arithmetic_halves(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice,
                                            uint8_t wanted) {
  GeneralArithmetic<kRandom> general(plan, random, slice, wanted & ~kInexact);
  const Carry<kRandom == Random::k32> carry(carry_bits<kRandom>(plan.round));
  constexpr bool kCanUnderflow = kOp != Operation::kAdd && kOp != Operation::kSub;  // tiny sums of halves are exact
  const bool seek_underflow = kCanUnderflow && (wanted & plan.round.on_underflow) != 0;
  [[maybe_unused]] const bool seek_inexact = (wanted & plan.round.on_inexact) != 0;
  [[maybe_unused]] NormalGroups normal;
  for_groups<kRandom>(random, slice, plan.round.random_bits, [&](size_t i, const void* drawn) {
    const char* in[3];
    for (int k = 0; k < 3; ++k) in[k] = slice.in[k] ? static_cast<const char*>(slice.in[k]) + 2 * i : nullptr;
    const char* const numbers = static_cast<const char*>(drawn);
    char* const out = static_cast<char*>(slice.out) + 2 * i;
#if defined(__F16C__)
    if (kRandom != Random::kNone && !seek_inexact && normal.expected()) {
      const auto result = [&](size_t l) { return result_of<kOp, true>(in, 2 * l, plan.by_way_of_fp32); };
      const bool all_normal = put_normal_halves(
          [&](size_t l) { return carry.round_normal(result(l), numbers + l * kNumberBytes<kRandom>); }, out);
      if (normal.settled(all_normal)) [[likely]]
        return;
    }
#endif
    const auto lanes = [&](size_t l) {
      const F32 x = result_of<kOp, kRandom != Random::kNone>(in, 2 * l, plan.by_way_of_fp32);
      if constexpr (kRandom == Random::kNone)
        return HalfLanes{nearest_half(x), x};
      else
        return HalfLanes{carry.round(x, numbers + l * kNumberBytes<kRandom>), x};
    };
    const Seen seen = put_halves(lanes, seek_underflow, out);
    bool hidden = hides_special(in[0]);
    hidden |= hides_special(in[1]);
    if (kOp == Operation::kFma) hidden |= hides_special(in[2]);
    if (seen.rare || seen.tiny || hidden) [[unlikely]] {
      const Unseen what_placeholders_do;
      general.group(i, drawn);
    }
  });
  return general.flags();
}

template <Random kRandom>
uint8_t arithmetic_by_operation(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice,
                                uint8_t wanted) {
  return with_mxcsr(plan.round, wanted, plan.round.on_inexact, [&] {
    switch (plan.operation) {
      case Operation::kAdd: return arithmetic_halves<Operation::kAdd, kRandom>(plan, random, slice, wanted);
      case Operation::kSub: return arithmetic_halves<Operation::kSub, kRandom>(plan, random, slice, wanted);
      case Operation::kMul: return arithmetic_halves<Operation::kMul, kRandom>(plan, random, slice, wanted);
      case Operation::kDiv: return arithmetic_halves<Operation::kDiv, kRandom>(plan, random, slice, wanted);
      case Operation::kFma: break;
    }
    return arithmetic_halves<Operation::kFma, kRandom>(plan, random, slice, wanted);
  });
}

uint8_t arithmetic_nearest(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice, uint8_t wanted) {
  return arithmetic_by_operation<Random::kNone>(plan, random, slice, wanted);
}
/// More than 13 random bits need a more precise result than fp32's, unless that is exact (N402).
uint8_t arithmetic_carry(const ArithmeticPlan& plan, const RandomPlan& random, const Slice& slice, uint8_t wanted) {
  const bool any_bits = plan.operation == Operation::kMul || plan.by_way_of_fp32;
  if (plan.round.random_bits > 16 || (plan.round.random_bits > 13 && !any_bits))
    return arithmetic_general(plan, random, slice, wanted);
  return arithmetic_by_operation<Random::k16>(plan, random, slice, wanted);
}

constexpr KernelTable kHalfBodyKernels = {
    .round = round_general,
    .widen = widen_general,
    .arithmetic = arithmetic_general,
    .nearest = round_nearest,
    .aligned = round_aligned,
    .half_nearest = nullptr,
    .half_carry = nullptr,
    .arithmetic_nearest = arithmetic_nearest,
    .arithmetic_carry = arithmetic_carry,
    .carry_bits = 22,
};

}  // namespace
}  // namespace softamp::emu
