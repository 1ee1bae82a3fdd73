// Updates of optimizers over exact numbers: every step is the real number, rounded to binary64 by its definition where
// the formula says so; what is stored is a real sum, rounded once. No binary64 arithmetic, no rounding to odd: numbers
// are integers times powers of two, quotients and roots are known by comparison.
#pragma once

#include "tests/oracle/exact_operations.h"

namespace oracle::model {

using softamp::FloatFormat;
using softamp::Rounded;
using softamp::Semantics;

enum class Optimizer { kGradientDescent, kMomentum, kNesterov, kRmsProp, kAdam };

/// What an operation of the formulas knows of a number.
struct Number {
  bool nan = false, infinite = false, negative = false;
  Dyadic magnitude;  ///< of a finite number

  bool zero() const { return !nan && !infinite && magnitude.sign() == 0; }
  bool finite() const { return !nan && !infinite; }
  Dyadic value() const { return negative ? -magnitude : magnitude; }
};

/// The formulas' steps, and what they raise.
class Steps {
 public:
  explicit Steps(const Semantics& s) : s_(s) {}
  uint8_t flags = 0;

  /// An element or rate of at most 32 bits on its way in.
  Number enter(const FloatFormat& f, uint64_t code) {
    const Decoded d = exact::operand(f, code, s_);
    if (d.nan() && (d.signaling || s_.quiet_nan_is_invalid)) flags |= softamp::kInvalid;
    Number n{d.nan(), d.infinite(), d.negative, d.magnitude};
    // A preset that flushes results flushes fp32 elements, too, when they enter (N91).
    const bool tiny = n.finite() && exact::wide(f) && !n.zero() && compare(d.magnitude, {1, 1 - f.bias}) < 0;
    if (tiny && s_.wide.subnormals != softamp::Subnormals::kKeep) {
      n.magnitude = {};
      n.negative = n.negative && s_.wide.subnormals == softamp::Subnormals::kFlush;
    }
    return n;
  }
  /// An attribute, as fp32.
  static Number constant(double x) {
    const uint32_t code = __builtin_bit_cast(uint32_t, static_cast<float>(x));
    const Decoded d = oracle::decode(softamp::kFp32, code);
    return {d.nan(), d.infinite(), d.negative, d.magnitude};
  }

  Number minus(Number x) const {
    x.negative = !x.negative;
    return x;
  }
  /// Products of two numbers of 24 bits need no rounding; `times` rounds whatever it gets.
  Number times(const Number& x, const Number& y) {
    const bool negative = x.negative != y.negative;
    if (x.nan || y.nan) return nan();
    if ((x.infinite && y.zero()) || (x.zero() && y.infinite)) return invalid();
    if (x.infinite || y.infinite) return {false, true, negative, {}};
    return rounded(x.magnitude * y.magnitude, negative);
  }
  Number plus(const Number& x, const Number& y) {
    Number r = sum(x, y);
    return r.finite() && !r.zero() ? rounded(r.magnitude, r.negative) : r;
  }
  /// The real sum; of nothing -0 only if both are.
  Number sum(const Number& x, const Number& y) {
    if (x.nan || y.nan) return nan();
    if (x.infinite && y.infinite && x.negative != y.negative) return invalid();
    if (x.infinite || y.infinite) return {false, true, x.infinite ? x.negative : y.negative, {}};
    const Dyadic total = x.value() + y.value();
    if (total.sign() == 0) return {false, false, x.negative && y.negative, {}};
    return {false, false, total.sign() < 0, total.magnitude()};
  }
  Number divide(const Number& x, const Number& y) {
    const bool negative = x.negative != y.negative;
    if (x.nan || y.nan) return nan();
    if ((x.infinite && y.infinite) || (x.zero() && y.zero())) return invalid();
    if (x.infinite) return {false, true, negative, {}};
    if (y.zero()) {
      flags |= softamp::kDivideByZero;
      return {false, true, negative, {}};
    }
    if (y.infinite || x.zero()) return {false, false, negative, {}};
    return from_code(round_real(softamp::kBinary64, quotient_of(x.magnitude, y.magnitude), negative, {}).code);
  }
  Number root(const Number& x) {
    if (x.nan || x.zero()) return x;
    if (x.negative) return invalid();
    if (x.infinite) return x;
    return from_code(round_real(softamp::kBinary64, root_of(x.magnitude), false, {}).code);
  }
  /// 1 - x of 0 <= x <= 1.
  Number rest(const Number& x) { return plus(constant(1), minus(x)); }

