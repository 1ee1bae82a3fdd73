// What an update of an optimizer is made of for the engine: the rule of the node, its dtypes, and the arrays of a call.
#pragma once

#include "emu/op_kernel.h"
#include "softamp/kernel/optimizer.h"

namespace softamp::emu {

/// A node of one of the Apply operations. Inputs: var, slots, rates, gradient, apply; outputs: var, slots.
struct UpdateNode {
  explicit UpdateNode(const OpContext& c);

  kernel::UpdateRule rule;
  DType var, slot, grad;
  uint32_t slots;                ///< 0 .. 2
  size_t rate, gradient, apply;  ///< places among the inputs; decay follows rate
  size_t size;
  bool decays;

  DType type_of_site(uint32_t site) const { return site == 0 ? var : slot; }
  const FloatFormat& format_of_site(uint32_t site) const { return site == 0 ? rule.var : rule.slot; }
  uint32_t sites() const { return 1 + slots; }
  kernel::UpdateRates rates(const OpCall& call) const;
  /// Element i by the body.
  kernel::Updated element(const OpCall& call, const kernel::UpdateRates& rates, size_t i) const;
};

}  // namespace softamp::emu
