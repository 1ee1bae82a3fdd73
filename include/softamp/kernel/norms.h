// Batch, layer and group normalisation and their gradients, in F inside: fp32, or binary64 of binary64 elements, which
// has no fused steps.
//
// The tensor is seen as rows x channels, row-major, channels innermost. Elements that share their statistics are a
// group: `rows_to_group` rows by channels / groups_to_row channels. Batch: all rows by one channel; layer: one row by
// all channels (the normalised axes taken as one); group: the rows of a sample by consecutive channels. The n elements
// of a group are counted in row-major order; N = RN(n); sums are in the order of reductions.h.
//
//   mean      RN(sum of x / N)
//   variance  stable statistics: RN(sum of RN(d d) / N), d = RN(x - mean)
//             else: RN(RN(sum of RN(x x) / N) - RN(mean mean)), which may be negative, and is used as it is
//   i         RN(1 / RN(sqrt(RN(variance + epsilon)))); of a negative number: NaN, invalid
//   y         fma(RN(RN(x - mean) i), gamma, beta)
//
// Gradients, h = RN(RN(x - mean) i), sums over the elements of a channel (parameters) or of a group (input):
//   offset    sum of dy           scale   sum of RN(dy h)
//   input     batch:        RN(RN(gamma i) t), t = fma(-h, B, RN(dy - A)), A = RN(offset / N), B = RN(scale / N);
//             not training: RN(RN(gamma i) dy)
//             layer, group: RN(i t), the same t with g = RN(dy gamma) for dy, A = RN(sum g / N), B = RN(sum RN(g h) /
//             N)
//
// each followed by one rounding to the output's dtype: site = number of the output, index = place in it.
//
// Statistics in fp16 (halves only): every sum, difference, square and quotient above `variance` is rounded once to fp16
// by the narrow policy. The address is product_index(p, group): p < n as in reductions.h for a sum of x (site 1) and of
// squares (site 2); p = n + k for difference k (site 1) and square k (site 2), n for mean^2 (site 1), 2n for the mean
// (site 1) and the mean of squares or of squared differences (site 2), 2n + 1 for the subtraction (site 2). n < 2^28.
//
// Flags of the statistics, of i and of a group's sums count for the group's first element; those of a channel's sums
// and outputs for element `channel`; those of an element's own steps and rounding for that element. (Indices are those
// of y and of the input's gradient, output 0.)
#pragma once

#include "softamp/kernel/reductions.h"

namespace softamp::kernel {

struct NormShape {
  uint64_t rows = 0, channels = 0;
  uint64_t rows_to_group = 1, groups_to_row = 1;

  SOFTAMP_INLINE uint64_t group_channels() const { return groups_to_row ? channels / groups_to_row : 0; }
  SOFTAMP_INLINE uint64_t group_size() const { return rows_to_group * group_channels(); }
  SOFTAMP_INLINE uint64_t groups() const {
    return rows_to_group ? rows / rows_to_group * groups_to_row : groups_to_row;
  }
  SOFTAMP_INLINE uint64_t group_of(uint64_t row, uint64_t channel) const {
    return row / rows_to_group * groups_to_row + channel / group_channels();
  }
  /// Place in the tensor of element k of a group.
  SOFTAMP_INLINE uint64_t place(uint64_t group, uint64_t k) const {
    const uint64_t row = group / groups_to_row * rows_to_group + k / group_channels();
    return row * channels + channel(group, k);
  }
  SOFTAMP_INLINE uint64_t channel(uint64_t group, uint64_t k) const {
    return group % groups_to_row * group_channels() + k % group_channels();
  }
};

/// epsilon as fp32, and as binary64 norms take it.
struct NormEpsilon {
  float epsilon = 0;
  double wide_epsilon = 0;

