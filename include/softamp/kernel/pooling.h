// The body of pooling and its gradients (N126 to N128). Tensors are NHWC, row-major; T is fp16, bf16 or fp32, or
// binary64, whose sums are binary64 (N441).
// Windows are cut to the input: padding never counts.
//
//   maximum           of the window's elements, (kh, kw) ascending: the first NaN, else the first of the greatest, -0
//                     below +0; packed once as fp::convert to its own format would (an infinity becomes what the preset
//                     says). Every NaN of the window raises what the preset says.
//   maximum gradient  the windows that hold an element, (oh, ow) ascending, each give their gradient to the one element
//                     that is its maximum in the sense above; per element an fp32 sum from +0, then one rounding.
//   average           fp32 sum of the window's elements, (kh, kw) ascending, from the first on; divided in fp32 by
//   their
//                     number; then one rounding.
//   average gradient  per element, over the windows that hold it, (oh, ow) ascending: fp32 sum from +0 of gradient /
//                     (number of the window's elements), the quotient rounded to fp32; then one rounding.
//
// fp32 sums and quotients: to nearest even, underflow gradual, operands as widen_operand has them (the preset flushes
// on entry, and in the last rounding). The rounding is fp::convert's from fp32, site 0, index = output. Flags: invalid
// and overflow, of every step.
#pragma once

#include "softamp/kernel/convolutions.h"
#include "softamp/kernel/reductions.h"
#include "softamp/numerics/compare.h"

namespace softamp::kernel {

struct PoolingGeometry {
  int64_t batch = 1;
  WindowAxis h, w;
  int64_t channels = 1;

  SOFTAMP_INLINE uint64_t input_at(int64_t n, int64_t y, int64_t x) const {
    return static_cast<uint64_t>(((n * h.input + y) * w.input + x) * channels);
  }
  SOFTAMP_INLINE uint64_t output_at(int64_t n, int64_t y, int64_t x) const {
    return static_cast<uint64_t>(((n * h.output + y) * w.output + x) * channels);
  }
};

struct Range {
  int64_t begin, end;
  SOFTAMP_INLINE int64_t size() const { return end - begin; }
};

/// The input places of window o.
SOFTAMP_INLINE Range window(const WindowAxis& a, int64_t o) {
  const int64_t first = o * a.stride - a.pad, last = first + a.kernel;
  return {first > 0 ? first : 0, last < a.input ? last : a.input};
}

/// The windows that hold input place i.
SOFTAMP_INLINE Range windows_of(const WindowAxis& a, int64_t i) {
  const int64_t beyond = i + a.pad - a.kernel;  // windows must start after this place
  const int64_t first = beyond < 0 ? 0 : beyond / a.stride + 1, last = (i + a.pad) / a.stride + 1;
  return {first, last < a.output ? last : a.output};
}

/// The fp32 code of a small positive integer (exact below 2^24, else to nearest even).
SOFTAMP_INLINE uint32_t fp32_of(int64_t n) {
  return static_cast<uint32_t>(
      round_and_pack(FloatFormat::fp32(), {false, 0, static_cast<uint64_t>(n)}, RoundingPolicy{}).code);
}

/// An fp32 code and the flags that making it raised.
struct Sum {
  uint32_t code = 0;
  uint8_t flags = 0;

  /// An element, as it enters a sum.
  static SOFTAMP_INLINE Sum of(const FloatFormat& f, uint64_t element, const Semantics& s) {
    return {widen_operand(f, element, s), 0};
  }
  /// `s`: pooling_arithmetic's.
  SOFTAMP_INLINE void add(const Sum& x, const Semantics& s) {
    flags = static_cast<uint8_t>(flags | x.flags);
    take(fp::add(FloatFormat::fp32(), code, x.code, s));
  }
  SOFTAMP_INLINE void divide(int64_t n, const Semantics& s) { take(fp::div(FloatFormat::fp32(), code, fp32_of(n), s)); }

 private:
  SOFTAMP_INLINE void take(Rounded r) {
    code = static_cast<uint32_t>(r.code);
    flags = static_cast<uint8_t>(flags | (r.flags & (kInvalid | kOverflow)));
  }
};

/// The same of binary64 elements.
// implements: N441
struct DoubleSum {
  double value = 0;
  Steps steps;

