// Base of kernels whose outputs are independent elements.
#pragma once

#include "cuda/element_loop.h"
#include "softamp/engine/operand_map.h"

namespace softamp::cuda {

using engine::OperandMap;

/// A kernel whose output element i is computed from the operands' elements i, broadcast.
class ElementKernel : public OpKernel {
 public:
  bool in_place() const override { return in_place_; }
  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment&, uint64_t index) const override {
    return operands_.codes_at(in, index);
  }
  SiteRoundings roundings(uint32_t site) const override {
    return draws_ && site == 0 ? SiteRoundings{1, size_} : SiteRoundings{};
  }

 protected:
  /// Operands that are broadcast to output 0: the first `operands` (0 .. 3) inputs.
  ElementKernel(const OpContext& context, int operands)
      : operands_(context, operands), size_(static_cast<uint64_t>(context.node.outputs[0].shape.elements())) {
    in_place_ = operands > 0 && operands_.map(0).direct && operands_.bytes(0) == size_of(context.node.outputs[0].dtype);
  }

  const engine::ElementOperands& operands() const { return operands_; }
  uint64_t size() const { return size_; }

  bool draws_ = false;  ///< every element may be rounded stochastically

 private:
  engine::ElementOperands operands_;
  uint64_t size_;
  bool in_place_;
};

}  // namespace softamp::cuda
