// Which way a product goes, worked out once.
#include "emu/dispatch.h"
#include "emu/product_kernels.h"
#include "emu/product_ways.h"

namespace softamp::emu {
namespace {

const ProductKernels& products_of(bulk::InstructionSet set) {
  using bulk::InstructionSet;
  if (set == InstructionSet::kAuto) set = bulk::best_instruction_set();
  kernels_of(set);  // throws where it cannot be had
  switch (set) {
#if defined(SOFTAMP_HAS_AVX2)
    case InstructionSet::kAvx2: return kAvx2Products;
#endif
#if defined(SOFTAMP_HAS_AVX512)
    case InstructionSet::kAvx512: return kAvx512Products;
#endif
#if defined(SOFTAMP_HAS_AVX512FP16)
    case InstructionSet::kAvx512Fp16: return kAvx512Fp16Products;
#endif
    default: return kPortableProducts;
  }
}

/// What vectors take for granted of any product: rare rules go output by output.
bool needs_scalar(const kernel::ProductRules& r, const Semantics& s) {
  const RoundingPolicy &w = s.wide, &n = s.narrow;
  if (r.inner == kernel::AmpInner::kExactDot4 || r.flush_inner) return true;
  if (w.overflow != Overflow::kInfinity || w.overflow_rule != OverflowRule::kAfterRounding) return true;
  if (w.infinity != InfinityResult::kKeep || w.nan == NanPattern::kPropagate) return true;
  const bool halves = r.partials == kernel::PartialsType::kHalf || r.round_partials;
  if ((halves || r.output.storage_bits() <= 16) && n.nan == NanPattern::kPropagate) return true;
  const bool infinite_halves = n.infinity == InfinityResult::kKeep || n.overflow == Overflow::kInfinity;
  if (halves && infinite_halves && s.narrow_infinity != InfinityOperand::kIeee) return true;
  return r.exact_each && n.mode == RoundingMode::kDown;  // signs of zero sums
}

/// What the fast ways take for granted of the rounding; what overflows is done again by the careful way.
bool usual(const RoundPlan& p) {
  const bool flush_shows = p.operand_flush_below != 0 && p.operand_flush_sign == 0;
  return p.format == kFp16 && p.overflow_above == p.max_finite && p.flush_below == 0 && !flush_shows;
}

ProductPlan::Way way_of(const ProductPlan& plan) {
  using Way = ProductPlan::Way;
  const ProductKernels& k = *plan.kernels;
  const RoundPlan& p = plan.half;
  if (needs_scalar(plan.rules, plan.semantics)) return Way::kScalar;
  if (plan.rules.partials == kernel::PartialsType::kFloat) return Way::kFloat;
  const bool nearest = usual(p) && !p.stochastic && p.parity == 1;
  const bool carry = usual(p) && p.stochastic && p.half == 0 && p.random_bits <= 16;
  if (plan.rules.exact_each) {
    const bool halves = plan.rules.a == kFp16 && plan.rules.b == kFp16 &&
                        plan.semantics.narrow_infinity != InfinityOperand::kNextBinade;
    if (nearest && halves && k.native) return Way::kNative;
    if (nearest && k.nearest_each) return Way::kNearestEach;
    if (carry && k.carry_each && p.random_bits <= kMostTruncatedBits) return Way::kCarryEach;
    return Way::kGeneralEach;
  }
  if (nearest && k.nearest) return Way::kNearest;
  if (carry && k.carry) return Way::kCarry;
  return Way::kGeneral;
}

}  // namespace

ProductPlan::ProductPlan(const kernel::ProductRules& product_rules, const Semantics& preset, bulk::InstructionSet isa,
                         bool reference)
    : rules(product_rules), semantics(kernel::product_semantics(product_rules, preset)), kernels(&products_of(isa)) {
  half = plan_round(Element::kF32, kFp16, Element::kF32, semantics);
  const bool is_half_already =
      rules.partials == kernel::PartialsType::kHalf && !rules.independent && rules.output == kFp16;
  rounds_result = rules.output.storage_bits() <= 16 && !is_half_already;
  if (rounds_result) {
    result = plan_round(Element::kF32, rules.output, Element::kU16, semantics);
  } else {
    RoundingPolicy exact;
    exact.nan = semantics.narrow.nan;
    result = plan_round(Element::kF32, kFp16, Element::kU16, Semantics::ieee(exact));
  }
  const bool halves = rules.a == kFp16 && rules.b == kFp16;
  products_exact = halves;
  chain_can_overflow = !halves;
  way = reference ? Way::kScalar : way_of(*this);
  careful = way == Way::kScalar || way == Way::kFloat ? way : rules.exact_each ? Way::kGeneralEach : Way::kGeneral;
}

Schedule Schedule::plain(size_t k, size_t block, bool batch_sum) {
  Schedule s;
  const size_t partial = batch_sum ? kPartialLength : k;
  if (block == 0 || block > partial) block = partial;
  if (block == 0) return s;
  s.blocks.reserve(k / block + k / partial + 2);
  uint32_t number = 0;
  for (size_t begin = 0; begin < k; begin += partial) {
    const size_t end = begin + partial < k ? begin + partial : k;
    for (size_t at = begin; at < end; at += block) {
      const size_t length = end - at < block ? end - at : block;
      s.add(static_cast<uint32_t>(length), number++, batch_sum && at + length == end);
    }
  }
  return s;
}

}  // namespace softamp::emu