  static SOFTAMP_INLINE DoubleSum of(const FloatFormat&, uint64_t element, const Semantics& s) {
    DoubleSum sum;
    sum.value = sum.steps.enter_double_code(element, s);
    return sum;
  }
  SOFTAMP_INLINE void add(const DoubleSum& x, const Semantics&) {
    steps.flags = static_cast<uint8_t>(steps.flags | x.steps.flags);
    value = steps.add(value, x.value);
  }
  SOFTAMP_INLINE void divide(int64_t n, const Semantics&) { value = steps.div(value, static_cast<double>(n)); }
};

/// The preset, with fp32 to nearest even and nothing flushed.
SOFTAMP_INLINE Semantics pooling_arithmetic(Semantics s) {
  s.wide.mode = RoundingMode::kNearestEven;
  s.wide.subnormals = Subnormals::kKeep;
  s.wide_operands_flushed = false;
  return s;
}

/// The last step of all operations except the maximum: output `index` from its sum.
// implements: N128
SOFTAMP_GENERAL Rounded pooling_result(const FloatFormat& f, const Environment& env, const DoubleSum& sum, uint64_t) {
  const Rounded r = finish(f, sum.value, sum.steps.flags, env.semantics, RoundingPolicy::kStill);
  return {r.code, static_cast<uint8_t>(r.flags & (kInvalid | kOverflow))};
}
SOFTAMP_GENERAL Rounded pooling_result(const FloatFormat& f, const Environment& env, const Sum& sum, uint64_t index) {
  const Semantics& s = env.semantics;
  const Rounded r = fp::convert(FloatFormat::fp32(), f, sum.code, s, env.draw(s.rounding(f), 0, index));
  return {r.code, static_cast<uint8_t>((sum.flags | r.flags) & (kInvalid | kOverflow))};
}

/// Where a window's maximum lies, and the flags that its NaNs raise.
struct Maximum {
  uint64_t index;
  uint8_t flags;
};

// implements: N126
SOFTAMP_GENERAL Maximum window_maximum(const PoolingGeometry& g, const FloatFormat& f, const Semantics& s,
                                       const void* input, int64_t n, int64_t oh, int64_t ow, int64_t c) {
  const Range ys = window(g.h, oh), xs = window(g.w, ow);
  Maximum best{0, 0};
  int64_t best_key = 0;
  bool best_negative = false, best_nan = false, any = false;
  for (int64_t y = ys.begin; y < ys.end; ++y)
    for (int64_t x = xs.begin; x < xs.end; ++x) {
      const uint64_t at = g.input_at(n, y, x) + static_cast<uint64_t>(c), code = load_code(f, input, at);
      const softamp::detail::Operand v = softamp::detail::unpack(f, code, s);
      if (v.nan()) best.flags = static_cast<uint8_t>(best.flags | softamp::detail::nan_flags(f, code, s));
      const int64_t key = fp::detail::order_key(f, code, s);
      const bool greater = key != best_key ? key > best_key : best_negative && !v.negative;
      if (any && (best_nan || (!v.nan() && !greater))) continue;
      any = true;
      best.index = at;
      best_key = key;
      best_negative = v.negative;
      best_nan = v.nan();
    }
  return best;
}

// implements: N126
SOFTAMP_GENERAL Rounded max_pool(const PoolingGeometry& g, const FloatFormat& f, const Semantics& s, const void* input,
                                 int64_t n, int64_t oh, int64_t ow, int64_t c) {
  const Maximum m = window_maximum(g, f, s, input, n, oh, ow, c);
  const Rounded r = fp::convert(f, f, load_code(f, input, m.index), f.storage_bits() == 64 ? detail::unflushed(s) : s,
                                RoundingPolicy::kStill);
  return {r.code, static_cast<uint8_t>(((m.flags & s.rounding(f).flags) | r.flags) & (kInvalid | kOverflow))};
}

// implements: N126
template <class Sum = kernel::Sum>
SOFTAMP_GENERAL Sum max_pool_gradient(const PoolingGeometry& g, const FloatFormat& f, const Semantics& s,
                                      const void* input, const void* gradient, int64_t n, int64_t ih, int64_t iw,
                                      int64_t c) {
  const Semantics arithmetic = pooling_arithmetic(s);
  const Range ohs = windows_of(g.h, ih), ows = windows_of(g.w, iw);
  const uint64_t here = g.input_at(n, ih, iw) + static_cast<uint64_t>(c);
  Sum sum;
  for (int64_t oh = ohs.begin; oh < ohs.end; ++oh)
    for (int64_t ow = ows.begin; ow < ows.end; ++ow) {
      if (window_maximum(g, f, s, input, n, oh, ow, c).index != here) continue;
      const uint64_t at = g.output_at(n, oh, ow) + static_cast<uint64_t>(c);
      sum.add(Sum::of(f, load_code(f, gradient, at), s), arithmetic);
    }
  return sum;
}

// implements: N127
template <class Sum = kernel::Sum>
SOFTAMP_GENERAL Sum average_pool(const PoolingGeometry& g, const FloatFormat& f, const Semantics& s, const void* input,
                                 int64_t n, int64_t oh, int64_t ow, int64_t c) {
  const Semantics arithmetic = pooling_arithmetic(s);
  const Range ys = window(g.h, oh), xs = window(g.w, ow);
  Sum sum;
  bool any = false;
  for (int64_t y = ys.begin; y < ys.end; ++y)
    for (int64_t x = xs.begin; x < xs.end; ++x) {
      const uint64_t at = g.input_at(n, y, x) + static_cast<uint64_t>(c);
      const Sum v = Sum::of(f, load_code(f, input, at), s);
      if (any)
        sum.add(v, arithmetic);
      else
        sum = v;
      any = true;
    }
  sum.divide(ys.size() * xs.size(), arithmetic);
  return sum;
}

// implements: N127
template <class Sum = kernel::Sum>
SOFTAMP_GENERAL Sum average_pool_gradient(const PoolingGeometry& g, const FloatFormat& f, const Semantics& s,
                                          const void* gradient, int64_t n, int64_t ih, int64_t iw, int64_t c) {
  const Semantics arithmetic = pooling_arithmetic(s);
  const Range ohs = windows_of(g.h, ih), ows = windows_of(g.w, iw);
  Sum sum;
  for (int64_t oh = ohs.begin; oh < ohs.end; ++oh)
    for (int64_t ow = ows.begin; ow < ows.end; ++ow) {
      const uint64_t at = g.output_at(n, oh, ow) + static_cast<uint64_t>(c);
      const int64_t count = window(g.h, oh).size() * window(g.w, ow).size();
      Sum part = Sum::of(f, load_code(f, gradient, at), s);
      part.divide(count, arithmetic);
      sum.add(part, arithmetic);
    }
  return sum;
}

}  // namespace softamp::kernel
