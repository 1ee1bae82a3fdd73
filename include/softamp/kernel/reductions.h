// Reductions: the order of N140, extrema by N143, and the fp32 steps that norms and softmax also use.
//
// An element enters as `fp::convert(dtype, fp32)` of the preset gives it: under `ipu` a float32 subnormal enters as a
// zero, one of 16 bits exactly; float64 and int32 stay what they are. Steps inside are fp32 (binary64 for float64) to
// nearest even with gradual underflow, whatever the preset. A result is rounded once, from fp32 to its dtype; a NaN is
// written as the policy's pattern, never with a payload.
//
// Flags of an output: what entering its elements raised (a NaN: invalid where the preset says so); invalid, overflow
// and division by zero of the steps that lead to it (never inexact or underflow, which an fp32 chain raises always);
// and what its final rounding raises.
//
// Order of a sum of n elements, counted in row-major order of the reduced axes: blocks of 1024 consecutive elements;
// in a block, lane l of 32 folds elements l, l + 32, ... in ascending order, starting from its first; lanes combine by
// strides 16, 8, 4, 2, 1 (s[l] += s[l + stride]); blocks combine pairwise, 2i with 2i + 1, an odd one passing on,
// level by level. Missing elements are skipped, never replaced by a zero. An empty sum is +0.
//
// Address of a `+` that rounds stochastically (accumulator = half): p is the index of the first element in its
// right-hand operand (1 <= p < n <= 2^29); site 0, index product_index(p, output). The final rounding: site 1 of Sum
// and Mean, site 0 of others, index = output.
#pragma once

#include "softamp/kernel/environment.h"
#include "softamp/numerics/arithmetic.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/math_lane.h"

namespace softamp::kernel {

/// Elements of a tensor as codes, 2, 4 or 8 bytes each.
struct Elements {
  const void* data;
  FloatFormat format;

  SOFTAMP_INLINE uint64_t code(uint64_t i) const {
    switch (format.storage_bits()) {
      case 16: return static_cast<const uint16_t*>(data)[i];
      case 32: return static_cast<const uint32_t*>(data)[i];
      default: return static_cast<const uint64_t*>(data)[i];
    }
  }
};
SOFTAMP_INLINE void put_code(void* out, const FloatFormat& format, uint64_t i, uint64_t code) {
  switch (format.storage_bits()) {
    case 16: static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(code); break;
    case 32: static_cast<uint32_t*>(out)[i] = static_cast<uint32_t>(code); break;
    default: static_cast<uint64_t*>(out)[i] = code;
  }
}

SOFTAMP_INLINE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
SOFTAMP_INLINE uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }
SOFTAMP_INLINE bool is_nan(float x) { return (bits_of(x) & 0x7FFFFFFFu) > 0x7F800000u; }
SOFTAMP_INLINE bool is_nan(double x) { return (bits_of(x) & ~(uint64_t{1} << 63)) > uint64_t{0x7FF} << 52; }
SOFTAMP_INLINE bool is_finite(float x) { return (bits_of(x) & 0x7F800000u) != 0x7F800000u; }
SOFTAMP_INLINE bool is_finite(double x) { return (bits_of(x) >> 52 & 0x7FF) != 0x7FF; }

namespace detail {
// Calls by argument-dependent look-up, from outside a class with functions of these names.
SOFTAMP_MATH float fused(math::Float a, math::Float b, math::Float c) { return fma(a, b, c).value; }
SOFTAMP_MATH float root(float a) {
  const math::Float lane = a;
  return sqrt(lane).value;
}
SOFTAMP_MATH double root(double a) {
#if defined(__CUDA_ARCH__)
  return __dsqrt_rn(a);
#else
  return __builtin_sqrt(a);
#endif
}

/// Only fp32 operands and results are flushed, not fp32 values inside or other formats (N59, N198).
SOFTAMP_INLINE Semantics unflushed(Semantics s) {
  s.wide_operands_flushed = false;
  s.wide.subnormals = Subnormals::kKeep;
  return s;
}
}  // namespace detail

/// fp32 (binary64) arithmetic to nearest even, and the flags of its steps. NaN operands raise nothing here: they did
/// when they entered.
// implements: N91
class Steps {
 public:
  uint8_t flags = 0;