  template <class F>
  SOFTAMP_INLINE F epsilon_as() const {
    return sizeof(F) == 8 ? static_cast<F>(wide_epsilon) : static_cast<F>(epsilon);
  }
};

struct NormOptions : NormEpsilon {
  bool stable = false;
  bool half_statistics = false;
};

template <class F>
struct MomentsOf {
  F mean, variance;
};
using Moments = MomentsOf<float>;

namespace detail {

/// fp16 steps with the narrow policy's rounding. `Draws`: Environment, or what has its semantics and draw().
// implements: N162
template <class Draws>
struct HalfSteps {
  Steps& steps;
  const Draws& e;
  uint64_t group;

  SOFTAMP_HD uint32_t word(uint32_t site, uint64_t p) const {
    return e.draw(e.semantics.rounding(FloatFormat::fp16()), site, product_index(p, group));
  }
  SOFTAMP_HD uint64_t note(Rounded r) const {
    steps.flags = static_cast<uint8_t>(steps.flags | r.flags);
    return r.code;
  }
  SOFTAMP_HD uint64_t sub(uint64_t a, uint64_t b, uint32_t site, uint64_t p) const {
    return note(fp::sub(FloatFormat::fp16(), a, b, e.semantics, word(site, p)));
  }
  SOFTAMP_HD uint64_t square(uint64_t a, uint32_t site, uint64_t p) const {
    return note(fp::mul(FloatFormat::fp16(), a, a, e.semantics, word(site, p)));
  }
  SOFTAMP_HD uint64_t divide(uint64_t sum, uint64_t n, uint32_t site, uint64_t p) const {
    Steps own;
    const float quotient = own.div(own.enter_code(FloatFormat::fp16(), sum, e.semantics), count_of(n));
    return note(finish(FloatFormat::fp16(), quotient, own.flags, e.semantics, word(site, p)));
  }
};
template <class Draws>
HalfSteps(Steps&, const Draws&, uint64_t) -> HalfSteps<Draws>;

// implements: N162
SOFTAMP_HD inline Moments half_moments(Steps& steps, const Elements& x, const NormShape& shape, uint64_t group,
                                       bool stable, const Environment& e) {
  const uint64_t n = shape.group_size();
  const HalfSteps half{steps, e, group};
  const auto at = [&](uint64_t k) { return x.code(shape.place(group, k)); };
  const uint64_t mean = half.divide(half_sum(steps, n, at, e, 1, group), n, 1, 2 * n);
  uint64_t variance = 0;
  if (stable) {
    const auto term = [&](uint64_t k) { return half.square(half.sub(at(k), mean, 1, n + k), 2, n + k); };
    variance = half.divide(half_sum(steps, n, term, e, 2, group), n, 2, 2 * n);
  } else {
    const auto term = [&](uint64_t k) { return half.square(at(k), 2, n + k); };
    const uint64_t mean_square = half.divide(half_sum(steps, n, term, e, 2, group), n, 2, 2 * n);
    variance = half.sub(mean_square, half.square(mean, 1, n), 2, 2 * n + 1);
  }
  return {steps.enter_code(FloatFormat::fp16(), mean, e.semantics),
          steps.enter_code(FloatFormat::fp16(), variance, e.semantics)};
}

}  // namespace detail

/// Mean and variance of n elements from their sum and the sum of squares (stable: of squared differences).
// implements: N161
template <class F>
SOFTAMP_INLINE MomentsOf<F> moments_of(Steps& steps, F mean, F squares, uint64_t n, bool stable) {
  const F second = steps.div(squares, count_as<F>(n));
  return {mean, stable ? second : steps.sub(second, steps.mul(mean, mean))};
}

template <class F>
SOFTAMP_HD inline MomentsOf<F> group_moments(Steps& steps, const Elements& x, const NormShape& shape, uint64_t group,
                                             const NormOptions& o, const Environment& e) {
  if constexpr (sizeof(F) == 4)
    if (o.half_statistics) return detail::half_moments(steps, x, shape, group, o.stable, e);
  const uint64_t n = shape.group_size();
  const auto term = [&](uint64_t k) { return steps.enter_as<F>(x, shape.place(group, k), e.semantics); };
  const F mean = steps.div(tree_sum<F>(steps, n, term), count_as<F>(n));
  const F squares = tree_sum<F>(steps, n, [&](uint64_t k) {
    const F d = o.stable ? steps.sub(term(k), mean) : term(k);
    return steps.mul(d, d);
  });
  return moments_of(steps, mean, squares, n, o.stable);
}

/// i of the formulas above.
// implements: N161
template <class F>
SOFTAMP_MATH F inverse_deviation(Steps& steps, F variance, F epsilon) {
  return steps.div(F(1), steps.sqrt(steps.add(variance, epsilon)));
}

namespace detail {
/// h of an element x in a group of which mean and i are known.
// implements: N161
template <class F>
SOFTAMP_MATH F normalised_of(Steps& steps, F x, F mean, F inverse) {
  return steps.mul(steps.sub(x, mean), inverse);
}
/// h of element i.
template <class F>
SOFTAMP_MATH F normalised(Steps& steps, const Elements& x, uint64_t i, F mean, F inverse, const Semantics& s) {
  return normalised_of(steps, steps.enter_as<F>(x, i, s), mean, inverse);
}
}  // namespace detail

/// y of element i, of channel `channel`, before its rounding.
template <class F>
SOFTAMP_MATH F normalised_value(Steps& steps, const Elements& x, uint64_t i, const Elements& gamma,
                                const Elements& beta, uint64_t channel, F mean, F inverse, const Semantics& s) {
  const F h = detail::normalised(steps, x, i, mean, inverse, s);
  return steps.fma(h, steps.enter_as<F>(gamma, channel, s), steps.enter_as<F>(beta, channel, s));
}

/// The y of a group with moments m; `steps` holds the flags of its statistics. sink(port, index, code, flag_index) as
/// in softmax.h.
template <class F, class Sink>
SOFTAMP_HD inline void normalise(Steps& steps, const Elements& x, const Elements& gamma, const Elements& beta,
                                 const NormShape& shape, uint64_t group, MomentsOf<F> m, F epsilon,
                                 const Environment& e, const Sink& sink) {
  const Semantics& s = e.semantics;
  const RoundingPolicy& p = s.rounding(x.format);
  const F inverse = inverse_deviation(steps, m.variance, epsilon);
  for (uint64_t k = 0; k < shape.group_size(); ++k) {
    const uint64_t i = shape.place(group, k);
    const F y = normalised_value(steps, x, i, gamma, beta, shape.channel(group, k), m.mean, inverse, s);
    sink(0, i, finish(x.format, y, steps.flags, s, e.draw(p, 0, i)), i);
    steps.flags = 0;
  }
}

/// Layer and group normalisation of a group: outputs y, mean and variance (in F).
template <class F = float, class Sink>
SOFTAMP_HD inline void group_norm(const Elements& x, const Elements& gamma, const Elements& beta,
                                  const NormShape& shape, uint64_t group, const NormOptions& o, const Environment& e,
                                  const Sink& sink) {
  Steps steps;
  const MomentsOf<F> m = group_moments<F>(steps, x, shape, group, o, e);
  const uint64_t first = shape.place(group, 0);
  sink(1, group, finish(format_of_steps<F>(), m.mean, 0, e.semantics, 0), first);
  sink(2, group, finish(format_of_steps<F>(), m.variance, 0, e.semantics, 0), first);
  normalise(steps, x, gamma, beta, shape, group, m, o.epsilon_as<F>(), e, sink);
}

/// How FusedBatchNormV3 makes running estimates: new = RN(RN((1 - factor) old) + RN(factor estimate)), the estimate
/// alone where factor is 1; the variance's is RN(variance RN(N / RN(max(n - 1, 1)))) (Bessel).
template <class F>
struct RunningOf {
  F factor = 1;
  const Elements* mean = nullptr;  ///< old values: read where factor is not 1
  const Elements* variance = nullptr;
};
using Running = RunningOf<float>;

namespace detail {
template <class F>
SOFTAMP_INLINE F running(Steps& steps, const Elements* old, uint64_t c, F estimate, F factor, const Semantics& s) {
  if (factor == 1) return estimate;
  return steps.add(steps.mul(F(1) - factor, steps.enter_as<F>(*old, c, s)), steps.mul(factor, estimate));
}
}  // namespace detail

/// Running mean and variance of channel c under moments m.
// implements: N163
template <class F>
SOFTAMP_INLINE MomentsOf<F> running_moments(Steps& steps, MomentsOf<F> m, uint64_t n, uint64_t c,
                                            const RunningOf<F>& running, const Semantics& s) {
  const F bessel = steps.div(count_as<F>(n), count_as<F>(n > 2 ? n - 1 : 1));
  return {detail::running(steps, running.mean, c, m.mean, running.factor, s),
          detail::running(steps, running.variance, c, steps.mul(m.variance, bessel), running.factor, s)};
}

/// FusedBatchNormV3 in training, channel c: outputs y, running mean and variance (in `parameters`), the batch's own
/// mean and variance (in F).
template <class F = float, class Sink>
SOFTAMP_HD inline void batch_norm_training(const Elements& x, const Elements& gamma, const Elements& beta,
                                           const FloatFormat& parameters, const NormShape& shape, uint64_t c,
                                           const NormOptions& o, const RunningOf<F>& running, const Environment& e,
                                           const Sink& sink) {
  const Semantics& s = e.semantics;
  const RoundingPolicy& p = s.rounding(parameters);
  Steps steps, after;
  const MomentsOf<F> m = group_moments<F>(steps, x, shape, c, o, e);
  const MomentsOf<F> r = running_moments(after, m, shape.group_size(), c, running, s);
  sink(1, c, finish(parameters, r.mean, after.flags, s, e.draw(p, 1, c)), c);
  sink(2, c, finish(parameters, r.variance, after.flags, s, e.draw(p, 2, c)), c);
  sink(3, c, finish(format_of_steps<F>(), m.mean, steps.flags, s, 0), c);
  sink(4, c, finish(format_of_steps<F>(), m.variance, steps.flags, s, 0), c);
  normalise(steps, x, gamma, beta, shape, c, m, o.epsilon_as<F>(), e, sink);
}

/// The same with given statistics, which are also outputs.
template <class F = float, class Sink>
SOFTAMP_HD inline void batch_norm_inference(const Elements& x, const Elements& gamma, const Elements& beta,
                                            const Elements& mean, const Elements& variance, const NormShape& shape,
                                            uint64_t c, const NormOptions& o, const Environment& e, const Sink& sink) {
  const Semantics& s = e.semantics;
  const RoundingPolicy& p = s.rounding(mean.format);
  Steps steps;
  const MomentsOf<F> m{steps.enter_as<F>(mean, c, s), steps.enter_as<F>(variance, c, s)};
  sink(1, c, finish(mean.format, m.mean, steps.flags, s, e.draw(p, 1, c)), c);
  sink(2, c, finish(mean.format, m.variance, steps.flags, s, e.draw(p, 2, c)), c);
  sink(3, c, finish(format_of_steps<F>(), m.mean, steps.flags, s, 0), c);
  sink(4, c, finish(format_of_steps<F>(), m.variance, steps.flags, s, 0), c);
  normalise(steps, x, gamma, beta, shape, c, m, o.epsilon_as<F>(), e, sink);
}

/// Operands of the gradients; mean and variance are fp32 (binary64), one per group.
struct NormGradient {
  Elements dy, x, gamma, mean, variance;
  NormShape shape;
  NormEpsilon epsilon;
  bool training;  ///< batch normalisation: A and B are used
};

/// Gradients of the parameters of channel c: outputs 1 (scale) and 2 (offset), in gamma's dtype.
// implements: N164
template <class F = float, class Sink>
SOFTAMP_HD inline void norm_parameter_gradient(const NormGradient& n, uint64_t c, const Environment& e,
                                               const Sink& sink) {
  const Semantics& s = e.semantics;
  const RoundingPolicy& p = s.rounding(n.gamma.format);
  Steps steps;
  const F offset = tree_sum<F>(steps, n.shape.rows,
                               [&](uint64_t row) { return steps.enter_as<F>(n.dy, row * n.shape.channels + c, s); });
  const uint8_t offset_flags = steps.flags;
  const F scale = tree_sum<F>(steps, n.shape.rows, [&](uint64_t row) {
    const uint64_t i = row * n.shape.channels + c, group = n.shape.group_of(row, c);
    Steps of_group;  // counted with the input's gradient
    const F mean = of_group.enter_as<F>(n.mean, group, s);
    const F inverse =
        inverse_deviation(of_group, of_group.enter_as<F>(n.variance, group, s), n.epsilon.epsilon_as<F>());
    const F h = detail::normalised(steps, n.x, i, mean, inverse, s);
    return steps.mul(steps.enter_as<F>(n.dy, i, s), h);
  });
  sink(1, c, finish(n.gamma.format, scale, steps.flags, s, e.draw(p, 1, c)), c);
  sink(2, c, finish(n.gamma.format, offset, offset_flags, s, e.draw(p, 2, c)), c);
}

namespace detail {
/// RN(factor t): t of h and of what arrives.
template <class F>
SOFTAMP_MATH F input_gradient_of(Steps& steps, F arriving, F h, F factor, F a, F b) {
  return steps.mul(factor, steps.fma(-h, b, steps.sub(arriving, a)));
}
}  // namespace detail

/// Gradient of the input at element i, where `arriving` (dy, or g) comes in, before its rounding.
template <class F>
SOFTAMP_MATH F input_gradient_value(Steps& steps, const NormGradient& n, uint64_t i, F arriving, F mean, F inverse,
                                    F factor, F a, F b, const Semantics& s) {
  if (!n.training) return steps.mul(factor, arriving);
  const F h = detail::normalised(steps, n.x, i, mean, inverse, s);
  return detail::input_gradient_of(steps, arriving, h, factor, a, b);
}

/// Gradient of the input in one group: output 0. batch: the formula of batch normalisation.
// implements: N164
template <class F = float, class Sink>
SOFTAMP_HD inline void norm_input_gradient(const NormGradient& n, bool batch, uint64_t group, const Environment& e,
                                           const Sink& sink) {
  const Semantics& s = e.semantics;
  const RoundingPolicy& p = s.rounding(n.x.format);
  const uint64_t count = n.shape.group_size();
  Steps steps;
  const F mean = steps.enter_as<F>(n.mean, group, s);
  const F inverse = inverse_deviation(steps, steps.enter_as<F>(n.variance, group, s), n.epsilon.epsilon_as<F>());
  const auto arriving = [&](uint64_t k) {
    const F dy = steps.enter_as<F>(n.dy, n.shape.place(group, k), s);
    return batch ? dy : steps.mul(dy, steps.enter_as<F>(n.gamma, n.shape.channel(group, k), s));
  };
  F a = 0, b = 0;
  if (n.training) {
    a = steps.div(tree_sum<F>(steps, count, arriving), count_as<F>(count));
    const F sum = tree_sum<F>(steps, count, [&](uint64_t k) {
      return steps.mul(arriving(k), detail::normalised(steps, n.x, n.shape.place(group, k), mean, inverse, s));
    });
    b = steps.div(sum, count_as<F>(count));
  }
  const F factor = batch ? steps.mul(steps.enter_as<F>(n.gamma, group, s), inverse) : inverse;
  for (uint64_t k = 0; k < count; ++k) {
    const uint64_t i = n.shape.place(group, k);
    const F y = input_gradient_value(steps, n, i, arriving(k), mean, inverse, factor, a, b, s);
    sink(0, i, finish(n.x.format, y, steps.flags, s, e.draw(p, 0, i)), i);
    steps.flags = 0;
  }
}

}  // namespace softamp::kernel
