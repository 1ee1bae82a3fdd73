// Softmax and cross-entropies over the last axis, a row of C classes at a time, in F inside: fp32, or binary64 of
// binary64 elements.
//
//   m = max x                    by integer keys (reductions.h)
//   t_j = RN(x_j - m)
//   e_j = exp t_j                math_exp.h
//   S = sum of e_j               in the order of reductions.h
//   softmax                      RN(e_j / S)
//   log-softmax                  RN(t_j - L), L = log S
//   loss, dense                  sum of RN(label_j RN(L - t_j)), in the same order
//   loss, sparse                 RN(L - t_label)
//   back-propagated              RN(RN(e_j / S) - label_j), label 1 or 0 in the sparse form
//   softmax gradient             RN(RN(g_j - D) y_j), D = sum of RN(g_j y_j)
//   log-softmax gradient         RN(g_j - RN(exp(y_j) G)), G = sum of g_j
//
// then one rounding to the tensor's dtype: site 0 for output 0, site 1 for output 1, index = place in that output. So a
// softmax of halves is that of the widened row, rounded once (TUTORIAL G06).
//
// Flags: those of m, S, L, D and G, and of entering the row, count for the row's first output; those of the steps of
// element j and of its rounding for output j. In the cross-entropies everything of row n counts for loss n.
#pragma once

#include "softamp/kernel/reductions.h"
#include "softamp/numerics/math_double.h"
#include "softamp/numerics/math_exp.h"
#include "softamp/numerics/math_log.h"

namespace softamp::kernel {

/// What all outputs of a row share.
template <class F>
struct SoftmaxRow {
  F greatest, sum, log_sum;
};

namespace detail {

SOFTAMP_MATH math::Float lane_of(float x) { return x; }
SOFTAMP_MATH math::Double lane_of(double x) { return x; }

template <class F>
SOFTAMP_MATH F exponential(Steps& steps, F x) {
  const F y = math::exp(lane_of(x)).value;
  if (!is_finite(y) && is_finite(x)) steps.flags |= kOverflow;
  return y;
}
template <class F>
SOFTAMP_MATH F logarithm(F x) {
  return math::log(lane_of(x)).value;
}

/// Reads an element whose flags count elsewhere.
template <class F>
SOFTAMP_HD inline F entered(const Elements& x, uint64_t i, const Semantics& s) {
  Steps ignored;
  return ignored.enter_as<F>(x, i, s);
}

// implements: N160
template <class F>
SOFTAMP_HD inline SoftmaxRow<F> softmax_row(Steps& steps, const Elements& x, uint64_t first, uint64_t classes,
                                            bool with_log, const Semantics& s) {
  SoftmaxRow<F> row{};
  using Key = decltype(order_key(F{}, false));
  const uint64_t place =
      extremum<Key>(classes, [&](uint64_t j) { return order_key(steps.enter_as<F>(x, first + j, s), false); }).index;
  row.greatest = entered<F>(x, first + place, s);
  row.sum = tree_sum<F>(steps, classes, [&](uint64_t j) {
    Steps own;  // a difference that overflows counts for its own output
    return exponential(own, own.sub(entered<F>(x, first + j, s), row.greatest));
  });
  if (with_log) row.log_sum = logarithm(row.sum);
  return row;
}

}  // namespace detail

/// Receives output (port, index) as a code, and the flags that count for output 0 at `flag_index`.
/// Body: void(int port, uint64_t index, const Rounded&, uint64_t flag_index).
///
/// Softmax (or log-softmax) of row `row`.
// implements: N160
template <class F = float, class Sink>
SOFTAMP_HD inline void softmax(bool logarithmic, const Elements& x, uint64_t row, uint64_t classes,
                               const Environment& e, const Sink& sink) {
  const Semantics& s = e.semantics;
  const RoundingPolicy& p = s.rounding(x.format);
  const uint64_t first = row * classes;
  Steps steps;
  const SoftmaxRow<F> shared = detail::softmax_row<F>(steps, x, first, classes, logarithmic, s);
  for (uint64_t j = 0; j < classes; ++j) {
    const F t = steps.sub(detail::entered<F>(x, first + j, s), shared.greatest);
    const F y = logarithmic ? steps.sub(t, shared.log_sum) : steps.div(detail::exponential(steps, t), shared.sum);
    sink(0, first + j, finish(x.format, y, steps.flags, s, e.draw(p, 0, first + j)), first + j);
    steps.flags = 0;
  }
}

/// Cross-entropy of row `row` with labels of the same dtype (dense), or with class `sparse_label` where `labels` is
/// null (the caller has checked its range).
// implements: N160
template <class F = float, class Sink>
SOFTAMP_HD inline void cross_entropy(const Elements& x, const Elements* labels, uint64_t sparse_label, uint64_t row,
                                     uint64_t classes, const Environment& e, const Sink& sink) {
  const Semantics& s = e.semantics;
  const RoundingPolicy& p = s.rounding(x.format);
  const uint64_t first = row * classes;
  Steps steps;
  const SoftmaxRow<F> shared = detail::softmax_row<F>(steps, x, first, classes, true, s);
  const auto shifted = [&](uint64_t j) { return steps.sub(detail::entered<F>(x, first + j, s), shared.greatest); };
  F loss = 0;
  if (labels)
    loss = tree_sum<F>(steps, classes, [&](uint64_t j) {
      return steps.mul(steps.enter_as<F>(*labels, first + j, s), steps.sub(shared.log_sum, shifted(j)));
    });
  else
    loss = steps.sub(shared.log_sum, shifted(sparse_label));
  sink(0, row, finish(x.format, loss, steps.flags, s, e.draw(p, 0, row)), row);
  for (uint64_t j = 0; j < classes; ++j) {
    steps.flags = 0;
    const F label = labels ? detail::entered<F>(*labels, first + j, s) : j == sparse_label ? F(1) : F(0);
    const F y = steps.sub(steps.div(detail::exponential(steps, shifted(j)), shared.sum), label);
    sink(1, first + j, finish(x.format, y, steps.flags, s, e.draw(p, 1, first + j)), row);
  }
}

/// Gradient of softmax (log-softmax) of a row: `y` the forward output, `g` the gradient that arrives.
template <class F = float, class Sink>
SOFTAMP_HD inline void softmax_gradient(bool logarithmic, const Elements& y, const Elements& g, uint64_t row,
                                        uint64_t classes, const Environment& e, const Sink& sink) {
  const Semantics& s = e.semantics;
  const RoundingPolicy& p = s.rounding(y.format);
  const uint64_t first = row * classes;
  Steps steps;
  for (uint64_t j = 0; j < classes; ++j) steps.enter_as<F>(y, first + j, s);
  const F total = tree_sum<F>(steps, classes, [&](uint64_t j) {
    const F arriving = steps.enter_as<F>(g, first + j, s);
    return logarithmic ? arriving : steps.mul(arriving, detail::entered<F>(y, first + j, s));
  });
  for (uint64_t j = 0; j < classes; ++j) {
    const F arriving = detail::entered<F>(g, first + j, s), forward = detail::entered<F>(y, first + j, s);
    const F value = logarithmic ? steps.sub(arriving, steps.mul(detail::exponential(steps, forward), total))
                                : steps.mul(steps.sub(arriving, total), forward);
    sink(0, first + j, finish(y.format, value, steps.flags, s, e.draw(p, 0, first + j)), first + j);
    steps.flags = 0;
  }
}

}  // namespace softamp::kernel