  template <class F>
  SOFTAMP_INLINE F add(F a, F b) {
    const F r = a + b;
    if (!is_finite(r)) see(r, is_nan(a) || is_nan(b), is_finite(a) && is_finite(b));
    return r;
  }
  template <class F>
  SOFTAMP_INLINE F sub(F a, F b) {
    return add(a, -b);
  }
  template <class F>
  SOFTAMP_INLINE F mul(F a, F b) {
    const F r = a * b;
    if (!is_finite(r)) see(r, is_nan(a) || is_nan(b), is_finite(a) && is_finite(b));
    return r;
  }
  template <class F>
  SOFTAMP_INLINE F div(F a, F b) {
    const F r = a / b;
    if (!is_finite(r)) {
      if (b == 0 && a != 0 && is_finite(a))
        flags |= kDivideByZero;
      else
        see(r, is_nan(a) || is_nan(b), is_finite(a) && is_finite(b));
    }
    return r;
  }
  SOFTAMP_MATH float fma(float a, float b, float c) {
    const float r = detail::fused(a, b, c);
    if (!is_finite(r)) see(r, is_nan(a) || is_nan(b) || is_nan(c), is_finite(a) && is_finite(b) && is_finite(c));
    return r;
  }
  /// binary64 has no fused steps (N441): a product and a sum.
  SOFTAMP_MATH double fma(double a, double b, double c) { return add(mul(a, b), c); }
  template <class F>
  SOFTAMP_MATH F sqrt(F a) {
    const F r = detail::root(a);
    if (is_nan(r) && !is_nan(a)) flags |= kInvalid;
    return r;
  }

  /// Reads an element.
  // implements: N91, N144
  SOFTAMP_INLINE float enter(const Elements& x, uint64_t i, const Semantics& s) {
    return enter_code(x.format, x.code(i), s);
  }
  SOFTAMP_INLINE float enter_code(const FloatFormat& format, uint64_t code, const Semantics& s) {
    const Rounded r = fp::convert(format, FloatFormat::fp32(), code,
                                  format == FloatFormat::fp32() ? s : detail::unflushed(s), RoundingPolicy::kStill);
    flags = static_cast<uint8_t>(flags | r.flags);
    return __builtin_bit_cast(float, static_cast<uint32_t>(r.code));
  }
  SOFTAMP_INLINE double enter_double(const Elements& x, uint64_t i, const Semantics& s) {
    return enter_double_code(x.code(i), s);
  }
  /// As fp32, or (F = double) as binary64 elements.
  // implements: N441
  template <class F>
  SOFTAMP_INLINE F enter_as(const Elements& x, uint64_t i, const Semantics& s) {
    if constexpr (sizeof(F) == 8)
      return enter_double(x, i, s);
    else
      return enter(x, i, s);
  }
  SOFTAMP_INLINE double enter_double_code(uint64_t code, const Semantics& s) {
    if (FloatFormat::binary64().is_nan(code))
      flags = static_cast<uint8_t>(flags | softamp::detail::nan_flags(FloatFormat::binary64(), code, s));
    return __builtin_bit_cast(double, code);
  }

 private:
  // implements: N93, N144
  template <class F>
  SOFTAMP_INLINE void see(F result, bool nan_operand, bool finite_operands) {
    if (is_nan(result))
      flags = static_cast<uint8_t>(flags | (nan_operand ? 0 : kInvalid));
    else if (finite_operands)
      flags |= kOverflow;
  }
};

/// The format of steps in F: fp32 or binary64.
// implements: N441
template <class F>
SOFTAMP_INLINE FloatFormat format_of_steps() {
  return sizeof(F) == 8 ? FloatFormat::binary64() : FloatFormat::fp32();
}

