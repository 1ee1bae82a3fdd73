// The processor's own SSE unit as a second opinion on fp32 and binary64: values and flags in four rounding modes.
// Skipped (available() false) off x86-64. The caller's MXCSR comes back as it was.
#pragma once

#include <cstdint>

#include "softamp/numerics/rounding.h"
#include "softamp/numerics/status.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace oracle::host {

struct Result {
  uint64_t code;
  uint8_t flags;
};

#if defined(__x86_64__)
constexpr bool available() { return true; }

/// MXCSR with this mode, all exceptions masked, no flag raised, no flushing.
inline unsigned control(softamp::RoundingMode mode) {
  unsigned rounding = _MM_ROUND_NEAREST;
  if (mode == softamp::RoundingMode::kTowardZero) rounding = _MM_ROUND_TOWARD_ZERO;
  if (mode == softamp::RoundingMode::kUp) rounding = _MM_ROUND_UP;
  if (mode == softamp::RoundingMode::kDown) rounding = _MM_ROUND_DOWN;
  return _MM_MASK_MASK | rounding;
}
inline uint8_t flags_of(unsigned mxcsr) {
  uint8_t f = 0;
  if (mxcsr & _MM_EXCEPT_INVALID) f |= softamp::kInvalid;
  if (mxcsr & _MM_EXCEPT_DIV_ZERO) f |= softamp::kDivideByZero;
  if (mxcsr & _MM_EXCEPT_OVERFLOW) f |= softamp::kOverflow;
  if (mxcsr & _MM_EXCEPT_UNDERFLOW) f |= softamp::kUnderflow;
  if (mxcsr & _MM_EXCEPT_INEXACT) f |= softamp::kInexact;
  return f;
}

/// Runs `operation(x)` between loading and storing MXCSR; the asm barriers keep the compiler from moving it.
template <class T, class Operation>
Result run(softamp::RoundingMode mode, T x, Operation operation) {
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(control(mode));
  asm volatile("" : "+x"(x) : : "memory");
  auto y = operation(x);
  asm volatile("" : "+x"(y) : : "memory");
  const unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  if constexpr (sizeof(y) == 4)
    return {__builtin_bit_cast(uint32_t, y), flags_of(after)};
  else
    return {__builtin_bit_cast(uint64_t, y), flags_of(after)};
}

#define SOFTAMP_HOST_BINARY(name, instruction)                                           \
  inline Result name(uint64_t a, uint64_t b, softamp::RoundingMode mode) {               \
    const float y = __builtin_bit_cast(float, static_cast<uint32_t>(b));                 \
    return run(mode, __builtin_bit_cast(float, static_cast<uint32_t>(a)), [y](float x) { \
      asm volatile(instruction " %1, %0" : "+x"(x) : "x"(y));                            \
      return x;                                                                          \
    });                                                                                  \
  }
SOFTAMP_HOST_BINARY(add, "addss")
SOFTAMP_HOST_BINARY(sub, "subss")
SOFTAMP_HOST_BINARY(mul, "mulss")
SOFTAMP_HOST_BINARY(div, "divss")
#undef SOFTAMP_HOST_BINARY

