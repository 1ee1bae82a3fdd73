// Updates of optimizers: one element of a variable and of its slots.
//
// r is the one rounding of a stored value: to the dtype of its tensor, by that format's policy, with the random bits of
// (site, element): site 0 var, 1 the first slot, 2 the second. RN is a step in binary64 to nearest even. The argument
// of r is a sum of two binary64 numbers, taken exactly. A slot is read as it was stored, that is, after r.
//
//   gradient descent  var   = r(var - alpha delta)
//   momentum          accum = r(momentum accum + grad)
//                     var   = r(var - lr accum)
//   Nesterov          var   = r(var - RN(lr RN(grad + momentum accum))), the same accum
//   RMSProp           ms    = r(rho ms + RN((1 - rho) grad^2))
//                     mom   = r(momentum mom + RN(RN(lr grad) / RN(sqrt(RN(ms + epsilon)))))
//                     var   = r(var - mom)
//   Adam              m     = r(beta1 m + RN((1 - beta1) grad))
//                     v     = r(beta2 v + RN((1 - beta2) grad^2))
//                     var   = r(var - RN(RN(RN(lr m) / RN(RN(sqrt(v)) + epsilon)) + RN(decay var)))
//
// Elements and rates have at most 24 bits, attributes are rounded to fp32 to nearest even: products of two of them are
// exact in binary64, nothing in it overflows, and it has no subnormal there. 1 - beta is RN(1 - beta). Sources:
// TensorFlow's ApplyGradientDescent, ApplyMomentum, ApplyRMSProp, ApplyAdam; the decay is that of Loshchilov and
// Hutter, "Decoupled weight decay regularization" (2019). The places of the roundings are our choice.
//
// A compensated update (N246) takes two of these operations (Zamirai et al., "Revisiting BFloat16 Training", 2020,
// algorithm 1, after Kahan 1965). The first leaves var alone and gives u, what the plain update would add to it: the
// formula with +0 in the place of the var that is subtracted from (WeightRounding::kStep), so that u = r(-alpha delta),
// and of a decay its part too. u has the sign of the change, as in the publication: w + u. The second is
//
//   compensated       y = n(u - c); s = n(var + y); c = n(n(s - var) - y); var = s
//
// where n rounds to nearest even in var's format. c is what the stored weight has too much: var - c is the weight that
// is meant. An infinite weight has the compensation NaN, and is NaN after the next update.
//
// All tensors of binary64, and the rates: attributes as they are, every step RN, and r is RN of its sum (N441).
//
// Operands enter as in kernel/reductions.h. Flags of an element: for all its stored values, what their operands raised
// on entering, invalid and division by zero of the steps, and what r raises. A NaN result has no payload.
#pragma once

#include "softamp/kernel/reductions.h"

namespace softamp::kernel {

/// kCompensated: the second half of a compensated update; the slot is c, the gradient u, and there are no rates.
// implements: N235
enum class Update : uint8_t { kGradientDescent, kMomentum, kNesterov, kRmsProp, kAdam, kCompensated };

/// How var, site 0, is rounded; slots are rounded by their format's policy in any case.
// implements: N246
enum class WeightRounding : uint8_t {
  kPolicy,      ///< by its format's policy
  kNearest,     ///< to nearest even
  kStochastic,  ///< stochastically: where the policy is not, with its random bits and their variant
  kStep,        ///< not var is stored, but what is added to it, to nearest even
};

constexpr SOFTAMP_HD uint32_t slots_of(Update u) {
  return u == Update::kGradientDescent ? 0 : u <= Update::kNesterov || u == Update::kCompensated ? 1 : 2;
}

/// What is fixed for a node. Shares of the old value that are kept: momentum's momentum; RMSProp's rho, then momentum;
/// Adam's beta1, then beta2.
struct UpdateRule {
  Update update = Update::kGradientDescent;
  FloatFormat var = kFp32, slot = kFp32, grad = kFp32;
  double share = 0, second_share = 0, epsilon = 0;
  WeightRounding rounding = WeightRounding::kPolicy;