  /// The one rounding of x + y.
  Rounded store(const FloatFormat& f, const Number& x, const Number& y, uint32_t random) {
    const softamp::RoundingPolicy& p = exact::policy(f, s_);
    const Number total = sum(x, y);
    const uint8_t before = flags & s_.wide.flags;
    if (total.nan) {
      softamp::NanPattern pattern = p.nan;
      if (pattern == softamp::NanPattern::kPropagate) pattern = softamp::NanPattern::kQuiet;
      return {nan_of(f, pattern), static_cast<uint8_t>(before | (s_.quiet_nan_is_invalid ? softamp::kInvalid : 0))};
    }
    Rounded r{};
    if (total.infinite)
      r = infinity_under(f, total.negative, p);
    else
      r = exact::round_sum(f, x.value(), y.value(), x.negative, y.negative, s_, random);
    return {r.code, static_cast<uint8_t>(r.flags | before)};
  }

 private:
  static Number nan() { return {true, false, false, {}}; }
  Number invalid() {
    flags |= softamp::kInvalid;
    return nan();
  }
  static Number from_code(uint64_t code) {
    const Decoded d = oracle::decode(softamp::kBinary64, code);
    return {d.nan(), d.infinite(), d.negative, d.magnitude};
  }
  static Number rounded(const Dyadic& magnitude, bool negative) {
    return from_code(round_value(softamp::kBinary64, negative ? -magnitude : magnitude, {}, 0, negative).code);
  }

  const Semantics& s_;
};

/// One element's update. Words: the random words of the three sites.
struct UpdateCase {
  Optimizer optimizer;
  FloatFormat var, slot, grad;
  double share = 0, second_share = 0, epsilon = 0;
  uint64_t rate = 0, decay = 0;  ///< codes of fp32
  uint64_t var_code = 0, slot_code[2] = {0, 0}, grad_code = 0;
  uint32_t words[3] = {0, 0, 0};
};
struct UpdateResult {
  uint64_t code[3] = {0, 0, 0};
  uint8_t flags = 0;
};

inline UpdateResult update(const UpdateCase& c, const Semantics& s) {
  UpdateResult result;
  const FloatFormat single = softamp::kFp32;
  const auto store = [&](Steps& steps, int site, const Number& x, const Number& y) {
    const Rounded r = steps.store(site == 0 ? c.var : c.slot, x, y, c.words[site]);
    result.code[site] = r.code;
    result.flags |= r.flags;
  };
  // share old + (1 - share) g, of g or of its square.
  const auto moving_mean = [&](int site, double share_value, bool square) {
    Steps t(s);
    const Number share = Steps::constant(share_value), old = t.enter(c.slot, c.slot_code[site - 1]);
    const Number g = t.enter(c.grad, c.grad_code);
    store(t, site, t.times(share, old), t.times(t.rest(share), square ? t.times(g, g) : g));
  };
  const auto plain_step = [&](uint64_t rate, const FloatFormat& f, uint64_t by) {
    Steps t(s);
    const Number w = t.enter(c.var, c.var_code), step = t.times(t.enter(single, rate), t.enter(f, by));
    store(t, 0, w, t.minus(step));
  };
  switch (c.optimizer) {
    case Optimizer::kGradientDescent: plain_step(c.rate, c.grad, c.grad_code); break;
    case Optimizer::kMomentum:
    case Optimizer::kNesterov: {
      Steps t(s);
      const Number share = Steps::constant(c.share);
      store(t, 1, t.times(share, t.enter(c.slot, c.slot_code[0])), t.enter(c.grad, c.grad_code));
      if (c.optimizer == Optimizer::kMomentum) {
        plain_step(c.rate, c.slot, result.code[1]);
        break;
      }
      Steps u(s);
      const Number w = u.enter(c.var, c.var_code), rate = u.enter(single, c.rate), g = u.enter(c.grad, c.grad_code);
      const Number ahead = u.plus(g, u.times(share, u.enter(c.slot, result.code[1])));
      store(u, 0, w, u.minus(u.times(rate, ahead)));
      break;
    }
    case Optimizer::kRmsProp: {
      moving_mean(1, c.share, true);
      Steps t(s);
      const Number old = t.times(Steps::constant(c.second_share), t.enter(c.slot, c.slot_code[1]));
      const Number top = t.times(t.enter(single, c.rate), t.enter(c.grad, c.grad_code));
      const Number below = t.root(t.plus(t.enter(c.slot, result.code[1]), Steps::constant(c.epsilon)));
      store(t, 2, old, t.divide(top, below));
      plain_step(0x3F800000u, c.slot, result.code[2]);
      break;
    }
    case Optimizer::kAdam: {
      moving_mean(1, c.share, false);
      moving_mean(2, c.second_share, true);
      Steps t(s);
      const Number w = t.enter(c.var, c.var_code),
                   top = t.times(t.enter(single, c.rate), t.enter(c.slot, result.code[1]));
      const Number below = t.plus(t.root(t.enter(c.slot, result.code[2])), Steps::constant(c.epsilon));
      const Number decay = t.times(t.enter(single, c.decay), w);
      store(t, 0, w, t.minus(t.plus(t.divide(top, below), decay)));
      break;
    }
  }
  return result;
}

}  // namespace oracle::model
