#include "softamp/engine/optimizer_node.h"

#include "softamp/graph/operation.h"

namespace softamp::engine {
namespace {

using kernel::Update;

/// An attribute as the rule takes it: of binary64 as it is, else fp32, to nearest for any MXCSR of the caller.
// implements: N239
double rounded(const OpContext& c, const char* name) {
  const double value = attribute<double>(c.node, name);
  if (c.inputs[0].dtype == DType::kFloat64) return value;
  return static_cast<double>(fp::to_float(kBinary64, __builtin_bit_cast(uint64_t, value)));
}

// implements: N235
Update update_of(const Node& node) {
  if (node.op == "ApplyGradientDescent") return Update::kGradientDescent;
  if (node.op == "ApplyMomentum") return attribute<bool>(node, "use_nesterov") ? Update::kNesterov : Update::kMomentum;
  if (node.op == "ApplyCompensated") return Update::kCompensated;
  return node.op == "ApplyRMSProp" ? Update::kRmsProp : Update::kAdam;
}

kernel::WeightRounding rounding_of(const Node& node) {
  using kernel::WeightRounding;
  const auto name = attribute<std::string>(node, "weight_update");
  return name == "nearest"      ? WeightRounding::kNearest
         : name == "stochastic" ? WeightRounding::kStochastic
         : name == "step"       ? WeightRounding::kStep
                                : WeightRounding::kPolicy;
}

}  // namespace

UpdateNode::UpdateNode(const OpContext& c)
    : var(c.inputs[0].dtype), size(static_cast<size_t>(c.inputs[0].shape.elements())) {
  rule.update = update_of(c.node);
  slots = kernel::slots_of(rule.update);
  decays = rule.update == Update::kAdam;
  rated = rule.update != Update::kCompensated;
  if (rated) rule.rounding = rounding_of(c.node);
  rate = 1 + slots;
  gradient = rate + (decays ? 2 : rated ? 1 : 0);
  apply = gradient + 1;
  grad = c.inputs[gradient].dtype;
  slot = slots ? c.inputs[1].dtype : var;
  rule.var = format_of(var);
  rule.slot = format_of(slot);
  rule.grad = format_of(grad);
  switch (rule.update) {
    case Update::kGradientDescent:
    case Update::kCompensated: break;
    case Update::kMomentum:
    case Update::kNesterov: rule.share = rounded(c, "momentum"); break;
    case Update::kRmsProp:
      rule.share = rounded(c, "rho");
      rule.second_share = rounded(c, "momentum");
      rule.epsilon = rounded(c, "epsilon");
      break;
    case Update::kAdam:
      rule.share = rounded(c, "beta1");
      rule.second_share = rounded(c, "beta2");
      rule.epsilon = rounded(c, "epsilon");
      break;
  }
}

OpKernel::SiteRoundings UpdateNode::roundings(uint32_t site, const Semantics& s) const {
  const bool draws = site < sites() && semantics_of_site(site, s).draws(format_of_site(site));
  return draws ? OpKernel::SiteRoundings{1, size} : OpKernel::SiteRoundings{};
}

std::vector<uint64_t> UpdateNode::operands_at(const void* const* in, uint64_t index) const {
  if (grad != var || slot != var) return {};
  std::vector<uint64_t> codes;
  for (uint32_t k = 0; k < sites(); ++k) codes.push_back(kernel::Elements{in[k], rule.var}.code(index));
  codes.push_back(kernel::Elements{in[gradient], rule.var}.code(index));
  return codes;
}

}  // namespace softamp::engine