  /// Whether var is rounded by its format's policy.
  SOFTAMP_INLINE bool by_policy() const {
    return rounding == WeightRounding::kPolicy && update != Update::kCompensated;
  }
  /// The semantics that a site is rounded by.
  // implements: N246
  SOFTAMP_INLINE Semantics semantics_of_site(uint32_t site, const Semantics& s) const {
    Semantics own = s;
    if (by_policy() || (site != 0 && update != Update::kCompensated)) return own;
    const bool drawn = rounding == WeightRounding::kStochastic;
    own.wide.mode = own.narrow.mode = own.quarter.mode = drawn ? RoundingMode::kStochastic : RoundingMode::kNearestEven;
    return own;
  }
};

/// The scalars of a call, codes of fp32 (binary64). Rate: alpha or lr.
struct UpdateRates {
  uint64_t rate = 0, decay = 0;
};

/// One element before the update.
struct UpdateOperands {
  uint64_t var = 0, slot[2] = {0, 0}, grad = 0;
};

/// The stored value of each site, and all flags.
// implements: N243
struct Updated {
  uint64_t code[3] = {0, 0, 0};
  uint8_t flags = 0;
};

/// The formulas up to r, the same code for the scalar lane and for vectors: F has + - * / and root.
namespace update {

/// a + b, taken exactly.
template <class F>
struct Sum {
  F a, b;
};

/// x y + z: momentum, and (with -rate) the plain steps.
// implements: N237
template <class F>
SOFTAMP_MATH Sum<F> fused(F x, F y, F z) {
  return {x * y, z};
}
// implements: N238
template <class F>
SOFTAMP_MATH Sum<F> nesterov(F from, F rate, F grad, F share, F accum) {
  return {from, -(rate * (grad + share * accum))};
}
template <class F>
SOFTAMP_MATH Sum<F> mean(F share, F old, F rest, F grad) {
  return {share * old, rest * grad};
}
// implements: N238
template <class F>
SOFTAMP_MATH Sum<F> mean_square(F share, F old, F rest, F grad) {
  return {share * old, rest * (grad * grad)};
}
template <class F>
SOFTAMP_MATH Sum<F> scaled_step(F share, F mom, F rate, F grad, F ms, F epsilon) {
  return {share * mom, (rate * grad) / root(ms + epsilon)};
}
// implements: N238, N240, N262
template <class F>
SOFTAMP_MATH Sum<F> adam(F from, F var, F rate, F m, F v, F epsilon, F decay) {
  return {from, -((rate * m) / (root(v) + epsilon) + decay * var)};
}

}  // namespace update

// Not inlined on a device: an update calls it up to three times, and it is the rare case there.
#if defined(__CUDA_ARCH__)
#define SOFTAMP_UPDATE_STORE SOFTAMP_HD __attribute__((noinline)) inline
#else
#define SOFTAMP_UPDATE_STORE SOFTAMP_MATH
#endif

namespace detail {

/// A binary64 number that records the flags of its steps.
// implements: N243
struct NotedLane {
  double v;
  Steps* steps;

  friend SOFTAMP_MATH NotedLane operator+(NotedLane a, NotedLane b) { return {a.steps->add(a.v, b.v), a.steps}; }
  friend SOFTAMP_MATH NotedLane operator*(NotedLane a, NotedLane b) { return {a.steps->mul(a.v, b.v), a.steps}; }
  friend SOFTAMP_MATH NotedLane operator/(NotedLane a, NotedLane b) { return {a.steps->div(a.v, b.v), a.steps}; }
  friend SOFTAMP_MATH NotedLane operator-(NotedLane a) { return {-a.v, a.steps}; }
  friend SOFTAMP_MATH NotedLane root(NotedLane a) {
    if (a.v < 0.0) {
      a.steps->flags |= kInvalid;
      return {__builtin_bit_cast(double, FloatFormat::binary64().infinity_code() | FloatFormat::binary64().quiet_bit()),
              a.steps};
    }
    return {kernel::detail::root(a.v), a.steps};
  }
};

/// r(a + b), with the flags of the steps.
SOFTAMP_UPDATE_STORE Rounded stored(const FloatFormat& f, const update::Sum<NotedLane>& x, const Semantics& s,
                                    uint32_t random) {
  Steps& steps = *x.a.steps;
  if (f.storage_bits() == 64) {
    const double value = steps.add(x.a.v, x.b.v);
    return finish(f, value, steps.flags, s, RoundingPolicy::kStill);
  }
  if (!is_finite(x.a.v) || !is_finite(x.b.v)) {
    const double value = steps.add(x.a.v, x.b.v);
    return finish(f, value, steps.flags, s, random);
  }
  const uint8_t before = static_cast<uint8_t>(steps.flags & s.wide.flags);
  const FloatFormat from = FloatFormat::binary64();
  const softamp::detail::Signed a = softamp::detail::unpack_signed(from, bits_of(x.a.v)),
                                b = softamp::detail::unpack_signed(from, bits_of(x.b.v));
  // Aligned to bit 61, 53 bits lose nothing unless they lie 10 or more apart, and then the sum has 60 or more.
  const Rounded r = fp::detail::add_any(f, a, b, s, random);
  return {r.code, static_cast<uint8_t>(r.flags | before)};
}

#undef SOFTAMP_UPDATE_STORE

/// One stored value: operands enter, a formula, r.
// implements: N236
class StoredValue {
 public:
  SOFTAMP_HD StoredValue(const FloatFormat& f, const Environment& e, uint32_t site, uint64_t index)
      : f_(f), e_(e), site_(site), index_(index) {}

