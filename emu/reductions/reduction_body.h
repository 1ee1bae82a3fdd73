// Sums and extrema in the order of kernel/reductions.h, by vectors: along rows the 32 lanes of a block are the lanes of
// vectors, along columns a block has 32 rows of accumulators. The summands come from a source: get(row, offset, column,
// n,
// t) gives the terms t[0 .. kSums) of the `n` (<= kWidth) elements from `offset` on, which lie in row `row` and in
// columns from `column` on; lanes beyond n may hold anything.
#pragma once

#include "emu/reductions/reduction_kernels.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

constexpr size_t kWidth = sizeof(F32) / 4;
constexpr size_t kOrderBlock = 1024, kOrderLanes = 32;

/// x in every lane. (simd.h's splat adds it to zeros, which takes the sign off -0.)
SOFTAMP_LANES F32 all_lanes(float x) { return (F32)splat<U32>(__builtin_bit_cast(uint32_t, x)); }

SOFTAMP_LANES F32 flushed_lanes(F32 x) {
#if defined(__AVX512F__)
  const __m512i bits = (__m512i)x;
  const __mmask16 tiny = _mm512_testn_epi32_mask(bits, _mm512_set1_epi32(0x7F800000));
  return (F32)_mm512_mask_and_epi32(bits, tiny, bits, _mm512_set1_epi32(INT32_MIN));
#else
  const U32 bits = (U32)x;
  const U32 tiny = (U32)((bits & 0x7F800000u) == 0);
  return (F32)(bits & (~tiny | 0x80000000u));
#endif
}

constexpr size_t element_bytes(Load l) { return l == Load::kF32 || l == Load::kF32Flushed ? 4 : 2; }

/// kWidth elements at `p`.
template <Load kLoad>
SOFTAMP_LANES F32 load_lanes(const char* p) {
  if constexpr (kLoad == Load::kF32) return load<F32>(p);
  if constexpr (kLoad == Load::kF32Flushed) return flushed_lanes(load<F32>(p));
  if constexpr (kLoad == Load::kF16) return widen_fp16(p);
  return (F32)(__builtin_convertvector(load<U16of32>(p), U32) << 16);
}

/// An array of elements.
template <Load kLoad>
struct Lanes {
  const char* data;

  SOFTAMP_LANES explicit Lanes(const void* p) : data(static_cast<const char*>(p)) {}
  SOFTAMP_LANES void prefetch(size_t i) const { __builtin_prefetch(data + i * element_bytes(kLoad)); }
  /// n elements from i on.
  SOFTAMP_LANES F32 at(size_t i, size_t n) const {
    const char* p = data + i * element_bytes(kLoad);
    if (n == kWidth) [[likely]]
      return load_lanes<kLoad>(p);
    alignas(64) char padded[kVectorBytes] = {};
    for (size_t b = 0; b < n * element_bytes(kLoad); ++b) padded[b] = p[b];
    return load_lanes<kLoad>(padded);
  }
};

/// Calls body(Lanes<...>) for the kind of elements.
template <class Body>
SOFTAMP_LANES void with_lanes(Load load, const void* data, const Body& body) {
  switch (load) {
    case Load::kF32: body(Lanes<Load::kF32>(data)); break;
    case Load::kF32Flushed: body(Lanes<Load::kF32Flushed>(data)); break;
    case Load::kF16: body(Lanes<Load::kF16>(data)); break;
    case Load::kBf16: body(Lanes<Load::kBf16>(data)); break;
    case Load::kNone: break;
  }
}

/// All ones in the first n lanes.
SOFTAMP_LANES U32 first_lanes(size_t n) {
  U32 index;
  for (size_t l = 0; l < kWidth; ++l) index[l] = static_cast<uint32_t>(l);
  return (U32)(index < splat<U32>(static_cast<uint32_t>(n)));
}

/// The `+` of sums.
struct Adds {
  static SOFTAMP_LANES F32 join(F32 a, F32 b) { return a + b; }
  static SOFTAMP_LANES float join(float a, float b) { return a + b; }
};
/// The greater of two keys.
struct Greater {
  static SOFTAMP_LANES F32 join(F32 a, F32 b) {
#if defined(__AVX512F__)
    return (F32)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (F32)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
    return (I32)a > (I32)b ? a : b;
#endif
  }
  static SOFTAMP_LANES float join(float a, float b) {
    return __builtin_bit_cast(int32_t, a) > __builtin_bit_cast(int32_t, b) ? a : b;
  }
};

