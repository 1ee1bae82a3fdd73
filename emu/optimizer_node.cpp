// What a node of an update says, and its elements by the body.
#include "emu/optimizer.h"

namespace softamp::emu {
namespace {

using kernel::Update;

/// To nearest whatever the caller's MXCSR.
float rounded_to_fp32(const Node& node, const char* name) {
  return fp::to_float(kBinary64, __builtin_bit_cast(uint64_t, attribute<double>(node, name)));
}

Update update_of(const Node& node) {
  if (node.op == "ApplyGradientDescent") return Update::kGradientDescent;
  if (node.op == "ApplyMomentum") return attribute<bool>(node, "use_nesterov") ? Update::kNesterov : Update::kMomentum;
  return node.op == "ApplyRMSProp" ? Update::kRmsProp : Update::kAdam;
}

}  // namespace

UpdateNode::UpdateNode(const OpContext& c)
    : var(c.inputs[0].dtype), size(static_cast<size_t>(c.inputs[0].shape.elements())) {
  rule.update = update_of(c.node);
  slots = kernel::slots_of(rule.update);
  decays = rule.update == Update::kAdam;
  rate = 1 + slots;
  gradient = rate + (decays ? 2 : 1);
  apply = gradient + 1;
  grad = c.inputs[gradient].dtype;
  slot = slots ? c.inputs[1].dtype : var;
  rule.var = format_of(var);
  rule.slot = format_of(slot);
  rule.grad = format_of(grad);
  switch (rule.update) {
    case Update::kGradientDescent: break;
    case Update::kMomentum:
    case Update::kNesterov: rule.share = rounded_to_fp32(c.node, "momentum"); break;
    case Update::kRmsProp:
      rule.share = rounded_to_fp32(c.node, "rho");
      rule.second_share = rounded_to_fp32(c.node, "momentum");
      rule.epsilon = rounded_to_fp32(c.node, "epsilon");
      break;
    case Update::kAdam:
      rule.share = rounded_to_fp32(c.node, "beta1");
      rule.second_share = rounded_to_fp32(c.node, "beta2");
      rule.epsilon = rounded_to_fp32(c.node, "epsilon");
      break;
  }
}

kernel::UpdateRates UpdateNode::rates(const OpCall& call) const {
  const auto scalar = [&](size_t input) { return uint64_t{*static_cast<const uint32_t*>(call.in[input])}; };
  return {scalar(rate), decays ? scalar(rate + 1) : 0};
}

kernel::Updated UpdateNode::element(const OpCall& call, const kernel::UpdateRates& r, size_t i) const {
  kernel::UpdateOperands x;
  x.var = kernel::Elements{call.in[0], rule.var}.code(i);
  for (uint32_t k = 0; k < slots; ++k) x.slot[k] = kernel::Elements{call.in[1 + k], rule.slot}.code(i);
  x.grad = kernel::Elements{call.in[gradient], rule.grad}.code(i);
  return kernel::updated(rule, r, x, call.environment, i);
}

}  // namespace softamp::emu
