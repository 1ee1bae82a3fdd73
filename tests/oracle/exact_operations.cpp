#include "tests/oracle/exact_operations.h"

namespace oracle::exact {
namespace {

Rounded zero(const FloatFormat& f, bool negative, const Semantics& s) {
  return {with_sign(f, negative && policy(f, s).signed_zeros, 0), 0};
}

Rounded pole(const FloatFormat& f, bool negative, uint8_t flag, const Semantics& s) {
  const Rounded r = infinity_under(f, negative, policy(f, s));
  return {r.code, static_cast<uint8_t>(r.flags | flag)};
}

uint8_t pole_flag(const Semantics& s) {
  if (s.pole == softamp::PoleFlag::kNone) return 0;
  return s.pole == softamp::PoleFlag::kInvalid ? softamp::kInvalid : softamp::kDivideByZero;
}

/// The rounding that ends a division or root: one, or through fp32 to nearest even where the preset goes that way.
Rounded end_by_fp32(const FloatFormat& f, const Real& x, bool negative, const Semantics& s, uint32_t random) {
  if (!s.divide_by_way_of_fp32 || f.exponent_bits + f.precision > 16) {
    return round_real(f, x, negative, policy(f, s), random);
  }
  const FloatFormat fp32 = softamp::kFp32;
  const Rounded first = round_real(fp32, x, negative, s.wide);
  const Decoded d = operand(fp32, first.code, s);
  Rounded second;
  if (d.nan())
    second = {nan_of(f, policy(f, s).nan), softamp::kInvalid};
  else if (d.infinite())
    second = infinity_under(f, d.negative, policy(f, s));
  else
    second = round_value(f, d.value(), policy(f, s), random, d.negative);
  return {second.code, static_cast<uint8_t>(first.flags | second.flags)};
}

/// A finite number rounded to an integer: the gap between n and n + 1 handed to the same decision.
struct ToInteger {
  Big value;
  bool inexact;
};
ToInteger to_integer(const Decoded& x, const RoundingPolicy& p, uint32_t random) {
  Big below = x.magnitude.exponent >= 0 ? Big{x.magnitude.significand << x.magnitude.exponent}
                                        : Big{x.magnitude.significand >> -x.magnitude.exponent};
  const Gapped g{below, {below, 0}, {below + 1, 0}, compare(x.magnitude, {below, 0}) == 0};
  if (!g.on && goes_up(g, exactly(x.magnitude), x.negative, p, random)) ++below;
  return {x.negative ? Big{-below} : below, !g.on};
}

}  // namespace

Decoded operand(const FloatFormat& f, uint64_t code, const Semantics& s) {
  Decoded d = decode(f, code);
  if (d.infinite() && f.exponent_bits + f.precision <= 16) {
    const Dyadic most = magnitude_at(f, greatest_code(f)), next = magnitude_at(f, greatest_code(f) + 1);
    switch (s.narrow_infinity) {
      case softamp::InfinityOperand::kIeee: break;
      case softamp::InfinityOperand::kNan: d.sort = Sort::kNotANumber; break;
      case softamp::InfinityOperand::kMaxFinite: d = {Sort::kFinite, d.negative, false, most}; break;
      case softamp::InfinityOperand::kNextBinade: d = {Sort::kFinite, d.negative, false, next}; break;
    }
  }
  if (wide(f) && s.wide_operands_flushed && d.sort == Sort::kFinite && d.magnitude.sign() != 0 &&
      compare(d.magnitude, {1, 1 - f.bias}) < 0) {
    d.magnitude = {};
    if (s.operand_flush_sign == softamp::FlushSign::kPositive) d.negative = false;
  }
  return d;
}

std::optional<Rounded> nan_among(const FloatFormat& to, const Semantics& s, std::initializer_list<Decoded> all) {
  bool any = false, invalid = false, negative = false;
  for (const Decoded& d : all) {
    if (!d.nan()) continue;
    if (!any) negative = d.nan_has_sign && d.negative;
    any = true, invalid = invalid || d.signaling || s.quiet_nan_is_invalid;
  }
  if (!any) return std::nullopt;
  const auto flags = static_cast<uint8_t>((invalid ? softamp::kInvalid : 0) & policy(to, s).flags);
  const NanPattern pattern = policy(to, s).nan;
  const bool keeps_sign = (pattern == NanPattern::kInfinity && to.specials == Specials::kIeee) ||
                          (pattern == NanPattern::kSigned && to.specials != Specials::kNegativeZeroNan);
  return Rounded{keeps_sign ? with_sign(to, negative, nan_of(to, pattern)) : nan_of(to, pattern), flags};
}

Rounded invalid(const FloatFormat& f, const Semantics& s) { return {nan_of(f, policy(f, s).nan), softamp::kInvalid}; }

Rounded round_sum(const FloatFormat& f, const Dyadic& x, const Dyadic& y, bool x_negative, bool y_negative,
                  const Semantics& s, uint32_t random) {
  const RoundingPolicy& p = policy(f, s);
  const bool zero_sign = x_negative == y_negative ? x_negative : p.mode == RoundingMode::kDown;
  return round_value(f, x + y, p, random, zero_sign);
}

Rounded add(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random, bool negate_b) {
  const Decoded x = operand(f, a, s);
  Decoded y = operand(f, b, s);
  if (const auto r = nan_among(f, s, {x, y})) return *r;
  y.negative = y.negative != negate_b;
  if (x.infinite() && y.infinite() && x.negative != y.negative) return invalid(f, s);
  if (x.infinite()) return infinity_under(f, x.negative, policy(f, s));
  if (y.infinite()) return infinity_under(f, y.negative, policy(f, s));
  return round_sum(f, x.value(), y.value(), x.negative, y.negative, s, random);
}

Rounded sub(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random) {
  return add(f, a, b, s, random, true);
}

Rounded fma(const FloatFormat& f, uint64_t a, uint64_t b, uint64_t c, const Semantics& s, uint32_t random) {
  const Decoded x = operand(f, a, s), y = operand(f, b, s), z = operand(f, c, s);
  const bool undefined = (x.infinite() && y.zero()) || (x.zero() && y.infinite());
  if (auto r = nan_among(f, s, {x, y, z})) {
    if (undefined) r->flags |= softamp::kInvalid;
    return *r;
  }
  if (undefined) return invalid(f, s);
  const bool negative = x.negative != y.negative;
  const bool infinite = x.infinite() || y.infinite();
  if (infinite && z.infinite() && z.negative != negative) return invalid(f, s);
  if (infinite) return infinity_under(f, negative, policy(f, s));
  if (z.infinite()) return infinity_under(f, z.negative, policy(f, s));
  return round_sum(f, x.value() * y.value(), z.value(), negative, z.negative, s, random);
}

Rounded mul(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random) {
  const Decoded x = operand(f, a, s), y = operand(f, b, s);
  const bool negative = x.negative != y.negative;
  if (const auto r = nan_among(f, s, {x, y})) return *r;
  if ((x.infinite() && y.zero()) || (x.zero() && y.infinite())) return invalid(f, s);
  if (x.infinite() || y.infinite()) return infinity_under(f, negative, policy(f, s));
  return round_value(f, x.value() * y.value(), policy(f, s), random, negative);
}

Rounded div(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random) {
  const Decoded x = operand(f, a, s), y = operand(f, b, s);
  const bool negative = x.negative != y.negative;
  if (const auto r = nan_among(f, s, {x, y})) return *r;
  if ((x.infinite() && y.infinite()) || (x.zero() && y.zero())) return invalid(f, s);
  if (x.infinite()) return infinity_under(f, negative, policy(f, s));
  if (y.zero()) return pole(f, negative, softamp::kDivideByZero, s);
  if (x.zero() || y.infinite()) return zero(f, negative, s);
  return end_by_fp32(f, quotient_of(x.magnitude, y.magnitude), negative, s, random);
}

Rounded sqrt(const FloatFormat& f, uint64_t a, const Semantics& s, uint32_t random) {
  const Decoded x = operand(f, a, s);
  if (const auto r = nan_among(f, s, {x})) return *r;
  if (x.zero()) return zero(f, x.negative, s);
  if (x.negative) return invalid(f, s);
  if (x.infinite()) return infinity_under(f, false, policy(f, s));
  return end_by_fp32(f, root_of(x.magnitude), false, s, random);
}

Rounded reciprocal(const FloatFormat& f, uint64_t a, const Semantics& s, uint32_t random) {
  const Decoded x = operand(f, a, s);
  if (const auto r = nan_among(f, s, {x})) return *r;
  if (x.zero()) return pole(f, x.negative, pole_flag(s), s);
  if (x.infinite()) return zero(f, x.negative, s);
  return end_by_fp32(f, quotient_of({1, 0}, x.magnitude), x.negative, s, random);
}

Rounded reciprocal_sqrt(const FloatFormat& f, uint64_t a, const Semantics& s, uint32_t random) {
  const Decoded x = operand(f, a, s);
  if (const auto r = nan_among(f, s, {x})) return *r;
  if (x.zero()) return pole(f, x.negative, pole_flag(s), s);
  if (x.negative) return invalid(f, s);
  if (x.infinite()) return zero(f, false, s);
  if (!s.divide_by_way_of_fp32 || f.exponent_bits + f.precision > 16)
    return round_real(f, reciprocal_root_of(x.magnitude), false, policy(f, s), random);
  const Rounded root = round_real(softamp::kFp32, root_of(x.magnitude), false, s.wide);
  return end_by_fp32(f, quotient_of({1, 0}, decode(softamp::kFp32, root.code).magnitude), false, s, random);
}

Rounded rem(const FloatFormat& f, uint64_t a, uint64_t b, const Semantics& s, uint32_t random) {
  const Decoded x = operand(f, a, s), y = operand(f, b, s);
  if (const auto r = nan_among(f, s, {x, y})) return *r;
  if (x.infinite() || y.zero()) return invalid(f, s);
  if (y.infinite() || x.zero()) return round_value(f, x.value(), policy(f, s), random, x.negative);
  const int e = std::min(x.magnitude.exponent, y.magnitude.exponent);
  const Big u = x.magnitude.significand << (x.magnitude.exponent - e);
  const Big v = y.magnitude.significand << (y.magnitude.exponent - e);
  Big n = u / v;
  const Big twice_rest = 2 * (u - n * v);
  if (twice_rest > v || (twice_rest == v && n % 2 == 1)) ++n;
  const Dyadic rest{u - n * v, e};
  return round_value(f, x.negative ? -rest : rest, policy(f, s), random, x.negative);
}

Rounded convert(const FloatFormat& from, const FloatFormat& to, uint64_t code, const Semantics& s, uint32_t random) {
  const Decoded x = operand(from, code, s);
  if (auto r = nan_among(to, s, {x})) {
    if (to.specials == Specials::kNone) r->flags |= softamp::kInvalid & policy(to, s).flags;
    return *r;
  }
  if (x.infinite()) return infinity_under(to, x.negative, policy(to, s));
  return round_value(to, x.value(), policy(to, s), random, x.negative);
}

Rounded to_int32(const FloatFormat& f, uint64_t code, const Semantics& s, bool exact, uint32_t random) {
  using softamp::IntegerRange;
  const Decoded x = operand(f, code, s);
  const bool clamp = s.integer_range == IntegerRange::kClamp;
  if (x.nan()) return {0x80000000u, softamp::kInvalid};
  if (x.infinite()) return {clamp && !x.negative ? 0x7FFFFFFFu : 0x80000000u, softamp::kInvalid};
  const ToInteger n = to_integer(x, s.wide, random);
  const Big modulus = Big{1} << 32;
  const auto word = static_cast<uint64_t>(((n.value % modulus) + modulus) % modulus);
  if (n.value >= -(Big{1} << 31) && n.value < Big{1} << 31)
    return {word, static_cast<uint8_t>(exact && n.inexact ? softamp::kInexact & s.wide.flags : 0)};
  if (s.integer_range == IntegerRange::kIndefinite) return {0x80000000u, softamp::kInvalid};
  if (clamp) return {x.negative ? 0x80000000u : 0x7FFFFFFFu, softamp::kInvalid};
  return {word, softamp::kInvalid};
}

Rounded from_int32(int32_t value, const FloatFormat& f, const Semantics& s, uint32_t random) {
  return round_value(f, {value, 0}, policy(f, s), random);
}

Rounded round_to_integral(const FloatFormat& f, uint64_t a, const Semantics& s, bool exact, uint32_t random) {
  const Decoded x = operand(f, a, s);
  if (const auto r = nan_among(f, s, {x})) return *r;
  if (x.infinite()) return infinity_under(f, x.negative, policy(f, s));
  const ToInteger n = to_integer(x, s.wide, random);
  Rounded r = round_value(f, {n.value, 0}, policy(f, s), ~0u, x.negative);  // exact, and stays
  if (exact && n.inexact) r.flags = static_cast<uint8_t>(r.flags | (softamp::kInexact & s.wide.flags));
  return r;
}

}  // namespace oracle::exact
