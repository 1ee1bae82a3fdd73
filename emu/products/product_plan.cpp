// Which way a product goes, worked out once.
#include "emu/bulk/dispatch.h"
#include "emu/bulk/unusual.h"
#include "emu/products/product_kernels.h"
#include "emu/products/product_ways.h"
#include "softamp/engine/product_node.h"

namespace softamp::emu {
namespace {

const ProductKernels& products_of(bulk::InstructionSet set) {
  using bulk::InstructionSet;
  if (set == InstructionSet::kAuto) set = bulk::best_instruction_set();
  kernels_of(set);  // throws if it is unavailable
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
#if defined(SOFTAMP_HAS_NEON)
    case InstructionSet::kNeon: return kNeonProducts;
#endif
    default: return kPortableProducts;
  }
}

/// What the fast ways assume of the rounding; the careful way computes overflows again.
bool usual_products(const RoundPlan& p) {
  const bool flush_shows = p.operand_flush_below != 0 && p.operand_flush_sign == 0;
  return p.usual && p.format == kFp16 && p.overflow_above == p.max_finite && p.flush_below == 0 && !flush_shows;
}

bool carries(const RoundPlan& p) { return usual_products(p) && p.stochastic && p.half == 0 && p.random_bits <= 16; }

ProductPlan::Way way_of(const ProductPlan& plan) {
  using Way = ProductPlan::Way;
  const ProductKernels& k = *plan.kernels;
  const RoundPlan& p = plan.half;
  if (is_tensor_core(plan.rules.accumulator)) {
    return plan.rules.a == plan.rules.b && kernel::core_of(plan.rules).exists() ? Way::kTensorCore : Way::kScalar;
  }
  // Only the final rounding reads random bits of float partials, and RoundPlan knows every place of them.
  Semantics s = plan.semantics;
  const bool at_the_end = plan.rules.partials == kernel::PartialsType::kFloat && !plan.rules.round_partials;
  if (at_the_end && only_bits_lie_elsewhere(s.narrow)) s.narrow.alignment = RandomAlignment::kTopOfDiscarded;
  if (engine::needs_body(plan.rules, s)) return Way::kScalar;
  if (plan.rules.partials == kernel::PartialsType::kFloat) return Way::kFloat;
  const bool nearest = usual_products(p) && p.nearest_even;
  const bool carry = carries(p);
  if (plan.rules.exact_each) {
    const bool halves = plan.rules.a == kFp16 && plan.rules.b == kFp16 &&
                        plan.semantics.narrow_infinity != InfinityOperand::kNextBinade;
    if (nearest && halves && k.native) return Way::kNative;
    if (nearest && k.nearest_each && (plan.products_exact || !k.exact_products_only)) return Way::kNearestEach;
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
  carries_result = rounds_result && kernels->result && carries(result);
  products_exact = halves;
  chain_can_overflow = !halves;
  way = reference ? Way::kScalar : way_of(*this);
  const bool its_own = way == Way::kScalar || way == Way::kTensorCore || way == Way::kFloat;
  careful = its_own ? way : rules.exact_each ? Way::kGeneralEach : Way::kGeneral;
}

}  // namespace softamp::emu
