#include "emu/elementwise/element_ways.h"

#include "emu/bulk/dispatch.h"
#include "emu/bulk/unusual.h"

namespace softamp::emu {
namespace {

using kernel::Elementwise;

bool divides(Elementwise op) {
  return op == Elementwise::kDiv || op == Elementwise::kReciprocal || op == Elementwise::kSqrt ||
         op == Elementwise::kRsqrt;
}

uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }

LaneParameters parameters_of(Elementwise op, const FloatFormat& f, const Semantics& s, bool by_way_of_fp32) {
  LaneParameters p;
  const RoundingPolicy& policy = s.rounding(f);
  const bool narrow = f.storage_bits() <= 16;
  const uint32_t infinity = low(f.infinity_code());
  const bool plain_infinity = !narrow || s.narrow_infinity == InfinityOperand::kIeee;
  p.infinity = infinity;
  // A NaN operand may raise flags; so may an infinity that counts as another number.
  if (kernel::is_comparison(op) && op != Elementwise::kIsNan && op != Elementwise::kIsFinite)
    p.infinity = plain_infinity ? infinity + 1 : infinity;
  if (op == Elementwise::kReluGrad && !plain_infinity) p.infinity = infinity - 1;
  p.sign = low(f.sign_mask());
  p.rare_from = plain_infinity && policy.infinity == InfinityResult::kKeep ? infinity + 1 : infinity;
  p.six = low(fp::from_double(f, 6.0));
  const uint32_t min_normal32 = 0x00800000u;
  if (!narrow && s.wide_operands_flushed) p.flush_below = min_normal32;
  if (s.operand_flush_sign == FlushSign::kPositive) p.flush_sign = 0;
  if ((!narrow || by_way_of_fp32) && s.wide.subnormals == Subnormals::kFlush) p.result_flush_below = min_normal32;
  // Before its conversion to a half the quotient is an fp32 operand.
  if (by_way_of_fp32 && s.wide_operands_flushed) p.result_flush_below = min_normal32;
  p.zero_is_rare = policy.mode == RoundingMode::kDown;
  set_results(p, f, s);
  return p;
}

}  // namespace

Semantics of_results(const Semantics& s) {
  Semantics r = s;
  r.wide_operands_flushed = false;
  return r;
}

Way staged(LaneKernel form, Element values, const FloatFormat& to, const Semantics& s, bulk::InstructionSet isa) {
  Way way;
  const Element codes = to.storage_bits() <= 16 ? Element::kU16 : Element::kU32;
  way.form = form;
  way.values = values;
  way.plan = plan_round(values, to, codes, of_results(s));
  way.round = choose(kernels_of(isa), way.plan, values, codes);
  const RoundingPolicy& p = s.rounding(to);
  const bool nearest = p.mode == RoundingMode::kNearestEven && p.subnormals == Subnormals::kKeep && p.usual();
  if (to == kBf16 && values == Element::kF32 && nearest) way.to_bf16 = lanes_of(isa).move(LaneMove::kFp32ToBf16);
  way.one_nan = one_nan(s, to);
  set_results(way.parameters, to, s);
  return way;
}

void set_results(LaneParameters& parameters, const FloatFormat& f, const Semantics& s) {
  const RoundingPolicy& p = s.rounding(f);
  parameters.nan = low(nan_code(f, p.nan));
  parameters.infinity_stays = f == kFp32 && p.overflow == Overflow::kInfinity && p.infinity == InfinityResult::kKeep &&
                              p.overflow_rule == OverflowRule::kAfterRounding && p.mode == RoundingMode::kNearestEven;
}

Rounding round_block(const Way& way, const RandomPlan& random, const Slice& slice, uint8_t wanted) {
  if (way.to_bf16 && !(wanted & (kInexact | kUnderflow))) {
    Suspects known;  // to who made the values
    Suspects* const noted = way.one_nan ? &known : nullptr;
    return {way.to_bf16({{slice.in[0]}, slice.out, slice.count, slice.stream, &way.parameters, noted}), 0};
  }
  const Element codes = way.plan.format.storage_bits() <= 16 ? Element::kU16 : Element::kU32;
  return {0, way.round(way.plan, random, way.values, codes, slice, wanted)};
}

