// What every header of numerics/ needs from the compiler: host and device markers, inlining, bit helpers.
//
// Everything in this folder is header-only, constexpr, C++20, and compiled unchanged by g++, clang++, nvcc's host
// pass and nvcc's device pass (N63). It uses integer arithmetic only, so no result depends on the caller's MXCSR.
#pragma once

#include <cstdint>

// implements: N82, N85
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "softamp: results must depend on the input alone; compile without -ffast-math, -Ofast and -ffinite-math-only"
#endif

#if defined(__CUDACC__)
// implements: N63
#define SOFTAMP_HD __host__ __device__
#else
#define SOFTAMP_HD
#endif

// A constant of namespace scope that a kernel may name, too: the device pass has its own.
#if defined(__CUDA_ARCH__)
#define SOFTAMP_CONSTANT __device__ constexpr
#else
#define SOFTAMP_CONSTANT inline constexpr
#endif

// Inlined into the caller, so that a format and a policy known there become constants.
// implements: N63, N381
#define SOFTAMP_INLINE SOFTAMP_HD __attribute__((always_inline)) inline constexpr

// General arithmetic: inlined as well, unless SOFTAMP_OUT_OF_LINE is defined. Then it is an ordinary function with the
// same results: it compiles much faster, but constants are not folded. For files whose speed does not matter, and for
// devices, where it is used in rare cases and would otherwise be compiled into every kernel.
#if defined(__CUDA_ARCH__) || defined(SOFTAMP_OUT_OF_LINE)
// implements: N304
#define SOFTAMP_GENERAL SOFTAMP_HD __attribute__((noinline)) inline constexpr
#else
#define SOFTAMP_GENERAL SOFTAMP_INLINE
#endif

// What an inlined short way leaves to another function.
#define SOFTAMP_APART SOFTAMP_HD __attribute__((noinline)) inline constexpr

// Rare cases, such as NaNs and infinities, kept out of the inlined code.
#define SOFTAMP_RARE SOFTAMP_HD __attribute__((noinline, cold)) inline constexpr

namespace softamp::detail {

// On devices, where general arithmetic serves rare cases, there is the long way alone.
#if defined(__CUDA_ARCH__)
SOFTAMP_CONSTANT bool kShortWays = false;
#else
SOFTAMP_CONSTANT bool kShortWays = true;
#endif

__extension__ typedef unsigned __int128 uint128_t;

/// Leading zero bits of x; x must not be 0.
// implements: N64
SOFTAMP_INLINE int countl_zero(uint64_t x) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) return __clzll(static_cast<long long>(x));
  int n = 0;
  while (!(x >> 63)) {
    x <<= 1;
    ++n;
  }
  return n;
#else
  return __builtin_clzll(x);
#endif
}

/// x >> n for any n >= 0, with every bit shifted out OR-ed into bit 0 ("jamming"): the result keeps what a rounding
/// needs of the lost tail, as long as the rounding reads no bit as low as bit 0.
SOFTAMP_INLINE uint64_t shift_right_jam(uint64_t x, int n) {
  if (n > 63) return x != 0;
  const uint64_t shifted = x >> n;
  return shifted | static_cast<uint64_t>(shifted << n != x);
}

}  // namespace softamp::detail
