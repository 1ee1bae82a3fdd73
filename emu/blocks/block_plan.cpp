#include "emu/blocks/block_plan.h"

#include <bit>
#include <cmath>

#include "emu/blocks/better_scales.h"

namespace softamp::emu {
namespace {

using Family = block::BlockFamily;

float number_of(uint32_t code) { return std::bit_cast<float>(code); }
uint32_t power_code(int exponent) { return static_cast<uint32_t>(exponent + 127) << 23; }

/// Whether all that the kernels add and multiply are normal numbers of fp32, with room for sticky bits below.
bool fits_fp32(const block::Element& e) {
  if (e.integer) return e.fixed.quantum_exponent > -90 && e.fixed.quantum_exponent < 90;
  const FloatFormat& f = e.format;
  return f.min_exponent() > -64 && f.max_exponent() < 64;
}

ElementPlan plan_block_element(const block::Element& e, const RoundingPolicy& p) {
  ElementPlan plan{};
  plan.integer = e.integer;
  const int bits = e.storage_bits();
  plan.sign_shift = 32 - bits;
  if (e.integer) {
    const int quantum = e.fixed.quantum_exponent;
    plan.quantum = number_of(power_code(quantum));
    plan.least = static_cast<float>(e.fixed.least) * plan.quantum;
    plan.greatest = static_cast<float>(e.fixed.greatest) * plan.quantum;
    plan.shifter = number_of(power_code(quantum + 23)) * 1.5F;
    plan.magnitude_mask = static_cast<uint32_t>(e.code_mask());
    plan.exponent_shift = 24 - bits;
    plan.least_field = static_cast<uint32_t>(quantum + 127 + bits - 1);
    return plan;
  }
  const FloatFormat& f = e.format;
  const int field = f.exponent_bits, mantissa = f.precision - 1, low = f.min_exponent();
  plan.exponent_shift = 24 - f.precision;
  plan.keeps_zero_signs = p.signed_zeros && f.has_negative_zero();
  plan.greatest =
      number_of(static_cast<uint32_t>(round_and_pack(kFp32, block::exact(e, e.max_code()), RoundingPolicy{}).code));
  plan.least_power = power_code(low);
  const uint32_t bias = static_cast<uint32_t>(low + plan.exponent_shift + 127) & ((1u << field) - 1);
  const uint32_t c = (((1u << field) - bias) & ((1u << field) - 1)) << mantissa;
  plan.shifter = number_of(power_code(plan.exponent_shift) + c);
  plan.least_field = static_cast<uint32_t>(low + 127);
  plan.code_base = ((0u - (plan.least_field << mantissa)) & ((1u << (bits - 1)) - 1)) << plan.exponent_shift;
  plan.magnitude_mask = (1u << (bits - 1)) - 1;
  plan.quantum = number_of(power_code(low - mantissa));
  plan.first_normal = 1u << mantissa;
  plan.rebase = power_code(low) - (1u << 23);
  plan.greatest_code = static_cast<uint32_t>(e.max_code());
  plan.infinity_code = f.has_infinity() ? static_cast<uint32_t>(f.infinity_code()) : ~0u;
  plan.sign_alone_is_nan = !f.has_negative_zero() && f.has_nan();
  return plan;
}

/// Sets what is added under `p`; false: that is no addition of bits that fp32 has.
bool plan_addend(const RoundingPolicy& p, ElementPlan& plan) {
  const int below = plan.exponent_shift;
  switch (p.mode) {
    case RoundingMode::kTowardZero: return true;
    case RoundingMode::kNearestAway: plan.addend_base = 1u << (below - 1); return true;
    case RoundingMode::kStochastic: break;
    default: return false;
  }
  const bool half = p.variant == StochasticVariant::kHalf;
  if ((!half && p.variant != StochasticVariant::kCarry) || p.alignment != RandomAlignment::kTopOfDiscarded)
    return false;
  plan.addend_shift = below - p.random_bits;
  if (plan.addend_shift < (half ? 1 : 0)) return false;
  if (half) plan.addend_base = 1u << (plan.addend_shift - 1);
  return true;
}

ScalePlan plan_block_scale(const BlockCall& c) {
  using namespace block;
  const block::BlockFormat& f = c.format;
  ScalePlan plan{};
  plan.family = c.family;
  plan.has_infinity = !c.element.integer && c.element.format.has_infinity();
  switch (c.family) {
    case Family::kMx: {
      plan.mx_rule = f.mx.scale;
      plan.max_exponent = c.element.max_exponent();
      plan.half = uint32_t{1} << (22 - c.element.mantissa_bits());
      const uint64_t most = round_and_pack(kFp32, exact(c.element, c.element.max_code()), RoundingPolicy{}).code;
      plan.reciprocal = number_of(detail32::div(detail32::kOne, static_cast<uint32_t>(most)));
      break;
    }
    case Family::kNvfp4:
      plan.nvfp4_rule = f.nvfp4.rule;
      plan.encode = number_of(c.tensor.encode);
      plan.decode = number_of(c.tensor.decode);
      plan.encode_sixth = number_of(detail32::mul(c.tensor.encode, 0x3E2AAAABu));
      plan.tensor_amax = number_of(c.tensor.amax);
      plan.largest_product = number_of(f.nvfp4.largest_product());
      plan.of_both = number_of(detail32::div(detail32::kOne, f.nvfp4.largest_product()));
      plan.chooses = f.chooses_scale();
      plan.squares = f.nvfp4.four_over_six == FourOverSix::kMse;
      plan.expand = 1;
      break;
    case Family::kFp8:
      plan.fp8_rule = f.fp8.rule;
      plan.powers_of_two = f.fp8.powers_of_two;
      plan.least_amax = f.fp8.rule == Fp8Rule::kTransformerEngine ? f.fp8.least_amax : 0x38D1B717u;
      plan.largest_factor = number_of(f.fp8.largest_factor);
      plan.most = number_of(detail32::widened(c.element.format, c.element.max_code()));
      break;
    case Family::kPlain: break;
  }
  return plan;
}

}  // namespace

BlockPlan::BlockPlan(const BlockCall& c, bool quantizes) {
  const block::BlockFormat& f = c.format;
  const RoundingPolicy& p = c.rounding;
  const bool mx = c.family == Family::kMx;
  if (!fits_fp32(c.element)) return;
  element = plan_block_element(c.element, p);
  element.sticky = mx;
  scale = plan_block_scale(c);
  vector_scales = !(mx && f.mx.scale == block::ScaleRule::kMicroxcaling);
  if (!quantizes) {
    way = Way::kNearest;
    return;
  }
  if (c.options.status || (mx && f.mx.three_quarters)) return;
  if (f.chooses_scale()) {
    wider = scale;
    wider.expand = 1.5F;
    const bool kept = p.mode == RoundingMode::kNearestEven && p.subnormals == Subnormals::kKeep;
    if (kept && c.size == kChoosingBlock && c.rows == 1 && c.inner == 1) way = Way::kNearest;
    return;
  }
  if (p.mode == RoundingMode::kNearestEven && p.subnormals == Subnormals::kKeep) {
    way = Way::kNearest;
    return;
  }
  random.source = c.random;
  random.operation = c.options.random.operation;
  random.step = c.options.random.step;
  random.first_index = c.options.random.first_index;
  if (p.subnormals == Subnormals::kKeep && plan_addend(p, element)) {
    way = Way::kAdded;
    return;
  }
  if (c.element.integer) return;
  way = Way::kScaled;
  round = plan_round(Element::kF32, c.element.format, Element::kU8, Semantics::ieee(p));
}

}  // namespace softamp::emu