/// kernel::order_key of each lane, as bits of floats: integers that order values, NaN on top.
SOFTAMP_LANES F32 keys_of(F32 x, bool least) {
#if defined(__AVX512F__)
  const __m512i bits = (__m512i)x, nan = _mm512_set1_epi32(0x7FFFFFFF);
  // bits ^ (sign & 0x7FFFFFFF), and for a minimum its complement.
  const __m512i sign = _mm512_srai_epi32(bits, 31);
  const __m512i key =
      least ? _mm512_ternarylogic_epi32(bits, sign, nan, 0x87) : _mm512_ternarylogic_epi32(bits, sign, nan, 0x78);
  return (F32)_mm512_mask_mov_epi32(key, _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q), nan);
#else
  const I32 bits = (I32)x;
  const I32 key = bits ^ ((bits >> 31) & 0x7FFFFFFF);
  const I32 nan = (I32)((U32)(bits & 0x7FFFFFFF) > 0x7F800000u);
  return (F32)(((least ? ~key : key) & ~nan) | (nan & 0x7FFFFFFF));
#endif
}

/// Records infinities and NaNs.
class Watch {
 public:
#if defined(__AVX512F__)
  SOFTAMP_LANES void see(F32 x) {
    seen_ = (U32)_mm512_max_epu32((__m512i)seen_, _mm512_add_epi32((__m512i)x, (__m512i)x));
  }
  SOFTAMP_LANES bool any_seen() const {
    return _mm512_cmpge_epu32_mask((__m512i)seen_, _mm512_set1_epi32(static_cast<int>(0xFF000000u))) != 0;
  }
#else
  SOFTAMP_LANES void see(F32 x) { seen_ |= ((U32)x & 0x7FFFFFFFu) + 0x00800000u; }
  SOFTAMP_LANES bool any_seen() const { return any(seen_ & 0x80000000u); }
#endif

 private:
  U32 seen_ = {};
};

/// Lanes 0 .. lanes - 1 (<= 32) by strides 16, 8, 4, 2, 1.
template <class Op>
SOFTAMP_LANES float join_lanes(float* lane, size_t lanes) {
  if (lanes == kOrderLanes) {
    for (size_t v = 0; v < 16; v += kWidth) store(lane + v, Op::join(load<F32>(lane + v), load<F32>(lane + v + 16)));
    for (size_t stride = 8; stride > 0; stride /= 2)
      for (size_t l = 0; l < stride; ++l) lane[l] = Op::join(lane[l], lane[l + stride]);
    return lane[0];
  }
  for (size_t stride = kOrderLanes / 2; stride > 0; stride /= 2)
    for (size_t l = 0; l < stride && l + stride < lanes; ++l) lane[l] = Op::join(lane[l], lane[l + stride]);
  return lane[0];
}

/// out[s] = the join of the terms of elements first .. first + count of row `row`, whose element 0 lies at `offset`.
/// 1 <= count; <= 1024 if the order matters.
template <class Op, class Source>
SOFTAMP_LANES void row_block(const Source& source, size_t row, size_t offset, size_t first, size_t count, float* out) {
  constexpr size_t kSums = Source::kSums, kVectors = kOrderLanes / kWidth;
  alignas(64) float lane[kSums][kOrderLanes];
  F32 t[kSums];
  if (count < kOrderLanes) {
    for (size_t l = 0; l < count; l += kWidth) {
      source.get(row, offset + first + l, first + l, count - l < kWidth ? count - l : kWidth, t);
      for (size_t s = 0; s < kSums; ++s) store(lane[s] + l, t[s]);
    }
  } else {
    F32 sum[kSums][kVectors];
    for (size_t v = 0; v < kVectors; ++v) {
      source.get(row, offset + first + v * kWidth, first + v * kWidth, kWidth, t);
      for (size_t s = 0; s < kSums; ++s) sum[s][v] = t[s];
    }
    size_t i = kOrderLanes;
    for (; i + kOrderLanes <= count; i += kOrderLanes)
      for (size_t v = 0; v < kVectors; ++v) {
        source.get(row, offset + first + i + v * kWidth, first + i + v * kWidth, kWidth, t);
        for (size_t s = 0; s < kSums; ++s) sum[s][v] = Op::join(sum[s][v], t[s]);
      }
    for (size_t v = 0; i < count; ++v, i += kWidth) {
      const size_t n = count - i < kWidth ? count - i : kWidth;
      source.get(row, offset + first + i, first + i, n, t);
      const U32 there = first_lanes(n);
      for (size_t s = 0; s < kSums; ++s) sum[s][v] = there ? Op::join(sum[s][v], t[s]) : sum[s][v];
    }
    for (size_t s = 0; s < kSums; ++s)
      for (size_t v = 0; v < kVectors; ++v) store(lane[s] + v * kWidth, sum[s][v]);
  }
  for (size_t s = 0; s < kSums; ++s) out[s] = join_lanes<Op>(lane[s], count < kOrderLanes ? count : kOrderLanes);
}