  // implements: N241
  SOFTAMP_HD NotedLane enter(const FloatFormat& f, uint64_t code) {
    if (f.storage_bits() == 64) return {steps_.enter_double_code(code, e_.semantics), &steps_};
    return {static_cast<double>(steps_.enter_code(f, code, e_.semantics)), &steps_};
  }
  /// A rate, a code of fp32 (binary64 where that is the value's).
  // implements: N241
  SOFTAMP_HD NotedLane enter_rate(uint64_t code) {
    const FloatFormat f = f_.storage_bits() == 64 ? FloatFormat::binary64() : FloatFormat::fp32();
    return enter(f, code);
  }
  SOFTAMP_HD NotedLane constant(double x) { return {x, &steps_}; }
  /// What a step is subtracted from.
  SOFTAMP_HD NotedLane enter_var(const UpdateRule& u, uint64_t code) {
    return u.rounding == WeightRounding::kStep ? constant(0.0) : enter(u.var, code);
  }
  // implements: N236
  SOFTAMP_HD uint64_t store(const update::Sum<NotedLane>& sum, Updated& to) {
    const Rounded r = stored(f_, sum, e_.semantics, e_.draw(e_.semantics.rounding(f_), site_, index_));
    to.code[site_] = r.code;
    to.flags = static_cast<uint8_t>(to.flags | r.flags);
    return r.code;
  }

