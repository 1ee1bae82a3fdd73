#include "emu/bulk/half_avx512_body.h"
#include "emu/convolutions/convolution_direct.h"
#include "emu/products/product_ways.h"

namespace softamp::emu {
namespace {

/// kRows rows from each of kParts places, kVectors vectors of columns, in registers.
template <size_t kRows, size_t kParts, size_t kVectors>
struct Chains {
  static constexpr size_t kAll = kRows * kParts, kColumns = 16 * kVectors;
  __m512 c[kAll][kVectors];

#define SOFTAMP_ALL_CHAINS                                   \
  _Pragma("GCC unroll 16") for (size_t i = 0; i < kAll; ++i) \
      _Pragma("GCC unroll 2") for (size_t v = 0; v < kVectors; ++v)

  SOFTAMP_LANES void load(const float* acc) {
    SOFTAMP_ALL_CHAINS c[i][v] = _mm512_load_ps(acc + i * kColumns + 16 * v);
  }
  SOFTAMP_LANES void store(float* acc) const {
    SOFTAMP_ALL_CHAINS _mm512_store_ps(acc + i * kColumns + 16 * v, c[i][v]);
  }
  SOFTAMP_LANES void step(const float* first, const float* second, const float* b) {
    __m512 x[kVectors];
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) x[v] = _mm512_loadu_ps(b + 16 * v);
#pragma GCC unroll 16
    for (size_t i = 0; i < kAll; ++i) {
      const __m512 a = _mm512_set1_ps(i < kRows ? first[i] : second[i - kRows]);
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) c[i][v] = _mm512_fmadd_ps(a, x[v], c[i][v]);
    }
  }
  SOFTAMP_LANES void round() { SOFTAMP_ALL_CHAINS c[i][v] = _mm512_cvtph_ps(_mm512_cvtps_ph(c[i][v], kNearestEven)); }
  SOFTAMP_LANES bool finite() const {
    __m512i greatest = _mm512_setzero_si512();
    SOFTAMP_ALL_CHAINS greatest =
        _mm512_max_epu32(greatest, _mm512_and_si512(_mm512_castps_si512(c[i][v]), _mm512_set1_epi32(0x7FFFFFFF)));
    return _mm512_cmpge_epu32_mask(greatest, _mm512_set1_epi32(0x7F800000)) == 0;
  }
};

template <size_t kRows, size_t kParts, size_t kVectors>
bool multiply(const float* const* a, const int64_t* a_offsets, const float* b, const int64_t* b_offsets,
              const Segment* segments, size_t count, float* acc) {
  Chains<kRows, kParts, kVectors> c;
  c.load(acc);
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
  // An overflow has become an infinity, and nothing that begins with one ends finite.
  if (rounds && !c.finite()) return false;
  c.store(acc);
  return true;
}

template <size_t kFloats>
bool all_finite(const float* acc) {
  __m512i greatest = _mm512_setzero_si512();
  for (size_t i = 0; i < kFloats; i += 16)
    greatest = _mm512_max_epu32(greatest, _mm512_and_si512(_mm512_loadu_si512(acc + i), _mm512_set1_epi32(0x7FFFFFFF)));
  return _mm512_cmpge_epu32_mask(greatest, _mm512_set1_epi32(0x7F800000)) == 0;
}

template <size_t kRows, size_t kParts, size_t kVectors>
DirectTile tile_of(const ProductKernels& of) {
  DirectTile t{kRows, kParts, of, multiply<kRows, kParts, kVectors>};
  t.kernels.mr = kRows * kParts;
  t.kernels.nr = 16 * kVectors;
  static_assert(kRows * kParts <= kMostRows && padded_tile(kRows * kParts, 16 * kVectors) <= kMostTile);
  t.kernels.finite = all_finite<padded_tile(kRows * kParts, 16 * kVectors)>;
  t.kernels.slender = nullptr;
  t.kernels.result = kVectors == 1 ? product_result_slender_avx512 : product_result_avx512;
  t.kernels.chain = nullptr;
  t.kernels.each = nullptr;
  t.kernels.native = t.kernels.nearest_each = t.kernels.carry_each = t.kernels.nearest = t.kernels.carry = nullptr;
  return t;
}

struct Tiles {
  DirectTile narrow[3], wide[4];
  explicit Tiles(const ProductKernels& of)
      : narrow{tile_of<16, 1, 1>(of), tile_of<15, 1, 1>(of), tile_of<8, 2, 1>(of)},
        wide{tile_of<12, 1, 2>(of), tile_of<8, 1, 2>(of), tile_of<7, 1, 2>(of), tile_of<6, 2, 2>(of)} {}
};

}  // namespace

std::span<const DirectTile> direct_tiles([[maybe_unused]] const ProductKernels& of, bool narrow) {
#if defined(SOFTAMP_HAS_AVX512FP16)
  static const Tiles kOf512Fp16(kAvx512Fp16Products);
  if (of.table == &kAvx512Fp16Kernels) return {narrow ? kOf512Fp16.narrow : kOf512Fp16.wide, narrow ? 3u : 4u};
#endif
  static const Tiles kOf512(kAvx512Products);
  return {narrow ? kOf512.narrow : kOf512.wide, narrow ? 3u : 4u};
}

}  // namespace softamp::emu