inline Result sqrt(uint64_t a, softamp::RoundingMode mode) {
  return run(mode, __builtin_bit_cast(float, static_cast<uint32_t>(a)), [](float x) {
    asm volatile("sqrtss %0, %0" : "+x"(x));
    return x;
  });
}
inline bool has_fma() { return __builtin_cpu_supports("fma"); }
inline Result fma(uint64_t a, uint64_t b, uint64_t c, softamp::RoundingMode mode) {
  const float y = __builtin_bit_cast(float, static_cast<uint32_t>(b));
  const float z = __builtin_bit_cast(float, static_cast<uint32_t>(c));
  return run(mode, __builtin_bit_cast(float, static_cast<uint32_t>(a)), [y, z](float x) {
    asm volatile("vfmadd213ss %2, %1, %0" : "+x"(x) : "x"(y), "x"(z));  // x = y x + z
    return x;
  });
}
inline Result double_to_float(uint64_t a, softamp::RoundingMode mode) {
  return run(mode, __builtin_bit_cast(double, a), [](double x) {
    float y = 0;
    asm volatile("cvtsd2ss %1, %0" : "+x"(y) : "x"(x));
    return y;
  });
}
/// fp32 to fp16; an fp16 NaN keeps its payload here.
inline bool has_half_conversion() {  // by CPUID: clang 14's builtin does not know the name f16c
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c >> 29 & 1) && __builtin_cpu_supports("avx");
}
__attribute__((target("f16c"))) inline Result float_to_half(uint64_t a, softamp::RoundingMode mode) {
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(control(mode));
  __m128 x = _mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(static_cast<uint32_t>(a))));
  asm volatile("" : "+x"(x) : : "memory");
  __m128i y = _mm_cvtps_ph(x, _MM_FROUND_CUR_DIRECTION);
  asm volatile("" : "+x"(y) : : "memory");
  const unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  return {static_cast<uint64_t>(_mm_cvtsi128_si32(y)) & 0xFFFF, flags_of(after)};
}

/// Native fp16 arithmetic (AVX512-FP16), for checking the fp16 oracle itself; subnormals are never flushed there.
inline bool has_half_arithmetic() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 23 & 1) && __builtin_cpu_supports("avx512vl");
}
enum class HalfInstruction { kAdd, kSub, kMul, kDiv, kSqrt, kFma };

inline Result half(HalfInstruction instruction, uint32_t a, uint32_t b, uint32_t c, softamp::RoundingMode mode) {
  __m128i x = _mm_cvtsi32_si128(static_cast<int>(a));
  const __m128i y = _mm_cvtsi32_si128(static_cast<int>(b)), z = _mm_cvtsi32_si128(static_cast<int>(c));
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(control(mode));
  switch (instruction) {
    case HalfInstruction::kAdd: asm volatile("vaddsh %1, %0, %0" : "+x"(x) : "x"(y) : "memory"); break;
    case HalfInstruction::kSub: asm volatile("vsubsh %1, %0, %0" : "+x"(x) : "x"(y) : "memory"); break;
    case HalfInstruction::kMul: asm volatile("vmulsh %1, %0, %0" : "+x"(x) : "x"(y) : "memory"); break;
    case HalfInstruction::kDiv: asm volatile("vdivsh %1, %0, %0" : "+x"(x) : "x"(y) : "memory"); break;
    case HalfInstruction::kSqrt: asm volatile("vsqrtsh %0, %0, %0" : "+x"(x) : : "memory"); break;
    case HalfInstruction::kFma: asm volatile("vfmadd213sh %2, %1, %0" : "+x"(x) : "x"(y), "x"(z) : "memory"); break;
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  return {static_cast<uint64_t>(_mm_cvtsi128_si32(x)) & 0xFFFF, flags_of(after)};
}
#else
constexpr bool available() { return false; }
inline bool has_fma() { return false; }
inline bool has_half_conversion() { return false; }
inline bool has_half_arithmetic() { return false; }
enum class HalfInstruction { kAdd, kSub, kMul, kDiv, kSqrt, kFma };
inline Result half(HalfInstruction, uint32_t, uint32_t, uint32_t, softamp::RoundingMode) { return {}; }
inline Result add(uint64_t, uint64_t, softamp::RoundingMode) { return {}; }
inline Result sub(uint64_t, uint64_t, softamp::RoundingMode) { return {}; }
inline Result mul(uint64_t, uint64_t, softamp::RoundingMode) { return {}; }
inline Result div(uint64_t, uint64_t, softamp::RoundingMode) { return {}; }
inline Result sqrt(uint64_t, softamp::RoundingMode) { return {}; }
inline Result fma(uint64_t, uint64_t, uint64_t, softamp::RoundingMode) { return {}; }
inline Result double_to_float(uint64_t, softamp::RoundingMode) { return {}; }
inline Result float_to_half(uint64_t, softamp::RoundingMode) { return {}; }
#endif

}  // namespace oracle::host
