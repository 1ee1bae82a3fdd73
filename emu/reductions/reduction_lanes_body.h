// The entries of ReductionKernels; included once by the file of each instruction set.
#pragma once

#include "emu/reductions/reduction_body.h"

namespace softamp::emu {
namespace {

template <class L>
struct PlainTerm {
  static constexpr size_t kSums = 1;
  L x;
  SOFTAMP_LANES void prefetch(size_t offset) const { x.prefetch(offset); }
  SOFTAMP_LANES void get(size_t, size_t offset, size_t, size_t n, F32* t) const { t[0] = x.at(offset, n); }
};
template <class L>
struct SquareTerm {
  static constexpr size_t kSums = 1;
  L x;
  SOFTAMP_LANES void prefetch(size_t offset) const { x.prefetch(offset); }
  SOFTAMP_LANES void get(size_t, size_t offset, size_t, size_t n, F32* t) const {
    const F32 v = x.at(offset, n);
    t[0] = v * v;
  }
};
template <class L>
struct KeyTerm {
  static constexpr size_t kSums = 1;
  L x;
  bool least;
  SOFTAMP_LANES void prefetch(size_t offset) const { x.prefetch(offset); }
  SOFTAMP_LANES void get(size_t, size_t offset, size_t, size_t n, F32* t) const {
    t[0] = keys_of(x.at(offset, n), least);
  }
};

/// Whether none of n elements, whole vectors, is subnormal.
SOFTAMP_LANES bool none_is_subnormal(const float* x, size_t n) {
  U32 seen{};
  for (size_t i = 0; i < n; i += kWidth) {
    __builtin_prefetch(x + i + 512);
    seen |= (U32)flushed_lanes(load<F32>(x + i)) ^ load<U32>(x + i);
  }
  return !any(seen);
}

const float* enter_elements(Load kind, const void* data, size_t count, float* to) {
  const size_t whole = count / kWidth * kWidth;
  if (whole == count) {
    const float* const there = static_cast<const float*>(data);
    if (kind == Load::kF32 || (kind == Load::kF32Flushed && none_is_subnormal(there, count))) return there;
  }
  with_lanes(kind, data, [&](auto x) {
    constexpr size_t kLine = 32, kAhead = 512;  // elements
    for (size_t i = 0; i < whole; i += kWidth) {
      if (i % kLine == 0) x.prefetch(i + kAhead);
      store(to + i, x.at(i, kWidth));
    }
    if (whole != count) store(to + whole, x.at(whole, count - whole));
  });
  return to;
}

template <class Op, class Source>
void rows_with(const Source& source, size_t stride, size_t rows, size_t count, float* out) {
  for (size_t r = 0; r < rows; ++r) row_block<Op>(source, r, r * stride, 0, count, out + r);
}
template <class Op, class Source>
void columns_with(const Source& source, const int64_t* offset, size_t rows, size_t width, float* out) {
  column_block<Op>(
      source, 0, rows, width, [offset](size_t r) { return static_cast<size_t>(offset[r]); }, out);
}

void reduce_rows(Load kind, Fold fold, const void* data, size_t stride, size_t rows, size_t count, float* out) {
  with_lanes(kind, data, [&](auto x) {
    using L = decltype(x);
    switch (fold) {
      case Fold::kSum: rows_with<Adds>(PlainTerm<L>{x}, stride, rows, count, out); break;
      case Fold::kSquares: rows_with<Adds>(SquareTerm<L>{x}, stride, rows, count, out); break;
      case Fold::kMax:
      case Fold::kMin: rows_with<Greater>(KeyTerm<L>{x, fold == Fold::kMin}, stride, rows, count, out); break;
      case Fold::kChain: break;
    }
  });
}

void reduce_columns(Load kind, Fold fold, const void* data, const int64_t* offset, size_t rows, size_t width,
                    float* out) {
  with_lanes(kind, data, [&](auto x) {
    using L = decltype(x);
    switch (fold) {
      case Fold::kSum: columns_with<Adds>(PlainTerm<L>{x}, offset, rows, width, out); break;
      case Fold::kSquares: columns_with<Adds>(SquareTerm<L>{x}, offset, rows, width, out); break;
      case Fold::kMax:
      case Fold::kMin: columns_with<Greater>(KeyTerm<L>{x, fold == Fold::kMin}, offset, rows, width, out); break;
      case Fold::kChain:
        column_chain(
            PlainTerm<L>{x}, rows, width, [offset](size_t r) { return static_cast<size_t>(offset[r]); }, out);
        break;
    }
  });
}

template <class Op>
void tree_with(float* blocks, size_t count, size_t width) {
  for (; count > 1; count = (count + 1) / 2)
    for (size_t b = 0; b < count; b += 2) {
      float* const to = blocks + b / 2 * width;
      const float* const left = blocks + b * width;
      const bool pair = b + 1 < count;
      for (size_t c = 0; c < width; ++c) to[c] = pair ? Op::join(left[c], left[c + width]) : left[c];
    }
}

void reduce_tree(Fold fold, float* blocks, size_t count, size_t width) {
  if (fold == Fold::kChain) {
    for (size_t b = 1; b < count; ++b)
      for (size_t c = 0; c < width; ++c) blocks[c] += blocks[b * width + c];
  } else if (fold == Fold::kMax || fold == Fold::kMin) {
    tree_with<Greater>(blocks, count, width);
  } else {
    tree_with<Adds>(blocks, count, width);
  }
}

SOFTAMP_LANES void store_past_caches(float* out, F32 x) {
#if defined(__AVX512F__)
  _mm512_stream_ps(out, (__m512)x);
#elif defined(__AVX2__)
  _mm256_stream_ps(out, (__m256)x);
#elif defined(__SSE2__)
  _mm_stream_ps(out, (__m128)x);
#else
  store(out, x);
#endif
}

template <bool kFlushed>
SOFTAMP_LANES F32 as_stored(F32 x, uint32_t nan) {
  if (kFlushed) x = flushed_lanes(x);
#if defined(__AVX512F__)
  const __mmask16 nans = _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q);
  return (F32)_mm512_mask_mov_ps((__m512)x, nans, (__m512)splat<U32>(nan));
#else
  return (F32)((U32)(((U32)x & 0x7FFFFFFFu) > 0x7F800000u) ? splat<U32>(nan) : (U32)x);
#endif
}

template <bool kFlushed>
void store_values_with(const float* values, size_t count, uint32_t nan, bool stream, float* out) {
  size_t i = 0;
  if (stream)
    for (; i + kWidth <= count; i += kWidth)
      store_past_caches(out + i, as_stored<kFlushed>(load<F32>(values + i), nan));
  else
    for (; i + kWidth <= count; i += kWidth) store(out + i, as_stored<kFlushed>(load<F32>(values + i), nan));
  if (i == count) return;
  const F32 last = as_stored<kFlushed>(Lanes<Load::kF32>(values).at(i, count - i), nan);
  for (size_t l = 0; i + l < count; ++l) out[i + l] = last[l];
}

void store_values(const float* values, size_t count, uint32_t nan, bool flushed, bool stream, float* out) {
  (flushed ? store_values_with<true> : store_values_with<false>)(values, count, nan, stream, out);
}

constexpr ReductionKernels kReductionKernels = {enter_elements, reduce_rows, reduce_columns, reduce_tree, store_values};

}  // namespace
}  // namespace softamp::emu
