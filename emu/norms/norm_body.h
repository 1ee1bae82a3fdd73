// The entries of NormKernels; included once by the file of each instruction set.
#pragma once

#include "emu/math_lanes.h"
#include "emu/norms/norm_kernels.h"
#include "emu/reductions/reduction_body.h"

namespace softamp::emu {
namespace {

SOFTAMP_LANES F32 fused_lanes(F32 a, F32 b, F32 c) { return fma(FloatLanes(a), FloatLanes(b), FloatLanes(c)).v; }

/// Elements of a row that have entered.
struct Entered {
  const float* p;
  SOFTAMP_LANES F32 at(size_t i, size_t) const { return load<F32>(p + i); }
  SOFTAMP_LANES void prefetch(size_t) const {}
};

/// What is added up, of the n elements from `i` on, whose columns begin at `c`: t[0 .. kSums).
template <class L>
struct MomentTerms {
  static constexpr size_t kSums = 2;
  L x;
  SOFTAMP_LANES void prefetch(size_t i) const { x.prefetch(i); }
  SOFTAMP_LANES void get(size_t, size_t i, size_t, size_t n, F32* t) const {
    t[0] = x.at(i, n);
    t[1] = t[0] * t[0];
  }
};
/// Numbers of columns, or (not kByColumn) one that all share.
template <bool kByColumn>
SOFTAMP_LANES F32 number_of(const float* numbers) {
  return kByColumn ? load<F32>(numbers) : all_lanes(*numbers);
}
template <class L, bool kByColumn>
struct DeviationTerms {
  static constexpr size_t kSums = 1;
  L x;
  const float* mean;
  SOFTAMP_LANES void prefetch(size_t i) const { x.prefetch(i); }
  SOFTAMP_LANES void get(size_t, size_t i, size_t c, size_t n, F32* t) const {
    const F32 d = x.at(i, n) - number_of<kByColumn>(mean + (kByColumn ? c : 0));
    t[0] = d * d;
  }
};
/// g and g h; kScaled: g = RN(dy gamma). kByColumn: mean and i belong to columns, else to rows.
template <class L, bool kByColumn, bool kScaled>
struct GradientTerms {
  static constexpr size_t kSums = 2;
  L dy, x;
  const float *mean, *inverse, *gamma;
  SOFTAMP_LANES void prefetch(size_t i) const { dy.prefetch(i), x.prefetch(i); }
  SOFTAMP_LANES void get(size_t row, size_t i, size_t c, size_t n, F32* t) const {
    const size_t at = kByColumn ? c : row;
    t[0] = dy.at(i, n);
    if constexpr (kScaled) t[0] = t[0] * load<F32>(gamma + c);
    t[1] = t[0] * ((x.at(i, n) - number_of<kByColumn>(mean + at)) * number_of<kByColumn>(inverse + at));
  }
};

void row_sums(const float* x, size_t n, const float* mean, float* sums) {
  if (mean)
    row_block<Adds>(DeviationTerms<Entered, false>{{x}, mean}, 0, 0, 0, n, sums);
  else
    row_block<Adds>(MomentTerms<Entered>{{x}}, 0, 0, 0, n, sums);
}

/// Adds the terms of rows to the lanes of their columns; the first rows of a block are their lanes.
template <class Terms>
SOFTAMP_LANES void add_rows(const Terms& terms, size_t stride, size_t rows, size_t width, const ColumnLanes& to) {
  constexpr size_t kSums = Terms::kSums, kAhead = 6;  // rows: too far apart for the hardware to see them coming
  const size_t lanes = to.lanes, pitch = ColumnLanes::pitch(width), of_sum = lanes * pitch;
  for (size_t r = 0; r < rows; ++r) {
    float* const sums = to.sums + ((to.row + r) & (lanes - 1)) * pitch;
    const auto each = [&](const auto& put) __attribute__((always_inline)) {
      F32 t[kSums];
      size_t c = 0;
      for (; c + kWidth <= width; c += kWidth) {
        terms.get(r, r * stride + c, c, kWidth, t);
        for (size_t s = 0; s < kSums; ++s) put(sums + s * of_sum + c, t[s]);
      }
      if (c == width) return;
      terms.get(r, r * stride + c, c, width - c, t);
      for (size_t s = 0; s < kSums; ++s) put(sums + s * of_sum + c, t[s]);
    };
    if (stride != width && r + kAhead < rows)
      for (size_t p = 0; p < width; p += 32) terms.prefetch((r + kAhead) * stride + p);
    if (to.row + r < lanes)
      each([](float* sum, F32 t) __attribute__((always_inline)) { store(sum, t); });
    else
      each([](float* sum, F32 t) __attribute__((always_inline)) { store(sum, Adds::join(load<F32>(sum), t)); });
  }
}

void column_sums(Load kind, const void* data, size_t stride, size_t rows, size_t width, const float* mean,
                 const ColumnLanes& to) {
  with_lanes(kind, data, [&](auto x) {
    using L = decltype(x);
    if (mean)
      add_rows(DeviationTerms<L, true>{x, mean}, stride, rows, width, to);
    else
      add_rows(MomentTerms<L>{x}, stride, rows, width, to);
  });
}

void column_join(const ColumnLanes& of, size_t sums, size_t width, size_t stride, float* out) {
  const size_t pitch = ColumnLanes::pitch(width), lanes = of.row < of.lanes ? of.row : of.lanes;
  for (size_t s = 0; s < sums; ++s) {
    float* const lane = of.sums + s * of.lanes * pitch;
    for (size_t apart = of.lanes / 2; apart > 0; apart /= 2)
      for (size_t l = 0; l < apart && l + apart < lanes; ++l)
        for (size_t c = 0; c < width; c += kWidth) {
          float* const sum = lane + l * pitch + c;
          store(sum, Adds::join(load<F32>(sum), load<F32>(sum + apart * pitch)));
        }
    __builtin_memcpy(out + s * stride, lane, width * sizeof(float));
  }
}

/// Stores value(i, c, n) for the vectors of rows: n elements from i on, columns from c on.
template <class Value>
SOFTAMP_LANES bool store_rows(size_t stride, size_t rows, size_t width, float* out, const Value& value) {
  Watch watch;
  const size_t whole = width / kWidth * kWidth;
  const U32 last = first_lanes(width - whole);
  for (size_t r = 0; r < rows; ++r, out += width) {
    for (size_t c = 0; c < whole; c += kWidth) {
      const F32 v = value(r * stride + c, c, kWidth);
      watch.see(v);
      store(out + c, v);
    }
    if (whole == width) continue;
    const F32 v = value(r * stride + whole, whole, width - whole);
    watch.see((F32)((U32)v & last));
    store(out + whole, v);
  }
  return watch.any_seen();
}

bool row_apply(const float* x, size_t width, float mean, float inverse, const float* gamma, const float* beta,
               float* out) {
  const F32 m = all_lanes(mean), i = all_lanes(inverse);
  return store_rows(
      width, 1, width, out, [&](size_t e, size_t c, size_t) __attribute__((always_inline)) {
        return fused_lanes((load<F32>(x + e) - m) * i, load<F32>(gamma + c), load<F32>(beta + c));
      });
}

bool column_apply(Load kind, const void* data, size_t stride, size_t rows, size_t width, const float* mean,
                  const float* inverse, const float* gamma, const float* beta, float* out) {
  bool rare = false;
  with_lanes(kind, data, [&](auto x) {
    rare = store_rows(
        stride, rows, width, out, [&](size_t e, size_t c, size_t n) __attribute__((always_inline)) {
          const F32 h = (x.at(e, n) - load<F32>(mean + c)) * load<F32>(inverse + c);
          return fused_lanes(h, load<F32>(gamma + c), load<F32>(beta + c));
        });
  });
  return rare;
}

void row_gradient_sums(const GradientLanes& in, size_t n, float mean, float inverse, const float* gamma, float* sums) {
  row_block<Adds>(GradientTerms<Entered, false, true>{{in.dy}, {in.x}, &mean, &inverse, gamma}, 0, 0, 0, n, sums);
}

bool row_gradient(const GradientLanes& in, size_t width, float mean, float inverse, const float* gamma, float a,
                  float b, float* out) {
  const GradientLanes from = in;
  const F32 m = all_lanes(mean), i = all_lanes(inverse), first = all_lanes(a), second = all_lanes(b);
  return store_rows(
      width, 1, width, out, [&](size_t e, size_t c, size_t) __attribute__((always_inline)) {
        const F32 g = load<F32>(from.dy + e) * load<F32>(gamma + c), h = (load<F32>(from.x + e) - m) * i;
        return i * fused_lanes(-h, second, g - first);
      });
}

/// Calls body(dy, x) as Lanes of the right kind.
template <class Body>
SOFTAMP_LANES void with_both(const GradientColumns& in, const Body& body) {
  with_lanes(in.load, in.dy, [&](auto dy) { body(dy, decltype(dy)(in.x)); });
}

void column_gradient_sums(const GradientColumns& in, size_t rows, size_t width, bool by_row, const float* mean,
                          const float* inverse, const float* gamma, const ColumnLanes& to) {
  with_both(in, [&](auto dy, auto x) {
    using L = decltype(x);
    if (by_row)
      add_rows(GradientTerms<L, false, false>{dy, x, mean, inverse, nullptr}, in.stride, rows, width, to);
    else if (gamma)
      add_rows(GradientTerms<L, true, true>{dy, x, mean, inverse, gamma}, in.stride, rows, width, to);
    else
      add_rows(GradientTerms<L, true, false>{dy, x, mean, inverse, nullptr}, in.stride, rows, width, to);
  });
}

bool column_gradient(const GradientColumns& in, size_t rows, size_t width, const float* mean, const float* inverse,
                     const float* factor, const float* gamma, const float* a, const float* b, float* out) {
  bool rare = false;
  with_both(in, [&](auto dy, auto x) {
    rare = store_rows(
        in.stride, rows, width, out, [&](size_t e, size_t c, size_t n) __attribute__((always_inline)) {
          F32 t = dy.at(e, n);
          if (gamma) t = t * load<F32>(gamma + c);
          if (a) {
            const F32 h = (x.at(e, n) - load<F32>(mean + c)) * load<F32>(inverse + c);
            t = fused_lanes(-h, load<F32>(b + c), t - load<F32>(a + c));
          }
          return load<F32>(factor + c) * t;
        });
  });
  return rare;
}

constexpr NormKernels kNormKernels = {row_sums,     column_sums,          column_join,
                                      row_apply,    column_apply,         row_gradient_sums,
                                      row_gradient, column_gradient_sums, column_gradient};

}  // namespace
}  // namespace softamp::emu