/// The same of `count` elements, any number: blocks and the tree over them. Of none: +0.
template <class Op, class Source>
SOFTAMP_LANES void row_tree(const Source& source, size_t row, size_t offset, size_t count, float* out) {
  constexpr size_t kSums = Source::kSums;
  for (size_t s = 0; s < kSums; ++s) out[s] = 0;
  if (count == 0) return;
  if (count <= kOrderBlock) return row_block<Op>(source, row, offset, 0, count, out);
  float level[40][kSums];
  size_t blocks = 0;
  for (size_t first = 0; first < count; first += kOrderBlock, ++blocks) {
    row_block<Op>(source, row, offset, first, count - first < kOrderBlock ? count - first : kOrderBlock, out);
    int l = 0;
    for (; blocks >> l & 1; ++l)
      for (size_t s = 0; s < kSums; ++s) out[s] = Op::join(level[l][s], out[s]);
    for (size_t s = 0; s < kSums; ++s) level[l][s] = out[s];
  }
  int l = 0;
  while (!(blocks >> l & 1)) ++l;
  for (size_t s = 0; s < kSums; ++s) out[s] = level[l][s];
  for (++l; blocks >> l != 0; ++l)
    if (blocks >> l & 1)
      for (size_t s = 0; s < kSums; ++s) out[s] = Op::join(level[l][s], out[s]);
}

/// out[s * width + c] = the join over rows (1 .. 1024) of the terms at offset_of(row) + c, in the order of a block.
template <class Op, class Source, class Offset>
SOFTAMP_LANES void column_block(const Source& source, size_t first_row, size_t rows, size_t width,
                                const Offset& offset_of, float* out) {
  constexpr size_t kSums = Source::kSums, kTile = kSums == 1 ? 256 : 128;
  alignas(64) float lane[kSums][kOrderLanes][kTile];
  constexpr size_t kAhead = 6;  // rows: their pieces are too far apart for the hardware to see them coming
  F32 t[kSums];
  for (size_t c = 0; c < width; c += kTile) {
    const size_t columns = width - c < kTile ? width - c : kTile;
    const auto each = [&](size_t r, auto&& put) {
      const size_t offset = offset_of(r) + c;
      const size_t ahead = width > kTile && r + kAhead < rows ? offset_of(r + kAhead) + c : offset;
      for (size_t p = 0; ahead != offset && p < columns; p += 32) source.prefetch(ahead + p);
      size_t v = 0;
      for (; v + kWidth <= columns; v += kWidth) {
        source.get(first_row + r, offset + v, c + v, kWidth, t);
        for (size_t s = 0; s < kSums; ++s) put(lane[s][r % kOrderLanes] + v, t[s]);
      }
      if (v < columns) {
        source.get(first_row + r, offset + v, c + v, columns - v, t);
        for (size_t s = 0; s < kSums; ++s) put(lane[s][r % kOrderLanes] + v, t[s]);
      }
    };
    const size_t lanes = rows < kOrderLanes ? rows : kOrderLanes;
    for (size_t r = 0; r < lanes; ++r)
      each(
          r, [](float* to, F32 x) __attribute__((always_inline)) { store(to, x); });
    for (size_t r = lanes; r < rows; ++r)
      each(
          r, [](float* to, F32 x) __attribute__((always_inline)) { store(to, Op::join(load<F32>(to), x)); });
    for (size_t s = 0; s < kSums; ++s) {
      for (size_t stride = kOrderLanes / 2; stride > 0; stride /= 2)
        for (size_t l = 0; l < stride && l + stride < lanes; ++l)
          for (size_t v = 0; v < columns; v += kWidth)
            store(lane[s][l] + v, Op::join(load<F32>(lane[s][l] + v), load<F32>(lane[s][l + stride] + v)));
      __builtin_memcpy(out + s * width + c, lane[s][0], columns * 4);
    }
  }
}

/// Ascending chains from +0 down columns.
template <class Source, class Offset>
SOFTAMP_LANES void column_chain(const Source& source, size_t rows, size_t width, const Offset& offset_of, float* out) {
  constexpr size_t kTile = 16 * kWidth;
  alignas(64) float sum[kTile];
  F32 t[1];
  for (size_t c = 0; c < width; c += kTile) {
    const size_t columns = width - c < kTile ? width - c : kTile;
    for (size_t v = 0; v < columns; v += kWidth) store(sum + v, F32{});
    for (size_t r = 0; r < rows; ++r)
      for (size_t v = 0; v < columns; v += kWidth) {
        source.get(r, offset_of(r) + c + v, c + v, columns - v < kWidth ? columns - v : kWidth, t);
        store(sum + v, load<F32>(sum + v) + t[0]);
      }
    __builtin_memcpy(out + c, sum, columns * 4);
  }
}

}  // namespace
}  // namespace softamp::emu