Ways ways_of(Elementwise op, DType t, const Semantics& s, bulk::InstructionSet isa, LaneParameters& parameters) {
  const LaneTable& table = lanes_of(isa);
  const FloatFormat f = format_of(t);
  const RoundingPolicy& policy = s.rounding(f);
  const bool narrow = t != DType::kFloat32;
  const bool by_way = divides(op) && narrow && s.divide_by_way_of_fp32;
  const bool nearest = policy.mode == RoundingMode::kNearestEven;
  const float alpha = parameters.alpha;
  parameters = parameters_of(op, f, s, by_way);
  parameters.alpha = alpha;
  Ways ways;
  // A zero that flushing makes positive cannot be distinguished from an unflushed negative one.
  const bool signed_flush = s.wide.subnormals != Subnormals::kFlushToPositive;

  if (kernel::is_comparison(op)) {
    ways.silent.form = table.form(narrow ? LaneForm::kCompare16 : LaneForm::kCompare32, op);
    ways.telling = ways.silent;
    return ways;
  }
  if (kernel::is_selection(op)) {
    if (policy.signed_zeros && (narrow ? policy.subnormals == Subnormals::kKeep : signed_flush))
      ways.silent.form = table.form(narrow ? LaneForm::kCode16 : LaneForm::kCode32, op);
    ways.telling = ways.silent;
    return ways;
  }
  // Infinities that count as other numbers cannot always be seen in a result.
  if (narrow && s.narrow_infinity != InfinityOperand::kIeee) return ways;
  const LaneForm to32 = t == DType::kFloat16 ? LaneForm::kFp16To32 : LaneForm::kBf16To32;
  const LaneForm to64 = t == DType::kFloat16    ? LaneForm::kFp16To64
                        : t == DType::kBFloat16 ? LaneForm::kBf16To64
                                                : LaneForm::kFp32To64;
  if (kernel::is_fp32_inside(op)) {
    if (narrow)
      ways.silent = staged(table.form(to32, op), Element::kF32, f, s, isa);
    else if (signed_flush && policy.usual())
      ways.silent.form = table.form(LaneForm::kFp32, op);
    ways.telling = ways.silent;
    return ways;
  }

  // Arithmetic. From binary64 rounded to odd any policy can follow, if the last of its bits is not read.
  if (const LaneKernel form = table.form(to64, op); form && odd_double_serves(f, policy))
    ways.telling = staged(form, Element::kF64, f, s, isa);
  if (by_way) {
    const bool fp32_serves = s.wide.mode == RoundingMode::kNearestEven && s.wide.usual() && signed_flush &&
                             !(s.wide_operands_flushed && s.operand_flush_sign == FlushSign::kPositive);
    const bool flags_unseen = (s.wide.flags & (kInexact | kUnderflow)) == 0;
    if (fp32_serves) ways.silent = staged(table.form(to32, op), Element::kF32, f, s, isa);
    ways.telling = flags_unseen ? ways.silent : Way{};
  } else if (!nearest || op == Elementwise::kRsqrt) {
    ways.silent = ways.telling;
  } else if (narrow) {
    ways.silent = staged(table.form(to32, op), Element::kF32, f, s, isa);  // an innocent double rounding (N405)
  }
  if (t == DType::kBFloat16 && nearest && policy.subnormals == Subnormals::kKeep && policy.usual() && ways.silent.form)
    if (const LaneKernel form = table.form(LaneForm::kBf16, op)) {
      ways.silent = {};
      ways.silent.form = form;
    }
  if (!narrow && nearest && signed_flush && policy.usual()) {
    ways.silent = {};
    ways.silent.form = table.form(LaneForm::kFp32, op);
    ways.silent.told_by_mxcsr = true;
    ways.telling = ways.silent;
  }
  return ways;
}

}  // namespace softamp::emu