/// The final rounding of an fp32 (binary64) result to `f`, with the flags of the steps before it.
// implements: N91
template <class F>
SOFTAMP_INLINE Rounded finish(const FloatFormat& f, F value, uint8_t step_flags, const Semantics& s, uint32_t random) {
  constexpr FloatFormat from = format_of_steps<F>();
  const RoundingPolicy& p = s.rounding(f);
  const uint8_t before = static_cast<uint8_t>(step_flags & s.wide.flags);
  if (is_nan(value)) {
    const uint8_t flags = s.quiet_nan_is_invalid ? kInvalid & p.flags : 0;
    return {nan_code(f, p.nan), static_cast<uint8_t>(before | flags)};
  }
  if constexpr (sizeof(F) == 8)  // exact
    if (f.storage_bits() == 64 && is_finite(value) && value != 0) return {bits_of(value), before};
  const Rounded r = fp::convert(from, f, bits_of(value), f == FloatFormat::fp32() ? s : detail::unflushed(s), random);
  return {r.code, static_cast<uint8_t>(r.flags | before)};
}

/// The sum of term(0) .. term(n - 1) in the order above. add(left, right, p) is the `+` of address p.
// implements: N140, N385
template <class Value, class Term, class Add>
SOFTAMP_HD inline Value sum_in_order(uint64_t n, Value zero, const Term& term, const Add& add) {
  constexpr uint64_t kBlock = 1024, kLanes = 32;
  if (n == 0) return zero;
  Value level[32];  // level l holds 2^l blocks, at most 2^31 of them
  uint64_t blocks = 0;
  for (uint64_t first = 0; first < n; first += kBlock, ++blocks) {
    const uint64_t count = n - first < kBlock ? n - first : kBlock;
    const uint64_t lanes = count < kLanes ? count : kLanes;
    Value lane[kLanes];
    for (uint64_t l = 0; l < lanes; ++l) lane[l] = term(first + l);
    for (uint64_t i = lanes; i < count; ++i) lane[i % kLanes] = add(lane[i % kLanes], term(first + i), first + i);
    for (uint64_t stride = kLanes / 2; stride > 0; stride /= 2)
      for (uint64_t l = 0; l < stride && l + stride < lanes; ++l)
        lane[l] = add(lane[l], lane[l + stride], first + l + stride);
    Value sum = lane[0];
    int l = 0;
    for (; blocks >> l & 1; ++l) sum = add(level[l], sum, (blocks >> l << l) * kBlock);
    level[l] = sum;
  }
  int l = 0;
  while (!(blocks >> l & 1)) ++l;
  Value sum = level[l];
  for (++l; blocks >> l != 0; ++l)
    if (blocks >> l & 1) sum = add(level[l], sum, (blocks >> l << l) * kBlock);
  return sum;
}

/// The same in fp32 (F = float) or binary64, recording the flags of its steps.
// implements: N140
template <class F, class Term>
SOFTAMP_HD inline F tree_sum(Steps& steps, uint64_t n, const Term& term) {
  return sum_in_order<F>(n, F{0}, term, [&](F a, F b, uint64_t) { return steps.add(a, b); });
}

/// Codes of fp16 summed with one rounding by the narrow policy at each `+`: site 0, product_index(p, output).
// implements: N141
template <class Term>
SOFTAMP_HD inline uint64_t half_sum(Steps& steps, uint64_t n, const Term& term, const Environment& e, uint32_t site,
                                    uint64_t output) {
  const RoundingPolicy& p = e.semantics.rounding(FloatFormat::fp16());
  return sum_in_order<uint64_t>(n, 0, term, [&](uint64_t a, uint64_t b, uint64_t place) {
    const Rounded r = fp::add(FloatFormat::fp16(), a, b, e.semantics, e.draw(p, site, product_index(place, output)));
    steps.flags = static_cast<uint8_t>(steps.flags | r.flags);
    return r.code;
  });
}

/// n as fp32 arithmetic takes it: rounded to nearest even.
SOFTAMP_INLINE float count_of(uint64_t n) { return static_cast<float>(static_cast<int64_t>(n)); }
template <class F>
SOFTAMP_INLINE F count_as(uint64_t n) {
  return static_cast<F>(static_cast<int64_t>(n));
}

// Extrema (N143): an integer orders all values, -0 below +0, NaN above everything; for a minimum the order is turned
// round (NaN stays on top). Ties go to the lowest index, so the first NaN wins.

