// Operations for kernels beyond the operators of math::Float: directed roundings of fp32, conversions between fp32 and
// 16-bit formats, packed arithmetic on halves, and random bits by the group.
//
// On a device each is one instruction (N410), of the list that the PTX lint allows; on the host an exact twin with the
// same bits, by binary64: products are exact there, sums are rounded to odd by their exact error, and 53 bits are
// enough that rounding again, to fp32 in any direction, gives what one rounding would (N402, N403). The host needs
// rounding to nearest without flushing (N81).
//
// The bits of a NaN result are unspecified, except in codes of halves, where it is 0x7FFF. Code that stores a NaN
// writes the policy's pattern (N23).
#pragma once

#include "softamp/kernel/environment.h"
#include "softamp/numerics/math_lane.h"

#define SOFTAMP_PRIMITIVE SOFTAMP_HD __attribute__((always_inline)) inline

namespace softamp::cuda {

SOFTAMP_PRIMITIVE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
SOFTAMP_PRIMITIVE float from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
/// |x|, of a NaN too.
SOFTAMP_PRIMITIVE float magnitude_of(float x) { return from_bits(bits_of(x) & 0x7FFFFFFFu); }

#if defined(__CUDA_ARCH__)

// fp32, rounded to nearest even, toward zero, down, up.
SOFTAMP_PRIMITIVE float add_rn(float a, float b) { return __fadd_rn(a, b); }
// implements: N410
SOFTAMP_PRIMITIVE float sub_rn(float a, float b) { return __fsub_rn(a, b); }
SOFTAMP_PRIMITIVE float mul_rn(float a, float b) { return __fmul_rn(a, b); }
// implements: N412
SOFTAMP_PRIMITIVE float div_rn(float a, float b) { return __fdiv_rn(a, b); }
// implements: N412
SOFTAMP_PRIMITIVE float sqrt_rn(float a) { return __fsqrt_rn(a); }
// implements: N410
SOFTAMP_PRIMITIVE float fma_rn(float a, float b, float c) { return __fmaf_rn(a, b, c); }
// implements: N402
SOFTAMP_PRIMITIVE float add_rz(float a, float b) { return __fadd_rz(a, b); }
SOFTAMP_PRIMITIVE float sub_rz(float a, float b) { return __fsub_rz(a, b); }
SOFTAMP_PRIMITIVE float mul_rz(float a, float b) { return __fmul_rz(a, b); }
SOFTAMP_PRIMITIVE float div_rz(float a, float b) { return __fdiv_rz(a, b); }
SOFTAMP_PRIMITIVE float sqrt_rz(float a) { return __fsqrt_rz(a); }
// implements: N402, N404, N410
SOFTAMP_PRIMITIVE float fma_rz(float a, float b, float c) { return __fmaf_rz(a, b, c); }
SOFTAMP_PRIMITIVE float fma_rd(float a, float b, float c) { return __fmaf_rd(a, b, c); }
SOFTAMP_PRIMITIVE float fma_ru(float a, float b, float c) { return __fmaf_ru(a, b, c); }

// Halves by the instructions of cuda_fp16.h's intrinsics, without the cost of compiling that header everywhere.

/// fp32 to the code of a half, to nearest even: 65520 and more give infinity.
// implements: N410
SOFTAMP_PRIMITIVE uint32_t half_of_rn(float x) {
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
/// The same toward zero: finite values give 65504 at most (N407).
// implements: N407
SOFTAMP_PRIMITIVE uint32_t half_of_rz(float x) {
  unsigned short h;
  asm("cvt.rz.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
/// Two of them: `low` in bits 15..0, `high` in bits 31..16.
SOFTAMP_PRIMITIVE uint32_t halves_of_rn(float low, float high) {
#if __CUDA_ARCH__ >= 800
  uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
#else
  return half_of_rn(low) | half_of_rn(high) << 16;
#endif
}
SOFTAMP_PRIMITIVE uint32_t halves_of_rz(float low, float high) {
#if __CUDA_ARCH__ >= 800
  uint32_t r;
  asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
#else
  return half_of_rz(low) | half_of_rz(high) << 16;
#endif
}
/// The value of a half's code (bits 15..0), exactly.
SOFTAMP_PRIMITIVE float float_of_half(uint32_t code) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(static_cast<unsigned short>(code)));
  return x;
}

// Two halves' codes at a time, each rounded once to nearest even (N411). Not plain + and *, which may be fused.
// implements: N411
SOFTAMP_PRIMITIVE uint32_t halves_add_rn(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
// implements: N411
SOFTAMP_PRIMITIVE uint32_t halves_mul_rn(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
// implements: N411
SOFTAMP_PRIMITIVE uint32_t halves_fma_rn(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t r;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}

#else

namespace detail {

enum class Toward : uint8_t { kZero, kDown, kUp };

/// Rounds the double x to fp32; x may be replaced by a value so near that no fp32 number lies between them.
template <Toward kToward>
SOFTAMP_PRIMITIVE float directed(double x) {
  const float nearest = static_cast<float>(x);
  const uint32_t code = bits_of(nearest);
  if constexpr (kToward == Toward::kZero)
    return __builtin_fabs(nearest) > __builtin_fabs(x) ? from_bits(code - 1) : nearest;
  const bool too_high = nearest > x, too_low = nearest < x;
  const bool negative = code >> 31 != 0, zero = code << 1 == 0;
  if (kToward == Toward::kDown && too_high)
    return zero ? from_bits(0x80000001u) : from_bits(negative ? code + 1 : code - 1);
  if (kToward == Toward::kUp && too_low) return zero ? from_bits(1) : from_bits(negative ? code - 1 : code + 1);
  return nearest;
}

/// a + b of doubles that were floats or products of two: rounded to odd, so that `directed` sees the exact sum.
// implements: N403
SOFTAMP_PRIMITIVE double odd_sum(double a, double b) {
  const double sum = a + b, b_seen = sum - a, a_seen = sum - b_seen;
  const double error = (a - a_seen) + (b - b_seen);
  const bool inexact = (error < 0) | (error > 0);  // neither if infinities have made it a NaN
  const bool toward_zero = inexact & ((error < 0) != (sum < 0));
  return __builtin_bit_cast(double, (__builtin_bit_cast(uint64_t, sum) - toward_zero) | inexact);
}

/// The sum in that direction. Downward, exact cancellation gives -0, as do zeros of unlike signs.
template <Toward kToward>
SOFTAMP_PRIMITIVE float directed_sum(double a, double b) {
  const double sum = odd_sum(a, b);
  if (kToward == Toward::kDown && sum == 0 && (__builtin_signbit(a) || __builtin_signbit(b))) return -0.0f;
  return directed<kToward>(sum);
}

/// fp32's bits to a half's code.
// implements: N400
SOFTAMP_PRIMITIVE uint32_t half_code(uint32_t bits, bool nearest) {
  const uint32_t sign = bits >> 16 & 0x8000u, a = bits & 0x7FFFFFFFu;
  if (a > 0x7F800000u) return 0x7FFFu;
  if (a == 0x7F800000u) return sign | 0x7C00u;
  uint32_t value = a - 0x38000000u, shift = 13;  // N400
  if (a < 0x38800000u) {
    const uint32_t field = a >> 23;
    value = field ? (a & 0x7FFFFFu) | 0x800000u : a;
    shift = 126 - (field ? field : 1);
  }
  if (shift > 24) return sign;  // less than half of the least subnormal
  const uint32_t rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
  uint32_t code = value >> shift;
  code += nearest && (rest > half || (rest == half && (code & 1)));
  if (code > 0x7BFFu) code = nearest ? 0x7C00u : 0x7BFFu;
  return sign | code;
}

}  // namespace detail

SOFTAMP_PRIMITIVE float add_rn(float a, float b) { return a + b; }
SOFTAMP_PRIMITIVE float sub_rn(float a, float b) { return a - b; }
SOFTAMP_PRIMITIVE float mul_rn(float a, float b) { return a * b; }
SOFTAMP_PRIMITIVE float div_rn(float a, float b) { return a / b; }
SOFTAMP_PRIMITIVE float sqrt_rn(float a) { return __builtin_sqrtf(a); }
SOFTAMP_PRIMITIVE float fma_rn(float a, float b, float c) {
  return fma(math::Float(a), math::Float(b), math::Float(c)).value;
}
SOFTAMP_PRIMITIVE float add_rz(float a, float b) { return detail::directed_sum<detail::Toward::kZero>(a, b); }
SOFTAMP_PRIMITIVE float sub_rz(float a, float b) { return detail::directed_sum<detail::Toward::kZero>(a, -double{b}); }
SOFTAMP_PRIMITIVE float mul_rz(float a, float b) { return detail::directed<detail::Toward::kZero>(double{a} * b); }
// Quotients and roots of 24-bit numbers are never so near to another 24-bit number that binary64's rounding could reach
// it.
SOFTAMP_PRIMITIVE float div_rz(float a, float b) { return detail::directed<detail::Toward::kZero>(double{a} / b); }
SOFTAMP_PRIMITIVE float sqrt_rz(float a) { return detail::directed<detail::Toward::kZero>(__builtin_sqrt(double{a})); }
SOFTAMP_PRIMITIVE float fma_rz(float a, float b, float c) {
  return detail::directed_sum<detail::Toward::kZero>(double{a} * b, c);
}
SOFTAMP_PRIMITIVE float fma_rd(float a, float b, float c) {
  return detail::directed_sum<detail::Toward::kDown>(double{a} * b, c);
}
SOFTAMP_PRIMITIVE float fma_ru(float a, float b, float c) {
  return detail::directed_sum<detail::Toward::kUp>(double{a} * b, c);
}

SOFTAMP_PRIMITIVE uint32_t half_of_rn(float x) { return detail::half_code(bits_of(x), true); }
SOFTAMP_PRIMITIVE uint32_t half_of_rz(float x) { return detail::half_code(bits_of(x), false); }
SOFTAMP_PRIMITIVE uint32_t halves_of_rn(float low, float high) { return half_of_rn(low) | half_of_rn(high) << 16; }
SOFTAMP_PRIMITIVE uint32_t halves_of_rz(float low, float high) { return half_of_rz(low) | half_of_rz(high) << 16; }
SOFTAMP_PRIMITIVE float float_of_half(uint32_t code) {
  const uint32_t sign = (code & 0x8000u) << 16, magnitude = code & 0x7FFFu;
  if (magnitude >= 0x7C00u) return from_bits(sign | 0x7F800000u | magnitude << 13);
  return from_bits(sign | bits_of(from_bits(magnitude << 13) * 0x1p112f));
}

/// a b + c of halves, rounded to odd at fp32's precision (N403): what a rounding to 22 bits or fewer may start from.
SOFTAMP_PRIMITIVE float fma_odd(float a, float b, float c);

SOFTAMP_PRIMITIVE uint32_t halves_add_rn(uint32_t a, uint32_t b) {
  return halves_of_rn(float_of_half(a & 0xFFFFu) + float_of_half(b & 0xFFFFu),
                      float_of_half(a >> 16) + float_of_half(b >> 16));
}
SOFTAMP_PRIMITIVE uint32_t halves_mul_rn(uint32_t a, uint32_t b) {
  return halves_of_rn(float_of_half(a & 0xFFFFu) * float_of_half(b & 0xFFFFu),
                      float_of_half(a >> 16) * float_of_half(b >> 16));
}
SOFTAMP_PRIMITIVE uint32_t halves_fma_rn(uint32_t a, uint32_t b, uint32_t c) {
  return halves_of_rn(fma_odd(float_of_half(a & 0xFFFFu), float_of_half(b & 0xFFFFu), float_of_half(c & 0xFFFFu)),
                      fma_odd(float_of_half(a >> 16), float_of_half(b >> 16), float_of_half(c >> 16)));
}

#endif

/// a b + c rounded to odd at fp32's precision (N403): a rounding to 22 bits or fewer may start from it, except the
/// stochastic carry of more than 12 bits, which starts from fma_rz (N402, N404). Exact cancellation gives +0; of an
/// infinity or NaN, what fma gives.
// implements: N403, N404
SOFTAMP_PRIMITIVE float fma_odd(float a, float b, float c) {
  const float down = fma_rd(a, b, c), up = fma_ru(a, b, c);
  return bits_of(down) & 1 ? down : up;
}

/// fp32 to the code of a bf16, to nearest even, and back, exactly. Not for NaNs.
SOFTAMP_PRIMITIVE uint32_t bf16_of_rn(float x) {
  const uint32_t u = bits_of(x);
  return (u + 0x7FFFu + (u >> 16 & 1)) >> 16;
}
/// Two of them: `low` in bits 15..0.
SOFTAMP_PRIMITIVE uint32_t bf16s_of_rn(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
#else
  return bf16_of_rn(low) | bf16_of_rn(high) << 16;
#endif
}
SOFTAMP_PRIMITIVE uint32_t bf16_of_rz(float x) { return bits_of(x) >> 16; }
SOFTAMP_PRIMITIVE float float_of_bf16(uint32_t code) { return from_bits(code << 16); }

/// The two words of a b.
struct WideProduct {
  uint32_t low, high;
};
SOFTAMP_PRIMITIVE WideProduct wide_product(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  // One instruction; for a product of 64-bit integers the compiler would add 64-bit sums and masks.
  WideProduct p;
  asm("{.reg .u64 p; mul.wide.u32 p, %2, %3; mov.b64 {%0, %1}, p;}" : "=r"(p.low), "=r"(p.high) : "r"(a), "r"(b));
  return p;
#else
  const uint64_t p = uint64_t{a} * b;
  return {static_cast<uint32_t>(p), static_cast<uint32_t>(p >> 32)};
#endif
}

/// philox4x32 with 10 rounds, unrolled: keys shared by all of a thread's blocks are computed once.
SOFTAMP_PRIMITIVE RandomBlock philox10(RandomBlock c, PhiloxKey key) {
  for (uint32_t round = 0; round < 10; ++round) {
    const WideProduct a = wide_product(c.word[0], 0xD2511F53u), b = wide_product(c.word[2], 0xCD9E8D57u);
    const uint32_t k0 = key.word[0] + round * 0x9E3779B9u, k1 = key.word[1] + round * 0xBB67AE85u;
    c = {{b.high ^ c.word[1] ^ k0, b.low, a.high ^ c.word[3] ^ k1, a.low}};
  }
  return c;
}

/// One block of `source`.
SOFTAMP_PRIMITIVE RandomBlock random_block(const RandomBits& source, uint32_t step, uint32_t operation,
                                           uint64_t block) {
  if (source.rounds == 10) return philox10(source.counter(step, operation, block), source.key());
  return source.block(step, operation, block);
}

/// The random words of outputs first .. first + 7, `first` a multiple of 8, of a rounding site: the words of
/// Environment::draw, except that bits above the policy's random_bits may be anything. For index = product_index(p,
/// output) with output a multiple of 8 as well. `limit`: outputs from it on (index - first, 1 .. 8) have no words of
/// their own.
struct RandomWords {
  uint32_t word[8];
};
/// Uses `step` instead of `e.step`, so that the environment of a launch can be used in place.
SOFTAMP_PRIMITIVE RandomWords random_words(const kernel::Environment& e, uint32_t step, uint32_t site, uint64_t first,
                                           int random_bits, unsigned limit) {
  RandomWords r;
  if (e.table[site].words) {
    const uint32_t* const words = e.table[site].at(first);
    for (unsigned k = 0; k < 8; ++k) r.word[k] = k < limit ? words[k] : 0;
  } else if (random_bits <= 16) {
    const RandomBlock block = random_block(e.random, step, e.operation + site, first >> 3);
    for (unsigned k = 0; k < 8; ++k) r.word[k] = k & 1 ? block.word[k >> 1] >> 16 : block.word[k >> 1];
  } else {
    for (unsigned half = 0; half < 2; ++half) {
      const RandomBlock block = e.random.block(step, e.operation + site, (first >> 2) + half);
      for (unsigned k = 0; k < 4; ++k) r.word[4 * half + k] = block.word[k];
    }
  }
  return r;
}
SOFTAMP_PRIMITIVE RandomWords random_words(const kernel::Environment& e, uint32_t site, uint64_t first, int random_bits,
                                           unsigned limit = 8) {
  return random_words(e, e.step, site, first, random_bits, limit);
}

/// One of them; bits above random_bits may be anything, too.
SOFTAMP_PRIMITIVE uint32_t random_word(const kernel::Environment& e, uint32_t step, uint32_t site, uint64_t index,
                                       int random_bits) {
  if (e.table[site].words) return *e.table[site].at(index);
  return e.random.bits(step, e.operation + site, index, random_bits);
}

}  // namespace softamp::cuda
