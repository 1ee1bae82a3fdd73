// An optimizer's update as engines see it: its rule, its dtypes, and the positions of its tensors among inputs and
// outputs.
#pragma once

#include "softamp/engine/op_kernel.h"
#include "softamp/kernel/optimizers.h"

namespace softamp::engine {

/// A node of one of the Apply operations. Inputs: var, slots, rates, gradient, apply; outputs: var, slots. Of
/// ApplyCompensated the slot is the compensation and the gradient what is added, and there are no rates.
struct UpdateNode {
  explicit UpdateNode(const OpContext& c);

  kernel::UpdateRule rule;
  DType var, slot, grad;
  uint32_t slots;                ///< 0 .. 2
  size_t rate, gradient, apply;  ///< positions among the inputs; decay follows rate
  size_t size;
  bool decays, rated;

  DType type_of_site(uint32_t site) const { return site == 0 ? var : slot; }
  const FloatFormat& format_of_site(uint32_t site) const { return site == 0 ? rule.var : rule.slot; }
  // implements: N242
  uint32_t sites() const { return 1 + slots; }
  Semantics semantics_of_site(uint32_t site, const Semantics& s) const { return rule.semantics_of_site(site, s); }
  /// See OpKernel::roundings.
  OpKernel::SiteRoundings roundings(uint32_t site, const Semantics& s) const;
  /// See OpKernel::operands_at: var, slots and gradient; empty if their formats differ, since a report names one
  /// format.
  std::vector<uint64_t> operands_at(const void* const* in, uint64_t index) const;
};

/// Where the tensors of a call lie: in the host's memory or a device's.
struct UpdateArrays {
  const void *var, *slot[2], *grad;
  const uint32_t *rate, *decay;  ///< null: there is none
  const uint8_t* apply;
  void* out[3];  ///< var, slots

  UpdateArrays() = default;
  UpdateArrays(const UpdateNode& n, const void* const* in, void* const* to)
      : var(in[0]),
        slot{n.slots > 0 ? in[1] : nullptr, n.slots > 1 ? in[2] : nullptr},
        grad(in[n.gradient]),
        rate(n.rated ? static_cast<const uint32_t*>(in[n.rate]) : nullptr),
        decay(n.decays ? static_cast<const uint32_t*>(in[n.rate + 1]) : nullptr),
        apply(static_cast<const uint8_t*>(in[n.apply])),
        out{to[0], n.slots > 0 ? to[1] : nullptr, n.slots > 1 ? to[2] : nullptr} {}

  SOFTAMP_INLINE kernel::UpdateRates rates() const {
    return {rate ? *rate : uint64_t{0}, decay ? *decay : uint64_t{0}};
  }
  SOFTAMP_INLINE kernel::UpdateOperands operands(const kernel::UpdateRule& rule, uint64_t i) const {
    kernel::UpdateOperands x;
    x.var = kernel::Elements{var, rule.var}.code(i);
    for (uint32_t k = 0; k < 2; ++k)
      if (slot[k]) x.slot[k] = kernel::Elements{slot[k], rule.slot}.code(i);
    x.grad = kernel::Elements{grad, rule.grad}.code(i);
    return x;
  }
  SOFTAMP_INLINE void put(const kernel::UpdateRule& rule, uint64_t i, const kernel::Updated& u) const {
    for (uint32_t k = 0; k < 3; ++k)
      if (out[k]) kernel::put_code(out[k], k == 0 ? rule.var : rule.slot, i, u.code[k]);
  }
};

}  // namespace softamp::engine
