// The inner loops of emu/optimizers/optimizer_kernels.h for the vector of this translation unit.
#pragma once

#include "emu/elementwise/elementwise_lanes.h"
#include "emu/optimizers/optimizer_kernels.h"
#include "softamp/kernel/optimizers.h"

namespace softamp::emu {
namespace {

constexpr size_t kLanesOf32 = sizeof(F32) / 4, kLanesOf64 = sizeof(F64) / 8;

/// A binary64 vector for the formulas.
struct Lane64 {
  F64 v;
  friend SOFTAMP_LANES Lane64 operator+(Lane64 a, Lane64 b) { return {a.v + b.v}; }
  friend SOFTAMP_LANES Lane64 operator*(Lane64 a, Lane64 b) { return {a.v * b.v}; }
  friend SOFTAMP_LANES Lane64 operator/(Lane64 a, Lane64 b) { return {a.v / b.v}; }
  friend SOFTAMP_LANES Lane64 operator-(Lane64 a) { return {(F64)((U64)a.v ^ 0x8000000000000000u)}; }
  friend SOFTAMP_LANES Lane64 root(Lane64 a) { return {emu::root(a.v)}; }
};

/// x in every lane, -0 too, which `splat` of a number makes +0.
SOFTAMP_LANES F64 constant_lanes(double x) { return (F64)splat<U64>(__builtin_bit_cast(uint64_t, x)); }
SOFTAMP_LANES F32 constant_lanes(float x) { return (F32)splat<U32>(__builtin_bit_cast(uint32_t, x)); }

template <Stage kStage>
SOFTAMP_LANES kernel::update::Sum<Lane64> sum_of(const StageCall& c, size_t i) {
  using namespace kernel::update;
  const auto in = [&](int k) SOFTAMP_ALWAYS { return Lane64{widened(load<F32of64>(c.in[k] + i))}; };
  const auto constant = [&](int k) SOFTAMP_ALWAYS { return Lane64{constant_lanes(c.constants[k])}; };
  if constexpr (kStage == Stage::kFused) return fused(constant(0), in(0), in(1));
  if constexpr (kStage == Stage::kNesterov) return nesterov(in(0), constant(0), in(1), constant(1), in(2));
  if constexpr (kStage == Stage::kMean) return mean(constant(0), in(0), constant(1), in(1));
  if constexpr (kStage == Stage::kMeanSquare) return mean_square(constant(0), in(0), constant(1), in(1));
  if constexpr (kStage == Stage::kScaledStep)
    return scaled_step(constant(0), in(0), constant(1), in(1), in(2), constant(2));
  if constexpr (kStage == Stage::kAdam || kStage == Stage::kAdamStep) {
    const Lane64 var = in(0), from = kStage == Stage::kAdam ? var : Lane64{constant_lanes(0.0)};
    return adam(from, var, constant(0), in(1), in(2), constant(1), constant(2));
  }
}

/// a + b toward zero.
SOFTAMP_LANES F64 truncated_sum(F64 a, F64 b) {
#if defined(__AVX512F__)
  return (F64)_mm512_add_round_pd((__m512d)a, (__m512d)b, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
#else
  const F64 odd = sum_to_odd(a, b);  // its first bits are those of the exact sum
  return odd;
#endif
}

/// a + b rounded to fp32, to nearest even. Rounding to binary64 first is wrong only where that gives the middle of two
/// fp32 numbers; where they are subnormal, middles are not looked for.
SOFTAMP_LANES F32of64 nearest32(F64 a, F64 b) {
  constexpr uint64_t kRest = (uint64_t{1} << 29) - 1, kMiddle = uint64_t{1} << 28, kLeast = uint64_t{1023 - 126} << 52;
  const F64 sum = a + b;
  const U64 u = (U64)sum, magnitude = u & 0x7FFFFFFFFFFFFFFFu;
  const U64 middle = (U64)((u & kRest) == kMiddle);
  const U64 small = (U64)((I64)magnitude < (I64)splat<U64>(kLeast)) & (U64)(magnitude != 0);
  if (any(middle | small)) [[unlikely]]
    return narrowed(sum_to_odd(a, b));
  return narrowed(sum);
}

constexpr uint64_t kBelow24 = (uint64_t{1} << 29) - 1;  ///< bits of binary64 that fp32 does not have

SOFTAMP_LANES F32of64 truncated32(F64 x) { return narrowed((F64)((U64)x & ~kBelow24)); }
SOFTAMP_LANES F32of64 odd32(F64 odd) {
  const U64 u = (U64)odd, sign = u & 0x8000000000000000u, magnitude = u ^ sign;
  const uint64_t least = uint64_t{1023 - 100} << 52;
  const U64 jam = (U64)((u & kBelow24) != 0) & (kBelow24 + 1);
  const U64 tiny = (U64)((I64)magnitude < (I64)splat<U64>(least)) & (U64)(magnitude != 0);
  const U64 rounded = ((magnitude & ~kBelow24) | jam) & ~tiny;
  return narrowed((F64)(rounded | (tiny & least) | sign));
}

SOFTAMP_LANES U32of64 flushed_half(U32of64 x) {
  return x & ~((U32of64)((x & 0x7FFFFFFFu) - 1 < 0x007FFFFFu) & 0x7FFFFFFFu);
}

/// Facts about a group from a vector of results.
template <class U>
SOFTAMP_LANES U rare_lanes(U code, bool zero_is_rare) {
  constexpr bool kWide = sizeof(code[0]) == 8;
  using Word = decltype(code[0] + 0);
  constexpr Word kInfinity = static_cast<Word>(kWide ? uint64_t{0x7FF} << 52 : 0x7F800000u);
  U rare = (U)((code & kInfinity) == kInfinity);
  if (zero_is_rare) rare |= (U)((code << 1) == 0);
  return rare;
}

template <class U>
SOFTAMP_LANES bool any_lane(U v) {
  if constexpr (sizeof(U) == sizeof(U64)) {
    return any(v);
  } else {
    U64 both{};
    __builtin_memcpy(&both, &v, sizeof v);
    return any(both);
  }
}

template <Stage kStage, Leaves kLeft>
uint64_t by_binary64(const StageCall& call) {
  const StageCall c = call;
  uint64_t rare = 0;
  for (size_t g = 0; g < c.count / kGroup; ++g) {
    U32of64 seen32{};
    U64 seen64{};
    for (size_t i = g * kGroup; i < (g + 1) * kGroup; i += kLanesOf64) {
      const kernel::update::Sum<Lane64> sum = sum_of<kStage>(c, i);
      const F64 a = sum.a.v, b = sum.b.v;
      if constexpr (kLeft == Leaves::kOdd64) {
        seen64 |= rare_lanes((U64)(a + b), c.zero_is_rare);
        store(static_cast<double*>(c.out) + i, sum_to_odd(a, b));
      } else {
        F32of64 value;
        if constexpr (kLeft == Leaves::kTruncated) value = truncated32(truncated_sum(a, b));
        if constexpr (kLeft == Leaves::kOdd32) value = odd32(sum_to_odd(a, b));
        if constexpr (kLeft == Leaves::kFp32) {
          value = nearest32(a, b);
          if (c.flush) value = (F32of64)flushed_half((U32of64)value);
        }
        seen32 |= rare_lanes((U32of64)value, c.zero_is_rare);
        store(static_cast<float*>(c.out) + i, value);
      }
    }
    if (kLeft == Leaves::kOdd64 ? any_lane(seen64) : any_lane(seen32)) [[unlikely]]
      rare |= uint64_t{1} << g;
  }
  return rare;
}

#if defined(__AVX512F__)
/// x y + z in fp32 lanes, straight to what is left of it.
template <Leaves kLeft>
SOFTAMP_LANES F32 fused32(F32 x, F32 y, F32 z) {
  const __m512 a = (__m512)x, b = (__m512)y, c = (__m512)z;
  if constexpr (kLeft == Leaves::kFp32) return (F32)_mm512_fmadd_ps(a, b, c);
  const __m512 toward_zero = _mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  if constexpr (kLeft == Leaves::kTruncated) return (F32)toward_zero;
  const __m512 down = _mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  const __m512 up = _mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  // Inexact: the neighbours differ, and of the two that enclose it the odd one is the lower magnitude with a last 1.
  const __mmask16 inexact = _mm512_cmp_ps_mask(down, up, _CMP_LT_OQ);
  const __m512i code = _mm512_castps_si512(toward_zero);
  return (F32)_mm512_mask_or_epi32(code, inexact, code, _mm512_set1_epi32(1));
}
#elif defined(__FMA__)
/// The same under the rounding that MXCSR holds (by_fma). kOdd32: `down` is the sum rounded down, MXCSR rounds up.
template <Leaves kLeft>
SOFTAMP_LANES F32 fused32(F32 x, F32 y, F32 z, F32 down) {
  const __m256 sum = _mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z);
  if constexpr (kLeft != Leaves::kOdd32) return (F32)sum;
  const __m256i inexact = _mm256_castps_si256(_mm256_cmp_ps((__m256)down, sum, _CMP_LT_OQ));
  const __m256 toward_zero = _mm256_blendv_ps((__m256)down, sum, (__m256)down);
  return (F32)_mm256_or_si256(_mm256_castps_si256(toward_zero), _mm256_srli_epi32(inexact, 31));
}
#endif

#if defined(__FMA__)
#if defined(__AVX512F__)
constexpr bool kStaticRounding = true;
#else
constexpr bool kStaticRounding = false;
#endif

/// kSecond: the results of rounding down stand in `out`.
template <Leaves kLeft, bool kSecond>
__attribute__((noinline)) uint64_t fma_groups(const StageCall& call) {
  const StageCall c = call;
  const F32 factor = constant_lanes(static_cast<float>(c.constants[0]));
  const uint32_t flush_below = c.flush ? 0x00800000u : 0;
  uint64_t rare = 0;
  for (size_t g = 0; g < c.count / kGroup; ++g) {
    U32 seen = {};
    SOFTAMP_UNROLLED for (size_t i = g * kGroup; i < (g + 1) * kGroup; i += kLanesOf32) {
      float* const out = static_cast<float*>(c.out) + i;
      const F32 x = load<F32>(c.in[0] + i), y = load<F32>(c.in[1] + i);
      F32 value;
#if defined(__AVX512F__)
      value = fused32<kLeft>(factor, x, y);
#else
      value = fused32 < kSecond ? kLeft : Leaves::kTruncated > (factor, x, y, kSecond ? load<F32>(out) : x);
#endif
      U32 code = (U32)value;
      if (kLeft == Leaves::kFp32) code = flushed(code, flush_below, ~0u);
      seen |= rare_lanes(code, c.zero_is_rare);
      store(out, code);
    }
    if (any(seen)) [[unlikely]]
      rare |= uint64_t{1} << g;
  }
  return rare;
}

/// Where an instruction cannot say how it rounds, MXCSR does, around calls that are not inlined.
template <Leaves kLeft>
uint64_t by_fma(const StageCall& call) {
  if constexpr (kStaticRounding || kLeft == Leaves::kFp32) {
    return fma_groups<kLeft, false>(call);
  } else {
    const unsigned saved = _mm_getcsr(), nearest = saved & ~static_cast<unsigned>(_MM_ROUND_MASK);
    uint64_t rare = 0;
    if constexpr (kLeft == Leaves::kTruncated) {
      _mm_setcsr(nearest | _MM_ROUND_TOWARD_ZERO);
      rare = fma_groups<kLeft, false>(call);
    } else {
      _mm_setcsr(nearest | _MM_ROUND_DOWN);
      fma_groups<kLeft, false>(call);
      _mm_setcsr(nearest | _MM_ROUND_UP);
      rare = fma_groups<kLeft, true>(call);
    }
    _mm_setcsr(saved);
    return rare;
  }
}
#endif

template <Stage kStage, Leaves kLeft>
constexpr StageKernel stage_kernel() {
#if defined(__FMA__)
  if constexpr (kStage == Stage::kFused && kLeft != Leaves::kOdd64) return by_fma<kLeft>;
#endif
  return by_binary64<kStage, kLeft>;
}

void stream_copy(const void* from, size_t bytes, void* to) {
  for (size_t i = 0; i < bytes; i += kVectorBytes)
    put_vector<true>(static_cast<char*>(to) + i, load<U32>(static_cast<const char*>(from) + i));
}

/// Lanes count down from 0 for as long as they cannot wrap.
template <class U, class Word>
uint64_t count_exponents(const Word* codes, size_t n, Word exponent) {
  constexpr size_t kLanes = sizeof(U) / sizeof(Word), kMost = 0xFFFF;
  const U mask = U{} + exponent;
  uint64_t count = 0;
  size_t i = 0;
  while (n - i >= kLanes) {
    U counts = {};
    for (size_t v = 0; v < kMost && n - i >= kLanes; ++v, i += kLanes)
      counts -= (U)((load<U>(codes + i) & mask) == mask);
    for (size_t l = 0; l < kLanes; ++l) count += counts[l];
  }
  for (; i < n; ++i) count += (codes[i] & exponent) == exponent;
  return count;
}
uint64_t not_finite_of_16(const uint16_t* codes, size_t n, uint16_t exponent) {
  return count_exponents<U16, uint16_t>(codes, n, exponent);
}
uint64_t not_finite_of_32(const uint32_t* codes, size_t n) {
  return count_exponents<U32, uint32_t>(codes, n, 0x7F800000u);
}

#define SOFTAMP_STAGE(stage)                                                                       \
  {                                                                                                \
    stage_kernel<Stage::stage, Leaves::kFp32>(), stage_kernel<Stage::stage, Leaves::kTruncated>(), \
        stage_kernel<Stage::stage, Leaves::kOdd32>(), stage_kernel<Stage::stage, Leaves::kOdd64>() \
  }
constexpr UpdateKernels kUpdateKernels = {
    {SOFTAMP_STAGE(kFused), SOFTAMP_STAGE(kNesterov), SOFTAMP_STAGE(kMean), SOFTAMP_STAGE(kMeanSquare),
     SOFTAMP_STAGE(kScaledStep), SOFTAMP_STAGE(kAdam), SOFTAMP_STAGE(kAdamStep)},
    stream_copy,
    not_finite_of_16,
    not_finite_of_32,
};
#undef SOFTAMP_STAGE

}  // namespace
}  // namespace softamp::emu
