// Which plans the fast kernels serve.
#include "emu/bulk/kernels.h"

namespace softamp::emu {
namespace {

/// What the fast kernels assume of any plan, beside fp16: overflow after rounding, gradual underflow, one NaN.
bool plain_half(const RoundPlan& p) {
  return p.usual && p.format == kFp16 && p.overflow_above == p.max_finite && !p.propagate_nan && p.flush_below == 0;
}
/// MXCSR reports inexact for overflows, too.
bool overflow_is_inexact(const RoundPlan& p) { return (p.on_inexact & ~p.on_overflow) == 0; }
bool nearest(const RoundPlan& p) { return plain_half(p) && p.nearest_even && overflow_is_inexact(p); }
bool carry(const RoundPlan& p, const KernelTable& table) {
  const bool variant_carry = p.half == 0;
  return plain_half(p) && p.stochastic && variant_carry && p.random_bits <= table.carry_bits && overflow_is_inexact(p);
}

}  // namespace

RoundKernel choose(const KernelTable& table, const RoundPlan& plan, Element from, Element to) {
  // A flushed fp32 subnormal rounds to the zero that it is flushed to; only its sign and its flags can differ.
  const bool flush_shows =
      plan.operand_flush_below != 0 && (plan.operand_flush_sign == 0 || (plan.on_inexact | plan.on_underflow) != 0);
  const bool plain_nan = to == Element::kU16 || (to == Element::kF32 && plan.nan == 0x7E00);
  if (from == Element::kF32 && plain_nan && !flush_shows) {
    if (table.half_nearest && nearest(plan)) return table.half_nearest;
    if (table.half_carry && carry(plan, table)) return table.half_carry;
  }
  if (from == Element::kF32 && !flush_shows && nearest_serves(plan)) return table.nearest;
  return from == Element::kF32 && aligned_serves(plan) ? table.aligned : table.round;
}

bool nearest_serves(const RoundPlan& p) {
  if (!p.nearest_even || p.tiny_before || !p.lanes32 || p.flush_below != 0 || p.precision > 22) return false;
  if (p.min_exponent == -126)
    return p.format.exponent_bits == 8 && p.format.max_exponent() <= 127 && p.operand_flush_below == 0;
  // fp32 must have the shifter of the greatest numbers; and what is flushed must round to zero.
  return p.format.max_exponent() + 24 - p.precision <= 126 && p.min_exponent - p.precision > -126;
}

bool aligned_serves(const RoundPlan& p) {
  if (!p.stochastic || !p.lanes32 || p.overflow_above != p.max_finite) return false;
  if (p.format.max_exponent() > 127) return false;  // fp32's infinity would be a finite code of the format
  // Unsigned zeros must not occur together with zeros that keep their sign.
  const bool some_positive =
      (p.flush_below != 0 && p.flush_sign == 0) || (p.operand_flush_below != 0 && p.operand_flush_sign == 0);
  if (some_positive && p.has_negative_zero) return false;
  if (p.min_exponent == -126)
    return !p.with_source && p.format.exponent_bits == 8 && p.format.bias == 127 && p.precision < 24;
  // A subnormal of fp32 must lie below all bits that are read; and A must reach as low as R does.
  const int read = p.random_bits + (p.half == 0 || p.at_least ? 0 : p.odd_step == 0 ? 1 : 2);
  return p.min_exponent >= 34 - 127 && read <= 24 - p.precision + kAlignedGuard;
}

ArithmeticKernel choose(const KernelTable& table, const ArithmeticPlan& plan) {
  // With fp32 in between, MXCSR would report the first rounding, too.
  const bool told_twice = plan.by_way_of_fp32 && (plan.round.on_inexact | plan.round.on_underflow) != 0;
  if (plan.semantics.narrow_infinity == InfinityOperand::kIeee && !told_twice) {
    if (table.arithmetic_nearest && nearest(plan.round)) return table.arithmetic_nearest;
    if (table.arithmetic_carry && carry(plan.round, table)) return table.arithmetic_carry;
  }
  return table.arithmetic;
}

}  // namespace softamp::emu
