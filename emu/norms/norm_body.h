// The entries of NormKernels; included once by the file of each instruction set.
#pragma once

#include "emu/math_lanes.h"
#include "emu/norms/norm_kernels.h"
#include "emu/reductions/reduction_body.h"

namespace softamp::emu {
namespace {

/// A number that all lanes share, or one per column.
struct Shared {
  F32 v;
  SOFTAMP_LANES explicit Shared(float x) : v(all_lanes(x)) {}
  SOFTAMP_LANES F32 at(size_t, size_t) const { return v; }
};
struct PerColumn {
  const float* p;
  SOFTAMP_LANES explicit PerColumn(const float* x) : p(x) {}
  SOFTAMP_LANES F32 at(size_t column, size_t n) const { return Lanes<Load::kF32>(p).at(column, n); }
};
/// The same of numbers that belong to rows.
template <class Numbers>
SOFTAMP_LANES F32 number_of(const Numbers& numbers, size_t, size_t column, size_t n) {
  return numbers.at(column, n);
}
struct PerRow {
  const float* p;
  SOFTAMP_LANES explicit PerRow(const float* x) : p(x) {}
};
SOFTAMP_LANES F32 number_of(const PerRow& numbers, size_t row, size_t, size_t) { return all_lanes(numbers.p[row]); }

SOFTAMP_LANES F32 fused_lanes(F32 a, F32 b, F32 c) { return fma(FloatLanes(a), FloatLanes(b), FloatLanes(c)).v; }

template <class L>
struct MomentTerms {
  static constexpr size_t kSums = 2;
  L x;
  SOFTAMP_LANES void prefetch(size_t offset) const { x.prefetch(offset); }
  SOFTAMP_LANES void get(size_t, size_t offset, size_t, size_t n, F32* t) const {
    const F32 v = x.at(offset, n);
    t[0] = v;
    t[1] = v * v;
  }
};
template <class L>
struct SumTerms {
  static constexpr size_t kSums = 1;
  L x;
  SOFTAMP_LANES void prefetch(size_t offset) const { x.prefetch(offset); }
  SOFTAMP_LANES void get(size_t, size_t offset, size_t, size_t n, F32* t) const { t[0] = x.at(offset, n); }
};
template <class L, class Mean>
struct DeviationTerms {
  static constexpr size_t kSums = 1;
  L x;
  Mean mean;
  SOFTAMP_LANES void prefetch(size_t offset) const { x.prefetch(offset); }
  SOFTAMP_LANES void get(size_t, size_t offset, size_t column, size_t n, F32* t) const {
    const F32 d = x.at(offset, n) - mean.at(column, n);
    t[0] = d * d;
  }
};
/// g and g h; kScaled: g = RN(dy gamma).
template <class L, class Numbers, bool kScaled>
struct GradientTerms {
  static constexpr size_t kSums = 2;
  L dy, x;
  Numbers mean, inverse;
  const float* gamma;
  SOFTAMP_LANES void prefetch(size_t offset) const {
    dy.prefetch(offset);
    x.prefetch(offset);
  }
  SOFTAMP_LANES void get(size_t row, size_t offset, size_t column, size_t n, F32* t) const {
    F32 g = dy.at(offset, n);
    if constexpr (kScaled) g = g * PerColumn(gamma).at(column, n);
    const F32 h = (x.at(offset, n) - number_of(mean, row, column, n)) * number_of(inverse, row, column, n);
    t[0] = g;
    t[1] = g * h;
  }
};

void row_sums(Load kind, const void* data, size_t n, bool stable, float count, float* sums) {
  with_lanes(kind, data, [&](auto x) {
    using L = decltype(x);
    if (!stable) {
      row_tree<Adds>(MomentTerms<L>{x}, 0, 0, n, sums);
      return;
    }
    row_tree<Adds>(SumTerms<L>{x}, 0, 0, n, sums);
    row_tree<Adds>(DeviationTerms<L, Shared>{x, Shared(sums[0] / count)}, 0, 0, n, sums + 1);
  });
}

void column_sums(Load kind, const void* data, size_t rows, size_t stride, size_t width, const float* mean,
                 float* sums) {
  with_lanes(kind, data, [&](auto x) {
    using L = decltype(x);
    const auto offset = [stride](size_t r) { return r * stride; };
    if (mean)
      column_block<Adds>(DeviationTerms<L, PerColumn>{x, PerColumn(mean)}, 0, rows, width, offset, sums);
    else
      column_block<Adds>(MomentTerms<L>{x}, 0, rows, width, offset, sums);
  });
}

/// Calls put(i, n) for vectors that cover n elements: whole ones, then the rest.
template <class Put>
SOFTAMP_LANES void for_each_vector(size_t count, const Put& put) {
  size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) put(i, kWidth);
  if (i < count) put(i, count - i);
}
SOFTAMP_LANES void store_lanes(float* out, F32 x, size_t n, Watch& watch) {
  if (n == kWidth) [[likely]] {
    watch.see(x);
    store(out, x);
    return;
  }
  x = (F32)((U32)x & first_lanes(n));
  watch.see(x);
  for (size_t l = 0; l < n; ++l) out[l] = x[l];
}

bool row_apply(Load kind, const void* data, size_t n, float mean, float inverse, const float* gamma, const float* beta,
               float* out) {
  Watch watch;
  with_lanes(kind, data, [&](auto x) {
    const Shared m(mean), i(inverse);
    const PerColumn scale(gamma), offset(beta);
    for_each_vector(
        n, [&](size_t c, size_t w) __attribute__((always_inline)) {
          store_lanes(out + c, fused_lanes((x.at(c, w) - m.v) * i.v, scale.at(c, w), offset.at(c, w)), w, watch);
        });
  });
  return watch.any_seen();
}

bool column_apply(Load kind, const void* data, size_t rows, size_t stride, size_t width, const float* mean,
                  const float* inverse, const float* gamma, const float* beta, float* out) {
  Watch watch;
  with_lanes(kind, data, [&](auto x) {
    const PerColumn m(mean), i(inverse), scale(gamma), offset(beta);
    for (size_t r = 0; r < rows; ++r)
      for_each_vector(
          width, [&](size_t c, size_t w) __attribute__((always_inline)) {
            const F32 h = (x.at(r * stride + c, w) - m.at(c, w)) * i.at(c, w);
            store_lanes(out + r * width + c, fused_lanes(h, scale.at(c, w), offset.at(c, w)), w, watch);
          });
  });
  return watch.any_seen();
}

/// Calls body(dy, x) as Lanes of the right kind.
template <class Body>
SOFTAMP_LANES void with_both(const GradientLanes& in, const Body& body) {
  with_lanes(in.load, in.dy, [&](auto dy) { body(dy, decltype(dy)(in.x)); });
}

void row_gradient_sums(const GradientLanes& in, size_t n, float mean, float inverse, const float* gamma, float* sums) {
  with_both(in, [&](auto dy, auto x) {
    const GradientTerms<decltype(x), Shared, true> terms{dy, x, Shared(mean), Shared(inverse), gamma};
    row_tree<Adds>(terms, 0, 0, n, sums);
  });
}

bool row_gradient(const GradientLanes& in, size_t n, float mean, float inverse, const float* gamma, float a, float b,
                  float* out) {
  Watch watch;
  with_both(in, [&](auto dy, auto x) {
    const Shared m(mean), i(inverse), first(a), second(b);
    const PerColumn scale(gamma);
    for_each_vector(
        n, [&](size_t c, size_t w) __attribute__((always_inline)) {
          const F32 g = dy.at(c, w) * scale.at(c, w), h = (x.at(c, w) - m.v) * i.v;
          store_lanes(out + c, i.v * fused_lanes(-h, second.v, g - first.v), w, watch);
        });
  });
  return watch.any_seen();
}

void column_gradient_sums(const GradientLanes& in, size_t rows, size_t stride, size_t width, bool by_row,
                          const float* mean, const float* inverse, float* sums) {
  with_both(in, [&](auto dy, auto x) {
    using L = decltype(x);
    const auto offset = [stride](size_t r) { return r * stride; };
    if (by_row)
      column_block<Adds>(GradientTerms<L, PerRow, false>{dy, x, PerRow(mean), PerRow(inverse), nullptr}, 0, rows, width,
                         offset, sums);
    else
      column_block<Adds>(GradientTerms<L, PerColumn, false>{dy, x, PerColumn(mean), PerColumn(inverse), nullptr}, 0,
                         rows, width, offset, sums);
  });
}

bool column_gradient(const GradientLanes& in, size_t rows, size_t stride, size_t width, const float* mean,
                     const float* inverse, const float* factor, const float* a, const float* b, float* out) {
  Watch watch;
  with_both(in, [&](auto dy, auto x) {
    const PerColumn m(mean), i(inverse), k(factor), first(a), second(b);
    for (size_t r = 0; r < rows; ++r)
      for_each_vector(
          width, [&](size_t c, size_t w) __attribute__((always_inline)) {
            F32 t = dy.at(r * stride + c, w);
            if (a) {
              const F32 h = (x.at(r * stride + c, w) - m.at(c, w)) * i.at(c, w);
              t = fused_lanes(-h, second.at(c, w), t - first.at(c, w));
            }
            store_lanes(out + r * width + c, k.at(c, w) * t, w, watch);
          });
  });
  return watch.any_seen();
}

constexpr NormKernels kNormKernels = {
    row_sums,     column_sums,          row_apply,      column_apply, row_gradient_sums,
    row_gradient, column_gradient_sums, column_gradient};

}  // namespace
}  // namespace softamp::emu
