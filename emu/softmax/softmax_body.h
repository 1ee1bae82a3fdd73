// The entries of SoftmaxKernels; included once by the file of each instruction set.
#pragma once

#include "emu/math_lanes.h"
#include "emu/reductions/reduction_body.h"
#include "emu/softmax/softmax_kernels.h"
#include "softamp/numerics/math_exp.h"

namespace softamp::emu {
namespace {

SOFTAMP_LANES F32 exp_lanes(F32 x) { return math::exp(FloatLanes(x)).v; }
/// e^x, mostly of x in [-87, 0]: there neither it nor its power of two leaves the normal range, and no general path is
/// needed, which has the same bits.
SOFTAMP_LANES F32 exp_of_shifted(F32 x) {
#if !defined(__AVX512F__)
  if (!any(~(U32)((I32)(x >= -87.0f) & (I32)(x <= 0.0f)))) [[likely]]
    return math::detail::exp_in_range(FloatLanes(x)).v;
#endif
  return exp_lanes(x);
}

struct KeysOf {
  static constexpr size_t kSums = 1;
  const float* x;
  SOFTAMP_LANES void get(size_t, size_t offset, size_t, size_t, F32* t) const {
    t[0] = keys_of(load<F32>(x + offset), false);
  }
};

float greatest_of(const float* x, size_t n) {
  float best = 0;
  row_block<Greater>(KeysOf{x}, 0, 0, 0, n, &best);
  const int32_t key = __builtin_bit_cast(int32_t, best);
  if (key == 0x7FFFFFFF) return __builtin_nanf("");
  return __builtin_bit_cast(float, key ^ (key >> 31 & 0x7FFFFFFF));
}

/// exp(x - greatest), watched and, where `e` is not null, kept.
struct ExpTerms {
  static constexpr size_t kSums = 1;
  const float* x;
  F32 greatest;
  float* e;
  Watch* watch;
  SOFTAMP_LANES void get(size_t, size_t offset, size_t column, size_t n, F32* t) const {
    F32 shifted = load<F32>(x + offset) - greatest;
    if (n != kWidth) [[unlikely]]
      shifted = (F32)((U32)shifted & first_lanes(n));
    watch->see(shifted);
    t[0] = exp_of_shifted(shifted);
    if (e) store(e + column, t[0]);
  }
};

bool exp_sum(const float* x, size_t n, float greatest, float* e, float* sum) {
  Watch watch;
  row_block<Adds>(ExpTerms{x, all_lanes(greatest), e, &watch}, 0, 0, 0, n, sum);
  return watch.any_seen();
}

/// Calls put(i, n) for vectors that cover `count` elements: whole ones, then the rest.
template <class Put>
SOFTAMP_LANES void for_each_vector(size_t count, const Put& put) {
  size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) put(i, kWidth);
  if (i < count) put(i, count - i);
}
/// Stores a whole vector, of which n lanes are valid.
SOFTAMP_LANES void store_seen(float* out, F32 x, size_t n, Watch& watch) {
  if (n != kWidth) [[unlikely]]
    x = (F32)((U32)x & first_lanes(n));
  watch.see(x);
  store(out, x);
}

void exponentials(const float* x, size_t n, float greatest, float* e) {
  const F32 g = all_lanes(greatest);
  for_each_vector(
      n, [&](size_t i, size_t) __attribute__((always_inline)) { store(e + i, exp_of_shifted(load<F32>(x + i) - g)); });
}

/// Quotients by one divisor, correctly rounded: by Markstein's theorem (IBM J. Res. Dev. 34, 1990), where y = RN(1 /
/// d), q faithful and r = a - q d exact, RN(q + r y) is RN(a / d). The first such step makes RN(a y) faithful. Exact
/// remainders need a and q well inside the normal range; otherwise, and without fma, the hardware divides.
class Quotients {
 public:
  SOFTAMP_LANES explicit Quotients(float divisor)
      : by_steps_(divisor > 0x1p-20f && divisor < 0x1p+40f), d_(all_lanes(divisor)), y_(all_lanes(1.0f / divisor)) {}
  SOFTAMP_LANES F32 of(F32 a) const {
#if defined(__FMA__)
    if (by_steps_ && ordinary(a)) [[likely]] {
      F32 q = a * y_;
      q = fused_lanes(fused_lanes(-q, d_, a), y_, q);
      return fused_lanes(fused_lanes(-q, d_, a), y_, q);
    }
#endif
    return a / d_;
  }