// implements: N143
SOFTAMP_INLINE int32_t order_key(float x, bool least) {
  const int32_t bits = __builtin_bit_cast(int32_t, x);
  const int32_t key = bits ^ (bits >> 31 & 0x7FFFFFFF);
  return is_nan(x) ? 0x7FFFFFFF : least ? ~key : key;
}
SOFTAMP_INLINE int64_t order_key(double x, bool least) {
  const int64_t bits = __builtin_bit_cast(int64_t, x);
  const int64_t key = bits ^ (bits >> 63 & 0x7FFFFFFFFFFFFFFF);
  return is_nan(x) ? 0x7FFFFFFFFFFFFFFF : least ? ~key : key;
}

/// Place and key of the greatest key; n >= 1.
template <class Key>
struct Extremum {
  Key key;
  uint64_t index;
};
// implements: N143
template <class Key, class KeyAt>
SOFTAMP_HD inline Extremum<Key> extremum(uint64_t n, const KeyAt& key_at) {
  Extremum<Key> best{key_at(0), 0};
  for (uint64_t i = 1; i < n; ++i) {
    const Key key = key_at(i);
    if (key > best.key) best = {key, i};
  }
  return best;
}

/// Which elements of a tensor make which output: strides, in elements, of the axes that stay and of those that go, each
/// outermost first.
struct ReduceShape {
  static constexpr int kMaxRank = 8;
  int kept_rank = 0, reduced_rank = 0;
  int64_t kept_extent[kMaxRank]{}, kept_stride[kMaxRank]{};
  int64_t reduced_extent[kMaxRank]{}, reduced_stride[kMaxRank]{};
  uint64_t outputs = 1, count = 1;  ///< count: elements to an output

  SOFTAMP_INLINE int64_t output_offset(uint64_t output) const {
    return offset(output, kept_rank, kept_extent, kept_stride);
  }
  SOFTAMP_INLINE int64_t element_offset(uint64_t k) const {
    return offset(k, reduced_rank, reduced_extent, reduced_stride);
  }

 private:
  static SOFTAMP_INLINE int64_t offset(uint64_t index, int rank, const int64_t* extent, const int64_t* stride) {
    int64_t sum = 0;
    for (int a = rank - 1; a >= 0; --a) {
      const uint64_t e = static_cast<uint64_t>(extent[a]);
      sum += static_cast<int64_t>(index % e) * stride[a];
      index /= e;
    }
    return sum;
  }
};

enum class Reduction : uint8_t {
  kSum,
  kMean,      ///< RN(sum / RN(n)) in fp32, then the final rounding; of nothing: 0/0.
  kL2Loss,    ///< sum of RN(x x), halved (exactly, barring underflow, which rounds), then the final rounding.
  kBatchSum,  ///< BiasAddGrad, by N142: partials of 1024 elements, each an ascending chain from +0, folded ascending.
  kMax,
  kMin,
};

namespace detail {

// implements: N142
template <class F, class Term>
SOFTAMP_HD inline F batch_sum(Steps& steps, uint64_t n, const Term& term) {
  F sum{0};
  for (uint64_t first = 0; first < n; first += 1024) {
    F partial{0};
    for (uint64_t i = first; i < n && i < first + 1024; ++i) partial = steps.add(partial, term(i));
    sum = first == 0 ? partial : steps.add(sum, partial);
  }
  return sum;
}

template <class F, class Term>
SOFTAMP_HD inline F reduced(Reduction what, Steps& steps, uint64_t n, const Term& term) {
  switch (what) {
    case Reduction::kSum: return tree_sum<F>(steps, n, term);
    case Reduction::kMean: return steps.div(tree_sum<F>(steps, n, term), count_as<F>(n));
    case Reduction::kL2Loss:
      return F{0.5f} * tree_sum<F>(steps, n, [&](uint64_t i) {
               const F x = term(i);
               return steps.mul(x, x);
             });
    case Reduction::kBatchSum: return batch_sum<F>(steps, n, term);
    default: break;
  }
  const bool least = what == Reduction::kMin;
  using Key = decltype(order_key(F{}, false));
  return term(extremum<Key>(n, [&](uint64_t i) { return order_key(term(i), least); }).index);
}

}  // namespace detail