 private:
  const FloatFormat& f_;
  const Environment& e_;
  uint32_t site_;
  uint64_t index_;
  Steps steps_;
};

/// r(share old + grad), or with `square` and `mean` the moving means.
SOFTAMP_HD inline uint64_t store_mean(const UpdateRule& u, double share, bool square, uint64_t old, uint64_t grad,
                                      const Environment& e, uint32_t site, uint64_t index, Updated& to) {
  StoredValue value(u.slot, e, site, index);
  const NotedLane s = value.constant(share), rest = value.constant(1.0 - share);
  const NotedLane x = value.enter(u.slot, old), g = value.enter(u.grad, grad);
  return value.store(square ? update::mean_square(s, x, rest, g) : update::mean(s, x, rest, g), to);
}

/// r(var - factor x), the factor a code of fp32.
// implements: N237
SOFTAMP_HD inline void store_step(const UpdateRule& u, uint64_t var, uint64_t factor, const FloatFormat& f, uint64_t x,
                                  const Environment& e, uint64_t index, Updated& to) {
  StoredValue value(u.var, e, 0, index);
  const NotedLane rate = value.enter_rate(factor), by = value.enter(f, x), w = value.enter_var(u, var);
  value.store(update::fused(-rate, by, w), to);
}

/// n(a + sign b), of operands and results in var's format.
SOFTAMP_HD inline uint64_t compensated_step(const UpdateRule& u, uint64_t a, uint64_t b, bool minus,
                                            const Environment& e, uint32_t site, uint64_t index, Updated& to) {
  StoredValue value(u.var, e, site, index);
  const NotedLane first = value.enter(u.var, a), second = value.enter(u.var, b);
  return value.store({first, minus ? -second : second}, to);
}

/// Semantics of `e`: those of the sites, which round to nearest.
// implements: N246
SOFTAMP_HD inline Updated compensated(const UpdateRule& u, const UpdateOperands& x, const Environment& e,
                                      uint64_t index) {
  Updated inner, to;
  const uint64_t y = compensated_step(u, x.grad, x.slot[0], true, e, 0, index, inner);
  const uint64_t s = compensated_step(u, x.var, y, false, e, 0, index, to);
  const uint64_t moved = compensated_step(u, s, x.var, true, e, 1, index, inner);
  compensated_step(u, moved, y, true, e, 1, index, to);
  to.flags = static_cast<uint8_t>(to.flags | inner.flags);
  return to;
}

/// `updated`; of_var: the environment whose semantics var is rounded by.
SOFTAMP_HD inline Updated updated_in(const UpdateRule& u, const UpdateRates& rates, const UpdateOperands& x,
                                     const Environment& of_var, const Environment& e, uint64_t index) {
  const uint64_t one = u.var.storage_bits() == 64 ? 0x3FF0000000000000u : 0x3F800000u;
  Updated to;
  switch (u.update) {
    case Update::kGradientDescent: store_step(u, x.var, rates.rate, u.grad, x.grad, of_var, index, to); break;
    case Update::kMomentum:
    case Update::kNesterov: {
      StoredValue slot(u.slot, e, 1, index);
      const NotedLane share = slot.constant(u.share), old = slot.enter(u.slot, x.slot[0]);
      const uint64_t accum = slot.store(update::fused(share, old, slot.enter(u.grad, x.grad)), to);
      if (u.update == Update::kMomentum) {
        store_step(u, x.var, rates.rate, u.slot, accum, of_var, index, to);
        break;
      }
      StoredValue var(u.var, of_var, 0, index);
      const NotedLane w = var.enter_var(u, x.var), rate = var.enter_rate(rates.rate);
      const NotedLane g = var.enter(u.grad, x.grad), a = var.enter(u.slot, accum);
      var.store(update::nesterov(w, rate, g, var.constant(u.share), a), to);
      break;
    }
    case Update::kRmsProp: {
      const uint64_t ms = store_mean(u, u.share, true, x.slot[0], x.grad, e, 1, index, to);
      StoredValue slot(u.slot, e, 2, index);
      const NotedLane share = slot.constant(u.second_share), old = slot.enter(u.slot, x.slot[1]);
      const NotedLane rate = slot.enter_rate(rates.rate), g = slot.enter(u.grad, x.grad);
      const NotedLane square = slot.enter(u.slot, ms), epsilon = slot.constant(u.epsilon);
      const uint64_t mom = slot.store(update::scaled_step(share, old, rate, g, square, epsilon), to);
      store_step(u, x.var, one, u.slot, mom, of_var, index, to);
      break;
    }
    case Update::kAdam: {
      const uint64_t m = store_mean(u, u.share, false, x.slot[0], x.grad, e, 1, index, to);
      const uint64_t v = store_mean(u, u.second_share, true, x.slot[1], x.grad, e, 2, index, to);
      StoredValue var(u.var, of_var, 0, index);
      const NotedLane w = var.enter(u.var, x.var), rate = var.enter_rate(rates.rate);
      const NotedLane from = u.rounding == WeightRounding::kStep ? var.constant(0.0) : w;
      const NotedLane decay = var.enter_rate(rates.decay);
      const NotedLane mean = var.enter(u.slot, m), square = var.enter(u.slot, v);
      var.store(update::adam(from, w, rate, mean, square, var.constant(u.epsilon), decay), to);
      break;
    }
    case Update::kCompensated: return compensated(u, x, of_var, index);
  }
  return to;
}

}  // namespace detail

/// Element `index` of the update: new codes of var and slots.
// implements: N235, N242
SOFTAMP_HD inline Updated updated(const UpdateRule& u, const UpdateRates& rates, const UpdateOperands& x,
                                  const Environment& e, uint64_t index) {
  if (u.by_policy()) return detail::updated_in(u, rates, x, e, e, index);
  Environment of_var = e;
  of_var.semantics = u.semantics_of_site(0, e.semantics);
  return detail::updated_in(u, rates, x, of_var, e, index);
}

}  // namespace softamp::kernel