 private:
  /// 2^-60 <= a < 2^60 or a = +0: the quotient is normal, and so is the unit of its remainder.
  static SOFTAMP_LANES bool ordinary(F32 a) {
#if defined(__AVX512F__)
    const __m512i bits = (__m512i)a, from = _mm512_sub_epi32(bits, _mm512_set1_epi32(0x21800000));
    return (_mm512_cmplt_epu32_mask(from, _mm512_set1_epi32(0x3C000000)) | _mm512_testn_epi32_mask(bits, bits)) ==
           0xFFFF;
#else
    return !any(~((U32)((U32)a - 0x21800000u < 0x3C000000u) | (U32)((U32)a == 0)));
#endif
  }
  static SOFTAMP_LANES F32 fused_lanes(F32 a, F32 b, F32 c) {
    return fma(FloatLanes(a), FloatLanes(b), FloatLanes(c)).v;
  }
  [[maybe_unused]] bool by_steps_;
  F32 d_, y_;
};

bool divide(float* values, size_t n, float divisor) {
  Watch watch;
  const Quotients quotients(divisor);
  for_each_vector(
      n, [&](size_t i, size_t w)
             __attribute__((always_inline)) { store_seen(values + i, quotients.of(load<F32>(values + i)), w, watch); });
  return watch.any_seen();
}

bool logarithms(const float* x, size_t n, float greatest, float log_sum, float* out) {
  Watch watch;
  const F32 g = all_lanes(greatest), l = all_lanes(log_sum);
  for_each_vector(
      n, [&](size_t i, size_t w)
             __attribute__((always_inline)) { store_seen(out + i, (load<F32>(x + i) - g) - l, w, watch); });
  return watch.any_seen();
}

struct LossTerms {
  static constexpr size_t kSums = 1;
  const float *x, *labels;
  F32 greatest, log_sum;
  SOFTAMP_LANES void get(size_t, size_t i, size_t, size_t, F32* t) const {
    t[0] = load<F32>(labels + i) * (log_sum - (load<F32>(x + i) - greatest));
  }
};

void loss_of(const float* x, const float* labels, size_t n, float greatest, float log_sum, float* loss) {
  row_block<Adds>(LossTerms{x, labels, all_lanes(greatest), all_lanes(log_sum)}, 0, 0, 0, n, loss);
}

bool less_labels(const float* labels, float* values, size_t n, float divisor) {
  Watch watch;
  const Quotients quotients(divisor);
  for_each_vector(
      n, [&](size_t i, size_t w) __attribute__((always_inline)) {
        store_seen(values + i, quotients.of(load<F32>(values + i)) - load<F32>(labels + i), w, watch);
      });
  return watch.any_seen();
}

struct GradientSumTerms {
  static constexpr size_t kSums = 1;
  const float *y, *g;
  bool logarithmic;
  SOFTAMP_LANES void get(size_t, size_t i, size_t, size_t, F32* t) const {
    t[0] = load<F32>(g + i);
    if (!logarithmic) t[0] = t[0] * load<F32>(y + i);
  }
};

void gradient_sum(const float* y, const float* g, size_t n, bool logarithmic, float* total) {
  row_block<Adds>(GradientSumTerms{y, g, logarithmic}, 0, 0, 0, n, total);
}

bool gradient(const float* y, const float* g, size_t n, bool logarithmic, float total, float* out) {
  Watch watch;
  const F32 d = all_lanes(total);
  if (logarithmic)
    for_each_vector(
        n, [&](size_t i, size_t w) __attribute__((always_inline)) {
          store_seen(out + i, load<F32>(g + i) - exp_lanes(load<F32>(y + i)) * d, w, watch);
        });
  else
    for_each_vector(
        n, [&](size_t i, size_t w) __attribute__((always_inline)) {
          store_seen(out + i, (load<F32>(g + i) - d) * load<F32>(y + i), w, watch);
        });
  return watch.any_seen();
}

constexpr SoftmaxKernels kSoftmaxKernels = {greatest_of, exp_sum,     exponentials, divide,  logarithms,
                                            loss_of,     less_labels, gradient_sum, gradient};

}  // namespace
}  // namespace softamp::emu
