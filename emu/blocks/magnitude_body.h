// The greatest magnitudes of blocks: of each block in lanes, then of as many blocks as there are lanes at once.
#pragma once

#include "emu/blocks/block_kernels.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

constexpr size_t kLanes32 = sizeof(U32) / 4;

SOFTAMP_LANES U32 magnitude(U32 u) { return u & 0x7FFFFFFFu; }
/// Of magnitudes, which are not negative as signed numbers: any instruction set has that comparison.
SOFTAMP_LANES U32 greater(U32 a, U32 b) {
#if defined(__AVX512F__)
  return (U32)_mm512_max_epi32((__m512i)a, (__m512i)b);
#else
  return (I32)a > (I32)b ? a : b;
#endif
}
SOFTAMP_LANES uint32_t greatest_lane(U32 v) {
  uint32_t most = 0;
  for (size_t l = 0; l < kLanes32; ++l) most = v[l] > most ? v[l] : most;
  return most;
}

/// The first n < kLanes32 numbers at x, then zeros.
SOFTAMP_LANES U32 load_part(const float* x, size_t n) {
  alignas(64) uint32_t part[kLanes32] = {};
  __builtin_memcpy(part, x, 4 * n);
  return load<U32>(part);
}

/// In lanes, of whole vectors of n elements.
SOFTAMP_LANES U32 greatest_of(const float* x, size_t n) {
  U32 most = magnitude(load<U32>(x));
  size_t i = kLanes32;
  if (n >= 8 * kLanes32) {  // long ones in four chains
    U32 m1 = magnitude(load<U32>(x + kLanes32)), m2 = magnitude(load<U32>(x + 2 * kLanes32));
    U32 m3 = magnitude(load<U32>(x + 3 * kLanes32));
    for (i = 4 * kLanes32; i + 4 * kLanes32 <= n; i += 4 * kLanes32) {
      most = greater(most, magnitude(load<U32>(x + i)));
      m1 = greater(m1, magnitude(load<U32>(x + i + kLanes32)));
      m2 = greater(m2, magnitude(load<U32>(x + i + 2 * kLanes32)));
      m3 = greater(m3, magnitude(load<U32>(x + i + 3 * kLanes32)));
    }
    most = greater(greater(most, m1), greater(m2, m3));
  }
  for (; i + kLanes32 <= n; i += kLanes32) most = greater(most, magnitude(load<U32>(x + i)));
  return most;
}

/// Lane b: the greatest lane of v[b].
SOFTAMP_LANES U32 greatest_lanes(const U32* v) {
#if defined(__AVX512F__)
  const auto pair = [](U32 a, U32 b) {
    return greater((U32)_mm512_unpacklo_epi32((__m512i)a, (__m512i)b),
                   (U32)_mm512_unpackhi_epi32((__m512i)a, (__m512i)b));
  };
  const auto four = [&](const U32* w) {
    const U32 a = pair(w[0], w[1]), b = pair(w[2], w[3]);
    return greater((U32)_mm512_unpacklo_epi64((__m512i)a, (__m512i)b),
                   (U32)_mm512_unpackhi_epi64((__m512i)a, (__m512i)b));
  };
  const auto across = [](U32 a, U32 b) {
    return greater((U32)_mm512_shuffle_i32x4((__m512i)a, (__m512i)b, 0x88),
                   (U32)_mm512_shuffle_i32x4((__m512i)a, (__m512i)b, 0xDD));
  };
  return across(across(four(v), four(v + 4)), across(four(v + 8), four(v + 12)));
#elif defined(__AVX2__)
  const auto pair = [](U32 a, U32 b) {
    return greater((U32)_mm256_unpacklo_epi32((__m256i)a, (__m256i)b),
                   (U32)_mm256_unpackhi_epi32((__m256i)a, (__m256i)b));
  };
  const auto four = [&](const U32* w) {
    const U32 a = pair(w[0], w[1]), b = pair(w[2], w[3]);
    return greater((U32)_mm256_unpacklo_epi64((__m256i)a, (__m256i)b),
                   (U32)_mm256_unpackhi_epi64((__m256i)a, (__m256i)b));
  };
  const U32 a = four(v), b = four(v + 4);
  return greater((U32)_mm256_permute2x128_si256((__m256i)a, (__m256i)b, 0x20),
                 (U32)_mm256_permute2x128_si256((__m256i)a, (__m256i)b, 0x31));
#else
  U32 most = {};
  for (size_t l = 0; l < kLanes32; ++l) most[l] = greatest_lane(v[l]);
  return most;
#endif
}

