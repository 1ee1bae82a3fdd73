// The entries of NormKernels; included once by the file of each instruction set.
#pragma once

#include <type_traits>

#include "emu/math_lanes.h"
#include "emu/norms/norm_kernels.h"
#include "emu/reductions/reduction_body.h"

namespace softamp::emu {
namespace {

SOFTAMP_LANES F32 fused_lanes(F32 a, F32 b, F32 c) { return fma(FloatLanes(a), FloatLanes(b), FloatLanes(c)).v; }

/// What is added up, of the vector at `i`, whose column is `c`: t[0 .. kSums).
struct MomentTerms {
  static constexpr size_t kSums = 2;
  const float* x;
  SOFTAMP_LANES void get(size_t, size_t i, size_t, size_t, F32* t) const {
    t[0] = load<F32>(x + i);
    t[1] = t[0] * t[0];
  }
};
/// Numbers of columns, or (not kByColumn) one that all share.
template <bool kByColumn>
SOFTAMP_LANES F32 number_of(const float* numbers, size_t column) {
  return kByColumn ? load<F32>(numbers + column) : all_lanes(*numbers);
}
template <bool kByColumn>
struct DeviationTerms {
  static constexpr size_t kSums = 1;
  const float *x, *mean;
  SOFTAMP_LANES void get(size_t, size_t i, size_t c, size_t, F32* t) const {
    const F32 d = load<F32>(x + i) - number_of<kByColumn>(mean, c);
    t[0] = d * d;
  }
};
/// g and g h; kScaled: g = RN(dy gamma). kByColumn: mean and i belong to columns, else to rows.
template <bool kScaled, bool kByColumn>
struct GradientTerms {
  static constexpr size_t kSums = 2;
  GradientLanes in;
  const float *mean, *inverse, *gamma;
  SOFTAMP_LANES void get(size_t row, size_t i, size_t c, size_t, F32* t) const {
    const size_t at = kByColumn ? c : row;
    t[0] = load<F32>(in.dy + i);
    if constexpr (kScaled) t[0] = t[0] * load<F32>(gamma + c);
    t[1] = t[0] * ((load<F32>(in.x + i) - number_of<kByColumn>(mean + at, 0)) * number_of<kByColumn>(inverse + at, 0));
  }
};

void row_sums(const float* x, size_t n, const float* mean, float* sums) {
  if (mean)
    row_block<Adds>(DeviationTerms<false>{x, mean}, 0, 0, 0, n, sums);
  else
    row_block<Adds>(MomentTerms{x}, 0, 0, 0, n, sums);
}

/// Adds the terms of rows to the lanes of their columns; the first rows of a block are their lanes. Rows of one lane
/// come one after another, so that a sum stays in its register meanwhile.
template <class Terms>
SOFTAMP_LANES void add_rows(const Terms& terms, size_t rows, size_t width, const ColumnLanes& to) {
  constexpr size_t kSums = Terms::kSums;
  const size_t pitch = ColumnLanes::pitch(width), of_sum = to.lanes * pitch, lanes = to.lanes;
  for (size_t first = 0; first < lanes && first < rows; ++first) {
    float* const sums = to.sums + ((to.row + first) & (lanes - 1)) * pitch;
    const bool fresh = to.row + first < lanes;
    for (size_t c = 0; c < width; c += kWidth) {
      F32 sum[kSums], t[kSums];
      terms.get(first, first * width + c, c, kWidth, t);
      for (size_t s = 0; s < kSums; ++s) sum[s] = fresh ? t[s] : Adds::join(load<F32>(sums + s * of_sum + c), t[s]);
      for (size_t r = first + lanes; r < rows; r += lanes) {
        terms.get(r, r * width + c, c, kWidth, t);
        for (size_t s = 0; s < kSums; ++s) sum[s] = Adds::join(sum[s], t[s]);
      }
      for (size_t s = 0; s < kSums; ++s) store(sums + s * of_sum + c, sum[s]);
    }
  }
}

void column_sums(const float* x, size_t rows, size_t width, const float* mean, const ColumnLanes& to) {
  if (mean)
    add_rows(DeviationTerms<true>{x, mean}, rows, width, to);
  else
    add_rows(MomentTerms{x}, rows, width, to);
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

/// Stores value(i, c) for the vectors of rows: element i, column c. Watches those within the rows.
template <class Value>
SOFTAMP_LANES bool store_rows(size_t rows, size_t width, float* out, const Value& value) {
  Watch watch;
  const size_t whole = width / kWidth * kWidth;
  const F32 last = (F32)first_lanes(width - whole);
  for (size_t r = 0; r < rows; ++r) {
    const size_t i = r * width;
    for (size_t c = 0; c < whole; c += kWidth) {
      const F32 v = value(i + c, c);
      watch.see(v);
      store(out + i + c, v);
    }
    if (whole == width) continue;
    const F32 v = value(i + whole, whole);
    watch.see((F32)((U32)v & (U32)last));
    store(out + i + whole, v);
  }
  return watch.any_seen();
}

bool row_apply(const float* x, size_t n, float mean, float inverse, const float* gamma, const float* beta, float* out) {
  const F32 m = all_lanes(mean), i = all_lanes(inverse);
  return store_rows(
      1, n, out, [&](size_t e, size_t c) __attribute__((always_inline)) {
        return fused_lanes((load<F32>(x + e) - m) * i, load<F32>(gamma + c), load<F32>(beta + c));
      });
}

bool column_apply(const float* x, size_t rows, size_t width, const float* mean, const float* inverse,
                  const float* gamma, const float* beta, float* out) {
  return store_rows(
      rows, width, out, [&](size_t e, size_t c) __attribute__((always_inline)) {
        const F32 h = (load<F32>(x + e) - load<F32>(mean + c)) * load<F32>(inverse + c);
        return fused_lanes(h, load<F32>(gamma + c), load<F32>(beta + c));
      });
}

void row_gradient_sums(const GradientLanes& in, size_t n, float mean, float inverse, const float* gamma, float* sums) {
  row_block<Adds>(GradientTerms<true, false>{in, &mean, &inverse, gamma}, 0, 0, 0, n, sums);
}

bool row_gradient(const GradientLanes& in, size_t n, float mean, float inverse, const float* gamma, float a, float b,
                  float* out) {
  const GradientLanes from = in;
  const F32 m = all_lanes(mean), i = all_lanes(inverse), first = all_lanes(a), second = all_lanes(b);
  return store_rows(
      1, n, out, [&](size_t e, size_t c) __attribute__((always_inline)) {
        const F32 g = load<F32>(from.dy + e) * load<F32>(gamma + c), h = (load<F32>(from.x + e) - m) * i;
        return i * fused_lanes(-h, second, g - first);
      });
}

void column_gradient_sums(const GradientLanes& in, size_t rows, size_t width, bool by_row, const float* mean,
                          const float* inverse, const float* gamma, const ColumnLanes& to) {
  if (by_row)
    add_rows(GradientTerms<false, false>{in, mean, inverse, nullptr}, rows, width, to);
  else if (gamma)
    add_rows(GradientTerms<true, true>{in, mean, inverse, gamma}, rows, width, to);
  else
    add_rows(GradientTerms<false, true>{in, mean, inverse, nullptr}, rows, width, to);
}

bool column_gradient(const GradientLanes& in, size_t rows, size_t width, const float* mean, const float* inverse,
                     const float* factor, const float* gamma, const float* a, const float* b, float* out) {
  const GradientLanes from = in;
  if (!a)
    return store_rows(
        rows, width, out, [&](size_t e, size_t c) __attribute__((always_inline)) {
          return load<F32>(factor + c) * load<F32>(from.dy + e);
        });
  const auto value = [&](auto scaled) __attribute__((always_inline)) {
    return store_rows(
        rows, width, out, [&](size_t e, size_t c) __attribute__((always_inline)) {
          F32 g = load<F32>(from.dy + e);
          if constexpr (decltype(scaled)::value) g = g * load<F32>(gamma + c);
          const F32 h = (load<F32>(from.x + e) - load<F32>(mean + c)) * load<F32>(inverse + c);
          return load<F32>(factor + c) * fused_lanes(-h, load<F32>(b + c), g - load<F32>(a + c));
        });
  };
  return gamma ? value(std::true_type{}) : value(std::false_type{});
}

constexpr NormKernels kNormKernels = {row_sums,     column_sums,          column_join,
                                      row_apply,    column_apply,         row_gradient_sums,
                                      row_gradient, column_gradient_sums, column_gradient};

}  // namespace
}  // namespace softamp::emu
