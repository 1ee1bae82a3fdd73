#include "emu/bulk/plan.h"

#include "emu/bulk/unusual.h"
#include "softamp/numerics/convert.h"

namespace softamp::emu {
namespace {

constexpr uint32_t kAllBits = ~uint32_t{0};

uint32_t low_word(uint64_t x) { return static_cast<uint32_t>(x); }

float power_of_two(int exponent) {  // -126 .. 127
  return __builtin_bit_cast(float, static_cast<uint32_t>(exponent + 127) << 23);
}

/// Least fp32 magnitude (bit pattern) that is not below the non-negative double `x`; infinity's at most.
uint32_t fp32_from(double x) {
  RoundingPolicy up;
  up.mode = RoundingMode::kUp;
  return low_word(fp::convert(kBinary64, kFp32, __builtin_bit_cast(uint64_t, x), Semantics::ieee(up)).code);
}

/// The thresholds of the variants of N12 and N13: R random, r bits, s = 63 - r, up iff
///   carry  rest >= 2^64 - (2R << s)          half  rest >= X, X = 2^64 - ((2R + 1) << s)
///   rne    rest > X, or = X and R even       odd   rest > X, or = X and R odd
/// (a rest of X is the tie between the integers 2^r - R - 1 and 2^r - R, the latter even iff R is).
void set_stochastic(RoundPlan& plan, const RoundingPolicy& p) {
  const StochasticVariant variant = p.variant;
  plan.stochastic = p.stochastic();
  plan.random_bits = p.random_bits;
  plan.variant = variant;
  plan.at_least = p.stochastic() && variant == StochasticVariant::kAtLeast;
  plan.with_source = p.stochastic() && p.alignment == RandomAlignment::kAsIfNormal;
  plan.half = variant == StochasticVariant::kCarry ? 0 : 1;
  plan.start = variant == StochasticVariant::kOdd ? 0 : ~uint64_t{0};
  plan.odd_step = variant == StochasticVariant::kRne ? 1 : variant == StochasticVariant::kOdd ? ~uint64_t{0} : 0;
}

void set_thresholds(RoundPlan& plan, RoundingMode mode) {
  constexpr uint64_t kHalf = uint64_t{1} << 63, kNever = ~uint64_t{0};
  plan.parity = mode == RoundingMode::kNearestEven || mode == RoundingMode::kOdd ? 1 : 0;
  plan.nearest_even = mode == RoundingMode::kNearestEven;
  switch (mode) {
    case RoundingMode::kNearestEven: plan.threshold[0] = plan.threshold[1] = kHalf; break;
    case RoundingMode::kNearestAway: plan.threshold[0] = plan.threshold[1] = kHalf - 1; break;
    case RoundingMode::kTowardZero: plan.threshold[0] = plan.threshold[1] = kNever; break;
    case RoundingMode::kUp: plan.threshold[0] = 0, plan.threshold[1] = kNever; break;
    case RoundingMode::kDown: plan.threshold[0] = kNever, plan.threshold[1] = 0; break;
    case RoundingMode::kOdd: plan.threshold[0] = plan.threshold[1] = 0; break;  // less 1, where k is odd: kNever
    case RoundingMode::kStochastic: break;
  }
}

/// Where overflow is decided by the exact magnitude: the least binary64 magnitude that overflows.
uint64_t overflow_start(const FloatFormat& f, OverflowRule rule) {
  const double greatest = fp::to_double(f, f.max_finite_code());
  const auto bits = [](double x) { return __builtin_bit_cast(uint64_t, x); };
  if (rule == OverflowRule::kExact) return bits(greatest) + 1;
  const uint64_t exponent = bits(greatest) >> 52;
  if (rule == OverflowRule::kPower) return (exponent + 1) << 52;
  const double half_quantum = __builtin_bit_cast(double, (exponent - static_cast<uint64_t>(f.precision)) << 52);
  return bits(greatest + half_quantum);  // exact: precision + 1 <= 25 bits
}

}  // namespace

WidenPlan plan_widen(const FloatFormat& from, Element to, const Semantics& s) {
  WidenPlan plan{};
  const bool to_double = to == Element::kF64;
  const FloatFormat target = to_double ? kBinary64 : kFp32;
  const RoundingPolicy& p = s.wide;
  // Every finite code, shifted under fp32's exponent field, must be a finite fp32 number, and so must its value.
  const bool moved_is_finite = from.exponent_bits < 8 || from.specials == Specials::kIeee;
  plan.vectorised = p.usual() && moved_is_finite && from.bias >= 0 && from.bias <= 127 && from.max_exponent() <= 127;
  if (!plan.vectorised) return plan;
  plan.magnitude_mask = low_word(from.magnitude_mask());
  plan.sign_shift = static_cast<uint32_t>(32 - from.storage_bits());
  plan.mantissa_shift = static_cast<uint32_t>(24 - from.precision);
  plan.scale = power_of_two(127 - from.bias);
  plan.greatest = low_word(from.max_finite_code());
  plan.infinity = from.has_infinity() ? low_word(from.infinity_code()) : kAllBits;
  plan.sign_alone_is_nan = !from.has_negative_zero();
  plan.propagate_nan = p.nan == NanPattern::kPropagate && from.specials == Specials::kIeee;
  plan.quiet_bit = from.specials == Specials::kIeee ? low_word(from.quiet_bit()) : 0;

  // Infinities become what the scalar reference makes of them.
  for (uint64_t negative = 0; negative < 2 && from.has_infinity(); ++negative) {
    const uint64_t code = from.infinity_code() | (negative ? from.sign_mask() : 0);
    const Rounded r = fp::convert(from, target, code, s);
    plan.infinity32[negative] = low_word(r.code);
    plan.infinity64[negative] = r.code;
    plan.on_infinity = r.flags;
  }
  plan.nan64 = nan_code(target, p.nan);
  plan.nan32 = low_word(plan.nan64);
  plan.on_signaling_nan = kInvalid & p.flags;
  plan.on_quiet_nan = s.quiet_nan_is_invalid ? plan.on_signaling_nan : 0;

  if (detail::is_wide(from) && s.wide_operands_flushed) {
    plan.flush_below = low_word(from.min_normal_code());
    plan.flush_sign = s.operand_flush_sign == FlushSign::kSame ? kAllBits : 0;
  } else if (!to_double && p.subnormals != Subnormals::kKeep) {
    // The code of 2^-126, if that is in reach: it is not above the least normal code, since bias <= 127.
    const int shift = kFp32.min_exponent() - from.min_quantum();
    if (shift > 0) plan.flush_below = uint32_t{1} << shift;
    plan.flush_sign = p.subnormals == Subnormals::kFlush ? kAllBits : 0;
  }
  return plan;
}

// implements: N29, N39
RoundPlan plan_round(Element from, const FloatFormat& to, Element out, const Semantics& s) {
  RoundPlan plan{};
  const RoundingPolicy& p = s.rounding(to);
  plan.format = to;
  plan.precision = to.precision;
  plan.min_exponent = to.min_exponent();
  plan.max_finite = low_word(to.max_finite_code());
  plan.min_normal = low_word(to.min_normal_code());
  plan.sign_shift = static_cast<uint32_t>(32 - to.storage_bits());
  plan.has_negative_zero = to.has_negative_zero() && p.signed_zeros;
  plan.usual = p.usual();
  set_thresholds(plan, p.mode);
  set_stochastic(plan, p);

  const FloatFormat source = from == Element::kF64 ? kBinary64 : kFp32;
  for (const bool negative : {false, true}) {
    const Rounded overflow = detail::pack_overflow(to, negative, p);
    const Rounded infinity = pack_infinity(to, negative, p);
    plan.overflow[negative] = low_word(overflow.code);
    plan.infinity[negative] = low_word(infinity.code);
    plan.on_overflow = overflow.flags;
    plan.on_infinity = infinity.flags;
  }
  plan.nan = low_word(nan_code(to, p.nan));
  const bool nan_has_sign = (p.nan == NanPattern::kInfinity && to.has_infinity()) ||
                            (p.nan == NanPattern::kSigned && to.specials != Specials::kNegativeZeroNan);
  plan.nan_sign = nan_has_sign ? low_word(to.sign_mask()) : 0;
  plan.propagate_nan = p.nan == NanPattern::kPropagate && to.specials == Specials::kIeee;
  plan.nan_head = low_word(to.infinity_code() | to.quiet_bit());
  plan.tiny_before = p.tininess == Tininess::kBeforeRounding;
  plan.on_inexact = kInexact & p.flags;
  plan.on_underflow = kUnderflow & p.flags;
  plan.on_signaling_nan = kInvalid & p.flags;
  plan.on_quiet_nan = s.quiet_nan_is_invalid || !to.has_nan() ? plan.on_signaling_nan : 0;

  constexpr uint32_t kInfinity32 = 0x7F800000u;
  constexpr uint64_t kInfinity64 = uint64_t{0x7FF} << 52;
  plan.overflow_from32 = kInfinity32;
  plan.overflow_from64 = kInfinity64;
  if (p.overflow_rule == OverflowRule::kAfterRounding) {
    plan.overflow_above = plan.max_finite;
  } else {
    plan.overflow_above = kAllBits;
    plan.overflow_from64 = overflow_start(to, p.overflow_rule);
    plan.overflow_from32 = fp32_from(__builtin_bit_cast(double, plan.overflow_from64));
  }
  if (p.subnormals != Subnormals::kKeep) {
    plan.flush_below = plan.min_normal;
    plan.flush_sign = p.subnormals == Subnormals::kFlush ? kAllBits : 0;
  }
  if (from == Element::kF32 && s.wide_operands_flushed) {
    plan.operand_flush_below = low_word(source.min_normal_code());
    plan.operand_flush_sign = s.operand_flush_sign == FlushSign::kSame ? kAllBits : 0;
  }
  if (out == Element::kF32) plan.values = plan_widen(to, Element::kF32, Semantics::ieee());
  // 32-bit lanes: fp32's subnormals must be subnormal in `to` as well, and the rest must have room for R
  // (round_body.h), which with the source lies up to `precision` bits lower; then they must be so far below that no R
  // matters, since their own leading bit is not looked for.
  const int read = plan.stochastic ? plan.random_bits + (plan.with_source ? plan.precision : 0) : 0;
  const int least = kFp32.min_exponent() + (plan.with_source ? kFp32.precision + 1 : 0);
  plan.lanes32 = plan.min_exponent >= least && plan.min_exponent <= 127 && read <= 30;
  return plan;
}

ArithmeticPlan plan_arithmetic(Operation operation, const Semantics& s) {
  ArithmeticPlan plan{};
  const RoundingPolicy& p = s.rounding(kFp16);
  plan.operation = operation;
  plan.round = plan_round(Element::kF64, kFp16, Element::kU16, s);
  plan.semantics = s;
  const bool sum = operation == Operation::kAdd || operation == Operation::kSub || operation == Operation::kFma;
  plan.zero_sum_negative = sum && p.mode == RoundingMode::kDown;
  plan.by_way_of_fp32 = operation == Operation::kDiv && s.divide_by_way_of_fp32;
  // Quotients of halves are normal in fp32, so of the wide policy only the mode and an inexact flag matter there.
  const bool wide_serves =
      s.wide.mode == RoundingMode::kNearestEven && (s.wide.flags & kInexact) == 0 && s.wide.usual();
  // Values rounded to odd have 53 bits: 11 for the result, and more than enough below it for an R that stays with the
  // source.
  const bool bits_serve = !plan.round.with_source || odd_double_serves(kFp16, p);
  plan.vectorised = (!plan.by_way_of_fp32 || wide_serves) && bits_serve;
  return plan;
}

}  // namespace softamp::emu