/// Blocks of whole vectors, kLanes32 of them.
template <size_t kVectors>  ///< of a block; 0: any number
SOFTAMP_LANES void many_magnitudes(const float* x, size_t size, uint32_t* amax) {
  U32 most[kLanes32];
  for (size_t b = 0; b < kLanes32; ++b) {
    if constexpr (kVectors == 0) {
      most[b] = greatest_of(x + b * size, size);
    } else {
      const float* const block = x + b * kVectors * kLanes32;
      most[b] = magnitude(load<U32>(block));
      for (size_t v = 1; v < kVectors; ++v) most[b] = greater(most[b], magnitude(load<U32>(block + v * kLanes32)));
    }
  }
  store(amax, greatest_lanes(most));
}

void block_magnitudes(const float* x, size_t n, size_t size, uint32_t* amax) {
  if (size % kLanes32 == 0) {
    const size_t many = size * kLanes32;
    for (; n >= many; n -= many, x += many, amax += kLanes32) switch (size / kLanes32) {
        case 1: many_magnitudes<1>(x, size, amax); break;
        case 2: many_magnitudes<2>(x, size, amax); break;
        case 4: many_magnitudes<4>(x, size, amax); break;
        default: many_magnitudes<0>(x, size, amax);
      }
  }
  while (n > 0) {
    const size_t part = n < size ? n : size, whole = part / kLanes32 * kLanes32;
    U32 most = {};
    if (whole != 0) most = greatest_of(x, whole);
    if (whole < part) most = greater(most, magnitude(load_part(x + whole, part - whole)));
    *amax++ = greatest_lane(most);
    x += part, n -= part;
  }
}

/// Four rows at a time, so that amax is read and written a quarter as often.
void column_magnitudes(const float* x, size_t stride, size_t rows, size_t n, uint32_t* amax) {
  const auto at = [](const float* p) { return magnitude(load<U32>(p)); };
  for (; rows >= 4; rows -= 4, x += 4 * stride) {
    const float *const x1 = x + stride, *const x2 = x1 + stride, *const x3 = x2 + stride;
    size_t i = 0;
    for (; i + kLanes32 <= n; i += kLanes32) {
      const U32 most = greater(greater(at(x + i), at(x1 + i)), greater(at(x2 + i), at(x3 + i)));
      store(amax + i, greater(load<U32>(amax + i), most));
    }
    if (i == n) continue;
    U32 most = load_part(reinterpret_cast<const float*>(amax + i), n - i);
    for (size_t r = 0; r < 4; ++r) most = greater(most, magnitude(load_part(x + r * stride + i, n - i)));
    __builtin_memcpy(amax + i, &most, 4 * (n - i));
  }
  for (; rows > 0; --rows, x += stride) {
    size_t i = 0;
    for (; i + kLanes32 <= n; i += kLanes32) store(amax + i, greater(load<U32>(amax + i), at(x + i)));
    for (; i < n; ++i) {
      uint32_t u;
      __builtin_memcpy(&u, x + i, 4);
      u &= 0x7FFFFFFFu;
      amax[i] = u > amax[i] ? u : amax[i];
    }
  }
}

}  // namespace
}  // namespace softamp::emu