/// The fp32 (binary64) value of one output before its final rounding; `term(k)` enters element k.
template <class F, class Term>
SOFTAMP_HD inline F reduce_value(Reduction what, Steps& steps, uint64_t n, const Term& term) {
  return detail::reduced<F>(what, steps, n, term);
}

/// Output `output` of a reduction of floating elements.
SOFTAMP_HD inline Rounded reduce(Reduction what, bool half_accumulator, const Elements& x, const ReduceShape& shape,
                                 uint64_t output, const Environment& e) {
  const Semantics& s = e.semantics;
  const int64_t base = shape.output_offset(output);
  const auto at = [&](uint64_t k) { return static_cast<uint64_t>(base + shape.element_offset(k)); };
  const RoundingPolicy& p = s.rounding(x.format);
  const uint32_t site = what == Reduction::kSum || what == Reduction::kMean ? 1 : 0;
  Steps steps;
  if (x.format == FloatFormat::binary64()) {
    const double value =
        reduce_value<double>(what, steps, shape.count, [&](uint64_t k) { return steps.enter_double(x, at(k), s); });
    return finish(x.format, value, steps.flags, s, e.draw(p, site, output));
  }
  if (half_accumulator) {  // elements are halves
    const uint64_t sum = half_sum(
        steps, shape.count, [&](uint64_t k) { return x.code(at(k)); }, e, 0, output);
    const uint8_t rounded = steps.flags;  // already masked by the narrow policy
    steps.flags = 0;
    float value = steps.enter_code(x.format, sum, s);
    if (what == Reduction::kMean) value = steps.div(value, count_of(shape.count));
    const Rounded r = finish(x.format, value, steps.flags, s, e.draw(p, site, output));
    return {r.code, static_cast<uint8_t>(r.flags | rounded)};
  }
  const float value =
      reduce_value<float>(what, steps, shape.count, [&](uint64_t k) { return steps.enter(x, at(k), s); });
  return finish(x.format, value, steps.flags, s, e.draw(p, site, output));
}

/// Place of the greatest (least) element of output `output`, and the flags of reading its elements.
struct Located {
  uint64_t index;
  uint8_t flags;
};
// implements: N143
SOFTAMP_HD inline Located arg_extremum(bool least, const Elements& x, const ReduceShape& shape, uint64_t output,
                                       const Semantics& s) {
  const int64_t base = shape.output_offset(output);
  const auto at = [&](uint64_t k) { return static_cast<uint64_t>(base + shape.element_offset(k)); };
  Steps steps;
  uint64_t index = 0;
  if (x.format == FloatFormat::binary64())
    index = extremum<int64_t>(shape.count, [&](uint64_t k) {
              return order_key(steps.enter_double(x, at(k), s), least);
            }).index;
  else
    index =
        extremum<int32_t>(shape.count, [&](uint64_t k) { return order_key(steps.enter(x, at(k), s), least); }).index;
  return {index, static_cast<uint8_t>(steps.flags & s.wide.flags)};
}

/// int32: sums wrap; the mean is not defined. kSum, kMax, kMin.
SOFTAMP_HD inline int32_t reduce_int(Reduction what, const int32_t* x, const ReduceShape& shape, uint64_t output) {
  const int64_t base = shape.output_offset(output);
  const auto at = [&](uint64_t k) { return x[base + shape.element_offset(k)]; };
  if (what == Reduction::kSum) {
    uint32_t sum = 0;
    for (uint64_t k = 0; k < shape.count; ++k) sum += static_cast<uint32_t>(at(k));
    return static_cast<int32_t>(sum);
  }
  const bool least = what == Reduction::kMin;
  return at(extremum<int32_t>(shape.count, [&](uint64_t k) { return least ? ~at(k) : at(k); }).index);
}
SOFTAMP_HD inline uint64_t arg_extremum_int(bool least, const int32_t* x, const ReduceShape& shape, uint64_t output) {
  const int64_t base = shape.output_offset(output);
  return extremum<int32_t>(shape.count,
                           [&](uint64_t k) {
                             const int32_t value = x[base + shape.element_offset(k)];
                             return least ? ~value : value;
                           })
      .index;
}

}  // namespace softamp::kernel
