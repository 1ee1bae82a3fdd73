// A direct tile's chains, in vectors of the unit's instruction set.
#pragma once

#include "emu/convolutions/convolution_direct.h"
#include "emu/products/product_ways.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

#if defined(__AVX512F__)
using Lanes = __m512;
SOFTAMP_LANES Lanes lanes_at(const float* p) { return _mm512_loadu_ps(p); }
SOFTAMP_LANES Lanes in_all_lanes(float x) { return _mm512_set1_ps(x); }
SOFTAMP_LANES Lanes fused(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
SOFTAMP_LANES Lanes rounded_to_halves(Lanes x) {
  return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#else
using Lanes = __m256;
SOFTAMP_LANES Lanes lanes_at(const float* p) { return _mm256_loadu_ps(p); }
SOFTAMP_LANES Lanes in_all_lanes(float x) { return _mm256_set1_ps(x); }
SOFTAMP_LANES Lanes fused(Lanes a, Lanes b, Lanes c) { return _mm256_fmadd_ps(a, b, c); }
SOFTAMP_LANES Lanes rounded_to_halves(Lanes x) {
  return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
#endif
constexpr size_t kLanes = sizeof(Lanes) / 4;

/// Whether all of the floats, a multiple of the lanes, are finite.
template <size_t kFloats>
bool all_finite(const float* values) {
  U32 special = {};
  for (size_t i = 0; i < kFloats; i += kLanes) special |= (U32)((load<U32>(values + i) & 0x7F800000u) == 0x7F800000u);
  return !any(special);
}

/// kRows rows from each of kParts places, kVectors vectors of columns, in registers.
template <size_t kRows, size_t kParts, size_t kVectors>
struct Chains {
  static constexpr size_t kAll = kRows * kParts, kColumns = kLanes * kVectors;
  Lanes c[kAll][kVectors];

#define SOFTAMP_ALL_CHAINS                                   \
  _Pragma("GCC unroll 16") for (size_t i = 0; i < kAll; ++i) \
      _Pragma("GCC unroll 2") for (size_t v = 0; v < kVectors; ++v)

  SOFTAMP_LANES void load_from(const float* acc) {
    SOFTAMP_ALL_CHAINS c[i][v] = lanes_at(acc + i * kColumns + kLanes * v);
  }
  SOFTAMP_LANES void store_to(float* acc) const { SOFTAMP_ALL_CHAINS store(acc + i * kColumns + kLanes * v, c[i][v]); }
  SOFTAMP_LANES void step(const float* first, const float* second, const float* b) {
    Lanes x[kVectors];
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) x[v] = lanes_at(b + kLanes * v);
#pragma GCC unroll 16
    for (size_t i = 0; i < kAll; ++i) {
      const Lanes a = in_all_lanes(i < kRows ? first[i] : second[i - kRows]);
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) c[i][v] = fused(a, x[v], c[i][v]);
    }
  }
  SOFTAMP_LANES void round() { SOFTAMP_ALL_CHAINS c[i][v] = rounded_to_halves(c[i][v]); }
};

/// DirectTile::multiply.
template <size_t kRows, size_t kParts, size_t kVectors>
bool multiply(const float* const* a, const int64_t* a_offsets, const float* b, const int64_t* b_offsets,
              const Segment* segments, size_t count, float* acc) {
  using Tile = Chains<kRows, kParts, kVectors>;
  Tile c;
  c.load_from(acc);
  const float* const first = a[0];
  const float* const second = a[kParts - 1];
  bool rounds = false;
  for (size_t s = 0; s < count; ++s) {
    const int64_t* const end = a_offsets + segments[s].length;
    for (; a_offsets != end; ++a_offsets, ++b_offsets) {
      const float* p = first + *a_offsets;
      const float* q = second + *a_offsets;
      // One register: with two in an address, a fused multiply-add takes an operation more to issue.
      asm("" : "+r"(p), "+r"(q));
      c.step(p, q, b + *b_offsets);
    }
    if (!segments[s].rounds) continue;
    rounds = true;
    c.round();
  }
  if (!rounds) {
    c.store_to(acc);
    return true;
  }
  // An overflow has become an infinity, and nothing that begins with one ends finite.
  alignas(64) float values[Tile::kAll * Tile::kColumns];
  c.store_to(values);
  if (!all_finite<Tile::kAll * Tile::kColumns>(values)) return false;
  c.store_to(acc);
  return true;
}

/// DirectTile::step.
template <size_t kVectors>
void step(const float* a, uint32_t rows, const float* b, float* acc) {
  for (; rows; rows &= rows - 1) {
    const auto i = static_cast<size_t>(__builtin_ctz(rows));
    for (size_t v = 0; v < kVectors; ++v) {
      float* const c = acc + (i * kVectors + v) * kLanes;
      store(c, fused(in_all_lanes(a[i]), lanes_at(b + kLanes * v), lanes_at(c)));
    }
  }
}

/// `result`: null where rounding results goes the general way.
template <size_t kRows, size_t kParts, size_t kVectors>
DirectTile tile_of(const ProductKernels& of, ResultKernel result) {
  constexpr size_t kAll = kRows * kParts, kColumns = kLanes * kVectors;
  static_assert(kAll <= kMostRows && padded_tile(kAll, kColumns) <= kMostTile);
  DirectTile t{kRows, kParts, of, multiply<kRows, kParts, kVectors>, step<kVectors>};
  t.kernels.mr = kAll;
  t.kernels.nr = kColumns;
  t.kernels.finite = all_finite<padded_tile(kAll, kColumns)>;
  t.kernels.slender = nullptr;
  t.kernels.result = result;
  t.kernels.chain = nullptr;
  t.kernels.each = nullptr;
  t.kernels.native = t.kernels.nearest_each = t.kernels.carry_each = t.kernels.nearest = t.kernels.carry = nullptr;
  return t;
}

}  // namespace
}  // namespace softamp::emu
